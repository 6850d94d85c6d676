"""All rows of a ledger but what can be made anew (vectors, terms) and who is connected: out of one store, into another.

Rows are plain JSON values in the order of their keys, so that the same store gives the same rows.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Table

from gm_engine.errors import ImportRefused
from gm_engine.records import JsonValue
from gm_engine.store.facts import index_terms
from gm_engine.store.settings import load_settings
from gm_engine.store.tables import SCHEMA_VERSION, metadata

_LEFT_OUT = frozenset(("meta", "terms", "fact_terms", "models", "vectors", "vector_index", "clients"))
_CONTENT = ("facts", "checkpoints", "entities", "edges", "blocked", "proposals")
_BATCH = 500
_BLOB = "base64"


def dumped_tables() -> tuple[Table, ...]:
    """The tables that a dump holds, in an order in which they can be filled."""
    return tuple(table for table in metadata.sorted_tables if table.name not in _LEFT_OUT)


def columns_of(table: Table) -> tuple[str, ...]:
    """A table's columns in the order of a dumped row."""
    return tuple(column.name for column in table.columns)


def dump_rows(connection: Connection, table: Table) -> Iterator[list[JsonValue]]:
    """A table's rows in the order of its key."""
    names = ", ".join(f'"{name}"' for name in columns_of(table))
    key = ", ".join(f'"{column.name}"' for column in table.primary_key.columns)
    for row in connection.exec_driver_sql(f'SELECT {names} FROM "{table.name}" ORDER BY {key}'):
        yield [_plain(value) for value in row]


def _plain(value: Any) -> JsonValue:
    if isinstance(value, bytes):
        return {_BLOB: base64.b64encode(value).decode()}
    plain: JsonValue = value
    return plain


def load_rows(connection: Connection, schema: int, tables: Iterable[tuple[str, Sequence[str], Iterable[Any]]]) -> None:
    """Fills an empty ledger. Raises `ImportRefused` when it holds memories already or the dump is of another shape."""
    if schema != SCHEMA_VERSION:
        raise ImportRefused("The file was written by another version of this program.", schema=schema)
    for name in _CONTENT:
        if connection.exec_driver_sql(f'SELECT EXISTS(SELECT 1 FROM "{name}")').scalar_one():
            raise ImportRefused("The store holds memories already; import this file into a new store.", table=name)
    known = {table.name: table for table in dumped_tables()}
    for table in reversed(tuple(known.values())):
        if table.name != "actors":
            connection.exec_driver_sql(f'DELETE FROM "{table.name}"')
    for name, columns, rows in tables:
        if name not in known or tuple(columns) != columns_of(known[name]):
            raise ImportRefused(f"The file's table {name[:40]!r} is not understood.", table=name[:40])
        marks = ", ".join("?" for _ in columns)
        names = ", ".join(f'"{column}"' for column in columns)
        batch: list[tuple[Any, ...]] = []
        for row in rows:
            if not isinstance(row, list) or len(row) != len(columns):
                raise ImportRefused(f"A row of the file's table {name!r} is damaged.", table=name)
            batch.append(tuple(_stored(value) for value in row))
            if len(batch) == _BATCH:
                connection.exec_driver_sql(f'INSERT OR REPLACE INTO "{name}"({names}) VALUES ({marks})', batch)
                batch = []
        if batch:
            connection.exec_driver_sql(f'INSERT OR REPLACE INTO "{name}"({names}) VALUES ({marks})', batch)
    _index(connection)


def _index(connection: Connection) -> None:
    language = load_settings(connection).language
    rows = connection.exec_driver_sql("SELECT no, text FROM facts ORDER BY no").all()
    for start in range(0, len(rows), _BATCH):
        index_terms(connection, [(row[0], row[1]) for row in rows[start : start + _BATCH]], language=language)


def _stored(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {_BLOB}:
        return base64.b64decode(value[_BLOB], validate=True)
    return value
