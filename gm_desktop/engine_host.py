"""The only owner of threads in the desktop: lanes to read, to write, to index and to ask, and one thread per task.

Jobs are plain functions of a `Memory`. Answers come back on the GUI thread through one queued signal, in the order in
which their lane finished them. Whoever asked keeps a `Ticket` and cancels it when the answer is no longer wanted; the
answer of a cancelled ticket is dropped, so a late one never overwrites a newer one.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from gm_desktop.i18n import tr
from gm_desktop.index_work import index_all
from gm_desktop.store_opener import Opener, open_memory
from gm_desktop.tasks import Task, TaskBoard, TaskState
from gm_desktop.tickets import Latest, Ticket
from gm_engine.errors import Cancelled, GrayMatterError, StoreUnavailable
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import Changes, VectorStatus

if TYPE_CHECKING:
    from gm_engine import Memory

__all__ = ["EngineHost", "JobCrashed", "Latest", "Ticket"]

T = TypeVar("T")
Failed = Callable[[GrayMatterError], None]

POLL_MS = 500
INDEX_RETRY_POLLS = 10
CALM_S = 3.0  # nobody has written for so long: other processes leave the processor alone
PROGRESS_EVERY_S = 0.05
JOIN_S = 30.0


class JobCrashed(GrayMatterError):
    """A job raised what no verb promises: a bug. The traceback went to `EngineHost.crashed`."""

    code = "bug"


class _Lane:
    """One thread that runs jobs in order."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name=f"gm-{name}", daemon=True)
        self._thread.start()

    def post(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)

    def stop(self) -> None:
        """Runs what was posted, then ends; does not wait."""
        self._jobs.put(None)

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


