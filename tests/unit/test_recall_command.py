"""`graymatter recall`, `why-not` and `alias`: every option of the contract, and refusals before any effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from gm_engine import Edge, Entity, FactQuery, Memory, Origin
from gm_engine.clock import format_ns
from gm_engine.embedding.minilm import MiniLM
from gm_engine.store.database import Ledger
from gm_engine.store.entities import upsert_edges, upsert_entities
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = ScriptedEmbedder(dims=MiniLM.dims)
    monkeypatch.setattr(MiniLM, "embed", lambda _, texts: scripted.embed(texts))
    monkeypatch.delenv("GRAYMATTER_KG", raising=False)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    data_dir = tmp_path / "store"
    with Memory.open(data_dir, background=False, clock=FrozenClock("2020-11-30T09:00:00Z")) as memory:
        memory.remember("ops", "Rollbacks take five minutes.", confidence="verified")
        memory.remember("ops", "Rollbacks need two people.")
        memory.remember("ops", "Rollbacks are said to be rare.", confidence="unverified")
        memory.remember_shared("Rollbacks are announced in the channel.")
        memory.remember("ops", "The Okafor contract is signed.")
    return data_dir


def uses(store: Path) -> int:
    with Memory.open(store, background=False, read_only=True) as memory:
        return sum(fact.access_count for fact in memory.facts(memory.fact_ids(FactQuery(status="all"))))


def test_the_full_line_of_the_contract(store: Path) -> None:
    answer = run(
        "recall",
        "ops",
        "rollbacks",
        "--min-confidence",
        "inferred",
        "--confidence-weight",
        "0.2",
        "--explain",
        "--json",
        "--data-dir",
        store,
    ).json
    assert list(answer) == ["agent_id", "query", "count", "facts", "explained", "retrieval"]
    assert answer["retrieval"] == {
        "min_confidence": "inferred",
        "confidence_weight": 0.2,
        "policy": "confidence-v1",
        "kg": "suppressed_min_confidence",
    }
    assert "Rollbacks are said to be rare." not in answer["facts"]
    for receipt in answer["explained"]:
        ranking = receipt["ranking"]
        assert ranking["final_score"] == ranking["base_score"] * ranking["factor"]
        assert ranking["base_score"] == receipt["ranks"]["fused_score"]
    assert uses(store) == len(answer["facts"])


def test_retrieval_is_named_only_where_an_option_was_given(store: Path) -> None:
    plain = run("recall", "ops", "rollbacks", "--json", "--preview", "--data-dir", store).json
    assert list(plain) == ["agent_id", "query", "count", "facts"]
    zero = run(
        "recall", "ops", "rollbacks", "--json", "--preview", "--confidence-weight", "0", "--data-dir", store
    ).json
    assert zero["retrieval"] == {
        "confidence_weight": 0.0,
        "policy": "confidence-v1",
        "kg": "hints_without_confidence_receipts",
    }
    assert zero["facts"] == plain["facts"]
    empty = run("recall", "nobody", "x", "--json", "--min-confidence", "verified", "--data-dir", store).json
    assert (empty["count"], empty["facts"]) == (0, [])
    assert empty["retrieval"]["min_confidence"] == "verified"
    said = run("recall", "ops", "rollbacks", "--min-confidence", "verified", "--preview", "--data-dir", store).out
    assert "policy confidence-v1: at least verified, confidence weight 0; kg suppressed_min_confidence" in said
    assert uses(store) == 0


def test_a_weak_match_is_answered_with_feedback(store: Path) -> None:
    answer = run("recall", "ops", "rolbacks zebra", "--json", "--preview", "--data-dir", store).json
    assert "Rollbacks" in answer["feedback"]


def test_shared_and_all(store: Path) -> None:
    for arguments in (["--shared", "rollbacks"], ["ops", "rollbacks", "--shared"]):
        shared = run("recall", *arguments, "--json", "--preview", "--data-dir", store).json
        assert (shared["agent_id"], shared["facts"]) == ("__shared__", ["Rollbacks are announced in the channel."])
    both = run("recall", "ops", "rollbacks", "--all", "--json", "--data-dir", store).json
    assert both["agent_id"] == "ops"
    assert "Rollbacks are announced in the channel." in both["facts"]
    assert "Rollbacks take five minutes." in both["facts"]
    assert uses(store) == both["count"]


def test_repeated_queries_are_a_batch(store: Path) -> None:
    answer = run(
        "recall", "ops", "--query", "okafor", "--query", "rollbacks", "--top-k", 1, "--json", "--data-dir", store
    ).json
    assert list(answer) == ["agent_id", "count", "merged", "per_query"]
    assert [entry["query"] for entry in answer["per_query"]] == ["okafor", "rollbacks"]
    assert answer["merged"][0] == "The Okafor contract is signed."
    assert answer["count"] == len(answer["merged"]) == 2
    lines = run("recall", "ops", "okafor", "--query", "rollbacks", "--preview", "--data-dir", store).out
    assert lines.index("okafor\n") < lines.index("rollbacks\n")
    filtered = run(
        "recall", "ops", "--query", "okafor", "--min-confidence", "verified", "--preview", "--json", "--data-dir", store
    ).json
    assert filtered["retrieval"]["min_confidence"] == "verified"
    blank = run("recall", "ops", "--query", " ", "--query", "", "--json", "--data-dir", store)
    assert (blank.code, blank.error["code"]) == (2, "invalid_input")


def test_as_of_answers_from_then_and_counts_nothing(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        (first,) = memory.resolve("ops", "Rollbacks take five minutes.")
        then = format_ns(memory.get(first).created_ns)
        memory.revise("ops", [first], "Rollbacks take one minute.")
    answer = run("recall", "ops", "rollbacks", "--as-of", then, "--json", "--data-dir", store).json
    assert answer["facts"] == ["Rollbacks take five minutes."]
    assert uses(store) == 0
    early = run("recall", "ops", "rollbacks", "--as-of", "2001-01-01", "--json", "--data-dir", store)
    assert (early.code, early.error["code"]) == (1, "as_of_unsupported")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--confidence-weight", "-0.1"], "invalid_input"),
        (["--confidence-weight", "0.6"], "invalid_input"),
        (["--confidence-weight", "nan"], "invalid_input"),
        (["--confidence-weight", "much"], "usage"),
        (["--min-confidence", "Verified"], "usage"),
        (["--min-confidence", ""], "usage"),
        (["--explain", "--all"], "usage"),
        (["--shared", "--all"], "usage"),
        (["--query", "x", "--all"], "usage"),
        (["--query", "x", "--explain"], "usage"),
        (["--as-of", "yesterday"], "invalid_input"),
        (["--as-of", "0001-01-01T00:00:00Z"], "invalid_input"),
    ],
)
def test_a_bad_option_is_refused_before_any_effect(
    store: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: str
) -> None:
    def opened(*_: object, **__: object) -> None:
        raise AssertionError("the store was opened")

    with monkeypatch.context() as patched:
        patched.setattr(Memory, "open", opened)
        refused = run("recall", "ops", "rollbacks", *options, "--json", "--data-dir", store)
    assert (refused.code, refused.out, refused.error["code"]) == (2, "", code)
    assert uses(store) == 0


def test_a_recall_needs_an_agent_and_a_query(store: Path) -> None:
    for arguments in ([], ["ops"], ["--shared"]):
        refused = run("recall", *arguments, "--json", "--data-dir", store)
        assert (refused.code, refused.error["code"]) == (2, "usage")


def test_graph_hints_by_option_and_by_environment(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(store, clock=FrozenClock()) as ledger, ledger.write("import", origin=Origin("import")) as tx:
        upsert_entities(tx, [Entity(name, name, "place", None, None, 1.0, "import") for name in ("Okafor", "Lagos")])
        upsert_edges(tx, [Edge("Okafor", "Lagos", "in", None, 1.0, "import")])
    ask = ("recall", "ops", "okafor contract", "--json", "--preview", "--top-k", 1, "--data-dir", store)
    assert run(*ask).json["facts"] == ["The Okafor contract is signed."]
    assert run(*ask, "--kg").json["facts"] == ["The Okafor contract is signed.", "Lagos"]
    assert run(*ask, "--kg", "--min-confidence", "unverified").json["facts"] == ["The Okafor contract is signed."]
    monkeypatch.setenv("GRAYMATTER_KG", "1")
    assert run(*ask).json["facts"] == ["The Okafor contract is signed.", "Lagos"]
    assert run(*ask, "--explain").json["explained"][0]["kg_links"] == ["Okafor"]


def test_why_not_names_the_reason_the_place_and_what_would_help(store: Path) -> None:
    ask = ("why-not", "ops", "rollbacks people", "Rollbacks are said to be rare.", "--json", "--data-dir", store)
    answer = run(*ask, "--top-k", 1).json
    assert answer["reason"] == "outranked"
    assert answer["place"] > 1
    assert [part["signal"] for part in answer["contributions"]] == ["vector", "keyword", "recency"]
    assert {"setting": "top_k", "before": 1.0, "after": float(answer["place"])} in answer["remedies"]
    by_id = run("why-not", "ops", "rollbacks people", answer["fact_id"], "--top-k", 1, "--json", "--data-dir", store)
    assert by_id.json == answer
    filtered = run(*ask, "--min-confidence", "inferred").json
    assert filtered["reason"] == "filtered"
    assert filtered["remedies"] == [{"setting": "min_confidence", "before": "inferred", "after": "unverified"}]
    said = run("why-not", "ops", "rollbacks people", answer["fact_id"], "--top-k", 1, "--data-dir", store).out
    assert "would come in with top-k at" in said
    missing = run("why-not", "ops", "rollbacks", "no such fact", "--json", "--data-dir", store)
    assert (missing.code, missing.error["code"]) == (3, "not_found")
    bad = run("why-not", "ops", "rollbacks", "x", "--confidence-weight", "0.6", "--json", "--data-dir", store)
    assert (bad.code, bad.error["code"]) == (2, "invalid_input")
    assert uses(store) == 0


def test_an_alias_is_found_both_ways_and_may_be_revised_and_retired(store: Path) -> None:
    run("alias", "ops", "undoing", "rollbacks", "--data-dir", store)
    ask = ("recall", "ops", "undoing", "--json", "--preview", "--explain", "--data-dir", store)
    assert run(*ask).json["explained"][0]["ranks"]["keyword_rank"] > 0
    run("revise", "ops", "alias: undoing = rollbacks", "alias: backing out = rollbacks", "--data-dir", store)
    assert all(receipt["ranks"]["keyword_rank"] == 0 for receipt in run(*ask).json["explained"])
    other = ("recall", "ops", "backing out", "--json", "--preview", "--explain", "--data-dir", store)
    assert run(*other).json["explained"][0]["ranks"]["keyword_rank"] > 0
    run("forget", "ops", "alias: backing out = rollbacks", "--data-dir", store)
    assert all(receipt["ranks"]["keyword_rank"] == 0 for receipt in run(*other).json["explained"])
