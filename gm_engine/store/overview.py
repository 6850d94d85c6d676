"""The figures of a store, each by SQL: a handful of scans, no fact is loaded."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import cast

from sqlalchemy import Connection

from gm_engine.records import (
    WEIGHT_BUCKETS,
    AgentSummary,
    Channel,
    ConfidenceCounts,
    DayCount,
    Overview,
    VectorStatus,
)
from gm_engine.store import listing
from gm_engine.store.recalls import daily_recalls

_DAY_NS = 86_400_000_000_000
# Sums of facts below each bound: the same comparisons as the list behind a bar.
_BELOW = ", ".join(f"sum(weight < {number / WEIGHT_BUCKETS!r})" for number in range(1, WEIGHT_BUCKETS))
_LIVE = f"""
    SELECT count(*), coalesce(sum(pinned), 0), coalesce(sum(access_count = 0), 0),
           coalesce(sum(confidence = 'verified'), 0), coalesce(sum(confidence IN ('', 'inferred')), 0), {_BELOW}
    FROM facts WHERE length(superseded_by) = 0 AND kind <> 'alias'
"""
_WRITTEN = f"""
    SELECT date(day * 86400, 'unixepoch'), count(*) FROM
    (SELECT (created_ns - ((created_ns % {_DAY_NS}) + {_DAY_NS}) % {_DAY_NS}) / {_DAY_NS} AS day
     FROM facts WHERE kind <> 'alias')
    GROUP BY day ORDER BY day
"""
_CHANNELS = """
    SELECT a.channel, sum(f.n) FROM
    (SELECT actor_id, count(*) AS n FROM facts WHERE length(superseded_by) = 0 AND kind <> 'alias' GROUP BY actor_id) f
    JOIN actors a ON a.id = f.actor_id GROUP BY a.channel ORDER BY sum(f.n) DESC, a.channel
"""
_OTHERS = """
    SELECT (SELECT count(*) FROM checkpoints WHERE deleted = 0 AND verdict = ''), (SELECT count(*) FROM journal),
           (SELECT count(*) FROM blocked), (SELECT count(*) FROM proposals WHERE state = 'open')
"""


def overview(connection: Connection, agents: tuple[AgentSummary, ...], vectors: VectorStatus) -> Overview:
    """Every figure of one moment; namespaces and `vectors` are known elsewhere."""
    live, pinned, unused, verified, inferred, *below = connection.exec_driver_sql(_LIVE).one()
    to_review, entries, blocked, waiting = connection.exec_driver_sql(_OTHERS).one()
    by_day: Counter[str] = Counter()
    by_client: Counter[str] = Counter()
    for day, _, client, count in daily_recalls(connection):
        by_day[day] += count
        by_client[client] += count
    bounds = [0, *(int(count or 0) for count in below), live]
    return Overview(
        agents=agents,
        counts=listing.record_counts(connection),
        live=live,
        retired=sum(agent.retired for agent in agents),
        aliases=sum(agent.aliases for agent in agents),
        pinned=pinned,
        unused=unused,
        checkpoints_to_review=to_review,
        journal_entries=entries,
        blocked=blocked,
        waiting=waiting,
        written=tuple(DayCount(row[0], row[1]) for row in connection.exec_driver_sql(_WRITTEN)),
        weights=tuple(upper - lower for lower, upper in pairwise(bounds)),
        confidence=ConfidenceCounts(verified, inferred, live - verified - inferred),
        channels=tuple((cast("Channel", row[0]), row[1]) for row in connection.exec_driver_sql(_CHANNELS)),
        recalls=tuple(DayCount(day, count) for day, count in sorted(by_day.items())),
        recalls_by_client=tuple(by_client.most_common()),
        vectors=vectors,
    )
