"""What a recall says of its vectors and scores, and the past after more was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gm_engine.embedding.embedder import QueryVectors
from gm_engine.ranking.recall import Ranker, RecallRequest
from gm_engine.records import Origin, SignalWeights
from gm_engine.store.database import Ledger
from gm_engine.store.facts import NewFact, insert_facts, load_facts, patch_facts
from gm_engine.vectors.planner import VectorPlanner
from gm_engine.vectors.table import VectorTable
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

ASKED = RecallRequest("ana", "red", 8, None, 0.0, SignalWeights(), 0.0, 0.0, now_ns=10**15)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path, clock=FrozenClock("1972-01-01T00:00:00Z")) as opened:
        new = [NewFact(f"f{n}", "ana", text, n, Origin("library")) for n, text in enumerate(["red fox", "hen"])]
        with opened.write("remember", origin=Origin("library")) as tx:
            insert_facts(tx, new, language="english")
        yield opened


def test_why_no_vector_was_looked_at_is_told(ledger: Ledger) -> None:
    embedder = ScriptedEmbedder()
    ranker = Ranker(ledger, VectorPlanner(VectorTable(embedder.model, embedder.dims)), QueryVectors(embedder))
    for request, reason in (
        (replace(ASKED, query=" "), "the query is empty"),
        (replace(ASKED, signal_weights=SignalWeights(0.0, 1.0, 1.0)), "the vector weight is 0"),
    ):
        coverage = ranker.recall(request).coverage
        assert (coverage.eligible, coverage.with_vector, coverage.vector_path) == (2, 0, "none")
        assert coverage.reason == reason


def test_only_a_fact_that_shares_a_word_has_a_keyword_score(ledger: Ledger) -> None:
    first, second = Ranker(ledger, None, None).recall(ASKED).hits
    assert first.keyword_score is not None
    assert first.keyword_score > 0
    assert (second.keyword_score, second.similarity) == (None, None)


def test_the_past_is_the_same_after_more_was_written(ledger: Ledger) -> None:
    with ledger.read() as connection:
        at_ns = connection.exec_driver_sql("SELECT max(at_ns) FROM journal").scalar_one()
    ranker, then = Ranker(ledger, None, None), replace(ASKED, as_of_ns=at_ns)
    before = ranker.recall(then)
    for columns in ({"confidence": "verified"}, {"superseded_by": "agent"}):
        with ledger.write("edit", origin=Origin("library")) as tx:
            patch_facts(tx, load_facts(tx.connection, ["f0"]).values(), dict(columns))
        assert ranker.recall(then).facts() == before.facts()
    assert [fact.id for fact in ranker.recall(ASKED).facts()] == ["f1"]
