"""The arithmetic of ranking at its edges, by hand: ties at the cut, floors, open ranks, orders, lineages, places."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gm_engine.ranking.batch import BatchResult, merged_facts
from gm_engine.ranking.fusion import (
    Selection,
    SignalRanks,
    base_scores,
    confidence_factors,
    first_in_order,
    place_of,
    select,
)
from gm_engine.ranking.keyword import idf
from gm_engine.ranking.keyword_ranks import KeywordRanks
from gm_engine.ranking.orders import extend_orders, make_orders
from gm_engine.ranking.recall import Ranker, RecallRequest
from gm_engine.ranking.receipts import age_days, lineages, receipt_payload
from gm_engine.ranking.shared import merge_namespaces
from gm_engine.records import Confidence, ConfidenceRanking, Fact, Origin, Ranks, Receipt, Retrieval, SignalWeights
from gm_engine.store.database import Ledger
from gm_engine.store.facts import NewFact, insert_facts, load_facts, patch_facts
from tests.fakes.clock import FrozenClock


def ints(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def test_the_base_score_is_the_sum_of_three_reciprocal_ranks() -> None:
    ranks = SignalRanks(ints(1, 0, 3), ints(2, 0, 0), ints(3, 1, 0))
    expected = [1 / 61 + 2 / 62 + 0.5 / 63, 0.5 / 61, 1 / 63]
    assert base_scores(ranks, SignalWeights(1.0, 2.0, 0.5)).tolist() == expected
    assert ranks.at(0) == (1, 2, 3)


def test_confidence_raises_lowers_or_leaves_a_score() -> None:
    assert confidence_factors(np.array([0, 1, 2], np.int8), 0.25).tolist() == [0.75, 1.0, 1.25]


@pytest.mark.parametrize("scores", [[5, 5, 5, 5, 5, 5], [1, 5, 5, 5, 5, 9], [1, 2, 3, 3, 2, 1], [6, 5, 4, 3, 2, 1]])
@pytest.mark.parametrize("ties", [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [3, 0, 5, 1, 4, 2]])
def test_the_first_of_an_order_are_the_same_wherever_the_cut_falls_between_equals(
    scores: list[int], ties: list[int]
) -> None:
    everything = sorted(range(6), key=lambda n: (-scores[n], ties[n]))
    values, order = np.array(scores, np.float64), ints(*ties)
    for count in range(-1, 8):
        assert first_in_order(values, order, count).tolist() == everything[: max(count, 0)]
    assert [place_of(values, order, n) for n in everything] == [1, 2, 3, 4, 5, 6]


def test_of_many_equals_the_oldest_are_taken() -> None:
    ties = np.random.default_rng(8).permutation(400).astype(np.int64)
    for count in range(1, 400):
        first = first_in_order(np.ones(400), ties, count)
        assert ties[first].tolist() == list(range(count))


def test_the_answer_stops_below_the_floor_and_not_at_it() -> None:
    scores, texts = np.array([1.0, 4.0, 0.9, 3.0]), [b"a", b"b", b"c", b"d"]
    chosen = select([1, 3, 0, 2], scores, texts, top_k=9, min_relevance=0.25)
    assert chosen == Selection((1, 3, 0), True)
    assert select([1, 3, 0], scores, texts[:3], top_k=9, min_relevance=0.25) == Selection((1, 3, 0), False)
    with pytest.raises(ValueError, match="zip"):
        select([1, 3, 0], scores, texts, top_k=9, min_relevance=0.0)


def test_the_answer_takes_one_fact_of_each_text_and_knows_when_it_is_full() -> None:
    scores, texts = np.array([1.0, 0.9, 0.8, 0.7]), [b"a", b"a", b"b", b"c"]
    assert select([0, 1, 2, 3], scores, texts, top_k=2, min_relevance=0.0) == Selection((0, 2), True)
    assert select([0, 1, 2, 3], scores, texts, top_k=3, min_relevance=0.0) == Selection((0, 2, 3), True)
    assert select([0, 1, 2, 3], scores, texts, top_k=4, min_relevance=0.0) == Selection((0, 2, 3), False)
    assert select([], scores, [], top_k=4, min_relevance=0.0) == Selection((), True)


def open_ranks(count: int) -> KeywordRanks:
    """The ranks of `count` facts in a view of twice as many; two of a score, the older one with the higher index."""
    scores = np.array([float(count - n // 2) for n in range(count)])
    ages = ints(*(n ^ 1 for n in range(count)))
    return KeywordRanks(np.arange(count, dtype=np.int64) * 2 + 1, scores, ages, size=2 * count)


def test_few_keyword_ranks_are_exact_at_once_and_others_are_no_ranks() -> None:
    ranks = open_ranks(6)
    assert ranks.ranks.tolist() == [0, 2, 0, 1, 0, 4, 0, 3, 0, 6, 0, 5]
    assert not ranks.is_open.any()
    assert not ranks.settle(np.arange(12))


def test_ranks_beyond_the_first_are_open_and_as_good_as_they_could_be() -> None:
    ranks = open_ranks(700)
    exact = [n ^ 1 for n in range(700)]
    known = int(np.count_nonzero(~ranks.is_open[1::2]))
    assert 0 < known < 700
    assert ranks.ranks[1::2].tolist() == [place + 1 if place < known else known + 1 for place in exact]
    assert ranks.is_open[1::2].tolist() == [place >= known for place in exact]
    assert not ranks.is_open[::2].any()


def test_only_the_ranks_that_are_asked_for_become_exact() -> None:
    ranks = open_ranks(700)
    before = ranks.ranks.copy()
    asked = ints(2 * 600 + 1, 2 * 699 + 1, 1)
    assert ranks.settle(asked)
    before[asked] = [602, 699, 2]
    assert ranks.ranks.tolist() == before.tolist()
    assert not ranks.is_open[asked].any()
    assert ranks.is_open[2 * 601 + 1]
    assert not ranks.settle(asked)


@pytest.mark.parametrize("at_once", [True, False])
def test_all_ranks_become_exact(at_once: bool) -> None:
    ranks = open_ranks(700)
    if at_once:
        ranks.settle_all()
    else:
        assert ranks.settle(np.arange(1400))
    assert ranks.ranks[1::2].tolist() == [(n ^ 1) + 1 for n in range(700)]
    assert not ranks.ranks[::2].any()
    assert not ranks.is_open.any()


@pytest.mark.parametrize("known", [0, 1, 4, 7])
@pytest.mark.parametrize("times", [[3, 1, 3, 1, 2, 3, 1], [1, 1, 1, 1, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7]])
def test_the_orders_of_a_namespace_hold_however_it_grew(times: list[int], known: int) -> None:
    ids, created = list("dafbegc"), ints(*times)
    orders = extend_orders(make_orders(ids[:known], created[:known]), ids, created)
    assert orders.by_id.tolist() == sorted(range(7), key=lambda n: ids[n])
    assert orders.by_age.tolist() == sorted(range(7), key=lambda n: (times[n], ids[n]))
    assert orders.newest.tolist() == sorted(range(7), key=lambda n: (-times[n], ids[n]))
    assert orders.id_rank[orders.by_id].tolist() == list(range(7))
    assert orders.age_rank[orders.by_age].tolist() == list(range(7))


def test_a_large_addition_gives_the_same_orders_as_many_small_ones() -> None:
    rng = np.random.default_rng(8)
    ids, created = [f"{n:04d}" for n in rng.permutation(600).tolist()], rng.integers(0, 40, 600)
    grown, at_once = make_orders(ids[:1], created[:1]), make_orders(ids, created)
    for size in (2, 90, 300, 600):
        grown = extend_orders(grown, ids[:size], created[:size])
    for name in ("by_id", "by_age", "newest", "id_rank", "age_rank"):
        assert getattr(grown, name).tolist() == getattr(at_once, name).tolist()


FACT = Fact(
    id="f",
    agent_id="ana",
    text="A red fox.",
    created_ns=86_400 * 10**9,
    accessed_ns=None,
    access_count=0,
    weight=1.0,
    superseded_by="",
    confidence="",
    kind="",
    alias_source="",
    pinned=False,
    pinned_ns=None,
    origin=Origin("library"),
    version=1,
)


def receipt_of(fact: Fact, weights: SignalWeights | None = None) -> Receipt:
    ranks = Ranks(0, 1, 2, 0.25, 60, SignalWeights() if weights is None else weights)
    return Receipt(fact, 1.2345, ranks, 0.25, None, ())


def test_a_receipt_on_the_wire_leaves_out_what_says_nothing() -> None:
    assert receipt_payload(receipt_of(FACT)) == {
        "text": "A red fox.",
        "weight": 1.0,
        "age_days": 1.23,
        "ranks": {"vector_rank": 0, "keyword_rank": 1, "recency_rank": 2, "fused_score": 0.25, "k": 60},
        "provenance": {"fact_id": "f", "written_at": "1970-01-02T00:00:00Z"},
    }


def test_a_receipt_on_the_wire_has_all_that_there_is_to_say() -> None:
    fact = replace(FACT, superseded_by="g", confidence="rumour", pinned=True)
    ranking = ConfidenceRanking(0.25, 0.2, 0.8, Confidence.UNVERIFIED, 0.2, "confidence-v1")
    full = replace(
        receipt_of(fact, SignalWeights(3.0, 2.0, 1.0)), supersedes=("a", "b"), kg_links=("e1",), ranking=ranking
    )
    payload = receipt_payload(full)
    assert payload["provenance"] == {
        "fact_id": "f",
        "written_at": "1970-01-02T00:00:00Z",
        "superseded_by": "g",
        "confidence": "rumour",
        "pinned": True,
        "supersedes": ["a", "b"],
    }
    assert payload["kg_links"] == ["e1"]
    ranks, told = payload["ranks"], payload["ranking"]
    assert isinstance(ranks, dict)
    assert ranks["weights"] == {"vector": 3.0, "keyword": 2.0, "recency": 1.0}
    assert told == {
        "base_score": 0.25,
        "final_score": 0.2,
        "factor": 0.8,
        "effective_confidence": "unverified",
        "confidence_weight": 0.2,
        "policy": "confidence-v1",
    }


def test_an_age_is_counted_in_days_and_their_parts() -> None:
    assert age_days(86_400 * 10**9, 3 * 86_400 * 10**9 + 43_200 * 10**9) == 2.5


def test_two_answers_are_merged_by_the_sum_of_their_places_and_ties_by_the_own_one() -> None:
    def facts(agent: str, *texts: str) -> list[Fact]:
        return [replace(FACT, id=f"{agent}{n}", agent_id=agent, text=text) for n, text in enumerate(texts, 1)]

    own, shared = facts("own", "a", "b", "both", "e"), facts("shared", "c", "both", "d", "e", "z")
    merged = merge_namespaces(own, shared, top_k=20)
    assert [fact.text for fact in merged] == ["both", "e", "a", "c", "b", "d", "z"]
    assert [fact.id for fact in merged[:2]] == ["own3", "own4"]
    assert merge_namespaces(own, shared, top_k=2) == merged[:2]
    twice = facts("own", "x", "y", "x", "y")
    assert [fact.id for fact in merge_namespaces(twice, [], top_k=9)] == ["own1", "own2"]
    assert [fact.id for fact in merge_namespaces([], twice, top_k=9)] == ["own1", "own2"]


@pytest.mark.parametrize(("better", "worse"), [((1, 13), (5, 8)), ((11, 12), (6, 18))])
def test_merged_places_count_from_one_over_sixty(better: tuple[int, int], worse: tuple[int, int]) -> None:
    """Pairs whose order turns round where 60 is one more or one less."""
    lists = [
        [replace(FACT, id=text, text=text) for text in (f"{side}{place}" for place in range(1, 21))] for side in "os"
    ]
    for text, places in (("better", better), ("worse", worse)):
        for ranked, place in zip(lists, places, strict=True):
            ranked[place - 1] = replace(FACT, id=text, text=text)
    assert [fact.text for fact in merge_namespaces(*lists, top_k=2)] == ["better", "worse"]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path, clock=FrozenClock("1972-01-01T00:00:00Z")) as opened:
        yield opened


def add(ledger: Ledger, *facts: tuple[str, str], replaced_by: dict[str, str] | None = None) -> None:
    """Facts as (id, text), one second apart, each retired in a write of its own."""
    origin = Origin("library")
    with ledger.write("remember", origin=origin) as tx:
        insert_facts(
            tx,
            [NewFact(fact_id, "ana", text, n * 10**9, origin) for n, (fact_id, text) in enumerate(facts)],
            language="english",
        )
    for older, newer in (replaced_by or {}).items():
        with ledger.write("revise", origin=origin) as tx:
            patch_facts(tx, load_facts(tx.connection, [older]).values(), {"superseded_by": newer})


def test_a_lineage_goes_back_step_by_step_the_latest_replacement_first(ledger: Ledger) -> None:
    names = ["new", "b", "a", "d", "c", "e", "alone"]
    chain = {"e": "d", "d": "b", "c": "a", "b": "new", "a": "new"}
    add(ledger, *((name, f"text {name}") for name in names), replaced_by=chain)
    with ledger.read() as connection:
        found = lineages(connection, ["new", "alone", "a", "nobody"])
    assert found == {"new": ("a", "b", "c", "d", "e"), "alone": (), "a": ("c",), "nobody": ()}


def test_a_circle_of_replacements_is_told_once(ledger: Ledger) -> None:
    add(ledger, ("a", "one"), ("b", "two"), ("c", "three"), replaced_by={"a": "b", "b": "a", "c": "c"})
    with ledger.read() as connection:
        assert lineages(connection, ["a", "c"]) == {"a": ("b",), "c": ()}


def asking(query: str, weights: SignalWeights, confidence_weight: float = 0.0) -> RecallRequest:
    return RecallRequest("ana", query, 8, None, confidence_weight, weights, 0.0, 0.0, now_ns=10**15)


def test_a_signal_without_weight_has_no_ranks_and_no_share(ledger: Ledger) -> None:
    add(ledger, ("f1", "red fox"), ("f2", "red hen"), ("f3", "a cow"))
    with Ranker(ledger, None, None).evaluate(asking("red", SignalWeights(1.0, 1.0, 1.0))) as evaluation:
        seen = replace(evaluation, vector=replace(evaluation.vector, ranks=ints(3, 2, 1)))
        everything = seen.ranked()
        assert [everything.ranks.at(n) for n in range(3)] == [(3, 1, 3), (2, 2, 2), (1, 0, 1)]
        for weights, ranks, base in (
            (SignalWeights(0.0, 1.0, 1.0), (0, 1, 3), 1 / 61 + 1 / 63),
            (SignalWeights(1.0, 0.0, 1.0), (3, 0, 3), 1 / 63 + 1 / 63),
            (SignalWeights(1.0, 1.0, 0.0), (3, 1, 0), 1 / 63 + 1 / 61),
            (SignalWeights(0.5, 0.0, 0.0), (3, 0, 0), 0.5 / 63),
        ):
            ranked = seen.ranked(weights, 0.0)
            assert ranked.ranks.at(0) == ranks
            assert ranked.base[0] == ranked.final[0] == base


def test_the_final_score_is_the_base_times_the_factor(ledger: Ledger) -> None:
    add(ledger, ("f1", "red fox"), ("f2", "red hen"))
    patched = Confidence.UNVERIFIED.value
    with ledger.write("label", origin=Origin("library")) as tx:
        patch_facts(tx, load_facts(tx.connection, ["f1"]).values(), {"confidence": patched})
    with Ranker(ledger, None, None).evaluate(asking("red", SignalWeights(), 0.5)) as evaluation:
        ranked = evaluation.ranked()
        assert ranked.factors.tolist() == [0.5, 1.0]
        assert ranked.final.tolist() == (ranked.base * [0.5, 1.0]).tolist()
        assert [ranked.place(0), ranked.place(1)] == [2, 1]
        assert ranked.first(1).tolist() == [1]
        assert evaluation.ranked(confidence_weight=0.25).factors.tolist() == [0.75, 1.0]


def test_an_answer_looks_further_while_copies_take_its_places(ledger: Ledger) -> None:
    add(ledger, *((f"g{n}", f"other {n}") for n in range(3)), *((f"f{n:03d}", "red fox") for n in range(200)))
    ranker = Ranker(ledger, None, None)
    chosen = [fact.id for fact in ranker.recall(replace(asking("red", SignalWeights()), top_k=3)).facts()]
    assert chosen == ["f000", "g2", "g1"]


def test_a_floor_that_the_best_copies_reach_ends_the_answer(ledger: Ledger) -> None:
    add(ledger, ("g", "other"), *((f"f{n:03d}", "red fox") for n in range(60)))
    request = replace(asking("red", SignalWeights(1.0, 1.0, 0.0)), min_relevance=0.1)
    assert [fact.id for fact in Ranker(ledger, None, None).recall(request).facts()] == ["f000"]


def test_a_common_word_gives_exact_scores_as_far_as_they_are_asked_for(ledger: Ledger) -> None:
    """Keyword ranks beyond the first few hundred start too good; what is in the answer has its own."""
    add(ledger, *((f"f{n:03d}", f"red item{n}") for n in range(700)))
    weights = SignalWeights(0.0, 1.0, 1.0)
    exact = [1 / (60 + n + 1) + 1 / (60 + 700 - n) for n in range(700)]  # the oldest is first by word, last by age
    with Ranker(ledger, None, None).evaluate(asking("red", weights)) as evaluation:
        ranked = evaluation.ranked()
        first = ranked.first(20).tolist()
        assert first == sorted(range(700), key=lambda n: (-exact[n], n))[:20]
        assert 699 in first
        assert [ranked.final[n] for n in first] == pytest.approx([exact[n] for n in first], abs=1e-15)
        ranked = evaluation.ranked()
        ranked.settle_all()
        assert ranked.ranks.keyword.tolist() == list(range(1, 701))
        assert ranked.final.tolist() == pytest.approx(exact, abs=1e-15)


def test_the_weight_of_a_word_falls_with_the_facts_that_hold_it() -> None:
    expected = [math.log(1 + 10.5 / 0.5), math.log(1 + 7.5 / 3.5), math.log(1 + 0.5 / 10.5)]
    assert [idf(10, 0), idf(10, 3), idf(10, 10)] == [round(weight, 12) for weight in expected]


def test_a_keyword_score_is_the_formula_of_the_document(ledger: Ledger) -> None:
    add(ledger, ("f1", "zib zib zab"), ("f2", "zib zub zeb zob zyb"), ("f3", "zab"), ("f4", "zub zub zub"))
    with Ranker(ledger, None, None).evaluate(asking("zib zab", SignalWeights())) as evaluation:
        match = evaluation.match
    average = (3 + 5 + 1 + 3) / 4

    def share(frequency: int, length: int) -> float:
        weight = math.log(1 + 2.5 / 2.5)  # two of four facts
        return weight * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length / average))

    assert match.scores.tolist() == pytest.approx([share(2, 3) + share(1, 3), share(1, 5), share(1, 1), 0], abs=1e-11)
    assert (match.matched.tolist(), match.frequency) == ([0, 1, 2], (2, 2))


def test_all_words_of_an_alias_together_stand_for_its_term(ledger: Ledger) -> None:
    texts = ["zib", "zab zub zyb", "zab zub", "zub zyb", "zab zyb", "zyb", "zob"]
    add(ledger, *((f"f{n}", text) for n, text in enumerate(texts)))
    alias = NewFact("alias", "ana", "alias: zib = zab zub zyb", 0, Origin("library"), kind="alias")
    with ledger.write("alias", origin=Origin("library")) as tx:
        insert_facts(tx, [alias], language="english")
    request = replace(asking("zib zeb", SignalWeights()), coverage_gate=0.3)
    with Ranker(ledger, None, None).evaluate(request) as evaluation:
        match = evaluation.match
        ids = evaluation.snapshot.ids
    assert {ids[at]: mass for at, mass in enumerate(match.mass) if mass} == {"f0": idf(7, 1), "f1": idf(7, 1)}
    assert match.total_mass == idf(7, 1) + idf(7, 0)
    assert sorted(ids[at] for at in match.matched) == ["f0", "f1", "f2", "f3", "f4", "f5"]
    assert sorted(ids[at] for at in match.ranked) == ["f0", "f1"]
    assert match.frequency == (2, 0)


def test_what_just_reaches_the_gate_is_ranked(ledger: Ledger) -> None:
    add(ledger, ("f1", "zib"), ("f2", "zab"), ("f3", "zib zab"))
    request = replace(asking("zib zab", SignalWeights()), coverage_gate=0.5)
    with Ranker(ledger, None, None).evaluate(request) as evaluation:
        assert evaluation.match.ranked.tolist() == [0, 1, 2]
    with Ranker(ledger, None, None).evaluate(replace(request, coverage_gate=0.51)) as evaluation:
        assert evaluation.match.ranked.tolist() == [2]


def test_the_facts_of_a_batch_stand_by_best_place_then_by_how_many_answers_hold_them() -> None:
    one, two, both, late = (replace(FACT, id=name, text=name) for name in ("one", "two", "both", "late"))
    answers = [(one, two), (both, late), (both, late)]
    merged = merged_facts([BatchResult("q", facts) for facts in answers])
    assert [fact.id for fact in merged] == ["both", "one", "late", "two"]


def test_the_policy_is_told_when_any_option_of_confidence_is_in_force() -> None:
    plain = asking("red", SignalWeights())
    assert plain.retrieval is None
    assert replace(plain, confidence_given=True).retrieval == Retrieval(
        None, 0.0, "confidence-v1", "hints_without_confidence_receipts"
    )
    assert replace(plain, confidence_weight=0.5).retrieval == Retrieval(
        None, 0.5, "confidence-v1", "hints_without_confidence_receipts"
    )
    assert replace(plain, min_confidence=Confidence.INFERRED).retrieval == Retrieval(
        Confidence.INFERRED, 0.0, "confidence-v1", "suppressed_min_confidence"
    )


def test_an_answer_of_the_past_counts_ages_from_there(ledger: Ledger) -> None:
    add(ledger, ("f0", "red fox"))
    with ledger.read() as connection:
        at_ns = connection.exec_driver_sql("SELECT max(at_ns) FROM journal").scalar_one()
    request = replace(asking("red", SignalWeights()), now_ns=at_ns + 86_400 * 10**9)
    ranker = Ranker(ledger, None, None)
    assert ranker.recall(request).receipts()[0].age_days == age_days(0, at_ns) + 1
    assert ranker.recall(replace(request, as_of_ns=at_ns)).receipts()[0].age_days == age_days(0, at_ns)


def test_a_batch_says_how_many_are_done_before_each(ledger: Ledger) -> None:
    add(ledger, ("f0", "red fox"))
    done: list[int] = []
    answers = Ranker(ledger, None, None).recall_each([asking("red", SignalWeights())] * 3, watch=done.append)
    assert (len(answers), done) == (3, [0, 1, 2])
