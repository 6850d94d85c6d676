"""The only source of times, ids and randomness, and the one RFC 3339 formatter and parser.

Times are integer nanoseconds since 1970 UTC everywhere; None is *absent* (Go writes it as year 1).
"""

from __future__ import annotations

import re
import secrets
import time
from calendar import timegm
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from threading import Lock
from typing import Protocol

from gm_engine.errors import InvalidInput

NS_PER_S = 1_000_000_000
GO_ZERO_TIME = "0001-01-01T00:00:00Z"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)


class Clock(Protocol):
    """What the engine asks for the time and for new ids."""

    def now_ns(self) -> int:
        """Nanoseconds since 1970 UTC."""

    def new_id(self, at_ns: int) -> str:
        """A new ULID for a record created at `at_ns`; strictly increasing within one clock at one instant."""


class SystemClock:
    """The machine's clock and the system's randomness."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last_ms = -1
        self._last_random = 0

    def now_ns(self) -> int:
        """Nanoseconds since 1970 UTC."""
        return time.time_ns()

    def new_id(self, at_ns: int) -> str:
        """A ULID: 48 bits of milliseconds and 80 random bits, incremented within one millisecond."""
        with self._lock:
            ms = max(0, at_ns) // 1_000_000
            if ms == self._last_ms and self._last_random < (1 << 80) - 1:
                self._last_random += 1
            else:
                self._last_ms, self._last_random = ms, secrets.randbits(79)
            return encode_ulid(self._last_ms, self._last_random)


def encode_ulid(ms: int, random_bits: int) -> str:
    """The 26 Crockford characters of a ULID made of `ms` (48 bits) and `random_bits` (80 bits)."""
    value = ((ms & ((1 << 48) - 1)) << 80) | (random_bits & ((1 << 80) - 1))
    return "".join(_CROCKFORD[(value >> shift) & 31] for shift in range(125, -1, -5))


def format_ns(at_ns: int) -> str:
    """RFC 3339 in UTC with as many of nine decimals as needed: `2026-06-01T23:00:00.27824732Z`."""
    seconds, rest = divmod(at_ns, NS_PER_S)
    text = _second_text(seconds)
    return f"{text}.{rest:09d}".rstrip("0") + "Z" if rest else f"{text}Z"


@lru_cache(maxsize=64)  # instants of one moment, such as deadlines, share their second
def _second_text(seconds: int) -> str:
    text = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return text.rjust(19, "0")


def parse_rfc3339(text: str) -> int | None:
    """Nanoseconds since 1970 of an RFC 3339 instant, exact to the nanosecond; None for Go's zero time.

    Raises `InvalidInput` when `text` is no instant.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise InvalidInput(f"not an RFC 3339 time: {text[:40]!r}", value=text[:40])
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        base = timegm(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timetuple())
    except ValueError as error:
        raise InvalidInput(f"not an RFC 3339 time: {text[:40]!r} ({error})", value=text[:40]) from error
    fraction = int((match[7] or "").ljust(9, "0"))
    if match[8] is None:
        offset = int(match[10]) * 3600 + int(match[11]) * 60
        base -= offset if match[9] == "+" else -offset
    if year == 1 and base == _GO_ZERO_S and fraction == 0:
        return None
    return base * NS_PER_S + fraction


_GO_ZERO_S = timegm((1, 1, 1, 0, 0, 0))
