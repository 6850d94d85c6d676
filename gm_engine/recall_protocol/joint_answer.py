"""What memory and other sources answered together: hits in one order, and what became of each source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gm_engine.ranking.fusion import RRF_K
from gm_engine.recall_protocol.payloads import Candidate, Json, SearchResult, Sensitivity
from gm_engine.recall_protocol.source_config import ceiling_allows

SourceState = Literal["answered", "abstained", "degraded", "failed"]
_UNMEASURED = 0.5
_RELEVANCE_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class SourceOutcome:
    """What became of one source in one search.

    `answered` looked at everything; `degraded` at part of it; `abstained` had decided before that it does not apply;
    `failed` did not answer, for `reason`. `dropped` hits were above the source's ceiling, `found` were not.
    """

    source_id: str
    state: SourceState
    reason: str = ""
    found: int = 0
    dropped: int = 0
    took_s: float = 0.0
    diagnostics: Json | None = None


@dataclass(frozen=True, slots=True)
class JointHit:
    """One hit. `score` is prior x relevance / (60 + place in its source); `also_in` is the same elsewhere."""

    candidate: Candidate
    source_id: str
    score: float
    also_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JointAnswer:
    """The hits of a search in one order, and the outcome of every source, memory first."""

    query: str
    hits: tuple[JointHit, ...]
    outcomes: tuple[SourceOutcome, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every source looked at everything, or had said that it does not apply."""
        return all(outcome.state in ("answered", "abstained") for outcome in self.outcomes)

    @property
    def found_nothing(self) -> bool:
        """Whether every source really looked and there is nothing. Without this, no hits means only: none were seen."""
        return not self.hits and all(each.state == "answered" and not each.dropped for each in self.outcomes)


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """One source's part of a search, before it is joined with the others."""

    outcome: SourceOutcome
    candidates: tuple[Candidate, ...]
    prior: float


def answer_of(
    source_id: str, result: SearchResult, *, ceiling: Sensitivity, prior: float, took_s: float
) -> SourceAnswer:
    """What a source said, without the hits above its ceiling, which are counted."""
    shown = tuple(each for each in result.candidates if ceiling_allows(ceiling, each.sensitivity))
    state, reason = _state_of(result)
    outcome = SourceOutcome(
        source_id,
        state,
        reason,
        found=len(shown),
        dropped=len(result.candidates) - len(shown),
        took_s=took_s,
        diagnostics=result.diagnostics,
    )
    return SourceAnswer(outcome, shown, prior)


def _state_of(result: SearchResult) -> tuple[SourceState, str]:
    match result.outcome:
        case "success":
            return "answered", ""
        case "partial":
            return "degraded", "partial"
        case "skipped":
            return "abstained", result.reason or "skipped"
        case _:
            return ("degraded" if result.candidates else "failed"), result.outcome


def failed(source_id: str, reason: str, *, took_s: float = 0.0) -> SourceAnswer:
    """A source that gave no answer."""
    return SourceAnswer(SourceOutcome(source_id, "failed", reason, took_s=took_s), (), 1.0)


def join(query: str, answers: Sequence[SourceAnswer], *, limit: int) -> JointAnswer:
    """One order over all sources, by places never by their own scores; the same evidence counts once, at its best."""
    hits = [
        JointHit(
            candidate, answer.outcome.source_id, answer.prior * _factor(candidate) / (RRF_K + candidate.local_rank)
        )
        for answer in answers
        for candidate in answer.candidates
    ]
    order = {answer.outcome.source_id: place for place, answer in enumerate(answers)}
    hits.sort(key=lambda hit: (-hit.score, order[hit.source_id], hit.candidate.local_rank, hit.candidate.locator))
    return JointAnswer(query, tuple(_collapsed(hits)[:limit]), tuple(answer.outcome for answer in answers))


def _factor(candidate: Candidate) -> float:
    """1 for a hit that is all about the query, 0.75 for one that is not; in between where nobody measured it."""
    relevance = _UNMEASURED if candidate.relevance is None else candidate.relevance
    return 1.0 - _RELEVANCE_SHARE * (1.0 - relevance)


def _evidence(candidate: Candidate, by_locator: Mapping[str, Candidate]) -> str:
    """What tells evidence apart: equal content, or being made from a record that is among the hits itself."""
    origin = next((by_locator[each] for each in candidate.derived_from if each in by_locator), candidate)
    return origin.content_fingerprint or origin.locator


def _collapsed(hits: Sequence[JointHit]) -> list[JointHit]:
    """Each evidence once; its other locators are kept, its score is not raised by agreeing with itself."""
    first: dict[str, JointHit] = {}
    by_locator = {hit.candidate.locator: hit.candidate for hit in hits}
    for hit in hits:
        key = _evidence(hit.candidate, by_locator)
        known = first.get(key)
        if known is None:
            first[key] = hit
        elif hit.candidate.locator != known.candidate.locator:
            first[key] = JointHit(
                known.candidate, known.source_id, known.score, (*known.also_in, hit.candidate.locator)
            )
    return list(first.values())
