"""One answer from two namespaces: the agent's own facts and the shared ones, fused by their places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from unicodedata import normalize

from gm_engine.ranking.fusion import RRF_K
from gm_engine.records import Fact


def merge_namespaces(own: Sequence[Fact], shared: Sequence[Fact], *, top_k: int) -> tuple[Fact, ...]:
    """The `top_k` best of two ranked lists, one fact per text.

    score = Σ 1/(60 + place in each list); ties by place in `own`, then in `shared` (a missing place sorts last), then
    text. Where both lists hold a text (in any Unicode form), the fact of `own` stands for it and is the one accessed.
    """
    own_place = _places(own)
    shared_place = _places(shared)
    facts = {_same(fact): fact for fact in [*reversed(shared), *reversed(own)]}

    def key(text: str) -> tuple[float, float, float, str]:
        places = own_place.get(text, math.inf), shared_place.get(text, math.inf)
        return -sum(1.0 / (RRF_K + place) for place in places if place < math.inf), *places, text

    return tuple(facts[text] for text in sorted(facts, key=key)[:top_k])


def _places(facts: Sequence[Fact]) -> dict[str, float]:
    places: dict[str, float] = {}
    for place, fact in enumerate(facts, 1):
        places.setdefault(_same(fact), place)
    return places


def _same(fact: Fact) -> str:
    """What copies have in common."""
    return normalize("NFC", fact.text)
