"""Laws of the rank table: whatever the setting, it answers as the engine does, without asking the store again."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gm_engine.ranking import rank_table
from gm_engine.ranking.rank_table import make_rank_table
from gm_engine.ranking.recall import RecallRequest
from gm_engine.records import SignalWeights
from gm_engine.store.facts import NewFact
from tests.property.recall_stores import fresh_store, new_facts, requests

weights = st.builds(SignalWeights, *(st.sampled_from([0.0, 0.0, 0.05, 0.1, 0.5, 1.0, 2.5, 40.0]) for _ in range(3)))
settings_ = st.tuples(weights, st.sampled_from([0.0, 0.2, 0.5]), st.sampled_from([0.0, 0.0, 0.5, 0.95, 1.0]))


@given(new_facts(prefix="p", most=40), requests, st.lists(settings_, min_size=1, max_size=6), st.data())
def test_a_reranked_answer_is_the_recall_with_that_setting(
    facts: list[NewFact],
    request: RecallRequest,
    asked: list[tuple[SignalWeights, float, float]],
    data: st.DataObject,
) -> None:
    shallow = data.draw(st.sampled_from([1, 2, rank_table.DEEPEST]))
    with fresh_store() as store:
        store.add(facts)
        if facts:
            store.embed([fact.text for fact in data.draw(st.lists(st.sampled_from(facts), max_size=len(facts)))])
        table = make_rank_table(store.ranker, request, deepest=shallow)
        for signal_weights, confidence_weight, min_relevance in asked:
            answer = table.rerank(signal_weights, confidence_weight, min_relevance)
            expected = store.ranker.recall(
                replace(
                    request,
                    signal_weights=signal_weights,
                    confidence_weight=confidence_weight,
                    min_relevance=min_relevance,
                )
            )
            assert [standing.fact for standing in answer] == [hit.fact for hit in expected.hits]
            for standing, hit in zip(answer, expected.hits, strict=True):
                assert (standing.vector_rank, standing.keyword_rank, standing.recency_rank) == (
                    hit.vector_rank,
                    hit.keyword_rank,
                    hit.recency_rank,
                )
                assert (standing.base_score, standing.factor) == (hit.base_score, hit.factor)
                assert standing.final_score == hit.final_score
                assert standing.vector + standing.keyword + standing.recency == standing.base_score


@given(new_facts(prefix="p"), requests)
def test_the_saved_setting_moves_nothing(facts: list[NewFact], request: RecallRequest) -> None:
    with fresh_store() as store:
        store.add(facts)
        answer = make_rank_table(store.ranker, request).rerank()
        assert [standing.place for standing in answer] == list(range(1, len(answer) + 1))
        assert [standing.delta for standing in answer] == [0] * len(answer)
