"""The keyword signal: BM25 over the facts that may be recalled, and the gate that keeps chance matches out.

score(d) = Σ idf(t) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |d| / avg))   (Robertson and Zaragoza, 2009)
idf(t)   = ln(1 + (N − df + 0.5) / (df + 0.5)), N and df counted over the facts that may be recalled

Sums run in query-term order in float64, so that equal inputs give equal bits. Logarithms are rounded to 12 decimals:
libraries differ in the last bit, and a rank must not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gm_engine.ranking.query import Query
from gm_engine.ranking.snapshot import Snapshot, View

K1 = 1.2
B = 0.75


@dataclass(frozen=True, slots=True)
class KeywordMatch:
    """What the keyword signal found.

    `scores` and `mass` have one element per position of the snapshot; `matched` are the positions that share a term
    with the query, ascending; `ranked` those of them that reach the gate. `mass` is the share of the query's IDF mass
    that a fact covers, times `total_mass`. `frequency` says for each of the query's own terms in how many facts it, or
    words that an alias puts in its place, occur.
    """

    scores: NDArray[np.float64]
    mass: NDArray[np.float64]
    total_mass: float
    matched: NDArray[np.int64]
    ranked: NDArray[np.int64]
    frequency: tuple[int, ...]


def idf(total: int, frequency: int) -> float:
    """The weight of a term that `frequency` of `total` facts hold; at its highest for an unknown one."""
    return round(math.log(1.0 + (total - frequency + 0.5) / (frequency + 0.5)), 12)


def match_keywords(snapshot: Snapshot, view: View, query: Query, *, gate: float) -> KeywordMatch:
    """Scores every fact of `view` that shares a term with the query. A `gate` of 0 ranks them all."""
    holders: dict[str, NDArray[np.int64]] = {}
    scores = np.zeros(snapshot.size)
    touched = np.zeros(snapshot.size, np.bool_)
    for key in query.keys:
        positions, counts = _postings(snapshot, view, query, key)
        holders[key] = positions
        if len(positions):
            tf = counts.astype(np.float64)
            relative = snapshot.length[positions] / view.average_length
            scores[positions] += (
                idf(view.count, len(positions)) * (tf * (K1 + 1.0)) / (tf + K1 * (1.0 - B + B * relative))
            )
            touched[positions] = True
    matched = np.flatnonzero(touched)
    mass, total, frequency = _covered(view, query, holders, size=snapshot.size)
    ranked = matched if gate <= 0 else matched[mass[matched] >= gate * total]
    return KeywordMatch(scores, mass, total, matched, ranked, frequency)


def _postings(snapshot: Snapshot, view: View, query: Query, key: str) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    term_id = query.ids.get(key)
    if term_id is None:
        return np.zeros(0, np.int64), np.zeros(0, np.uint16)
    positions, counts = snapshot.postings.of(term_id, snapshot.size)
    eligible = view.mask[positions]
    return positions[eligible], counts[eligible]


def _covered(
    view: View, query: Query, holders: dict[str, NDArray[np.int64]], *, size: int
) -> tuple[NDArray[np.float64], float, tuple[int, ...]]:
    """IDF mass of the query's own terms per fact. A fact with all words of an alias' other side covers its term."""
    mass = np.zeros(size)
    total = 0.0
    frequency = []
    for term in query.terms:
        own = holders[term.term]
        weight = idf(view.count, len(own))
        covering = [own, *_alias_holders(query, term.term, holders)]
        positions = own if len(covering) == 1 else np.unique(np.concatenate(covering))
        mass[positions] += weight
        total += weight
        frequency.append(len(positions))
    return mass, total, tuple(frequency)


def _alias_holders(query: Query, key: str, holders: dict[str, NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    found = []
    for added in query.expansions:
        if key in added.covers:
            together = holders[added.terms[0]]
            for other in added.terms[1:]:
                together = np.intersect1d(together, holders[other], assume_unique=True)
            found.append(together)
    return found
