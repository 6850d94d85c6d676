"""What consolidation reads and keeps in the ledger: facts to compare, weights, prunable facts, counters, history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from gm_engine.records import JsonValue, effective_confidence
from gm_engine.store.facts import fact_image, load_facts, remove_facts
from gm_engine.store.transaction import Transaction, canonical_json

PRUNE_BELOW = 0.01
CYCLE_VERB = "consolidate"
_COUNTERS = "consolidation"
_AGENT_PREFIX = "consolidated:"


@dataclass(frozen=True, slots=True)
class LiveFact:
    """A live content fact as far as comparing needs it; `level` is its effective confidence, 2 to 0."""

    id: str
    text: str
    text_key: bytes
    created_ns: int
    weight: float
    used_ns: int
    level: int
    pinned: bool
    version: int


@dataclass(frozen=True, slots=True)
class CycleMark:
    """When a namespace's newest automatic cycle ended and what it took; one that has not ended: when it began, None."""

    at_ns: int
    took_ns: int | None


@dataclass(frozen=True, slots=True)
class Retention:
    """A fact's retention weight and when it was last used (written, where it never was)."""

    id: str
    weight: float
    created_ns: int
    used_ns: int
    pinned: bool
    is_live: bool
    is_alias: bool


def live_facts(
    connection: Connection, agent_id: str, *, after: LiveFact | None = None, limit: int = -1
) -> list[LiveFact]:
    """The live content facts of a namespace that follow `after`, oldest first, `limit` of them at most (-1: all)."""
    created_ns, fact_id = (-(1 << 63), "") if after is None else (after.created_ns, after.id)
    rows = connection.exec_driver_sql(
        "SELECT id, text, text_key, created_ns, weight, coalesce(accessed_ns, created_ns), confidence, pinned, version"
        " FROM facts WHERE agent_id = ? AND (created_ns, id) > (?, ?) AND length(superseded_by) = 0"
        " AND kind <> 'alias' ORDER BY created_ns, id LIMIT ?",
        (agent_id, created_ns, fact_id, limit),
    )
    return [
        LiveFact(
            id=row[0],
            text=row[1],
            text_key=bytes(row[2]),
            created_ns=row[3],
            weight=row[4],
            used_ns=row[5],
            level=effective_confidence(row[6]).level,
            pinned=bool(row[7]),
            version=row[8],
        )
        for row in rows
    ]


def live_count(connection: Connection, agent_id: str, *, at_most: int) -> int:
    """How many live content facts a namespace has; counting stops at `at_most`."""
    return int(
        connection.exec_driver_sql(
            "SELECT count(*) FROM (SELECT 1 FROM facts WHERE agent_id = ? AND length(superseded_by) = 0"
            " AND kind <> 'alias' LIMIT ?)",
            (agent_id, at_most),
        ).scalar_one()
    )


def retentions(
    connection: Connection, agent_id: str, *, after: Retention | None = None, limit: int = -1
) -> list[Retention]:
    """Weights of the facts of a namespace, tombstones and aliases too, that follow `after`; `limit` of them at most."""
    created_ns, fact_id = (-(1 << 63), "") if after is None else (after.created_ns, after.id)
    rows = connection.exec_driver_sql(
        "SELECT id, weight, created_ns, coalesce(accessed_ns, created_ns), pinned, length(superseded_by) = 0,"
        " kind = 'alias' FROM facts WHERE agent_id = ? AND (created_ns, id) > (?, ?) ORDER BY created_ns, id LIMIT ?",
        (agent_id, created_ns, fact_id, limit),
    )
    return [
        Retention(row[0], row[1], row[2], row[3], pinned=bool(row[4]), is_live=bool(row[5]), is_alias=bool(row[6]))
        for row in rows
    ]


