"""What a run of judged questions says: figures before and after, and each question's places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gm_desktop.i18n import decimal, tr
from gm_desktop.models.line_list import Line
from gm_desktop.plain_text import row_text

if TYPE_CHECKING:
    from gm_engine import QuerySetReport

BEYOND = 9  # counts as worse than any of the 8 places that are judged


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a run, before and after; `tone` is its theme colour."""

    title: str
    before: str
    after: str
    change: str
    tone: str


@dataclass(frozen=True, slots=True)
class RunReport:
    """What the tried ranking does to a set of judged questions."""

    name: str
    sentence: str
    metrics: tuple[Metric, ...]


def run_report(report: QuerySetReport, *, is_trial: bool) -> RunReport:
    """The figures and one sentence about them; `is_trial`: another ranking than the saved one was tried."""
    before, after = report.before, report.after
    rows = (
        (tr("Hit at 1"), before.hit_at_1, after.hit_at_1, True),
        (tr("Hit at 8"), before.hit_at_8, after.hit_at_8, True),
        (tr("MRR"), before.mrr, after.mrr, False),
    )
    better = sum(1 for each in report.outcomes if _place(each.after) < _place(each.before))
    worse = sum(1 for each in report.outcomes if _place(each.after) > _place(each.before))
    if not is_trial:
        sentence = tr("Both columns are the saved ranking: nothing is being tried.")
    elif better or worse:
        sentence = tr("{better} better, {worse} worse than with the saved ranking.", better=better, worse=worse)
    else:
        sentence = tr("No expected fact changes its place.")
    return RunReport(report.name, sentence, tuple(_metric(*each) for each in rows))


def _metric(title: str, before: float, after: float, is_share: bool) -> Metric:
    def said(value: float) -> str:
        return tr("{value} %", value=f"{100 * value:.0f}") if is_share else decimal(f"{value:.3f}")

    difference = after - before
    if abs(difference) < 5e-4:
        return Metric(title, said(before), said(after), "", "text_muted")
    change = tr("{value} pts", value=f"{100 * difference:+.0f}") if is_share else decimal(f"{difference:+.3f}")
    return Metric(title, said(before), said(after), change.replace("-", "−"), "success" if difference > 0 else "danger")


def outcome_lines(report: QuerySetReport) -> tuple[Line, ...]:
    """One line per question: the expected fact's place, before and after; `–` beyond the first 8."""
    lines = []
    for at, each in enumerate(report.outcomes):
        before, after = _place(each.before), _place(each.after)
        tone = "success" if after < before else "danger" if after > before else "text_muted"
        mark = _said(each.after) if before == after else f"{_said(each.before)} → {_said(each.after)}"
        lines.append(Line(str(at), row_text(each.query, 200), mark=mark, tone=tone))
    return tuple(lines)


def _place(place: int | None) -> int:
    return BEYOND if place is None else place


def _said(place: int | None) -> str:
    return "–" if place is None else str(place)
