"""Reciprocal rank fusion, the confidence policy and the order of an answer: pure functions over arrays.

B = w_v/(60 + r_v) + w_k/(60 + r_k) + w_r/(60 + r_r), a rank of 0 contributes nothing   (Cormack et al., 2009)
final = B · (1 + confidence_weight · c), c = +1 verified, 0 inferred, −1 unverified   (confidence-v1)
Order: final descending, then creation ascending, then id ascending: total, because ids are unique.

Every operation below is monotone in floating point, so a rank that is too good gives a score that is not too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gm_engine.records import SignalWeights

RRF_K = 60
POLICY = "confidence-v1"

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SignalRanks:
    """Ranks of facts in the three signals, column by column; 1-based, 0 = not ranked."""

    vector: Ints
    keyword: Ints
    recency: Ints

    def at(self, index: int) -> tuple[int, int, int]:
        """The three ranks of one fact."""
        return int(self.vector[index]), int(self.keyword[index]), int(self.recency[index])


def contribution(weight: float, ranks: Ints) -> Floats:
    """What one signal adds to each base score."""
    added: Floats = np.where(ranks > 0, weight / (RRF_K + ranks), 0.0)
    return added


def base_scores(ranks: SignalRanks, weights: SignalWeights) -> Floats:
    """B of every fact, summed in the order vector, keyword, recency."""
    return (
        contribution(weights.vector, ranks.vector)
        + contribution(weights.keyword, ranks.keyword)
        + contribution(weights.recency, ranks.recency)
    )


def confidence_factors(level: NDArray[np.int8], confidence_weight: float) -> Floats:
    """1 + weight · c for effective levels 2 verified, 1 inferred, 0 unverified."""
    factors: Floats = 1.0 + confidence_weight * (level.astype(np.float64) - 1.0)
    return factors


def first_in_order(scores: Floats, ties: Ints, count: int) -> Ints:
    """Indexes of the first `count` by score descending, then `ties` ascending (unique). Sorts no more than these."""
    size = len(scores)
    if count >= size:
        return np.lexsort((ties, -scores)).astype(np.int64)
    if count <= 0:
        return np.zeros(0, np.int64)
    cut = np.partition(scores, size - count)[size - count]
    above = np.flatnonzero(scores > cut)
    equal = np.flatnonzero(scores == cut)
    missing = count - len(above)
    if len(equal) > missing:
        last = np.partition(ties[equal], missing - 1)[missing - 1]
        equal = equal[ties[equal] <= last]
    chosen = np.concatenate([above, equal])
    order: Ints = chosen[np.lexsort((ties[chosen], -scores[chosen]))]
    return order


def place_of(scores: Floats, ties: Ints, index: int) -> int:
    """The 1-based place of one element in the order of `first_in_order`."""
    score, tie = scores[index], ties[index]
    return 1 + int(np.count_nonzero(scores > score)) + int(np.count_nonzero((scores == score) & (ties < tie)))


@dataclass(frozen=True, slots=True)
class Selection:
    """The answer's indexes in order, and whether the ranking held no more distinct texts above the floor."""

    chosen: tuple[int, ...]
    is_complete: bool


def select(
    ordered: Sequence[int], scores: Floats, text_keys: Sequence[bytes], *, top_k: int, min_relevance: float
) -> Selection:
    """Walks a prefix of the ranking: stops below the floor, skips texts seen before, takes `top_k`.

    `ordered` are indexes into `scores`, best first; `text_keys` goes with `ordered`. The floor is a fraction of the
    best final score; what scores strictly below it is dropped, and so is all that follows.
    """
    if not ordered:
        return Selection((), True)
    floor = min_relevance * float(scores[ordered[0]])
    chosen: list[int] = []
    seen: set[bytes] = set()
    for index, key in zip(ordered, text_keys, strict=True):
        if scores[index] < floor:
            return Selection(tuple(chosen), True)
        if key not in seen:
            seen.add(key)
            chosen.append(index)
            if len(chosen) == top_k:
                return Selection(tuple(chosen), True)
    return Selection(tuple(chosen), False)
