"""Short outlines of long vectors: they rule out most rows of a large table for a quarter of the reading.

The outline of a row x is its projection h = V'x on a few directions V in which the table's vectors differ most, and a
bound of what the projection leaves out. With V'V = I + E, |E| <= e, and the remainders r_x = x - Vh, r_q = q - Vg:

    x.q = h.g - h'Eg + r_x.r_q,   so that   |x.q - h.g| <= |r_x| |r_q| + e |x| |q| (1 + e)     (Cauchy-Schwarz)

A row whose bound stays below the count-th best of some exact similarities cannot be among the first `count`. What is
left is compared exactly: the answer does not depend on the directions, only the time does.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from gm_engine.vectors.table import BLOCK_ROWS, VectorTable

Floats = NDArray[np.float32]

MIN_ROWS = 16_384
"""Below, reading every vector takes no longer than two milliseconds."""

DIRECTIONS = 96
_STEP_ROWS = 2048  # outlined per search: the work is spread, no search waits for all of it
_SAMPLE_ROWS = 4096
_PROBES = 4  # exact similarities looked at for the bound, per fact asked for
_GATHER = 12  # a row read out of order costs as much as so many in order
_PATIENCE = 16  # searches that gained nothing until the outlines are given up
_UNIT = 2.0**-24


@dataclass(frozen=True, slots=True)
class _Directions:
    """`axes` has one column per direction; `skew` bounds |V'V - I|; `spread` what a float32 projection may be off.

    `seen` rows were looked at to choose them.
    """

    axes: Floats
    skew: float
    spread: float
    seen: int


@dataclass(frozen=True, slots=True)
class _State:
    """The outlines of the first `size` rows, in blocks as the table has them. `forgotten` as the table counts it."""

    size: int
    heads: tuple[Floats, ...]
    rests: tuple[Floats, ...]
    longest: float
    forgotten: int


class Outline:
    """The outlines of a table's rows, made piece by piece while searches go on. Safe to use from any thread."""

    def __init__(self, table: VectorTable, *, min_rows: int = MIN_ROWS, directions: int = DIRECTIONS) -> None:
        self._table = table
        self._min_rows = min_rows
        self._count = directions
        self._directions: _Directions | None = None
        self._state = _State(0, (), (), 0.0, 0)
        self._futile = 0
        self._lock = Lock()

    def candidates(self, query: NDArray[np.int16], rows: NDArray[np.int32], count: int) -> NDArray[np.intp] | None:
        """Positions into `rows` among which the `count` most similar are; None where reading all is quicker.

        Positions with row -1 are left out.
        """
        size = self._table.size
        if size < self._min_rows or len(rows) * _GATHER < size or self._futile >= _PATIENCE:
            return None
        if self._table.dims < 2 * self._count:
            return None
        self._extend(size)
        directions, state = self._directions, self._state
        if directions is None or state.size < size or state.forgotten != self._table.forgotten:
            return None
        found = self._survivors(directions, state, query, rows, count=count)
        self._futile = max(0, self._futile - 1) if found is not None else self._futile + 1
        return found

    def alive(self, query: NDArray[np.int16], similarity: int, size: int) -> NDArray[np.bool_] | None:
        """For each of the first `size` rows whether its similarity may reach this one; None while that is not known."""
        self._extend(size)
        directions, state = self._directions, self._state
        if directions is None or state.size < size or state.forgotten != self._table.forgotten:
            return None
        _, bounds = _bounds(directions, state, query)
        return bounds[:size] >= _below(similarity)

    def _survivors(
        self,
        directions: _Directions,
        state: _State,
        query: NDArray[np.int16],
        rows: NDArray[np.int32],
        *,
        count: int,
    ) -> NDArray[np.intp] | None:
        likely, bounds = _bounds(directions, state, query)
        scores = likely[rows]
        probed = min(_PROBES * count, len(rows))
        first = np.argpartition(scores, len(rows) - probed)[len(rows) - probed :] if probed < len(rows) else None
        nearest = np.arange(len(rows)) if first is None else first
        nearest = nearest[rows[nearest] >= 0]
        if len(nearest) < count:
            return None
        exact = self._table.dot(query, rows[nearest])
        alive = bounds >= _below(int(np.partition(exact, len(exact) - count)[len(exact) - count]))
        alive[-1] = False
        if np.count_nonzero(alive) * _GATHER > state.size:
            return None
        return np.flatnonzero(alive[rows])

    def _extend(self, size: int) -> None:
        """Outlines some more rows, unless another thread is at it."""
        if self._state.size >= size and self._state.forgotten == self._table.forgotten:
            return
        if not self._lock.acquire(blocking=False):
            return
        try:
            directions, state, forgotten = self._directions, self._state, self._table.forgotten
            outgrown = directions is not None and directions.seen < min(size, _SAMPLE_ROWS) // 4
            if state.forgotten != forgotten or outgrown:  # what was forgotten must not linger in an outline
                state = _State(0, (), (), 0.0, forgotten)
            if directions is None or outgrown:
                directions = _main_directions(self._table, size, self._count)
            self._state = self._outlined(directions, state, min(size, state.size + _STEP_ROWS))
            self._directions = directions
        finally:
            self._lock.release()

    def _outlined(self, directions: _Directions, state: _State, stop: int) -> _State:
        heads, rests = list(state.heads), list(state.rests)
        longest = state.longest
        start = state.size
        while start < stop:
            number, inside = divmod(start, BLOCK_ROWS)
            if number == len(heads):
                heads.append(np.empty((BLOCK_ROWS, directions.axes.shape[1]), np.float32))
                rests.append(np.empty(BLOCK_ROWS, np.float32))
            here = min(stop - start, BLOCK_ROWS - inside)
            codes = self._table.codes(np.arange(start, start + here, dtype=np.int32))
            heads[number][inside : inside + here], rests[number][inside : inside + here], norm = _project(
                directions, codes
            )
            longest = max(longest, norm)
            start += here
        return _State(stop, tuple(heads), tuple(rests), longest, state.forgotten)


