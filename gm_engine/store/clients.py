"""Which programs have the store open, and which clients talk to servers. Bookkeeping, not journalled.

A server has one row for itself and one, with a transport, for each of its connections. Rows of processes that died are
dropped when a new one registers, and never shown.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from gm_engine.records import Client, Process
from gm_engine.store.policies import access_of

_MCP = "mcp"


def register(connection: Connection, process: Process, *, transport: str = "") -> None:
    """Adds a process, or a connection of one, and forgets those that are gone."""
    for gone in (row for row in _rows(connection) if not _is_running(row[1], row[2])):
        connection.exec_driver_sql("DELETE FROM clients WHERE id = ?", (gone[0],))
    connection.exec_driver_sql(
        "INSERT INTO clients(id, pid, process_started, program, version, client, since_ns, seen_ns, transport)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            process.id,
            process.pid,
            _started(process.pid),
            process.program,
            process.version,
            process.client,
            process.since_ns,
            process.seen_ns,
            transport,
        ),
    )


def unregister(connection: Connection, process_id: str) -> None:
    """Takes a process or connection off the list."""
    connection.exec_driver_sql("DELETE FROM clients WHERE id = ?", (process_id,))


def register_client(connection: Connection, client: Client) -> None:
    """Adds a connection of this process."""
    row = Process(client.id, client.pid, _MCP, client.version, client.name, client.since_ns, client.seen_ns)
    register(connection, row, transport=client.transport)


def count_calls(connection: Connection, calls: Mapping[str, tuple[int, int]], *, at_ns: int) -> None:
    """Adds (reads, writes) to connections by id."""
    connection.exec_driver_sql(
        "UPDATE clients SET reads = reads + ?, writes = writes + ?, seen_ns = ? WHERE id = ?",
        [(reads, writes, at_ns, client_id) for client_id, (reads, writes) in calls.items()],
    )


def live_clients(connection: Connection) -> tuple[Client, ...]:
    """The connections of servers that are still running, oldest first."""
    rows = connection.exec_driver_sql(
        "SELECT id, client, version, pid, transport, since_ns, seen_ns, reads, writes, process_started FROM clients"
        " WHERE length(transport) > 0 ORDER BY since_ns, id"
    ).all()
    return tuple(_client(connection, row) for row in rows if _is_running(row[3], row[9]))


def _client(connection: Connection, row: Any) -> Client:
    access = access_of(connection, row[1], None)
    return Client(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], access)


def processes(connection: Connection) -> tuple[Process, ...]:
    """The processes that are still running, and their connections, oldest first."""
    return tuple(Process(row[0], row[1], *row[3:]) for row in _rows(connection) if _is_running(row[1], row[2]))


def _rows(connection: Connection) -> list[tuple[str, int, str, str, str, str, int, int]]:
    rows = connection.exec_driver_sql(
        "SELECT id, pid, process_started, program, version, client, since_ns, seen_ns FROM clients"
        " ORDER BY since_ns, id"
    )
    return [(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]) for r in rows]


def _is_running(pid: int, started: str) -> bool:
    """A pid may have been given to somebody else since: where the system tells start times, they must agree."""
    if sys.platform == "win32":  # os.kill would end the process there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return started == _started(pid)


def _started(pid: int) -> str:
    """The kernel's start tick of a process on Linux, else empty."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
