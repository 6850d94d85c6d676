"""Decides who answers a vector search: an approximate index where it is fast and surely enough, else an exact scan."""

from __future__ import annotations

import logging
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gm_engine.vectors.exact import ExactIndex
from gm_engine.vectors.index import IndexUnavailable, VectorHits, VectorPath
from gm_engine.vectors.outline import Outline
from gm_engine.vectors.prefix import MAX_BESIDE, Neighbours, PrefixIndex
from gm_engine.vectors.table import VectorTable

BROAD_SHARE = 4
"""A search is broad when it covers at least one in so many vectors."""

_log = logging.getLogger(__name__)


class VectorPlanner:
    """Searches the table by the best path at hand; the hits do not depend on it. Safe to use from any thread."""

    def __init__(self, table: VectorTable, *, vector_path: Literal["auto", "exact"] = "auto") -> None:
        self.table = table
        self.vector_path: Literal["auto", "exact"] = vector_path
        self._outline = Outline(table)
        self._exact = ExactIndex(table, outline=self._outline)
        self._prefix: PrefixIndex | None = None
        self._absent = "the vector index is not open in this process"

    def attach(self, neighbours: Neighbours) -> None:
        """From now on `neighbours` may answer, until `detach`."""
        self._prefix = PrefixIndex(self.table, neighbours, outline=self._outline)

    def detach(self, reason: str) -> None:
        """From now on the exact scan answers, for `reason`."""
        self._absent = reason
        self._prefix = None

    def path(self) -> VectorPath:
        """Who would answer a broad, unfiltered search over a store with vectors now."""
        prefix = self._prefix
        if prefix is None or self.vector_path == "exact" or prefix.lag() > MAX_BESIDE:
            return "exact"
        return prefix.path

    def search(
        self,
        query: NDArray[np.int16],
        rows: NDArray[np.int32],
        tie: NDArray[np.int64],
        count: int,
        *,
        filtered: bool,
    ) -> VectorHits:
        """The `count` eligible positions most similar to `query`.

        `rows` has the table's row of each eligible fact (-1 = no vector), `tie` the rank of its id. `filtered` says
        that a filter was given: then the answer must be complete, which only the exact scan proves.
        """
        known = int(np.count_nonzero(rows >= 0))
        if known == 0 or count <= 0:
            nothing = np.empty(0, dtype=np.int32)
            return VectorHits(nothing, np.empty(0, dtype=np.int64), "none", "no fact has a vector yet")
        prefix = self._prefix
        if self.vector_path == "exact":
            reason = "the store asks for exact search"
        elif filtered:
            reason = "a filter was given"
        elif known * BROAD_SHARE < self.table.size:
            reason = "few of the vectors are searched"
        elif prefix is None:
            reason = self._absent
        else:
            try:
                return prefix.search(query, rows, tie=tie, count=count)
            except IndexUnavailable as error:
                reason = error.message
                _log.debug("exact search instead of %s: %s", prefix.path, reason)
        hits = self._exact.search(query, rows, tie=tie, count=count)
        return VectorHits(hits.order, hits.similarity, hits.path, reason)
