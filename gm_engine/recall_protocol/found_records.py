"""What a search found in a store, before it becomes candidates: facts, checkpoints and entities in one order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from gm_engine.ranking.fusion import RRF_K
from gm_engine.recall_protocol.locators import RecordName
from gm_engine.recall_protocol.payloads import MatchSignal
from gm_engine.records import JsonValue

_KIND_ORDER = {"fact": 0, "entity": 1, "checkpoint": 2}


@dataclass(frozen=True, slots=True)
class Found:
    """One record. `content` is all it says; `weight` is 1 for a fact, else the share of the query's terms it has.

    `is_matched` tells whether the excerpt shows a match; `relevance` is None where it was not measured.
    """

    name: RecordName
    title: str
    content: str
    excerpt: str
    is_matched: bool
    signals: tuple[MatchSignal, ...]
    relevance: float | None
    created_ns: int | None
    revision: str = ""
    weight: float = 1.0
    metadata: dict[str, JsonValue] = field(default_factory=dict)
    derived_from: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """A hash of the record's identity and content, whatever the query, the moment or the source's name."""
        digest = hashlib.sha256(json.dumps([self.name.record, self.content]).encode())
        return f"sha256:{digest.hexdigest()}"


def in_order(kinds: Iterable[list[Found]]) -> list[tuple[Found, float]]:
    """The records of several kinds in one order, each with its score.

    Each list is in order already. A record scores weight / (60 + place in its list): an entity or a checkpoint that has
    every word of the query stands beside the fact of its place, one that has few stands far behind.
    """
    scored = [(found, found.weight / (RRF_K + place)) for kind in kinds for place, found in enumerate(kind, 1)]
    return sorted(scored, key=lambda each: (-each[1], _KIND_ORDER[each[0].name.kind], each[0].name.local))


def newest_first(kinds: Iterable[list[Found]]) -> list[tuple[Found, float]]:
    """The records of a listing: nothing was asked, so that only time orders them."""
    listed = [found for kind in kinds for found in kind]
    listed.sort(key=lambda found: (-(found.created_ns or 0), _KIND_ORDER[found.name.kind], found.name.local))
    return [(found, 1 / (RRF_K + place)) for place, found in enumerate(listed, 1)]
