"""Proposals in words: a line for the list, a whole card, what a cycle did. Runs in a lane; no Qt, no waiting."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gm_desktop.formatting import age, local_time, number, utc_time
from gm_desktop.i18n import decimal, in_sentence, tr, tr_count
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.proposal_cards import Card, CardFact, CardLine, Caution, Spans
from gm_desktop.models.word_changes import word_changes
from gm_desktop.plain_text import row_text
from gm_desktop.viewmodels.fact_words import confidence_title, origin_sentence
from gm_engine import CycleReport, Finding, Proposal, lost_and_invented
from gm_engine.records import Fact

if TYPE_CHECKING:
    from gm_engine import Memory

SHOWN_FACTS = 40
NEAREST, QUERY_CHARS = 3, 2_000
_UNSEEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_KINDS = {
    "exact_duplicate": ("Exact duplicate", "verified"),
    "near_duplicate": ("Near duplicate", "info"),
    "contradiction": ("Contradiction", "unverified"),
    "summary": ("Summary", "accent"),
    "prune": ("Faded", "retired"),
    "write": ("New fact", "accent"),
    "revise": ("Revision", "accent"),
    "retire": ("Retirement", "retired"),
    "label": ("Label", "info"),
    "pin": ("Pin", "accent"),
    "link": ("Graph link", "info"),
}
_MERGES = ("exact_duplicate", "near_duplicate", "contradiction")
_PRUNED_BELOW = "0.01"


@dataclass(frozen=True, slots=True)
class Draft:
    """What a person's own result comes to: the spans that are new, what each leaving fact loses, what to look at."""

    added: Spans
    removed: tuple[Spans, ...]
    cautions: tuple[Caution, ...]


def kind_title(kind: str) -> str:
    """The name of a kind of proposal."""
    return tr(_KINDS.get(kind, (kind, ""))[0])


def card_line(proposal: Proposal, facts: Mapping[str, Fact]) -> CardLine:
    """One proposal in the list."""
    first = next((facts[fact_id] for fact_id in proposal.facts if fact_id in facts), None)
    text = proposal.text or (first.text if first else proposal.reason)
    return CardLine(
        id=proposal.id,
        kind=proposal.kind,
        kind_title=kind_title(proposal.kind),
        tone=_KINDS.get(proposal.kind, ("", ""))[1],
        text=row_text(text, 160),
        agent="" if proposal.agent_id is None else agent_title(proposal.agent_id),
        note=tr("Changed since") if proposal.stale else _size(proposal),
        is_stale=proposal.stale,
    )


def _size(proposal: Proposal) -> str:
    return tr_count("{count} fact", "{count} facts", len(proposal.facts)) if proposal.facts else ""


def read_card(memory: Memory, proposal_id: str, now_ns: int) -> Card:
    """One proposal with its facts as they are now. Raises `NotFound` when it is gone."""
    proposal = memory.inbox.get(proposal_id)
    facts = {fact.id: fact for fact in memory.facts(proposal.facts[: SHOWN_FACTS + 1])}
    card = card_of(proposal, facts, now_ns)
    if proposal.kind != "write" or proposal.agent_id is None:
        return card
    near = memory.recall(proposal.agent_id, proposal.text[:QUERY_CHARS], top_k=NEAREST, preview=True).facts
    removed, added = _differences_of_nearest([fact.text for fact in near], proposal.text)
    known = tuple(_card_fact(fact, spans, now_ns) for fact, spans in zip(near, removed, strict=True))
    return replace(card, goes_title=tr("Nearest in the store") if known else "", goes=known, added=added)


