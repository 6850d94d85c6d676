"""`graymatter recall` and `graymatter why-not`: the ranked facts of an agent with reasons, and why one is not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from gm_engine.cli.search_lines import answer_lines, batch_lines, missing_lines
from gm_engine.cli.session import Session, current, shared_options
from gm_engine.clock import parse_rfc3339
from gm_engine.config import Config, check_confidence_weight
from gm_engine.errors import DiskFull, EmbeddingFailed, InvalidInput, ReadOnlyStore, StoreBusy
from gm_engine.records import CONFIDENCE_LABELS, SHARED_AGENT_ID, Confidence, Coverage, JsonValue

if TYPE_CHECKING:
    from gm_engine.memory import Memory
    from gm_engine.ranking.missing import MissingReport
    from gm_engine.search import RecallOptions

_PENDING_LIMIT = 256
_KG_VARIABLE = "GRAYMATTER_KG"

_top_k = click.option("--top-k", type=int, help="How many facts at most (default 8).")
_least = click.option("--min-confidence", type=click.Choice(CONFIDENCE_LABELS), help="Only facts at least so sure.")
_weight = click.option("--confidence-weight", type=float, help="How much confidence moves the score, 0 to 0.5.")
_as_of = click.option("--as-of", metavar="TIME", help="From the store as it stood then: 2026-11-30T09:14:00Z.")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a command line asks for, checked before any store is opened."""

    agent: str
    queries: tuple[str, ...]
    top_k: int | None
    min_confidence: Confidence | None
    confidence_weight: float | None
    as_of_ns: int | None
    graph_hints: bool = False
    everywhere: bool = False

    @property
    def agents(self) -> tuple[str, ...]:
        """The namespaces that are searched."""
        return (self.agent, SHARED_AGENT_ID) if self.everywhere else (self.agent,)

    def options(self, *, preview: bool) -> RecallOptions:
        """The same for the engine."""
        return {
            "top_k": self.top_k,
            "min_confidence": self.min_confidence,
            "confidence_weight": self.confidence_weight,
            "as_of_ns": self.as_of_ns,
            "preview": preview,
        }


@click.command()
@click.argument("agent", required=False)
@click.argument("query", required=False)
@click.option("--query", "more", multiple=True, metavar="QUERY", help="A query of a batch; may be given many times.")
@click.option("--shared", is_flag=True, help="Search the namespace that every agent reads; AGENT may be left out.")
@click.option("--all", "everywhere", is_flag=True, help="Search the agent's own memory and the shared one.")
@_top_k
@click.option("--explain", is_flag=True, help="With one receipt per fact: ranks, score, lineage.")
@_least
@_weight
@_as_of
@click.option("--preview", is_flag=True, help="Leave the access counters alone.")
@click.option("--kg", is_flag=True, help=f"With neighbours from the knowledge graph (or {_KG_VARIABLE}=1).")
@click.option("--coverage", "with_coverage", is_flag=True, help="Also say how much was searched, and by which path.")
@shared_options
def recall(
    agent: str | None,
    query: str | None,
    *,
    more: tuple[str, ...],
    shared: bool,
    everywhere: bool,
    top_k: int | None,
    explain: bool,
    min_confidence: str | None,
    confidence_weight: float | None,
    as_of: str | None,
    preview: bool,
    kg: bool,
    with_coverage: bool,
) -> None:
    """Search the memory of AGENT for QUERY. Facts that have no vector yet get theirs first, up to 256.

    With --query the queries are answered as a batch: each as if alone, and merged.
    """
    is_batch = bool(more)
    _check_mix(shared=shared, everywhere=everywhere, explain=explain, batch=is_batch)
    agent, queries = _who_and_what(agent, query, more, shared=shared)
    asked = _Asked(
        agent,
        queries,
        top_k,
        None if min_confidence is None else Confidence(min_confidence),
        None if confidence_weight is None else check_confidence_weight(confidence_weight),
        None if as_of is None else _instant(as_of),
        graph_hints=kg or os.environ.get(_KG_VARIABLE, "") == "1",
        everywhere=everywhere,
    )
    with _opened(current(), asked, preview=preview) as (memory, is_preview):
        if is_batch:
            _batch(memory, asked, preview=is_preview, with_coverage=with_coverage)
        elif explain:
            _explain(memory, asked, preview=is_preview, with_coverage=with_coverage)
        else:
            _search(memory, asked, preview=is_preview, with_coverage=with_coverage)


@click.command("why-not")
@click.argument("agent")
@click.argument("query")
@click.argument("target", metavar="ID")
@_top_k
@_least
@_weight
@_as_of
@shared_options
def why_not(
    agent: str,
    query: str,
    target: str,
    *,
    top_k: int | None,
    min_confidence: str | None,
    confidence_weight: float | None,
    as_of: str | None,
) -> None:
    """Say why the fact ID (or exact text) is not in AGENT's answer to QUERY, and what would bring it in."""
    asked = _Asked(
        agent,
        (query,),
        top_k,
        None if min_confidence is None else Confidence(min_confidence),
        None if confidence_weight is None else check_confidence_weight(confidence_weight),
        None if as_of is None else _instant(as_of),
    )
    with _opened(current(), asked, preview=True) as (memory, _):
        fact_id = target if memory.facts([target]) else memory.resolve(agent, target, live_only=False)[0]
        report = memory.explain_missing(agent, query, fact_id, **asked.options(preview=True))
    current().answer(_missing_payload(asked, report), missing_lines(report))


