"""Whether two facts say the same, nearly the same, or the opposite: a decision on tokens, made without a model.

`near` needs every guarded token (numbers, names, identifiers, negations, directions, modality, symbols) to be equal and
in the same order. `contradiction` is the same sentence but for one number or date, a negation, or a word and its
opposite. Everything else is `different`: in doubt two facts are two facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Levenshtein

from gm_engine.consolidation.vocabulary import OPPOSITES
from gm_engine.consolidation.wording import Kind, Token

Verdict = Literal["near", "contradiction", "different"]

SAME_FRAME = 0.85  # share of characters that a contradiction has in common apart from what contradicts
_EXTRA_KNOWN, _EXTRA_UNKNOWN = 0.72, 0.88  # one text says more words: with and without a vector
_EXTRA_SIMILARITY = 0.88
_CHANGED, _CHANGED_SIMILARITY = 0.6, 0.95  # words were exchanged: only if the vectors nearly agree
_MIN_SUBJECT = 2  # words, names or characters of a spaceless script that a contradiction must share
_NUMBER_MASK = "\0number"
_OPPOSITE_MASK = "\0opposite"
_NUMBER, _NEGATION, _OPPOSITE = Kind.NUMBER, Kind.NEGATION, Kind.OPPOSITE  # looking a member up takes its time


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two texts relate. `score` is the share of characters in common, `differences` what differs, as written."""

    verdict: Verdict
    score: float = 0.0
    differences: tuple[tuple[str, str], ...] = ()


_DIFFERENT = Comparison("different")


def compare(one: Sequence[Token], other: Sequence[Token], similarity: float | None = None) -> Comparison:
    """Relates two texts given as tokens; `similarity` is the cosine of their vectors, None where one has none.

    Symmetric but for the order inside `differences`.
    """
    if not one or not other:
        return _DIFFERENT
    a, b = _settled(one, other), _settled(other, one)
    if _guards(a) == _guards(b):
        return _near(a, b, similarity)
    return _contradiction(a, b)


def _settled(tokens: Sequence[Token], beside: Sequence[Token]) -> list[Token]:
    """Tokens with the capital at a sentence's start decided: a name unless the other text has the word as a word."""
    names = {token.surface for token in (*tokens, *beside) if token.kind is Kind.NAME and not token.initial}
    words = {token.key for token in beside if token.kind is Kind.WORD}
    settled = []
    for token in tokens:
        if token.kind is Kind.WORD and token.initial and (token.surface in names or token.key not in words):
            settled.append(Token(Kind.NAME, token.surface, token.surface))
        else:
            settled.append(token)
    return settled


def _guards(tokens: Sequence[Token]) -> list[tuple[Kind, str]]:
    return [(token.kind, token.key) for token in tokens if token.kind is not Kind.WORD]


def _near(a: Sequence[Token], b: Sequence[Token], similarity: float | None) -> Comparison:
    score, changes = _aligned([token.key for token in a], [token.key for token in b])
    differences = tuple((_written(a, *change[:2]), _written(b, *change[2:])) for change in changes)
    extra_a = any(change[0] < change[1] for change in changes)
    extra_b = any(change[2] < change[3] for change in changes)
    if not changes:
        return Comparison("near", 1.0)
    if extra_a and extra_b:
        is_near = similarity is not None and similarity >= _CHANGED_SIMILARITY and score >= _CHANGED
    elif similarity is None:
        is_near = score >= _EXTRA_UNKNOWN
    else:
        is_near = score >= _EXTRA_KNOWN and similarity >= _EXTRA_SIMILARITY
    return Comparison("near", score, differences) if is_near else _DIFFERENT


def _written(tokens: Sequence[Token], start: int, stop: int) -> str:
    return " ".join(token.surface for token in tokens[start:stop])


