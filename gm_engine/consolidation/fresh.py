"""What is new in a namespace beside everything that lives there: the same candidates, with less in memory.

Texts are taken apart one after the other and forgotten again; what stays of each is three figures, and of all together
how often a word occurs. Only the few that share a rare word with something new are taken apart a second time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gm_engine.consolidation.candidates import (
    RARE_UNTIL,
    SERIES_FROM,
    VECTOR_FLOOR,
    Candidates,
    are_close,
    bounded_pairs,
    pair_codes,
    paired,
    rarest,
    read_text,
    words_of,
)
from gm_engine.consolidation.neighbours import FactVectors, close_to
from gm_engine.consolidation.steps import Steps

FEW_OF = 8
"""Fresh texts are few when there are more than so many times as many in all."""

_TEXTS_CHARS = 50_000
_TEXT_CHARS = 50
_CHUNK = 400


@dataclass(slots=True)
class _Seen:
    """What stays of all texts: a row of (hard, frame, whole) and whether there are tokens for each, and their words."""

    figures: NDArray[np.int64]
    has_tokens: NDArray[np.bool_]
    frequency: Counter[str] = field(default_factory=Counter)
    holders: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


def fresh_candidates(texts: Sequence[str], vectors: FactVectors | None, fresh: NDArray[np.bool_]) -> Steps[Candidates]:
    """What `find_candidates` finds with `fresh`, for few fresh texts among many."""
    new = np.flatnonzero(fresh)
    wanted: set[str] = set()
    for done, n in enumerate(new.tolist()):
        wanted |= words_of(read_text(texts[n]))
        if done % _CHUNK == 0:
            yield done, len(new), "reading texts"
    seen = yield from _look_through(texts, wanted)
    series, series_count = _series(seen)
    yield len(texts), len(texts), "comparing wordings"
    codes = [pair_codes(_framed_pairs(seen, fresh, series), len(texts))]
    yield len(texts), len(texts), "comparing wordings"
    codes.append(pair_codes((yield from _rare_word_pairs(texts, new.tolist(), seen)), len(texts)))
    if vectors is not None:
        left, right = yield from close_to(vectors, new, floor=VECTOR_FLOOR)
        codes.append(left * len(texts) + right)
    return (yield from paired(codes, seen.figures[:, 0], fresh, series, series_count))


def _look_through(texts: Sequence[str], wanted: set[str]) -> Steps[_Seen]:
    """Takes every text apart once; who holds a word is kept for the `wanted` ones, as far as they may be rare."""
    seen = _Seen(np.empty((len(texts), 3), np.int64), np.empty(len(texts), np.bool_))
    chars = 0
    for n, text in enumerate(texts):
        reading = read_text(text)
        seen.figures[n] = reading.hard, reading.frame, reading.whole
        seen.has_tokens[n] = bool(reading.tokens)
        words = words_of(reading)
        seen.frequency.update(words)
        for word in words & wanted:
            if len(seen.holders[word]) <= RARE_UNTIL:
                seen.holders[word].append(n)
        chars += len(text) + _TEXT_CHARS
        if chars > _TEXTS_CHARS:
            chars = 0
            yield n, len(texts), "reading texts"
    return seen


def _series(seen: _Seen) -> tuple[NDArray[np.int64], int]:
    """The series that each text belongs to, -1 for none, and how many there are."""
    known = np.flatnonzero(seen.has_tokens)
    frames, frame_of = np.unique(seen.figures[known, 1], return_inverse=True)
    order = np.lexsort((seen.figures[known, 2], frame_of))
    whole, at = seen.figures[known[order], 2], frame_of[order]
    is_other = np.ones(len(order), np.bool_)
    is_other[1:] = (whole[1:] != whole[:-1]) | (at[1:] != at[:-1])
    is_series = np.bincount(at[is_other], minlength=len(frames)) >= SERIES_FROM
    numbers = np.where(is_series, np.cumsum(is_series) - 1, -1)
    series = np.full(len(seen.has_tokens), -1, np.int64)
    series[known] = numbers[frame_of]
    return series, int(is_series.sum())


def _framed_pairs(seen: _Seen, fresh: NDArray[np.bool_], series: NDArray[np.int64]) -> Iterable[tuple[int, int]]:
    """Pairs with the same sentence but for numbers and negations, in the sets that hold something fresh."""
    pairs: list[tuple[int, int]] = []
    for column, may_pair in ((1, seen.has_tokens & (series < 0)), (2, seen.has_tokens)):
        figures = seen.figures[:, column]
        sets: dict[int, list[int]] = defaultdict(list)
        for n in np.flatnonzero(may_pair & np.isin(figures, figures[fresh])).tolist():
            sets[int(figures[n])].append(n)
        for members in sets.values():
            pairs.extend(bounded_pairs(members))
    return pairs


def _rare_word_pairs(texts: Sequence[str], new: Sequence[int], seen: _Seen) -> Steps[list[tuple[int, int]]]:
    """Pairs with a fresh text that share two rare words, or one where a text is short."""
    rare: dict[int, frozenset[str]] = {}
    counts: dict[int, int] = {}

    def look_at(n: int) -> frozenset[str]:
        if n not in rare:
            words = words_of(read_text(texts[n]))
            rare[n], counts[n] = frozenset(rarest(words, seen.frequency)), len(words)
        return rare[n]

    pairs: list[tuple[int, int]] = []
    looked = 0
    for done, n in enumerate(new):
        beside = {other for word in look_at(n) for other in seen.holders[word] if other != n}
        for other in sorted(beside):
            shared = len(look_at(n) & look_at(other))
            if shared and are_close(shared, counts[n], counts[other]):
                pairs.append((n, other))
        if len(beside) + looked > _CHUNK:
            looked = 0
            yield done, len(new), "comparing wordings"
        looked += len(beside)
    return pairs
