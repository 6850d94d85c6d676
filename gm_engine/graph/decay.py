"""Fading: entities that no fact mentions any more, and links whose receipts grow old, lose weight like facts do.

weight = min(weight, 2 ** (-hours since last seen / half-life)), recomputed from staleness: running it twice changes
nothing. What a person made does not fade. Bookkeeping, never journalled.
"""

from __future__ import annotations

import math

from sqlalchemy import Connection

from gm_engine.errors import InvalidInput

HALF_LIFE_H = 720.0
_NS_PER_H = 3_600_000_000_000
_ENTITIES = "SELECT weight, last_seen_ns, id FROM entities WHERE made_by <> 'person' AND last_seen_ns IS NOT NULL"
_EDGES = (
    "SELECT e.weight, coalesce((SELECT max(f.created_ns) FROM edge_sources s JOIN facts f ON f.id = s.fact_id"
    " WHERE s.from_id = e.from_id AND s.to_id = e.to_id AND s.relation = e.relation), e.created_ns),"
    " e.from_id, e.to_id, e.relation FROM edges e WHERE e.made_by <> 'person'"
)


def fade(connection: Connection, *, now_ns: int, half_life_h: float = HALF_LIFE_H) -> int:
    """Lowers the weights of entities and edges to what their age leaves; how many changed."""
    if not math.isfinite(half_life_h) or half_life_h <= 0:
        raise InvalidInput("The half-life must be a positive number of hours.", field="half_life_h")
    changed = 0
    for table, where, select in (
        ("entities", "id = ?", _ENTITIES),
        ("edges", "from_id = ? AND to_id = ? AND relation = ?", _EDGES),
    ):
        rows = []
        for weight, seen_ns, *key in connection.exec_driver_sql(select):
            if seen_ns is None:
                continue
            left = 2.0 ** (-max(0, now_ns - seen_ns) / _NS_PER_H / half_life_h)
            if left < weight:
                rows.append((left, *key))
        if rows:
            connection.exec_driver_sql(f"UPDATE {table} SET weight = ? WHERE {where}", rows)
        changed += len(rows)
    return changed
