"""The figures of a store at a glance."""

from __future__ import annotations

from dataclasses import dataclass

from gm_engine.records.facts import AgentSummary, Channel
from gm_engine.records.store import Counts, VectorStatus

WEIGHT_BUCKETS = 10


@dataclass(frozen=True, slots=True)
class DayCount:
    """How many on one day (UTC), `2026-11-30`."""

    day: str
    count: int


@dataclass(frozen=True, slots=True)
class ConfidenceCounts:
    """Live facts by effective confidence."""

    verified: int
    inferred: int
    unverified: int


@dataclass(frozen=True, slots=True)
class Overview:
    """What a store holds and how it is used. Where nothing else is said, content facts are counted, not aliases.

    `written` counts facts by the day they were written, retired ones included; `weights` counts live ones in ten
    equal ranges of the retention weight, the last one with 1.0. `unused` live facts were never recalled. `recalls` are
    by day, `recalls_by_client` their sums, most first. `checkpoints_to_review` have no verdict yet.
    """

    agents: tuple[AgentSummary, ...]
    counts: Counts
    live: int
    retired: int
    aliases: int
    pinned: int
    unused: int
    checkpoints_to_review: int
    journal_entries: int
    blocked: int
    waiting: int
    written: tuple[DayCount, ...]
    weights: tuple[int, ...]
    confidence: ConfidenceCounts
    channels: tuple[tuple[Channel, int], ...]
    recalls: tuple[DayCount, ...]
    recalls_by_client: tuple[tuple[str, int], ...]
    vectors: VectorStatus
