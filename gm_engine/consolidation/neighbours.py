"""Which vectors of a namespace lie close together, without looking at all pairs.

Small sets are searched exactly. Larger ones are split into about sqrt(n) cells around chosen vectors; each vector joins
its three nearest cells and is compared inside them only. That finds nearly all pairs of high similarity, which is what
duplicates have; candidates are decided on by their words, so a missed pair costs a proposal and never a fact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gm_engine.consolidation.steps import Steps

EXACT_BELOW = 3000
_BLOCK = 512
_SCORES_AT_ONCE = _BLOCK * EXACT_BELOW
_SORTED_AT_ONCE = 1 << 17
_CELLS_PER_VECTOR = 3
_PER_VECTOR = 8

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def close_pairs(vectors: NDArray[np.float32], *, floor: float, fresh: NDArray[np.bool_] | None = None) -> Steps[Pairs]:
    """Pairs (i < j) of rows with a cosine of at least `floor`, at most some per row; rows must be normalised.

    With `fresh`, only pairs with at least one fresh row.
    """
    count = len(vectors)
    found: list[NDArray[np.int64]] = []
    if fresh is not None and int(fresh.sum()) * 8 < count:
        yield from _within(vectors, np.flatnonzero(fresh), np.arange(count), floor, found)
    elif count <= EXACT_BELOW:
        every = np.arange(count)
        yield from _within(vectors, every, every, floor, found)
    else:
        cells = yield from _cells(vectors)
        for number, members in enumerate(cells):
            yield number, len(cells), "comparing meanings"
            yield from _within(vectors, members, members, floor, found)
    codes = yield from distinct(found)
    return codes // max(count, 1), codes % max(count, 1)


def distinct(parts: Sequence[NDArray[np.int64]], *, at_once: int = _SORTED_AT_ONCE) -> Steps[NDArray[np.int64]]:
    """Every number once, ascending. Pieces are sorted one at a time; joining sorted pieces takes next to nothing."""
    codes = np.concatenate((np.empty(0, np.int64), *parts))
    for start in range(0, len(codes), at_once):
        codes[start : start + at_once].sort()
        yield start, len(codes), "comparing meanings"
    codes.sort(kind="stable")  # timsort: it finds the sorted pieces
    is_first = np.ones(len(codes), np.bool_)
    is_first[1:] = codes[1:] != codes[:-1]
    return codes[is_first]


def _within(
    vectors: NDArray[np.float32],
    rows: NDArray[np.int64],
    others: NDArray[np.int64],
    floor: float,
    found: list[NDArray[np.int64]],
) -> Steps[None]:
    """Adds the codes i * n + j of the closest pairs between `rows` and `others`."""
    beside = vectors if len(others) == len(vectors) else vectors[others]
    at_once = max(1, min(_BLOCK, _SCORES_AT_ONCE // max(len(others), 1)))
    for start in range(0, len(rows), at_once):
        block = rows[start : start + at_once]
        scores = vectors[block] @ beside.T
        scores[block[:, None] == others[None, :]] = -1.0
        if scores.shape[1] > _PER_VECTOR:
            nearest = np.argpartition(-scores, _PER_VECTOR, axis=1)[:, :_PER_VECTOR]
        else:
            nearest = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
        close = np.take_along_axis(scores, nearest, axis=1) >= floor
        left = np.broadcast_to(block[:, None], nearest.shape)[close].astype(np.int64)
        right = others[nearest[close]].astype(np.int64)
        found.append(np.minimum(left, right) * len(vectors) + np.maximum(left, right))
        yield start + len(block), len(rows), "comparing meanings"


def _cells(vectors: NDArray[np.float32]) -> Steps[list[NDArray[np.int64]]]:
    """Members of each cell, ascending. The centres are evenly spaced rows, moved once to their members' mean."""
    count = len(vectors)
    number = int(count**0.5)
    centres = vectors[np.linspace(0, count - 1, number).astype(np.int64)]
    nearest = np.empty(count, np.int64)
    for start in range(0, count, _BLOCK):
        nearest[start : start + _BLOCK] = np.argmax(vectors[start : start + _BLOCK] @ centres.T, axis=1)
        yield start, count, "comparing meanings"
    moved = np.zeros_like(centres)
    for start in range(0, count, 4 * _BLOCK):
        np.add.at(moved, nearest[start : start + 4 * _BLOCK], vectors[start : start + 4 * _BLOCK])
        yield start, count, "comparing meanings"
    norms = np.linalg.norm(moved, axis=1, keepdims=True)
    centres = np.where(norms > 0, moved / np.maximum(norms, 1e-9), centres).astype(np.float32)
    joined = np.empty((count, _CELLS_PER_VECTOR), np.int64)
    for start in range(0, count, _BLOCK):
        scores = vectors[start : start + _BLOCK] @ centres.T
        joined[start : start + _BLOCK] = np.argpartition(-scores, _CELLS_PER_VECTOR, axis=1)[:, :_CELLS_PER_VECTOR]
        yield start, count, "comparing meanings"
    order = np.argsort(joined.ravel(), kind="stable")
    members = np.repeat(np.arange(count), _CELLS_PER_VECTOR)[order]
    bounds = np.searchsorted(joined.ravel()[order], np.arange(number + 1))
    return [np.sort(members[bounds[n] : bounds[n + 1]]) for n in range(number)]
