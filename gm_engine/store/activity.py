"""Reading the journal for a person: grouped by user action, paged, filtered, never loading large images."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Connection

from gm_engine.errors import NotFound
from gm_engine.records import ActivityEntry, ActivityQuery, ActivityTarget, Channel, Origin, Writer
from gm_engine.store.database import Ledger

_SAMPLE = 3
_MOST_UNDOS = 20  # of undos of undos; deeper ones stay "an undo"
_ENTRY = (
    "SELECT j.seq, j.at_ns, j.verb, j.agent_id, j.group_id, a.channel, a.client, a.client_version, a.session,"
    " j.undoes, j.detail FROM journal j JOIN actors a ON a.id = j.actor_id"
)
_IS_FIRST = "NOT EXISTS (SELECT 1 FROM journal k WHERE k.group_id = j.group_id AND k.seq < j.seq)"
# A change without what may be long in it. Where an image has no text, the fact's row may still have one.
_TARGET = (
    "SELECT c.seq, c.n, c.kind, c.target, c.agent_id, c.version_before, c.version_after,"
    " substr(coalesce(json_extract(c.after, '$.text'), json_extract(c.before, '$.text'),"
    " CASE c.kind WHEN 'fact' THEN (SELECT f.text FROM facts f WHERE f.id = c.target)"
    " WHEN 'proposal' THEN (SELECT json_extract(p.payload, '$.text') FROM proposals p WHERE p.id = c.target)"
    " WHEN 'entity' THEN coalesce(json_extract(c.after, '$.label'), json_extract(c.before, '$.label'),"
    " (SELECT e.label FROM entities e WHERE e.id = c.target)) END, ''), 1, 400),"
    " json_remove(c.before, '$.text', '$.origin', '$.sources', '$.payload'),"
    " json_remove(c.after, '$.text', '$.origin', '$.sources', '$.payload')"
    " FROM changes c"
)
_SIZES = (
    "SELECT k.group_id, max(k.seq), sum((SELECT coalesce(max(c.n) + 1, 0) FROM changes c WHERE c.seq = k.seq))"
    " FROM journal k WHERE k.group_id IN (SELECT value FROM json_each(?)) GROUP BY k.group_id"
)


class Activity:
    """What happened in a store, action by action; `memory.activity`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def list(
        self, query: ActivityQuery | None = None, *, before_seq: int | None = None, limit: int = 100
    ) -> tuple[ActivityEntry, ...]:
        """Actions newest first; page with the `seq` of the last one seen."""
        with self._ledger.read() as connection:
            where, values = _where(query or ActivityQuery(), before_seq)
            sql = f"{_ENTRY} WHERE {' AND '.join(where)} ORDER BY j.seq DESC LIMIT ?"
            return _entries(connection, connection.exec_driver_sql(sql, (*values, limit)).all())

    def entry(self, seq_or_group: int | str) -> ActivityEntry:
        """The action that a journal seq or group id belongs to; `NotFound` when there is none."""
        column = "seq" if isinstance(seq_or_group, int) else "group_id"
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql(
                f"{_ENTRY} WHERE j.group_id = (SELECT group_id FROM journal WHERE {column} = ? LIMIT 1)"
                " ORDER BY j.seq LIMIT 1",
                (seq_or_group,),
            ).all()
            if not rows:
                raise NotFound(f"The journal has no entry {seq_or_group}.", entry=seq_or_group)
            return _entries(connection, rows)[0]

    def undone(self, seqs: Collection[int]) -> frozenset[int]:
        """Those of these journal entries whose action is undone now; unknown ones are left out."""
        with self._ledger.read() as connection:
            sql = "SELECT seq, group_id FROM journal WHERE seq IN (SELECT value FROM json_each(?))"
            rows = connection.exec_driver_sql(sql, (json.dumps([*seqs]),)).all()
            undos = _Undos(connection, since_seq=min(seqs, default=0))
            return frozenset(seq for seq, group_id in rows if undos.is_undone(group_id))

    def targets(self, group_id: str, *, skip: int = 0, limit: int = 100) -> tuple[ActivityTarget, ...]:
        """What an action changed, in order, a page at a time."""
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql(
                f"{_TARGET} WHERE c.seq IN (SELECT seq FROM journal WHERE group_id = ?)"
                " ORDER BY c.seq, c.n LIMIT ? OFFSET ?",
                (group_id, limit, skip),
            )
            return tuple(_target(row) for row in rows)

    def writers(self) -> tuple[Writer, ...]:
        """Every program that wrote, the one that wrote last first."""
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql(
                "SELECT a.channel, a.client, sum(w.entries), max(j.at_ns) FROM"
                " (SELECT actor_id, count(*) AS entries, max(seq) AS last FROM journal GROUP BY actor_id) w"
                " JOIN actors a ON a.id = w.actor_id JOIN journal j ON j.seq = w.last"
                " GROUP BY a.channel, a.client ORDER BY max(w.last) DESC"
            )
            return tuple(Writer(cast("Channel", row[0]), row[1], row[2], row[3]) for row in rows)

    def verbs(self) -> dict[str, int]:
        """How many journal entries there are of each verb, the most frequent first."""
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql(
                "SELECT verb, count(*) FROM journal GROUP BY verb ORDER BY count(*) DESC, verb"
            )
            return {row[0]: row[1] for row in rows}


