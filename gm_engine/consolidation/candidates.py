"""Which pairs of facts are worth a comparison: close vectors, shared rare words, the same sentence but for a detail.

Never all pairs: every way of finding candidates is bounded by the number of facts times a small constant.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise

import numpy as np
from numpy.typing import NDArray

from gm_engine.consolidation.comparison import frame
from gm_engine.consolidation.neighbours import close_pairs, distinct
from gm_engine.consolidation.steps import Steps
from gm_engine.consolidation.wording import Kind, Token, tokens

VECTOR_FLOOR = 0.8
SERIES_FROM = 4
"""So many sentences that differ in a number only are a series of records, not contradictions."""

RARE_UNTIL = 25
"""A word that more texts hold than this is not rare."""

_RARE_WORDS = 5
_BUCKET = 24
_WINDOW = 3
_CHUNK = 400
_FRAMES_AT_ONCE = 4_000
_PAIRS_AT_ONCE = 20_000
_SHORT_TEXT = 5
_HARD = bytes((Kind.GUARD, Kind.SYMBOL))
_WORDS, _SCRIPT = (Kind.WORD, Kind.NAME), Kind.SCRIPT  # looking a member up takes its time
_TURNING = (Kind.NUMBER, Kind.NEGATION, Kind.OPPOSITE)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as tokens, their kinds, and the figures that must be equal for a comparison to be worth its time."""

    tokens: tuple[Token, ...]
    kinds: bytes
    hard: int
    frame: int
    whole: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of positions (left < right); `series[n]` is the series that text n belongs to, -1 for none."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    series: NDArray[np.int64]
    series_count: int


def read_text(text: str) -> Reading:
    """The tokens of a text and its figures."""
    found = tokens(text)
    keys = [token.key for token in found]
    kinds = bytes([token.kind for token in found])
    hard = tuple(key for kind, key in zip(kinds, keys, strict=True) if kind in _HARD)
    framed = tuple(key for key, _ in frame(found)) if any(kind in kinds for kind in _TURNING) else tuple(keys)
    return Reading(found, kinds, hash((hard, kinds.count(Kind.NUMBER))), hash(framed), hash((tuple(keys), kinds)))


def read_texts(texts: Sequence[str]) -> Steps[list[Reading]]:
    """`read_text` for each text, in pieces."""
    found: list[Reading] = []
    chars = 0
    for number, text in enumerate(texts):
        found.append(read_text(text))
        chars += len(text) + 50
        if chars > 40_000:
            chars = 0
            yield number, len(texts), "reading texts"
    return found


def find_candidates(
    readings: Sequence[Reading], vectors: NDArray[np.float32] | None, fresh: NDArray[np.bool_] | None
) -> Steps[Candidates]:
    """The pairs worth comparing. `vectors` has a normalised row per text, zero where there is none.

    With `fresh`, only pairs with at least one fresh text.
    """
    count = len(readings)
    series, series_count, framed = yield from _framed_pairs(readings)
    codes = [pair_codes(framed, count)]
    codes += yield from _rare_word_pairs(readings, fresh)
    if vectors is not None:
        left, right = yield from close_pairs(vectors, floor=VECTOR_FLOOR)
        codes.append(left * count + right)
    hard = np.fromiter((reading.hard for reading in readings), np.int64, count)
    return (yield from paired(codes, hard, fresh, series, series_count))


def paired(
    codes: Sequence[NDArray[np.int64]],
    hard: NDArray[np.int64],
    fresh: NDArray[np.bool_] | None,
    series: NDArray[np.int64],
    series_count: int,
) -> Steps[Candidates]:
    """The pairs of which codes were found, each once, if both are equal in what must be and one is fresh."""
    count = len(hard)
    unique = yield from distinct(codes)
    yield count, count, "comparing wordings"
    left, right = unique // max(count, 1), unique % max(count, 1)
    keep = hard[left] == hard[right]
    if fresh is not None:
        keep &= fresh[left] | fresh[right]
    yield count, count, "comparing wordings"
    return Candidates(left[keep], right[keep], series, series_count)


def pair_codes(pairs: Iterable[tuple[int, int]], count: int) -> NDArray[np.int64]:
    """A pair of positions below `count` as one number each, the smaller position first."""
    return np.fromiter((min(a, b) * count + max(a, b) for a, b in pairs if a != b), np.int64)


