"""Text from a store, made safe to print: no control sequence reaches the terminal, one record stays one line."""

from __future__ import annotations

import re
import sys
import time

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_NAMES = {"\n": "⏎", "\r": "␍", "\t": "⇥"}
_TERMINAL_INTERVAL_S = 0.1
_LOG_INTERVAL_S = 5.0
_CLEAR_LINE = "\r\x1b[K"


def plain(text: str) -> str:
    """`text` on one line: line ends become ⏎, other controls and direction marks are written as escapes."""
    return _UNSAFE.sub(lambda match: _NAMES.get(match[0]) or _escape(match[0]), text)


def _escape(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


class ProgressLine:
    """A `Progress` that writes to standard error: one live line on a terminal, a line every few seconds elsewhere.

    With `quiet` (JSON output, no terminal) it writes nothing. Used as a context manager it clears its line at the end.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._terminal = sys.stderr.isatty()
        self._silent = quiet and not self._terminal
        self._last = float("-inf")
        self._what = ""

    def __call__(self, done: int, total: int | None, what: str) -> None:
        """Shows `done` of `total` of the stage `what`, at most ten times a second."""
        if self._silent:
            return
        now = time.monotonic()
        interval = _TERMINAL_INTERVAL_S if self._terminal else _LOG_INTERVAL_S
        finished = total is not None and done >= total
        if what == self._what and now - self._last < interval and not (finished and self._terminal):
            return
        self._last, self._what = now, what
        line = f"{plain(what)}: {done:,}" + (f" of {total:,}" if total is not None else "")
        sys.stderr.write(f"{_CLEAR_LINE}{line}" if self._terminal else f"{line}\n")
        sys.stderr.flush()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal and self._what:
            sys.stderr.write(_CLEAR_LINE)
            sys.stderr.flush()
