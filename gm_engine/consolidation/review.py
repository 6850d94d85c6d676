"""What clients under review ask for: held as proposals in the inbox, carried out when a person accepts them.

A proposal keeps who asked (`details`: client, client_version, session, origin) and what for (`asked`: add, update,
forget, pin, unpin, link, alias). What a person accepts is written with the client as its origin; the journal says who
accepted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from gm_engine.errors import InvalidInput, NotFound
from gm_engine.graph.names import check_ends, link_names
from gm_engine.life.alias import alias_text
from gm_engine.life.revise import lowest_label, united_origin
from gm_engine.proposals import NewProposal, Proposal, ProposalKind
from gm_engine.ranking.aliases import parse_alias
from gm_engine.records import SUPERSEDED_BY_AGENT, Fact, JsonValue, Origin
from gm_engine.store.blocked import refuse_blocked
from gm_engine.store.database import Ledger
from gm_engine.store.facts import (
    NewFact,
    check_agent_id,
    check_label,
    check_text,
    insert_facts,
    live_ids_with_text,
    load_facts,
    origin_from_image,
    origin_image,
    patch_facts,
)
from gm_engine.store.proposals import insert_proposals, waiting_with_key
from gm_engine.store.transaction import Transaction, canonical_json

_WISHES = {
    "add": "add this fact",
    "update": "put this text in its place",
    "forget": "retire it",
    "pin": "pin it",
    "unpin": "take its pin off",
    "alias": "add this vocabulary",
}


class Requests:
    """`memory.requests`: what its writer asks for where its writes wait for review.

    Every verb checks what the write itself would check and raises the same errors, then holds it; asking for the same
    thing again while it waits gives the same proposal. No recall returns what waits.
    """

    def __init__(self, ledger: Ledger, *, origin: Origin) -> None:
        self._ledger = ledger
        self._origin = origin

    def remember(self, agent_id: str, text: str, *, confidence: str | None = None) -> Proposal:
        """Asks for a new fact."""
        return self._write("add", agent_id, check_text(text), {"confidence": confidence} if confidence else {})

    def alias(self, agent_id: str, term: str, equivalents: Sequence[str]) -> Proposal:
        """Asks for vocabulary."""
        return self._write("alias", agent_id, alias_text(term, equivalents), {"kind": "alias"})

    def _write(self, asked: str, agent_id: str, text: str, details: Mapping[str, JsonValue]) -> Proposal:
        _check_confidence(details)
        with self._held(agent_id) as tx:
            refuse_blocked(tx.connection, [(agent_id, text)])
            return self._hold(tx, "write", asked, agent_id, text=text, details=details)

    def revise(self, agent_id: str, target: str, new_text: str, *, confidence: str | None = None) -> Proposal:
        """Asks to replace every live fact with the text `target`."""
        details: dict[str, JsonValue] = {"confidence": confidence} if confidence else {}
        check_text(new_text)
        _check_confidence(details)
        with self._held(agent_id) as tx:
            refuse_blocked(tx.connection, [(agent_id, new_text)])
            old = _facts(tx, agent_id, target)
            if all(fact.text == new_text and confidence in (None, fact.confidence) for fact in old):
                raise InvalidInput("The new text is the old text.", field="new_text")
            return self._hold(tx, "revise", "update", agent_id, facts=old, text=new_text, details=details)

    def retire(self, agent_id: str, target: str) -> Proposal:
        """Asks to retire every live fact with the text `target`."""
        with self._held(agent_id) as tx:
            return self._hold(tx, "retire", "forget", agent_id, facts=_facts(tx, agent_id, target))

    def pin(self, agent_id: str, target: str, *, pinned: bool = True) -> Proposal:
        """Asks to pin every live fact with the text `target`; without `pinned` to unpin retired ones, too."""
        with self._held(agent_id) as tx:
            facts = _facts(tx, agent_id, target, live_only=pinned)
            asked = "pin" if pinned else "unpin"
            return self._hold(tx, "pin", asked, agent_id, facts=facts, details={"pinned": pinned})

    def link(self, agent_id: str, from_name: str, to_name: str, relation: str) -> Proposal:
        """Asks to link two entities by name."""
        ends = check_ends(from_name, to_name)
        details: dict[str, JsonValue] = {"from": ends[0], "to": ends[1], "relation": relation}
        with self._held(agent_id) as tx:
            return self._hold(tx, "link", "link", agent_id, details=details)

    def _held(self, agent_id: str) -> AbstractContextManager[Transaction]:
        return self._ledger.write("propose", origin=self._origin, agent_id=check_agent_id(agent_id))

    def _hold(
        self,
        tx: Transaction,
        kind: ProposalKind,
        asked: str,
        agent_id: str,
        *,
        facts: Sequence[Fact] = (),
        text: str = "",
        details: Mapping[str, JsonValue] | None = None,
    ) -> Proposal:
        who = self._origin
        wish: dict[str, JsonValue] = {"asked": asked, **(details or {})}
        ids = tuple(fact.id for fact in facts)
        key = hashlib.sha256(canonical_json([who.client, agent_id, [*ids], text, wish]).encode()).hexdigest()
        waiting = waiting_with_key(tx.connection, "review", key)
        if waiting is not None:
            return waiting
        new = NewProposal(
            kind=kind,
            source="review",
            agent_id=agent_id,
            facts=ids,
            same_key=key,
            text=text,
            reason=_reason(who.client, asked, wish),
            base={fact.id: fact.version for fact in facts},
            details={
                **wish,
                "client": who.client,
                "client_version": who.client_version,
                "session": who.session,
                "origin": origin_image(who),
            },
        )
        return insert_proposals(tx, [new])[0]


def _reason(client: str, asked: str, wish: Mapping[str, JsonValue]) -> str:
    """The wish in words: `codex asks: link “crane” to “quay”`."""
    if asked == "link":
        return f"{client} asks: link “{wish['from']}” to “{wish['to']}”"
    label = f" as {wish['confidence']}" if "confidence" in wish else ""
    return f"{client} asks: {_WISHES[asked]}{label}"


def _check_confidence(details: Mapping[str, JsonValue]) -> None:
    if "confidence" in details:
        check_label(str(details["confidence"]))


def _facts(tx: Transaction, agent_id: str, text: str, *, live_only: bool = True) -> tuple[Fact, ...]:
    ids = live_ids_with_text(tx.connection, agent_id, text, live_only=live_only)
    if not ids:
        raise NotFound(f"{agent_id!r} has no fact with that text.", agent_id=agent_id, text=text[:200])
    found = load_facts(tx.connection, ids)
    return tuple(found[fact_id] for fact_id in ids)


def carry_out_request(
    tx: Transaction, proposal: Proposal, facts: Sequence[Fact], *, edited: str | None, language: str
) -> None:
    """Does what a client asked for; `edited` is a text that a person wrote instead of a new fact's or a revision's."""
    who = proposal.details.get("origin")
    writer = origin_from_image(who) if isinstance(who, dict) else tx.origin
    if proposal.kind in ("write", "revise"):
        _write_fact(tx, proposal, facts, text=edited or proposal.text, writer=writer, language=language)
    elif edited is not None:
        raise InvalidInput("There is no text to edit in this proposal.", field="edited")
    elif proposal.kind == "link":
        ends = (str(proposal.details.get("from", "")), str(proposal.details.get("to", "")))
        link_names(tx, *ends, str(proposal.details.get("relation", "")))
    elif proposal.kind == "pin":
        pinned = bool(proposal.details.get("pinned"))
        patch_facts(
            tx,
            [fact for fact in facts if fact.pinned != pinned],
            {"pinned": int(pinned), "pinned_ns": tx.at_ns if pinned else None},
        )
    else:
        patch_facts(tx, facts, {"superseded_by": SUPERSEDED_BY_AGENT})


def _write_fact(
    tx: Transaction, proposal: Proposal, old: Sequence[Fact], *, text: str, writer: Origin, language: str
) -> None:
    check_text(text)
    if proposal.agent_id is None or (proposal.kind == "revise" and not old):
        raise InvalidInput("The proposal names no agent or no fact.", field="agent_id")
    kind = old[0].kind if old else str(proposal.details.get("kind", ""))
    if kind == "alias" and parse_alias(text) is None:
        raise InvalidInput("An alias reads `alias: term = equivalent, equivalent`.", field="edited")
    label = str(proposal.details.get("confidence") or "")
    new = NewFact(
        id=str(proposal.details.get("fact_id") or tx.clock.new_id(tx.at_ns)),
        agent_id=proposal.agent_id,
        text=text,
        created_ns=tx.at_ns,
        origin=united_origin(writer, old),
        confidence=label or (lowest_label(old) if old else ""),
        kind=kind,
        alias_source=old[0].alias_source if old else "",
    )
    (written,) = insert_facts(tx, [new], language=language)
    patch_facts(tx, old, {"superseded_by": written.id})
