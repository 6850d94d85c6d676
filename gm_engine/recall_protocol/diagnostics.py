"""What an adapter says beside the protocol: its stderr, kept in bounds and never parsed, and its violations."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from gm_engine.recall_protocol.errors import RecallError

MAX_LINES = 64
MAX_LINE_BYTES = 4096

_CHUNK_BYTES = 64 * 2**10


@dataclass(frozen=True, slots=True)
class DiagnosticsReport:
    """What was captured so far. `violations` counts frames that broke the contract; `last_violation` says how."""

    lines: tuple[str, ...]
    dropped_lines: int
    violations: int
    last_violation: str


class Diagnostics:
    """A bounded memory of one adapter's stderr and a count of its violations. Safe from any thread."""

    def __init__(self, *, max_lines: int = MAX_LINES, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._lines: deque[str] = deque(maxlen=max_lines)
        self._max_line_bytes = max_line_bytes
        self._lock = Lock()
        self._dropped = 0
        self._violations = 0
        self._last_violation = ""

    def capture(self, read: Callable[[int], bytes]) -> None:
        """Keeps the last lines of a stream until it ends. Blocks; a thread of its own calls it.

        `read` returns at most as many bytes as it is asked for, as soon as there are any, and none at the end. A line
        is cut at its limit while it is read: neither many lines nor an endless one cost memory.
        """
        held = b""
        cut = False  # the rest of a line whose beginning was recorded
        while chunk := _some(read):
            *complete, rest = (held + chunk).split(b"\n")
            if complete and cut:
                del complete[0]
                cut = False
            for line in complete[-self._lines_wanted(len(complete)) :]:
                self.record(line)
            held = b"" if cut else rest
            if len(held) > self._max_line_bytes:
                self.record(held)
                held, cut = b"", True
        if held:
            self.record(held)

    def _lines_wanted(self, available: int) -> int:
        """How many of the newest lines are worth decoding; the others are counted as dropped at once."""
        wanted = min(available, self._lines.maxlen or 0)
        with self._lock:
            self._dropped += available - wanted
        return max(1, wanted)

    def record(self, line: bytes) -> None:
        """Keeps one line, cut to its limit; the oldest makes room for it."""
        text = line[: self._max_line_bytes].decode("utf-8", errors="replace").rstrip("\r")
        with self._lock:
            self._dropped += len(self._lines) == self._lines.maxlen
            self._lines.append(text)

    def record_violation(self, error: RecallError) -> None:
        """Counts a frame, or a use of one, that breaks the contract."""
        with self._lock:
            self._violations += 1
            self._last_violation = error.message

    def report(self) -> DiagnosticsReport:
        """What is known now."""
        with self._lock:
            return DiagnosticsReport(tuple(self._lines), self._dropped, self._violations, self._last_violation)


def _some(read: Callable[[int], bytes]) -> bytes:
    try:
        return read(_CHUNK_BYTES)
    except OSError:
        return b""
