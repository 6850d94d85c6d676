"""The figures of a store in words, each with the list that stands behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from gm_desktop.formatting import local_date, local_time, number
from gm_desktop.i18n import decimal, in_sentence, tr, tr_count
from gm_desktop.models.fact_row import agent_title
from gm_desktop.viewmodels.fact_filter import FactFilter
from gm_desktop.viewmodels.fact_words import channel_title, confidence_title
from gm_engine import ConsolidationCounters
from gm_engine.records import (
    SHARED_AGENT_ID,
    WEIGHT_BUCKETS,
    AgentSummary,
    Confidence,
    DayCount,
    Overview,
    VectorStatus,
)

DAY_NS = 86_400 * 1_000_000_000
RECALL_DAYS = 30
SHOWN_AGENTS = 8
_MOST_BARS = 60


@dataclass(frozen=True, slots=True)
class Opens:
    """What a number opens: a page, on the Memory page with a filter and perhaps in another order, or a section."""

    page: str
    facts: FactFilter | None = None
    by_uses: bool = False
    section: str = ""  # of the settings


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that opens its list."""

    title: str
    value: str
    hover: str
    opens: Opens


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart, or one row with a bar: a name, a count, and the list behind it."""

    title: str
    count: int
    hover: str
    opens: Opens


@dataclass(frozen=True, slots=True)
class Chart:
    """A row of bars with a line about them, and what stands below the first and the last one."""

    note: str
    first: str
    last: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many texts have a vector, which share of all that is, and the list of those without one, if any is."""

    text: str
    count: int
    share: float
    pending: Opens | None


@dataclass(frozen=True, slots=True)
class Figures:
    """The whole page in words."""

    figures: tuple[Figure, ...]
    written: Chart
    recalls: Chart
    weights: Chart
    confidence: tuple[Bar, ...]
    agents: tuple[Bar, ...]
    channels: tuple[Bar, ...]
    embedded: Embedded
    cycle: str
    cycle_note: str


LIVE = FactFilter(kind="content")


def figures_of(found: Overview, counters: ConsolidationCounters, now_ns: int) -> Figures:
    """Everything that the page says."""
    cycle, note = _cycle(counters)
    return Figures(
        figures=_figures(found),
        written=written_chart(found.written, now_ns),
        recalls=_recalls(found, now_ns),
        weights=_weights(found),
        confidence=_confidence(found),
        agents=_agents(found.agents),
        channels=tuple(
            Bar(channel_title(channel), count, "", _facts(LIVE.with_channel(channel)))
            for channel, count in found.channels
        ),
        embedded=embedded_of(found.vectors),
        cycle=cycle,
        cycle_note=note,
    )


def embedded_of(vectors: VectorStatus) -> Embedded:
    """How far embedding has come."""
    total = vectors.embedded + vectors.pending
    return Embedded(
        text=tr("{done} of {total} texts", done=number(vectors.embedded), total=number(total)),
        count=vectors.embedded,
        share=vectors.embedded / total if total else 0.0,  # nothing to embed: no bar beside a 0
        pending=_facts(FactFilter(without_vector=True)) if vectors.pending else None,
    )


def _facts(wanted: FactFilter, *, by_uses: bool = False) -> Opens:
    return Opens("memory", wanted, by_uses)


def _figures(found: Overview) -> tuple[Figure, ...]:
    counts = found.counts
    return (
        _figure(tr("Live facts"), found.live, _facts(LIVE)),
        _figure(tr("Retired"), found.retired, _facts(FactFilter(status="retired", kind="content"))),
        _figure(tr("Pinned"), found.pinned, _facts(FactFilter(pinned=True, kind="content"))),
        _figure(
            tr("Never recalled"),
            found.unused,
            _facts(FactFilter(unused=True, kind="content")),
            tr("Live facts that no recall has returned yet"),
        ),
        _figure(tr("Aliases"), found.aliases, _facts(FactFilter(kind="alias"))),
        _figure(tr("Waiting for you"), found.waiting, Opens("consolidate"), tr("Proposals to accept or reject")),
        _figure(tr("Checkpoints"), counts.checkpoints, Opens("checkpoints")),
        _figure(
            tr("Not reviewed"), found.checkpoints_to_review, Opens("checkpoints"), tr("Checkpoints without a verdict")
        ),
        _figure(tr("Entities"), counts.entities, Opens("graph")),
        _figure(tr("Links"), counts.edges, Opens("graph")),
        _figure(
            tr("Blocked values"),
            found.blocked,
            Opens("settings", section="blocked"),
            tr("Texts that are never stored again"),
        ),
        _figure(tr("Journal entries"), found.journal_entries, Opens("activity")),
    )


def _figure(title: str, value: int, opens: Opens, hover: str = "") -> Figure:
    return Figure(title, number(value), hover or tr("Show {what}", what=in_sentence(title)), opens)


# --- over time --------------------------------------------------------------------------------------------------------


def written_chart(days: Sequence[DayCount], now_ns: int) -> Chart:
    """Facts by the time they were written: by day, week, month or year, so that there are at most sixty bars."""
    if not days:
        return Chart(tr("Nothing written yet"), "", "", ())
    today = _today(now_ns)
    first = min(date.fromisoformat(days[0].day), today)
    last = max(date.fromisoformat(days[-1].day), today)
    counts = {date.fromisoformat(each.day): each.count for each in days}
    bars = []
    for start, end in _periods(first, last):
        count = sum(found for day, found in counts.items() if start <= day < end)
        span = (_ns(start), _ns(end))
        title = _period_title(start, end)
        hover = tr_count("{title}: {count} fact", "{title}: {count} facts", count, title=title)
        bars.append(Bar(title, count, hover, _facts(FactFilter(status="all", kind="content", written=span))))
    recent = sum(count for day, count in counts.items() if day > today - timedelta(days=30))
    total = sum(counts.values())
    note = tr("{total} in all, {recent} in the last 30 days", total=number(total), recent=number(recent))
    newest = tr("today") if last == today else local_date(_ns(last), zone=UTC)
    return Chart(note, local_date(_ns(first), zone=UTC), newest, tuple(bars))