def _main_directions(table: VectorTable, size: int, count: int) -> _Directions:
    """The directions in which an even sample of the rows is longest; any others would only rule out less."""
    step = max(1, size // _SAMPLE_ROWS)
    sample = table.codes(np.arange(0, size, step, dtype=np.int32)[:_SAMPLE_ROWS])
    _, vectors = np.linalg.eigh(sample.T @ sample)  # about right is enough: how far from right angles is measured
    axes = np.ascontiguousarray(vectors[:, ::-1][:, : min(count, table.dims)], dtype=np.float32)
    wide = axes.astype(np.float64)
    skew = float(np.linalg.norm(wide.T @ wide - np.eye(wide.shape[1]))) + 1e-12
    return _Directions(axes, skew, _gamma(table.dims) * float(np.linalg.norm(wide)), len(sample))


def _project(directions: _Directions, codes: Floats) -> tuple[Floats, Floats, float]:
    """Projections of rows, upper bounds of the length of each remainder, and the length of the longest row.

    |r|^2 = |x|^2 - |h|^2 + h'Eh, and a projection made in float32 is off by at most `spread` |x|.
    """
    heads = codes @ directions.axes
    wide = heads.astype(np.float64)
    squares = np.einsum("ij,ij->i", codes, codes, dtype=np.float64)
    inside = np.einsum("ij,ij->i", wide, wide)
    off = directions.spread
    slack = (directions.skew * (1 + directions.skew) + off * (2 + 2 * directions.skew + off) + 1e-12) * squares
    rest = np.sqrt(np.maximum(squares - inside, 0.0) + slack) * (1 + 4 * _UNIT)
    return heads, rest.astype(np.float32), float(np.sqrt(squares.max(initial=0.0)))


def _bounds(directions: _Directions, state: _State, query: NDArray[np.int16]) -> tuple[Floats, Floats]:
    """For each row, and one more for row -1: about its similarity, and what it cannot exceed."""
    single = query.astype(np.float32)[None, :]
    head, rest, length = _project(directions, single)
    likely = np.empty(state.size + 1, np.float32)
    bounds = np.empty(state.size + 1, np.float32)
    likely[-1] = bounds[-1] = -np.inf
    for number, block in enumerate(state.heads):
        start = number * BLOCK_ROWS
        stop = min(start + BLOCK_ROWS, state.size)
        np.dot(block[: stop - start], head[0], out=likely[start:stop])
        np.multiply(state.rests[number][: stop - start], rest[0], out=bounds[start:stop])
    bounds += likely
    # what rounding, the projections of both sides and directions that are not quite at right angles may hide
    skew, spread = directions.skew, directions.spread
    off = 2 * spread * (1 + spread + skew) + skew * (1 + skew)
    off += _gamma(len(head[0]) + 16) * (1 + spread + skew) ** 2
    bounds += np.float32(off * length * state.longest * (1 + 4 * _UNIT))
    return likely, bounds


def _gamma(terms: int) -> float:
    """The relative error of a float32 sum of so many products (Higham, Accuracy and Stability, section 3.1)."""
    return terms * _UNIT / (1 - terms * _UNIT)


def _below(similarity: int) -> np.float32:
    """The nearest float32 that is surely smaller."""
    return np.float32(np.nextafter(np.float32(similarity), np.float32(-np.inf)))
