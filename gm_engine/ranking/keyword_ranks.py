"""Keyword ranks, computed only as far as an answer needs them.

A common word ranks tens of thousands of facts, and only a handful can reach the answer. The best few hundred get their
exact rank; the others get the best rank they could have, and an exact one once that might matter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gm_engine.ranking.fusion import first_in_order

_EXACT_AT_FIRST = 512
_ONE_BY_ONE = 48  # more open ranks than this are found faster by sorting all

Ints = NDArray[np.int64]


class KeywordRanks:
    """`ranks` has one element per fact of the view, 1-based, 0 = not ranked, too good where `is_open`.

    Ties of the score are broken by age, oldest first, then id.
    """

    def __init__(self, indexes: Ints, scores: NDArray[np.float64], ages: Ints, *, size: int) -> None:
        """`indexes` of the ranked facts into the view of `size` facts; their scores; their places by age."""
        self._indexes = indexes
        self._scores = scores
        self._ages = ages
        self.ranks: Ints = np.zeros(size, np.int64)
        self.is_open: NDArray[np.bool_] = np.zeros(size, np.bool_)
        best = first_in_order(scores, ages, _EXACT_AT_FIRST)
        if len(best) < len(indexes):
            self.ranks[indexes] = len(best) + 1
            self.is_open[indexes] = True
            self.is_open[indexes[best]] = False
        self.ranks[indexes[best]] = np.arange(1, len(best) + 1)

    def settle(self, indexes: Ints) -> bool:
        """Makes the ranks of these facts exact; whether any was open."""
        wanted = indexes[self.is_open[indexes]]
        if len(wanted) == 0:
            return False
        if len(wanted) > _ONE_BY_ONE:
            self.settle_all()
            return True
        for place in np.flatnonzero(np.isin(self._indexes, wanted)).tolist():
            score, age = self._scores[place], self._ages[place]
            above = np.count_nonzero(self._scores > score)
            level = np.count_nonzero(self._ages[self._scores == score] < age)
            self.ranks[self._indexes[place]] = 1 + above + level
        self.is_open[wanted] = False
        return True

    def settle_all(self) -> None:
        """Makes every rank exact."""
        order = first_in_order(self._scores, self._ages, len(self._indexes))
        self.ranks[self._indexes[order]] = np.arange(1, len(order) + 1)
        self.is_open[:] = False