def card_of(proposal: Proposal, facts: Mapping[str, Fact], now_ns: int) -> Card:
    """The card of a proposal, given its facts."""
    kept = facts.get(proposal.keep)
    leaving = [facts[fact_id] for fact_id in proposal.consumed if fact_id in facts][:SHOWN_FACTS]
    result = proposal.text or (kept.text if kept else "")
    removed, added = _differences([fact.text for fact in leaving], result) if result else ([()] * len(leaving), ())
    titles = _titles(proposal, kept)
    return Card(
        id=proposal.id,
        kind=proposal.kind,
        kind_title=kind_title(proposal.kind),
        tone=_KINDS.get(proposal.kind, ("", ""))[1],
        agent="" if proposal.agent_id is None else agent_title(proposal.agent_id),
        reason=reason_sentence(proposal),
        goes_title=titles[0],
        stays_title=titles[1],
        goes=tuple(_card_fact(fact, spans, now_ns) for fact, spans in zip(leaving, removed, strict=True)),
        stays=None if kept is None else _card_fact(kept, (), now_ns),
        result=result,
        added=added,
        cautions=_cautions(proposal.findings) + _model_notes(proposal) + _unseen(proposal.text),
        accept_title=titles[2],
        more=len(proposal.consumed) - len(leaving) if len(facts) > SHOWN_FACTS else 0,
        stale=_stale_sentence(proposal, facts),
        reject_title=tr("Keep the store's side") if proposal.details.get("conflict") else "",
        can_edit=proposal.kind not in ("prune", "retire", "label", "pin", "link"),
    )


def _differences(sources: Sequence[str], result: str) -> tuple[list[Spans], Spans]:
    """What each source has alone, and what the result has that no source has."""
    changes = [word_changes(source, result) for source in sources]
    removed = [tuple((span.start, span.end) for span in change.removed) for change in changes]
    added: set[int] | None = None
    for change in changes:
        places = {place for span in change.added for place in range(span.start, span.end)}
        added = places if added is None else added & places
    return removed, _runs(sorted(added or ()))


def _differences_of_nearest(near: Sequence[str], result: str) -> tuple[list[Spans], Spans]:
    """The same for facts that stay: words tell something only where at least half of a fact is in the result, too."""
    removed, _ = _differences(near, result)
    alone = [sum(end - start for start, end in spans) for spans in removed]
    is_alike = [2 * count <= len(text) for count, text in zip(alone, near, strict=True)]
    _, added = _differences([text for text, alike in zip(near, is_alike, strict=True) if alike], result)
    return [spans if alike else () for spans, alike in zip(removed, is_alike, strict=True)], added


def _runs(places: Sequence[int]) -> Spans:
    spans: list[tuple[int, int]] = []
    for place in places:
        if spans and spans[-1][1] == place:
            spans[-1] = (spans[-1][0], place + 1)
        else:
            spans.append((place, place + 1))
    return tuple(spans)


def _titles(proposal: Proposal, kept: Fact | None) -> tuple[str, str, str]:
    """What the two columns and the button are called."""
    retired = tr("Would be retired")
    if proposal.details.get("conflict") and proposal.kind == "revise":
        return tr("In the store"), tr("In the vault"), tr("Keep the vault's text")
    if proposal.kind == "contradiction":
        is_pinned = kept is not None and kept.pinned
        return retired, tr("Stays: the pinned fact") if is_pinned else tr("Stays: the newest"), tr("Keep this one")
    titles = {
        "summary": (retired, tr("Written instead"), tr("Accept the summary")),
        "prune": (tr("Would leave the store"), "", tr("Let them go")),
        "write": ("", tr("Would be written"), tr("Write it")),
        "revise": (tr("As it is"), tr("Revised"), tr("Accept the revision")),
        "retire": (retired, "", tr("Retire")),
        "label": (tr("The fact"), "", tr("Set the label")),
        "pin": (tr("The fact"), "", tr("Pin it") if proposal.details.get("pinned") else tr("Unpin it")),
        "link": (tr("Its receipt"), "", tr("Link them")),
    }
    return titles.get(proposal.kind, (retired, tr("Stays"), tr("Merge")))


