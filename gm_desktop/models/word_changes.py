"""Which words changed between two texts: pure, bounded, the same for the revise editor and for any other comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Indel

_WORDS = re.compile(r"\s+|\w+|[^\w\s]", re.UNICODE)
MOST_WORDS = 4_000


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of one of the two texts that the other does not have."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class WordChanges:
    """What only the older text has and what only the newer one has. `exactness` says whether words were compared."""

    removed: tuple[Span, ...]
    added: tuple[Span, ...]
    exactness: Literal["words", "whole"]

    @property
    def is_empty(self) -> bool:
        """Whether the texts are the same."""
        return not self.removed and not self.added


def word_changes(before: str, after: str) -> WordChanges:
    """Compares two texts word by word (insertions and deletions, Indel distance of their words).

    What both share at the start and the end is set aside first. If more than 4,000 words differ in between, that whole
    middle is one change: the time stays bounded for a text of a megabyte.
    """
    if before == after:
        return WordChanges((), (), "words")
    head = _shared_head(before, after)
    tail = _shared_tail(before[head:], after[head:])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    old_words, new_words = _WORDS.findall(old), _WORDS.findall(new)
    if len(old_words) > MOST_WORDS or len(new_words) > MOST_WORDS:
        return WordChanges(_whole(head, old), _whole(head, new), "whole")
    removed: list[Span] = []
    added: list[Span] = []
    old_at, new_at = _offsets(head, old_words), _offsets(head, new_words)
    for step in Indel.opcodes(old_words, new_words):
        if step.tag == "delete":
            _extend(removed, old_at[step.src_start], old_at[step.src_end])
        elif step.tag == "insert":
            _extend(added, new_at[step.dest_start], new_at[step.dest_end])
    return WordChanges(_joined(removed, before), _joined(added, after), "words")


def _whole(head: int, middle: str) -> tuple[Span, ...]:
    return (Span(head, head + len(middle)),) if middle else ()


def shared_start(one: str, other: str) -> int:
    """How many characters at their start two texts share."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _shared_head(one: str, other: str) -> int:
    """Length of the shared start, moved back to a word's beginning."""
    low = shared_start(one, other)
    while low > 0 and not _is_break(one, low):
        low -= 1
    return low if _is_break(other, low) else 0


def _shared_tail(one: str, other: str) -> int:
    """Length of the shared end, moved forward to a word's beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle :] == other[len(other) - middle :]:
            low = middle
        else:
            high = middle - 1
    while low > 0 and not (_is_break(one, len(one) - low) and _is_break(other, len(other) - low)):
        low -= 1
    return low


def _is_break(text: str, at: int) -> bool:
    return at in (0, len(text)) or text[at - 1].isspace() or text[at].isspace()


def _offsets(start: int, words: list[str]) -> list[int]:
    offsets = [start]
    for word in words:
        offsets.append(offsets[-1] + len(word))
    return offsets


def _extend(spans: list[Span], start: int, end: int) -> None:
    if spans and spans[-1].end == start:
        spans[-1] = Span(spans[-1].start, end)
    else:
        spans.append(Span(start, end))


def _joined(spans: list[Span], text: str) -> tuple[Span, ...]:
    """Neighbours with nothing but blanks between them read as one change."""
    result: list[Span] = []
    for span in spans:
        if result and text[result[-1].end : span.start].isspace():
            result[-1] = Span(result[-1].start, span.end)
        else:
            result.append(span)
    return tuple(result)