def _aligned(a: Sequence[str], b: Sequence[str]) -> tuple[float, list[tuple[int, int, int, int]]]:
    """The share of characters in equal places, and the stretches of both that differ."""
    changes: list[tuple[int, int, int, int]] = []
    matched = 0
    for op in Levenshtein.opcodes(a, b):
        if op.tag == "equal":
            matched += sum(len(key) for key in a[op.src_start : op.src_end])
        else:
            changes.append((op.src_start, op.src_end, op.dest_start, op.dest_end))
    total = sum(map(len, a)) + sum(map(len, b))
    return (2 * matched / total if total else 0.0), changes


def _contradiction(a: Sequence[Token], b: Sequence[Token]) -> Comparison:
    numbers = _number_difference(a, b)
    if numbers is None:
        return _DIFFERENT
    negated = _count(a, Kind.NEGATION) != _count(b, Kind.NEGATION)
    opposed = _opposed(a, b)
    if not (numbers or negated or opposed):
        return _DIFFERENT
    frame_a, frame_b = frame(a), frame(b)
    score, changes = _aligned([key for key, _ in frame_a], [key for key, _ in frame_b])
    left = [token for change in changes for _, token in frame_a[change[0] : change[1]]]
    right = [token for change in changes for _, token in frame_b[change[2] : change[3]]]
    hard = (Kind.NUMBER, Kind.NAME, Kind.SYMBOL, Kind.GUARD)
    if score < SAME_FRAME or any(token.kind in hard for token in (*left, *right)) or (left and right and not negated):
        return _DIFFERENT
    shared = sum(token.kind in (Kind.WORD, Kind.NAME, Kind.SCRIPT) for _, token in frame_a) - len(left)
    if shared < _MIN_SUBJECT:
        return _DIFFERENT
    evidence = numbers + opposed
    if negated:
        evidence += ((_negation(a), _negation(b)),)
    return Comparison("contradiction", score, evidence)


def frame(tokens: Sequence[Token]) -> list[tuple[str, Token]]:
    """The sentence without what a contradiction turns: numbers and opposites masked, negations left out."""
    framed = []
    for token in tokens:
        kind = token.kind
        if kind is _NEGATION:
            continue
        key = _NUMBER_MASK if kind is _NUMBER else _OPPOSITE_MASK if kind is _OPPOSITE else token.key
        framed.append((key, token))
    return framed


def _number_difference(a: Sequence[Token], b: Sequence[Token]) -> tuple[tuple[str, str], ...] | None:
    """The one number (or stretch of a date) that differs, () where none does, None where more than that differs."""
    left = [n for n, token in enumerate(a) if token.kind is Kind.NUMBER]
    right = [token for token in b if token.kind is Kind.NUMBER]
    if len(left) != len(right):
        return None
    places = [n for n, (one, other) in enumerate(zip(left, right, strict=True)) if a[one].key != other.key]
    if not places:
        return ()
    first, last = places[0], places[-1]
    # several differ only if they stand side by side, as in `3 May 2026`
    if last - first >= len(places) or left[last] - left[first] >= len(places):
        return None
    return ((" ".join(a[left[n]].surface for n in places), " ".join(right[n].surface for n in places)),)


def _count(tokens: Sequence[Token], kind: Kind) -> int:
    return sum(token.kind is kind for token in tokens)


def _opposed(a: Sequence[Token], b: Sequence[Token]) -> tuple[tuple[str, str], ...]:
    left = [token for token in a if token.kind is Kind.OPPOSITE]
    right = [token for token in b if token.kind is Kind.OPPOSITE]
    if len(left) != len(right):
        return ()
    pairs = [(one, other) for one, other in zip(left, right, strict=True) if one.key != other.key]
    if not all(other.key in OPPOSITES[one.key] for one, other in pairs):
        return ()
    return tuple((one.surface, other.surface) for one, other in pairs)


def _negation(tokens: Sequence[Token]) -> str:
    return " ".join(token.surface for token in tokens if token.kind is Kind.NEGATION)
