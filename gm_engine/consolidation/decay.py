"""Fading: a retention weight falls with the time since a fact was last used, and is recomputed from that alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gm_engine.store.consolidation import PRUNE_BELOW, Retention

_NS_PER_H = 3_600_000_000_000


def decayed(weight: float, used_ns: int, now_ns: int, *, half_life_h: float) -> float:
    """min(weight, exp(-ln 2 / half-life * hours since last used)); the same whenever it is computed for `now_ns`."""
    hours = max(0, now_ns - used_ns) / _NS_PER_H
    return min(weight, math.exp(-math.log(2) / half_life_h * hours))


def fading(facts: Sequence[Retention], now_ns: int, *, half_life_h: float) -> list[tuple[float, str, int]]:
    """The facts whose weight falls: new weight, id, when last used. Pinned facts are exempt."""
    found = []
    for fact in facts:
        if not fact.pinned:
            weight = decayed(fact.weight, fact.used_ns, now_ns, half_life_h=half_life_h)
            if weight < fact.weight:
                found.append((weight, fact.id, fact.used_ns))
    return found


def faded(facts: Sequence[Retention], now_ns: int, *, half_life_h: float) -> list[Retention]:
    """The facts that pruning would take: unpinned, weight below 0.01 after decay.

    Aliases are no memories that fade: recall never returns them, so that no use could keep them.
    """
    return [
        fact
        for fact in facts
        if not fact.pinned
        and not fact.is_alias
        and decayed(fact.weight, fact.used_ns, now_ns, half_life_h=half_life_h) < PRUNE_BELOW
    ]
