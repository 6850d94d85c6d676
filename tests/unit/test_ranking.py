"""Recall over a real ledger: aliases, filters, receipts, weak matches, several processes, failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gm_engine.embedding.embedder import QueryVectors, quantise
from gm_engine.errors import AsOfUnsupported, EmbeddingFailed, InvalidInput, NotFound
from gm_engine.ranking.aliases import Alias, parse_alias
from gm_engine.ranking.batch import batch_recall, merged_facts
from gm_engine.ranking.missing import explain_missing
from gm_engine.ranking.recall import Ranker, RecallRequest, shared_request
from gm_engine.ranking.receipts import receipt_payload
from gm_engine.ranking.shared import merge_namespaces
from gm_engine.records import SHARED_AGENT_ID, Confidence, Origin, SignalWeights
from gm_engine.store.database import Ledger
from gm_engine.store.facts import NewFact, insert_facts, load_facts, patch_facts
from gm_engine.store.vectors import ensure_model, insert_vectors
from gm_engine.terms import text_key
from gm_engine.vectors.planner import VectorPlanner
from gm_engine.vectors.table import VectorTable
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

DAY_NS = 86_400 * 10**9
NOW_NS = 1_000 * DAY_NS


class Broken(ScriptedEmbedder):
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbeddingFailed("The model did not answer.")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path, clock=FrozenClock("1972-01-01T00:00:00Z")) as opened:
        yield opened


def ranker_of(ledger: Ledger, embedder: ScriptedEmbedder | None = None) -> Ranker:
    if embedder is None:
        return Ranker(ledger, None, None)
    return Ranker(ledger, VectorPlanner(VectorTable(embedder.model, embedder.dims)), QueryVectors(embedder))


def add(ledger: Ledger, *facts: tuple[str, str], agent_id: str = "ana", **columns: str) -> None:
    """Facts as (id, text), one day apart, oldest first, the last one a day before now."""
    first = NOW_NS - len(facts) * DAY_NS
    with ledger.write("remember", origin=Origin("library")) as tx:
        new = [
            NewFact(fact_id, agent_id, text, first + n * DAY_NS, Origin("library"), **columns)  # type: ignore[arg-type]
            for n, (fact_id, text) in enumerate(facts)
        ]
        insert_facts(tx, new, language="english")


def patch(ledger: Ledger, fact_id: str, **columns: str) -> None:
    with ledger.write("edit", origin=Origin("library")) as tx:
        patch_facts(tx, load_facts(tx.connection, [fact_id]).values(), dict(columns))


def embed(ledger: Ledger, embedder: ScriptedEmbedder, *texts: str) -> None:
    with ledger.bookkeep() as connection:
        model = ensure_model(connection, embedder.model, embedder.dims)
        insert_vectors(connection, model, [text_key(text) for text in texts], quantise(embedder.embed(texts)))


def asking(query: str, **options: object) -> RecallRequest:
    request = RecallRequest(
        agent_id="ana",
        query=query,
        top_k=8,
        min_confidence=None,
        confidence_weight=0.0,
        signal_weights=SignalWeights(),
        coverage_gate=0.4,
        min_relevance=0.0,
        now_ns=NOW_NS,
    )
    return replace(request, **options)  # type: ignore[arg-type]


def found(ranker: Ranker, query: str, **options: object) -> list[str]:
    return [fact.id for fact in ranker.recall(asking(query, **options)).facts()]


def test_a_word_of_the_query_comes_first_and_the_rest_by_recency(ledger: Ledger) -> None:
    add(ledger, ("f1", "The deploy runs on Friday"), ("f2", "Lunch is at noon"), ("f3", "Tea at four"))
    assert found(ranker_of(ledger), "deploys") == ["f1", "f3", "f2"]


def test_an_empty_store_and_an_empty_query_answer_without_error(ledger: Ledger) -> None:
    ranker = ranker_of(ledger, ScriptedEmbedder())
    empty = ranker.recall(asking("anything"))
    assert (empty.facts(), empty.coverage.eligible, empty.coverage.vector_path) == ((), 0, "none")
    add(ledger, ("f1", "one"), ("f2", "two"))
    assert found(ranker, "  ") == ["f2", "f1"]
    assert found(ranker, "🎉") == ["f2", "f1"]


def test_a_query_with_a_lone_surrogate_is_refused_and_any_other_text_is_not(ledger: Ledger) -> None:
    add(ledger, ("f1", "needle\x00 [[x]] \u202eRTL\u202c <b>"))
    ranker = ranker_of(ledger)
    with pytest.raises(InvalidInput):
        ranker.recall(asking("bad \ud800"))
    for query in ("needle\x00", "[[x]]", "\u202eRTL\u202c", "<b>needle</b>", "needle " * 100_000, "---"):
        assert found(ranker, query) == ["f1"]


def test_a_query_of_a_hundred_thousand_words_is_answered_by_its_beginning(ledger: Ledger) -> None:
    add(ledger, ("f1", "a red fox"), ("f2", "the last word"))
    long = " ".join(["fox", *(f"w{n}" for n in range(100_000)), "last"])
    ranking = ranker_of(ledger).recall(asking(long, coverage_gate=0.0))
    assert {hit.fact.id: hit.keyword_rank for hit in ranking.hits} == {"f1": 1, "f2": 0}


def test_top_k_of_zero_or_less_means_eight(ledger: Ledger) -> None:
    add(ledger, *((f"f{n:02d}", f"fact number {n}") for n in range(12)))
    assert [len(found(ranker_of(ledger), "fact", top_k=k)) for k in (-1, 0, 1, 20)] == [8, 8, 1, 12]


def test_copies_of_a_text_take_one_place(ledger: Ledger) -> None:
    add(ledger, *((f"f{n:02d}", "the same café" if n % 2 else "the same cafe\u0301") for n in range(40)), ("g", "tea"))
    assert found(ranker_of(ledger), "café", top_k=3) == ["f00", "g"]


def test_the_filter_comes_before_document_frequencies(ledger: Ledger) -> None:
    add(ledger, ("v1", "red fox"), ("v2", "blue fox"), confidence="verified")
    add(ledger, *((f"u{n}", "red hen") for n in range(9)), confidence="unverified")
    ranker = ranker_of(ledger)
    (first, _) = ranker.recall(asking("red", min_confidence=Confidence.VERIFIED)).hits
    only = ranker.recall(asking("red", min_confidence=Confidence.UNVERIFIED)).hits
    assert first.fact.id == "v1"
    # as in a store of two facts, where the word is rare
    assert first.keyword_score is not None
    assert only[0].keyword_score is not None
    assert first.keyword_score > only[0].keyword_score


def test_confidence_moves_the_final_score_and_never_the_base(ledger: Ledger) -> None:
    add(ledger, ("a", "red one"), confidence="unverified")
    add(ledger, ("b", "red two"), confidence="verified")
    add(ledger, ("c", "red six"), confidence="hearsay")
    ranking = ranker_of(ledger).recall(asking("red", confidence_weight=0.5))
    assert ranking.hits[0].fact.id == "b"
    for receipt in ranking.receipts():
        assert receipt.ranking is not None
        assert receipt.ranking.final_score == receipt.ranking.base_score * receipt.ranking.factor
    assert {hit.fact.id: hit.factor for hit in ranking.hits} == {"a": 0.5, "b": 1.5, "c": 0.5}


def test_retrieval_is_told_when_an_option_was_given_or_a_default_is_set(ledger: Ledger) -> None:
    assert asking("q").retrieval is None
    explicit = asking("q", confidence_given=True).retrieval
    assert explicit is not None
    assert (explicit.confidence_weight, explicit.kg) == (0.0, "hints_without_confidence_receipts")
    filtered = asking("q", min_confidence=Confidence.UNVERIFIED).retrieval
    assert filtered is not None
    assert (filtered.policy, filtered.kg) == ("confidence-v1", "suppressed_min_confidence")


@pytest.mark.parametrize(
    ("text", "alias"),
    [
        ("alias: k8s = Kubernetes, kube", Alias("k8s", ("Kubernetes", "kube"))),
        ("Alias:x=y", Alias("x", ("y",))),
        ("alias: merge request = pull request", Alias("merge request", ("pull request",))),
        ("alias: a = ", None),
        ("alias: = b", None),
        ("alias: a = b = c", None),
        ("alias a = b", None),
        ("", None),
    ],
)
def test_an_alias_text_is_read_or_skipped(text: str, alias: Alias | None) -> None:
    assert parse_alias(text) == alias


def test_one_word_aliases_work_both_ways_and_longer_ones_from_the_term_only(ledger: Ledger) -> None:
    add(ledger, ("f1", "Kubernetes runs here"), ("f2", "k8s runs there"), ("f3", "open a pull request"))
    add(ledger, ("f4", "write an MR"), ("f9", "unrelated and new"))
    ranker = ranker_of(ledger)
    assert found(ranker, "k8s", top_k=1) == ["f2"]
    add(ledger, ("x1", "alias: k8s = Kubernetes"), ("x2", "alias: MR = pull request"), kind="alias")
    assert set(found(ranker, "k8s", top_k=2)) == {"f1", "f2"}
    assert set(found(ranker, "Kubernetes", top_k=2)) == {"f1", "f2"}
    assert set(found(ranker, "MR", top_k=2)) == {"f3", "f4"}
    assert found(ranker, "pull request", top_k=2)[0] == "f3"
    assert "f4" not in found(ranker, "pull request", top_k=2)
    patch(ledger, "x1", superseded_by="agent")
    assert found(ranker, "k8s", top_k=2)[0] == "f2"
    assert "f1" not in found(ranker, "k8s", top_k=2)


def test_the_expanded_query_is_what_is_embedded(ledger: Ledger) -> None:
    embedder = ScriptedEmbedder()
    add(ledger, ("f1", "kubernetes runs here"), ("f2", "something else entirely"))
    add(ledger, ("x1", "alias: k8s = kubernetes"), kind="alias")
    embed(ledger, embedder, "kubernetes runs here", "something else entirely")
    ranking = ranker_of(ledger, embedder).recall(asking("k8s"))
    assert embedder.calls[-1] == ("k8s kubernetes",)
    assert (ranking.hits[0].fact.id, ranking.hits[0].vector_rank) == ("f1", 1)
    assert ranking.coverage.with_vector == ranking.coverage.eligible == 2


def test_a_text_without_a_vector_is_found_by_keyword_and_counted(ledger: Ledger) -> None:
    embedder = ScriptedEmbedder()
    add(ledger, ("f1", "red fox"), ("f2", "blue fox"))
    embed(ledger, embedder, "red fox")
    ranker = ranker_of(ledger, embedder)
    before = ranker.recall(asking("fox"))
    assert (before.coverage.eligible, before.coverage.with_vector) == (2, 1)
    assert {hit.fact.id: hit.vector_rank for hit in before.hits} == {"f1": 1, "f2": 0}
    embed(ledger, embedder, "blue fox")
    assert ranker.recall(asking("fox")).coverage.with_vector == 2


def test_a_failing_embedder_is_said_without_a_filter_and_an_error_with_one(ledger: Ledger) -> None:
    working = ScriptedEmbedder()
    add(ledger, ("f1", "red fox"), confidence="verified")
    embed(ledger, working, "red fox")
    ranker = ranker_of(ledger, Broken())
    ranking = ranker.recall(asking("fox"))
    assert [hit.fact.id for hit in ranking.hits] == ["f1"]
    assert (ranking.coverage.vector_path, ranking.coverage.reason) == ("none", "The model did not answer.")
    with pytest.raises(EmbeddingFailed):
        ranker.recall(asking("fox", min_confidence=Confidence.VERIFIED))
    switched_off = asking("fox", min_confidence=Confidence.VERIFIED, signal_weights=SignalWeights(0.0, 1.0, 0.5))
    assert ranker.recall(switched_off).coverage.reason == "the vector weight is 0"


def test_a_receipt_has_the_shape_of_the_contract_and_reproduces(ledger: Ledger) -> None:
    add(ledger, ("old1", "first text"), ("old2", "second text"), ("new", "The red foxes"), confidence="verified")
    patch(ledger, "old1", superseded_by="old2")
    patch(ledger, "old2", superseded_by="new")
    (receipt,) = ranker_of(ledger).recall(asking("fox")).receipts()
    assert receipt.supersedes == ("old2", "old1")
    assert receipt.matched_terms == ("foxes",)
    payload = receipt_payload(receipt)
    assert payload == {
        "text": "The red foxes",
        "weight": 1.0,
        "age_days": 1.0,
        "ranks": {"vector_rank": 0, "keyword_rank": 1, "recency_rank": 1, "fused_score": 1 / 61 + 0.5 / 61, "k": 60},
        "provenance": {
            "fact_id": "new",
            "written_at": "1972-09-26T00:00:00Z",
            "confidence": "verified",
            "supersedes": ["old2", "old1"],
        },
    }
    weights = SignalWeights(1.0, 1.0, 0.1)
    (other,) = ranker_of(ledger).recall(asking("fox", signal_weights=weights, confidence_given=True)).receipts()
    wire = receipt_payload(other)
    assert wire["ranking"] == {
        "base_score": other.ranks.fused_score,
        "final_score": other.final_score,
        "factor": 1.0,
        "effective_confidence": "verified",
        "confidence_weight": 0.0,
        "policy": "confidence-v1",
    }
    ranks = wire["ranks"]
    assert isinstance(ranks, dict)
    assert ranks["weights"] == {"vector": 1.0, "keyword": 1.0, "recency": 0.1}


def test_a_lineage_that_bites_its_tail_ends(ledger: Ledger) -> None:
    add(ledger, ("a", "one"), ("b", "two"), ("c", "three"))
    patch(ledger, "a", superseded_by="b")
    patch(ledger, "b", superseded_by="a")
    ranker = ranker_of(ledger)
    assert found(ranker, "one") == ["c"]
    patch(ledger, "c", superseded_by="c")
    patch(ledger, "a", superseded_by="")
    (receipt,) = ranker.recall(asking("one")).receipts()
    assert (receipt.fact.id, receipt.supersedes) == ("a", ("b",))


def test_a_weak_match_names_stored_words_nearby(ledger: Ledger) -> None:
    add(ledger, ("f1", "Kubernetes upgrade is due"), ("f2", "The Okafor contract"), ("f3", "tea"))
    ranker = ranker_of(ledger)
    feedback = ranker.recall(asking("kubernotes okafr")).feedback
    assert "“Kubernetes”" in feedback
    assert "“Okafor”" in feedback
    assert "alias" in feedback
    assert ranker.recall(asking("kubernetes upgrade")).feedback == ""
    assert ranker.recall(asking("the")).feedback == ""
    beside = ranker.recall(asking("kubernetes zebra unicorn")).feedback
    assert "“upgrade”" in beside
    filtered = ranker.recall(asking("kubernotes", min_confidence=Confidence.VERIFIED)).feedback
    assert "Kubernetes”" not in filtered


def test_a_write_by_another_process_is_in_the_next_recall(ledger: Ledger, tmp_path: Path) -> None:
    add(ledger, ("f1", "red fox"))
    ranker = ranker_of(ledger)
    assert found(ranker, "fox") == ["f1"]
    with Ledger.open(tmp_path, clock=FrozenClock("1972-02-01T00:00:00Z")) as other:
        add(other, ("f2", "another fox"), ("f0", "an older one"))
        assert found(ranker, "fox") == found(ranker_of(other), "fox") == ["f2", "f1", "f0"]
        patch(other, "f2", superseded_by="agent")
        patch(other, "f1", agent_id="ben")
        assert found(ranker, "fox") == ["f0"]
        assert found(ranker, "fox", agent_id="ben") == ["f1"]


def test_many_appended_facts_are_merged_into_the_index(ledger: Ledger) -> None:
    add(ledger, ("f", "a red fox"))
    ranker = ranker_of(ledger)
    assert found(ranker, "fox", top_k=1) == ["f"]
    for part in range(5):
        add(ledger, *((f"g{part}-{n:03d}", f"item {part} {n} word{n % 7}") for n in range(500)))
        assert found(ranker, "fox", top_k=1) == ["f"]
        assert found(ranker, f"word{part}", top_k=500) == found(ranker_of(ledger), f"word{part}", top_k=500)


def test_recall_as_of_before_the_journal_begins_is_refused(ledger: Ledger) -> None:
    with pytest.raises(AsOfUnsupported):
        ranker_of(ledger).recall(asking("fox", as_of_ns=NOW_NS))
    add(ledger, ("f1", "red fox"))
    with ledger.read() as connection:
        at_ns = connection.exec_driver_sql("SELECT at_ns FROM journal").scalar_one()
    with pytest.raises(AsOfUnsupported):
        ranker_of(ledger).recall(asking("fox", as_of_ns=at_ns - 1))
    patch(ledger, "f1", superseded_by="agent")
    add(ledger, ("f2", "blue fox"))
    assert found(ranker_of(ledger), "fox", as_of_ns=at_ns) == ["f1"]
    assert found(ranker_of(ledger), "fox") == ["f2"]


def test_each_query_of_a_batch_is_as_alone_and_one_failure_stays_alone(ledger: Ledger) -> None:
    add(ledger, ("f1", "red fox"), ("f2", "blue hen"), ("f3", "red hen"))
    ranker = ranker_of(ledger)
    asked = [asking("red", top_k=2), asking("\ud800"), asking("hen", top_k=2)]
    results = batch_recall(ranker, asked)
    assert [result.query for result in results] == ["red", "\ud800", "hen"]
    assert results[0].facts == ranker.recall(asked[0]).facts()
    assert isinstance(results[1].error, InvalidInput)
    assert results[1].facts == ()
    assert [fact.id for fact in results[0].facts] == ["f1", "f3"]
    assert [fact.id for fact in results[2].facts] == ["f2", "f3"]
    assert [fact.id for fact in merged_facts(results)] == ["f1", "f2", "f3"]


def test_two_namespaces_are_merged_by_place_and_own_facts_stand_for_copies(ledger: Ledger) -> None:
    add(ledger, ("a2", "red hen"), ("a1", "red fox"))
    add(ledger, ("s2", "red fox"), ("s1", "red cow"), agent_id=SHARED_AGENT_ID)
    request = asking("red", signal_weights=SignalWeights(0.0, 0.0, 1.0))
    own, shared = ranker_of(ledger).recall_both(request, shared_request(request))
    merged = merge_namespaces(own.facts(), shared.facts(), top_k=3)
    assert [fact.id for fact in merged] == ["a1", "s1", "a2"]
    assert merge_namespaces((), shared.facts(), top_k=1) == (shared.facts()[0],)


def test_why_a_fact_is_not_in_the_answer(ledger: Ledger) -> None:
    add(ledger, ("old", "red fox in the snow"), *((f"f{n}", f"red hen {n}") for n in range(9)))
    add(ledger, ("copy", "red hen 8"), ("gone", "red"), ("low", "red dog"))
    add(ledger, ("x", "alias: a = b"), kind="alias")
    add(ledger, ("far", "elsewhere"), agent_id="ben")
    patch(ledger, "gone", superseded_by="agent")
    patch(ledger, "low", confidence="unverified")
    ranker = ranker_of(ledger)

    def reason(fact_id: str, **options: object) -> str:
        return explain_missing(ranker, asking("red", **options), fact_id).reason

    assert reason("gone") == "retired"
    assert reason("x") == "alias"
    assert reason("far") == "other_namespace"
    assert reason("low", min_confidence=Confidence.INFERRED) == "filtered"
    assert reason("low") == "returned"
    assert reason("old", min_relevance=1.0) == "below_floor"
    assert {reason("copy", top_k=20), reason("f8", top_k=20)} == {"duplicate", "returned"}
    with pytest.raises(NotFound):
        reason("nothing")


def test_why_not_at_an_earlier_moment_tells_of_the_fact_as_it_was(ledger: Ledger) -> None:
    add(ledger, ("f1", "red fox"))
    with ledger.read() as connection:
        at_ns = connection.exec_driver_sql("SELECT at_ns FROM journal").scalar_one()
    patch(ledger, "f1", superseded_by="agent", confidence="verified")
    add(ledger, ("f2", "blue fox"))
    ranker = ranker_of(ledger)
    then, now = (explain_missing(ranker, asking("fox", as_of_ns=when), "f1") for when in (at_ns, None))
    assert (then.reason, then.fact.superseded_by, then.fact.confidence) == ("returned", "", "")
    assert (now.reason, now.fact.superseded_by, now.fact.confidence) == ("retired", "agent", "verified")
    assert explain_missing(ranker, asking("fox", as_of_ns=at_ns), "f2").reason == "absent"


def test_a_longer_answer_comes_first_then_the_smallest_change_of_a_weight_that_brings_a_fact_in(ledger: Ledger) -> None:
    add(ledger, ("old", "red fox"), *((f"f{n}", f"blue hen {n}") for n in range(9)))
    ranker = ranker_of(ledger)
    request = asking("fox", top_k=1, signal_weights=SignalWeights(0.0, 0.01, 1.0))
    report = explain_missing(ranker, request, "old")
    assert (report.reason, report.place) == ("outranked", 10)
    assert [part.rank for part in report.contributions] == [0, 1, 10]
    assert [each.knob for each in report.remedies][:2] == ["top_k", "keyword"]
    after = float(report.remedies[1].after)
    # 1/61 = 1/70 + w/61, so that w = 61 (1/61 - 1/70)
    assert after == pytest.approx(61 * (1 / 61 - 1 / 70), rel=0.02)
    raised = replace(request, signal_weights=SignalWeights(0.0, after, 1.0))
    assert [fact.id for fact in ranker.recall(raised).facts()] == ["old"]
