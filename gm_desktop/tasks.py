"""Long work as the person sees it: a title, progress, time left, cancel. The threads are the engine host's."""

from __future__ import annotations

from enum import Enum
from time import monotonic

from PySide6.QtCore import QObject, Signal

from gm_engine.progress import CancelToken


class TaskState(Enum):
    """Where a task is in its life."""

    RUNNING = "running"
    CANCELLING = "cancelling"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Task(QObject):
    """One piece of long work. Lives on the GUI thread; only `token` is shared with the worker."""

    progressed = Signal()
    ended = Signal()

    def __init__(self, title: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.token = CancelToken()
        self.state = TaskState.RUNNING
        self.done = 0
        self.total: int | None = None
        self.what = ""
        self._stage_started_s = monotonic()

    @property
    def is_running(self) -> bool:
        """Whether the worker has not ended yet."""
        return self.state in (TaskState.RUNNING, TaskState.CANCELLING)

    @property
    def fraction(self) -> float | None:
        """The finished share of the stage in [0, 1]; None while the total is unknown."""
        return min(1.0, self.done / self.total) if self.total else None

    @property
    def left_s(self) -> float | None:
        """Seconds left of this stage at its pace so far; None before that says anything."""
        spent_s = monotonic() - self._stage_started_s
        if not self.total or self.done < 1 or spent_s < 1.0:
            return None
        return max(0.0, spent_s * (self.total - self.done) / self.done)

    def cancel(self) -> None:
        """Asks the worker to stop at its next check; what is finished stays."""
        if self.state is TaskState.RUNNING:
            self.state = TaskState.CANCELLING
            self.token.cancel()
            self.progressed.emit()

    def report(self, done: int, total: int | None, what: str) -> None:
        """Takes the worker's progress (GUI thread)."""
        if what != self.what:
            self._stage_started_s = monotonic()
        self.done, self.total, self.what = done, total, what
        self.progressed.emit()

    def end(self, state: TaskState) -> None:
        """Closes the task; it never changes again."""
        self.state = state
        self.ended.emit()


class TaskBoard(QObject):
    """Every task that runs now, oldest first."""

    started = Signal(object)
    ended = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._running: list[Task] = []

    @property
    def running(self) -> tuple[Task, ...]:
        """The tasks whose worker has not ended."""
        return tuple(self._running)

    def start(self, title: str) -> Task:
        """A new running task on the board."""
        task = Task(title, self)
        self._running.append(task)
        self.started.emit(task)
        return task

    def end(self, task: Task, state: TaskState) -> None:
        """Takes a task off the board."""
        self._running.remove(task)
        task.end(state)
        self.ended.emit(task)
        task.deleteLater()

    def cancel_all(self) -> None:
        """Asks every task to stop."""
        for task in self._running:
            task.cancel()
