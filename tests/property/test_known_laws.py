"""What a process remembers of the store is what a full look says, whatever was done by whom in between."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gm_engine import Confidence, FactQuery, Memory, NotFound, no_progress
from gm_engine.doctor.repairs import repair_facts
from gm_engine.records import FactListing, Origin, SortColumn
from gm_engine.store import known, listing
from gm_engine.store.database import Ledger
from gm_engine.store.known import AgentCounts, KnownVectors, follow_ids
from gm_engine.store.vectors import (
    VectorCounts,
    count_drop,
    count_through,
    drop_vectors,
    find_model,
    index_pointer,
    vector_counts,
)
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.property.test_journal_laws import AGENTS, LAW, TEXTS, VERBS, Step, do

SORTS: tuple[SortColumn, ...] = ("created", "text", "agent", "confidence", "pinned", "weight", "uses", "origin")
QUERIES = (
    *(FactQuery(status="all", sort=sort, descending=sort != "text") for sort in SORTS),
    FactQuery(agent_id=AGENTS[0]),
    FactQuery(status="retired", descending=False),
    FactQuery(kind="content", text="gate", pinned=False),
    FactQuery(confidence=frozenset({Confidence.VERIFIED})),
    FactQuery(unused=True),
    FactQuery(without_vector=True),
)
STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from((*VERBS, "redo", "block", "embed", "purge", "drop", "recall", "checkpoint", "repair")),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    max_size=25,
)
TAMPERED = (
    "UPDATE facts SET pinned = 1 - pinned WHERE id = ?",
    "UPDATE facts SET superseded_by = iif(superseded_by = '', 'nobody', '') WHERE id = ?",
    "UPDATE facts SET agent_id = 'forger' WHERE id = ?",
    "DELETE FROM facts WHERE id = ?",
    "DELETE FROM changes WHERE kind = 'fact' AND target = ?",
)


def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder(dims=8)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("known") / "store"
    with Memory.open(path, clock=FrozenClock(), background=False, embedder=embedder()) as memory:
        for number in range(4):
            memory.remember(AGENTS[0], f"text {number}")
        memory.wait_for_embeddings()
    return path


def act(memory: Memory, ledger: Ledger, step: Step, seen: Sequence[Seen] = ()) -> None:
    _, verb, a, b = step
    agent, text = AGENTS[a % 2], TEXTS[b % len(TEXTS)]
    match verb:
        case "embed":
            memory.index_step(0.0 if a % 2 else 0.2)
        case "purge":
            with suppress(NotFound):
                memory.purge(text)
        case "drop":
            with ledger.bookkeep() as connection:
                keys = connection.exec_driver_sql("SELECT text_key FROM vectors ORDER BY 1 LIMIT 1").scalars().all()
                drop_vectors(connection, keys)
        case "recall":
            memory.recall(agent, text)
        case "repair":
            tamper(ledger, TAMPERED[a % len(TAMPERED)], b)
            for each in seen:
                each.must_agree()
            put_right(ledger)
        case "checkpoint":
            memory.checkpoints.save(agent, state={"at": b})
        case _:
            do(memory, verb, a, b)


def tamper(ledger: Ledger, statement: str, number: int) -> None:
    """Changes one fact behind the journal's back; every process then looks as one that has just started."""
    with ledger.bookkeep() as connection:
        ids = connection.exec_driver_sql("SELECT id FROM facts ORDER BY no").scalars().all()
        if ids:
            connection.exec_driver_sql(statement, (ids[number % len(ids)],))
            count_drop(connection)


def put_right(ledger: Ledger) -> None:
    repair_facts(ledger, Origin("library"), no_progress)


class Seen:
    """One process that looks now and then, beside a ledger that is always read whole."""

    def __init__(self, memory: Memory, ledger: Ledger) -> None:
        self._memory, self._ledger = memory, ledger
        self._listings: dict[FactQuery, FactListing] = {}

    def must_agree(self) -> None:
        memory = self._memory
        with self._ledger.read() as connection:
            agents = listing.agents(connection)
            counts = vector_counts(connection, "scripted")
            ids = {query: listing.fact_ids(connection, query) for query in QUERIES}
            model = find_model(connection, "scripted")
            pointer = None if model is None else index_pointer(connection, model)
            held = count_through(connection, model, pointer.applied_vec_seq) if model and pointer else 0
        assert memory.agents() == agents
        status = memory.vector_status()
        assert (VectorCounts(status.embedded, status.pending), status.chroma) == (counts, held)
        for query, expected in ids.items():
            self._listings[query] = memory.follow_ids(query, self._listings.get(query))
            assert self._listings[query].ids == expected, query


