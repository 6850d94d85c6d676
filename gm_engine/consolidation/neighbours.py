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
from gm_engine.vectors.table import VectorTable

EXACT_BELOW = 3000
GATHERED = 2000
_BLOCK = 512
_SCORES_AT_ONCE = _BLOCK * EXACT_BELOW
_SORTED_AT_ONCE = 1 << 17
_CELLS_PER_VECTOR = 3
_PER_VECTOR = 8


Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


class FactVectors:
    """The normalised vectors of texts by position, zero where there is none; gathered when they are asked for."""

    def __init__(self, table: VectorTable, text_keys: Sequence[bytes]) -> None:
        self._table = table
        self._places = table.rows(text_keys)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def are_none(self) -> bool:
        """Whether no text has a vector."""
        return not np.any(self._places >= 0)

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """A row for each position."""
        places = self._places[positions]
        known = np.flatnonzero(places >= 0)
        found = np.zeros((len(places), self._table.dims), np.float32)
        codes = self._table.codes(places[known])
        found[known] = codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1.0)
        return found

    def all(self) -> Steps[NDArray[np.float32]]:
        """All rows, gathered in pieces."""
        found = np.empty((len(self), self._table.dims), np.float32)
        for start in range(0, len(self), GATHERED):
            found[start : start + GATHERED] = self.at(np.arange(start, min(start + GATHERED, len(self))))
            yield start, len(self), "comparing meanings"
        return found


def close_to(vectors: FactVectors, rows: NDArray[np.int64], *, floor: float) -> Steps[Pairs]:
    """Pairs (i < j) of one of `rows` and any other position with a cosine of at least `floor`, the closest of each."""
    count = len(vectors)
    found: list[NDArray[np.int64]] = []
    for start in range(0, len(rows), _BLOCK):
        some = rows[start : start + _BLOCK]
        near = yield from _nearest(vectors, some, floor)
        left = np.repeat(some, [len(each) for each in near])
        right = np.concatenate((np.empty(0, np.int64), *near))
        found.append(np.minimum(left, right) * count + np.maximum(left, right))
    codes = yield from distinct(found)
    return codes // max(count, 1), codes % max(count, 1)


def _nearest(vectors: FactVectors, rows: NDArray[np.int64], floor: float) -> Steps[list[NDArray[np.int64]]]:
    """The closest positions for each of `rows`, found a stretch of positions at a time."""
    own = vectors.at(rows)
    close: list[NDArray[np.int64]] = [np.empty(0, np.int64) for _ in rows]
    scored: list[NDArray[np.float32]] = [np.empty(0, np.float32) for _ in rows]
    for start in range(0, len(vectors), GATHERED):
        others = np.arange(start, min(start + GATHERED, len(vectors)))
        scores = own @ vectors.at(others).T
        scores[rows[:, None] == others[None, :]] = -1.0
        for n in np.flatnonzero((scores >= floor).any(axis=1)).tolist():
            here = np.flatnonzero(scores[n] >= floor)
            places, known = np.concatenate((close[n], others[here])), np.concatenate((scored[n], scores[n][here]))
            best = np.argsort(-known, kind="stable")[:_PER_VECTOR]
            close[n], scored[n] = places[best], known[best]
        yield start, len(vectors), "comparing meanings"
    return close


def close_pairs(vectors: NDArray[np.float32], *, floor: float) -> Steps[Pairs]:
    """Pairs (i < j) of rows with a cosine of at least `floor`, at most some per row; rows must be normalised."""
    count = len(vectors)
    found: list[NDArray[np.int64]] = []
    if count <= EXACT_BELOW:
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
