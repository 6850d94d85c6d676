"""What the filter chips say, as one value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from gm_engine.records import Channel, Confidence, FactQuery, SortColumn, Status

DAY_NS = 86_400 * 1_000_000_000
_STATUSES: dict[str, Status] = {each: each for each in get_args(Status)}
_CHANNELS: dict[str, Channel] = {each: each for each in get_args(Channel)}
CHANNELS = tuple(_CHANNELS)


@dataclass(frozen=True, slots=True)
class FactFilter:
    """What the chips say. `days` limits to facts written in the last so many days (None: any time)."""

    agent_id: str | None = None
    status: Status = "live"
    confidence: frozenset[Confidence] = frozenset()
    pinned: bool | None = None
    channel: Channel | None = None
    days: int | None = None
    text: str = ""

    @property
    def narrows(self) -> bool:
        """Whether anything but the agent is chosen."""
        return replace(self, agent_id=None) != FactFilter()

    def with_status(self, status: str) -> FactFilter:
        """`live`, `retired` or `all`."""
        return replace(self, status=_STATUSES[status])

    def with_confidence(self, confidence: str, *, wanted: bool) -> FactFilter:
        """Adds or takes away one effective label; none chosen means any."""
        label = Confidence(confidence)
        return replace(self, confidence=self.confidence | {label} if wanted else self.confidence - {label})

    def with_channel(self, channel: str | None) -> FactFilter:
        """Facts written through one channel; None: through any."""
        return replace(self, channel=None if channel is None else _CHANNELS[channel])

    def cleared(self) -> FactFilter:
        """The same agent and nothing else."""
        return FactFilter(agent_id=self.agent_id)

    def query(self, now_ns: int, *, sort: SortColumn, descending: bool) -> FactQuery:
        """The engine's query for this filter."""
        return FactQuery(
            agent_id=self.agent_id,
            status=self.status,
            confidence=self.confidence,
            pinned=self.pinned,
            channel=self.channel,
            text=self.text,
            created_from_ns=None if self.days is None else now_ns - self.days * DAY_NS,
            sort=sort,
            descending=descending,
        )