def _framed_pairs(readings: Sequence[Reading]) -> Steps[tuple[NDArray[np.int64], int, list[tuple[int, int]]]]:
    """Pairs with the same sentence but for numbers and negations, and the sets that are a series."""
    frames: dict[int, list[int]] = defaultdict(list)
    wholes: dict[int, list[int]] = defaultdict(list)
    for n, reading in enumerate(readings):
        if n % _FRAMES_AT_ONCE == 0:
            yield n, len(readings), "comparing wordings"
        if reading.tokens:
            frames[reading.frame].append(n)
            wholes[reading.whole].append(n)
    yield 0, len(readings), "comparing wordings"
    pairs = [pair for members in wholes.values() if len(members) > 1 for pair in bounded_pairs(members)]
    series = np.full(len(readings), -1, np.int64)
    series_count = 0
    for done, members in enumerate(frames.values()):
        if done % _FRAMES_AT_ONCE == 0:
            yield done, len(frames), "comparing wordings"
        if len(members) == 1:
            continue
        if len({readings[n].whole for n in members}) >= SERIES_FROM:
            series[members] = series_count
            series_count += 1
        else:
            pairs.extend(bounded_pairs(members))
    return series, series_count, pairs


def bounded_pairs(members: Sequence[int]) -> Iterable[tuple[int, int]]:
    """All pairs of few members; of many, each with the first and with its neighbours."""
    if len(members) <= _BUCKET:
        return combinations(members, 2)
    near = [pair for step in range(1, _WINDOW + 1) for pair in zip(members, members[step:], strict=False)]
    return near + [(members[0], other) for other in members[1:]]


def _rare_word_pairs(readings: Sequence[Reading], fresh: NDArray[np.bool_] | None) -> Steps[list[NDArray[np.int64]]]:
    """Codes of the pairs that share two rare words, or one where a text is short."""
    words: list[frozenset[str]] = []
    frequency: Counter[str] = Counter()
    for n, reading in enumerate(readings):
        words.append(words_of(reading))
        frequency.update(words[-1])
        if n % _CHUNK == 0:
            yield n, len(readings), "comparing wordings"
    holders: dict[str, list[int]] = defaultdict(list)
    for n, own in enumerate(words):
        for word in rarest(own, frequency):
            holders[word].append(n)
        if n % _CHUNK == 0:
            yield n, len(readings), "comparing wordings"
    shared: Counter[tuple[int, int]] = Counter()
    for done, members in enumerate(holders.values()):
        if fresh is None:
            shared.update(combinations(members, 2))
        elif fresh[members].any():
            shared.update(pair for pair in combinations(members, 2) if fresh[pair[0]] or fresh[pair[1]])
        if done % _CHUNK == 0:
            yield done, len(holders), "comparing wordings"
    found: list[NDArray[np.int64]] = []
    counted = iter(shared.items())
    while some := tuple(islice(counted, _PAIRS_AT_ONCE)):
        chosen = (pair for pair, times in some if are_close(times, len(words[pair[0]]), len(words[pair[1]])))
        found.append(pair_codes(chosen, len(readings)))
        yield len(found) * _PAIRS_AT_ONCE, len(shared), "comparing wordings"
    return found


def rarest(words: Iterable[str], frequency: Mapping[str, int]) -> list[str]:
    """The rarest of a text's words that another text holds too."""
    rare = sorted((frequency[word], word) for word in words if 2 <= frequency[word] <= RARE_UNTIL)
    return [word for _, word in rare[:_RARE_WORDS]]


def are_close(shared: int, one: int, other: int) -> bool:
    """Whether two texts with so many words share enough rare ones: two, or one where a text is short."""
    return shared >= 2 or min(one, other) <= _SHORT_TEXT


def words_of(reading: Reading) -> frozenset[str]:
    """Words, names, and pairs of neighbouring characters of a script without spaces."""
    found = reading.tokens
    words = [token.key.casefold() for token in found if token.kind in _WORDS]
    if _SCRIPT in reading.kinds:
        words += [left.key + right.key for left, right in pairwise(found) if left.kind is right.kind is _SCRIPT]
    return frozenset(words)
