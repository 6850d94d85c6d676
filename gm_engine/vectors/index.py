"""The port to vector search, and how hits are ordered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from gm_engine.errors import GrayMatterError
from gm_engine.vectors.table import VectorTable

VectorPath = Literal["exact", "chroma", "none"]


class IndexUnavailable(GrayMatterError):
    """The index cannot answer, now or at all; the exact path can. Never leaves the engine."""

    code = "index_unavailable"


class VectorsDropped(IndexUnavailable):
    """Vectors were dropped from the ledger meanwhile: what an index holds must not count. Never leaves the engine."""

    code = "vectors_dropped"


@dataclass(frozen=True, slots=True)
class VectorHits:
    """The nearest facts of one search.

    `order` holds positions into the searched rows: similarity descending, then `tie` ascending; `similarity` the exact
    integer dot product of each. `path` says who answered, `reason` why it was not Chroma (empty when it was).
    """

    order: NDArray[np.int32]
    similarity: NDArray[np.int64]
    path: VectorPath
    reason: str = ""


class VectorIndex(Protocol):
    """Finds the nearest of given rows of a `VectorTable`. All implementations give the same hits."""

    path: VectorPath

    def search(
        self, query: NDArray[np.int16], rows: NDArray[np.int32], *, tie: NDArray[np.int64], count: int
    ) -> VectorHits:
        """The `count` most similar positions of `rows` (-1 = no vector, never returned).

        `tie` is different for every position and decides between equal similarities, smallest first. Raises
        `IndexUnavailable` when the answer could be incomplete.
        """


def ordered_hits(
    similarity: NDArray[np.int64],
    positions: NDArray[np.intp],
    *,
    tie: NDArray[np.int64],
    count: int,
    path: VectorPath,
) -> VectorHits:
    """The first `count` of `positions`, given the exact similarity of each, in the order that the contract asks for."""
    order = np.lexsort((tie[positions], -similarity))[:count]
    return VectorHits(positions[order].astype(np.int32), similarity[order], path)


def similarities(table: VectorTable, query: NDArray[np.int16], rows: NDArray[np.int32]) -> NDArray[np.int64]:
    """The exact similarity of each row, computed once per distinct row."""
    distinct, where = np.unique(rows, return_inverse=True)
    return table.dot(query, distinct)[where]
