"""Random stores and requests for the laws of recall."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from unicodedata import normalize

from hypothesis import strategies as st

from gm_engine.embedding.embedder import QueryVectors, quantise
from gm_engine.ranking.recall import Ranker, RecallRequest
from gm_engine.records import Confidence, Fact, Origin, SignalWeights
from gm_engine.store.database import Ledger
from gm_engine.store.facts import NewFact, fact_image, insert_facts, load_facts, patch_facts, remove_facts
from gm_engine.store.vectors import ensure_model, insert_vectors
from gm_engine.terms import text_key
from gm_engine.vectors.planner import VectorPlanner
from gm_engine.vectors.table import VectorTable
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

WORDS = ["red", "reds", "fox", "the", "jump", "jumping", "blue", "café", "证书", "微信接口", "x²", "fox-trot", "K8s"]
AGENTS = ["a", "b"]


@cache
def template() -> Path:
    """An empty ledger, made once: copying it is forty times faster than making one."""
    directory = Path(tempfile.mkdtemp(prefix="graymatter-recall-template-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    Ledger.open(directory, clock=FrozenClock()).close()
    return directory / "ledger.sqlite"


@dataclass
class Store:
    ledger: Ledger
    embedder: ScriptedEmbedder
    ranker: Ranker
    embedded: dict[str, list[int]] = field(default_factory=dict)
    count: int = 0

    def codes(self, text: str) -> list[int]:
        values: list[int] = quantise(self.embedder.embed([normalize("NFC", text)]))[0].astype(int).tolist()
        return values

    def add(self, facts: Sequence[NewFact]) -> None:
        if facts:
            with self.ledger.write("remember", origin=Origin("library")) as tx:
                insert_facts(tx, facts, language="english")

    def embed(self, texts: Sequence[str]) -> None:
        fresh = [text for text in texts if normalize("NFC", text) not in self.embedded]
        with self.ledger.bookkeep() as connection:
            model = ensure_model(connection, self.embedder.model, self.embedder.dims)
            for text in fresh:
                codes = quantise(self.embedder.embed([normalize("NFC", text)]))
                insert_vectors(connection, model, [text_key(text)], codes)
                self.embedded[normalize("NFC", text)] = codes[0].astype(int).tolist()

    def facts(self, agent_id: str) -> list[Fact]:
        with self.ledger.read() as connection:
            ids = [row[0] for row in connection.exec_driver_sql("SELECT id FROM facts WHERE agent_id = ?", (agent_id,))]
            return list(load_facts(connection, ids).values())

    def patch(self, fact_id: str, **columns: str) -> None:
        with self.ledger.write("edit", origin=Origin("library")) as tx:
            patch_facts(tx, load_facts(tx.connection, [fact_id]).values(), dict(columns))

    def remove(self, fact_id: str) -> None:
        with self.ledger.write("undo", origin=Origin("library")) as tx:
            fact = load_facts(tx.connection, [fact_id])[fact_id]
            remove_facts(tx.connection, [fact_id])
            tx.record(
                "fact",
                fact_id,
                agent_id=fact.agent_id,
                version_before=fact.version,
                version_after=0,
                before=fact_image(fact),
                after=None,
            )


@contextmanager
def fresh_store() -> Iterator[Store]:
    directory = Path(tempfile.mkdtemp(prefix="graymatter-recall-"))
    shutil.copy(template(), directory / "ledger.sqlite")
    embedder = ScriptedEmbedder(dims=3)
    ledger = Ledger.open(directory, clock=FrozenClock())
    try:
        planner = VectorPlanner(VectorTable(embedder.model, embedder.dims), vector_path="exact")
        yield Store(ledger, embedder, Ranker(ledger, planner, QueryVectors(embedder)))
    finally:
        ledger.close()
        shutil.rmtree(directory)


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
labels = st.sampled_from(["", "", "verified", "inferred", "unverified", "rumour"])
alias_texts = st.one_of(
    st.tuples(st.sampled_from(WORDS), st.lists(texts, min_size=1, max_size=2)).map(
        lambda pair: f"alias: {pair[0]} = {', '.join(pair[1])}"
    ),
    st.sampled_from(["alias: broken", "no alias at all", "alias: = fox"]),
)


@st.composite
def new_facts(draw: st.DrawFn, *, prefix: str, most: int = 24) -> list[NewFact]:
    facts = []
    for n in range(draw(st.integers(0, most))):
        is_alias = draw(st.integers(0, 7)) == 0
        facts.append(
            NewFact(
                id=f"{draw(st.integers(0, 9))}{prefix}{n:03d}",
                agent_id=draw(st.sampled_from(AGENTS)),
                text=draw(alias_texts if is_alias else texts),
                created_ns=draw(st.integers(0, 5)) * 1_000,
                origin=Origin("library"),
                superseded_by=draw(st.sampled_from(["", "", "", "agent"])),
                confidence=draw(labels),
                kind="alias" if is_alias else "",
            )
        )
    return facts


weights = st.builds(SignalWeights, *(st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.5]) for _ in range(3)))
requests = st.builds(
    RecallRequest,
    agent_id=st.sampled_from(AGENTS),
    query=st.lists(st.sampled_from([*WORDS, "unknown", "🎉"]), max_size=5).map(" ".join),
    top_k=st.sampled_from([0, 1, 2, 3, 8]),
    min_confidence=st.sampled_from([None, None, *Confidence]),
    confidence_weight=st.sampled_from([0.0, 0.0, 0.2, 0.5]),
    signal_weights=weights,
    coverage_gate=st.sampled_from([0.0, 0.4, 0.8, 1.0]),
    min_relevance=st.sampled_from([0.0, 0.0, 0.3, 0.9]),
    now_ns=st.just(10_000),
)