class EngineHost(QObject):
    """Opens one store at a time and runs every engine verb away from the GUI thread."""

    changed = Signal(object)  # Changes: own and foreign writes, each once
    indexed = Signal(object)  # VectorStatus, about once a second while embedding
    crashed = Signal(object)  # BaseException of a job that broke a promise
    store_opening = Signal()
    store_opened = Signal()
    store_closed = Signal()
    open_failed = Signal(object)  # GrayMatterError
    failed = Signal(object)  # GrayMatterError that nobody claimed
    _answered = Signal(object)

    def __init__(self, *, opener: Opener = open_memory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.data_dir: Path | None = None
        self.read_only = False
        self.is_open = False
        self.tasks = TaskBoard(self)
        self.opener = opener
        self._memory: Memory | None = None
        self._opening = Latest()
        self._unclaimed: Memory | None = None  # opened in the write lane, not yet handed to the GUI thread
        self._waiting: list[Callable[[], None]] | None = None  # jobs that came while the store opens
        self._seen_seq = 0
        self._poll_in_flight = False
        self._poll_again = False
        self._polls = 0
        self._changed_s = 0.0
        self._indexing = False
        self._loaded = 0
        self._index_in_flight = False
        self._closing = Event()
        self._task_threads: list[Thread] = []
        self._reads, self._writes, self._index = _Lane("read"), _Lane("write"), _Lane("index")
        self._asks = _Lane("ask")
        self._answered.connect(self._on_answered, Qt.ConnectionType.QueuedConnection)
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self._on_tick)

    # --- the store ---------------------------------------------------------------------------------------------

    def open_store(
        self, data_dir: Path, *, read_only: bool = False, prepare: Callable[[Memory], object] | None = None
    ) -> None:
        """Opens `data_dir` in the write lane; `store_opened` or `open_failed` follows. Closes the open store first.

        `prepare` runs in the lane before anybody else sees the store (the settings of a new one).
        """
        self.close_store()
        self.data_dir, self.read_only, self._waiting = data_dir, read_only, []
        self.store_opening.emit()

        def job() -> tuple[Memory, int]:
            self._unclaimed = memory = self.opener(data_dir, read_only=read_only)
            if prepare is not None:
                prepare(memory)
            return memory, memory.last_seq()

        ticket = self._opening.take(Ticket())
        self._post(self._writes, ticket, job, self._on_opened, self._on_open_failed)

    def close_store(self) -> None:
        """Lets go of the open store; it is closed once its running jobs ended. `store_closed` follows at once."""
        memory, self._memory = self._memory, None
        self._timer.stop()
        self._waiting = None
        if self._opening.is_awaited:
            self._opening.cancel()
            self._writes.post(lambda: self._guarded(self._close_unclaimed))
        if memory is None:
            return
        self.tasks.cancel_all()
        memory.stop_waiting()
        self.is_open = False
        self.data_dir = None
        threads = list(self._task_threads)

        def close_last() -> None:
            for thread in threads:
                thread.join(JOIN_S)
            memory.close()

        # read → index → ask → write: each lane has finished with the store before the write lane closes it
        self.store_closed.emit()  # whoever asked other programs gives up on them
        self._in_turn(lambda: self._writes.post(lambda: self._guarded(close_last)))

    def start_indexing(self) -> None:
        """Lets the index lane work from now on; called after the first paint, because it may load Chroma."""
        self._indexing = True
        gc.freeze()  # what start-up made stays: a full collection need not hold up the window to look at it
        self._wake_indexer()

    def close(self) -> None:
        """Ends every lane. Tasks are cancelled; a write that has begun is finished. Blocks until all threads ended."""
        self._closing.set()
        self.tasks.cancel_all()
        self.close_store()
        self._in_turn(lambda: self._writes.post(self._writes.stop))
        self._in_turn(self._asks.stop)
        self._reads.post(lambda: self._index.post(self._index.stop))
        self._reads.stop()
        for lane in (self._reads, self._index, self._asks, self._writes):
            lane.join(JOIN_S)
        for thread in self._task_threads:
            thread.join(JOIN_S)
        self._task_threads.clear()

    # --- jobs --------------------------------------------------------------------------------------------------

    def read(self, job: Callable[[Memory], T], on_done: Callable[[T], None], on_failed: Failed | None = None) -> Ticket:
        """Runs `job` in the read lane. `on_failed` None: the failure goes to `failed`, that is to a notice."""
        return self._submit(self._reads, job, on_done, on_failed)

    def write(
        self, job: Callable[[Memory], T], on_done: Callable[[T], None], on_failed: Failed | None = None
    ) -> Ticket:
        """Runs `job` in the write lane; `changed` follows the answer."""

        def done(value: T) -> None:
            on_done(value)
            self._poll()

        return self._submit(self._writes, job, done, on_failed)

    def ask(self, job: Callable[[Memory], T], on_done: Callable[[T], None], on_failed: Failed | None = None) -> Ticket:
        """Runs `job` in the lane for other programs and their files, so that nobody else waits for them."""
        return self._submit(self._asks, job, on_done, on_failed)

    def end_reading(self, job: Callable[[], None]) -> None:
        """Runs `job` in the read lane, store or not: what it opened is closed there."""
        self._reads.post(lambda: self._guarded(job))

    def end_asking(self, job: Callable[[], None]) -> None:
        """Runs `job` in the asking lane, store or not: what it opened is closed there."""
        self._asks.post(lambda: self._guarded(job))

    def run_task(
        self,
        title: str,
        job: Callable[[Memory, Progress, CancelToken], T],
        on_done: Callable[[T], None],
        on_failed: Failed | None = None,
    ) -> Task:
        """Runs a long `job` in a thread of its own, beside the lanes and other tasks, with progress and cancel.

        A cancelled task calls neither callback; its work so far stays.
        """
        memory = self._memory

        def work(progress: Progress, token: CancelToken) -> T:
            if memory is None:
                raise StoreUnavailable(tr("No store is open."))
            return job(memory, progress, token)

        return self.run_alone(title, work, on_done, on_failed)

    def run_alone(
        self,
        title: str,
        job: Callable[[Progress, CancelToken], T],
        on_done: Callable[[T], None],
        on_failed: Failed | None = None,
    ) -> Task:
        """Like `run_task`, for long work that needs no open store (building the demo)."""
        task = self.tasks.start(title)
        last_s = 0.0

        def progress(done: int, total: int | None, what: str) -> None:
            nonlocal last_s
            now_s = monotonic()
            if now_s - last_s >= PROGRESS_EVERY_S or done == total:
                last_s = now_s
                self._answered.emit(lambda: task.report(done, total, what))

        def ended(state: TaskState, then: Callable[[], None]) -> None:
            self._task_threads = [thread for thread in self._task_threads if thread.is_alive()]
            self.tasks.end(task, state)
            then()
            self._poll()

        def run() -> None:
            try:
                value = job(progress, task.token)
            except Cancelled:
                self._answered.emit(lambda: ended(TaskState.CANCELLED, lambda: None))
            except GrayMatterError as error:
                failure = error
                self._answered.emit(lambda: ended(TaskState.FAILED, lambda: self._fail(failure, on_failed)))
            except Exception as error:
                crash = self._crash(error)
                self._answered.emit(lambda: ended(TaskState.FAILED, lambda: self._fail(crash, on_failed)))
            else:
                self._answered.emit(lambda: ended(TaskState.DONE, lambda: on_done(value)))

        thread = Thread(target=run, name="gm-task", daemon=True)
        self._task_threads.append(thread)
        thread.start()
        return task

    # --- inside ------------------------------------------------------------------------------------------------

    def _in_turn(self, last: Callable[[], None]) -> None:
        """Runs `last` in the asking lane, once reading, indexing and asking have done what they were given."""
        self._reads.post(lambda: self._index.post(lambda: self._asks.post(last)))

    def _submit(
        self, lane: _Lane, job: Callable[[Memory], T], on_done: Callable[[T], None], on_failed: Failed | None
    ) -> Ticket:
        ticket = Ticket()

        def start() -> None:
            memory = self._memory
            if memory is None:
                self._refuse(ticket, on_failed)
            else:
                self._post(lane, ticket, lambda: job(memory), on_done, on_failed)

        if self._waiting is not None:
            self._waiting.append(start)
        else:
            start()
        return ticket

    def _post(
        self,
        lane: _Lane,
        ticket: Ticket,
        job: Callable[[], T],
        on_done: Callable[[T], None],
        on_failed: Failed | None,
    ) -> None:
        def run() -> None:
            if ticket.is_cancelled:
                return
            try:
                value = job()
            except GrayMatterError as error:
                failure = error
                self._answered.emit(lambda: self._settle(ticket, lambda: self._fail(failure, on_failed)))
            except Exception as error:
                crash = self._crash(error)
                self._answered.emit(lambda: self._settle(ticket, lambda: self._fail(crash, on_failed)))
            else:
                self._answered.emit(lambda: self._settle(ticket, lambda: on_done(value)))

        lane.post(run)

    def _refuse(self, ticket: Ticket, on_failed: Failed | None) -> None:
        error = StoreUnavailable(tr("No store is open."))
        self._answered.emit(lambda: self._settle(ticket, lambda: self._fail(error, on_failed)))

    @staticmethod
    def _settle(ticket: Ticket, deliver: Callable[[], None]) -> None:
        if not ticket.is_cancelled:
            ticket.is_settled = True
            deliver()

    def _fail(self, error: GrayMatterError, on_failed: Failed | None) -> None:
        (on_failed or self.failed.emit)(error)

    def _crash(self, error: BaseException) -> JobCrashed:
        """Hands a bug to `crashed` on the GUI thread; called in a worker."""
        self._answered.emit(lambda: self.crashed.emit(error))
        return JobCrashed(f"Something went wrong inside GrayMatter: {error!r}")

    def _guarded(self, job: Callable[[], None]) -> None:
        try:
            job()
        except Exception as error:
            self._crash(error)

    def _on_answered(self, deliver: Any) -> None:
        deliver()

    def _close_unclaimed(self) -> None:
        """Write lane: closes a store that was opened for nobody."""
        memory, self._unclaimed = self._unclaimed, None
        if memory is not None:
            memory.close()

    def _on_opened(self, opened: tuple[Memory, int]) -> None:
        self._memory, self._seen_seq = opened
        self._unclaimed = None
        waiting, self._waiting = self._waiting or [], None
        self.is_open = True
        self._index_in_flight = False
        self._timer.start()
        self.store_opened.emit()
        for start in waiting:
            start()
        self._wake_indexer()

    def _on_open_failed(self, error: GrayMatterError) -> None:
        self._waiting = None  # whoever asked early asks again at `store_opened`
        self._writes.post(lambda: self._guarded(self._close_unclaimed))
        self.data_dir = None
        self.open_failed.emit(error)

    def _on_tick(self) -> None:
        self._poll()
        self._polls += 1
        if self._polls % INDEX_RETRY_POLLS == 0:
            self._wake_indexer(is_retry=True)  # the indexer's lock may be free, or it is calm now

    def _poll(self) -> None:
        memory = self._memory
        if memory is None:
            return
        if self._poll_in_flight:
            self._poll_again = True
            return
        self._poll_in_flight, seq = True, self._seen_seq

        def failed(_: GrayMatterError) -> None:
            self._poll_in_flight = False  # the next tick asks again

        def done(changes: Changes) -> None:
            self._poll_in_flight = False
            if memory is self._memory:
                self._on_changes(changes)

        self._post(self._reads, Ticket(), lambda: memory.changes_since(seq), done, failed)

    def _on_changes(self, changes: Changes) -> None:
        self._seen_seq = max(self._seen_seq, changes.seq)
        if self._poll_again:
            self._poll_again = False
            self._poll()
        if changes:
            self._changed_s = monotonic()
            self.changed.emit(changes)
            self._wake_indexer()

    def _wake_indexer(self, *, is_retry: bool = False) -> None:
        memory = self._memory
        if memory is None or not self._indexing or self._index_in_flight or self.read_only:
            return
        self._index_in_flight = True

        def ended(*, was_calm: bool) -> None:
            if self._loaded <= was_calm:  # first the model, and once it is calm the vector index
                self._loaded = 1 + was_calm
                gc.freeze()  # the same for what these brought
            if memory is self._memory:
                self._index_in_flight = False

        def failed(error: GrayMatterError) -> None:
            ended(was_calm=False)
            self._indexing = error.code == "store_busy"
            self.failed.emit(error)

        job = partial(self._index_all, memory, tell=not is_retry)
        self._post(self._index, Ticket(), job, lambda was_calm: ended(was_calm=was_calm), failed)

    def _index_all(self, memory: Memory, *, tell: bool) -> bool:
        def told(status: VectorStatus) -> None:
            self._answered.emit(lambda: self.indexed.emit(status))

        def may_go_on() -> bool:
            return not self._closing.is_set() and memory is self._memory

        return index_all(
            memory,
            may_go_on=may_go_on,
            is_busy=self._runs_tasks,
            is_calm=lambda: monotonic() - self._changed_s >= CALM_S,
            pause=self._closing.wait,
            told=told,
            tell=tell,
        )

    def _runs_tasks(self) -> bool:
        """Index lane: whether a task works; three threads that take turns would hold up the window."""
        return any(thread.is_alive() for thread in self._task_threads)
