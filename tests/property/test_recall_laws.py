"""Laws of recall: the engine's answer is the plain-loop reference's, whatever the store and its history."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gm_engine.ranking.fusion import first_in_order, place_of
from gm_engine.ranking.keyword_ranks import KeywordRanks
from gm_engine.ranking.missing import explain_missing
from gm_engine.ranking.recall import Ranking, RecallRequest
from gm_engine.records import Fact, Origin
from gm_engine.store.facts import NewFact
from tests.property import reference_recall
from tests.property.recall_stores import AGENTS, Store, fresh_store, labels, new_facts, requests, texts


def same(ranking: Ranking, store: Store, request: RecallRequest) -> None:
    expected = reference_recall.recall(store.facts(request.agent_id), request, store.embedded, store.codes)
    assert [hit.fact.id for hit in ranking.hits] == [entry.fact.id for entry in expected]
    for hit, entry in zip(ranking.hits, expected, strict=True):
        assert hit.fact == entry.fact
        assert (hit.vector_rank, hit.keyword_rank, hit.recency_rank) == (
            entry.vector_rank,
            entry.keyword_rank,
            entry.recency_rank,
        )
        assert hit.base_score == pytest.approx(entry.base_score, abs=1e-15)
        assert hit.final_score == pytest.approx(entry.final_score, abs=1e-15)


@given(new_facts(prefix="p"), st.lists(requests, min_size=1, max_size=4), st.data())
def test_recall_is_the_reference_on_random_stores(
    facts: list[NewFact], asked: list[RecallRequest], data: st.DataObject
) -> None:
    with fresh_store() as store:
        store.add(facts)
        if facts:
            store.embed([fact.text for fact in data.draw(st.lists(st.sampled_from(facts), max_size=len(facts)))])
        for request in asked:
            same(store.ranker.recall(request), store, request)


@given(new_facts(prefix="p", most=10), st.data())
def test_a_followed_snapshot_answers_as_a_fresh_one_after_any_history(
    facts: list[NewFact], data: st.DataObject
) -> None:
    with fresh_store() as store:
        store.add(facts)
        for step in range(data.draw(st.integers(1, 5))):
            known = [fact.id for agent in AGENTS for fact in store.facts(agent)]
            change = data.draw(st.sampled_from(["add", "retire", "restore", "label", "move", "remove", "embed"]))
            if change == "add" or not known:
                store.add(data.draw(new_facts(prefix=f"s{step}", most=4)))
            else:
                target = data.draw(st.sampled_from(sorted(known)))
                if change == "retire":
                    store.patch(target, superseded_by="agent")
                elif change == "restore":
                    store.patch(target, superseded_by="")
                elif change == "label":
                    store.patch(target, confidence=data.draw(labels))
                elif change == "move":
                    store.patch(target, agent_id=data.draw(st.sampled_from(AGENTS)))
                elif change == "remove":
                    store.remove(target)
                else:
                    store.embed([fact.text for agent in AGENTS for fact in store.facts(agent) if fact.id == target])
            request = data.draw(requests)
            same(store.ranker.recall(request), store, request)


@given(new_facts(prefix="p", most=12), st.data())
def test_recall_as_of_a_moment_is_the_recall_of_that_moment(facts: list[NewFact], data: st.DataObject) -> None:
    with fresh_store() as store:
        store.add(facts)
        store.embed([fact.text for fact in facts])
        moments: list[tuple[RecallRequest, list[str], list[Fact]]] = []
        for step in range(data.draw(st.integers(1, 4))):
            store.add([NewFact(f"t{step}", "a", f"fox {step}", step, Origin("library"))])
            known = sorted(fact.id for agent in AGENTS for fact in store.facts(agent))
            target = data.draw(st.sampled_from(known))
            change = data.draw(st.sampled_from(["retire", "restore", "label", "move", "remove"]))
            if change == "remove":
                store.remove(target)
            else:
                columns = {
                    "retire": {"superseded_by": "agent"},
                    "restore": {"superseded_by": ""},
                    "label": {"confidence": "verified"},
                    "move": {"agent_id": "b"},
                }
                store.patch(target, **columns[change])
            request = replace(data.draw(requests), now_ns=0, min_relevance=0.0)
            with store.ledger.read() as connection:
                at_ns = connection.exec_driver_sql("SELECT max(at_ns) FROM journal").scalar_one()
            ranking = store.ranker.recall(request)
            moments.append((replace(request, as_of_ns=at_ns), scores(ranking), list(ranking.facts())))
        for request, expected, then in moments:
            ranking = store.ranker.recall(request)
            assert scores(ranking) == expected
            assert list(ranking.facts()) == then


def scores(ranking: Ranking) -> list[str]:
    return [f"{hit.fact.id} {hit.vector_rank} {hit.keyword_rank} {hit.final_score!r}" for hit in ranking.hits]


@given(new_facts(prefix="p"), requests, st.data())
def test_every_remedy_for_a_missing_fact_brings_it_in(
    facts: list[NewFact], request: RecallRequest, data: st.DataObject
) -> None:
    with fresh_store() as store:
        store.add([*facts, NewFact("target", request.agent_id, data.draw(texts), 1_500, Origin("library"))])
        store.embed([fact.text for fact in facts])
        report = explain_missing(store.ranker, request, "target")
        answer = [fact.id for fact in store.ranker.recall(request).facts()]
        assert (report.reason == "returned") == ("target" in answer)
        for remedy in report.remedies:
            changed = request
            if remedy.knob in ("vector", "keyword", "recency"):
                patched = replace(request.signal_weights, **{remedy.knob: float(remedy.after)})
                changed = replace(request, signal_weights=patched)
            elif remedy.knob == "min_confidence":
                changed = replace(request, min_confidence=None, top_k=100, min_relevance=0.0)
                if any(fact.text == report.fact.text for fact in facts):
                    continue
            elif remedy.knob == "top_k":
                changed = replace(request, top_k=int(float(remedy.after)))
            elif remedy.knob == "confidence_weight":
                changed = replace(request, confidence_weight=float(remedy.after))
            elif remedy.knob == "coverage_gate":
                changed = replace(request, coverage_gate=float(remedy.after))
            else:
                changed = replace(request, min_relevance=float(remedy.after))
            assert "target" in [fact.id for fact in store.ranker.recall(changed).facts()], remedy


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=40),
    st.integers(0, 45),
    st.randoms(use_true_random=False),
)
def test_the_order_of_a_prefix_is_the_prefix_of_the_order(values: list[int], count: int, rng: object) -> None:
    keys = np.array(values, np.float64)
    ties = np.argsort(np.array([hash((v, n)) for n, v in enumerate(values)])).astype(np.int64)
    everything = sorted(range(len(values)), key=lambda n: (-values[n], int(ties[n])))
    assert first_in_order(keys, ties, count).tolist() == everything[:count]
    assert [place_of(keys, ties, n) for n in everything] == list(range(1, len(values) + 1))


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 3), st.integers(600, 900))
def test_open_keyword_ranks_are_never_too_bad_and_settle_exactly(levels: int, size: int) -> None:
    scores_ = np.array([(n * 7919) % (levels + 2) for n in range(size)], np.float64)
    ages = np.array([(n * 104729) % size for n in range(size)], np.int64)
    if len(set(ages.tolist())) < size:
        ages = np.arange(size)
    indexes = np.arange(size, dtype=np.int64) * 2
    exact = {at * 2: place_of(scores_, ages, at) for at in range(size)}
    ranks = KeywordRanks(indexes, scores_, ages, size=2 * size)
    assert all(int(ranks.ranks[at]) <= exact[at] for at in exact)
    some = indexes[::37]
    ranks.settle(some)
    assert all(int(ranks.ranks[at]) == exact[at] for at in some.tolist())
    ranks.settle_all()
    assert {at: int(ranks.ranks[at]) for at in exact} == exact