def reason_sentence(proposal: Proposal) -> str:
    """Why it was proposed, in the person's language."""
    count = len(proposal.facts)
    if proposal.source == "vault":
        return vault_sentence(proposal)
    if proposal.source == "review":
        return review_sentence(proposal)
    words = [finding.text for finding in proposal.findings if finding.kind == "words"]
    shown = row_text("; ".join(words[:3]), 200)
    if proposal.kind == "near_duplicate":
        return tr("Nearly the same: {words}", words=shown) if words else tr("The same in slightly other words")
    if proposal.kind == "contradiction":
        if all("–" in word for word in words):
            return tr("The same, but only one says: {words}", words=row_text(_without_dash(words), 200))
        return tr("The same, but for {words}", words=shown)
    sentences = {
        "exact_duplicate": tr_count("{count} fact has this text", "{count} facts have the same text", count),
        "summary": tr_count("{count} weak fact in one text", "{count} weak facts in one text", count),
        "prune": tr_count(
            "{count} fact faded below a weight of {limit}",
            "{count} facts faded below a weight of {limit}",
            count,
            limit=decimal(_PRUNED_BELOW),
        ),
    }
    return sentences.get(proposal.kind) or row_text(proposal.reason, 300)


_IN_VAULT = {
    "revise": "The text was edited in the vault: {note}",
    "write": "A note was written in the vault: {note}",
    "retire": "The note was deleted in the vault: {note}",
    "link": "A link to an entity was added in the vault: {note}",
    "label": "It was labelled {label} in the vault: {note}",
    "unpin": "It was unpinned in the vault: {note}",
    "pin": "It was pinned in the vault: {note}",
}


def vault_sentence(proposal: Proposal) -> str:
    """What was done in the vault, and to which note."""
    note = row_text(str(proposal.details.get("note", "")), 160)
    label = row_text(str(proposal.details.get("confidence") or ""), 40)
    if proposal.details.get("conflict"):
        return tr("Edited in the vault while the store changed too. Accept keeps the vault's side: {note}", note=note)
    return tr(_IN_VAULT.get(_kind_of(proposal), "It was changed in the vault: {note}"), note=note, label=label)


_ASKED = {
    "write": "{client} wants to write this",
    "revise": "{client} wants to revise this",
    "retire": "{client} wants to retire this",
    "pin": "{client} wants to pin this",
    "unpin": "{client} wants to unpin this",
    "label": "{client} wants to label this {label}",
    "link": "{client} wants to link {start} to {end}",
}

_ASKED_AS = {
    "write": "{client} wants to write this as {label}",
    "revise": "{client} wants to revise this, as {label}",
}


def review_sentence(proposal: Proposal) -> str:
    """What a program under review asked for."""
    details = proposal.details
    names = {key: row_text(str(details.get(at, "")), 80) for key, at in (("start", "from"), ("end", "to"))}
    client, label = row_text(str(details.get("client", "")), 80), row_text(str(details.get("confidence") or ""), 40)
    kind = _kind_of(proposal)
    if label and kind in _ASKED_AS:
        return tr(_ASKED_AS[kind], client=client, label=confidence_title(label).lower())
    return tr(_ASKED.get(kind, "{client} wants to change this"), client=client, label=label, **names)


def _without_dash(words: Sequence[str]) -> str:
    """The words that one side has and the other has not, each once."""
    return "; ".join(dict.fromkeys(word.replace("– → ", "").replace(" → –", "") for word in words))


def _card_fact(fact: Fact, removed: Spans, now_ns: int) -> CardFact:
    parts = [
        age(fact.created_ns, now_ns),
        origin_sentence(fact.origin),
        tr("weight {weight}", weight=decimal(f"{fact.weight:.2f}")).replace(" ", "\u00a0"),  # never on two lines
    ]
    return CardFact(
        id=fact.id,
        text=fact.text,
        note="  ·\u00a0\u00a0".join(parts),  # no dot at the end of a line
        hover=f"{local_time(fact.created_ns)}\n{utc_time(fact.created_ns)}\n{fact.id}",
        confidence=fact.effective_confidence.value,
        confidence_title=confidence_title(fact.effective_confidence.value),
        is_pinned=fact.pinned,
        removed=removed,
    )


def _cautions(findings: Sequence[Finding]) -> tuple[Caution, ...]:
    sentences = {
        "number": "A number is lost: {what}",
        "name": "A name is lost: {what}",
        "negation": "A negation is lost: {what}",
        "invented": "In none of the facts: {what}",
    }
    return tuple(
        Caution(tr(sentences[finding.kind], what=row_text(finding.text, 80)), is_grave=True)
        for finding in findings
        if finding.kind in sentences
    )


