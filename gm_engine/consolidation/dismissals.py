"""What a person turned down, so that no cycle asks twice.

*Rejected*: these facts, as they are, in this kind. *Never again*: these texts, whichever facts hold them, in any kind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from gm_engine.proposals import ProposalKind
from gm_engine.store.consolidation import LiveFact
from gm_engine.store.proposals import Decided
from gm_engine.store.transaction import canonical_json


def same_key(kind: ProposalKind, agent_id: str, ids: Sequence[str]) -> str:
    """Equal for two proposals of one kind about the same facts with the same one first."""
    return hashlib.sha256(canonical_json([kind, agent_id, ids[0], sorted(ids[1:])]).encode()).hexdigest()[:32]


def summary_key(agent_id: str, ids: Sequence[str]) -> str:
    """Equal for two summaries (or prunes) of the same facts."""
    return hashlib.sha256(canonical_json([agent_id, sorted(ids)]).encode()).hexdigest()[:32]


class Dismissals:
    """Answers whether something was turned down in one namespace."""

    def __init__(self, decided: Sequence[Decided]) -> None:
        self._pairs: set[tuple[str, str, str]] = set()
        self._texts: set[tuple[str, str]] = set()
        self._facts: dict[str, set[str]] = {"summary": set(), "prune": set()}
        self._never: dict[str, set[str]] = {"summary": set(), "prune": set()}
        self._summaries: set[frozenset[str]] = set()
        self._asked = {one.asked for one in decided if one.asked}
        for one in decided:
            if one.kind in self._facts:
                self._add_set(one)
            elif one.facts:
                self._add_star(one)

    def _add_set(self, one: Decided) -> None:
        if one.state == "never":
            self._never[one.kind].update(one.text_keys)
        elif one.kind == "prune":
            self._facts["prune"].update(one.facts)
        else:
            self._summaries.add(frozenset(one.facts))

    def _add_star(self, one: Decided) -> None:
        keep, consumed = one.facts[0], one.facts[1:]
        if one.state == "rejected":
            self._pairs.update((one.kind, *_ordered(keep, other)) for other in consumed)
        elif one.text_keys:
            first = one.text_keys[0]
            self._texts.update(_ordered(first, other) for other in one.text_keys[1:])

    def covers(self, kind: ProposalKind, one: LiveFact, other: LiveFact) -> bool:
        """Whether these two were turned down together."""
        low, high = _ordered(one.id, other.id)
        return (kind, low, high) in self._pairs or _ordered(one.text_key.hex(), other.text_key.hex()) in self._texts

    def keeps(self, fact_id: str, text_key: str) -> bool:
        """Whether a person wanted this fact not to be pruned."""
        return fact_id in self._facts["prune"] or text_key in self._never["prune"]

    def never_summarise(self, text_key: str) -> bool:
        """Whether this text is never to be summed up."""
        return text_key in self._never["summary"]

    def was_asked(self, asked: str) -> bool:
        """Whether the model's answer about exactly these facts was turned down."""
        return asked in self._asked

    def covers_summary(self, ids: Sequence[str]) -> bool:
        """Whether a summary of exactly these facts was rejected."""
        return frozenset(ids) in self._summaries


def _ordered(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
