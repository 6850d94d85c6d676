"""What an agent gets for a search: the structured payload and the text beside it, which says the same.

The MCP server sends exactly this, and the desktop shows it. Shapes as in the wire contract: a search, an explained
search, a batch. How much could be searched is said in the text alone, which puts what was found between marks, as data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gm_engine.clock import format_ns
from gm_engine.ranking.batch import BatchResult, merged_facts
from gm_engine.ranking.fence import fenced
from gm_engine.ranking.receipts import receipt_payload
from gm_engine.records import (
    Coverage,
    JsonValue,
    RecallExplainResult,
    RecallResult,
    Receipt,
    Retrieval,
)

NOTHING = "No memories found"


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """One tool result as the client receives it."""

    payload: Mapping[str, JsonValue]
    text: str

    @property
    def text_bytes(self) -> int:
        """Size of the text in UTF-8."""
        return len(self.text.encode())

    @property
    def payload_bytes(self) -> int:
        """Size of the payload as compact JSON in UTF-8."""
        return len(json.dumps(self.payload, ensure_ascii=False, separators=(",", ":")).encode())


def search_answer(agent_id: str, query: str, result: RecallResult) -> AgentAnswer:
    """The answer of a search: texts, graph hints at their end where they are on."""
    texts = list(result.texts)
    payload: dict[str, JsonValue] = {"agent_id": agent_id, "query": query, "count": len(texts), "facts": [*texts]}
    lines = [_heading(len(texts), agent_id, query)]
    lines += [f"{number}. {text}" for number, text in enumerate(texts, 1)]
    if result.hints:
        lines.append(f"The last {len(result.hints)} are names next to the first fact in the knowledge graph, no facts.")
    return _finished(payload, lines, feedback=result.feedback, retrieval=result.retrieval, coverage=result.coverage)


def explain_answer(agent_id: str, query: str, result: RecallExplainResult) -> AgentAnswer:
    """The answer of an explained search: one receipt per fact; `facts` is there and empty."""
    payload: dict[str, JsonValue] = {
        "agent_id": agent_id,
        "query": query,
        "count": len(result.receipts),
        "facts": [],
        "explained": [receipt_payload(receipt) for receipt in result.receipts],
    }
    lines = [_heading(len(result.receipts), agent_id, query)]
    for number, receipt in enumerate(result.receipts, 1):
        lines.append(f"{number}. {receipt.fact.text}")
        lines += [f"   {line}" for line in _reasons(receipt)]
    return _finished(payload, lines, feedback="", retrieval=result.retrieval, coverage=result.coverage)


def batch_answer(agent_id: str, results: Sequence[BatchResult]) -> AgentAnswer:
    """The answer of a batch: the distinct facts of all queries, and each query's own."""
    merged = [fact.text for fact in merged_facts(results)]
    per_query: list[JsonValue] = []
    asked = "1 query" if len(results) == 1 else f"{len(results):,} queries"
    lines = [f"{_count(len(merged))} of {_quoted(agent_id)} for {asked}:" if merged else NOTHING + "."]
    lines += [f"{number}. {text}" for number, text in enumerate(merged, 1)]
    place = {text: number for number, text in enumerate(merged, 1)}
    for result in results:
        entry: dict[str, JsonValue] = {"query": _writable(result.query), "facts": [*result.texts]}
        if result.error is not None:
            entry["error"] = result.error.message
        per_query.append(entry)
        lines.append(f"{_quoted(result.query)}: {_found(result, place)}")
        if result.feedback:
            lines.append(f"   {result.feedback}")
    payload: dict[str, JsonValue] = {
        "agent_id": agent_id,
        "count": len(merged),
        "merged": [*merged],
        "per_query": per_query,
    }
    retrieval = next((result.retrieval for result in results if result.retrieval is not None), None)
    coverage = next((result.coverage for result in results if result.coverage is not None), None)
    return _finished(payload, lines, feedback="", retrieval=retrieval, coverage=coverage)


def retrieval_payload(retrieval: Retrieval) -> dict[str, JsonValue]:
    """The policy of a call with confidence options, as on the wire."""
    payload: dict[str, JsonValue] = {}
    if retrieval.min_confidence is not None:
        payload["min_confidence"] = retrieval.min_confidence.value
    payload["confidence_weight"] = retrieval.confidence_weight
    payload["policy"] = retrieval.policy
    payload["kg"] = retrieval.kg
    return payload