def _model_notes(proposal: Proposal) -> tuple[Caution, ...]:
    notes = proposal.details.get("contradictions")
    if not isinstance(notes, list):
        return ()
    return tuple(
        Caution(tr("The model sees a contradiction: {what}", what=row_text(str(note), 200)), is_grave=False)
        for note in notes[:5]
    )


def _unseen(text: str) -> tuple[Caution, ...]:
    """A text may read otherwise than it looks: it says where it has characters without a shape of their own."""
    found = sorted(set(_UNSEEN.findall(text)))
    if not found:
        return ()
    codes = ", ".join(f"U+{ord(char):04X}" for char in found[:5])
    what = tr("It has characters that are not seen or turn the reading direction: {codes}", codes=codes)
    return (Caution(what, is_grave=True),)


def _stale_sentence(proposal: Proposal, facts: Mapping[str, Fact]) -> str:
    if not proposal.stale:
        return ""
    changed = [
        fact_id for fact_id, version in proposal.base.items() if fact_id in facts and facts[fact_id].version != version
    ]
    if proposal.source == "review":
        return tr("The fact was changed meanwhile. Reject this; the program can ask again.")
    if any(facts[fact_id].is_superseded for fact_id in changed):
        return tr("A fact of this card was retired meanwhile. Run a cycle to look again.")
    return tr("A fact of this card was changed meanwhile. Run a cycle to look again.")


def draft_of(card: Card, result: str) -> Draft:
    """What a person's own result comes to, beside the facts of a card."""
    differ = _differences_of_nearest if card.kind == "write" else _differences
    removed, added = differ([fact.text for fact in card.goes], result)
    facts = (*card.goes, *(() if card.stays is None else (card.stays,))) if card.kind != "write" else ()
    lost = _cautions(lost_and_invented({fact.id: fact.text for fact in facts}, result))
    return Draft(added, tuple(removed), lost + _unseen(result))


_DONE = {
    "write": "Wrote “{what}”",
    "revise": "Revised to “{what}”",
    "retire": "Retired “{what}”",
    "label": "Labelled “{what}”",
    "pin": "Pinned “{what}”",
    "unpin": "Unpinned “{what}”",
    "link": "Linked two entities by “{what}”",
}


def accepted_sentence(card: Card, proposal: Proposal) -> str:
    """What was done, in the past tense, for the undo step."""
    count = len(card.goes) + card.more
    match card.kind:
        case "exact_duplicate" | "near_duplicate":
            return tr("Merged {count} facts", count=number(count + 1))
        case "contradiction":
            return tr("Settled a contradiction")
        case "summary":
            return tr("Accepted a summary of {count} facts", count=number(count))
        case "prune":
            return tr_count("Let {count} faded fact go", "Let {count} faded facts go", count)
    first = card.goes[0].text if card.goes else ""
    text = proposal.text or (card.stays.text if card.stays is not None else first)
    return tr(_DONE[_kind_of(proposal)], what=row_text(text, 60))


def _kind_of(proposal: Proposal) -> str:
    """The kind of a proposal, taking a pin off told from putting one on."""
    return "unpin" if proposal.kind == "pin" and not proposal.details.get("pinned") else proposal.kind


def cycle_sentence(report: CycleReport) -> str:
    """What a cycle did, or would do."""
    parts = [tr_count("looked at {count} fact", "looked at {count} facts", report.facts)]
    proposed = [(kind, report.proposed[kind]) for kind in _KINDS if kind in report.proposed]
    parts += [f"{number(count)} × {in_sentence(kind_title(kind))}" for kind, count in proposed]
    if not report.proposed:
        parts.append(tr("nothing new to decide"))
    if report.consumed:
        parts.append(tr("{count} merged at once", count=number(report.consumed)))
    if report.pruned:
        verb = tr("{count} would leave", count=number(report.pruned))
        parts.append(verb if report.dry_run else tr("{count} faded facts left", count=number(report.pruned)))
    if report.held_back:
        parts.append(tr("{count} faded facts wait for you", count=number(report.held_back)))
    if report.series:
        parts.append(tr_count("{count} series left alone", "{count} series left alone", report.series))
    return ", ".join(parts)
