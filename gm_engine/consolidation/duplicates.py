"""Groups of facts that say the same or contradict each other, as proposals: one fact stays, the others go.

A group is a star: every consumed fact was compared with the kept one itself, so that nothing is merged over a chain of
small differences. A fact is consumed by at most one duplicate proposal of a cycle; pinned facts are kept, never
consumed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gm_engine.consolidation.candidates import Candidates
from gm_engine.consolidation.comparison import Comparison, compare
from gm_engine.consolidation.dismissals import Dismissals, same_key
from gm_engine.consolidation.neighbours import FactVectors
from gm_engine.consolidation.steps import Steps
from gm_engine.consolidation.wording import Token
from gm_engine.proposals import Finding, NewProposal, ProposalKind
from gm_engine.store.consolidation import LiveFact

_CHUNK = 400
_FACTS_AT_ONCE = 10_000
_NAMED_DIFFERENCES = 6


@dataclass(frozen=True, slots=True)
class Pair:
    """Two facts by position and how they relate."""

    left: int
    right: int
    comparison: Comparison


def exact_groups(facts: Sequence[LiveFact]) -> Steps[list[list[int]]]:
    """Positions of facts with the same text (after NFC), the one to keep first; single facts too."""
    by_text: dict[bytes, list[int]] = defaultdict(list)
    for n, fact in enumerate(facts):
        by_text[fact.text_key].append(n)
        if n % _FACTS_AT_ONCE == 0:
            yield n, len(facts), "reading texts"
    for members in by_text.values():
        if len(members) > 1:
            members.sort(key=lambda n: _surest_oldest(facts[n]))
    return list(by_text.values())


def _surest_oldest(fact: LiveFact) -> tuple[object, ...]:
    return (not fact.pinned, -fact.level, fact.created_ns, fact.id)


def _surest_longest(fact: LiveFact) -> tuple[object, ...]:
    return (not fact.pinned, -fact.level, -len(fact.text), fact.created_ns, fact.id)


def _newest(fact: LiveFact) -> tuple[object, ...]:
    return (not fact.pinned, -fact.created_ns, fact.id)


def compare_pairs(
    tokens_of: Callable[[int], Sequence[Token]], candidates: Candidates, vectors: FactVectors | None
) -> Steps[list[Pair]]:
    """The candidates that are near duplicates or contradictions, in the order of their positions."""
    found: list[Pair] = []
    total = len(candidates.left)
    for start in range(0, total, _CHUNK):
        left, right = candidates.left[start : start + _CHUNK], candidates.right[start : start + _CHUNK]
        similarities = _similarities(vectors, left, right)
        for one, other, similarity in zip(left.tolist(), right.tolist(), similarities, strict=True):
            comparison = compare(tokens_of(one), tokens_of(other), similarity)
            if comparison.verdict == "different" or (
                comparison.verdict == "contradiction"
                and candidates.series[one] >= 0
                and candidates.series[one] == candidates.series[other]
            ):
                continue
            found.append(Pair(one, other, comparison))
        yield min(start + _CHUNK, total), total, "comparing facts"
    return found


def _similarities(vectors: FactVectors | None, left: NDArray[np.int64], right: NDArray[np.int64]) -> list[float | None]:
    if vectors is None:
        return [None] * len(left)
    one, other = vectors.at(left), vectors.at(right)
    known = np.logical_and(one.any(axis=1), other.any(axis=1)).tolist()
    dots = np.einsum("ij,ij->i", one, other).tolist()
    return [dot if is_known else None for dot, is_known in zip(dots, known, strict=True)]


def exact_proposals(
    facts: Sequence[LiveFact], groups: Sequence[Sequence[int]], *, agent_id: str, dismissed: Dismissals
) -> Steps[list[NewProposal]]:
    """One proposal per text that is held more than once."""
    found = []
    twice = [members for members in groups if len(members) > 1]
    for done, members in enumerate(twice):
        if done % _CHUNK == 0:
            yield done, len(twice), "reading texts"
        keep = members[0]
        consumed = [n for n in members[1:] if not facts[n].pinned]
        consumed = [n for n in consumed if not dismissed.covers("exact_duplicate", facts[keep], facts[n])]
        if consumed:
            reason = f"{len(consumed) + 1} facts have the same text."
            star = [facts[keep], *(facts[n] for n in consumed)]
            found.append(_proposal("exact_duplicate", agent_id, star, reason=reason, score=1.0))
    return found


def star_proposals(
    kind: ProposalKind, facts: Sequence[LiveFact], pairs: Sequence[Pair], *, agent_id: str, dismissed: Dismissals
) -> Steps[list[NewProposal]]:
    """Near duplicates around the surest and longest fact, contradictions around the newest one."""
    order: Callable[[LiveFact], tuple[object, ...]] = _newest if kind == "contradiction" else _surest_longest
    beside: dict[int, list[tuple[int, Comparison, bool]]] = defaultdict(list)
    for pair in pairs:
        beside[pair.left].append((pair.right, pair.comparison, True))
        beside[pair.right].append((pair.left, pair.comparison, False))
    used: set[int] = set()
    found = []
    for done, keep in enumerate(sorted(beside, key=lambda n: order(facts[n]))):
        if done % _CHUNK == 0:
            yield done, len(beside), "comparing facts"
        if keep in used:
            continue
        star = [
            (n, comparison, forward)
            for n, comparison, forward in beside[keep]
            if n not in used and not facts[n].pinned and not dismissed.covers(kind, facts[keep], facts[n])
        ]
        if not star:
            continue
        star.sort(key=lambda entry: (-entry[1].score, facts[entry[0]].created_ns, facts[entry[0]].id))
        used.update((keep, *(n for n, _, _ in star)))
        members = [facts[keep], *(facts[n] for n, _, _ in star)]
        findings = [
            Finding("words", f"{there or '–'} → {here or '–'}", facts[n].id)
            for n, comparison, forward in star
            for here, there in (_turned(comparison, forward))
        ][:_NAMED_DIFFERENCES]
        score = min(comparison.score for _, comparison, _ in star)
        found.append(
            _proposal(kind, agent_id, members, reason=_reason(kind, findings), score=score, findings=tuple(findings))
        )
    return found


def _turned(comparison: Comparison, forward: bool) -> tuple[tuple[str, str], ...]:
    """The differences with what the kept fact says first, whichever of the two was compared first."""
    return comparison.differences if forward else tuple((there, here) for here, there in comparison.differences)


def _reason(kind: ProposalKind, findings: Sequence[Finding]) -> str:
    shown = "; ".join(finding.text for finding in findings[:3])
    if kind == "contradiction":
        return f"The same but for {shown}." if shown else "The same but for a negation."
    return f"Nearly the same: {shown}." if shown else "The same but for punctuation or small words."


def _proposal(
    kind: ProposalKind,
    agent_id: str,
    members: Sequence[LiveFact],
    *,
    reason: str,
    score: float,
    findings: tuple[Finding, ...] = (),
) -> NewProposal:
    ids = tuple(fact.id for fact in members)
    return NewProposal(
        kind=kind,
        source="consolidation",
        agent_id=agent_id,
        facts=ids,
        same_key=same_key(kind, agent_id, ids),
        keep=ids[0],
        reason=reason,
        base={fact.id: fact.version for fact in members},
        findings=findings,
        score=score,
        details={"text_keys": [fact.text_key.hex() for fact in members]},
    )