def text_keys(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The text keys of facts in hexadecimal, by id."""
    rows = connection.exec_driver_sql(
        "SELECT id, text_key FROM facts WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    )
    return {row[0]: bytes(row[1]).hex() for row in rows}


def lower_weights(connection: Connection, weights: Sequence[tuple[float, str, int]]) -> None:
    """Sets weights (weight, fact id, when it was last used); a fact that was used since keeps its own."""
    connection.exec_driver_sql(
        "UPDATE facts SET weight = min(weight, ?)"
        " WHERE id = ? AND coalesce(accessed_ns, created_ns) = ? AND pinned = 0",
        list(weights),
    )


def prune_facts(tx: Transaction, ids: Sequence[str]) -> int:
    """Takes faded facts out of the store; the journal keeps them restorable. Returns how many went.

    A fact that was pinned meanwhile stays.
    """
    faded = [fact for fact in load_facts(tx.connection, ids).values() if not fact.pinned]
    remove_facts(tx.connection, [fact.id for fact in faded])
    for fact in faded:
        tx.record(
            "fact",
            fact.id,
            agent_id=fact.agent_id,
            version_before=fact.version,
            version_after=0,
            before=fact_image(fact),
            after=None,
        )
    return len(faded)


def load_counters(connection: Connection) -> dict[str, JsonValue]:
    """The totals of all cycles, as `save_counters` stored them."""
    return _meta(connection, _COUNTERS)


def add_to_counters(connection: Connection, *, agent_id: str, seq: int, added: dict[str, int], last: str) -> None:
    """Adds to the totals; remembers the newest report and how far the namespace's cycle has read the journal."""
    totals = load_counters(connection)
    for name, count in added.items():
        known = totals.get(name, 0)
        totals[name] = (known if isinstance(known, int) else 0) + count
    totals["last"] = last
    _set_meta(connection, _COUNTERS, totals)
    _add_to_meta(connection, agent_id, {"seq": seq})


def mark_begun(connection: Connection, agent_id: str, *, at_ns: int) -> None:
    """An automatic cycle of the namespace begins."""
    _add_to_meta(connection, agent_id, {"at_ns": at_ns, "took_ns": None})


def mark_ended(connection: Connection, agent_id: str, *, at_ns: int, took_ns: int) -> None:
    """An automatic cycle of the namespace has ended."""
    _add_to_meta(connection, agent_id, {"at_ns": at_ns, "took_ns": took_ns})


def cycle_mark(connection: Connection, agent_id: str) -> CycleMark | None:
    """What the newest automatic cycle of the namespace left; None before the first."""
    known = _meta(connection, _AGENT_PREFIX + agent_id)
    at_ns, took_ns = known.get("at_ns"), known.get("took_ns")
    if not isinstance(at_ns, int):
        return None
    return CycleMark(at_ns, took_ns if isinstance(took_ns, int) else None)


def has_news(connection: Connection, agent_id: str) -> bool:
    """Whether something lives in the namespace that no cycle has looked at."""
    since = consolidated_seq(connection, agent_id)
    if since == 0:
        return True
    return bool(
        connection.exec_driver_sql(
            "SELECT EXISTS(SELECT 1 FROM changes c JOIN facts f ON f.id = c.target WHERE c.agent_id = ? AND c.seq > ?"
            " AND c.kind = 'fact' AND f.version > ? AND length(f.superseded_by) = 0 AND f.kind <> 'alias')",
            (agent_id, since, since),
        ).scalar_one()
    )


def consolidated_seq(connection: Connection, agent_id: str) -> int:
    """The journal seq up to which the namespace's facts have been compared; 0 before the first cycle."""
    seq = _meta(connection, _AGENT_PREFIX + agent_id).get("seq", 0)
    return seq if isinstance(seq, int) else 0


def _add_to_meta(connection: Connection, agent_id: str, known: dict[str, JsonValue]) -> None:
    key = _AGENT_PREFIX + agent_id
    _set_meta(connection, key, _meta(connection, key) | known)


def _meta(connection: Connection, key: str) -> dict[str, JsonValue]:
    text = connection.exec_driver_sql("SELECT value FROM meta WHERE key = ?", (key,)).scalar()
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _set_meta(connection: Connection, key: str, value: dict[str, JsonValue]) -> None:
    connection.exec_driver_sql(
        "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (key, canonical_json(value)),
    )


def cycle_details(
    connection: Connection, *, agent_id: str | None, before_seq: int | None, limit: int
) -> list[tuple[int, str]]:
    """Journal seq and stored report of cycles, newest first."""
    where, values = ["verb = ?", "detail IS NOT NULL"], [CYCLE_VERB]
    parameters: list[object] = [*values]
    if agent_id is not None:
        where.append("agent_id = ?")
        parameters.append(agent_id)
    if before_seq is not None:
        where.append("seq < ?")
        parameters.append(before_seq)
    rows = connection.exec_driver_sql(
        f"SELECT seq, detail FROM journal WHERE {' AND '.join(where)} ORDER BY seq DESC LIMIT ?", (*parameters, limit)
    )
    return [(row[0], row[1]) for row in rows]
