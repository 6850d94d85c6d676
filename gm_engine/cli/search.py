"""`graymatter recall`: the ranked facts of an agent, with receipts if asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import click

from gm_engine.cli.payloads import retrieval_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import Session, current, minute, shared_options
from gm_engine.errors import DiskFull, EmbeddingFailed, ReadOnlyStore, StoreBusy
from gm_engine.records import CONFIDENCE_LABELS, Confidence, Coverage, JsonValue, Receipt, Retrieval

if TYPE_CHECKING:
    from gm_engine.memory import Memory

_PENDING_LIMIT = 256


@click.command()
@click.argument("agent")
@click.argument("query")
@click.option("--top-k", type=int, help="How many facts at most (default 8).")
@click.option("--explain", is_flag=True, help="With one receipt per fact: ranks, score, lineage.")
@click.option("--min-confidence", type=click.Choice(CONFIDENCE_LABELS), help="Only facts at least so sure.")
@click.option("--confidence-weight", type=float, help="How much confidence moves the score, 0 to 0.5.")
@click.option("--preview", is_flag=True, help="Leave the access counters alone.")
@click.option("--coverage", "with_coverage", is_flag=True, help="Also say how much was searched, and by which path.")
@shared_options
def recall(
    agent: str,
    query: str,
    *,
    top_k: int | None,
    explain: bool,
    min_confidence: str | None,
    confidence_weight: float | None,
    preview: bool,
    with_coverage: bool,
) -> None:
    """Search the memory of AGENT for QUERY. Facts that have no vector yet get theirs first, up to 256."""
    session = current()
    least = None if min_confidence is None else Confidence(min_confidence)
    with _opened(session, agent, preview=preview) as (memory, is_preview):
        if explain:
            explained = memory.recall_explain(
                agent,
                query,
                top_k=top_k,
                min_confidence=least,
                confidence_weight=confidence_weight,
                preview=is_preview,
            )
            receipts = explained.receipts
            texts = [receipt.fact.text for receipt in receipts]
            coverage, feedback, retrieval = explained.coverage, explained.feedback, explained.retrieval
        else:
            result = memory.recall(
                agent,
                query,
                top_k=top_k,
                min_confidence=least,
                confidence_weight=confidence_weight,
                preview=is_preview,
            )
            receipts = ()
            texts = list(result.texts)
            coverage, feedback, retrieval = result.coverage, result.feedback, result.retrieval
    payload = _payload(agent, query, texts, receipts=receipts if explain else None)
    _add_notes(payload, feedback=feedback, retrieval=retrieval, coverage=coverage if with_coverage else None)
    session.answer(payload, _lines(texts, receipts, feedback=feedback, coverage=coverage))


@contextmanager
def _opened(session: Session, agent: str, *, preview: bool) -> Iterator[tuple[Memory, bool]]:
    """The store, with the namespace's pending texts embedded; a store that can't be written is only read."""
    with ExitStack() as stack:
        try:
            memory = stack.enter_context(session.writing())
        except ReadOnlyStore:
            yield stack.enter_context(session.reading()), True
            return
        # What fails here is no reason not to answer: keyword and recency do without vectors, and the coverage says so.
        with suppress(EmbeddingFailed, StoreBusy, DiskFull):
            memory.embed_pending(agent, limit=_PENDING_LIMIT)
        yield memory, preview


def _payload(agent: str, query: str, texts: list[str], *, receipts: tuple[Receipt, ...] | None) -> dict[str, JsonValue]:
    from gm_engine.ranking.receipts import receipt_payload

    payload: dict[str, JsonValue] = {"agent_id": agent, "query": query, "count": len(texts), "facts": list(texts)}
    if receipts is not None:
        payload["explained"] = [receipt_payload(receipt) for receipt in receipts]
    return payload


def _add_notes(
    payload: dict[str, JsonValue], *, feedback: str, retrieval: Retrieval | None, coverage: Coverage | None
) -> None:
    if feedback:
        payload["feedback"] = feedback
    if retrieval is not None:
        payload["retrieval"] = retrieval_payload(retrieval)
    if coverage is not None:
        payload["coverage"] = {
            "eligible": coverage.eligible,
            "with_vector": coverage.with_vector,
            "vector_path": coverage.vector_path,
            "reason": coverage.reason,
        }


def _lines(texts: list[str], receipts: tuple[Receipt, ...], *, feedback: str, coverage: Coverage) -> Iterator[str]:
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
    yield f"      {' · '.join(notes)}"
