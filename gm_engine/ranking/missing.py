"""Why a fact is not in an answer, and what would bring it in."""

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

_LENGTHENED = 4  # lengths of the answer that are tried, each twice the one before


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
    `cutoff` is the final score of the last fact in the answer; `duplicate_of` the higher fact with the same text;
    `remedies` each work alone, what a person would try first before the rest: a longer answer, a looser filter, floor
    or gate, then the weights, the smallest change of one first.
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
        return _standing(ranker, evaluation, request, fact=fact, index=int(evaluation.view.slot[position]))


def _fact(evaluation: Evaluation, fact_id: str) -> Fact:
    connection, past = evaluation.connection, evaluation.past
    fact = past.facts(connection, [fact_id]).get(fact_id) if past is not None else None
    if fact is None:  # written later than the moment asked for: it is told to be absent
        fact = load_facts(connection, [fact_id]).get(fact_id)
    if fact is None:
        raise NotFound(f"There is no fact {fact_id}.", id=fact_id)
    return fact


def _standing(
    ranker: Ranker, evaluation: Evaluation, request: RecallRequest, *, fact: Fact, index: int
) -> MissingReport:
    ranked = evaluation.ranked(request.signal_weights, request.confidence_weight)
    ranked.settle_all()
    chosen = ranked.take(request.wanted, request.min_relevance)
    before = ranked.first(ranked.place(index) - 1)
    keys = ranked.text_keys(before)
    twin = _twin(evaluation, before.tolist(), keys, index)
    is_low = bool(chosen) and ranked.final[index] < request.min_relevance * float(ranked.final[chosen[0]])
    search = Search(evaluation, request, ranked, index)
    remedies: tuple[Remedy, ...] = ()
    if index in chosen:
        reason: Reason = "returned"
    elif twin is not None and twin in chosen:
        reason = "duplicate"
    else:
        reason = "below_floor" if is_low else "outranked"
        remedies = (*(search.floor() if is_low else ()), *search.gate(), *search.weights())
        if twin is None and not is_low:
            remedies = (*_longer_answer(ranker, evaluation, request, fact, place=len(set(keys)) + 1), *remedies)
    vector, keyword, recency = ranked.ranks.at(index)
    weights = request.signal_weights
    return MissingReport(
        fact=fact,
        reason=reason,
        place=len(set(keys)) + 1,
        contributions=(
            Contribution("vector", vector, _share(weights.vector, vector)),
            Contribution("keyword", keyword, _share(weights.keyword, keyword)),
            Contribution("recency", recency, _share(weights.recency, recency)),
        ),
        base_score=float(ranked.base[index]),
        final_score=float(ranked.final[index]),
        cutoff=float(ranked.final[chosen[-1]]) if chosen else None,
        duplicate_of=None if twin is None else evaluation.snapshot.ids[_at(evaluation, twin)],
        remedies=remedies,
    )


def _twin(evaluation: Evaluation, before: list[int], keys: list[bytes], index: int) -> int | None:
    """The best fact with the same text that stands above."""
    key = evaluation.snapshot.text_key(_at(evaluation, index))
    return next((other for other, its_key in zip(before, keys, strict=True) if its_key == key), None)


def _longer_answer(
    ranker: Ranker, evaluation: Evaluation, request: RecallRequest, fact: Fact, *, place: int
) -> tuple[Remedy, ...]:
    """A longer answer looks at more neighbours, which may push the fact further down: so it is tried."""
    length = place
    for _ in range(_LENGTHENED):
        longer = replace(request, top_k=length)
        tried = ranker.evaluate_in(evaluation.connection, longer)
        chosen = tried.ranked().take(longer.wanted, longer.min_relevance)
        if any(tried.snapshot.ids[_at(tried, i)] == fact.id for i in chosen):
            return (Remedy("top_k", float(request.wanted), float(length)),)
        length *= 2
    return ()


def _at(evaluation: Evaluation, index: int) -> int:
    return int(evaluation.view.positions[index])


def _share(weight: float, rank: int) -> float:
    return weight / (RRF_K + rank) if rank else 0.0
