"""One ledger: a SQLite file in WAL mode with one writer connection and pooled read-only connections per process.

Writers start with BEGIN IMMEDIATE, so that a lock is waited for before anything is sent; readers see one snapshot per
`read()` block. SQLite's errors leave this module as `GrayMatterError`s that name the store.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool, StaticPool

from gm_engine.clock import Clock
from gm_engine.errors import (
    BlockedValue,
    DiskFull,
    GrayMatterError,
    InvalidInput,
    ReadOnlyStore,
    StoreBusy,
    StoreDamaged,
    StoreTooNew,
    StoreUnavailable,
)
from gm_engine.records import ClientOrigin, Origin
from gm_engine.store.blocked import count_attempts
from gm_engine.store.policies import check_write
from gm_engine.store.rows import fetch
from gm_engine.store.tables import SCHEMA_VERSION
from gm_engine.store.transaction import Transaction

LEDGER_NAME = "ledger.sqlite"
BUSY_TIMEOUT_S = 10.0
BOOKKEEPING_TIMEOUT_S = 2.0
_READERS = 4


class Ledger:
    """The truth of one data directory. Safe to share between threads; `close` it once."""

    def __init__(self, data_dir: Path, *, clock: Clock, read_only: bool) -> None:
        self.data_dir = data_dir
        self.path = data_dir / LEDGER_NAME
        self.clock = clock
        self.read_only = read_only
        self._write_lock = Lock()
        self._watch_lock = Lock()
        self._seen: tuple[int, int] | None = None
        self._synchronous = "FULL"
        self._reader: Engine | None = None
        self._writer: Engine | None = None
        self._watch: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # which file was opened

    @classmethod
    def open(cls, data_dir: Path, *, clock: Clock, read_only: bool = False) -> Ledger:
        """Opens the ledger in `data_dir`, creating it unless `read_only`.

        Raises `StoreUnavailable`, `StoreDamaged`, `StoreTooNew`, `ReadOnlyStore` or `StoreBusy`; never repairs or
        replaces a file that it cannot read.
        """
        ledger = cls(data_dir, clock=clock, read_only=read_only)
        try:
            with translated(ledger.path):
                ledger._connect()
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _connect(self) -> None:
        if self.read_only:
            if not self.path.is_file():
                raise StoreUnavailable(f"There is no store in {self.data_dir}.", path=str(self.data_dir))
        else:
            self._prepare_directory()
            # the creator never pools a connection whose first pragma failed
            self._writer = create_engine("sqlite://", creator=self._writer_connection, poolclass=QueuePool, pool_size=1)
            self._migrate()
        uri = _uri(self.path, self._read_flags())
        self._reader = create_engine(
            "sqlite://",
            creator=lambda: _reader_connection(uri),
            poolclass=QueuePool,
            pool_size=_READERS,
            max_overflow=16,
        ).execution_options(isolation_level="AUTOCOMMIT")
        self._watch = _reader_connection(uri)
        _check_version(int(self._watch.execute("PRAGMA user_version").fetchone()[0]), self.path)
        self._file = _file_at(self.path)

    def _prepare_directory(self) -> None:
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise StoreUnavailable(f"{self.data_dir} cannot be made a data directory: {error}") from error
        target = self.path if self.path.exists() else self.data_dir
        if not os.access(target, os.W_OK) or not os.access(self.data_dir, os.W_OK):
            raise ReadOnlyStore(f"{self.data_dir} cannot be written. Open it read-only.", path=str(self.data_dir))

    def _read_flags(self) -> str:
        """`immutable=1` only where SQLite cannot make its shared-memory file and no write waits in the log."""
        if not self.read_only or os.access(self.data_dir, os.W_OK):
            return "mode=ro"
        wal = self.path.with_name(LEDGER_NAME + "-wal")
        if wal.exists() and wal.stat().st_size > 0:
            raise StoreUnavailable(
                f"{self.path} has unfinished writes beside it in a directory that cannot be written; copy both files.",
                path=str(self.path),
            )
        return "mode=ro&immutable=1"

    def _writer_connection(self) -> sqlite3.Connection:
        raw = sqlite3.connect(
            _uri(self.path, "mode=rwc"), uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_TIMEOUT_S
        )
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("PRAGMA foreign_keys=ON")
        self._synchronous = "FULL"
        return raw

    def _migrate(self) -> None:
        with closing(sqlite3.connect(_uri(self.path, "mode=rwc"), uri=True, timeout=BUSY_TIMEOUT_S)) as raw:
            version = int(raw.execute("PRAGMA user_version").fetchone()[0])
        _check_version(version, self.path)
        if version == SCHEMA_VERSION:
            return
        from gm_engine.store.migrations import upgrade  # alembic takes 0.2 s to import

        with self._locked("FULL", BUSY_TIMEOUT_S) as connection:
            if version > 0:
                self._keep_copy(version)
            upgrade(connection)

    def _keep_copy(self, version: int) -> None:
        """The ledger as it is, in `backups/`, before its schema changes; nobody else can write meanwhile."""
        folder = self.data_dir / "backups"
        folder.mkdir(exist_ok=True)
        target = folder / f"ledger-schema-{version}-{self.clock.now_ns()}.sqlite"
        with (
            closing(sqlite3.connect(_uri(self.path, "mode=ro"), uri=True)) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one snapshot of the store until the block ends."""
        if self._reader is None:
            raise StoreUnavailable("The store is closed.")
        with translated(self.path), self._reader.connect() as connection:
            fetch(connection, "BEGIN")
            try:
                yield connection
            finally:
                fetch(connection, "ROLLBACK")

    def scratch(self) -> Engine:
        """One reading connection of its own, with temporary tables in memory; whoever asks disposes of it."""
        if self._reader is None:
            raise StoreUnavailable("The store is closed.")
        uri = _uri(self.path, self._read_flags())
        return create_engine(
            "sqlite://", creator=lambda: _reader_connection(uri, scratch=True), poolclass=StaticPool
        ).execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def write(
        self,
        verb: str,
        *,
        origin: Origin,
        agent_id: str | None = None,
        group_id: str | None = None,
        undoes: str | None = None,
        detail: str | None = None,
    ) -> Iterator[Transaction]:
        """One durable transaction with one journal row; nothing is left when the block raises or records nothing.

        A write that is refused because of a blocked value leaves nothing but a counted attempt. One of a client is held
        against what it may do, as that stands in this transaction: `AccessDenied` or `ReviewRequired`. Where the opened
        file is no longer the one at its path, nobody would find the write again: `StoreUnavailable`.
        """
        self._check_writable()
        try:
            with self._locked("FULL", BUSY_TIMEOUT_S) as connection:
                self._check_place()
                if isinstance(origin, ClientOrigin):
                    check_write(connection, origin, verb, agent_id)
                transaction = Transaction(
                    connection,
                    clock=self.clock,
                    verb=verb,
                    origin=origin,
                    agent_id=agent_id,
                    group_id=group_id,
                    undoes=undoes,
                    detail=detail,
                )
                yield transaction
                transaction.flush()
        except BlockedValue as refusal:
            self._count_refusal(refusal, origin)
            raise

    def _count_refusal(self, refusal: BlockedValue, origin: Origin) -> None:
        """A count may be lost when the disk is full or busy; the refusal itself never is."""
        keys = refusal.fields.get("keys")
        if isinstance(keys, tuple):
            with suppress(StoreBusy, DiskFull), self.bookkeep() as connection:
                count_attempts(connection, keys, origin, at_ns=self.clock.now_ns())

    @contextmanager
    def bookkeep(self, *, timeout_s: float = BOOKKEEPING_TIMEOUT_S) -> Iterator[Connection]:
        """A transaction without journal entry, for what can be computed again or may be lost on a power cut."""
        self._check_writable()
        with self._locked("NORMAL", timeout_s) as connection:
            yield connection

    def compact(self) -> bool:
        """Rewrites the file without its free pages and empties the log, so that nothing deleted is left in either.

        False when the log could not be emptied: see `empty_log`. Raises `StoreBusy` when another program writes for
        longer than the busy timeout.
        """
        self._check_writable()
        with self._maintaining() as connection:
            connection.exec_driver_sql("PRAGMA secure_delete=ON")
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA secure_delete=OFF")
        return self.empty_log()

    def empty_log(self) -> bool:
        """Moves everything from the log to the file; False while another program reads an older state."""
        self._check_writable()
        with self._maintaining() as connection:
            return not connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]

    @contextmanager
    def _maintaining(self) -> Iterator[Connection]:
        """The writing connection without a transaction."""
        with self._write_lock, translated(self.path):
            if self._writer is None:
                raise StoreUnavailable("The store is closed.")
            with self._writer.connect() as connection:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={int(BUSY_TIMEOUT_S * 1000)}")
                yield connection

    def last_seq(self) -> int:
        """The newest journal seq; asks the file only when `PRAGMA data_version` says that something was committed."""
        with self._watch_lock, translated(self.path):
            if self._watch is None:
                raise StoreUnavailable("The store is closed.")
            version = int(self._watch.execute("PRAGMA data_version").fetchone()[0])
            if self._seen is None or self._seen[0] != version:
                seq = self._watch.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()[0]
                self._seen = (version, int(seq))
            return self._seen[1]

    @contextmanager
    def _locked(self, synchronous: str, timeout_s: float) -> Iterator[Connection]:
        if not self._write_lock.acquire(timeout=timeout_s):
            raise StoreBusy(f"Another write to {self.path} has not finished.", path=str(self.path))
        try:
            if self._writer is None:
                raise StoreUnavailable("The store is closed.")
            with translated(self.path), self._writer.connect() as connection:
                if self._synchronous != synchronous:
                    connection.exec_driver_sql(f"PRAGMA synchronous={synchronous}")
                    self._synchronous = synchronous
                connection.exec_driver_sql(f"PRAGMA busy_timeout={int(timeout_s * 1000)}")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                try:
                    if self._reader is not None:
                        _check_version(int(connection.exec_driver_sql("PRAGMA user_version").scalar_one()), self.path)
                    yield connection
                    connection.commit()
                except BaseException:
                    connection.rollback()
                    raise
        finally:
            self._write_lock.release()

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyStore(f"{self.data_dir} is open for reading only.", path=str(self.data_dir))

    def _check_place(self) -> None:
        if self._file != _file_at(self.path):
            raise StoreUnavailable(
                f"{self.path} was moved, deleted or replaced while it was open. Nothing was written.",
                path=str(self.path),
                is_gone=True,
            )

    def close(self) -> None:
        """Closes every connection. Safe to call twice."""
        with self._watch_lock:
            if self._watch is not None:
                self._watch.close()
                self._watch = None
        for engine in (self._reader, self._writer):
            if engine is not None:
                engine.dispose()
        self._reader = self._writer = None

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _file_at(path: Path) -> tuple[int, int] | None:
    """What tells the file at `path` from every other one; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _uri(path: Path, flags: str) -> str:
    return f"file:{quote(str(path.absolute()))}?{flags}"


def _reader_connection(uri: str, *, scratch: bool = False) -> sqlite3.Connection:
    raw = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_TIMEOUT_S)
    raw.execute("PRAGMA temp_store=MEMORY" if scratch else "PRAGMA query_only=ON")
    raw.execute("PRAGMA mmap_size=268435456")
    return raw


def _check_version(version: int, path: Path) -> None:
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"{path} was written by a newer program (schema {version}, this one knows {SCHEMA_VERSION}): "
            "update and restart.",
            path=str(path),
            found=version,
        )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns SQLite's failures into the engine's, naming the file.

    So it does with what a damaged page gives in place of text: bytes that are no UTF-8, or an image that is no JSON. A
    number or a text that SQLite cannot hold is `InvalidInput`.
    """
    try:
        yield
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise _failure(error.orig, path) from error
        raise
    except sqlite3.Error as error:
        raise _failure(error, path) from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        said = "bytes that are no text" if isinstance(error, UnicodeDecodeError) else "an image that is no JSON"
        raise StoreDamaged(f"{path} is damaged (it holds {said}).", path=str(path)) from error
    except UnicodeEncodeError as error:
        raise InvalidInput(f"A text holds a lone surrogate at character {error.start}.", path=str(path)) from error
    except OverflowError as error:
        raise InvalidInput("A number is beyond 64 bits, or a time beyond the year 2262.", path=str(path)) from error


