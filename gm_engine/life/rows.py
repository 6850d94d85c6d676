"""Journalled rows other than facts: how each kind is found, and how the outcome of a reversal is written to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection

from gm_engine.records import JsonValue
from gm_engine.store.entities import name_key
from gm_engine.store.graph_edits import extract_again, restore_names

_ASKED_AT_ONCE = 500


class Outcome(Protocol):
    """What a target comes to: a version (0 = does not exist) and columns, which are the whole row where `whole`."""

    version_found: int
    version: int
    columns: dict[str, JsonValue]
    whole: bool


@dataclass(frozen=True, slots=True)
class Kind:
    """One table whose rows the journal follows: its key columns, and what they hold for a target's name."""

    table: str
    key: tuple[str, ...]
    version: str = "version"
    """The column that holds the seq which made the row's present state."""

    @property
    def where(self) -> str:
        """The condition that finds one row."""
        return " AND ".join(f"{column} = ?" for column in self.key)

    def values(self, target: str) -> tuple[Any, ...]:
        """The key's values; a target with several of them is a JSON array, a binary one is in hexadecimal."""
        if self.key == ("block_key", "agent_id"):
            key, agent_id = json.loads(target)
            return bytes.fromhex(key), agent_id
        return tuple(json.loads(target)) if len(self.key) > 1 else (target,)

    def versions(self, connection: Connection, targets: Sequence[str]) -> dict[str, int]:
        """The versions of those targets that exist."""
        found: dict[tuple[Any, ...], int] = {}
        wanted = {self.values(target): target for target in targets}
        keys = list(wanted)
        for start in range(0, len(keys), _ASKED_AT_ONCE):
            part = keys[start : start + _ASKED_AT_ONCE]
            one = f"({', '.join('?' for _ in self.key)})"
            rows = connection.exec_driver_sql(
                f"SELECT {', '.join(self.key)}, {self.version} FROM {self.table}"
                f" WHERE ({', '.join(self.key)}) IN (VALUES {', '.join(one for _ in part)})",
                tuple(value for key in part for value in key),
            )
            found.update((tuple(row[:-1]), int(row[-1] or 0)) for row in rows)
        return {wanted[key]: version for key, version in found.items()}


KINDS: dict[str, Kind] = {
    "setting": Kind("settings", ("key",)),
    "blocked": Kind("blocked", ("block_key", "agent_id")),
    "checkpoint": Kind("checkpoints", ("id",)),
    "entity": Kind("entities", ("id",)),
    "edge": Kind("edges", ("from_id", "to_id", "relation")),
    "policy": Kind("policies", ("client", "agent_id")),
    "proposal": Kind("proposals", ("id",), version="decided_seq"),
}


def apply_nets(connection: Connection, kind: str, nets: Mapping[str, Outcome]) -> None:
    """Writes the outcomes of a reversal to the rows of one kind."""
    if kind == "edge":
        extract_again(connection, [json.loads(target) for target, net in nets.items() if net.version_found])
    elif kind == "entity":
        restore_names(connection, {target: names for target, net in nets.items() if (names := _names(net)) is not None})
    for target, net in nets.items():
        if net.version == 0:
            _remove(connection, kind, target)
        elif net.whole or not net.version_found:
            _insert(connection, kind, target, net)
        else:
            _update(connection, kind, target, net)


def _names(net: Outcome) -> list[str] | None:
    """The canonical names that an entity comes to own; None where they stay as they are."""
    if net.version == 0:
        return []
    names = net.columns.get("names")
    return [str(name) for name in names] if isinstance(names, list) else None


def _remove(connection: Connection, kind: str, target: str) -> None:
    where, values = KINDS[kind].where, KINDS[kind].values(target)
    if kind == "checkpoint":  # its payload is nowhere else: a row that "does not exist" stays, marked
        connection.exec_driver_sql("UPDATE checkpoints SET deleted = 1, version = 0 WHERE id = ?", values)
        return
    if kind == "proposal":  # the same
        connection.exec_driver_sql("UPDATE proposals SET state = 'withdrawn', decided_seq = 0 WHERE id = ?", values)
        return
    if kind == "edge":
        connection.exec_driver_sql(f"DELETE FROM edge_sources WHERE {where}", values)
    elif kind == "entity":
        connection.exec_driver_sql("DELETE FROM mentions WHERE entity_id = ?", values)
    connection.exec_driver_sql(f"DELETE FROM {KINDS[kind].table} WHERE {where}", values)


def _insert(connection: Connection, kind: str, target: str, net: Outcome) -> None:
    if kind == "checkpoint":
        columns = {"deleted": 0, **net.columns}
        _write(connection, kind, target, {**columns, "version": net.version})
        return
    if kind == "proposal":
        _write(connection, kind, target, {"state": net.columns["state"], "decided_seq": net.version})
        return
    described = KINDS[kind]
    columns = {name: value for name, value in net.columns.items() if name != "names"}
    sources = columns.pop("sources", None)
    row = {**dict(zip(described.key, described.values(target), strict=True)), **columns, "version": net.version}
    connection.exec_driver_sql(
        f"INSERT OR REPLACE INTO {described.table}({', '.join(row)}) VALUES ({', '.join('?' for _ in row)})",
        tuple(row.values()),
    )
    if kind == "entity" and "names" not in net.columns:  # an older program wrote its image
        connection.exec_driver_sql(
            "INSERT OR IGNORE INTO entity_names(name_key, entity_id) VALUES (?, ?)",
            (name_key(str(columns["label"])), target),
        )
    _write_sources(connection, target, sources)


def _update(connection: Connection, kind: str, target: str, net: Outcome) -> None:
    columns = {name: value for name, value in net.columns.items() if name != "names"}
    sources = columns.pop("sources", None)
    _write(connection, kind, target, {**columns, KINDS[kind].version: net.version})
    _write_sources(connection, target, sources)


def _write(connection: Connection, kind: str, target: str, columns: Mapping[str, Any]) -> None:
    described = KINDS[kind]
    connection.exec_driver_sql(
        f"UPDATE {described.table} SET {', '.join(f'{name} = ?' for name in columns)} WHERE {described.where}",
        (*columns.values(), *described.values(target)),
    )


def _write_sources(connection: Connection, target: str, sources: JsonValue) -> None:
    """The receipts of an edge, where its change named them."""
    if not isinstance(sources, list):
        return
    key = KINDS["edge"].values(target)
    connection.exec_driver_sql(f"DELETE FROM edge_sources WHERE {KINDS['edge'].where}", key)
    for source in sources:
        connection.exec_driver_sql("INSERT INTO edge_sources VALUES (?, ?, ?, ?)", (*key, source))
