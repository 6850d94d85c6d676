"""What the filters of the Activity page say, as one value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from gm_engine.records import ActivityQuery, Channel

DAY_NS = 86_400 * 1_000_000_000
SEPARATOR = "\n"
_CHANNELS: dict[str, Channel] = {each: each for each in get_args(Channel)}


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """What the chips and the list of programs say. `writer` is a key of that list, empty for everybody."""

    writer: str = ""
    agent_id: str | None = None
    verbs: frozenset[str] = frozenset()
    days: int | None = None

    @property
    def narrows(self) -> bool:
        """Whether anything is chosen."""
        return self != ActivityFilter()

    def with_writer(self, key: str) -> ActivityFilter:
        """What one program wrote; an empty key: what anybody did."""
        return replace(self, writer=key)

    def with_verb(self, verb: str, *, wanted: bool) -> ActivityFilter:
        """Adds or takes away one verb; none chosen means any."""
        return replace(self, verbs=self.verbs | {verb} if wanted else self.verbs - {verb})

    def query(self, now_ns: int) -> ActivityQuery:
        """The engine's query for this filter."""
        channel, _, client = self.writer.partition(SEPARATOR)
        return ActivityQuery(
            channel=_CHANNELS.get(channel),
            client=client if self.writer else None,
            agent_id=self.agent_id,
            verbs=self.verbs,
            from_ns=None if self.days is None else now_ns - self.days * DAY_NS,
        )
