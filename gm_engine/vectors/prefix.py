"""Vector search through an approximate index: its nearest neighbours, re-scored exactly and cut where it is safe."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gm_engine.vectors.index import IndexUnavailable, VectorHits, VectorPath, ordered_hits
from gm_engine.vectors.outline import Outline
from gm_engine.vectors.table import VectorTable

OVER_FETCH = 4
MAX_PREFIX = 4096
MAX_BESIDE = 4096
"""Rows that an index may lag behind: they are scanned exactly, beside it, in under a millisecond."""


class Neighbours(Protocol):
    """An index that knows text keys by their vectors."""

    path: VectorPath
    applied_vec_seq: int
    """Every vector of the model up to this one is in the index."""

    def nearest(self, query: NDArray[np.int16], count: int) -> list[bytes]:
        """The keys of about the `count` nearest vectors, nearest first. Raises `IndexUnavailable`."""

    def count(self) -> int:
        """How many vectors the index holds. Raises `IndexUnavailable`."""


class PrefixIndex:
    """A `VectorIndex` over `Neighbours`.

    A prefix of the neighbours is fetched and re-scored in integers. It is long enough once the last neighbour is
    strictly less similar than the last hit kept, by more than float32 can confuse; until then it is doubled.

    A graph cannot prove that it saw every neighbour. Outlines can: each row that might be as near as the last hit kept,
    and is not among the neighbours, is compared as well. Where these are too many, the index does not answer.
    """

    def __init__(
        self, table: VectorTable, neighbours: Neighbours, *, outline: Outline | None = None, proves: bool = True
    ) -> None:
        """`proves` False leaves the proof out: that is how the index itself is judged."""
        self._table = table
        self._neighbours = neighbours
        self._outline = outline or Outline(table)
        self._proves = proves
        self.path: VectorPath = neighbours.path

    def lag(self) -> int:
        """How many of the table's rows the index does not have yet."""
        return self._table.size - self._table.rows_through(self._neighbours.applied_vec_seq)

    def search(
        self, query: NDArray[np.int16], rows: NDArray[np.int32], *, tie: NDArray[np.int64], count: int
    ) -> VectorHits:
        """The `count` most similar positions of `rows`; see `VectorIndex.search`."""
        size = self._table.size
        applied = self._table.rows_through(self._neighbours.applied_vec_seq)
        if size - applied > MAX_BESIDE:
            raise IndexUnavailable("the index is still being filled")
        beside = np.arange(min(applied, size), size, dtype=np.int32)
        margin = self._table.margin(query)
        held = self._neighbours.count()
        prefix = max(1, OVER_FETCH * count)
        while prefix <= MAX_PREFIX:
            asked = min(prefix, held)
            near = self._prefix(query, asked, size)
            similarity_near = self._table.dot(query, near)
            similarity, positions = self._eligible(query, near, beside, rows=rows, size=size)
            hits = ordered_hits(similarity, positions, tie=tie, count=count, path=self.path)
            if asked == held:
                return hits
            floor = similarity_near.min(initial=np.iinfo(np.int64).max)
            if len(hits.order) == count and (count == 0 or hits.similarity[-1] > floor + margin):
                if not self._proves or count == 0:
                    return hits
                missed = self._may_be_nearer(query, int(hits.similarity[-1]), near, beside, size=size)
                if len(missed) == 0:
                    return hits
                beside = np.concatenate([beside, missed])
                similarity, positions = self._eligible(query, near, beside, rows=rows, size=size)
                return ordered_hits(similarity, positions, tie=tie, count=count, path=self.path)
            prefix *= 2
        raise IndexUnavailable("too many neighbours are not eligible or equally similar")

    def _may_be_nearer(
        self,
        query: NDArray[np.int16],
        similarity: int,
        near: NDArray[np.int32],
        beside: NDArray[np.int32],
        *,
        size: int,
    ) -> NDArray[np.int32]:
        """The rows that may have at least this similarity and are in neither list. Raises `IndexUnavailable`."""
        alive = self._outline.alive(query, similarity, size)
        if alive is None:
            raise IndexUnavailable("the neighbours cannot be proven complete yet")
        alive[near] = False
        alive[beside] = False
        missed = np.flatnonzero(alive).astype(np.int32)
        if len(missed) > MAX_BESIDE:
            raise IndexUnavailable("too many vectors may be as near as the neighbours")
        return missed

    def _prefix(self, query: NDArray[np.int16], asked: int, size: int) -> NDArray[np.int32]:
        keys = self._neighbours.nearest(query, asked) if asked else []
        if len(keys) < asked:
            raise IndexUnavailable("the index returned fewer neighbours than it holds")
        found = self._table.rows(keys)
        return found[(found >= 0) & (found < size)]

    def _eligible(
        self,
        query: NDArray[np.int16],
        near: NDArray[np.int32],
        beside: NDArray[np.int32],
        *,
        rows: NDArray[np.int32],
        size: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """The positions of `rows` whose row was found, and the similarity of each."""
        found = np.union1d(near, beside).astype(np.int32)
        similarity = self._table.dot(query, found)
        slot = np.full(size + 1, -1, dtype=np.int32)  # one more, for row -1
        slot[found] = np.arange(len(found), dtype=np.int32)
        slots = slot[rows]
        positions = np.flatnonzero(slots >= 0)
        return similarity[slots[positions]], positions
