"""Listing: all ids of a query in order, pages by key, namespaces and their figures; filters and sorts run in SQL."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from gm_engine.errors import InvalidInput, NotFound
from gm_engine.records import AgentSummary, Confidence, Counts, FactQuery, MemoryStats, SortColumn
from gm_engine.store.facts import check_agent_id

_LEVEL = "CASE WHEN f.confidence = 'verified' THEN 2 WHEN f.confidence IN ('', 'inferred') THEN 1 ELSE 0 END"
_WITHOUT_VECTOR = (
    "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.text_key = f.text_key"
    " AND v.model_id = (SELECT id FROM models WHERE state = 'active' ORDER BY id DESC LIMIT 1))"
)
_SORT_KEYS: dict[SortColumn, str] = {
    "created": "f.created_ns",
    "text": "f.text COLLATE NOCASE",
    "agent": "f.agent_id",
    "confidence": _LEVEL,
    "pinned": "f.pinned",
    "weight": "f.weight",
    "accessed": "coalesce(f.accessed_ns, 0)",
    "uses": "f.access_count",
    "origin": "(SELECT channel FROM actors WHERE actors.id = f.actor_id)",
    "status": "length(f.superseded_by) > 0",
}


def fact_ids(
    connection: Connection, query: FactQuery, *, after: str | None = None, limit: int | None = None
) -> list[str]:
    """Ids in the query's order; ties by id. `after` is the last id of the page before, `limit` the page's size.

    Raises `NotFound` when `after` is no fact.
    """
    where, values = _where(query)
    key, direction = _SORT_KEYS[query.sort], "DESC" if query.descending else "ASC"
    if after is not None:
        found = connection.exec_driver_sql(f"SELECT {key}, f.id FROM facts f WHERE f.id = ?", (after,)).first()
        if found is None:
            raise NotFound(f"There is no fact {after} to page from.", id=after)
        where.append(f"({key}, f.id) {'<' if query.descending else '>'} (?, ?)")
        values.extend(found)
    sql = f"SELECT f.id FROM facts f {_clause(where)} ORDER BY {key} {direction}, f.id {direction}"
    if limit is not None:
        if limit < 1:
            raise InvalidInput("A page holds at least one fact.", field="limit")
        sql += " LIMIT ?"
        values.append(limit)
    return [row[0] for row in connection.exec_driver_sql(sql, tuple(values))]


def passing(connection: Connection, query: FactQuery, ids: Sequence[str]) -> list[str]:
    """Which of these facts the query lists, in no order."""
    where, values = _where(query)
    where.append("f.id IN (SELECT value FROM json_each(?))")
    sql = f"SELECT f.id FROM facts f {_clause(where)}"
    return [row[0] for row in connection.exec_driver_sql(sql, (*values, json.dumps(list(ids))))]


def place_of(connection: Connection, query: FactQuery, ids: Sequence[str], fact_id: str) -> int:
    """Where a fact belongs among the ids of a query, which are in order: halved until one place is left."""
    key, direction = _SORT_KEYS[query.sort], ">" if query.descending else "<"
    found = connection.exec_driver_sql(f"SELECT {key}, f.id FROM facts f WHERE f.id = ?", (fact_id,)).one()
    stands_before = f"SELECT ({key}, f.id) {direction} (?, ?) FROM facts f WHERE f.id = ?"
    return bisect_left(
        ids, True, key=lambda other: not connection.exec_driver_sql(stands_before, (*found, other)).scalar_one()
    )


def _clause(where: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(where)}" if where else ""


def _where(query: FactQuery) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = []
    if query.agent_id is not None:
        where.append("f.agent_id = ?")
        values.append(check_agent_id(query.agent_id))
    if query.status != "all":
        where.append(f"length(f.superseded_by) {'=' if query.status == 'live' else '>'} 0")
    if query.kind != "all":
        where.append(f"f.kind {'=' if query.kind == 'alias' else '<>'} 'alias'")
    if query.confidence:
        levels = ", ".join(str(Confidence(label).level) for label in sorted(query.confidence))
        where.append(f"{_LEVEL} IN ({levels})")
    if query.pinned is not None:
        where.append("f.pinned = ?")
        values.append(int(query.pinned))
    if query.channel is not None:
        where.append("f.actor_id IN (SELECT id FROM actors WHERE channel = ?)")
        values.append(query.channel)
    if query.text:
        where.append(_contains(query.text, values))
    for column, bound, operator in (
        ("created_ns", query.created_from_ns, ">="),
        ("created_ns", query.created_until_ns, "<"),
        ("weight", query.weight_from, ">="),
        ("weight", query.weight_below, "<"),
    ):
        if bound is not None:
            where.append(f"f.{column} {operator} ?")
            values.append(bound)
    if query.unused:
        where.append("f.access_count = 0")
    if query.without_vector:
        where.append(_WITHOUT_VECTOR)
    return where, values


def _contains(text: str, values: list[Any]) -> str:
    """LIKE folds ASCII case but stops at NUL; a text with one is looked for exactly."""
    if "\0" in text:
        values.append(text)
        return "instr(f.text, ?) > 0"
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    values.extend((f"%{escaped}%", text))
    return "(f.text LIKE ? ESCAPE '\\' OR instr(f.text, ?) > 0)"


def agents(connection: Connection) -> tuple[AgentSummary, ...]:
    """Every namespace that holds a fact or a checkpoint, by name."""
    return summaries(connection, agent_counts(connection))


def agent_counts(connection: Connection) -> dict[str, tuple[int, ...]]:
    """Of every namespace with facts: live, retired, pinned, live aliases, and all its facts."""
    rows = connection.exec_driver_sql(
        """
        SELECT agent_id, sum(live AND content), sum(NOT live AND content), sum(pinned AND live AND content),
               sum(live AND NOT content), count(*)
        FROM (SELECT agent_id, length(superseded_by) = 0 AS live, kind <> 'alias' AS content, pinned FROM facts)
        GROUP BY agent_id
        """
    )
    return {row[0]: tuple(row[1:]) for row in rows}


def summaries(connection: Connection, counts: Mapping[str, Sequence[int]]) -> tuple[AgentSummary, ...]:
    """The namespaces with facts, and those with nothing but a checkpoint, by name."""
    rows = connection.exec_driver_sql("SELECT DISTINCT agent_id FROM checkpoints WHERE deleted = 0")
    bare = {row[0]: (0, 0, 0, 0) for row in rows if row[0] not in counts}
    return tuple(AgentSummary(name, *each[:4]) for name, each in sorted({**bare, **counts}.items()))


def stats(connection: Connection, agent_id: str) -> MemoryStats:
    """The figures of one namespace over its live facts, aliases included as in the seed."""
    row = connection.exec_driver_sql(
        "SELECT count(*), min(created_ns), max(created_ns), coalesce(avg(weight), 0.0) FROM facts"
        " WHERE agent_id = ? AND length(superseded_by) = 0",
        (check_agent_id(agent_id),),
    ).one()
    return MemoryStats(agent_id, *row)


def record_counts(connection: Connection) -> Counts:
    """How many facts, checkpoints, entities and edges the store holds."""
    row = connection.exec_driver_sql(
        "SELECT (SELECT count(*) FROM facts), (SELECT count(*) FROM checkpoints WHERE deleted = 0),"
        " (SELECT count(*) FROM entities), (SELECT count(*) FROM edges)"
    ).one()
    return Counts(*row)
