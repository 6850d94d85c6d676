"""The ledger as it stood at a past moment: present rows with the `before` of later changes applied in reverse.

A connection of its own hides the present tables behind temporary views of the same names, so that everything that
reads the ledger reads the past without knowing. Only what changed since is copied; the rest is the present row.

An imported record exists from its own time on, in its imported state. Access counts, weights and embeddings are
bookkeeping and stay as they are now. Payloads of checkpoints never change.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import sqlite

from gm_engine.errors import InvalidInput
from gm_engine.store import tables
from gm_engine.store.database import Ledger, translated
from gm_engine.store.facts import BOOKKEEPING, origin_from_image
from gm_engine.store.later import Later, State, later_changes
from gm_engine.store.rows import fetch
from gm_engine.store.transaction import canonical_json
from gm_engine.terms import text_key

_EDGE_KEY = ("from_id", "to_id", "relation")
_DIALECT = sqlite.dialect()
_HORIZON = (
    "SELECT seq, at_ns FROM journal WHERE verb <> 'import' ORDER BY seq LIMIT 1",
    "SELECT seq, at_ns FROM journal ORDER BY seq DESC LIMIT 1",
)
_REBUILD_AT = 2000  # changed targets; from there making the copy anew is faster than patching it
_ACTOR = "SELECT id FROM actors WHERE channel = ? AND client = ? AND client_version = ? AND session = ?"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A journalled table: its key, all of its columns, and the column that says since when an imported row exists."""

    name: str
    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    types: tuple[str, ...]
    born: str

    def key_of(self, target: str) -> tuple[str, ...]:
        return tuple(json.loads(target)) if len(self.key) > 1 else (target,)

    def target_of(self, key: Sequence[str]) -> str:
        return canonical_json(list(key)) if len(self.key) > 1 else key[0]


def _types(table: Table) -> tuple[str, ...]:
    return tuple(column.type.compile(_DIALECT) for column in table.columns)


def _kind(name: str, table: Table, born: str) -> _Kind:
    return _Kind(
        name=name,
        table=table.name,
        key=("id",) if "id" in table.columns else _EDGE_KEY,
        columns=tuple(table.columns.keys()),
        types=_types(table),
        born=born,
    )


_KINDS = (
    _kind("fact", tables.facts, "created_ns"),
    _kind("entity", tables.entities, "first_seen_ns"),
    _kind("edge", tables.edges, "created_ns"),
    _kind("checkpoint", tables.checkpoints, "created_ns"),
)


