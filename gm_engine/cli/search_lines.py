"""Answers of a search in lines for a reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gm_engine.cli.plain import plain
from gm_engine.cli.session import minute
from gm_engine.records import Coverage, Receipt, Retrieval

if TYPE_CHECKING:
    from gm_engine.ranking.batch import BatchResult
    from gm_engine.ranking.missing import MissingReport

_REASONS = {
    "returned": "It is in the answer.",
    "other_namespace": "It belongs to another agent.",
    "retired": "It is retired; restore it to find it again.",
    "alias": "It is vocabulary: an alias helps to find facts and is never one itself.",
    "absent": "It did not exist at that time.",
    "filtered": "Its confidence is below the filter.",
    "below_floor": "Its score is below the relevance floor.",
    "duplicate": "A fact with the same text stands above it.",
    "outranked": "Other facts score higher.",
}
_SETTINGS = {
    "vector": "the vector weight",
    "keyword": "the keyword weight",
    "recency": "the recency weight",
    "confidence_weight": "the confidence weight",
    "coverage_gate": "the coverage gate",
    "min_relevance": "the relevance floor",
    "min_confidence": "the confidence filter",
    "top_k": "top-k",
}


def answer_lines(
    texts: Sequence[str],
    *,
    feedback: str,
    retrieval: Retrieval | None,
    coverage: Coverage,
    receipts: Sequence[Receipt] = (),
) -> Iterator[str]:
    """The texts, with their receipts if given, and what was searched how."""
    if not texts:
        yield "No memories found."
    for number, text in enumerate(texts, start=1):
        yield f"{number:>2}. {plain(text)}"
        if receipts:
            yield from _reasons(receipts[number - 1])
    if feedback:
        yield ""
        yield from (plain(line) for line in feedback.splitlines())
    yield ""
    yield from _closing(retrieval, coverage)


def batch_lines(results: Sequence[BatchResult], coverage: Coverage | None) -> Iterator[str]:
    """Each query with its own answer."""
    for result in results:
        yield plain(result.query)
        if result.error is not None:
            yield f"    failed: {plain(result.error.message)}"
        elif not result.facts:
            yield "    No memories found."
        yield from (f"{number:>6}. {plain(text)}" for number, text in enumerate(result.texts, start=1))
        if result.feedback:
            yield f"    {plain(result.feedback)}"
    yield ""
    retrieval = next((result.retrieval for result in results if result.retrieval is not None), None)
    yield from _closing(retrieval, coverage)


def missing_lines(report: MissingReport) -> Iterator[str]:
    """Why a fact is not there, where it stands, and what would bring it in."""
    yield plain(report.fact.text)
    yield f"    {_REASONS[report.reason]}"
    if report.duplicate_of is not None:
        yield f"    the same text: {plain(report.duplicate_of)}"
    if report.place is not None:
        ranks = ", ".join(f"{part.signal} {part.rank or '–'}" for part in report.contributions)
        last = "" if report.cutoff is None else f", the last one returned has {report.cutoff:.6f}"
        yield f"    place {report.place:,}; ranks: {ranks}; score {report.final_score:.6f}{last}"
    for remedy in report.remedies:
        change = f"{_value(remedy.after)} instead of {_value(remedy.before)}"
        yield f"    would come in with {_SETTINGS[remedy.knob]} at {change}"


def _value(value: float | str) -> str:
    if isinstance(value, str):
        return plain(value) or "none"
    return str(int(value)) if value.is_integer() else repr(value)  # in full: the last digit may decide


def _closing(retrieval: Retrieval | None, coverage: Coverage | None) -> Iterator[str]:
    if retrieval is not None:
        least = "no filter" if retrieval.min_confidence is None else f"at least {retrieval.min_confidence.value}"
        weight = f"confidence weight {retrieval.confidence_weight:g}"
        yield f"policy {retrieval.policy}: {least}, {weight}; kg {retrieval.kg}"
    if coverage is not None:
        path = coverage.vector_path if not coverage.reason else f"{coverage.vector_path} ({plain(coverage.reason)})"
        yield f"searched {coverage.eligible:,} facts, {coverage.with_vector:,} with a vector; vector path: {path}"


def _reasons(receipt: Receipt) -> Iterator[str]:
    ranks, weights = receipt.ranks, receipt.ranks.weights
    parts = [
        f"{weight:g}/({ranks.k}+{rank}) {name}"
        for name, weight, rank in (
            ("vector", weights.vector, ranks.vector_rank),
            ("keyword", weights.keyword, ranks.keyword_rank),
            ("recency", weights.recency, ranks.recency_rank),
        )
        if rank and weight
    ]
    yield f"      {ranks.fused_score:.6f} = {' + '.join(parts) or 'no signal ranked it'}"
    if receipt.ranking is not None:
        ranking = receipt.ranking
        yield (
            f"      {ranking.final_score:.6f} = {ranking.base_score:.6f} × {ranking.factor:g} "
            f"({ranking.effective_confidence}, weight {ranking.confidence_weight:g})"
        )
    fact = receipt.fact
    notes = [plain(fact.id), f"written {minute(fact.created_ns)}"]
    notes += [plain(fact.confidence)] if fact.confidence else []
    notes += ["pinned"] if fact.pinned else []
    notes += [f"matched {plain(', '.join(receipt.matched_terms))}"] if receipt.matched_terms else []
    notes += [f"replaces {plain(', '.join(receipt.supersedes))}"] if receipt.supersedes else []
    notes += [f"mentions {plain(', '.join(receipt.kg_links))}"] if receipt.kg_links else []
    yield f"      {' · '.join(notes)}"
