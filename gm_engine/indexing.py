"""Embedding and vector indexing in bounded steps, by one process at a time.

The order of effects is: vector into the ledger, then into Chroma, then how far Chroma has got into the ledger. A crash
anywhere repeats work and skips none. The process that holds `indexer.lock` does it; when it ends, the next one does.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Lock, Thread
from time import monotonic
from typing import Literal, Protocol

import filelock

from gm_engine.config import Config
from gm_engine.embedding.embedder import Embedder, QueryVectors
from gm_engine.embedding.minilm import MiniLM
from gm_engine.embedding.queue import MAX_BATCH, EmbeddingQueue
from gm_engine.embedding.remote import RemoteEmbedder
from gm_engine.errors import Cancelled, EmbeddingFailed, GrayMatterError, StoreBusy, VectorIndexFailed
from gm_engine.hooks import tell
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import IndexProgress, VectorExam, VectorStatus
from gm_engine.store.database import Ledger
from gm_engine.store.known import KnownVectors
from gm_engine.store.settings import load_settings
from gm_engine.store.vectors import VectorCounts, find_model
from gm_engine.vectors.choice import FindEmbedder, ModelChoice
from gm_engine.vectors.exam import examine_index, nothing_to_examine
from gm_engine.vectors.feed import ChromaFeed
from gm_engine.vectors.folders import remove_all
from gm_engine.vectors.index import IndexUnavailable
from gm_engine.vectors.planner import VectorPlanner

LOCK_NAME = "indexer.lock"
_STEP_S = 0.1
_IDLE_S = 0.5  # a text that another process wrote is embedded within this time
_CHROMA_AFTER_S = 2.0  # a short-lived program never pays for the import of chromadb
_BUSY_PAUSE_S = 1.0
_FAILED_PAUSE_S = 30.0
_OTHERS_TURN_S = 5.0
_COUNT_EVERY_S = 10.0
_CLOSE_S = 3.0

_log = logging.getLogger(__name__)


class Chores(Protocol):
    """Other work in pieces that waits until there is nothing to embed or index."""

    def step(self, budget_s: float) -> bool:
        """About `budget_s` seconds of it; whether there is more to do at once. Never raises an expected error."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """What the ledger said at `at_s`, when this process had embedded `embedded_by_us` texts."""

    counts: VectorCounts
    embedded_by_us: int
    at_s: float


class Indexer:
    """Follows one open ledger. `step` from one lane, or `start` the background thread; the rest from any thread."""

    def __init__(
        self,
        ledger: Ledger,
        embedder: Embedder | None,
        *,
        config: Config,
        chores: Chores | None = None,
        find_embedder: FindEmbedder = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._embedder = embedder
        self._config = config
        self._lock = filelock.FileLock(ledger.data_dir / LOCK_NAME, timeout=0, thread_local=False)
        self._stepping = Lock()
        self._chores = chores
        self._doing_chores = Lock()
        self._closed = False
        self._pause_until = 0.0
        self._embed_from = 0.0
        self._error = ""
        self._thread: Thread | None = None
        self._stop = Event()
        self._wake = Event()
        self._queue: EmbeddingQueue | None = None
        self._feed: ChromaFeed | None = None
        self._counted = _Counted(VectorCounts(0, 0), 0, 0.0)
        self._known = KnownVectors()
        self.choice: ModelChoice | None = None
        self.planner: VectorPlanner | None = None
        self.queries: QueryVectors | None = None
        if embedder is not None:
            self.choice = ModelChoice(embedder, find_embedder)
            self.planner, self.queries = self.choice.wanted.planner, self.choice.wanted.queries
            batch = embedder.batch_size if isinstance(embedder, RemoteEmbedder) else MAX_BATCH
            self._queue = EmbeddingQueue(ledger, embedder, max_batch=batch)
            self._feed = ChromaFeed(ledger, self.planner)
            with ledger.read() as connection:
                self._choose_path(load_settings(connection).vector_path)

    @property
    def error(self) -> str:
        """Why the last step could not do its work; empty when it could."""
        return self._error or ("" if self._feed is None else self._feed.error)

    def step(self, budget_s: float, *, chroma: bool = True, is_calm: bool = True) -> bool:
        """About `budget_s` seconds of work: texts are embedded, Chroma is filled (unless not `chroma`), then chores.

        Unless `is_calm`, Chroma is not filled in this process: each of its writes holds the interpreter lock.
        Returns whether there is more to do at once. False also when another process does it, when the store is
        read-only, or when something failed: `error` says what, and it is tried again later. The first step that fills
        Chroma takes a second or two longer. Never raises an expected error.
        """
        return self._index_step(budget_s, chroma=chroma, is_calm=is_calm) or self._chores_step(budget_s)

    def _chores_step(self, budget_s: float) -> bool:
        """A piece of the chores, unless another thread is at them."""
        if self._chores is None or not self._doing_chores.acquire(blocking=False):
            return False
        try:
            return not self._stop.is_set() and self._chores.step(budget_s)
        finally:
            self._doing_chores.release()

    def _index_step(self, budget_s: float, *, chroma: bool, is_calm: bool) -> bool:
        with self._stepping:
            if self._pause_until > monotonic() or not self._owns_index():
                return False
            deadline = monotonic() + budget_s
            try:
                more = self._embed_or_pause(deadline)
                if more or self._closed or not chroma:
                    return more and not self._closed
                return self._fill(deadline, is_calm=is_calm)
            except GrayMatterError as error:
                self._pause_until = monotonic() + (_BUSY_PAUSE_S if isinstance(error, StoreBusy) else _FAILED_PAUSE_S)
                self._failed("indexing pauses", error)
                return False

    def load_model(self) -> None:
        """See `Memory.load_model`."""
        if isinstance(self._embedder, MiniLM):
            with suppress(EmbeddingFailed):  # told when the model is needed
                self._embedder.load()

    def embed_now(self, agent_id: str, limit: int) -> int:
        """Embeds up to `limit` pending texts of one namespace, whoever owns the index; Chroma is left alone.

        Returns how many. Raises `EmbeddingFailed`, or what the ledger raises.
        """
        if self._queue is None or self._ledger.read_only:
            return 0
        return self._queue.embed_agent(agent_id, limit)

    def wait(
        self, timeout_s: float | None = None, *, progress: Progress = no_progress, cancel: CancelToken | None = None
    ) -> bool:
        """Embeds, or lets the process that owns the index embed, until every live text has a vector.

        False when `timeout_s` passed before, when there is no model, or when the store is read-only. Raises
        `EmbeddingFailed`, `Cancelled`, or what the ledger raises. Chroma is left to `step`.
        """
        counts = self._count()
        if self._queue is None or self._ledger.read_only:
            return counts.pending == 0
        total = counts.embedded + counts.pending
        end = None if timeout_s is None else monotonic() + timeout_s
        others_until, counted_at = monotonic() + _OTHERS_TURN_S, self._queue.embedded
        while counts.pending > 0:
            progress(min(total, counts.embedded + self._queue.embedded - counted_at), total, "embedding")
            if cancel is not None:
                cancel.check()
            if end is not None and monotonic() >= end:
                return False
            if self._wait_step(self._queue, patient=monotonic() < others_until):
                continue
            before, counts, counted_at = counts, self._count(), self._queue.embedded
            if counts.pending < before.pending:
                others_until = monotonic() + _OTHERS_TURN_S
            elif 0 < counts.pending <= self._queue.refused:
                raise EmbeddingFailed(
                    f"Texts that get no vector: {counts.pending:,}. The model refuses them, its vectors are not finite,"
                    " or the store does not keep them; `graymatter doctor` says whether it is damaged."
                )
            else:
                self._queue.look_again()
        self._settle(self._queue)
        progress(total, total, "embedding")
        return True

    def progress(self) -> IndexProgress:
        """How far embedding and indexing are, by what this process knows: costs nothing, counts nothing."""
        queue, feed, counted = self._queue, self._feed, self._counted
        if queue is None or feed is None:
            return IndexProgress("idle", 0, 0, error=self._error)
        done_since = queue.embedded - counted.embedded_by_us
        pending, done = max(0, counted.counts.pending - done_since), counted.counts.embedded + done_since
        if pending > queue.refused:
            speed = queue.texts_per_s
            left_s = pending / speed if speed else None
            return IndexProgress("embedding", done, done + pending, speed, left_s, self.error)
        index = feed.progress()
        stage: Literal["idle", "indexing"] = "indexing" if index.is_building or feed.is_behind() else "idle"
        return IndexProgress(stage, index.done, index.total, queue.texts_per_s, None, self.error)

    def status(self) -> VectorStatus:
        """How far embedding and indexing are, and which path a broad search takes in this process."""
        counts = self._count()
        if self.choice is None or self.planner is None or self._queue is None:
            return VectorStatus("", counts.embedded, counts.pending, 0, "none")
        name = self.planner.table.model
        with self._ledger.read() as connection:
            model = find_model(connection, name)
            held = 0 if model is None else self._known.indexed(connection, model)
            answering = self.choice.current(connection)
        has_answers = counts.embedded > 0 or answering is not self.choice.wanted
        speed = self._queue.texts_per_s if counts.pending else 0.0
        return VectorStatus(
            name,
            counts.embedded,
            counts.pending,
            held,
            answering.planner.path() if has_answers else "none",
            answering=answering.planner.table.model if has_answers else "",
            texts_per_s=speed,
            left_s=counts.pending / speed if speed else None,
            error=self.error,
        )

    def examine(self, *, progress: Progress, cancel: CancelToken) -> VectorExam:
        """Brings the index up to date, and compares its answers with exact ones; a wrong index is built anew once.

        Raises `StoreBusy` while another process owns the index, `VectorIndexFailed` when there is none to be had,
        `Cancelled`, or what the ledger raises.
        """
        if self._feed is None or self.planner is None:
            return nothing_to_examine("no embedding model is configured")
        with self._stepping:
            if not self._owns_index():
                raise StoreBusy("Another process owns the vector index, or the store is read-only; close it first.")
            with self._ledger.read() as connection:
                self._choose_path(load_settings(connection).vector_path)
                self.planner.table.refresh(connection)
            if self.planner.vector_path == "exact":
                return nothing_to_examine("the store asks for exact searches")
            try:
                return examine_index(self._ledger, self._feed, self.planner.table, progress=progress, cancel=cancel)
            except IndexUnavailable as error:
                raise VectorIndexFailed(f"The vector index cannot be examined: {error.message}.") from error

    def discard_indexes(self) -> bool:
        """Removes the vector indexes on disk, to be made anew; whether nothing is left of them.

        False while another process has them open, which forgets dropped vectors itself with its next step, and while a
        step of this process does not end.
        """
        if not self._stepping.acquire(timeout=_BUSY_PAUSE_S):
            return False
        try:
            if self._feed is not None and self.planner is not None and self._owns_index():
                with self._ledger.read() as connection:
                    self.planner.table.refresh(connection)
                return self._feed.discard()
            if self._closed or self._ledger.read_only:
                return False
            with filelock.FileLock(self._ledger.data_dir / LOCK_NAME, timeout=0):
                return remove_all(self._ledger.data_dir)
        except (filelock.Timeout, OSError, NotImplementedError):
            return False
        finally:
            self._stepping.release()

    def start(self) -> None:
        """Starts the one background thread; a read-only store needs none, nor one without a model and chores."""
        has_work = self._queue is not None or self._chores is not None
        if self._thread is None and has_work and not self._ledger.read_only:
            self._thread = Thread(target=self._run, name="graymatter-indexer", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Tells the background thread that a text may need a vector."""
        self._wake.set()

    def close(self) -> None:
        """Stops the thread, closes Chroma and gives the lock to the next process. Safe to call twice.

        An embedding server that does not answer is not waited for: what it says later is not stored.
        """
        self._stop.set()
        self._wake.set()
        with self._doing_chores:
            is_idle = self._stepping.acquire(timeout=_CLOSE_S if isinstance(self._embedder, RemoteEmbedder) else -1)
            self._closed = True
            try:
                if self._feed is not None:
                    self._feed.close()
                self._lock.release()
            finally:
                if is_idle:
                    self._stepping.release()
        if self.choice is not None:
            self.choice.close()
        if self._thread is not None and is_idle:
            self._thread.join()
        self._thread = None

    def _owns_index(self) -> bool:
        """Whether this process may embed and index; takes the lock where it is free."""
        if self._closed or self._queue is None or self._ledger.read_only:
            return False
        if self._lock.is_locked:
            return True
        try:
            self._lock.acquire()
        except filelock.Timeout:
            return False
        except (OSError, NotImplementedError) as error:
            self._error = f"{LOCK_NAME} cannot be locked: {error}"
            return False
        return True

    def _embed_or_pause(self, deadline: float) -> bool:
        """Embeds; a model that fails is left alone for a while, and does not keep Chroma from being filled."""
        if self._queue is None or self._embed_from > monotonic():
            return False
        try:
            more = self._queue.embed_until(deadline)
        except EmbeddingFailed as error:
            self._embed_from = monotonic() + _FAILED_PAUSE_S
            self._failed("embedding pauses", error)
            return False
        self._error = ""
        if not more:
            self._settle(self._queue)
        elif monotonic() - self._counted.at_s > _COUNT_EVERY_S:
            self._count()
        return more

    def _failed(self, what: str, error: GrayMatterError) -> None:
        if self._closed:
            return  # a server that was not waited for
        self._error = error.message
        _log.warning("%s: %s", what, error.message)
        tell(self._config.on_index_error, error)

    def _settle(self, queue: EmbeddingQueue) -> None:
        """Once every live text has a vector of the wanted model, that model answers, in every process."""
        if self.choice is None or self.choice.is_settled:
            return
        with self._ledger.read() as connection:
            is_settled = self.choice.look(connection)  # another process may have settled it, and counting is not cheap
        if is_settled or self._count().pending > queue.refused:
            return
        with self._ledger.bookkeep() as connection:
            self.choice.promote(connection)

    def _fill(self, deadline: float, *, is_calm: bool) -> bool:
        if self._feed is None or self.planner is None:
            return False
        with self._ledger.read() as connection:
            self._choose_path(load_settings(connection).vector_path)
            self.planner.table.refresh(connection)
        self._feed.forget_dropped()
        if self.planner.vector_path == "exact" or (self._feed.is_filled_here and not is_calm):
            return False
        failed_before = self._feed.error
        more = self._feed.fill_until(deadline)
        if self._feed.error not in ("", failed_before):
            tell(self._config.on_index_error, VectorIndexFailed(f"The vector index failed: {self._feed.error}."))
        return more

    def _choose_path(self, stored: Literal["auto", "exact"]) -> None:
        if self.planner is not None:
            self.planner.vector_path = self._config.vector_path or stored

    def _count(self) -> VectorCounts:
        done = 0 if self._queue is None else self._queue.embedded  # before: a text more is better than one less
        with self._ledger.read() as connection:
            counts = self._known.counts(connection, "" if self._embedder is None else self._embedder.model)
        self._counted = _Counted(counts, done, monotonic())
        return counts

    def _wait_step(self, queue: EmbeddingQueue, *, patient: bool) -> bool:
        """One piece of `wait`: embeds here, or pauses while another process has its turn. Whether more is waiting."""
        if self._stop.is_set():
            raise Cancelled("The store was closed while its texts were being embedded.")
        with self._stepping:
            if self._owns_index() or not patient:
                return queue.embed_until(monotonic() + _STEP_S)
        self._stop.wait(_STEP_S)
        return False

    def _run(self) -> None:
        chroma_from = monotonic() + _CHROMA_AFTER_S
        while not self._stop.is_set():
            self._wake.clear()
            try:
                more = self.step(_STEP_S, chroma=monotonic() >= chroma_from)
            except Exception:  # the lane's boundary: a bug here must not silence the host program
                _log.exception("the indexer failed")
                self._error = "The indexer failed; see the log."
                self._pause_until = monotonic() + _FAILED_PAUSE_S
                more = False
            if not more:
                self._wake.wait(_IDLE_S)