class PastLedger(Ledger):
    """A read-only ledger as it was after the journal entry `seq`, at the moment `as_of_ns`.

    Follows the present: what is written later does not show, what is purged later disappears. One reader at a time.
    """

    def __init__(self, ledger: Ledger, *, seq: int, as_of_ns: int) -> None:
        super().__init__(ledger.data_dir, clock=ledger.clock, read_only=True)
        self.seq = seq
        self.as_of_ns = as_of_ns
        self.reconstructed = False
        self.horizon_ns: int | None = None
        self._turn = RLock()
        self._depth = 0
        self._followed = -1
        self._own = ledger.scratch()
        try:
            with self.read():
                pass
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection on which every table that the journal follows is as it was."""
        with self._turn, translated(self.path), self._own.connect() as connection:
            if self._depth:  # a reader that reads: the same transaction
                yield connection
                return
            connection.exec_driver_sql("BEGIN")
            try:
                self._follow(connection)
            except BaseException:
                connection.exec_driver_sql("ROLLBACK")
                self._followed = -1
                raise
            self._depth += 1
            try:
                yield connection
            finally:
                self._depth -= 1
                connection.exec_driver_sql("COMMIT")

    def last_seq(self) -> int:
        """The entry after which this state was."""
        return self.seq

    def close(self) -> None:
        """Drops the copy. Safe to call twice."""
        self._own.dispose()

    def _follow(self, connection: Connection) -> None:
        """Brings the copy up to the newest journal entry that this connection sees."""
        newest = int(connection.exec_driver_sql("SELECT coalesce(max(seq), 0) FROM main.journal").scalar_one())
        if newest == self._followed:
            return
        changed = None if self._followed < 0 else self._changed(connection, newest)
        if changed is None:
            for kind in _KINDS:
                _make_views(connection, kind)
            self.horizon_ns = horizon(connection)
            self.reconstructed = self.horizon_ns is None or self.as_of_ns < self.horizon_ns
            later = later_changes(connection, self.seq, [kind.name for kind in _KINDS])
            for kind in _KINDS:
                self._copy(connection, kind, later[kind.name])
        else:
            for kind in (kind for kind in _KINDS if changed[kind.name]):
                targets = sorted(changed[kind.name])
                _forget(connection, kind, [kind.key_of(target) for target in targets])
                later = later_changes(connection, self.seq, [kind.name], targets=targets)
                self._copy(connection, kind, later[kind.name])
        self._followed = newest

    def _changed(self, connection: Connection, newest: int) -> dict[str, set[str]] | None:
        """The targets that changed since the copy was made; None where it must be made anew."""
        since = max(self._followed, self.seq)
        purged = connection.exec_driver_sql(
            "SELECT EXISTS(SELECT 1 FROM journal WHERE seq > ? AND verb = 'purge')", (self._followed,)
        ).scalar_one()
        if purged or newest < self._followed:
            return None
        changed: dict[str, set[str]] = defaultdict(set)
        for kind, target in connection.exec_driver_sql("SELECT kind, target FROM changes WHERE seq > ?", (since,)):
            changed[kind].add(target)
        return None if sum(map(len, changed.values())) > _REBUILD_AT else changed

    def _copy(self, connection: Connection, kind: _Kind, later: Later) -> None:
        """Hides what is different now, and copies what was there, as it was.

        What an import brought later existed since its own time, as it came in; it is hidden where it is younger.
        """
        born = _born(connection, kind, later.imported)
        gone: list[tuple[str, ...]] = []
        for target in later.imported:
            state = later.states.get(target)
            at_ns = born.get(target) if state is None else state.columns.get(kind.born, born.get(target))
            if at_ns is not None and at_ns > self.as_of_ns:
                gone.append(kind.key_of(target))
                later.states.pop(target, None)
            elif state is None or (state.exists and not _is_purged(kind, state)):
                self.reconstructed = True
        rows: dict[tuple[str, ...], State] = {}
        for target, state in later.states.items():
            if not state.exists or _is_purged(kind, state):
                gone.append(kind.key_of(target))
            elif state.whole or state.columns:
                rows[kind.key_of(target)] = state
        _hide(connection, kind, [*gone, *rows])
        _write_rows(connection, kind, rows)


def _make_views(connection: Connection, kind: _Kind) -> None:
    key = ", ".join(kind.key)
    _make_view(connection, kind, table=kind.table, columns=kind.columns, types=kind.types, key=key)
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS temp.hidden_{kind.table}")
    connection.exec_driver_sql(f"CREATE TEMP TABLE hidden_{kind.table}({key}, PRIMARY KEY({key})) WITHOUT ROWID")
    if kind.name == "edge":
        columns = tuple(tables.edge_sources.columns.keys())
        _make_view(
            connection,
            kind,
            table="edge_sources",
            columns=columns,
            types=_types(tables.edge_sources),
            key=f"{key}, fact_id",
        )


_LATER_FACTS = "SELECT id FROM temp.hidden_facts EXCEPT SELECT id FROM temp.past_facts"


def _make_view(
    connection: Connection, kind: _Kind, *, table: str, columns: Sequence[str], types: Sequence[str], key: str
) -> None:
    """Puts a view of the present rows that are not hidden, and of the copied ones, in front of a table.

    Only where both have the same types does SQLite look through the view to the indexes.
    """
    names = ", ".join(columns)
    typed = ", ".join(f"{name} {type_}" for name, type_ in zip(columns, types, strict=True))
    row = ", ".join(kind.key)
    # receipts that more facts added are not journalled: those of later facts are left out
    later = f" AND fact_id NOT IN ({_LATER_FACTS})" if "fact_id" in columns else ""
    connection.exec_driver_sql(f"DROP VIEW IF EXISTS temp.{table}")
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS temp.past_{table}")
    connection.exec_driver_sql(f"CREATE TEMP TABLE past_{table}({typed}, PRIMARY KEY({key})) WITHOUT ROWID")
    connection.exec_driver_sql(
        f"CREATE TEMP VIEW {table} AS SELECT {names} FROM main.{table}"
        f" WHERE {row if len(kind.key) == 1 else f'({row})'} NOT IN (SELECT {row} FROM temp.hidden_{kind.table}){later}"
        f" UNION ALL SELECT {names} FROM temp.past_{table}"
    )


def _forget(connection: Connection, kind: _Kind, keys: Sequence[tuple[str, ...]]) -> None:
    tables = [f"past_{kind.table}", f"hidden_{kind.table}", *(["past_edge_sources"] if kind.name == "edge" else [])]
    for table in tables:
        connection.exec_driver_sql(f"DELETE FROM temp.{table} WHERE {_same(kind)}", list(keys))


def _same(kind: _Kind) -> str:
    return " AND ".join(f"{column} = ?" for column in kind.key)


def _born(connection: Connection, kind: _Kind, targets: Sequence[str]) -> dict[str, int]:
    """Since when the present rows of these targets exist by their own account."""
    if not targets:
        return {}
    wanted = set(targets)
    rows = fetch(connection, f"SELECT {', '.join(kind.key)}, {kind.born} FROM main.{kind.table}")
    found = ((kind.target_of(row[:-1]), row[-1]) for row in rows)
    return {target: born for target, born in found if target in wanted}


def _is_purged(kind: _Kind, state: State) -> bool:
    """A fact whose text is gone for good cannot be shown at any moment."""
    return kind.name == "fact" and state.whole and "text" not in state.columns


def _hide(connection: Connection, kind: _Kind, keys: Sequence[tuple[str, ...]]) -> None:
    if keys:
        marks = ", ".join("?" for _ in kind.key)
        connection.exec_driver_sql(f"INSERT OR IGNORE INTO temp.hidden_{kind.table} VALUES ({marks})", list(keys))


def _write_rows(connection: Connection, kind: _Kind, rows: Mapping[tuple[str, ...], State]) -> None:
    """Copies present rows and sets what was different; rows that are gone now are made from their images."""
    if not rows:
        return
    copied = [key for key, state in rows.items() if not state.whole or kind.name == "checkpoint"]
    columns = ", ".join(kind.columns)
    if copied:
        connection.exec_driver_sql(
            f"INSERT INTO temp.past_{kind.table} SELECT {columns} FROM main.{kind.table} WHERE {_same(kind)}", copied
        )
    changes: dict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
    made: list[tuple[Any, ...]] = []
    for number, (key, state) in enumerate(rows.items(), 1):
        values = _stored(kind, state)
        if kind.name == "edge":
            _write_sources(connection, key, state)
        if state.whole and kind.name != "checkpoint":
            row = {**dict(zip(kind.key, key, strict=True)), **values}
            if kind.name == "fact":
                row |= _derived(connection, row, number)
            made.append(tuple(row.get(column) for column in kind.columns))
        else:
            changes[tuple(values)].append((*values.values(), *key))
    for names, updates in changes.items():
        settings = ", ".join(f"{name} = ?" for name in names)
        connection.exec_driver_sql(f"UPDATE temp.past_{kind.table} SET {settings} WHERE {_same(kind)}", updates)
    if made:
        marks = ", ".join("?" for _ in kind.columns)
        connection.exec_driver_sql(f"INSERT INTO temp.past_{kind.table}({columns}) VALUES ({marks})", made)


_UNREVIEWED = {"verdict": "", "note": "", "reviewed_ns": None}


def _stored(kind: _Kind, state: State) -> dict[str, Any]:
    """The columns of a state as their table stores them."""
    values = {name: value for name, value in state.columns.items() if name in kind.columns}
    if kind.name == "fact" and not state.whole:
        values = {name: value for name, value in values.items() if name not in BOOKKEEPING}
    if "origin" in values:
        values["origin"] = canonical_json(values["origin"])
    if kind.name == "checkpoint" and state.whole:
        values = {"deleted": 0, **_UNREVIEWED, **values}  # the image of a saved checkpoint names no review
    return {**values, "version": state.version}


def _derived(connection: Connection, row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """What a fact's row holds beside its image; a negative row number that no present fact has."""
    who = origin_from_image(json.loads(row["origin"]))
    actor = connection.exec_driver_sql(_ACTOR, (who.channel, who.client, who.client_version, who.session)).scalar()
    return {"no": -number, "text_key": text_key(row["text"]), "actor_id": actor or 0}


