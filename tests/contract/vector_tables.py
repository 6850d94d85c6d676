"""Vector tables, neighbours and plain-loop answers for the tests of vector search."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from gm_engine.store.vectors import VectorRows
from gm_engine.vectors.index import IndexUnavailable, VectorPath
from gm_engine.vectors.table import VectorTable


def key_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def table_of(codes: NDArray[np.int16], *, first_vec_seq: int = 1) -> VectorTable:
    """A table whose row n has the key n and the vec_seq `first_vec_seq` + n."""
    table = VectorTable("test", codes.shape[1])
    extend(table, codes, first_vec_seq=first_vec_seq)
    return table


def extend(table: VectorTable, codes: NDArray[np.int16], *, first_vec_seq: int) -> None:
    start = table.size
    seqs = np.arange(first_vec_seq, first_vec_seq + len(codes), dtype=np.int64)
    table.append(VectorRows(seqs, tuple(key_of(start + number) for number in range(len(codes))), codes))


def brute_force(
    codes: NDArray[np.int16], query: NDArray[np.int16], rows: Sequence[int], *, tie: Sequence[int], count: int
) -> list[tuple[int, int]]:
    """(position, similarity) of the nearest, by the definition: integers, similarity descending, tie ascending."""
    scored = [
        (-sum(int(a) * int(b) for a, b in zip(codes[row], query, strict=True)), tie[position], position)
        for position, row in enumerate(rows)
        if row >= 0
    ]
    return [(position, -negative) for negative, _tie, position in sorted(scored)[:count]]


class ListedNeighbours:
    """`Neighbours` over codes, in float32, in the order that rounding gives; may hold fewer rows than the table.

    It misses the `hidden` rows, as a graph may.
    """

    path: VectorPath = "chroma"

    def __init__(
        self, codes: NDArray[np.int16], *, applied_vec_seq: int, hidden: Collection[int] = frozenset()
    ) -> None:
        self._hidden = hidden
        self._vectors = codes.astype(np.float32) / np.float32(32767)
        self.applied_vec_seq = applied_vec_seq
        self.asked: list[int] = []
        self.broken = False

    def nearest(self, query: NDArray[np.int16], count: int) -> list[bytes]:
        if self.broken:
            raise IndexUnavailable("broken on purpose")
        self.asked.append(count)
        scores = self._vectors @ (query.astype(np.float32) / np.float32(32767))
        found = [row for row in np.argsort(-scores, kind="stable").tolist() if row not in self._hidden]
        return [key_of(row) for row in found[:count]]

    def count(self) -> int:
        return len(self._vectors)