def _check_mix(*, shared: bool, everywhere: bool, explain: bool, batch: bool) -> None:
    for holds, sentence in (
        (everywhere and explain, "--explain cannot go with --all: a merged answer has no single ranking."),
        (everywhere and shared, "Give --shared or --all, not both."),
        (everywhere and batch, "--query cannot go with --all."),
        (batch and explain, "--explain answers one query; leave out --query."),
    ):
        if holds:
            raise click.UsageError(sentence, click.get_current_context())


def _who_and_what(
    agent: str | None, query: str | None, more: tuple[str, ...], *, shared: bool
) -> tuple[str, tuple[str, ...]]:
    """The namespace and its queries; with --shared one word alone is the query."""
    if shared:
        first = query if query is not None else agent
        agent = SHARED_AGENT_ID
    else:
        first = query
    if agent is None:
        raise click.UsageError("Missing argument 'AGENT'.", click.get_current_context())
    queries = (*(() if first is None else (first,)), *more)
    if not queries:
        raise click.UsageError("Missing argument 'QUERY'.", click.get_current_context())
    if more and not any(text.strip() for text in queries):
        raise InvalidInput("A batch needs at least one query that is not blank.", field="query")
    return agent, queries


def _instant(text: str) -> int:
    """Nanoseconds of an RFC 3339 time or a date."""
    at_ns = parse_rfc3339(text if len(text) > 10 else f"{text}T00:00:00Z")
    if at_ns is None:
        raise InvalidInput("--as-of needs a time, not Go's zero time.", field="as_of")
    return at_ns


@contextmanager
def _opened(session: Session, asked: _Asked, *, preview: bool) -> Iterator[tuple[Memory, bool]]:
    """The store, with the namespace's pending texts embedded; a store that can't be written is only read."""
    config = Config(graph_hints=asked.graph_hints)
    with ExitStack() as stack:
        try:
            memory = stack.enter_context(session.writing(config=config))
        except ReadOnlyStore:
            yield stack.enter_context(session.reading(config=config)), True
            return
        # What fails here is no reason not to answer: keyword and recency do without vectors, and the coverage says so.
        with suppress(EmbeddingFailed, StoreBusy, DiskFull):
            for agent in asked.agents:
                memory.embed_pending(agent, limit=_PENDING_LIMIT)
        yield memory, preview


def _search(memory: Memory, asked: _Asked, *, preview: bool, with_coverage: bool) -> None:
    from gm_engine.ranking.agent_answer import search_answer

    verb = memory.recall_all if asked.everywhere else memory.recall
    result = verb(asked.agent, asked.queries[0], **asked.options(preview=preview))
    payload = dict(search_answer(asked.agent, asked.queries[0], result).payload)
    _add_coverage(payload, result.coverage if with_coverage else None)
    lines = answer_lines(result.texts, feedback=result.feedback, retrieval=result.retrieval, coverage=result.coverage)
    current().answer(payload, lines)


def _explain(memory: Memory, asked: _Asked, *, preview: bool, with_coverage: bool) -> None:
    from gm_engine.ranking.agent_answer import explain_answer

    result = memory.recall_explain(asked.agent, asked.queries[0], **asked.options(preview=preview))
    texts = tuple(receipt.fact.text for receipt in result.receipts)
    payload = {**explain_answer(asked.agent, asked.queries[0], result).payload, "facts": list[JsonValue](texts)}
    if result.feedback:
        payload["feedback"] = result.feedback
    _add_coverage(payload, result.coverage if with_coverage else None)
    lines = answer_lines(
        texts,
        receipts=result.receipts,
        feedback=result.feedback,
        retrieval=result.retrieval,
        coverage=result.coverage,
    )
    current().answer(payload, lines)


def _batch(memory: Memory, asked: _Asked, *, preview: bool, with_coverage: bool) -> None:
    from gm_engine.ranking.agent_answer import batch_answer

    results = memory.batch_recall(asked.agent, asked.queries, **asked.options(preview=preview))
    failed = [result.error for result in results if result.error is not None]
    if len(failed) == len(results):
        raise failed[0]
    payload = dict(batch_answer(asked.agent, results).payload)
    coverage = next((result.coverage for result in results if result.coverage is not None), None)
    _add_coverage(payload, coverage if with_coverage else None)
    current().answer(payload, batch_lines(results, coverage))


def _add_coverage(payload: dict[str, JsonValue], coverage: Coverage | None) -> None:
    if coverage is not None:
        payload["coverage"] = {
            "eligible": coverage.eligible,
            "with_vector": coverage.with_vector,
            "vector_path": coverage.vector_path,
            "reason": coverage.reason,
        }


def _missing_payload(asked: _Asked, report: MissingReport) -> dict[str, JsonValue]:
    return {
        "agent_id": asked.agent,
        "query": asked.queries[0],
        "fact_id": report.fact.id,
        "text": report.fact.text,
        "reason": report.reason,
        "place": report.place,
        "base_score": report.base_score,
        "final_score": report.final_score,
        "cutoff": report.cutoff,
        "duplicate_of": report.duplicate_of,
        "contributions": [
            {"signal": part.signal, "rank": part.rank, "score": part.score} for part in report.contributions
        ],
        "remedies": [
            {"setting": remedy.knob, "before": remedy.before, "after": remedy.after} for remedy in report.remedies
        ],
    }
