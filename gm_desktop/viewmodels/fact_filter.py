"""What the filter chips say, as one value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from gm_engine.records import Channel, Confidence, FactQuery, SortColumn, Status

DAY_NS = 86_400 * 1_000_000_000
Kind = Literal["content", "alias", "all"]
_STATUSES: dict[str, Status] = {each: each for each in get_args(Status)}
_CHANNELS: dict[str, Channel] = {each: each for each in get_args(Channel)}
CHANNELS = tuple(_CHANNELS)


@dataclass(frozen=True, slots=True)
class FactFilter:
    """What the chips say. `days` limits to facts written in the last so many days (None: any time).

    The rest is chosen on the Overview page: facts written in a period, of a range of weight (no upper end: with 1.0),
    never recalled, not embedded yet, content without aliases or aliases alone.
    """

    agent_id: str | None = None
    status: Status = "live"
    confidence: frozenset[Confidence] = frozenset()
    pinned: bool | None = None
    channel: Channel | None = None
    days: int | None = None
    text: str = ""
    written: tuple[int, int] | None = None
    weight: tuple[float, float | None] | None = None
    unused: bool = False
    without_vector: bool = False
    kind: Kind = "all"

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

    def without_extras(self) -> FactFilter:
        """Without what the chips of the Memory page cannot say."""
        return replace(self, written=None, weight=None, unused=False, without_vector=False, kind="all")

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
            kind=self.kind,
            created_from_ns=max(starts) if (starts := self._starts(now_ns)) else None,
            created_until_ns=None if self.written is None else self.written[1],
            weight_from=None if self.weight is None else self.weight[0],
            weight_below=None if self.weight is None else self.weight[1],
            unused=self.unused,
            without_vector=self.without_vector,
            sort=sort,
            descending=descending,
        )

    def _starts(self, now_ns: int) -> list[int]:
        days = [] if self.days is None else [now_ns - self.days * DAY_NS]
        return days if self.written is None else [*days, self.written[0]]
