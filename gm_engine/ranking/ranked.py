"""The fused ranking of one request: every fact's score, made exact as far as an answer reaches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gm_engine.ranking.fusion import (
    SignalRanks,
    base_scores,
    confidence_factors,
    first_in_order,
    place_of,
    select,
)
from gm_engine.ranking.keyword import KeywordMatch
from gm_engine.ranking.keyword_ranks import KeywordRanks
from gm_engine.ranking.snapshot import Snapshot, View
from gm_engine.records import SignalWeights

Ints = NDArray[np.int64]
_SPARE = 16  # how much more than top_k is ordered at first: room for duplicates


class Ranked:
    """Scores over the facts of a view. Indexes are into the view's columns.

    A keyword rank that is still open counts as the best it can be, so an open score is never too low: once all of the
    first n are exact, they are the first n.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        view: View,
        *,
        vector: Ints,
        match: KeywordMatch,
        weights: SignalWeights,
        confidence_weight: float,
    ) -> None:
        """`vector` has the vector rank of each fact; a weight of 0 switches a signal off: its ranks become 0."""
        self._snapshot = snapshot
        self._view = view
        self._weights = weights
        ranked = match.ranked if weights.keyword > 0 else match.ranked[:0]
        indexes = view.slot[ranked]
        self._keyword = KeywordRanks(indexes, match.scores[ranked], view.age_rank[indexes], size=view.count)
        nothing = np.zeros(view.count, np.int64)
        self.ranks = SignalRanks(
            vector if weights.vector > 0 else nothing,
            self._keyword.ranks,
            view.recency_rank if weights.recency > 0 else nothing,
        )
        self._confidence_weight = confidence_weight
        self.factors = confidence_factors(view.level, confidence_weight)
        self._matched = np.flatnonzero((self.ranks.vector > 0) | (self.ranks.keyword > 0))
        self._rescore()

    def _rescore(self) -> None:
        """Most facts are ranked by recency alone, whose part of the score is kept; the others are computed."""
        at, ranks, weights = self._matched, self.ranks, self._weights
        self.base = (
            self._view.recency_scores(weights.recency).copy() if weights.recency > 0 else np.zeros(self._view.count)
        )
        few = SignalRanks(ranks.vector[at], ranks.keyword[at], ranks.recency[at])
        self.base[at] = base_scores(few, weights)
        self.final = self.base * self.factors if self._confidence_weight > 0 else self.base

    def first(self, count: int) -> Ints:
        """The first `count` facts of the ranking in exact order, duplicates included."""
        while True:
            order = first_in_order(self.final, self._view.age_rank, count)
            if not self._keyword.settle(order):
                return order
            self._rescore()

    def settle_all(self) -> None:
        """Makes every score exact."""
        self._keyword.settle_all()
        self._rescore()

    def place(self, index: int) -> int:
        """The 1-based place of one fact in the ranking, duplicates counted. Call `settle_all` first."""
        return place_of(self.final, self._view.age_rank, index)

    def text_keys(self, order: Ints) -> list[bytes]:
        """The text keys of some facts."""
        return [self._snapshot.text_key(int(position)) for position in self._view.positions[order]]

    def take(self, top_k: int, min_relevance: float) -> tuple[int, ...]:
        """The answer: the first `top_k` distinct texts above the floor, in order."""
        count = 2 * top_k + _SPARE
        while True:
            order = self.first(count)
            chosen = select(order.tolist(), self.final, self.text_keys(order), top_k=top_k, min_relevance=min_relevance)
            if chosen.is_complete or count >= self._view.count:
                return chosen.chosen
            count *= 4
