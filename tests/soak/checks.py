"""What must hold after processes were ended in any way: nothing acknowledged is lost, and recall is the reference's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unicodedata import normalize

from gm_engine import FactQuery, Memory
from gm_engine.doctor import Verdict, examine
from gm_engine.embedding.embedder import Embedder, quantise
from gm_engine.ranking.recall import DEFAULT_TOP_K, RecallRequest
from gm_engine.records import Fact
from tests.property import reference_recall
from tests.soak.worker import AGENTS, QUERIES, embedder

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(slots=True)
class Acknowledged:
    """What processes said they wrote: for each fact whether it was retired afterwards."""

    retired: dict[str, bool] = field(default_factory=dict)

    def hear(self, lines: Iterable[str]) -> None:
        """Takes in what a process printed; a line cut off by a kill says nothing."""
        for line in lines:
            if not line.endswith("\n"):
                continue
            match line.split():
                case ["kept", fact_id]:
                    self.retired.setdefault(fact_id, False)
                case ["retired", fact_id]:
                    self.retired[fact_id] = True
                case ["revised", old, new]:
                    self.retired[old] = True
                    self.retired.setdefault(new, False)


def start(store: Path, job: str, seed: int, *, errors: Path) -> subprocess.Popen[str]:
    """One worker process, once it is ready."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    with errors.open("ab") as file:
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.worker", str(store), job, str(seed)],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        )
    assert worker.stdout is not None
    if worker.stdout.readline() != "ready\n":
        worker.kill()
        raise AssertionError(f"a worker did not start:\n{errors.read_text(errors='replace')}")
    return worker


def lost(store: Path, said: Acknowledged) -> list[str]:
    """Acknowledged writes that the store does not hold as they were acknowledged.

    A retirement that the process did not live to report is none: a fact said to be kept may be retired, not gone.
    """
    with Memory.open(store, background=False, embedder=embedder()) as memory:
        facts = {fact.id: fact for fact in memory.facts(list(said.retired))}
    return [
        fact_id
        for fact_id, retired in said.retired.items()
        if fact_id not in facts or (retired and not facts[fact_id].is_superseded)
    ]


def differences(store: Path, queries: Sequence[str] = QUERIES) -> list[str]:
    """Where recall and the plain-loop reference disagree, once every text has its vector."""
    found = []
    with Memory.open(store, background=False, embedder=embedder()) as memory:
        memory.wait_for_embeddings()
        for agent in AGENTS:
            facts = memory.facts(memory.fact_ids(FactQuery(agent_id=agent, status="all")))
            vectors = {normalize("NFC", fact.text): _codes(fact.text) for fact in facts}
            found += unlike(memory, facts, queries, vectors=vectors, codes=_codes)
    return found


def unlike(
    memory: Memory,
    facts: Sequence[Fact],
    queries: Sequence[str],
    *,
    vectors: Mapping[str, Sequence[int]],
    codes: Callable[[str], Sequence[int]],
) -> list[str]:
    """The queries that the reference answers otherwise over `facts`, which are all of one agent's.

    `vectors` are those of the facts' texts in NFC, `codes` gives that of a query.
    """
    found, settings = [], memory.settings
    agent = facts[0].agent_id if facts else AGENTS[0]
    for query in queries:
        request = RecallRequest(
            agent_id=agent,
            query=query,
            top_k=DEFAULT_TOP_K,
            min_confidence=None,
            confidence_weight=settings.confidence_weight,
            signal_weights=settings.signal_weights,
            coverage_gate=settings.coverage_gate,
            min_relevance=settings.min_relevance,
            now_ns=0,
        )
        expected = reference_recall.recall(facts, request, vectors, codes)
        answer = memory.recall(agent, query, preview=True).facts
        if [fact.id for fact in answer] != [entry.fact.id for entry in expected]:
            found.append(f"{agent} {query!r}: {_ids(answer)} instead of {_ids(e.fact for e in expected)}")
    return found


def unsound(store: Path, model: Embedder | None) -> list[str]:
    """What the doctor finds, and whether the vector index can still be finished; `model` None is the bundled one."""
    with Memory.open(store, background=False, embedder=model) as memory:
        deadline = time.monotonic() + 120
        while memory.index_step(0.5) and time.monotonic() < deadline:
            pass
        vectors, exam = memory.status().vectors, memory.examine_vectors()
        found = [] if vectors.pending == 0 else [f"{vectors.pending} texts are without a vector"]
        found += [f"the vector index differs: {exam}"] if exam.different or exam.rebuilt or exam.reason else []
    return found + [str(finding) for finding in examine(store) if finding.verdict is Verdict.BROKEN]


def _codes(text: str) -> list[int]:
    codes: list[int] = quantise(embedder().embed([normalize("NFC", text)]))[0].astype(int).tolist()
    return codes


def _ids(facts: Iterable[Fact]) -> str:
    return " ".join(fact.id for fact in facts)
