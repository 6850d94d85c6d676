"""Reading the journal: entries with their changes, and what changed since a seq."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, cast

from sqlalchemy import Connection

from gm_engine.errors import NotFound
from gm_engine.garbage import without_collecting
from gm_engine.records import Change, Changes, Channel, JournalEntry, Origin

_ENTRY = (
    "SELECT j.seq, j.at_ns, j.verb, j.agent_id, j.group_id, a.channel, a.client, a.client_version, a.session,"
    " j.undoes, j.detail FROM journal j JOIN actors a ON a.id = j.actor_id"
)
_IMAGES_AT_ONCE = 1000


def entries(
    connection: Connection,
    *,
    before_seq: int | None = None,
    limit: int = 100,
    agent_id: str | None = None,
    target: str | None = None,
) -> tuple[JournalEntry, ...]:
    """Entries newest first, older than `before_seq`, that touch the agent or the target where one is named."""
    where: list[str] = []
    values: list[Any] = []
    if before_seq is not None:
        where.append("j.seq < ?")
        values.append(before_seq)
    if agent_id is not None:
        where.append("(j.agent_id = ? OR j.seq IN (SELECT seq FROM changes WHERE agent_id = ?))")
        values.extend((agent_id, agent_id))
    if target is not None:
        where.append("j.seq IN (SELECT seq FROM changes WHERE target = ?)")
        values.append(target)
    clause = f" WHERE {' AND '.join(where)}" if where else ""
    rows = connection.exec_driver_sql(f"{_ENTRY}{clause} ORDER BY j.seq DESC LIMIT ?", (*values, limit)).all()
    return _with_changes(connection, rows)


@without_collecting()
def group(connection: Connection, seq_or_group: int | str, *, with_changes: bool = True) -> tuple[JournalEntry, ...]:
    """All entries of the user action that a seq or group id belongs to, oldest first; `NotFound` when there is none."""
    column = "seq" if isinstance(seq_or_group, int) else "group_id"
    rows = connection.exec_driver_sql(
        f"{_ENTRY} WHERE j.group_id = (SELECT group_id FROM journal WHERE {column} = ? LIMIT 1) ORDER BY j.seq",
        (seq_or_group,),
    ).all()
    if not rows:
        raise NotFound(f"The journal has no entry {seq_or_group}.", entry=seq_or_group)
    return _with_changes(connection, rows) if with_changes else tuple(_entry(row, ()) for row in rows)


def _with_changes(connection: Connection, rows: Any) -> tuple[JournalEntry, ...]:
    changes: dict[int, list[Change]] = defaultdict(list)
    found = connection.exec_driver_sql(
        "SELECT seq, kind, target, agent_id, version_before, version_after, before, after FROM changes"
        " WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq, n",
        (json.dumps([row[0] for row in rows]),),
    ).all()
    images = _images(found)
    for row, before, after in zip(found, images, images, strict=True):
        seq, kind, target, agent_id, version_before, version_after, *_ = row
        changes[seq].append(Change(kind, target, agent_id, version_before, version_after, before, after))
    return tuple(_entry(row, changes[row[0]]) for row in rows)


def _images(rows: Sequence[Any]) -> Iterator[Any]:
    """The images before and after of all rows, one after the other: many are read at once, which is much faster."""
    for start in range(0, len(rows), _IMAGES_AT_ONCE):
        some = rows[start : start + _IMAGES_AT_ONCE]
        yield from json.loads(f"[{','.join(image or 'null' for row in some for image in row[-2:])}]")


def _entry(row: Any, changes: Sequence[Change]) -> JournalEntry:
    return JournalEntry(
        seq=row[0],
        at_ns=row[1],
        verb=row[2],
        agent_id=row[3],
        group_id=row[4],
        actor=Origin(cast("Channel", row[5]), row[6], row[7], row[8]),
        undoes=row[9],
        detail=row[10],
        changes=tuple(changes),
    )


def newest_seq(connection: Connection) -> int:
    """The journal seq that the snapshot of `connection` ends with; 0 in an empty store."""
    return int(connection.exec_driver_sql("SELECT coalesce(max(seq), 0) FROM journal").scalar_one())


def changes_since(connection: Connection, seq: int) -> Changes:
    """What changed after `seq`: a fact that moved names both of its namespaces."""
    newest = newest_seq(connection)
    if newest <= seq:
        return Changes(newest)
    rows = connection.exec_driver_sql(
        "SELECT kind, target, agent_id, CASE WHEN kind = 'fact' THEN json_extract(before, '$.agent_id') END"
        " FROM changes WHERE seq > ?",
        (seq,),
    ).all()
    return Changes(
        newest,
        agent_ids=frozenset(agent for row in rows for agent in (row[2], row[3]) if agent is not None),
        fact_ids=frozenset(row[1] for row in rows if row[0] == "fact"),
        kinds=frozenset(row[0] for row in rows),
    )
