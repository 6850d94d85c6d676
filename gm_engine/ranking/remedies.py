"""The smallest change of one setting that brings a fact into an answer.

A final score is a straight line in each weight, so two facts change places only where their lines cross. Walking away
from the present value, each crossing moves one fact past ours; the first place where few enough are left above is the
smallest change. What is proposed was tried with the real ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gm_engine.config import MAX_CONFIDENCE_WEIGHT
from gm_engine.ranking.fusion import SignalRanks, contribution
from gm_engine.ranking.keyword import match_keywords
from gm_engine.ranking.ranked import Ranked
from gm_engine.ranking.recall import Evaluation, RecallRequest
from gm_engine.records import SignalWeights

Knob = Literal[
    "vector", "keyword", "recency", "confidence_weight", "coverage_gate", "min_relevance", "min_confidence", "top_k"
]
Floats = NDArray[np.float64]
_MAX_WEIGHT = 1000.0
_SLACK = 0.02  # how much further than needed a proposal may go, as a share of the change
_TRIES = 48  # values tried with the real ranking in one direction


@dataclass(frozen=True, slots=True)
class Remedy:
    """One setting changed from `before` to `after`, all others as they are, brings the fact in."""

    knob: Knob
    before: float | str
    after: float | str


@dataclass(frozen=True, slots=True)
class Line:
    """Final scores as functions of one weight: `fixed` + `slope` × weight, one element per fact."""

    fixed: Floats
    slope: Floats


class Search:
    """Looks for remedies for the fact at `index` of an evaluated request, whose present ranking is `ranked`.

    `evaluation` was made with every signal on; `request` is what was asked.
    """

    def __init__(self, evaluation: Evaluation, request: RecallRequest, ranked: Ranked, index: int) -> None:
        self._evaluation = evaluation
        self._request = request
        self._ranked = ranked
        self._index = index

    def weights(self) -> tuple[Remedy, ...]:
        """For each weight the smallest change that works; the smallest of all comes first."""
        request, now = self._request, self._request.signal_weights
        found = []
        settings: list[tuple[Knob, float, float, Callable[[float], RecallRequest]]] = [
            ("vector", now.vector, _MAX_WEIGHT, lambda w: _weighted(request, replace(now, vector=w))),
            ("keyword", now.keyword, _MAX_WEIGHT, lambda w: _weighted(request, replace(now, keyword=w))),
            ("recency", now.recency, _MAX_WEIGHT, lambda w: _weighted(request, replace(now, recency=w))),
            (
                "confidence_weight",
                request.confidence_weight,
                MAX_CONFIDENCE_WEIGHT,
                lambda w: replace(request, confidence_weight=w),
            ),
        ]
        for knob, present, highest, changed in settings:
            for value in self._values(self._line(knob), present, highest):
                if self._brings_in(changed(value)):
                    found.append((abs(value - present), Remedy(knob, present, value)))
                    break
        return tuple(remedy for _, remedy in sorted(found, key=lambda pair: pair[0]))

    def gate(self) -> tuple[Remedy, ...]:
        """A lower coverage gate, where the fact shares a term with the query and the gate keeps it out."""
        match, request = self._evaluation.match, self._request
        position = int(self._evaluation.view.positions[self._index])
        share = float(match.mass[position] / match.total_mass) if match.total_mass > 0 else 0.0
        if not 0 < share < request.coverage_gate:
            return ()
        lower = float(np.nextafter(share, 0.0))
        opened = match_keywords(self._evaluation.snapshot, self._evaluation.view, self._evaluation.query, gate=lower)
        ranked = replace(self._evaluation, match=opened).ranked(request.signal_weights, request.confidence_weight)
        if self._index in ranked.take(request.wanted, request.min_relevance):
            return (Remedy("coverage_gate", request.coverage_gate, lower),)
        return ()

    def floor(self) -> tuple[Remedy, ...]:
        """A lower relevance floor."""
        best = float(self._ranked.final.max())
        score = float(self._ranked.final[self._index])
        lower = float(np.nextafter(score / best, 0.0)) if best > 0 else 0.0
        if self._brings_in(replace(self._request, min_relevance=max(lower, 0.0))):
            return (Remedy("min_relevance", self._request.min_relevance, max(lower, 0.0)),)
        return ()

    def _brings_in(self, request: RecallRequest) -> bool:
        ranked = self._evaluation.ranked(request.signal_weights, request.confidence_weight)
        return self._index in ranked.take(request.wanted, request.min_relevance)

    def _line(self, knob: Knob) -> Line:
        """Ranks of switched-off signals come from the evaluation, so that turning one on is seen."""
        request, evaluation = self._request, self._evaluation
        if knob == "confidence_weight":
            level = evaluation.view.level.astype(np.float64) - 1.0
            return Line(self._ranked.base, self._ranked.base * level)
        everything = evaluation.ranked(SignalWeights(1.0, 1.0, 1.0), request.confidence_weight)
        everything.settle_all()
        unit = contribution(1.0, _column(everything.ranks, knob)) * everything.factors
        present = {
            "vector": request.signal_weights.vector,
            "keyword": request.signal_weights.keyword,
            "recency": request.signal_weights.recency,
        }[knob]
        return Line(self._ranked.final - present * unit, unit)

    def _values(self, line: Line, present: float, highest: float) -> Iterator[float]:
        """Values to try, nearest to `present` first, in both directions."""
        upward = self._walk(line, present, lambda at: (at > present) & (at < highest), step=1.0)
        downward = self._walk(line, present, lambda at: (at < present) & (at >= 0.0), step=-1.0)
        yield from sorted((*upward, *downward), key=lambda value: abs(value - present))

    def _walk(
        self, line: Line, present: float, inside: Callable[[Floats], NDArray[np.bool_]], *, step: float
    ) -> list[float]:
        """Values just past those crossings after which fewer than top_k facts, copies aside, stand above ours."""
        fixed, slope = line.fixed - line.fixed[self._index], line.slope - line.slope[self._index]
        moving = np.flatnonzero(slope != 0)
        at = -fixed[moving] / slope[moving]
        reached = inside(at)
        at, moving = at[reached], moving[reached]
        order = np.argsort(step * at, kind="stable")
        at, moving = at[order], moving[order]
        above = int(np.count_nonzero(fixed + slope * present > 0))
        standing = above + np.cumsum(np.where(step * slope[moving] > 0, 1, -1))
        allowed = self._request.wanted - 1 + self._copies()
        good = np.flatnonzero(standing <= allowed)[:_TRIES]
        return [_past(at, int(place), present, step=step) for place in good]

    def _copies(self) -> int:
        """How many facts repeat a text: so many more may stand above ours without taking a place."""
        keys = self._evaluation.snapshot.text_keys[self._evaluation.view.positions]
        return len(keys) - len(np.unique(keys, axis=0))


def _past(at: Floats, place: int, present: float, *, step: float) -> float:
    """A value between a crossing and the next one, hardly further than needed, with few digits."""
    here = float(at[place])
    later = at[place + 1 :][at[place + 1 :] != at[place]]
    room = _SLACK * max(abs(here - present), abs(here))
    if len(later):
        room = min(room, abs(float(later[0]) - here))
    for digits in range(1, 13):
        value = round(here + step * 0.5 * 10.0**-digits, digits)
        if 0 < step * (value - here) < room and value >= 0:
            return value
    return max(0.0, here + step * room / 2)


def _weighted(request: RecallRequest, weights: SignalWeights) -> RecallRequest:
    return replace(request, signal_weights=weights)


def _column(ranks: SignalRanks, knob: Knob) -> NDArray[np.int64]:
    if knob == "vector":
        return ranks.vector
    return ranks.keyword if knob == "keyword" else ranks.recency