def _periods(first: date, last: date) -> Iterator[tuple[date, date]]:
    """Half-open periods of one length that cover both days."""
    span = (last - first).days + 1
    if span <= _MOST_BARS:
        step = 1
    elif span <= 7 * _MOST_BARS:
        step = 7
    else:
        yield from _months(first, last, 1 if span <= 30 * _MOST_BARS else 12 if span <= 365 * _MOST_BARS else 120)
        return
    start = first
    while start <= last:
        yield start, start + timedelta(days=step)
        start += timedelta(days=step)


def _months(first: date, last: date, step: int) -> Iterator[tuple[date, date]]:
    start = date(first.year, first.month if step == 1 else 1, 1)
    while start <= last:
        months = start.year * 12 + start.month - 1 + step
        end = date(months // 12, months % 12 + 1, 1)
        yield start, end
        start = end


def _period_title(start: date, end: date) -> str:
    first, last = local_date(_ns(start), zone=UTC), local_date(_ns(end - timedelta(days=1)), zone=UTC)
    return first if first == last else tr("{first} to {last}", first=first, last=last)


def _ns(day: date) -> int:
    return (day - date(1970, 1, 1)).days * DAY_NS


def _today(now_ns: int) -> date:
    return datetime.fromtimestamp(now_ns // 1_000_000_000, UTC).date()


def _recalls(found: Overview, now_ns: int) -> Chart:
    """Recalls of the last thirty days, by day; every bar leads to the facts that are recalled most."""
    today = _today(now_ns)
    counts = {each.day: each.count for each in found.recalls}
    days = [today - timedelta(days=back) for back in reversed(range(RECALL_DAYS))]
    most = _facts(LIVE, by_uses=True)
    bars = []
    for day in days:
        count, title = counts.get(day.isoformat(), 0), local_date(_ns(day), zone=UTC)
        bars.append(
            Bar(title, count, tr_count("{title}: {count} recall", "{title}: {count} recalls", count, title=title), most)
        )
    total = sum(each.count for each in found.recalls)
    recent = sum(bar.count for bar in bars)
    if not total:
        return Chart(tr("No recall yet"), "", "", ())
    note = tr("{total} in all, {recent} in the last 30 days", total=number(total), recent=number(recent))
    client = next((client for client, _ in found.recalls_by_client if client), "")
    if client:
        note += tr(", most by {client}", client=client[:40])
    return Chart(note, local_date(_ns(days[0]), zone=UTC), tr("today"), tuple(bars))


# --- distributions ----------------------------------------------------------------------------------------------------


def _weights(found: Overview) -> Chart:
    bars = []
    for at, count in enumerate(found.weights):
        low, high = at / WEIGHT_BUCKETS, (at + 1) / WEIGHT_BUCKETS
        title = decimal(f"{low:.1f} – {high:.1f}")
        below = None if at == WEIGHT_BUCKETS - 1 else high
        hover = tr_count("Weight {title}: {count} fact", "Weight {title}: {count} facts", count, title=title)
        bars.append(Bar(title, count, hover, _facts(FactFilter(kind="content", weight=(low, below)))))
    fading = sum(found.weights[: WEIGHT_BUCKETS // 10])
    note = tr_count("{count} fact is about to fade", "{count} facts are about to fade", fading) if fading else ""
    return Chart(note, "0", "1", tuple(bars) if found.live else ())


def _confidence(found: Overview) -> tuple[Bar, ...]:
    counts = found.confidence
    labels = ((Confidence.VERIFIED, counts.verified), (Confidence.INFERRED, counts.inferred))
    return tuple(
        Bar(confidence_title(label.value), count, "", _facts(FactFilter(kind="content", confidence=frozenset({label}))))
        for label, count in (*labels, (Confidence.UNVERIFIED, counts.unverified))
    )


def _agents(agents: Sequence[AgentSummary]) -> tuple[Bar, ...]:
    """Shared first, then those with the most live facts."""
    ranked = sorted(agents, key=lambda each: (each.agent_id != SHARED_AGENT_ID, -each.live, each.agent_id))
    return tuple(
        Bar(
            agent_title(each.agent_id),
            each.live,
            tr("{live} live, {retired} retired", live=number(each.live), retired=number(each.retired)),
            _facts(FactFilter(agent_id=each.agent_id, kind="content")),
        )
        for each in ranked[:SHOWN_AGENTS]
    )


def _cycle(counters: ConsolidationCounters) -> tuple[str, str]:
    """The last cycle, and the sum of all."""
    last = counters.last
    if last is None:
        return tr("No cycle has run yet"), ""
    text = tr(
        "{when}, {agent}: looked at {facts} facts, proposed {proposed}, retired {consumed}, pruned {pruned}",
        when=local_time(last.at_ns),
        agent=agent_title(last.agent_id),
        facts=number(last.facts),
        proposed=number(sum(last.proposed.values())),
        consumed=number(last.consumed),
        pruned=number(last.pruned),
    )
    note = tr_count("{count} cycle so far", "{count} cycles so far", counters.cycles)
    return text, note
