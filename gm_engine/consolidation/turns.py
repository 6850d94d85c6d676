"""Whose turn it is: automatic cycles of one store, one at a time over all processes, with the pauses between them.

The process that holds `cycles.lock` runs a cycle; one that is killed gives the lock back. What a cycle has taken stands
in the ledger, where every process finds it: a namespace's next one waits ten times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from gm_engine.clock import NS_PER_S
from gm_engine.store import consolidation as rows
from gm_engine.store.consolidation import CycleMark
from gm_engine.store.database import Ledger

if TYPE_CHECKING:
    import filelock

LOCK_NAME = "cycles.lock"
PAUSE_FACTOR: Final = 10
FAILED_PAUSE_S: Final = 60.0
LOCKED_PAUSE_S: Final = 1.0

Turn = Literal["begins", "covered"] | float
"""A cycle may begin; a cycle has looked at everything already; or in how many seconds to ask again."""


class Turns:
    """The turns of one process; only one thread at a time may ask. Whoever was let begin ends or gives back."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock: filelock.BaseFileLock | None = None

    def ask(self, agent_id: str) -> Turn:
        """Whether a cycle may begin; then the lock is held. Raises what the ledger raises; then give back."""
        if not self._taken():
            return LOCKED_PAUSE_S
        turn = self._turn(agent_id)
        if turn != "begins":
            self.give_back()
        return turn

    def begin(self, agent_id: str) -> None:
        """Notes that a cycle begins: one that never ends is begun anew a minute later, by whichever process."""
        with self._ledger.bookkeep() as connection:
            rows.mark_begun(connection, agent_id, at_ns=self._ledger.clock.now_ns())

    def end(self, agent_id: str, *, took_s: float) -> None:
        """Notes that the cycle ended, and what it took."""
        with self._ledger.bookkeep() as connection:
            at_ns = self._ledger.clock.now_ns()
            rows.mark_ended(connection, agent_id, at_ns=at_ns, took_ns=round(took_s * NS_PER_S))

    def give_back(self) -> None:
        """Lets the next one have its turn. Safe to call twice."""
        if self._lock is not None:
            self._lock.release(force=True)

    def _taken(self) -> bool:
        """Takes the lock. Where a file system knows no locks, the mark of a cycle that has begun keeps others away for
        a minute; a longer one may have company then, which costs time and nothing else."""
        import filelock  # a program that runs no cycle does not pay for it

        if self._lock is None:
            self._lock = filelock.FileLock(self._ledger.data_dir / LOCK_NAME, timeout=0, thread_local=False)
        try:
            self._lock.acquire()
        except filelock.Timeout:
            return False
        except (OSError, NotImplementedError):
            return True
        return True

    def _turn(self, agent_id: str) -> Turn:
        with self._ledger.read() as connection:
            mark = rows.cycle_mark(connection, agent_id)
            if not rows.has_news(connection, agent_id):
                return "covered"
        wait_s = 0.0 if mark is None else pause_s(mark, self._ledger.clock.now_ns())
        return wait_s if wait_s > 0 else "begins"


def pause_s(mark: CycleMark, now_ns: int) -> float:
    """How many seconds of the pause after a cycle are left. A mark of later than now is of a wrong clock: none are."""
    if mark.at_ns > now_ns:
        return 0.0
    pause_ns = round(FAILED_PAUSE_S * NS_PER_S) if mark.took_ns is None else PAUSE_FACTOR * mark.took_ns
    return max(0, mark.at_ns + pause_ns - now_ns) / NS_PER_S
