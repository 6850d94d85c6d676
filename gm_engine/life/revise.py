"""Putting a new text in the place of facts: the replacement and the retirements commit together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gm_engine.errors import FactChanged, InvalidInput, NotFound
from gm_engine.records import Confidence, Fact, Origin, SourceRef, effective_confidence
from gm_engine.store.facts import (
    NewFact,
    check_label,
    check_text,
    insert_facts,
    live_ids_with_text,
    patch_facts,
    targets,
)
from gm_engine.store.transaction import Transaction


def revise(
    tx: Transaction,
    agent_id: str,
    target: str | Sequence[str],
    new_text: str,
    *,
    confidence: str | None,
    expected: Mapping[str, int] | None,
    language: str,
) -> Fact:
    """Replaces every live exact match of a text, or the facts with these ids, by one new fact.

    The replacement inherits the first target's kind and the union of the sources, never a pin. Without a label it gets
    min(inferred, lowest effective label of the targets). Raises `NotFound`, `FactChanged` or `InvalidInput`; then
    nothing is written.
    """
    check_text(new_text)
    if confidence is not None:
        check_label(confidence)
    old = _live_targets(tx, agent_id, target, expected)
    if all(fact.text == new_text and confidence in (None, fact.confidence) for fact in old):
        raise InvalidInput("The new text is the old text.", field="new_text")
    replacement = NewFact(
        id=tx.clock.new_id(tx.at_ns),
        agent_id=agent_id,
        text=new_text,
        created_ns=tx.at_ns,
        origin=united_origin(tx.origin, old),
        confidence=lowest_label(old) if confidence is None else confidence,
        kind=old[0].kind,
        alias_source=old[0].alias_source,
    )
    (written,) = insert_facts(tx, [replacement], language=language)
    patch_facts(tx, old, {"superseded_by": written.id})
    return written


def _live_targets(
    tx: Transaction, agent_id: str, target: str | Sequence[str], expected: Mapping[str, int] | None
) -> tuple[Fact, ...]:
    if isinstance(target, str):
        ids: Sequence[str] = live_ids_with_text(tx.connection, agent_id, target)
        if not ids:
            raise NotFound(f"{agent_id!r} has no live fact with that text.", agent_id=agent_id, text=target[:200])
    else:
        ids = target
    found = targets(tx.connection, agent_id, ids, expected=expected)
    retired = [fact.id for fact in found if fact.is_superseded]
    if retired:
        raise FactChanged(f"Fact {retired[0]} is retired already; nothing was written.", ids=retired)
    return found


def lowest_label(facts: Sequence[Fact]) -> str:
    """min(inferred, lowest effective label): what a text made from these facts may claim."""
    levels = [effective_confidence(fact.confidence).level for fact in facts]
    return Confidence.UNVERIFIED.value if min(levels) == 0 else Confidence.INFERRED.value


def united_origin(who: Origin, old: Sequence[Fact]) -> Origin:
    """Who writes a text made from these facts, with all the sources that they had."""
    inherited = (source for fact in old for source in fact.origin.sources)
    sources: tuple[SourceRef, ...] = tuple(dict.fromkeys((*who.sources, *inherited)))
    return Origin(who.channel, who.client, who.client_version, who.session, sources)
