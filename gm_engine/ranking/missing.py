"""Why a fact is not in an answer, and the smallest change that would bring it in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gm_engine.errors import NotFound
from gm_engine.ranking.fusion import RRF_K
from gm_engine.ranking.recall import Evaluation, Ranker, RecallRequest
from gm_engine.ranking.remedies import Remedy, Search
from gm_engine.ranking.snapshot import ALIAS
from gm_engine.records import Fact, SignalWeights
from gm_engine.store.facts import load_facts

Reason = Literal[
    "returned", "other_namespace", "retired", "alias", "absent", "filtered", "below_floor", "duplicate", "outranked"
]


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one signal gives a fact: its rank (0 = not ranked or switched off) and its share of the base score."""

    signal: Literal["vector", "keyword", "recency"]
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class MissingReport:
    """Where a fact stands for a query.

    `absent`: it did not exist at the asked moment. `place` counts distinct texts; None where the fact is not ranked.
    `cutoff` is the final score of the last fact in the answer; `duplicate_of` the returned fact with the same text;
    `remedies` each work alone, the smallest change of a weight first.
    """

    fact: Fact
    reason: Reason
    place: int | None = None
    contributions: tuple[Contribution, ...] = ()
    base_score: float = 0.0
    final_score: float = 0.0
    cutoff: float | None = None
    duplicate_of: str | None = None
    remedies: tuple[Remedy, ...] = ()


def explain_missing(ranker: Ranker, request: RecallRequest, fact_id: str) -> MissingReport:
    """Why `fact_id` is not among the facts that `request` returns. Raises `NotFound` for an id of no fact."""
    with ranker.evaluate(replace(request, signal_weights=SignalWeights(1.0, 1.0, 1.0))) as evaluation:
        fact = _fact(evaluation, fact_id)
        position = evaluation.snapshot.position_of.get(fact_id, evaluation.snapshot.size)
        if fact.agent_id != request.agent_id:
            return MissingReport(fact, "other_namespace")
        if fact.kind == ALIAS:
            return MissingReport(fact, "alias")
        if fact.is_superseded:
            return MissingReport(fact, "retired")
        if position >= evaluation.snapshot.size or not evaluation.snapshot.live[position]:
            return MissingReport(fact, "absent")
        if not evaluation.view.mask[position]:
            label = request.min_confidence.value if request.min_confidence is not None else ""
            remedy = Remedy("min_confidence", label, fact.effective_confidence.value)
            return MissingReport(fact, "filtered", remedies=(remedy,))
        return _standing(evaluation, request, fact, int(evaluation.view.slot[position]))


def _fact(evaluation: Evaluation, fact_id: str) -> Fact:
    fact = evaluation.past.changed.get(fact_id) if evaluation.past is not None else None
    if fact is None:
        fact = load_facts(evaluation.connection, [fact_id]).get(fact_id)
    if fact is None:
        raise NotFound(f"There is no fact {fact_id}.", id=fact_id)
    return fact


def _standing(evaluation: Evaluation, request: RecallRequest, fact: Fact, index: int) -> MissingReport:
    ranked = evaluation.ranked(request.signal_weights, request.confidence_weight)
    ranked.settle_all()
    chosen = ranked.take(request.wanted, request.min_relevance)
    keys = {evaluation.snapshot.text_key(int(evaluation.view.positions[i])): i for i in reversed(chosen)}
    twin = keys.get(evaluation.snapshot.text_key(int(evaluation.view.positions[index])))
    before = ranked.first(ranked.place(index) - 1)
    distinct = len(set(ranked.text_keys(before)))
    search = Search(evaluation, request, ranked, index)
    is_low = bool(chosen) and ranked.final[index] < request.min_relevance * float(ranked.final[chosen[0]])
    remedies: tuple[Remedy, ...] = ()
    if index in chosen:
        reason: Reason = "returned"
    elif twin is not None:
        reason = "duplicate"
    else:
        reason = "below_floor" if is_low else "outranked"
        lower_floor = search.floor() if is_low else ()
        longer = Remedy("top_k", float(request.wanted), float(distinct + 1))
        remedies = (*lower_floor, *search.weights(), *search.gate(), *(() if is_low else (longer,)))
    vector, keyword, recency = ranked.ranks.at(index)
    weights = request.signal_weights
    return MissingReport(
        fact=fact,
        reason=reason,
        place=distinct + 1,
        contributions=(
            Contribution("vector", vector, _share(weights.vector, vector)),
            Contribution("keyword", keyword, _share(weights.keyword, keyword)),
            Contribution("recency", recency, _share(weights.recency, recency)),
        ),
        base_score=float(ranked.base[index]),
        final_score=float(ranked.final[index]),
        cutoff=float(ranked.final[chosen[-1]]) if chosen else None,
        duplicate_of=None if twin is None or twin == index else evaluation.snapshot.ids[_at(evaluation, twin)],
        remedies=remedies,
    )


def _at(evaluation: Evaluation, index: int) -> int:
    return int(evaluation.view.positions[index])


def _share(weight: float, rank: int) -> float:
    return weight / (RRF_K + rank) if rank else 0.0
