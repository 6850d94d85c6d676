"""Keeps Chroma up to the ledger's vectors, and tells the planner when it can be asked.

A small index is filled here, in small batches. Once it is large, writing to it would hold the interpreter lock for too
long: what is new is then scanned exactly beside it, and when that has become too much, a child process builds a new
index. Until the switch the old one, or the exact scan, goes on answering.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from time import monotonic

import numpy as np

from gm_engine.store.database import Ledger
from gm_engine.store.vectors import Model, find_model
from gm_engine.vectors.bulk_build import BuildTarget, BulkBuild
from gm_engine.vectors.chroma import BATCH
from gm_engine.vectors.folders import (
    DROPPED,
    OpenFolder,
    adopt,
    begin,
    close_folder,
    give_up,
    move_pointer,
    next_generation,
    remove_all,
    remove_others,
    reopen,
)
from gm_engine.vectors.index import IndexUnavailable, VectorsDropped
from gm_engine.vectors.planner import VectorPlanner
from gm_engine.vectors.prefix import MAX_BESIDE
from gm_engine.vectors.table import FORGOTTEN

BULK_ROWS = MAX_BESIDE
"""Vectors that are too many to be scanned beside an index: a child process builds one that has them."""

SMALL_ROWS = 8192
"""Up to this size an index is filled in this process; one batch stays under the time that a window may stand still."""

_ATTEMPTS = 2

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FeedProgress:
    """How many of `total` vectors the index has; while it is built anew, how many the new one has."""

    done: int
    total: int
    is_building: bool


class ChromaFeed:
    """The one writer of the index. Use it in one lane, while holding the indexer lock; `close` it once."""

    def __init__(self, ledger: Ledger, planner: VectorPlanner) -> None:
        self._ledger = ledger
        self._planner = planner
        self._table = planner.table
        self._open: OpenFolder | None = None
        self._build: BulkBuild | None = None
        self._can_build = True
        self._drops = -1
        self._failures = 0
        self.error = ""
        """Why the index failed last; empty while it works."""

    def fill_until(self, deadline: float) -> bool:
        """Brings the index nearer to the table until `deadline` (of `monotonic`); whether there is more to do.

        The first call with something to do opens the index, which takes a second or two. While a child process builds
        a new one, a call waits for it until `deadline`. An index that fails is given up for a new one, once; after
        that, this process searches exactly. Raises what the ledger raises.
        """
        self.forget_dropped()
        if self._table.size == 0 or self._failures >= _ATTEMPTS:
            return False
        with self._ledger.read() as connection:
            model = find_model(connection, self._table.model)
        if model is None:
            return False
        try:
            return self._fill(model, deadline)
        except VectorsDropped:
            return True  # the table learns of it before the next call
        except (IndexUnavailable, OSError) as error:
            self._fail(model, str(error))
            return self._failures < _ATTEMPTS

    def forget_dropped(self) -> None:
        """Once vectors were dropped from the ledger, what is open or being built is discarded, and the files with it.

        `fill_until` does it too; this is for a time in which nothing is filled. Costs nothing when there were none.
        """
        if self._drops != self._table.drops:
            self._start_over()

    def progress(self) -> FeedProgress:
        """Where the work stands, from what this process knows: costs nothing. Safe from any thread."""
        build, folder = self._build, self._open
        total = self._table.remembered(self._table.size)
        if build is not None:
            return FeedProgress(build.done(), total, is_building=True)
        done = 0 if folder is None else self._table.remembered(self._table.rows_through(folder.index.applied_vec_seq))
        return FeedProgress(done, total, is_building=False)

    def is_behind(self) -> bool:
        """Whether `fill_until` has something to do that it can do."""
        progress = self.progress()
        lag = progress.total - progress.done
        return self._failures < _ATTEMPTS and lag > (BULK_ROWS if self._table.size > SMALL_ROWS else 0)

    @property
    def is_filled_here(self) -> bool:
        """Whether the index is so small that this process writes to it, holding the interpreter lock."""
        return self._table.size <= SMALL_ROWS or not self._can_build

    def folder(self) -> OpenFolder | None:
        """The index that this process has open."""
        return self._open

    def begin_anew(self, model: Model, *, ef_search: int) -> None:
        """Gives the present index up for one that searches wider; `fill_until` makes it."""
        generation = 0 if self._open is None else self._open.generation
        self._let_go("the vector index is built anew")
        give_up(self._ledger, model, generation=generation, ef_search=ef_search)

    def close(self) -> None:
        """Closes the index in order, and ends a build."""
        self._stop_build()
        self._let_go("the vector index is closed")

    def _fill(self, model: Model, deadline: float) -> bool:
        if self._build is not None:
            return self._follow(self._build, model, deadline)
        folder = self._open
        if folder is None and (found := reopen(self._ledger, self._table, model)) is not None:
            folder = self._taken(found)
        start = 0 if folder is None else self._table.rows_through(folder.index.applied_vec_seq)
        lag = self._table.size - start
        if lag > BULK_ROWS and self._can_build:
            return self._start_build(model)
        if folder is None:
            folder = self._taken(begin(self._ledger, self._table, model))
        if self._table.size > SMALL_ROWS and self._can_build:
            return False  # what is new is scanned beside the index
        return self._add(folder, model, start=start, deadline=deadline)

    def _add(self, folder: OpenFolder, model: Model, *, start: int, deadline: float) -> bool:
        while start < self._table.size:
            stop = min(start + BATCH, self._table.size)
            batch = [(row, key) for row, key in enumerate(self._table.keys(start, stop), start) if key != FORGOTTEN]
            if batch:
                rows = np.array([row for row, _ in batch], dtype=np.int32)
                folder.index.upsert([key for _, key in batch], self._table.codes(rows))
            applied = self._table.vec_seq_of(stop - 1)
            move_pointer(self._ledger, self._table, model, folder=folder, through=applied)
            folder.index.applied_vec_seq = applied
            start = stop
            if monotonic() >= deadline:
                break
        return start < self._table.size

    def _start_build(self, model: Model) -> bool:
        generation, ef_search = next_generation(self._ledger, model)
        clock, through = self._ledger.clock, self._table.vec_seq_of(self._table.size - 1)
        target = BuildTarget(model, generation, clock.new_id(clock.now_ns()), through, ef_search)
        try:
            self._build = BulkBuild(self._ledger.data_dir, target)
        except OSError as error:
            _log.warning("no child process for the vector index, it is filled here: %s", error)
            self._can_build = False
        return True

    def _follow(self, build: BulkBuild, model: Model, deadline: float) -> bool:
        """Waits for the build, and switches to what it built."""
        if not build.wait(deadline - monotonic()):
            return True
        try:
            target, count = build.target, build.built()
        finally:
            self._stop_build()
        folder = adopt(
            self._ledger,
            self._table,
            model,
            generation=target.generation,
            ef_search=target.ef_search,
            through=target.through,
            count=count,
        )
        self._taken(folder)
        return self._table.size > self._table.rows_through(target.through)

    def _taken(self, folder: OpenFolder) -> OpenFolder:
        """From now on `folder` answers; what was there before is closed and removed."""
        old, self._open = self._open, folder
        self._planner.attach(folder.index)
        self.error = ""
        if old is not None:
            old.index.close()
        remove_others(self._ledger.data_dir, folder.generation)
        return folder

    def discard(self) -> bool:
        """Closes and removes every index, whatever it holds; whether nothing is left. `fill_until` begins a new one."""
        self._stop_build()
        self._let_go(DROPPED)
        self._drops = self._table.drops
        return remove_all(self._ledger.data_dir)

    def _start_over(self) -> None:
        """Vectors were dropped: what is open or being built may still hold them; what is closed has no pointer."""
        if self._drops >= 0:
            self.discard()
        elif self._table.size == 0 and self._table.drops > 0:
            remove_all(self._ledger.data_dir)
        self._drops = self._table.drops

    def _let_go(self, reason: str) -> None:
        self._planner.detach(reason)
        if self._open is not None:
            folder, self._open = self._open, None
            close_folder(self._ledger, folder)

    def _stop_build(self) -> None:
        if self._build is not None:
            build, self._build = self._build, None
            build.stop()

    def _fail(self, model: Model, reason: str) -> None:
        self._failures += 1
        self.error = reason
        self._planner.detach(reason)
        _log.warning("vector index, attempt %d: %s", self._failures, reason)
        self._stop_build()
        if self._open is not None:
            folder, self._open = self._open, None
            folder.index.close()
            give_up(self._ledger, model, generation=folder.generation, ef_search=folder.ef_search)
