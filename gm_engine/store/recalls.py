"""What a recall leaves behind: access counters of the facts it returned, and recalls per day, agent and client.

Bookkeeping, not journalled; all of one call in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlalchemy import Connection

from gm_engine.clock import format_ns

_TOUCH = (
    "UPDATE facts SET access_count = access_count + accessed.times,"
    " accessed_ns = max(coalesce(accessed_ns, 0), ?)"
    " FROM (SELECT key AS id, value AS times FROM json_each(?)) AS accessed WHERE facts.id = accessed.id"
)
_COUNT = (
    "INSERT INTO recalls_daily(day, agent_id, client, count) VALUES (?, ?, ?, ?)"
    " ON CONFLICT(day, agent_id, client) DO UPDATE SET count = count + excluded.count"
)


def record_recalls(
    connection: Connection, accessed: Mapping[str, int], *, agent_id: str, client: str, recalls: int, at_ns: int
) -> None:
    """Adds to each fact's counter how often it was returned, and `recalls` to the day (UTC) of `at_ns`."""
    if accessed:
        connection.exec_driver_sql(_TOUCH, (at_ns, json.dumps(dict(accessed))))
    if recalls:
        connection.exec_driver_sql(_COUNT, (format_ns(at_ns)[:10], agent_id, client, recalls))


def daily_recalls(connection: Connection, *, since_day: str = "") -> tuple[tuple[str, str, str, int], ...]:
    """(day, agent, client, recalls) from `since_day` (`2026-11-30`) on, in that order."""
    rows = connection.exec_driver_sql(
        "SELECT day, agent_id, client, count FROM recalls_daily WHERE day >= ? ORDER BY day, agent_id, client",
        (since_day,),
    )
    return tuple((row[0], row[1], row[2], row[3]) for row in rows)
