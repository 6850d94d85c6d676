"""What an agent receives: payload and text, which say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import Memory, batch_answer, coverage_sentence, explain_answer, search_answer
from gm_engine.records import Coverage
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, background=False, clock=FrozenClock(), embedder=ScriptedEmbedder()) as memory:
        memory.remember("ops", "The red fox\nsleeps — 狐", confidence="verified")
        memory.remember("ops", "A red hen", confidence="unverified")
        yield memory


def test_a_search_gives_texts_as_they_are_and_the_policy_only_when_asked(memory: Memory) -> None:
    answer = search_answer("ops", "red fox", memory.recall("ops", "red fox", preview=True))
    assert answer.payload == {
        "agent_id": "ops",
        "query": "red fox",
        "count": 2,
        "facts": ["The red fox\nsleeps — 狐", "A red hen"],
    }
    assert "1. The red fox\nsleeps — 狐\n2. A red hen\n" in answer.text
    assert "confidence-v1" not in answer.text
    assert answer.text_bytes == len(answer.text.encode())
    assert answer.payload_bytes == len(json.dumps(answer.payload, ensure_ascii=False, separators=(",", ":")).encode())


def test_nothing_found_says_so_and_still_names_the_policy(memory: Memory) -> None:
    result = memory.recall("nobody", "fox", preview=True, min_confidence="inferred", confidence_weight=0.2)
    answer = search_answer("nobody", "fox", result)
    assert answer.payload["count"] == 0
    assert answer.payload["facts"] == []
    assert answer.payload["retrieval"] == {
        "min_confidence": "inferred",
        "confidence_weight": 0.2,
        "policy": "confidence-v1",
        "kg": "suppressed_min_confidence",
    }
    assert answer.text.startswith("No memories found")
    assert "min_confidence inferred, confidence_weight 0.2, kg suppressed_min_confidence" in answer.text


def test_an_explained_search_prints_the_arithmetic_of_every_receipt(memory: Memory) -> None:
    result = memory.recall_explain("ops", "red fox", preview=True, confidence_weight=0.2)
    answer = explain_answer("ops", "red fox", result)
    assert list(answer.payload) == ["agent_id", "query", "count", "facts", "explained", "retrieval"]
    assert (answer.payload["count"], answer.payload["facts"]) == (2, [])
    explained = answer.payload["explained"]
    assert isinstance(explained, list)
    printed = re.findall(r"final (\S+) = base (\S+) × factor (\S+) \((\w+),", answer.text)
    assert len(printed) == len(explained) == 2
    for (final, base, factor, label), receipt in zip(printed, explained, strict=True):
        assert isinstance(receipt, dict)
        ranking = receipt["ranking"]
        assert isinstance(ranking, dict)
        assert (float(final), float(base), float(factor), label) == (
            ranking["final_score"],
            ranking["base_score"],
            ranking["factor"],
            ranking["effective_confidence"],
        )
        assert float(final) == float(base) * float(factor)
        assert str(receipt["text"]) in answer.text
    assert "Policy confidence-v1: min_confidence none, confidence_weight 0.2" in answer.text


def test_without_confidence_options_a_receipt_has_its_score_and_no_policy(memory: Memory) -> None:
    answer = explain_answer("ops", "red fox", memory.recall_explain("ops", "red fox", preview=True))
    assert "retrieval" not in answer.payload
    explained = answer.payload["explained"]
    assert isinstance(explained, list)
    for receipt in explained:
        assert isinstance(receipt, dict)
        assert isinstance(receipt["ranks"], dict)
        assert f"score {receipt['ranks']['fused_score']!r}" in answer.text


def test_a_batch_names_every_query_and_its_failure(memory: Memory) -> None:
    results = memory.batch_recall("ops", ["hen", "\ud800", "fox"], preview=True, top_k=1, min_confidence="unverified")
    answer = batch_answer("ops", results)
    assert answer.payload["count"] == 2
    assert answer.payload["merged"] == ["A red hen", "The red fox\nsleeps — 狐"]
    per_query = answer.payload["per_query"]
    assert isinstance(per_query, list)
    assert [sorted(entry) for entry in per_query if isinstance(entry, dict)] == [
        ["facts", "query"],
        ["error", "facts", "query"],
        ["facts", "query"],
    ]
    assert "retrieval" in answer.payload
    assert "for 3 queries:" in answer.text
    assert "for 1 query:" in batch_answer("ops", results[:1]).text
    assert "“hen”: 1" in answer.text
    assert "“fox”: 2" in answer.text
    assert "failed: " in answer.text
    assert answer.text_bytes > 0
    assert answer.payload_bytes > 0


@pytest.mark.parametrize(
    ("coverage", "said"),
    [
        (Coverage(1626, 1626, "exact"), "Searched 1,626 facts, vectors exact."),
        (Coverage(100, 88, "chroma"), "Searched 100 facts, vectors chroma. 12 % of facts have no vector yet."),
        (
            Coverage(1000, 999, "exact", "a filter was given"),
            "Searched 1,000 facts, vectors exact. Under 1 % of facts have no vector yet.",
        ),
        (
            Coverage(3, 0, "none", "no fact has a vector yet"),
            "Searched 3 facts, without vectors (no fact has a vector yet). 100 % of facts have no vector yet.",
        ),
        (Coverage(0, 0, "none", "no fact has a vector yet"), "Searched 0 facts, without vectors."),
        (Coverage(1, 1, "exact"), "Searched 1 fact, vectors exact."),
    ],
)
def test_coverage_in_words(coverage: Coverage, said: str) -> None:
    assert coverage_sentence(coverage) == said
