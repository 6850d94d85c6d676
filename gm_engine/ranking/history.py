"""A namespace as it stood at a past moment, from the journal: the input of a recall `as_of`.

The state at T is the present rows with the `before` of later changes applied in reverse. An imported fact exists from
its creation, in its imported state. Access counts and weights are bookkeeping and stay as they are now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import Connection

from gm_engine.clock import format_ns
from gm_engine.errors import AsOfUnsupported
from gm_engine.ranking.postings import TermRows
from gm_engine.ranking.snapshot import ALIAS, Columns, Snapshot, append, detached
from gm_engine.records import Fact
from gm_engine.store.facts import load_facts, origin_from_image
from gm_engine.terms import text_key, text_terms

_HORIZON = "SELECT at_ns FROM journal WHERE verb <> 'import' ORDER BY seq LIMIT 1"
_LAST = "SELECT at_ns FROM journal ORDER BY seq DESC LIMIT 1"
_LATER = (
    "SELECT c.target, c.before, c.after, j.verb, c.version_before, c.version_after FROM changes c JOIN journal j"
    " ON j.seq = c.seq WHERE +c.kind = 'fact' AND j.at_ns > ? ORDER BY c.seq DESC, c.n DESC"
)
_TERM_IDS = "SELECT term, id FROM terms WHERE term IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Past:
    """A snapshot of the past, and those facts of the namespace that have changed since, as they were."""

    snapshot: Snapshot
    changed: Mapping[str, Fact]

    def facts(self, connection: Connection, ids: Sequence[str]) -> dict[str, Fact]:
        """Facts of this snapshot as they were."""
        unchanged = load_facts(connection, [fact_id for fact_id in ids if fact_id not in self.changed])
        return {fact_id: self.changed[fact_id] if fact_id in self.changed else unchanged[fact_id] for fact_id in ids}


def past_of(connection: Connection, snapshot: Snapshot, as_of_ns: int, *, language: str) -> Past:
    """The namespace of `snapshot`, which is the present in `connection`, as it stood at `as_of_ns`.

    Raises `AsOfUnsupported` before the journal's horizon, its first entry that is no import.
    """
    _check_horizon(connection, as_of_ns)
    states = _states(connection, as_of_ns)
    if not states:
        return Past(snapshot, {})
    present = load_facts(connection, list(states))
    live, level, content = snapshot.live.copy(), snapshot.level.copy(), snapshot.content.copy()
    changed: dict[str, Fact] = {}
    ghosts: list[Fact] = []
    for fact_id, state in states.items():
        fact = _as_it_was(fact_id, present.get(fact_id), state)
        at = snapshot.position_of.get(fact_id, snapshot.size)
        is_here = fact is not None and fact.agent_id == snapshot.agent_id
        if fact is not None and is_here:
            changed[fact_id] = fact
            if at >= snapshot.size:
                ghosts.append(fact)
                continue
            level[at], content[at] = fact.effective_confidence.level, fact.kind != ALIAS
        if at < snapshot.size:
            live[at] = fact is not None and is_here and not fact.is_superseded
    past = replace(snapshot, live=live, level=level, content=content, _views={})
    if ghosts:
        past = append(detached(past), _columns(connection, ghosts, first=past.size, language=language))
    return Past(past, changed)


def _check_horizon(connection: Connection, as_of_ns: int) -> None:
    horizon = connection.exec_driver_sql(_HORIZON).scalar()
    if horizon is None:
        horizon = connection.exec_driver_sql(_LAST).scalar()
    if horizon is None or as_of_ns < horizon:
        known = "it is empty" if horizon is None else f"it begins at {format_ns(horizon)}"
        raise AsOfUnsupported(
            f"The journal cannot answer for {format_ns(as_of_ns)}: {known}.", as_of_ns=as_of_ns, horizon_ns=horizon
        )


@dataclass(slots=True)
class _State:
    """What later changes say about a fact at T: columns that differ from the present row, or all of them (`whole`)."""

    columns: dict[str, Any]
    whole: bool
    exists: bool = True


def _states(connection: Connection, as_of_ns: int) -> dict[str, _State]:
    states: dict[str, _State] = {}
    for target, before, after, verb, old_version, new_version in connection.exec_driver_sql(_LATER, (as_of_ns,)):
        if before is None:
            image = json.loads(after) if verb == "import" and after is not None else None
            if image is not None and image.get("created_ns", as_of_ns + 1) <= as_of_ns:
                states[target] = _State({**image, "version": new_version}, whole=True)
            else:
                states[target] = _State({}, whole=True, exists=False)
        elif after is None:
            states[target] = _State({**json.loads(before), "version": old_version}, whole=True)
        else:
            state = states.setdefault(target, _State({}, whole=False))
            state.columns.update({**json.loads(before), "version": old_version})
    return states


def _as_it_was(fact_id: str, present: Fact | None, state: _State) -> Fact | None:
    """The fact at T, None when there was none, or when its text is gone for good."""
    columns = dict(state.columns)
    if "pinned" in columns:
        columns["pinned"] = bool(columns["pinned"])
    if "origin" in columns:
        columns["origin"] = origin_from_image(columns["origin"])
    if not state.exists:
        return None
    if present is not None:
        kept = {"accessed_ns", "access_count", "weight"}
        return replace(present, **{name: value for name, value in columns.items() if name not in kept})
    return Fact(id=fact_id, **columns) if state.whole and "text" in columns else None


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
