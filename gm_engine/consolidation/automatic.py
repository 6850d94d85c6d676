"""Cycles that start by themselves after a write: queued by the writer, run in pieces beside indexing.

At most some namespaces wait or run at once, further triggers are dropped. One that cannot begin yet (another process
runs a cycle, or the pause after the last one is not over) stays queued; it is dropped once a cycle, of whichever
process, has looked at everything. The pause is ten times what the last cycle took, so that busy writers, however many
they are, never spend more than a tenth of the time on consolidation. A cycle stands still while its process embeds or
its window runs a task, and keeps its turn meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from threading import Lock
from time import monotonic
from typing import TypeVar

from gm_engine.consolidation.steps import Steps
from gm_engine.consolidation.turns import FAILED_PAUSE_S, Turns
from gm_engine.consolidation.wording import forget_words
from gm_engine.errors import Cancelled, GrayMatterError, StoreBusy
from gm_engine.garbage import give_back
from gm_engine.hooks import tell
from gm_engine.proposals import CycleReport

T = TypeVar("T")
_LONG_S = 1.0  # a cycle over so much leaves a hundred megabytes behind, which the next one needs only after a pause
_log = logging.getLogger(__name__)


class AutomaticCycles:
    """`notice` from any thread; `step` from one lane at a time."""

    def __init__(
        self,
        begin: Callable[[str], Steps[CycleReport] | None],
        *,
        turns: Turns,
        at_most: int,
        on_error: Callable[[GrayMatterError], None] | None,
    ) -> None:
        self._begin = begin
        self._turns = turns
        self._at_most = at_most
        self._on_error = on_error
        self._waiting: dict[str, None] = {}
        self._not_before: dict[str, float] = {}
        self._running: tuple[str, Steps[CycleReport]] | None = None
        self._spent_s = 0.0
        self._lock = Lock()

    def notice(self, agent_id: str) -> None:
        """Something was written in a namespace: queues a cycle, or drops the trigger when enough are queued.

        Those that wait for the end of a pause take nobody's place.
        """
        now = monotonic()
        with self._lock:
            ready = sum(self._not_before.get(one, 0.0) <= now for one in self._waiting)
            if ready + (self._running is not None) < self._at_most:
                self._waiting[agent_id] = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued or running."""
        return self._running is None and not self._waiting

    def step(self, budget_s: float) -> bool:
        """About `budget_s` seconds of work; whether there is more to do at once. Never raises an expected error."""
        deadline = monotonic() + budget_s
        try:
            while True:
                if self._running is None and not self._next():
                    return False
                if not self._advance(deadline):
                    return True
        except BaseException:  # a bug: other processes get their turn all the same
            self.close()
            raise

    def close(self) -> None:
        """Gives the running cycle up between two of its pieces; once no step runs any more. Safe to call twice."""
        if self._running is not None:
            self._running[1].close()
            self._running = None
        self._turns.give_back()

    def _next(self) -> bool:
        """Begins the first waiting cycle that may; False when none may yet."""
        while True:
            now = monotonic()
            with self._lock:
                ready = next((one for one in self._waiting if self._not_before.get(one, 0.0) <= now), None)
                if ready is None:
                    return False
                # taken out first: what is written from here on queues the namespace again
                del self._waiting[ready]
            steps = self._guarded(ready, partial(self._begun, ready))
            if steps is not None:
                self._spent_s = 0.0
                self._running = (ready, steps)
                return True

    def _begun(self, agent_id: str) -> Steps[CycleReport] | None:
        """The work of a cycle whose turn it is; one that has to wait is queued again."""
        turn = self._turns.ask(agent_id)
        if turn == "covered":
            return None
        if turn != "begins":
            self._pause(agent_id, turn, stays_queued=True)
            return None
        steps = self._begin(agent_id)
        if steps is None:
            self._turns.give_back()
        else:
            self._turns.begin(agent_id)
        return steps

    def _pause(self, agent_id: str, pause_s: float, *, stays_queued: bool) -> None:
        with self._lock:
            self._not_before[agent_id] = monotonic() + pause_s
            if stays_queued:
                self._waiting[agent_id] = None

    def _advance(self, deadline: float) -> bool:
        """Runs the present cycle; True when it ended before the deadline."""
        if self._running is None:
            return True
        agent_id, steps = self._running
        started = monotonic()
        while True:
            done = self._guarded(agent_id, lambda: next(steps, "ended"))
            is_over = done is None or done == "ended"
            if is_over or monotonic() >= deadline:
                self._spent_s += monotonic() - started
                break
        if not is_over:
            return False
        self._running = None
        if self._spent_s > _LONG_S:
            forget_words()
            give_back()
        if done == "ended":
            self._guarded(agent_id, lambda: self._turns.end(agent_id, took_s=self._spent_s))
            self._turns.give_back()
        return True

    def _guarded(self, agent_id: str, act: Callable[[], T]) -> T | None:
        """An expected failure ends the cycle and its turn and is told to the host program.

        A busy store is asked again after a pause, anything else with the next write after it.
        """
        try:
            return act()
        except Cancelled:
            self._turns.give_back()
            return None  # the store is being closed
        except GrayMatterError as error:
            self._turns.give_back()
            self._pause(agent_id, FAILED_PAUSE_S, stays_queued=isinstance(error, StoreBusy))
            _log.warning("consolidation of a namespace ended: %s", error.message)
            tell(self._on_error, error)
            return None
