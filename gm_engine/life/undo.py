"""Undo: a compensating entry that brings every target of a user action back to its version before it.

A target's effective version must still be the one that the action produced; the version is restored with the columns,
so that after undoing the second of two edits the first can be undone too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from gm_engine.errors import InvalidInput, UndoConflict
from gm_engine.records import Change, JournalEntry, JsonValue
from gm_engine.store import facts as fact_rows
from gm_engine.store.entities import name_key
from gm_engine.store.transaction import Transaction

_EDGE_COLUMNS = ("from_id", "to_id", "relation")


def undo_group(tx: Transaction, entries: Sequence[JournalEntry], *, language: str) -> None:
    """Reverses the changes of one group, newest first, and journals the reversal.

    Raises `UndoConflict` when a target has changed since; the caller's transaction then leaves nothing behind.
    """
    for entry in reversed(entries):
        for change in reversed(entry.changes):
            _reverse(tx, change, language=language)


def _reverse(tx: Transaction, change: Change, *, language: str) -> None:
    current = _version(tx.connection, change.kind, change.target)
    if current != change.version_after:
        raise UndoConflict(
            f"{change.kind.capitalize()} {change.target} has changed since; undo the later change first.",
            kind=change.kind,
            ids=[change.target],
        )
    apply = {"fact": _apply_fact, "setting": _apply_setting, "checkpoint": _apply_checkpoint}.get(
        change.kind, _apply_graph
    )
    apply(tx, change, language)
    tx.record(
        change.kind,
        change.target,
        agent_id=_namespace(change),
        version_before=change.version_after,
        version_after=change.version_before,
        before=change.after,
        after=change.before,
    )


def _namespace(change: Change) -> str | None:
    """The namespace the target is in after the reversal."""
    before = change.before or {}
    return str(before["agent_id"]) if "agent_id" in before else change.agent_id


def _version(connection: Connection, kind: str, target: str) -> int:
    where, values = _key(kind, target)
    found = connection.exec_driver_sql(f"SELECT version FROM {_table(kind)} WHERE {where}", values).scalar()
    return int(found or 0)


def _table(kind: str) -> str:
    tables = {
        "fact": "facts",
        "setting": "settings",
        "checkpoint": "checkpoints",
        "entity": "entities",
        "edge": "edges",
    }
    if kind not in tables:
        raise InvalidInput(f"A change of kind {kind!r} cannot be undone.", kind=kind)
    return tables[kind]


def _key(kind: str, target: str) -> tuple[str, tuple[str, ...]]:
    if kind == "edge":
        return " AND ".join(f"{column} = ?" for column in _EDGE_COLUMNS), tuple(json.loads(target))
    return ("key = ?" if kind == "setting" else "id = ?"), (target,)


def _apply_fact(tx: Transaction, change: Change, language: str) -> None:
    if change.version_before == 0:
        fact_rows.remove_fact(tx.connection, change.target)
    elif change.version_after == 0:
        image = _required(change)
        fact_rows.recreate_fact(tx, change.target, image, version=change.version_before, language=language)
    else:
        columns = {**_required(change), "version": change.version_before}
        fact_rows.write_columns(tx.connection, change.target, columns)


def _required(change: Change) -> Mapping[str, JsonValue]:
    if change.before is None:
        raise UndoConflict(f"The journal no longer holds what {change.target} was.", ids=[change.target])
    return change.before


def _apply_setting(tx: Transaction, change: Change, language: str) -> None:
    del language
    if change.version_before == 0:
        tx.connection.exec_driver_sql("DELETE FROM settings WHERE key = ?", (change.target,))
        return
    tx.connection.exec_driver_sql(
        "INSERT INTO settings(key, value, version) VALUES (?, ?, ?)"
        " ON CONFLICT(key) DO UPDATE SET value = excluded.value, version = excluded.version",
        (change.target, _required(change)["value"], change.version_before),
    )


def _apply_checkpoint(tx: Transaction, change: Change, language: str) -> None:
    """Payloads are never journalled: a checkpoint that "does not exist" keeps its row, marked deleted."""
    del language
    tx.connection.exec_driver_sql(
        "UPDATE checkpoints SET deleted = ?, version = ? WHERE id = ?",
        (int(change.version_before == 0), change.version_before, change.target),
    )


def _apply_graph(tx: Transaction, change: Change, language: str) -> None:
    """Entities and edges: rows, and the names and receipts that hang on them."""
    del language
    where, values = _key(change.kind, change.target)
    table = _table(change.kind)
    if change.version_before == 0:
        _remove_graph_row(tx.connection, change.kind, where, values)
        return
    columns: dict[str, Any] = {**_required(change), "version": change.version_before}
    sources = columns.pop("sources", None)
    if change.version_after == 0:
        key = dict(zip(_EDGE_COLUMNS, values, strict=True)) if change.kind == "edge" else {"id": change.target}
        columns = {**key, **columns}
        marks = ", ".join("?" for _ in columns)
        tx.connection.exec_driver_sql(
            f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks})", tuple(columns.values())
        )
        if change.kind == "entity":
            tx.connection.exec_driver_sql(
                "INSERT OR IGNORE INTO entity_names(name_key, entity_id) VALUES (?, ?)",
                (name_key(str(columns["label"])), change.target),
            )
    else:
        assignments = ", ".join(f"{name} = ?" for name in columns)
        tx.connection.exec_driver_sql(f"UPDATE {table} SET {assignments} WHERE {where}", (*columns.values(), *values))
    if sources is not None:
        tx.connection.exec_driver_sql(f"DELETE FROM edge_sources WHERE {where}", values)
        for source in sources:
            tx.connection.exec_driver_sql("INSERT INTO edge_sources VALUES (?, ?, ?, ?)", (*values, source))


def _remove_graph_row(connection: Connection, kind: str, where: str, values: tuple[str, ...]) -> None:
    if kind == "edge":
        connection.exec_driver_sql(f"DELETE FROM edge_sources WHERE {where}", values)
    else:
        connection.exec_driver_sql("DELETE FROM entity_names WHERE entity_id = ?", values)
        connection.exec_driver_sql("DELETE FROM mentions WHERE entity_id = ?", values)
    connection.exec_driver_sql(f"DELETE FROM {_table(kind)} WHERE {where}", values)
