"""A past moment in words: what it is, where it is only concluded, what became of a fact, why a recall gave it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gm_desktop.formatting import local_time, number, utc_time
from gm_desktop.i18n import decimal, in_sentence, tr, tr_count
from gm_desktop.models.fact_row import agent_title, fact_status
from gm_desktop.models.line_list import Line
from gm_desktop.plain_text import row_text
from gm_desktop.viewmodels.arithmetic import arithmetic, short_number
from gm_desktop.viewmodels.checkpoint_words import checkpoint_line
from gm_desktop.viewmodels.fact_words import confidence_sentence, confidence_title, origin_sentence, status_title
from gm_desktop.viewmodels.past_reading import PastListing, Shown
from gm_desktop.viewmodels.why import signal_title
from gm_engine.records import CheckpointSummary, Fact, Receipt

LISTS: tuple[Shown, ...] = ("then", "then_retired", "added", "retired", "restored", "moved", "changed", "removed")
_VERDICT_TONES = {"approved": "success", "needs_work": "warning", "rejected": "danger"}
_TITLES: dict[Shown, str] = {
    "then": "Live then",
    "then_retired": "Retired then",
    "added": "Added since",
    "retired": "Retired since",
    "restored": "Restored since",
    "moved": "Moved since",
    "changed": "Changed since",
    "removed": "Gone since",
}
_TONES: dict[Shown, str] = {
    "added": "live",
    "restored": "live",
    "removed": "danger",
    "moved": "info",
    "changed": "info",
}


@dataclass(frozen=True, slots=True)
class PastHead:
    """The moment in words. `caution` says where it is only concluded; `no_recall` why it can't be asked, if so."""

    title: str
    title_utc: str
    counts: str
    caution: str
    no_recall: str


@dataclass(frozen=True, slots=True)
class PastDetails:
    """One fact as it was, and what differs now. `facts` are (name, value, hover); `now_id` empty: it is gone."""

    id: str
    text: str
    confidence: str
    confidence_title: str
    status: str
    status_title: str
    is_pinned: bool
    was_there: bool
    facts: tuple[tuple[str, str, str], ...]
    since: tuple[Line, ...]
    is_there_now: bool


def shown_title(shown: Shown) -> str:
    """What a chip calls the facts it lists."""
    return tr(_TITLES[shown])


def shown_tone(shown: Shown) -> str:
    """The pill of what happened to a fact."""
    return _TONES.get(shown, "retired")


def past_head(listing: PastListing) -> PastHead:
    """The moment that was opened."""
    counts = listing.counts
    parts = (
        tr_count("{count} fact", "{count} facts", counts.facts),
        tr_count("{count} entity", "{count} entities", counts.entities),
        tr_count("{count} link", "{count} links", counts.edges),
        tr_count("{count} checkpoint", "{count} checkpoints", counts.checkpoints),
    )
    return PastHead(
        title=tr("As it was on {when}", when=local_time(listing.at_ns)),
        title_utc=utc_time(listing.at_ns),
        counts=" · ".join(parts),
        caution=_caution(listing),
        no_recall=_no_recall(listing),
    )


def answer_sentence(agent_id: str, count: int, *, is_chosen: bool) -> str:
    """Who would have been given how many facts, and why this agent was asked where nobody chose one."""
    whom = agent_title(agent_id)
    if not count:
        said = tr("{agent} would have been given nothing.", agent=whom)
    else:
        said = tr_count(
            "{agent} would have been given {count} fact.",
            "{agent} would have been given {count} facts, the best first.",
            count,
            agent=whom,
        )
    return said if is_chosen else f"{said} {tr('Of all agents it knew most then.')}"


def _caution(listing: PastListing) -> str:
    if not listing.reconstructed:
        return ""
    if listing.horizon_ns is None:
        return tr("The journal knows nothing of this moment.")
    if listing.at_ns >= listing.horizon_ns:
        return tr("Facts that were imported later show as they came in; what they were before, the journal can't know.")
    return tr(
        "The journal knows everything from {when} on. Before that, facts show as they were when they were imported.",
        when=local_time(listing.horizon_ns),
    )


