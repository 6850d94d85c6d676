"""The inbox's rows: adding, listing, and changing the state of a proposal, journalled.

A row is never deleted: undoing the entry that added it leaves it `withdrawn`, so that its content need not be in the
journal. The column `decided_seq` holds the journal seq of the entry that gave a row its present state.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from gm_engine.errors import NotFound
from gm_engine.proposals import (
    Finding,
    InboxCount,
    NewProposal,
    Proposal,
    ProposalKind,
    ProposalSource,
    ProposalState,
)
from gm_engine.records import WaitingClient
from gm_engine.store.facts import check_agent_id, check_text
from gm_engine.store.transaction import Transaction, canonical_json

CHANGE_KIND = "proposal"
WAITING: tuple[ProposalState, ...] = ("open", "later")
_COLUMNS = "id, kind, source, agent_id, created_ns, payload, base, same_key, state, decided_seq"
_INSERT = (
    "INSERT INTO proposals(id, kind, source, agent_id, actor_id, created_ns, payload, base, same_key, state,"
    " decided_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?)"
)
_ORDER = (
    "CASE kind WHEN 'exact_duplicate' THEN 0 WHEN 'near_duplicate' THEN 1 WHEN 'contradiction' THEN 2"
    " WHEN 'summary' THEN 3 WHEN 'prune' THEN 5 ELSE 4 END, json_extract(payload, '$.score') DESC, created_ns, id"
)


@dataclass(frozen=True, slots=True)
class Decided:
    """A dismissed proposal, as far as the next cycle must know it."""

    kind: ProposalKind
    state: ProposalState
    facts: tuple[str, ...]
    text_keys: tuple[str, ...]
    asked: str


def insert_proposals(tx: Transaction, new: Sequence[NewProposal]) -> tuple[Proposal, ...]:
    """`add_proposals`, and what they are now."""
    ids = add_proposals(tx, new)
    found = load_proposals(tx.connection, ids)
    return tuple(found[proposal_id] for proposal_id in ids)


def add_proposals(tx: Transaction, new: Sequence[NewProposal]) -> list[str]:
    """Puts proposals into the inbox, open; their ids.

    Raises `InvalidInput` for a text or agent that the ledger cannot hold.
    """
    rows, ids = [], []
    for proposal in new:
        if proposal.text:
            check_text(proposal.text)
        if proposal.agent_id is not None:
            check_agent_id(proposal.agent_id)
        proposal_id = tx.clock.new_id(tx.at_ns)
        ids.append(proposal_id)
        values = (proposal.kind, proposal.source, proposal.agent_id, tx.actor_id, tx.at_ns)
        base = canonical_json(dict(proposal.base))
        rows.append((proposal_id, *values, canonical_json(_payload(proposal)), base, proposal.same_key, tx.seq))
        tx.record(
            CHANGE_KIND,
            proposal_id,
            agent_id=proposal.agent_id,
            version_before=0,
            before=None,
            after={"kind": proposal.kind, "source": proposal.source, "state": "open"},
        )
    if rows:
        tx.connection.exec_driver_sql(_INSERT, rows)
    return ids


def _payload(proposal: NewProposal) -> dict[str, Any]:
    return {
        "facts": list(proposal.facts),
        "keep": proposal.keep,
        "text": proposal.text,
        "reason": proposal.reason,
        "findings": [[finding.kind, finding.text, finding.fact_id] for finding in proposal.findings],
        "score": round(proposal.score, 4),
        "details": dict(proposal.details),
    }


def load_proposals(connection: Connection, ids: Sequence[str]) -> dict[str, Proposal]:
    """Proposals by id; ids that do not exist are missing from the answer."""
    rows = connection.exec_driver_sql(
        f"SELECT {_COLUMNS} FROM proposals WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    ).all()
    return {proposal.id: proposal for proposal in _read(connection, rows)}


def required(connection: Connection, ids: Sequence[str]) -> tuple[Proposal, ...]:
    """The proposals with these ids, in order, each once; `NotFound` names the first that does not exist."""
    wanted = tuple(dict.fromkeys(ids))
    found = load_proposals(connection, wanted)
    for proposal_id in wanted:
        if proposal_id not in found:
            raise NotFound(f"The inbox has no proposal {proposal_id}.", id=proposal_id)
    return tuple(found[proposal_id] for proposal_id in wanted)


def list_proposals(
    connection: Connection,
    *,
    states: Collection[ProposalState],
    source: ProposalSource | None = None,
    kind: ProposalKind | None = None,
    agent_id: str | None = None,
    client: str | None = None,
    limit: int | None = None,
) -> tuple[Proposal, ...]:
    """Proposals in the given states: certain kinds first, the surest and oldest first within a kind."""
    where = [f"state IN ({', '.join('?' for _ in states)})"]
    values: list[str] = [*states]
    asked_by = "json_extract(payload, '$.details.client')"
    for column, value in (("source", source), ("kind", kind), ("agent_id", agent_id), (asked_by, client)):
        if value is not None:
            where.append(f"{column} = ?")
            values.append(value)
    rows = connection.exec_driver_sql(
        f"SELECT {_COLUMNS} FROM proposals WHERE {' AND '.join(where)} ORDER BY {_ORDER} LIMIT ?",
        (*values, -1 if limit is None else limit),
    ).all()
    return tuple(_read(connection, rows))


def count_proposals(
    connection: Connection, *, states: Collection[ProposalState], source: ProposalSource | None = None
) -> int:
    """How many `list_proposals` would give, told by the index of states and sources."""
    found = connection.exec_driver_sql(
        "SELECT count(*) FROM proposals"
        " WHERE state IN (SELECT value FROM json_each(?)) AND source = coalesce(?, source)",
        (json.dumps([*states]), source),
    )
    return int(found.scalar_one())


def waiting_with_key(connection: Connection, source: ProposalSource, same_key: str) -> Proposal | None:
    """The proposal that says the same thing and still waits; None where there is none."""
    rows = connection.exec_driver_sql(
        f"SELECT {_COLUMNS} FROM proposals WHERE same_key = ? AND source = ? AND state IN ('open', 'later') LIMIT 1",
        (same_key, source),
    ).all()
    return _read(connection, rows)[0] if rows else None


def waiting_ids(connection: Connection, source: ProposalSource, agent_id: str) -> list[str]:
    """The proposals that wait in a namespace, in the order of `list_proposals`."""
    rows = connection.exec_driver_sql(
        f"SELECT id FROM proposals WHERE state IN ('open', 'later') AND source = ? AND agent_id = ? ORDER BY {_ORDER}",
        (source, agent_id),
    )
    return [row[0] for row in rows]


def which_wait(
    connection: Connection, source: ProposalSource, agent_id: str, same_keys: Sequence[str]
) -> set[tuple[str, str]]:
    """Kind and key of those proposals of a namespace that wait under one of these keys."""
    rows = connection.exec_driver_sql(
        "SELECT kind, same_key FROM proposals WHERE same_key IN (SELECT value FROM json_each(?))"
        " AND state IN ('open', 'later') AND source = ? AND agent_id = ?",
        (json.dumps(list(same_keys)), source, agent_id),
    )
    return {(row[0], row[1]) for row in rows}


def states_of(connection: Connection, ids: Sequence[str]) -> dict[str, tuple[ProposalState, int]]:
    """The state of proposals by id, and the journal seq that gave it to them."""
    rows = connection.exec_driver_sql(
        "SELECT id, state, decided_seq FROM proposals WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {row[0]: (row[1], row[2] or 0) for row in rows}


def waiting_clients(connection: Connection) -> tuple[WaitingClient, ...]:
    """The clients with writes under review that wait, by name."""
    rows = connection.exec_driver_sql(
        "SELECT coalesce(json_extract(payload, '$.details.client'), ''), count(*) FROM proposals"
        " WHERE source = 'review' AND state IN ('open', 'later') GROUP BY 1 ORDER BY 1"
    )
    return tuple(WaitingClient(row[0], row[1]) for row in rows)


def _read(connection: Connection, rows: Sequence[Any]) -> list[Proposal]:
    bases: list[dict[str, int]] = [json.loads(row[6]) for row in rows]
    versions = _versions(connection, {fact_id for base in bases for fact_id in base})
    found = []
    for row, base in zip(rows, bases, strict=True):
        payload = json.loads(row[5])
        is_waiting = row[8] in WAITING
        found.append(
            Proposal(
                id=row[0],
                kind=row[1],
                source=row[2],
                agent_id=row[3],
                created_ns=row[4],
                facts=tuple(payload["facts"]),
                keep=payload["keep"],
                text=payload["text"],
                reason=payload["reason"],
                base=base,
                findings=tuple(Finding(*finding) for finding in payload["findings"]),
                score=payload["score"],
                details=payload["details"],
                same_key=row[7],
                state=row[8],
                seq=row[9] or 0,
                stale=is_waiting and any(versions.get(fact_id, 0) != version for fact_id, version in base.items()),
            )
        )
    return found


def _versions(connection: Connection, ids: Collection[str]) -> dict[str, int]:
    rows = connection.exec_driver_sql(
        "SELECT id, version FROM facts WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(sorted(ids)),)
    )
    return {row[0]: row[1] for row in rows}


def set_state(tx: Transaction, proposals: Sequence[Proposal], state: ProposalState) -> None:
    """Gives proposals a state, journalled; those that have it already stay untouched."""
    for proposal in proposals:
        if proposal.state == state:
            continue
        _write_state(tx.connection, proposal.id, state, tx.seq)
        tx.record(
            CHANGE_KIND,
            proposal.id,
            agent_id=proposal.agent_id,
            version_before=proposal.seq,
            before={"state": proposal.state},
            after={"state": state},
        )


def _write_state(connection: Connection, proposal_id: str, state: str, seq: int) -> None:
    connection.exec_driver_sql(
        "UPDATE proposals SET state = ?, decided_seq = ? WHERE id = ?", (state, seq, proposal_id)
    )


def proposal_counts(connection: Connection) -> tuple[InboxCount, ...]:
    """How many proposals there are of each source, kind and state."""
    rows = connection.exec_driver_sql(
        "SELECT source, kind, state, count(*) FROM proposals GROUP BY source, kind, state ORDER BY source, kind, state"
    )
    return tuple(InboxCount(*row) for row in rows)


def dismissed(connection: Connection, agent_id: str) -> tuple[Decided, ...]:
    """What was rejected, or asked never to come again, in a namespace."""
    rows = connection.exec_driver_sql(
        "SELECT kind, state, payload FROM proposals WHERE state IN ('rejected', 'never') AND agent_id = ?"
        " AND source = 'consolidation'",
        (agent_id,),
    )
    found = []
    for kind, state, text in rows:
        payload = json.loads(text)
        keys = tuple(payload["details"].get("text_keys", ()))
        found.append(Decided(kind, state, tuple(payload["facts"]), keys, payload["details"].get("asked", "")))
    return tuple(found)
