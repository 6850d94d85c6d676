"""*Why not that?* in words: the reason, the place, what each signal gave, what would bring the fact in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

from gm_desktop.formatting import local_date, local_time, number
from gm_desktop.i18n import decimal, tr
from gm_desktop.models.fact_row import agent_title
from gm_desktop.plain_text import excerpt
from gm_desktop.viewmodels.arithmetic import short_number
from gm_desktop.viewmodels.fact_words import confidence_title
from gm_desktop.viewmodels.question import MOST_HITS, WEIGHT_REACH, Question
from gm_desktop.viewmodels.why import signal_title

if TYPE_CHECKING:
    from gm_engine import MissingReport, Remedy

_KNOBS = {
    "vector": "the weight of Meaning",
    "keyword": "the weight of Words",
    "recency": "the weight of Recency",
    "confidence_weight": "the confidence weight",
    "coverage_gate": "the word gate",
    "min_relevance": "the relevance floor",
}
_WEIGHTS = frozenset({"vector", "keyword", "recency"})


@dataclass(frozen=True, slots=True)
class RemedyLine:
    """One change that brings the fact in by itself and that the lab can make."""

    knob: str
    value: float | str
    sentence: str
    is_simplest: bool


@dataclass(frozen=True, slots=True)
class SignalStanding:
    """What one signal gives the fact. `share` is its part of the bar, which is full at the last hit's score."""

    title: str
    place: str
    value: str
    share: float


@dataclass(frozen=True, slots=True)
class WhyNotReport:
    """Everything the panel shows. `reason` is for programs; `other` is a fact or namespace that the reason names."""

    fact_id: str
    agent_id: str
    agent: str
    text: str
    hidden: int
    confidence: str
    confidence_title: str
    written: str
    question: Question
    reason: str
    verdict: str
    detail: str
    signals: tuple[SignalStanding, ...]
    score: str
    cutoff: str
    remedies: tuple[RemedyLine, ...]
    other: str = ""


def why_not_report(
    question: Question, report: MissingReport, *, merged_top_k: int | None = None, is_merged_out: bool = False
) -> WhyNotReport:
    """Puts one report into words. `merged_top_k` is the length of a merged answer that holds the fact."""
    fact, part = report.fact, excerpt(report.fact.text)
    reason = "merged_out" if is_merged_out else report.reason
    verdict, detail = _verdict(question, report, reason)
    remedies = _remedies(report.remedies)
    if merged_top_k is not None:
        remedies = (RemedyLine("top_k", float(merged_top_k), _top_k_sentence(question.top_k, merged_top_k), True),)
    return WhyNotReport(
        fact_id=fact.id,
        agent_id=fact.agent_id,
        agent=agent_title(fact.agent_id),
        text=part.text,
        hidden=part.hidden,
        confidence=fact.effective_confidence.value,
        confidence_title=confidence_title(fact.effective_confidence.value),
        written=local_date(fact.created_ns),
        question=question,
        reason=reason,
        verdict=verdict,
        detail=detail,
        signals=_signals(report),
        score=decimal(f"{report.final_score:.6f}") if report.place is not None else "",
        cutoff=decimal(f"{report.cutoff:.6f}") if report.place is not None and report.cutoff is not None else "",
        remedies=remedies,
        other=_other(report),
    )


def _other(report: MissingReport) -> str:
    if report.reason == "duplicate":
        return report.duplicate_of or ""
    return report.fact.agent_id if report.reason == "other_namespace" else ""


def _signals(report: MissingReport) -> tuple[SignalStanding, ...]:
    whole = max(report.final_score, report.cutoff or 0.0)
    factor = report.final_score / report.base_score if report.base_score else 0.0
    return tuple(
        SignalStanding(
            title=signal_title(each.signal),
            place=tr("rank {rank}", rank=number(each.rank)) if each.rank else tr("not ranked"),
            value=decimal(f"{each.score:.6f}") if each.rank else "–",
            share=each.score * factor / whole if whole else 0.0,
        )
        for each in report.contributions
    )