def _no_recall(listing: PastListing) -> str:
    if listing.can_recall:
        return ""
    if listing.horizon_ns is None or listing.at_ns < listing.horizon_ns:
        return tr(
            "Nobody knows what an agent would have been given then: this moment is concluded from later imports, and"
            " the journal does not reach back that far."
        )
    return tr("Other entries of the journal have the same time, so that no question can be asked between them.")


def past_details(fact_id: str, then: Fact | None, now: Fact | None) -> PastDetails | None:
    """One fact at both moments; None where it is in neither."""
    fact = then or now
    if fact is None:
        return None
    status = fact_status(fact)
    return PastDetails(
        id=fact_id,
        text=fact.text,
        confidence=fact.effective_confidence.value,
        confidence_title=confidence_title(fact.effective_confidence.value),
        status=status,
        status_title=status_title(status),
        is_pinned=fact.pinned,
        was_there=then is not None,
        facts=_facts(fact),
        since=_since(then, now),
        is_there_now=now is not None,
    )


def _facts(fact: Fact) -> tuple[tuple[str, str, str], ...]:
    return (
        (tr("Agent"), agent_title(fact.agent_id), ""),
        (tr("Label"), confidence_sentence(fact), ""),
        (tr("Written"), local_time(fact.created_ns), utc_time(fact.created_ns)),
        (tr("Pinned"), local_time(fact.pinned_ns) if fact.pinned else tr("No"), ""),
        (tr("Origin"), origin_sentence(fact.origin), ""),
    )


def _since(then: Fact | None, now: Fact | None) -> tuple[Line, ...]:
    """What happened to a fact, a line each: from what to what."""
    if then is None:
        return (Line("added", shown_title("added"), tr("It was not there yet."), "", "success"),)
    if now is None:
        return (Line("removed", shown_title("removed"), tr("Its text is no longer in the store."), "", "danger"),)
    lines = []
    if then.is_superseded != now.is_superseded:
        key: Shown = "retired" if now.is_superseded else "restored"
        lines.append(Line(key, shown_title(key), status_title(fact_status(now))))
    if then.agent_id != now.agent_id:
        moved = f"{agent_title(then.agent_id)} → {agent_title(now.agent_id)}"
        lines.append(Line("moved", shown_title("moved"), moved))
    if then.confidence != now.confidence:
        labels = [row_text(each.confidence, 40) or tr("none") for each in (then, now)]
        lines.append(Line("label", tr("Label changed since"), " → ".join(labels)))
    if then.pinned != now.pinned:
        lines.append(Line("pin", tr("Pinned since") if now.pinned else tr("Unpinned since")))
    return tuple(lines)


def checkpoint_lines(checkpoints: Sequence[CheckpointSummary]) -> tuple[Line, ...]:
    """The checkpoints that there were, with their verdicts as they were."""
    return tuple(
        Line(
            each.id,
            each.when,
            f"{each.agent}  ·  {each.summary}",
            each.verdict_title,
            _VERDICT_TONES.get(each.verdict, ""),
        )
        for each in (checkpoint_line(summary, summary.created_ns) for summary in checkpoints)
    )


def hit_lines(receipts: Sequence[Receipt]) -> tuple[Line, ...]:
    """The answer of a recall, a line each: the text, and the sum that put it there."""
    return tuple(
        Line(each.fact.id, f"{number(place)}.  {row_text(each.fact.text, 240)}", _sum(each))
        for place, each in enumerate(receipts, start=1)
    )


def _sum(receipt: Receipt) -> str:
    """`0.04918 = 0.01639 words (rank 1) + …`, times the confidence factor where there is one."""
    summed = arithmetic(receipt)
    parts = [
        tr(
            "{value} {signal} (rank {rank})",
            value=line.value,
            signal=in_sentence(signal_title(line.signal)),
            rank=line.rank,
        )
        for line in summed.lines
        if line.rank
    ]
    total = " + ".join(parts)
    factor = receipt.ranking.factor if receipt.ranking is not None else 1.0
    if factor != 1.0:
        times = decimal(short_number(factor))
        total = f"({total}) × {times}" if len(parts) > 1 else f"{total} × {times}"
    return f"{summed.final} = {total}"