def _write_sources(connection: Connection, key: tuple[str, ...], state: State) -> None:
    """The receipts of an edge as they were; those of now where they have not changed."""
    sources = state.columns.get("sources")
    if sources is None:
        rows = connection.exec_driver_sql(
            "SELECT fact_id FROM main.edge_sources WHERE from_id = ? AND to_id = ? AND relation = ?", key
        )
        sources = [row[0] for row in rows]
    if sources:
        connection.exec_driver_sql(
            "INSERT OR IGNORE INTO temp.past_edge_sources VALUES (?, ?, ?, ?)", [(*key, source) for source in sources]
        )


def horizon(connection: Connection) -> int | None:
    """The moment from which the journal knows everything: its first entry that is no import, else its last one."""
    for sql in _HORIZON:
        row = connection.exec_driver_sql(sql).first()
        if row is not None:
            return int(row[1])
    return None


def moment(connection: Connection, at_ns: int | None, before_seq: int | None) -> tuple[int, int]:
    """The journal entry after which a state was, and its moment, from a time or the entry that followed.

    Raises `InvalidInput` unless exactly one of the two is given.
    """
    if (at_ns is None) == (before_seq is None):
        raise InvalidInput("A moment is either a time or the entry that followed it.", field="at_ns")
    if at_ns is not None:
        seq = connection.exec_driver_sql(
            "SELECT seq FROM journal WHERE at_ns <= ? ORDER BY at_ns DESC, seq DESC LIMIT 1", (at_ns,)
        ).scalar()
        return int(seq or 0), at_ns
    last = connection.exec_driver_sql(
        "SELECT seq, at_ns FROM journal WHERE seq < ? ORDER BY seq DESC LIMIT 1", (before_seq,)
    ).first()
    if last is not None:
        return int(last[0]), int(last[1])
    first = connection.exec_driver_sql("SELECT at_ns FROM journal ORDER BY seq LIMIT 1").scalar()
    return 0, int(first or 0) - 1
