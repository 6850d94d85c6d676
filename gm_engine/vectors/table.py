"""All vectors of one model in memory, following the ledger; float32 finds candidates, integers decide.

A row holds the integer codes of one distinct text as float32, which represents them exactly. Row numbers never change
while the table lives. Rows are stored in blocks that are only ever appended to, so that a reader needs no lock. A row
whose vector was dropped from the ledger is wiped and forgotten: no text leads to it any more.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from gm_engine.store.vectors import Model, VectorRows, find_model, stored_keys, vector_state, vectors_since

_BLOCK_BITS = 13
BLOCK_ROWS = 1 << _BLOCK_BITS
FORGOTTEN = b""
_CHUNK_ROWS = 2048  # rows gathered at once: 3 MB stay in the processor's cache
_GATHER_BELOW = 12  # gathering a row costs about ten times as much as reading one in order (measured)
_FLOAT32_UNIT = 2.0**-24


@dataclass(frozen=True, slots=True)
class _Rows:
    """One published state: `size` rows in `blocks`, the longest of them with the norm `max_norm`."""

    size: int
    blocks: tuple[NDArray[np.float32], ...]
    max_norm: float


class VectorTable:
    """The vectors of `model`. `refresh` may run in any thread, the others beside it.

    `dims` 0 stands for a model that has not said yet how long its vectors are; the ledger's vectors say it.
    """

    def __init__(self, model: str, dims: int) -> None:
        self.model = model
        self.dims = dims
        self.vec_seq = 0
        self._rows = _Rows(0, (), 0.0)
        self._keys: list[bytes] = []
        self._row_of: dict[bytes, int] = {}
        self._vec_seqs = array("q")
        self._drops = 0
        self._forgotten: list[int] = []
        self._lock = Lock()

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self._rows.size

    @property
    def drops(self) -> int:
        """How often vectors were dropped from the ledger, by what this table has seen."""
        return self._drops

    @property
    def forgotten(self) -> int:
        """How many rows were wiped; when it grows, rows that were looked up before may be among them."""
        return len(self._forgotten)

    def refresh(self, connection: Connection, *, partly: bool = False) -> bool:
        """Adds the vectors that the ledger has gained, forgets those it dropped. One look-up when nothing happened.

        With `partly` some thousand at most are added; whether there may be more.
        """
        state = vector_state(connection)
        if state.newest <= self.vec_seq and state.drops <= self._drops:
            return False
        with self._lock:
            model = find_model(connection, self.model)
            if model is not None and self.dims in (0, model.dims):
                self.dims = model.dims
                had_rows = self.size > 0
                for rows in vectors_since(connection, model, self.vec_seq):
                    self.append(rows)
                    if partly:
                        return True
                if had_rows and state.drops > self._drops:
                    self._forget_dropped(connection, model)
            elif model is None:
                self._forget([*self._row_of])
            self.vec_seq = max(self.vec_seq, state.newest)
            self._drops = max(self._drops, state.drops)
        return False

    def _forget_dropped(self, connection: Connection, model: Model) -> None:
        stored = stored_keys(connection, model)
        self._forget([key for key in self._row_of if key not in stored])

    def _forget(self, keys: Sequence[bytes]) -> None:
        """Wipes rows. A reader that still holds their numbers finds zeros, and no fact: the texts are gone."""
        blocks = self._rows.blocks
        for key in keys:
            row = self._row_of.pop(key)
            self._keys[row] = FORGOTTEN
            blocks[row >> _BLOCK_BITS][row & (BLOCK_ROWS - 1)] = 0
            insort(self._forgotten, row)

    def append(self, rows: VectorRows) -> None:
        """Adds rows that are newer than all others. Only one thread at a time may add."""
        self._forget([key for key in rows.keys if key in self._row_of])  # dropped and embedded again
        state = self._rows
        blocks = list(state.blocks)
        codes = rows.codes.astype(np.float32)
        norm = float(np.sqrt(np.einsum("ij,ij->i", codes, codes, dtype=np.float64).max(initial=0.0)))
        done = 0
        while done < len(codes):
            at = state.size + done
            if at >> _BLOCK_BITS == len(blocks):
                blocks.append(np.empty((BLOCK_ROWS, self.dims), dtype=np.float32))
            inside = at & (BLOCK_ROWS - 1)
            piece = codes[done : done + BLOCK_ROWS - inside]
            blocks[-1][inside : inside + len(piece)] = piece
            done += len(piece)
        self._keys.extend(rows.keys)
        self._vec_seqs.extend(rows.vec_seqs.tolist())
        # published before the keys, so that a row that a reader learns of is there
        self._rows = _Rows(state.size + done, tuple(blocks), max(state.max_norm, norm))
        self._row_of.update(zip(rows.keys, range(state.size, state.size + done), strict=True))
        self.vec_seq = int(rows.vec_seqs[-1])

    def rows(self, text_keys: Sequence[bytes]) -> NDArray[np.int32]:
        """The row of each text, -1 where it has no vector yet."""
        return np.fromiter(map(self._row_of.get, text_keys, repeat(-1)), dtype=np.int32, count=len(text_keys))

    def keys(self, start: int, stop: int) -> list[bytes]:
        """The text keys of the rows `start` up to `stop`; `FORGOTTEN` for those that were wiped."""
        return self._keys[start:stop]

    def vec_seq_of(self, row: int) -> int:
        """The ledger's `vec_seq` of a row."""
        return self._vec_seqs[row]

    def rows_through(self, vec_seq: int) -> int:
        """How many rows have that `vec_seq` or an earlier one; they are the first ones."""
        return bisect_right(self._vec_seqs, vec_seq, hi=self.size)

    def remembered(self, stop: int) -> int:
        """How many of the rows before `stop` were not wiped."""
        return stop - bisect_left(self._forgotten, stop)

    def codes(self, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """The integer codes of rows (none of them -1) as float32, shape (len(rows), dims)."""
        return _gather(self._rows, rows, self.dims)

    def dot(self, query: NDArray[np.int16], rows: NDArray[np.int32]) -> NDArray[np.int64]:
        """The exact integer dot product of `query` with each row; no row may be -1.

        Sums of products of 16-bit integers stay far below 2**53, so float64 adds them without rounding, in any order.
        """
        exact = query.astype(np.float64)
        result = np.empty(len(rows), dtype=np.int64)
        for start in range(0, len(rows), _CHUNK_ROWS):
            part = slice(start, start + _CHUNK_ROWS)
            result[part] = self.codes(rows[part]).astype(np.float64) @ exact
        return result

    def margin(self, query: NDArray[np.int16]) -> float:
        """How far a float32 dot product of `query` with any row can be from the exact one.

        In any order of summation |fl(x.y) - x.y| <= g * sum|x_i y_i| with g = n u / (1 - n u), u = 2**-24 (Higham,
        Accuracy and Stability of Numerical Algorithms, section 3.1), and sum|x_i y_i| <= |x| |y|.
        """
        gamma = self.dims * _FLOAT32_UNIT / (1 - self.dims * _FLOAT32_UNIT)
        return gamma * float(np.linalg.norm(query.astype(np.float64))) * self._rows.max_norm

    def candidates(self, query: NDArray[np.int16], rows: NDArray[np.int32], count: int) -> NDArray[np.intp]:
        """Positions into `rows` that hold every one that can be among the `count` most similar, and few others.

        Positions with row -1 are left out. Let t be the count-th largest float32 score and m the margin: the count-th
        largest exact score is at least t - m, and whoever reaches that has a float32 score of at least t - 2 m.
        """
        scores = self._scores(query, rows)
        if count < len(scores):
            largest = np.partition(scores, len(scores) - count)[len(scores) - count]
            if largest > -np.inf:
                floor = np.nextafter(np.float32(float(largest) - 2 * self.margin(query)), np.float32(-np.inf))
                return np.flatnonzero(scores >= floor)
        return np.flatnonzero(rows >= 0)

    def _scores(self, query: NDArray[np.int16], rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """A float32 score for each position, minus infinity where the row is -1."""
        state, single = self._rows, query.astype(np.float32)
        if len(rows) * _GATHER_BELOW < state.size:
            known = np.flatnonzero(rows >= 0)
            scores = np.full(len(rows), -np.inf, dtype=np.float32)
            for start in range(0, len(known), _CHUNK_ROWS):
                part = known[start : start + _CHUNK_ROWS]
                scores[part] = _gather(state, rows[part], self.dims) @ single
            return scores
        everything = np.empty(state.size + 1, dtype=np.float32)
        everything[-1] = -np.inf  # what row -1 picks
        for number, block in enumerate(state.blocks):
            start = number << _BLOCK_BITS
            stop = min(start + BLOCK_ROWS, state.size)
            np.dot(block[: stop - start], single, out=everything[start:stop])
        return everything[rows]


def _gather(state: _Rows, rows: NDArray[np.int32], dims: int) -> NDArray[np.float32]:
    if len(state.blocks) == 1:
        return np.take(state.blocks[0], rows, axis=0)
    result = np.empty((len(rows), dims), dtype=np.float32)
    block_of = rows >> _BLOCK_BITS
    for number in np.unique(block_of):
        here = np.flatnonzero(block_of == number)
        result[here] = np.take(state.blocks[number], rows[here] & (BLOCK_ROWS - 1), axis=0)
    return result
