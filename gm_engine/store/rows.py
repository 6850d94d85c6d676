"""Rows without SQLAlchemy's result objects, which would double the cost of a recall's few small questions."""

from __future__ import annotations

from sqlite3 import Connection as SqliteConnection
from typing import Any, cast

from sqlalchemy import Connection


def fetch(connection: Connection, sql: str, parameters: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
    """All rows of a query inside the transaction of `connection`."""
    raw = cast("SqliteConnection", connection.connection.driver_connection)
    return raw.execute(sql, parameters).fetchall()
