"""Cycles that start by themselves after a write: queued by the writer, run in pieces beside indexing.

At most some namespaces wait or run at once, further triggers are dropped. A namespace's next cycle waits ten times as
long as its last one took, so that a busy writer never spends more than a tenth of the time on consolidation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import TypeVar

from gm_engine.consolidation.steps import Steps
from gm_engine.errors import Cancelled, GrayMatterError, StoreBusy
from gm_engine.hooks import tell
from gm_engine.proposals import CycleReport

T = TypeVar("T")
_PAUSE_FACTOR = 10.0
_FAILED_PAUSE_S = 60.0
_log = logging.getLogger(__name__)


class AutomaticCycles:
    """`notice` from any thread; `step` from one lane at a time."""

    def __init__(
        self,
        begin: Callable[[str], Steps[CycleReport] | None],
        *,
        at_most: int,
        on_error: Callable[[GrayMatterError], None] | None,
    ) -> None:
        self._begin = begin
        self._at_most = at_most
        self._on_error = on_error
        self._waiting: dict[str, None] = {}
        self._not_before: dict[str, float] = {}
        self._running: tuple[str, Steps[CycleReport]] | None = None
        self._spent_s = 0.0
        self._lock = Lock()

    def notice(self, agent_id: str) -> None:
        """Something was written in a namespace: queues a cycle, or drops the trigger when enough are queued."""
        with self._lock:
            running = self._running is not None
            if agent_id not in self._waiting and len(self._waiting) + running < self._at_most:
                self._waiting[agent_id] = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued or running."""
        return self._running is None and not self._waiting

    def step(self, budget_s: float) -> bool:
        """About `budget_s` seconds of work; whether there is more to do at once. Never raises an expected error."""
        deadline = monotonic() + budget_s
        while True:
            if self._running is None and not self._next():
                return False
            if not self._advance(deadline):
                return True

    def close(self) -> None:
        """Gives the running cycle up between two of its pieces; once no step runs any more. Safe to call twice."""
        if self._running is not None:
            self._running[1].close()
            self._running = None

    def _next(self) -> bool:
        """Begins the first waiting cycle whose pause is over."""
        with self._lock:
            now = monotonic()
            ready = next((one for one in self._waiting if self._not_before.get(one, 0.0) <= now), None)
            if ready is None:
                return False
            del self._waiting[ready]
            self._spent_s = 0.0
            steps = self._guarded(ready, lambda: self._begin(ready))
            self._running = None if steps is None else (ready, steps)
        return True

    def _advance(self, deadline: float) -> bool:
        """Runs the present cycle; True when it ended before the deadline."""
        if self._running is None:
            return True
        agent_id, steps = self._running
        started = monotonic()
        while True:
            if self._guarded(agent_id, lambda: next(steps, None)) is None:
                self._spent_s += monotonic() - started
                self._not_before[agent_id] = max(
                    self._not_before.get(agent_id, 0.0), monotonic() + _PAUSE_FACTOR * self._spent_s
                )
                self._running = None
                return True
            if monotonic() >= deadline:
                self._spent_s += monotonic() - started
                return False

    def _guarded(self, agent_id: str, act: Callable[[], T | None]) -> T | None:
        """An expected failure ends the cycle, is told to the host program, and is tried again later."""
        try:
            return act()
        except Cancelled:
            return None  # the store is being closed
        except GrayMatterError as error:
            self._not_before[agent_id] = monotonic() + _FAILED_PAUSE_S
            if isinstance(error, StoreBusy):
                self._waiting[agent_id] = None
            _log.warning("consolidation of a namespace ended: %s", error.message)
            tell(self._on_error, error)
            return None
