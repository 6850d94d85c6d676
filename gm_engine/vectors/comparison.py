"""Does the vector index give the same answers as the exact scan? Asked with queries like those that people ask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gm_engine.embedding.embedder import quantise
from gm_engine.progress import CancelToken, Progress
from gm_engine.vectors.exact import ExactIndex
from gm_engine.vectors.index import IndexUnavailable
from gm_engine.vectors.prefix import Neighbours, PrefixIndex
from gm_engine.vectors.table import FORGOTTEN, VectorTable

QUERIES = 200
DEPTH = 16
"""Twice the default top_k: as deep as a recall looks."""

_NOISE = (0.0, 0.35, 0.7)  # how far a query lies from a text, in lengths of a vector: the text itself, near, far
_SEED = 2026


@dataclass(frozen=True, slots=True)
class PathComparison:
    """What `queries` searches for `depth` neighbours found.

    `different` of them gave another order than the exact scan; `unsure` were answered exactly, because the index could
    not be sure. A recall adds a proof to what the index says; here the index stands alone. `recall` is the mean share
    of the true nearest that the index's own `depth` nearest hold.
    """

    queries: int
    depth: int
    different: int
    unsure: int
    recall: float


def compare_paths(
    table: VectorTable,
    neighbours: Neighbours,
    *,
    progress: Progress,
    cancel: CancelToken,
    queries: int = QUERIES,
    depth: int = DEPTH,
) -> PathComparison:
    """Compares both paths over the whole table. The queries are the same in every run on the same table.

    Raises `Cancelled`, and `IndexUnavailable` when the index answers nothing at all.
    """
    rows = _remembered(table)
    tie = np.arange(len(rows), dtype=np.int64)
    exact, prefix = ExactIndex(table), PrefixIndex(table, neighbours, proves=False)
    different = unsure = 0
    shares: list[float] = []
    samples = _queries(table, rows, queries)
    for number, query in enumerate(samples):
        progress(number, len(samples), "comparing both ways to search")
        cancel.check()
        right = exact.search(query, rows, tie=tie, count=depth)
        near = table.rows(neighbours.nearest(query, min(depth, neighbours.count())))
        true = set(rows[right.order].tolist())
        shares.append(len(true & set(near.tolist())) / len(true))
        try:
            found = prefix.search(query, rows, tie=tie, count=depth)
        except IndexUnavailable:
            unsure += 1
            continue
        different += found.order.tolist() != right.order.tolist()
    progress(len(samples), len(samples), "comparing both ways to search")
    return PathComparison(len(samples), depth, different, unsure, float(np.mean(shares)) if shares else 1.0)


def _remembered(table: VectorTable) -> NDArray[np.int32]:
    keys = table.keys(0, table.size)
    return np.array([row for row, key in enumerate(keys) if key != FORGOTTEN], dtype=np.int32)


def _queries(table: VectorTable, rows: NDArray[np.int32], count: int) -> list[NDArray[np.int16]]:
    """Stored vectors, moved by noise of several strengths."""
    if not len(rows):
        return []
    rng = np.random.default_rng(_SEED)
    chosen = rng.choice(rows, size=count, replace=len(rows) < count)
    vectors = table.codes(chosen.astype(np.int32)).astype(np.float64)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1.0)
    noise = rng.standard_normal(vectors.shape)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    moved = vectors + np.resize(_NOISE, count)[:, None] * noise
    moved /= np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
    return list(quantise(moved.astype(np.float32)))
