"""Vector search by looking at every eligible row. Always complete, and the measure of every other path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gm_engine.vectors.index import VectorHits, VectorPath, ordered_hits, similarities
from gm_engine.vectors.outline import Outline
from gm_engine.vectors.table import VectorTable

_FEW = 8  # candidates per hit: more are compared in float32 first, which is half the work


class ExactIndex:
    """A `VectorIndex` over the table itself."""

    path: VectorPath = "exact"

    def __init__(self, table: VectorTable, *, outline: Outline | None = None) -> None:
        self._table = table
        self._outline = outline or Outline(table)

    def search(
        self, query: NDArray[np.int16], rows: NDArray[np.int32], *, tie: NDArray[np.int64], count: int
    ) -> VectorHits:
        """The `count` most similar positions of `rows`; see `VectorIndex.search`. Never fails."""
        if count <= 0:
            positions: NDArray[np.intp] | None = np.empty(0, dtype=np.intp)
        else:
            positions = self._outline.candidates(query, rows, count)
        if positions is None:
            positions = self._table.candidates(query, rows, count)
        elif len(positions) > _FEW * count:
            positions = positions[self._table.candidates(query, rows[positions], count)]
        similarity = similarities(self._table, query, rows[positions])
        return ordered_hits(similarity, positions, tie=tie, count=count, path=self.path)
