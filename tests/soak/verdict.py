"""What must hold after a soak over everything, as a table."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

from exporters.obsidian.publish import preview
from gm_engine import FactQuery, Memory
from gm_engine.clock import SystemClock
from gm_engine.embedding.embedder import quantise
from gm_engine.embedding.minilm import MiniLM
from gm_engine.store.database import Ledger
from gm_engine.store.vectors import find_model, vectors_since
from gm_engine.terms import text_key
from tests.soak.checks import unlike, unsound
from tests.soak.clients import median, settle
from tests.soak.course import AGENT, STALL_MS, Course
from tests.soak.vitals import growth

SHOWN_STALLS = 20
QUERIES = ("crane 1 load", "who confirmed the invoice in Oslo", "zebra")


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the table; without complaints it holds."""

    what: str
    found: str
    limit: str
    complaints: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.complaints


def show(checks: Sequence[Check]) -> str:
    """The checks as a Markdown table."""
    lines = ["\n| what | found | limit |", "|---|---:|---:|"]
    lines += [f"| {c.what} | {c.found} | {c.limit}{'' if c.holds else ' **missed**'} |" for c in checks]
    return "\n".join(lines)


def checks_of(course: Course) -> list[Check]:
    """Looks at the store and the vault that a finished course left."""
    with Memory.open(course.store, background=False) as memory:
        facts = memory.facts(memory.fact_ids(FactQuery()))
        listed = [f"{client} is still listed as connected" for client in memory.clients.list()]
    told = settle(facts, course.workers, before=course.before)
    deaths = sum(worker.deaths for worker in course.workers)
    searches = sum(worker.searches for worker in course.workers)
    took = [seconds for seconds, _ in course.publishes[1:]]
    stalls = tuple(line for _, line in sorted(course.stalls, reverse=True)[:SHOWN_STALLS])
    asked = f"failures in {told.kept + searches:,} calls, {deaths} kills"
    return [
        Check("acknowledged facts", f"{told.kept:,}", "> 0", () if told.kept else ("nothing was written",)),
        Check("lost", f"{len(told.lost)}", "0", told.lost),
        Check("there twice", f"{len(told.doubled)}", "0", told.doubled),
        Check("from nowhere", f"{len(told.foreign)}", "0", told.foreign),
        Check(asked, f"{len(told.failures)}", "0", told.failures),
        Check("clients still listed", f"{len(listed)}", "0", tuple(listed)),
        Check("longest stall of the window", f"{course.stall_ms:.0f} ms", f"{STALL_MS:.0f} ms", stalls),
        Check("the same, until the first publish was done", f"{course.first_stall_ms:.0f} ms", "–"),
        Check("the machine alone", f"{course.machine_ms:.0f} ms", "–"),
        _flat("the window's memory", course.window_bytes, told.kept),
        _flat("the first server's memory", course.server_bytes, told.kept),
        Check(
            "a fact is shown after",
            f"{median(course.waits):.2f} s, at most {max(course.waits, default=0.0):.2f} s",
            "–",
        ),
        Check("publishing", f"{median(took):.1f} s, at most {max(took):.1f} s", "–"),
        Check("publishes killed", ", ".join(course.broken_off) or "none", "–", _unexpected(course.broken_off)),
        Check("complaints of the window", f"{len(course.complaints)}", "0", tuple(course.complaints)),
        _vault(course.store, course.vault, len(facts)),
        _sound(course.store),
        _recall(course.store),
    ]


def _flat(what: str, samples: Sequence[int], facts: int) -> Check:
    grown, allowed = growth(samples, facts=facts)
    found = f"{grown / 1e6:+,.0f} MB, {max(samples, default=0) / 1e6:,.0f} MB at most"
    return Check(what, found, f"+{allowed / 1e6:,.0f} MB", (found,) if grown > allowed or not samples else ())


def _unexpected(ends: Sequence[str]) -> tuple[str, ...]:
    return tuple(end for end in ends if end not in ("killed", "killed while writing", "done"))


def _vault(store: Path, vault: Path, facts: int) -> Check:
    """The exporter has nothing to do, there is a note for every fact, and nobody edited any."""
    with Memory.open(store, background=False) as memory:
        plan = preview(memory, vault)
        edited = memory.inbox.list(source="vault")
    notes = sum(1 for _ in (vault / "Memory" / "Facts").rglob("*.md"))
    wrong = [f"{item.status} {item.path} {item.reason}" for item in plan.items if item.status != "unchanged"]
    wrong += [f"{notes} notes of facts for {facts} facts"] if notes != facts else []
    wrong += [f"edited in the vault: {card.reason}" for card in edited]
    return Check("the vault against the store", f"{notes:,} notes, {len(wrong)} differences", "0", tuple(wrong))


def _sound(store: Path) -> Check:
    found = unsound(store, None)
    return Check("what the doctor finds", f"{len(found)}", "0", tuple(found))


def _recall(store: Path) -> Check:
    """Recall in the large namespace against the plain loops, on the vectors that the store holds."""
    model = MiniLM()
    with Memory.open(store, background=False) as memory:
        memory.wait_for_embeddings()
        facts = memory.facts(memory.fact_ids(FactQuery(agent_id=AGENT, status="all")))
        by_key = _stored_codes(store, model.model)
        vectors = {normalize("NFC", fact.text): by_key[text_key(fact.text)] for fact in facts}
        wrong = unlike(
            memory,
            facts,
            QUERIES,
            vectors=vectors,
            codes=lambda text: quantise(model.embed([normalize("NFC", text)]))[0].astype(int).tolist(),
        )
    return Check("recalls unlike the reference", f"{len(wrong)} of {len(QUERIES)}", "0", tuple(wrong))


def _stored_codes(store: Path, model_name: str) -> dict[bytes, array[int]]:
    """The codes of every text by its key, packed: as lists they would take gigabytes."""
    found: dict[bytes, array[int]] = {}
    with Ledger.open(store, clock=SystemClock(), read_only=True) as ledger, ledger.read() as connection:
        model = find_model(connection, model_name)
        assert model is not None
        for rows in vectors_since(connection, model, 0):
            found.update((key, array("h", code.tobytes())) for key, code in zip(rows.keys, rows.codes, strict=True))
    return found
