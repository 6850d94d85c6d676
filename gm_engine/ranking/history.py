"""A namespace as it stood at a past moment, from the journal: the input of a recall `as_of`.

The state at T is the present rows with the `before` of later changes applied in reverse. An imported fact exists from
its creation, in its imported state. Access counts and weights are bookkeeping and stay as they are now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from gm_engine.clock import format_ns
from gm_engine.errors import AsOfUnsupported
from gm_engine.ranking.postings import TermRows
from gm_engine.ranking.snapshot import ALIAS, Columns, Snapshot, append, detached
from gm_engine.records import Fact, effective_confidence
from gm_engine.store.facts import BOOKKEEPING, load_facts, origin_from_image
from gm_engine.store.later import State, later_changes
from gm_engine.store.past import moment
from gm_engine.store.rows import fetch
from gm_engine.terms import text_key, text_terms

_FACT = "fact"
_HORIZON = "SELECT at_ns FROM journal WHERE verb <> 'import' ORDER BY seq LIMIT 1"
_LAST = "SELECT at_ns FROM journal ORDER BY seq DESC LIMIT 1"
_HERE = "SELECT id FROM facts WHERE agent_id = ? AND id IN (SELECT value FROM json_each(?))"
_CREATED = "SELECT id, created_ns FROM facts WHERE id IN (SELECT value FROM json_each(?))"
_TERM_IDS = "SELECT term, id FROM terms WHERE term IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Past:
    """A snapshot of the past, and what is known of the facts that have changed since."""

    snapshot: Snapshot
    changed: Mapping[str, State]

    def facts(self, connection: Connection, ids: Sequence[str]) -> dict[str, Fact]:
        """Facts of this snapshot as they were."""
        return _as_they_were(connection, ids, self.changed)


def past_of(connection: Connection, snapshot: Snapshot, as_of_ns: int, *, language: str) -> Past:
    """The namespace of `snapshot`, which is the present in `connection`, as it stood at `as_of_ns`.

    Raises `AsOfUnsupported` before the journal's horizon, its first entry that is no import.
    """
    _check_horizon(connection, as_of_ns)
    states = _states(connection, as_of_ns)
    if not states:
        return Past(snapshot, {})
    live, level, content = snapshot.live.copy(), snapshot.level.copy(), snapshot.content.copy()
    position_of, size = snapshot.position_of, snapshot.size
    patched = [fact_id for fact_id, state in states.items() if not _is_elsewhere(state)]
    for (fact_id,) in fetch(connection, _HERE, (snapshot.agent_id, json.dumps(patched))):
        columns, at = states[fact_id].columns, position_of[fact_id]
        if "superseded_by" in columns:
            live[at] = columns["superseded_by"] == ""
        if "confidence" in columns:
            level[at] = effective_confidence(columns["confidence"]).level
    elsewhere = [fact_id for fact_id, state in states.items() if _is_elsewhere(state)]
    ghosts: list[Fact] = []
    was = _as_they_were(connection, elsewhere, states)
    for fact_id in elsewhere:
        at, fact = position_of.get(fact_id, size), was.get(fact_id)
        is_here = fact is not None and fact.agent_id == snapshot.agent_id
        if at < size:
            live[at] = False
        if fact is not None and is_here and at >= size:
            ghosts.append(fact)
        elif fact is not None and is_here:
            live[at] = not fact.is_superseded
            level[at], content[at] = fact.effective_confidence.level, fact.kind != ALIAS
    past = replace(snapshot, live=live, level=level, content=content, _views={})
    if ghosts:
        past = append(detached(past), _columns(connection, ghosts, first=past.size, language=language))
    return Past(past, states)


def _is_elsewhere(state: State) -> bool:
    """Whether the fact may have been in another namespace than now, or in none."""
    return state.whole or not state.exists or "agent_id" in state.columns


def _check_horizon(connection: Connection, as_of_ns: int) -> None:
    horizon = connection.exec_driver_sql(_HORIZON).scalar()
    if horizon is None:
        horizon = connection.exec_driver_sql(_LAST).scalar()
    if horizon is None or as_of_ns < horizon:
        known = "it is empty" if horizon is None else f"it begins at {format_ns(horizon)}"
        raise AsOfUnsupported(
            f"The journal cannot answer for {format_ns(as_of_ns)}: {known}.", as_of_ns=as_of_ns, horizon_ns=horizon
        )


def _states(connection: Connection, as_of_ns: int) -> dict[str, State]:
    seq, _ = moment(connection, as_of_ns, None)
    later = later_changes(connection, seq, [_FACT])[_FACT]
    created = {row[0]: int(row[1]) for row in fetch(connection, _CREATED, (json.dumps(later.imported),))}
    for fact_id in later.imported:
        state = later.states.get(fact_id, State())
        if state.columns.get("created_ns", created.get(fact_id, as_of_ns + 1)) > as_of_ns:
            later.states[fact_id] = State(exists=False)
    return later.states


def _as_they_were(connection: Connection, ids: Sequence[str], states: Mapping[str, State]) -> dict[str, Fact]:
    """Those of the facts that there were, and whose text is not gone for good."""
    present = load_facts(connection, ids)
    facts: dict[str, Fact] = {}
    for fact_id in ids:
        now, state = present.get(fact_id), states.get(fact_id)
        if state is None:
            if now is not None:
                facts[fact_id] = now
            continue
        columns = {**state.columns, "version": state.version}
        if "pinned" in columns:
            columns["pinned"] = bool(columns["pinned"])
        if "origin" in columns:
            columns["origin"] = origin_from_image(columns["origin"])
        if not state.exists:
            continue
        if now is not None:
            kept = {name: value for name, value in columns.items() if name not in BOOKKEEPING}
            facts[fact_id] = replace(now, **kept)
        elif "text" in columns:
            facts[fact_id] = Fact(id=fact_id, **columns)
    return facts


def _columns(connection: Connection, facts: Sequence[Fact], *, first: int, language: str) -> Columns:
    """Facts that the present snapshot does not hold; they have no row number here, and their terms are made again."""
    terms = [text_terms(fact.text, language) for fact in facts]
    names = json.dumps(sorted({term.term for found in terms for term in found}))
    ids = {row[0]: row[1] for row in connection.exec_driver_sql(_TERM_IDS, (names,))}
    rows = [
        (first + n, ids[term.term], min(term.count, 65535))
        for n, found in enumerate(terms)
        for term in found
        if term.term in ids
    ]
    table = np.array(rows, np.int64).reshape(-1, 3)
    return Columns(
        ids=[fact.id for fact in facts],
        numbers=np.full(len(facts), -1, np.int64),
        text_keys=np.frombuffer(b"".join(text_key(fact.text) for fact in facts), np.uint64).reshape(-1, 2),
        created=np.array([fact.created_ns for fact in facts], np.int64),
        live=np.array([not fact.is_superseded for fact in facts], np.bool_),
        level=np.array([fact.effective_confidence.level for fact in facts], np.int8),
        content=np.array([fact.kind != ALIAS for fact in facts], np.bool_),
        length=np.array([sum(term.count for term in found) for found in terms], np.int64),
        terms=TermRows(table[:, 0], table[:, 1].astype(np.uint32), table[:, 2].astype(np.uint16)),
        aliases={first + n: fact.text for n, fact in enumerate(facts) if fact.kind == ALIAS},
    )
