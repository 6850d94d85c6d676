"""A candidate for an entity in a text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Rank(IntEnum):
    """How sure a candidate is; of two that overlap the lower one wins."""

    IGNORED = 0  # a name of the dictionary that must never become an entity
    MARKED = 1  # [[wiki links]], links, references, dates: their form says it all
    KNOWN = 2  # a name that the store or the dictionary knows
    LEXICON = 3
    CAPITALS = 4
    STATEMENT = 5  # a decision or preference; what it contains stands beside it


@dataclass(frozen=True, slots=True)
class Found:
    """A span of the text with the label that it gives an entity."""

    start: int
    end: int
    label: str
    type: str
    rank: Rank
