"""Carrying out what a person did in a vault: texts, labels, pins, retirements, new notes and links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gm_engine.errors import InvalidInput
from gm_engine.graph import edit as graph
from gm_engine.life.revise import lowest_label, united_origin
from gm_engine.proposals import Proposal
from gm_engine.records import SUPERSEDED_BY_AGENT, Fact, JsonValue, Origin, SourceRef
from gm_engine.store.facts import NewFact, check_label, check_text, insert_facts, patch_facts
from gm_engine.store.transaction import Transaction


def carry_out_edit(
    tx: Transaction, proposal: Proposal, facts: Sequence[Fact], *, edited: str | None, language: str
) -> None:
    """Does what an edit in a vault says; `facts` are as the person saw them, `edited` is a text written instead.

    A new text keeps the pin of the fact it replaces unless the note says otherwise. Raises `InvalidInput`,
    `BlockedValue` or `NotFound` before any effect.
    """
    if proposal.kind == "revise":
        _revise(tx, proposal, facts, text=edited or proposal.text, language=language)
    elif proposal.kind == "write":
        _remember(tx, proposal, text=edited or proposal.text, language=language)
    elif edited is not None:
        raise InvalidInput("There is no text to edit in this proposal.", field="edited")
    elif proposal.kind == "link":
        ends = (str(proposal.details.get("from", "")), str(proposal.details.get("to", "")))
        relation = str(proposal.details.get("relation") or "related_to")
        graph.link(tx, *ends, relation, sources=[fact.id for fact in facts])
    elif proposal.kind in ("label", "pin"):
        _set_properties(tx, proposal, facts)
    else:
        patch_facts(tx, facts, {"superseded_by": SUPERSEDED_BY_AGENT})


def _note_origin(tx: Transaction, proposal: Proposal) -> Origin:
    note = str(proposal.details.get("note", ""))
    return replace(tx.origin, sources=(SourceRef("note", note),)) if note else tx.origin


def _pin_of(tx: Transaction, proposal: Proposal, old: Fact | None) -> tuple[bool, int | None]:
    pinned = proposal.details.get("pinned")
    if pinned is None and old is not None:
        return old.pinned, old.pinned_ns
    return bool(pinned), tx.at_ns if pinned else None


def _label_of(proposal: Proposal) -> str | None:
    label = proposal.details.get("confidence")
    if label is None:
        return None
    check_label(str(label))
    return str(label)


def _revise(tx: Transaction, proposal: Proposal, facts: Sequence[Fact], *, text: str, language: str) -> None:
    check_text(text)
    if not facts:
        raise InvalidInput("The proposal names no fact.", field="facts")
    old = facts[0]
    label = _label_of(proposal)
    pinned, pinned_ns = _pin_of(tx, proposal, old)
    new = NewFact(
        id=tx.clock.new_id(tx.at_ns),
        agent_id=old.agent_id,
        text=text,
        created_ns=tx.at_ns,
        origin=united_origin(_note_origin(tx, proposal), facts),
        confidence=lowest_label(facts) if label is None else label,
        kind=old.kind,
        alias_source=old.alias_source,
        pinned=pinned,
        pinned_ns=pinned_ns,
    )
    (written,) = insert_facts(tx, [new], language=language)
    patch_facts(tx, facts, {"superseded_by": written.id})


def _remember(tx: Transaction, proposal: Proposal, *, text: str, language: str) -> None:
    if proposal.agent_id is None:
        raise InvalidInput("The proposal names no agent.", field="agent_id")
    check_text(text)
    pinned, pinned_ns = _pin_of(tx, proposal, None)
    new = NewFact(
        id=tx.clock.new_id(tx.at_ns),
        agent_id=proposal.agent_id,
        text=text,
        created_ns=tx.at_ns,
        origin=_note_origin(tx, proposal),
        confidence=_label_of(proposal) or "",
        pinned=pinned,
        pinned_ns=pinned_ns,
    )
    insert_facts(tx, [new], language=language)


def _set_properties(tx: Transaction, proposal: Proposal, facts: Sequence[Fact]) -> None:
    patch: dict[str, JsonValue] = {}
    label = _label_of(proposal)
    if label is not None:
        patch["confidence"] = label
    pinned = proposal.details.get("pinned")
    if pinned is not None:
        patch |= {"pinned": int(bool(pinned)), "pinned_ns": tx.at_ns if pinned else None}
    patch_facts(tx, facts, patch)
