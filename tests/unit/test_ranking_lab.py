"""The ranking lab at the door: rank tables, saved profiles and query sets, and what a setting does to them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import (
    Confidence,
    InvalidInput,
    JudgedQuery,
    Memory,
    NotFound,
    QuerySet,
    RankingProfile,
    SignalWeights,
)
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

RECENT = RankingProfile(
    "recent first", SignalWeights(0.0, 0.0, 1.0), coverage_gate=0.4, min_relevance=0.0, confidence_weight=0.0
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, background=False, clock=FrozenClock(), embedder=ScriptedEmbedder()) as memory:
        memory.remember("ops", "A red fox in the snow", confidence="verified")
        memory.remember("ops", "A blue hen")
        memory.remember("ops", "A blue cow", confidence="unverified")
        memory.wait_for_embeddings()
        yield memory


def test_a_rank_table_reranks_without_the_store(memory: Memory) -> None:
    table = memory.rank_table("ops", "fox", signal_weights=SignalWeights(1.0, 1.0, 0.1))
    assert next(standing.fact.text for standing in table.rerank()) == "A red fox in the snow"
    memory.close()
    answer = table.rerank(signal_weights=SignalWeights(0.0, 0.0, 1.0))
    assert [standing.fact.text for standing in answer] == ["A blue cow", "A blue hen", "A red fox in the snow"]
    assert answer[-1].delta == -2
    assert {standing.vector_rank for standing in answer} == {0}
    heavier = table.rerank(signal_weights=SignalWeights(0.0, 0.0, 1.0), confidence_weight=0.5)
    assert heavier[0].fact.text == "A red fox in the snow"
    assert heavier[0].final_score == heavier[0].base_score * 1.5
    assert len(table.rerank(min_relevance=1.0)) == 1


@pytest.mark.parametrize("weight", [-0.1, 0.6, math.nan])
def test_a_rank_table_refuses_what_a_recall_refuses(memory: Memory, weight: float) -> None:
    table = memory.rank_table("ops", "fox")
    with pytest.raises(InvalidInput):
        table.rerank(confidence_weight=weight)
    with pytest.raises(InvalidInput):
        memory.rank_table("ops", "fox", confidence_weight=weight)


def test_profiles_are_saved_replaced_deleted_and_all_of_it_is_undone(memory: Memory) -> None:
    memory.lab.save_profile(RECENT)
    kept = RankingProfile(
        "strict",
        SignalWeights(1.0, 1.0, 0.1),
        coverage_gate=0.0,
        min_relevance=0.2,
        confidence_weight=0.3,
        min_confidence=Confidence.INFERRED,
        top_k=4,
    )
    memory.lab.save_profile(kept)
    assert memory.lab.profiles() == (RECENT, kept)
    memory.lab.delete_profile("strict")
    assert memory.lab.profiles() == (RECENT,)
    memory.undo(memory.last_seq())
    assert memory.lab.profiles() == (RECENT, kept)
    memory.set_settings(kept.as_settings(memory.settings))
    assert memory.settings.confidence_weight == 0.3
    assert memory.lab.current().signal_weights == SignalWeights(1.0, 1.0, 0.1)
    with pytest.raises(NotFound):
        memory.lab.delete_profile("nothing")
    for name in ("", "  ", "x" * 101, "\ud800"):
        with pytest.raises(InvalidInput):
            memory.lab.save_profile(
                RankingProfile(name, SignalWeights(), coverage_gate=0.4, min_relevance=0.0, confidence_weight=0.0)
            )


def test_a_query_set_measures_two_settings(memory: Memory) -> None:
    fox, hen = (memory.resolve("ops", text)[0] for text in ("A red fox in the snow", "A blue hen"))
    queries = QuerySet("animals", "ops", (JudgedQuery("fox", (fox,)), JudgedQuery("hen", ("gone", hen))))
    memory.lab.save_query_set(queries)
    assert memory.lab.query_sets() == (queries,)
    report = memory.lab.run(queries, RECENT)
    assert [outcome.before for outcome in report.outcomes] == [1, 1]
    assert [outcome.after for outcome in report.outcomes] == [3, 2]
    assert (report.before.hit_at_1, report.before.hit_at_8, report.before.mrr) == (1.0, 1.0, 1.0)
    assert (report.after.hit_at_1, report.after.hit_at_8) == (0.0, 1.0)
    assert report.after.mrr == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert memory.get(fox).access_count == 0
    memory.lab.delete_query_set("animals")
    assert memory.lab.query_sets() == ()


def test_an_expected_fact_that_was_revised_is_met_by_what_replaced_it(memory: Memory) -> None:
    (fox,) = memory.resolve("ops", "A red fox in the snow")
    memory.revise("ops", [memory.revise("ops", [fox], "A red fox").id], "The red fox")
    report = memory.lab.run(QuerySet("q", "ops", (JudgedQuery("red fox", (fox,)),)), memory.lab.current())
    assert report.outcomes[0].after == 1
    missing = memory.lab.run(QuerySet("q", "ops", (JudgedQuery("red fox", ("nobody",)),)), memory.lab.current())
    assert (missing.outcomes[0].after, missing.after.mrr) == (None, 0.0)
    with pytest.raises(InvalidInput):
        memory.lab.save_query_set(QuerySet("q", "ops", (JudgedQuery("red fox", ()),)))
