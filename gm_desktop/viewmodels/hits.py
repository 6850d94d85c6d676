"""Ranked facts as rows: their first words, what matched in them, how far they moved."""

from __future__ import annotations

from dataclasses import replace

from gm_desktop.formatting import age, visible
from gm_desktop.i18n import tr
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.hit_list import Hit
from gm_desktop.plain_text import ROW_CHARS, excerpt
from gm_desktop.viewmodels.fact_words import confidence_title
from gm_engine.records import Fact
from gm_engine.terms import match_spans, text_terms


def plain_hit(fact: Fact, *, position: int, now_ns: int) -> Hit:
    """A fact as a row without a score."""
    text = visible(excerpt(" ".join(fact.text[: ROW_CHARS * 4].split()), ROW_CHARS).text)
    return Hit(
        id=fact.id,
        position=position,
        text=text,
        spans=(),
        agent=agent_title(fact.agent_id),
        confidence=fact.effective_confidence.value,
        confidence_title=confidence_title(fact.effective_confidence.value),
        is_pinned=fact.pinned,
        age=age(fact.created_ns, now_ns),
        shares=(),
        score="",
        spoken=tr("Hit {position}: {fact}", position=position, fact=text),
    )


def matched_spans(text: str, matched: tuple[str, ...], language: str) -> tuple[tuple[int, int], ...]:
    """Where the matched words, in any of their forms, stand in the text."""
    keys = frozenset(term.term for word in matched for term in text_terms(word, language))
    return match_spans(text, keys, language) if keys else ()


def with_move(hit: Hit, place_before: int | None) -> Hit:
    """The hit with how its place differs from the saved ranking."""
    if place_before is None:
        return replace(hit, moved=tr("new"), tone="accent", spoken=tr("{hit}. New in the answer", hit=hit.spoken))
    up = place_before - hit.position
    if up == 0:
        return replace(hit, moved="", tone="")
    moved, tone = (f"▲ {up}", "success") if up > 0 else (f"▼ {-up}", "danger")
    return replace(hit, moved=moved, tone=tone, spoken=tr("{hit}. Was {place}", hit=hit.spoken, place=place_before))