def _where(query: ActivityQuery, before_seq: int | None) -> tuple[list[str], list[Any]]:
    where = [_IS_FIRST]
    values: list[Any] = []
    if before_seq is not None:
        where.append("j.seq < ?")
        values.append(before_seq)
    actor = {"channel": query.channel, "client": query.client}
    wanted = {name: value for name, value in actor.items() if value is not None}
    if wanted:  # + keeps the order of the journal: the first page is found without sorting
        names = " AND ".join(f"{name} = ?" for name in wanted)
        where.append(f"+j.actor_id IN (SELECT id FROM actors WHERE {names})")
        values.extend(wanted.values())
    if query.agent_id is not None:
        where.append("(j.agent_id = ? OR EXISTS (SELECT 1 FROM changes c WHERE c.agent_id = ? AND c.seq = j.seq))")
        values.extend((query.agent_id, query.agent_id))
    if query.verbs:
        where.append("j.verb IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(sorted(query.verbs)))
    if query.from_ns is not None:
        where.append("j.at_ns >= ?")
        values.append(query.from_ns)
    if query.until_ns is not None:
        where.append("j.at_ns < ?")
        values.append(query.until_ns)
    if query.target is not None:
        where.append(
            "j.group_id IN (SELECT t.group_id FROM changes c JOIN journal t ON t.seq = c.seq WHERE c.target = ?"
            " AND c.kind IN ('fact', 'checkpoint', 'entity', 'edge', 'setting', 'blocked', 'proposal', 'policy'))"
        )
        values.append(query.target)
    return where, values


def _entries(connection: Connection, rows: Sequence[Any]) -> tuple[ActivityEntry, ...]:
    if not rows:
        return ()
    groups = [row[4] for row in rows]
    sizes = {row[0]: (row[1], row[2]) for row in connection.exec_driver_sql(_SIZES, (json.dumps(groups),))}
    samples = _samples(connection, [row[0] for row in rows])
    undos = _Undos(connection, since_seq=min(row[0] for row in rows))
    taken_back = _taken_back(connection, {row[9] for row in rows if row[9] is not None})
    return tuple(
        ActivityEntry(
            seq=row[0],
            last_seq=sizes[row[4]][0],
            at_ns=row[1],
            verb=row[2],
            agent_id=row[3],
            group_id=row[4],
            actor=Origin(cast("Channel", row[5]), row[6], row[7], row[8]),
            detail=row[10],
            changes=int(sizes[row[4]][1]),
            targets=samples.get(row[0], ()),
            undoes=row[9],
            undone_verb=taken_back[row[9]].verb if row[9] in taken_back else "",
            is_redo=row[9] in taken_back and taken_back[row[9]].depth % 2 == 1,
            is_undone=undos.is_undone(row[4]),
        )
        for row in rows
    )


def _samples(connection: Connection, seqs: Sequence[int]) -> dict[int, tuple[ActivityTarget, ...]]:
    found: dict[int, list[ActivityTarget]] = {}
    rows = connection.exec_driver_sql(
        f"{_TARGET} WHERE c.seq IN (SELECT value FROM json_each(?)) AND c.n < ? ORDER BY c.seq, c.n",
        (json.dumps(list(seqs)), _SAMPLE),
    )
    for row in rows:
        found.setdefault(row[0], []).append(_target(row))
    return {seq: tuple(targets) for seq, targets in found.items()}


def _target(row: Any) -> ActivityTarget:
    return ActivityTarget(
        kind=row[2],
        target=row[3],
        agent_id=row[4],
        text=row[7],
        before=_image(row[8]),
        after=_image(row[9]),
        is_new=row[5] == 0,
        is_gone=row[6] == 0,
    )


def _image(text: str | None) -> Mapping[str, Any]:
    return {} if text is None else json.loads(text)


class _Undos:
    """Which groups are undone now: by an undo that is not itself undone. Undos come after what they undo."""

    def __init__(self, connection: Connection, *, since_seq: int) -> None:
        rows = connection.exec_driver_sql(
            "SELECT undoes, group_id FROM journal WHERE undoes IS NOT NULL AND seq > ? ORDER BY seq", (since_seq,)
        )
        self._latest: dict[str, str] = {row[0]: row[1] for row in rows}

    def is_undone(self, group_id: str) -> bool:
        """Walks the chain of undos of undos: an odd number of them means undone."""
        is_undone, at = False, group_id
        while at in self._latest:
            is_undone, at = not is_undone, self._latest[at]
        return is_undone


@dataclass(frozen=True, slots=True)
class _Undone:
    """The action at the end of a chain of undos, and how many undos lie between."""

    verb: str
    depth: int


def _taken_back(connection: Connection, groups: Iterable[str]) -> dict[str, _Undone]:
    """For each undone group: the verb that the chain of undos began with."""
    start = set(groups)
    known: dict[str, tuple[str, str | None]] = {}
    asked, depth = start, 0
    while asked and depth < _MOST_UNDOS:
        rows = connection.exec_driver_sql(
            "SELECT group_id, verb, undoes FROM journal WHERE group_id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(asked)),),
        )
        found = {row[0]: (row[1], row[2]) for row in rows}
        known.update(found)
        asked = {undoes for _, undoes in found.values() if undoes is not None and undoes not in known}
        depth += 1
    return {group: _begun(group, known) for group in start if group in known}


def _begun(group: str, known: Mapping[str, tuple[str, str | None]]) -> _Undone:
    depth = 0
    verb, undoes = known[group]
    while undoes is not None and undoes in known:
        verb, undoes = known[undoes]
        depth += 1
    return _Undone(verb, depth)
