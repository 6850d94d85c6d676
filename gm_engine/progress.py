"""How a long verb reports progress and is cancelled."""

from __future__ import annotations

from threading import Event
from typing import Protocol

from gm_engine.errors import Cancelled


class Progress(Protocol):
    """Called at least every 100 ms by a long verb, from the thread that runs it."""

    def __call__(self, done: int, total: int | None, what: str) -> None:
        """`done` of `total` items (None: unknown) are finished; `what` names the stage in English."""


class CancelToken:
    """Shared between whoever may cancel and the verb that checks. Safe from any thread."""

    def __init__(self) -> None:
        self._event = Event()

    def cancel(self) -> None:
        """Asks the verb to stop at its next check."""
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def check(self) -> None:
        """Raises `Cancelled` once `cancel` was called."""
        if self._event.is_set():
            raise Cancelled("Cancelled; what was finished before is kept.")


def no_progress(done: int, total: int | None, what: str) -> None:
    """The `Progress` of callers that do not watch."""
