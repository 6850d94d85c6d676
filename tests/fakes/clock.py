"""A clock that stands still until told otherwise, with ids that count."""

from __future__ import annotations

from gm_engine.clock import NS_PER_S, encode_ulid, parse_rfc3339


def instant(text: str) -> int:
    """Nanoseconds of an RFC 3339 time that is not Go's zero."""
    at_ns = parse_rfc3339(text)
    assert at_ns is not None
    return at_ns


class FrozenClock:
    """`tick_s` seconds pass with every reading; 0 stands still. Ids are ULIDs of a counter."""

    def __init__(self, at: str = "2026-11-30T09:00:00Z", *, tick_s: float = 1.0) -> None:
        self.at_ns = instant(at)
        self.tick_s = tick_s
        self._count = 0

    def now_ns(self) -> int:
        self.at_ns += int(self.tick_s * NS_PER_S)
        return self.at_ns

    def advance(self, seconds: float) -> None:
        self.at_ns += int(seconds * NS_PER_S)

    def new_id(self, at_ns: int) -> str:
        self._count += 1
        return encode_ulid(max(0, at_ns) // 1_000_000, self._count)