@contextmanager
def processes(template: Path) -> Iterator[tuple[Memory, Memory, Ledger]]:
    clock = FrozenClock("2026-12-01T09:00:00Z")  # after the template was made: its ids are taken
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        shutil.copytree(template, path)
        with (
            Memory.open(path, clock=clock, background=False, embedder=embedder()) as one,
            Memory.open(path, clock=clock, background=False, embedder=embedder()) as two,
            Ledger.open(path, clock=clock) as ledger,
        ):
            yield one, two, ledger


@pytest.mark.parametrize("most", [known.MOST_CHANGES, 2])
@LAW
@given(steps=STEPS)
def test_what_is_known_is_what_a_full_look_says(
    template: Path, monkeypatch: pytest.MonkeyPatch, most: int, steps: list[Step]
) -> None:
    monkeypatch.setattr(known, "MOST_CHANGES", most)
    with processes(template) as (one, two, ledger):
        seen = [Seen(one, ledger), Seen(two, ledger)]
        for each in seen:
            each.must_agree()
        for step in steps:
            act((one, two)[step[0]], ledger, step, seen)
            if step[2] % 3:
                seen[step[2] % 2].must_agree()
        for each in seen:
            each.must_agree()


@LAW
@given(steps=STEPS)
def test_a_queue_that_looks_only_at_what_changed_leaves_no_text_without_a_vector(
    template: Path, steps: list[Step]
) -> None:
    with processes(template) as (one, two, ledger):
        for step in steps:
            act((one, two)[step[0]], ledger, step)
            one.index_step(0.0)
        two.pin(AGENTS[0], [two.remember(AGENTS[0], "so that the journal moves").id])
        for memory in (one, two):  # one of them owns the index
            while memory.index_step(0.2):
                pass
        with ledger.read() as connection:
            assert vector_counts(connection, "scripted").pending == 0


def test_a_vector_that_was_dropped_is_missed_though_no_fact_changed(template: Path) -> None:
    with processes(template) as (one, _, ledger):
        seen = Seen(one, ledger)
        seen.must_agree()
        with ledger.bookkeep() as connection:
            oldest = connection.exec_driver_sql("SELECT text_key FROM vectors ORDER BY vec_seq LIMIT 1").scalar_one()
            drop_vectors(connection, [oldest])
        seen.must_agree()
        assert one.vector_status().pending == 1


@pytest.mark.parametrize("statement", TAMPERED)
def test_what_the_doctor_put_right_is_seen_by_a_process_that_knew_it_wrong(template: Path, statement: str) -> None:
    with processes(template) as (one, _, ledger):
        tamper(ledger, statement, 1)
        seen = Seen(one, ledger)
        seen.must_agree()
        put_right(ledger)
        seen.must_agree()


def test_an_older_snapshot_is_told_as_it_is_while_a_newer_one_is_known(template: Path) -> None:
    agents, vectors, listings = AgentCounts(), KnownVectors(), dict[FactQuery, FactListing]()
    with processes(template) as (one, two, ledger), ledger.read() as older:
        before = listing.agents(older)
        one.remember(AGENTS[1], "said since")
        two.retire(AGENTS[0], one.fact_ids(FactQuery(agent_id=AGENTS[0]))[:1])
        while one.index_step(0.2):
            pass
        with ledger.read() as newer:
            assert listing.agents(newer) != before
            for connection in (newer, older, newer):
                assert agents.read(connection) == listing.agents(connection)
                assert vectors.counts(connection, "scripted") == vector_counts(connection, "scripted")
                for query in QUERIES:
                    listings[query] = follow_ids(connection, query, listings.get(query))
                    assert listings[query].ids == listing.fact_ids(connection, query)
