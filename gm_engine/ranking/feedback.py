"""Weak matches: what to say when a query and the memory hardly share a word.

A match is weak when fewer than half of the query's terms occur in the facts that may be recalled, or none of them does.
The block names stored words nearby and how to teach a missing one; it changes no fact and no order.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from sqlalchemy import Connection

from gm_engine.ranking.fusion import first_in_order
from gm_engine.ranking.keyword import KeywordMatch
from gm_engine.ranking.postings import decode
from gm_engine.ranking.query import Query
from gm_engine.ranking.snapshot import Snapshot, View
from gm_engine.store.rows import fetch
from gm_engine.terms import Term

_WORDS = 8
_ASKED = 6  # missing terms that are looked up
_NEIGHBOURS = 24  # facts whose other words are looked at
_LIKELY = 40  # words beside a match that are weighed against the whole memory
_SIMILAR = 72.0  # rapidfuzz ratio, 0 to 100
_COMMON = 0.2  # a word in more than this share of the facts says nothing about a query
_NEARBY = "SELECT id, term, surface FROM terms WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?"
_SURFACES = "SELECT id, surface FROM terms WHERE id IN (SELECT value FROM json_each(?))"
_TERM_BLOBS = "SELECT data FROM fact_terms WHERE fact_no IN (SELECT value FROM json_each(?)) ORDER BY fact_no"


def is_weak(match: KeywordMatch) -> bool:
    """Whether fewer than half of the query's terms occur, or none of them in any fact."""
    occurring = sum(1 for count in match.frequency if count)
    return bool(match.frequency) and (2 * occurring < len(match.frequency) or len(match.matched) == 0)


def weak_match_feedback(
    connection: Connection, snapshot: Snapshot, view: View, *, query: Query, match: KeywordMatch
) -> str:
    """The block for a weak match in plain English, "" for any other."""
    if not is_weak(match):
        return ""
    missing = [term for term, count in zip(query.terms, match.frequency, strict=True) if not count]
    words = _nearby_words(connection, snapshot, view, missing=missing[:_ASKED], match=match, query=query)
    names = ", ".join(f"“{term.surface}”" for term in missing[:_ASKED])
    lines = [f"Weak match: nothing here uses {names}." if missing else "Weak match: no fact shares a word with this."]
    if words:
        lines.append(f"Stored words nearby: {', '.join(f'“{word}”' for word in words)}.")
        lines.append("If one of them means the same, teach it with an alias: term = the stored word.")
    return " ".join(lines)


def _nearby_words(
    connection: Connection,
    snapshot: Snapshot,
    view: View,
    *,
    missing: Sequence[Term],
    match: KeywordMatch,
    query: Query,
) -> list[str]:
    """Up to 8 stored words: those spelt like a missing one first, then those that stand beside what matched."""
    own = set(query.ids.values())
    spelt = _spelt_alike(connection, snapshot, view, missing)
    beside = _beside(connection, snapshot, view, match, skip=own)
    ids = list(dict.fromkeys([*spelt, *beside]))[:_WORDS]
    if not ids:
        return []
    surfaces = {row[0]: row[1] for row in fetch(connection, _SURFACES, (json.dumps(ids),))}
    return list(dict.fromkeys(surfaces[term_id] for term_id in ids if term_id in surfaces))


def _spelt_alike(connection: Connection, snapshot: Snapshot, view: View, missing: Iterable[Term]) -> list[int]:
    from rapidfuzz.fuzz import ratio  # only for weak matches

    found: list[tuple[float, int, str, int]] = []
    for term in missing:
        key = term.term
        reach = max(1, len(key) // 3)
        bounds = (key[0], key[0] + "\U0010ffff", len(key) - reach, len(key) + reach)
        for term_id, other, _ in fetch(connection, _NEARBY, bounds):
            similarity = ratio(key, other, score_cutoff=_SIMILAR)
            if similarity:
                frequency = _frequency(snapshot, view, term_id)
                if frequency:
                    found.append((-similarity, -frequency, other, term_id))
    return [term_id for *_, term_id in sorted(found)]


def _frequency(snapshot: Snapshot, view: View, term_id: int) -> int:
    positions, _ = snapshot.postings.of(term_id, snapshot.size)
    return int(np.count_nonzero(view.mask[positions]))


def _beside(
    connection: Connection, snapshot: Snapshot, view: View, match: KeywordMatch, *, skip: set[int]
) -> list[int]:
    """Terms that stand in the facts that match best, those first that are frequent there and rare elsewhere."""
    matched = match.matched
    if len(matched) == 0:
        return []
    best = matched[first_in_order(match.scores[matched], snapshot.orders.age_rank[matched], _NEIGHBOURS)]
    numbers = json.dumps(snapshot.numbers[best].tolist())
    blobs = [row[0] for row in fetch(connection, _TERM_BLOBS, (numbers,))]
    counts = Counter(decode(blobs, 0).terms.tolist())
    likely = sorted((-count, term_id) for term_id, count in counts.items() if term_id not in skip)[:_LIKELY]
    scored = []
    for count, term_id in likely:
        frequency = _frequency(snapshot, view, term_id)
        if 0 < frequency <= max(1.0, _COMMON * view.count):
            scored.append((round(count * math.log1p(view.count / frequency), 9), term_id))
    return [term_id for _, term_id in sorted(scored)]
