"""Keeps Chroma up to the ledger's vectors, in small batches, and tells the planner when it can be asked."""

from __future__ import annotations

import logging
from time import monotonic

import numpy as np

from gm_engine.store.database import Ledger
from gm_engine.store.vectors import find_model
from gm_engine.vectors.chroma import BATCH, ChromaIndex
from gm_engine.vectors.folders import close_index, give_up, move_pointer, open_index
from gm_engine.vectors.index import IndexUnavailable
from gm_engine.vectors.planner import VectorPlanner

_ATTEMPTS = 2

_log = logging.getLogger(__name__)


class ChromaFeed:
    """The one writer of the index. Use it in one lane, while holding the indexer lock; `close` it once."""

    def __init__(self, ledger: Ledger, planner: VectorPlanner) -> None:
        self._ledger = ledger
        self._planner = planner
        self._table = planner.table
        self._open: tuple[ChromaIndex, int] | None = None
        self._failures = 0

    def fill_until(self, deadline: float) -> bool:
        """Adds batches of the table's rows until `deadline` (of `monotonic`), at least one; whether there are more.

        The first call with something to add opens the index, which takes a second or two. An index that fails is
        given up for a new one, once; after that, this process searches exactly. Raises what the ledger raises.
        """
        if self._table.size == 0 or self._failures >= _ATTEMPTS:
            return False
        try:
            return self._fill(deadline)
        except (IndexUnavailable, OSError) as error:
            self._fail(str(error))
            return self._failures < _ATTEMPTS

    def close(self) -> None:
        """Closes the index in order."""
        self._planner.detach("the vector index is closed")
        if self._open is not None:
            index, generation = self._open
            self._open = None
            close_index(self._ledger, index, generation)

    def _fill(self, deadline: float) -> bool:
        with self._ledger.read() as connection:
            model = find_model(connection, self._table.model)
        if model is None:
            return False
        if self._open is None:
            self._open = open_index(self._ledger, self._table, model)
            self._planner.attach(self._open[0])
        index, generation = self._open
        while (start := self._table.rows_through(index.applied_vec_seq)) < self._table.size:
            stop = min(start + BATCH, self._table.size)
            rows = np.arange(start, stop, dtype=np.int32)
            index.upsert(self._table.keys(start, stop), self._table.codes(rows))
            applied = self._table.vec_seq_of(stop - 1)
            move_pointer(self._ledger, model, generation=generation, applied_vec_seq=applied)
            index.applied_vec_seq = applied
            if monotonic() >= deadline:
                return self._table.rows_through(applied) < self._table.size
        return False

    def _fail(self, reason: str) -> None:
        self._failures += 1
        self._planner.detach(reason)
        _log.warning("vector index, attempt %d: %s", self._failures, reason)
        if self._open is not None:
            index, generation = self._open
            self._open = None
            index.close()
            with self._ledger.read() as connection:
                model = find_model(connection, self._table.model)
            if model is not None:
                give_up(self._ledger, model, generation=generation)
