"""Verbs that set single fields of facts: retire, restore, pin, unpin, label, move. Each patches only what it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gm_engine.errors import InvalidInput
from gm_engine.records import SUPERSEDED_BY_AGENT, Fact, Origin, SourceRef
from gm_engine.store import facts as rows
from gm_engine.store.blocked import insert_block
from gm_engine.store.facts import NewFact, patch_facts, targets
from gm_engine.store.transaction import Transaction


def retire(
    tx: Transaction,
    agent_id: str,
    ids: Sequence[str],
    *,
    expected: Mapping[str, int] | None = None,
    block: bool = False,
) -> tuple[Fact, ...]:
    """Takes facts out of recall with nothing in their place; retired ones keep the tombstone they have.

    With `block` their texts are never stored again, by any agent.
    """
    found = targets(tx.connection, agent_id, ids, expected=expected)
    retired = patch_facts(
        tx, [fact for fact in found if not fact.is_superseded], {"superseded_by": SUPERSEDED_BY_AGENT}
    )
    for text in dict.fromkeys(fact.text for fact in found) if block else ():
        insert_block(tx, text, None)
    return retired


def restore(
    tx: Transaction, agent_id: str, ids: Sequence[str], *, expected: Mapping[str, int] | None = None
) -> tuple[Fact, ...]:
    """Brings retired facts back; live ones stay as they are."""
    return patch_facts(tx, targets(tx.connection, agent_id, ids, expected=expected), {"superseded_by": ""})


def pin(
    tx: Transaction, agent_id: str, ids: Sequence[str], *, expected: Mapping[str, int] | None = None
) -> tuple[Fact, ...]:
    """Exempts live facts from decay, pruning and summarising. `InvalidInput` for a retired one."""
    found = targets(tx.connection, agent_id, ids, expected=expected)
    retired = [fact.id for fact in found if fact.is_superseded]
    if retired:
        raise InvalidInput(f"Fact {retired[0]} is retired; only live facts can be pinned.", ids=retired)
    unpinned = [fact for fact in found if not fact.pinned]
    return patch_facts(tx, unpinned, {"pinned": 1, "pinned_ns": tx.at_ns})


def unpin(
    tx: Transaction, agent_id: str, ids: Sequence[str], *, expected: Mapping[str, int] | None = None
) -> tuple[Fact, ...]:
    """Takes pins off, from retired facts too."""
    pinned = [fact for fact in targets(tx.connection, agent_id, ids, expected=expected) if fact.pinned]
    return patch_facts(tx, pinned, {"pinned": 0, "pinned_ns": None})


def label(
    tx: Transaction,
    agent_id: str,
    ids: Sequence[str],
    *,
    confidence: str,
    expected: Mapping[str, int] | None = None,
) -> tuple[Fact, ...]:
    """Sets the confidence label of facts, live or retired."""
    rows.check_label(confidence)
    return patch_facts(tx, targets(tx.connection, agent_id, ids, expected=expected), {"confidence": confidence})


def move(
    tx: Transaction, agent_id: str, ids: Sequence[str], *, to: str, expected: Mapping[str, int] | None = None
) -> tuple[Fact, ...]:
    """Gives facts to another agent; they keep their ids."""
    rows.check_agent_id(to)
    return patch_facts(tx, targets(tx.connection, agent_id, ids, expected=expected), {"agent_id": to})


def copy(tx: Transaction, agent_id: str, ids: Sequence[str], *, to: str, language: str) -> tuple[Fact, ...]:
    """Writes new facts for another agent with the same text, label and kind; their origin names the originals."""
    rows.check_agent_id(to)
    copies = []
    for fact in targets(tx.connection, agent_id, ids):
        sources = tuple(dict.fromkeys((*fact.origin.sources, SourceRef("fact", fact.id))))
        who = tx.origin
        copies.append(
            NewFact(
                id=tx.clock.new_id(tx.at_ns),
                agent_id=to,
                text=fact.text,
                created_ns=tx.at_ns,
                origin=Origin(who.channel, who.client, who.client_version, who.session, sources),
                confidence=fact.confidence,
                kind=fact.kind,
                alias_source=fact.alias_source,
            )
        )
    return rows.insert_facts(tx, copies, language=language)
