"""Carrying out one proposal inside a transaction: everything is checked again before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gm_engine.consolidation.review import carry_out_request
from gm_engine.consolidation.vault_edits import carry_out_edit
from gm_engine.errors import FactChanged, InvalidInput, ProposalDecided
from gm_engine.life.revise import lowest_label, united_origin
from gm_engine.proposals import Proposal
from gm_engine.records import SUPERSEDED_BY_AGENT, Fact, Origin, SourceRef
from gm_engine.store.consolidation import prune_facts
from gm_engine.store.facts import (
    NewFact,
    add_sources,
    check_text,
    insert_facts,
    load_facts,
    patch_facts,
)
from gm_engine.store.proposals import WAITING, set_state
from gm_engine.store.transaction import Transaction

_MERGES = ("exact_duplicate", "near_duplicate", "contradiction")


def carry_out(
    tx: Transaction, proposal: Proposal, *, edited: str | None = None, keep: str | None = None, language: str
) -> None:
    """Does what the proposal says and marks it accepted.

    `edited` is a text that a person wrote instead of the proposed result; `keep` names the fact that shall stay instead
    of the proposed one. Raises, before any effect, `ProposalDecided` when it does not wait any more, `FactChanged` when
    one of its facts is not as it was, `BlockedValue` for a blocked text, `InvalidInput` for a choice that makes no
    sense.
    """
    if proposal.state not in WAITING:
        raise ProposalDecided(f"The proposal was {proposal.state} already.", id=proposal.id, state=proposal.state)
    facts = _unchanged(tx, proposal)
    if proposal.kind in _MERGES:
        _merge(tx, proposal, facts, edited=edited, keep=keep or proposal.keep, language=language)
    elif keep is not None:
        raise InvalidInput("Only of duplicates and contradictions can another fact be kept.", field="keep")
    elif proposal.source == "vault":
        carry_out_edit(tx, proposal, facts, edited=edited, language=language)
    elif proposal.source == "review" or proposal.kind == "write":
        carry_out_request(tx, proposal, facts, edited=edited, language=language)
    elif proposal.kind in ("summary", "revise"):
        origin = tx.origin if edited is not None or proposal.kind == "revise" else _written_by_cycle(tx.origin, facts)
        _replace(tx, proposal, facts, text=edited or proposal.text, origin=origin, language=language)
    elif edited is not None:
        raise InvalidInput("There is no text to edit in this proposal.", field="edited")
    elif proposal.kind == "prune":
        prune_facts(tx, [fact.id for fact in facts])
    else:
        patch_facts(tx, facts, {"superseded_by": SUPERSEDED_BY_AGENT})
    set_state(tx, [proposal], "accepted")


def _unchanged(tx: Transaction, proposal: Proposal) -> tuple[Fact, ...]:
    found = load_facts(tx.connection, proposal.facts)
    changed = [i for i in proposal.facts if i not in found or found[i].version != proposal.base.get(i)]
    if changed:
        raise FactChanged(f"Fact {changed[0]} has changed since; nothing was written.", ids=changed, id=proposal.id)
    takes_pin_off = proposal.kind == "pin" and not proposal.details.get("pinned")
    if proposal.kind != "prune" and not (proposal.source == "review" and takes_pin_off):
        retired = [fact_id for fact_id in proposal.facts if found[fact_id].is_superseded]
        if retired:
            raise FactChanged(f"Fact {retired[0]} is retired already; nothing was written.", ids=retired)
    return tuple(found[fact_id] for fact_id in proposal.facts)


def _merge(
    tx: Transaction, proposal: Proposal, facts: Sequence[Fact], *, edited: str | None, keep: str, language: str
) -> None:
    kept = next((fact for fact in facts if fact.id == keep), None)
    if kept is None:
        raise InvalidInput(f"{keep} is none of the proposal's facts.", field="keep")
    if edited is not None and edited != kept.text:
        _replace(tx, proposal, facts, text=edited, origin=tx.origin, language=language)
        return
    consumed = [fact for fact in facts if fact.id != kept.id]
    _refuse_pinned(consumed)
    patch_facts(tx, consumed, {"superseded_by": kept.id})
    add_sources(tx, kept, [source for fact in consumed for source in fact.origin.sources])


def _refuse_pinned(facts: Sequence[Fact]) -> None:
    pinned = [fact.id for fact in facts if fact.pinned]
    if pinned:
        raise InvalidInput(f"Fact {pinned[0]} is pinned: keep it, or unpin it first.", ids=pinned)


def _replace(
    tx: Transaction, proposal: Proposal, facts: Sequence[Fact], *, text: str, origin: Origin, language: str
) -> None:
    """Writes one text in the place of facts: label min(inferred, theirs), union of their sources, no pin."""
    check_text(text)
    _refuse_pinned(facts)
    if not facts:
        raise InvalidInput("The proposal names no fact.", field="facts")
    new = NewFact(
        id=tx.clock.new_id(tx.at_ns),
        agent_id=facts[0].agent_id,
        text=text,
        created_ns=tx.at_ns,
        origin=united_origin(origin, facts),
        confidence=str(proposal.details.get("confidence") or lowest_label(facts)),
        kind=facts[0].kind,
        alias_source=facts[0].alias_source,
    )
    (written,) = insert_facts(tx, [new], language=language)
    patch_facts(tx, facts, {"superseded_by": written.id})


def _written_by_cycle(who: Origin, facts: Sequence[Fact]) -> Origin:
    return replace(who, channel="consolidation", sources=tuple(SourceRef("fact", fact.id) for fact in facts))
