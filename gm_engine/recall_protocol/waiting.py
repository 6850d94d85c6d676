"""Waiting that a deadline and the caller's own cancel token can end."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Literal

from gm_engine.progress import CancelToken

Cause = Literal["deadline", "cancelled"]

_LOOK_EVERY_S = 0.05  # at the caller's token, which wakes nobody
_ONE_DAY_S = 86_400.0  # a lock cannot wait for centuries, and a deadline may be that far


def wait_until(happened: Callable[[float], bool], *, ends_at: float, cancel: CancelToken | None) -> Cause | None:
    """Waits for an event; None when it came, else what ended the wait.

    `happened` waits at most the seconds it is given and tells whether the event came. `ends_at` is an instant of the
    monotonic clock.
    """
    while True:
        left_s = max(0.0, ends_at - monotonic())
        if happened(min(left_s, _ONE_DAY_S if cancel is None else _LOOK_EVERY_S)):
            return None
        if cancel is not None and cancel.is_cancelled:
            return "cancelled"
        if monotonic() >= ends_at:
            return "deadline"
