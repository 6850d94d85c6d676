"""The checkpoints and entities of a store that hold words of a query, or all of them where nothing is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gm_engine.clock import format_ns
from gm_engine.errors import CheckpointDamaged, NotFound
from gm_engine.recall_protocol.found_records import Found
from gm_engine.recall_protocol.lexical_span import QueryWords, Span, WordCounts
from gm_engine.recall_protocol.locators import RecordName
from gm_engine.recall_protocol.served_store import (
    MAX_CHECKPOINTS,
    Check,
    Named,
    Reader,
    ServedStore,
    checkpoint_text,
)
from gm_engine.records import CheckpointSummary, Entity

_NOTHING = Span(frozenset(), 0.0)


@dataclass(frozen=True, slots=True)
class RecordQuestion:
    """What is asked: `words` without terms lists everything. `about` are the entities that a filter names."""

    words: QueryWords
    is_listing: bool
    namespaces: tuple[str, ...]
    project: str | None
    since_ns: int | None
    until_ns: int | None
    about: frozenset[str] | None
    limit: int
    pinned_seq: int | None

    def is_within(self, at_ns: int | None) -> bool:
        """Whether a record of this time is asked for; one without a time is only where no time is asked for."""
        if at_ns is None:
            return self.since_ns is None and self.until_ns is None
        return (self.since_ns is None or at_ns >= self.since_ns) and (self.until_ns is None or at_ns < self.until_ns)


@dataclass(frozen=True, slots=True)
class CheckpointAnswer:
    """Checkpoints in order; `unread` could not be looked into, `left_out` are older than those that were."""

    found: list[Found]
    total: int
    unread: int
    left_out: int


def search_checkpoints(
    served: ServedStore, reader: Reader, question: RecordQuestion, *, check: Check
) -> CheckpointAnswer:
    """The checkpoints of the served namespaces that hold a word of the query, the most relevant first."""
    within = [
        each
        for each in reader.checkpoints.list()
        if each.agent_id in question.namespaces and question.is_within(each.created_ns)
    ]
    if question.is_listing:
        damaged = sum(1 for each in within if each.message_count is None)
        found = _checkpoints(reader, question, [(each, _NOTHING) for each in within[: question.limit]])
        return CheckpointAnswer(found, len(within), damaged, 0)
    matches: list[tuple[CheckpointSummary, Span]] = []
    unread = 0
    for summary in within[:MAX_CHECKPOINTS]:
        check()
        words = served.checkpoint_words(reader, summary)
        if words is None:
            unread += 1
        elif (span := question.words.span(words)).matched:
            matches.append((summary, span))
    matches.sort(key=lambda each: (-each[1].relevance, -each[0].created_ns, each[0].id))
    found = _checkpoints(reader, question, matches[: question.limit])
    return CheckpointAnswer(found, len(matches), unread, max(0, len(within) - MAX_CHECKPOINTS))


def _checkpoints(
    reader: Reader, question: RecordQuestion, matches: Sequence[tuple[CheckpointSummary, Span]]
) -> list[Found]:
    found = []
    for summary, span in matches:
        try:
            text = checkpoint_text(reader.checkpoints.load(summary.id))
        except (CheckpointDamaged, NotFound):
            continue
        excerpt, is_matched = question.words.excerpt(text)
        found.append(
            Found(
                name=RecordName("checkpoint", summary.id, summary.agent_id, question.pinned_seq),
                title=checkpoint_title(summary),
                content=text,
                excerpt=excerpt,
                is_matched=is_matched,
                signals=("lexical",) if span.matched else (),
                relevance=span.relevance if span.matched else None,
                created_ns=summary.created_ns,
                revision=str(summary.version),
                weight=_share(span, question.words),
                metadata={
                    "agent_id": summary.agent_id,
                    "messages": summary.message_count,
                    "size_bytes": summary.size_bytes,
                    "verdict": summary.verdict,
                },
            )
        )
    return found


def checkpoint_title(summary: CheckpointSummary) -> str:
    """Whose checkpoint it is, and from when."""
    return f"Checkpoint of {summary.agent_id}, {format_ns(summary.created_ns)[:16].replace('T', ' ')}Z"


def search_entities(
    served: ServedStore, reader: Reader, question: RecordQuestion, *, check: Check
) -> tuple[list[Found], int]:
    """The entities one of whose names holds a word of the query, the most relevant first, and how many there are."""
    check()
    shown = served.shown_entities(reader, question.project)
    matches = []
    for named in served.entities(reader):
        if shown is not None and named.entity.id not in shown:
            continue
        if not question.is_within(named.entity.first_seen_ns):
            continue
        if question.about is not None and named.entity.id not in question.about:
            continue
        span = _best(named.names, question.words)
        if span.matched or question.is_listing:
            matches.append((named, span))
    matches.sort(key=lambda each: (-each[1].relevance, -each[0].entity.weight, each[0].entity.id))
    return [_entity(named, span, question) for named, span in matches[: question.limit]], len(matches)


def _best(names: Sequence[tuple[str, WordCounts]], words: QueryWords) -> Span:
    return max((words.span(counts) for _, counts in names), key=lambda span: span.relevance, default=_NOTHING)


def _share(span: Span, words: QueryWords) -> float:
    return len(span.matched) / len(words.terms) if span.matched else 1.0


def _entity(named: Named, span: Span, question: RecordQuestion) -> Found:
    entity = named.entity
    content = entity_text(entity, [name for name, _ in named.names])
    return Found(
        name=RecordName("entity", entity.id, seq=question.pinned_seq),
        title=entity.label,
        content=content,
        excerpt=content,
        is_matched=bool(span.matched),
        signals=("field",) if span.matched else (),
        relevance=span.relevance if span.matched else None,
        created_ns=entity.first_seen_ns,
        weight=_share(span, question.words),
        metadata={"type": entity.type, "made_by": entity.made_by},
    )


def entity_text(entity: Entity, names: Sequence[str]) -> str:
    """What an entity is, in a line: its label, its type, and its other names."""
    others = [name for name in names if name.casefold() != entity.label.casefold()]
    known_as = f", also called {', '.join(others)}" if others else ""
    return f"{entity.label} ({entity.type}){known_as}"