def _verdict(question: Question, report: MissingReport, reason: str) -> tuple[str, str]:
    fact, place = report.fact, report.place or 0
    if reason == "returned":
        return (
            tr("It is hit {place}.", place=place),
            tr("The question finds it as it is. Select it in the list to see how its score came to be."),
        )
    if reason == "merged_out":
        return (
            tr("It is hit {place} of {agent}, and the merge leaves it out.", place=place, agent=_agent(fact.agent_id)),
            tr("Own and shared answers are merged by place; {count} other facts stand higher.", count=question.top_k),
        )
    if reason == "outranked":
        return (
            tr("Place {place}; the answer ends at {count}.", place=number(place), count=question.top_k),
            tr("Its score is below that of the last hit."),
        )
    if reason == "below_floor":
        return (
            tr("Its score is below the relevance floor."),
            tr("It stands at place {place}, too far below the best hit to be returned.", place=number(place)),
        )
    if reason == "duplicate":
        return (
            tr("The same text came back already."),
            tr("An answer holds each text once. The hit that stands for it is higher in the ranking."),
        )
    return _outside(question, report, reason)


def _outside(question: Question, report: MissingReport, reason: str) -> tuple[str, str]:
    """Reasons of facts that were never ranked."""
    fact = report.fact
    if reason == "other_namespace":
        return (
            tr("It belongs to {agent}.", agent=_agent(fact.agent_id)),
            tr("{whom} is asked, and a recall reads one namespace.", whom=question.whom),
        )
    if reason == "retired":
        return (
            tr("It is retired."),
            tr("Retired and replaced facts stay listed in Memory and never come back from a recall."),
        )
    if reason == "alias":
        return (
            tr("It is vocabulary."),
            tr("An alias widens questions that use its word; it is never an answer itself."),
        )
    if reason == "absent":
        return (
            tr("It did not exist at that moment."),
            tr("It was written on {when}.", when=local_time(fact.created_ns)),
        )
    return (
        tr("The confidence filter leaves it out."),
        tr(
            "It counts as {label}; the filter asks for {least} or better.",
            label=confidence_title(fact.effective_confidence.value).lower(),
            least=confidence_title(question.trial.min_confidence).lower(),
        ),
    )


def _agent(agent_id: str) -> str:
    return agent_title(agent_id)


def _remedies(remedies: Sequence[Remedy]) -> tuple[RemedyLine, ...]:
    offered = [each for each in remedies if _is_in_reach(each)]
    return tuple(
        RemedyLine(each.knob, _after(each), _sentence(each), is_simplest=at == 0) for at, each in enumerate(offered)
    )


def _is_in_reach(remedy: Remedy) -> bool:
    """Whether the lab goes that far: a length that the page can show, a weight on its slider or no further off it."""
    if remedy.knob == "top_k":
        return float(remedy.after) <= MOST_HITS
    return remedy.knob not in _WEIGHTS or float(remedy.after) <= max(WEIGHT_REACH, float(remedy.before))


def _after(remedy: Remedy) -> float | str:
    """Where the change goes: at most three decimals, rounded away from where it stands, so that it still works."""
    before, after = remedy.before, remedy.after
    if isinstance(before, str) or isinstance(after, str):
        return after
    step = Decimal("0.001")
    return float(Decimal(repr(after)).quantize(step, ROUND_CEILING if after > before else ROUND_FLOOR))


def _sentence(remedy: Remedy) -> str:
    before, after = remedy.before, _after(remedy)
    if isinstance(before, str) or isinstance(after, str):
        label = confidence_title(str(after)).lower()
        return tr("Loosen the confidence filter to {label}", label=label)
    if remedy.knob == "top_k":
        return _top_k_sentence(int(before), int(after))
    values = {
        "knob": tr(_KNOBS[remedy.knob]),
        "before": decimal(short_number(before)),
        "after": decimal(short_number(after)),
    }
    if after > before:
        return tr("Raise {knob} from {before} to {after}", **values)
    return tr("Lower {knob} from {before} to {after}", **values)


def _top_k_sentence(before: int, after: int) -> str:
    return tr("Ask for {after} hits instead of {before}", before=before, after=after)