def coverage_sentence(coverage: Coverage) -> str:
    """How much was searched and how: `Searched 1,626 facts, vectors exact. 12 % of facts have no vector yet.`"""
    path = coverage.vector_path
    said = f"Searched {coverage.eligible:,} {'fact' if coverage.eligible == 1 else 'facts'}, "
    said += f"vectors {path}" if path != "none" else "without vectors"
    said += f" ({coverage.reason})." if path == "none" and coverage.eligible else "."
    missing = coverage.eligible - coverage.with_vector
    if missing > 0:
        said += f" {missing_share(coverage)} of facts have no vector yet."
    return said


def missing_share(coverage: Coverage) -> str:
    """The share of the searched facts without a vector: `12 %`; `Under 1 %` where some are missing."""
    missing = coverage.eligible - coverage.with_vector
    percent = 100 * missing / coverage.eligible if coverage.eligible else 0.0
    if 0 < percent < 1:
        return "Under 1 %"
    return f"{min(99, round(percent)) if missing < coverage.eligible else 100} %"


def _finished(
    payload: dict[str, JsonValue],
    lines: list[str],
    *,
    feedback: str,
    retrieval: Retrieval | None,
    coverage: Coverage | None,
) -> AgentAnswer:
    if feedback:
        payload["feedback"] = feedback
        lines.append(feedback)
    if retrieval is not None:
        payload["retrieval"] = retrieval_payload(retrieval)
        lines.append(_policy(retrieval))
    if coverage is not None:
        lines.append(coverage_sentence(coverage))
    text = "\n".join(lines)
    return AgentAnswer(payload, fenced(text) if payload["count"] else text)


def _heading(count: int, agent_id: str, query: str) -> str:
    if count == 0:
        return f"{NOTHING} of {_quoted(agent_id)} for {_quoted(query)}."
    return f"{_count(count)} of {_quoted(agent_id)} for {_quoted(query)}:"


def _count(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def _found(result: BatchResult, place: Mapping[str, int]) -> str:
    if result.error is not None:
        return f"failed: {_writable(result.error.message)}"
    if not result.facts:
        return "none"
    numbers = ", ".join(str(place[fact.text]) for fact in result.facts if fact.text in place)
    return numbers + (f"; near: {', '.join(result.hints)}" if result.hints else "")


def _policy(retrieval: Retrieval) -> str:
    least = retrieval.min_confidence
    return (
        f"Policy {retrieval.policy}: min_confidence {'none' if least is None else least.value}, "
        f"confidence_weight {retrieval.confidence_weight!r}, kg {retrieval.kg}."
    )


def _reasons(receipt: Receipt) -> Iterator[str]:
    """A receipt in lines: identity, arithmetic, what it stands on."""
    fact, ranks = receipt.fact, receipt.ranks
    notes = [f"fact {fact.id}", f"written {format_ns(fact.created_ns)}"]
    notes += [f"confidence {fact.confidence}"] if fact.confidence else []
    notes += ["pinned"] if fact.pinned else []
    notes += [f"age {round(receipt.age_days, 2):g} days", f"weight {fact.weight:g}"]
    yield ", ".join(notes)
    weights = ranks.weights
    yield (
        f"ranks: vector {ranks.vector_rank}, keyword {ranks.keyword_rank}, recency {ranks.recency_rank}"
        f" (0 = not ranked; k {ranks.k}; weights {weights.vector:g}, {weights.keyword:g}, {weights.recency:g})"
    )
    ranking = receipt.ranking
    if ranking is None:
        yield f"score {ranks.fused_score!r}"
    else:
        yield (
            f"final {ranking.final_score!r} = base {ranking.base_score!r} × factor {ranking.factor!r}"
            f" ({ranking.effective_confidence.value}, confidence_weight {ranking.confidence_weight!r},"
            f" {ranking.policy})"
        )
    if receipt.supersedes:
        yield f"supersedes {', '.join(receipt.supersedes)}"
    if receipt.kg_links:
        yield f"kg_links {', '.join(receipt.kg_links)}"


def _quoted(text: str) -> str:
    return f"“{_writable(text)}”"


def _writable(text: str) -> str:
    """A query that was refused for a lone surrogate must not keep the answer from being written."""
    return text.encode("utf-8", "backslashreplace").decode()
