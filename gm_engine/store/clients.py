"""Which programs have the store open. Bookkeeping: rows of processes that died are dropped when the list is read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sqlalchemy import Connection

from gm_engine.records import Process


def register(connection: Connection, process: Process) -> None:
    """Adds this process and forgets those that are gone."""
    for gone in (row for row in _rows(connection) if not _is_running(row[1], row[2])):
        connection.exec_driver_sql("DELETE FROM clients WHERE id = ?", (gone[0],))
    connection.exec_driver_sql(
        "INSERT INTO clients(id, pid, process_started, program, version, client, since_ns, seen_ns)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            process.id,
            process.pid,
            _started(process.pid),
            process.program,
            process.version,
            process.client,
            process.since_ns,
            process.seen_ns,
        ),
    )


def unregister(connection: Connection, process_id: str) -> None:
    """Takes this process off the list."""
    connection.exec_driver_sql("DELETE FROM clients WHERE id = ?", (process_id,))


def processes(connection: Connection) -> tuple[Process, ...]:
    """The processes that are still running, oldest first."""
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