def _failure(error: sqlite3.Error, path: Path) -> GrayMatterError:
    code: int | None = getattr(error, "sqlite_errorcode", None)  # not set where Python could not read a column's text
    if code is None:
        said = str(error).partition(" with text ")[0]  # what follows is the column's content
        if "closed" in said:
            return StoreUnavailable(f"{path} is closed ({said}).", path=str(path))
        return StoreDamaged(f"{path} is damaged ({said}).", path=str(path))
    kind, message = _FAILURES.get(code & 0xFF, (StoreDamaged, "reports a failure"))
    return kind(f"{path} {message} ({error}).", path=str(path))


_FAILURES: dict[int, tuple[type[GrayMatterError], str]] = {
    sqlite3.SQLITE_BUSY: (StoreBusy, "is locked by another process; nothing was written"),
    sqlite3.SQLITE_LOCKED: (StoreBusy, "is locked by another process; nothing was written"),
    sqlite3.SQLITE_FULL: (DiskFull, "cannot grow, because its disk is full; nothing was written"),
    sqlite3.SQLITE_CORRUPT: (StoreDamaged, "is damaged"),
    sqlite3.SQLITE_NOTADB: (StoreDamaged, "is no ledger"),
    sqlite3.SQLITE_READONLY: (ReadOnlyStore, "cannot be written"),
    sqlite3.SQLITE_PERM: (ReadOnlyStore, "cannot be written"),
    sqlite3.SQLITE_TOOBIG: (InvalidInput, "cannot hold a text of that length"),
    sqlite3.SQLITE_CANTOPEN: (StoreUnavailable, "cannot be opened"),
    sqlite3.SQLITE_IOERR: (StoreUnavailable, "cannot be read or written"),
    sqlite3.SQLITE_AUTH: (StoreUnavailable, "cannot be opened"),
}
