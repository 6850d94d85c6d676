"""The ranks of one query, kept so that other weights re-rank in microseconds and without the store.

Ranks do not depend on the weights. So only those facts are kept that some weights could bring into the answer: all that
the vector signal ranked, and of the others those that fewer than `depth` distinct texts of the same confidence level
beat in keyword and recency alike. (A fact that is beaten in every signal is beaten under all weights.) Re-ranking these
few with the engine's own arithmetic gives the engine's answer, bit for bit.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gm_engine.config import check_confidence_weight, check_fraction, check_signal_weights
from gm_engine.ranking.fusion import (
    SignalRanks,
    base_scores,
    confidence_factors,
    contribution,
    first_in_order,
    select,
)
from gm_engine.ranking.recall import Evaluation, Ranker, RecallRequest
from gm_engine.records import Coverage, Fact, SignalWeights

DEEPEST = 32
"""Places of the ranking that are kept exact, at least."""

_CHUNK = 1024

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabSetting:
    """What the ranking lab moves without asking the store."""

    signal_weights: SignalWeights
    confidence_weight: float
    min_relevance: float


@dataclass(frozen=True, slots=True)
class Standing:
    """A fact in a re-ranked answer.

    `place` is 1-based. `place_before` is its place under the saved setting, None where that was beyond the table's
    depth (or below its floor). Ranks are 1-based, 0 = not ranked or switched off. `vector`, `keyword` and `recency`
    are the shares of `base_score`; final = base x factor.
    """

    fact: Fact
    place: int
    place_before: int | None
    vector_rank: int
    keyword_rank: int
    recency_rank: int
    vector: float
    keyword: float
    recency: float
    base_score: float
    factor: float
    final_score: float

    @property
    def delta(self) -> int | None:
        """How many places the fact has risen; None for one that is new."""
        return None if self.place_before is None else self.place_before - self.place


@dataclass(frozen=True, slots=True)
class RankTable:
    """Everything that re-ranking one query needs. `saved` is the setting of the request; `top_k` facts are returned.

    Columns have one element per candidate, in the order of `facts`.
    """

    facts: tuple[Fact, ...]
    text_keys: tuple[bytes, ...]
    ranks: SignalRanks
    level: NDArray[np.int8]
    age_rank: Ints
    saved: LabSetting
    top_k: int
    depth: int
    coverage: Coverage

    def rerank(
        self,
        signal_weights: SignalWeights | None = None,
        confidence_weight: float | None = None,
        min_relevance: float | None = None,
    ) -> tuple[Standing, ...]:
        """The answer under another setting; what is left out stays as saved. `InvalidInput` names a bad value."""
        setting = LabSetting(
            self.saved.signal_weights if signal_weights is None else check_signal_weights(signal_weights),
            self.saved.confidence_weight if confidence_weight is None else check_confidence_weight(confidence_weight),
            self.saved.min_relevance if min_relevance is None else check_fraction("min_relevance", min_relevance),
        )
        before = {index: place for place, index in enumerate(self._order(self.saved, self.depth), 1)}
        weights, ranks = setting.signal_weights, _switched(self.ranks, setting.signal_weights)
        base = base_scores(ranks, weights)
        factors = confidence_factors(self.level, setting.confidence_weight)
        standings = []
        for place, index in enumerate(self._order(setting, self.top_k), 1):
            vector_rank, keyword_rank, recency_rank = ranks.at(index)
            standings.append(
                Standing(
                    fact=self.facts[index],
                    place=place,
                    place_before=before.get(index),
                    vector_rank=vector_rank,
                    keyword_rank=keyword_rank,
                    recency_rank=recency_rank,
                    vector=_share(weights.vector, vector_rank),
                    keyword=_share(weights.keyword, keyword_rank),
                    recency=_share(weights.recency, recency_rank),
                    base_score=float(base[index]),
                    factor=float(factors[index]),
                    final_score=float(base[index] * factors[index]),
                )
            )
        return tuple(standings)

    def _order(self, setting: LabSetting, count: int) -> tuple[int, ...]:
        ranks = _switched(self.ranks, setting.signal_weights)
        final = base_scores(ranks, setting.signal_weights)
        if setting.confidence_weight > 0:
            final = final * confidence_factors(self.level, setting.confidence_weight)
        order = first_in_order(final, self.age_rank, len(final)).tolist()
        keys = [self.text_keys[index] for index in order]
        return select(order, final, keys, top_k=count, min_relevance=setting.min_relevance).chosen


def make_rank_table(ranker: Ranker, request: RecallRequest, *, deepest: int = DEEPEST) -> RankTable:
    """The table of one request, exact for `deepest` places or all that are asked for. Raises what a recall raises."""
    everything = SignalWeights(1.0, 1.0, 1.0)  # a signal that is off now may be turned on
    with ranker.evaluate(replace(request, signal_weights=everything)) as evaluation:
        ranked = evaluation.ranked()
        ranked.settle_all()
        depth = max(request.wanted, deepest)
        indexes = _candidates(evaluation, ranked.ranks, depth)
        view = evaluation.view
        return RankTable(
            facts=tuple(evaluation.bodies(indexes.tolist())),
            text_keys=tuple(ranked.text_keys(indexes)),
            ranks=SignalRanks(ranked.ranks.vector[indexes], ranked.ranks.keyword[indexes], view.recency_rank[indexes]),
            level=view.level[indexes],
            age_rank=view.age_rank[indexes],
            saved=LabSetting(request.signal_weights, request.confidence_weight, request.min_relevance),
            top_k=request.wanted,
            depth=depth,
            coverage=evaluation.coverage(),
        )


def _candidates(evaluation: Evaluation, ranks: SignalRanks, depth: int) -> Ints:
    """Indexes into the view of the facts that some weights could bring into the first `depth` places."""
    view = evaluation.view
    keys = evaluation.snapshot.text_keys[view.positions]
    found = [np.flatnonzero(ranks.vector > 0)]
    for level in np.unique(view.level):
        here = np.flatnonzero((view.level == level) & (ranks.vector == 0))
        unranked = here[ranks.keyword[here] == 0]
        found.append(_unbeaten(here, ranks, keys, depth))
        found += [
            _oldest(some, view.age_rank, keys, depth) for some in (here, unranked)
        ]  # with equal scores, age counts
    return np.unique(np.concatenate(found)).astype(np.int64)


def _unbeaten(indexes: Ints, ranks: SignalRanks, keys: NDArray[np.uint64], depth: int) -> Ints:
    """Those of `indexes` that fewer than `depth` distinct texts beat in both keyword and recency."""
    last = np.iinfo(np.int64).max
    keyword = np.where(ranks.keyword[indexes] > 0, ranks.keyword[indexes], last)
    ordered = indexes[np.lexsort((ranks.recency[indexes], keyword))]
    chosen: list[int] = []
    newest: dict[bytes, int] = {}  # the best recency rank of each text so far, while it is among the `depth` best
    best: list[int] = []
    for index, recency in _promising(ordered, ranks.recency, best, depth):
        chosen.append(index)
        key = keys[index].tobytes()
        known = newest.get(key)
        if known is not None:
            if recency >= known:
                continue
            del best[bisect_left(best, known)]
        newest[key] = recency
        insort(best, recency)
        if len(best) > depth:
            dropped = best.pop()
            newest = {text: rank for text, rank in newest.items() if rank != dropped}
    return np.array(chosen, np.int64)


def _promising(ordered: Ints, recency: Ints, best: Sequence[int], depth: int) -> Iterator[tuple[int, int]]:
    """(index, recency rank) of those that `best`, which the caller fills meanwhile, does not rule out."""
    for start in range(0, len(ordered), _CHUNK):
        chunk = ordered[start : start + _CHUNK]
        if len(best) >= depth:
            chunk = chunk[recency[chunk] < best[-1]]
        for index, rank in zip(chunk.tolist(), recency[chunk].tolist(), strict=True):
            if len(best) < depth or rank < best[-1]:
                yield index, rank


def _oldest(indexes: Ints, age_rank: Ints, keys: NDArray[np.uint64], depth: int) -> Ints:
    """The oldest of `indexes` that hold `depth` distinct texts."""
    count = depth
    while True:
        order = first_in_order(np.zeros(len(indexes)), age_rank[indexes], count)
        texts = {keys[index].tobytes() for index in indexes[order].tolist()}
        if len(texts) >= depth or count >= len(indexes):
            return indexes[order]
        count *= 2


def _switched(ranks: SignalRanks, weights: SignalWeights) -> SignalRanks:
    """Ranks as a receipt shows them: 0 where the signal is off."""
    nothing = np.zeros(len(ranks.vector), np.int64)
    return SignalRanks(
        ranks.vector if weights.vector > 0 else nothing,
        ranks.keyword if weights.keyword > 0 else nothing,
        ranks.recency if weights.recency > 0 else nothing,
    )


def _share(weight: float, rank: int) -> float:
    return float(contribution(weight, np.array([rank]))[0])
