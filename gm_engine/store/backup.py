"""Backups: the whole ledger in one zip with a manifest and checksums; restored beside the store, never over it.

The copy is SQLite's own online backup of one snapshot, so that nobody has to stop writing. Vectors are in the ledger;
Chroma's directory is a projection and is made anew from them.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from sqlalchemy import Connection

from gm_engine.clock import format_ns, parse_rfc3339
from gm_engine.errors import (
    BackupDamaged,
    DiskFull,
    GrayMatterError,
    InvalidInput,
    NotFound,
    StoreTooNew,
    StoreUnavailable,
)
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import Backup, Counts
from gm_engine.store.database import BUSY_TIMEOUT_S, LEDGER_NAME, Ledger, translated
from gm_engine.store.tables import SCHEMA_VERSION
from gm_engine.version import __version__

FOLDER = "backups"
MANIFEST_NAME = "manifest.json"
_FORMAT = 1
_PAGES_PER_STEP = 1024
_CHUNK = 1 << 20
_MANIFEST_LIMIT = 1 << 20
_LEVEL = 1  # vectors hardly get smaller; more effort costs seconds and saves little
_COUNTS = (
    "SELECT (SELECT count(*) FROM facts), (SELECT count(*) FROM checkpoints WHERE deleted = 0),"
    " (SELECT count(*) FROM entities), (SELECT count(*) FROM edges)"
)
# The id of the first journal entry: no purge touches it, and copies of one store share it.
_STORE = "SELECT coalesce((SELECT group_id FROM journal ORDER BY seq LIMIT 1), '')"
_OWN_NAMES = "graymatter-*.zip"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says about itself."""

    made_ns: int
    seq: int
    schema: int
    counts: Counts
    scheduled: bool
    store: str
    sha256: str
    size_bytes: int


def make_backup(
    ledger: Ledger,
    target: Path | None,
    *,
    scheduled: bool = False,
    progress: Progress,
    cancel: CancelToken,
) -> Backup:
    """Writes a backup to a new file, or into a directory (`backups/` of the store when None) under a name of its own.

    Nothing but a complete backup ever has the final name. Raises `InvalidInput` when the file exists, `DiskFull`,
    `StoreUnavailable` when it cannot be written, or `Cancelled`.
    """
    made_ns = ledger.clock.now_ns()
    path = _target(ledger, target, made_ns)
    partial, copy = path.with_name(f".{path.name}.partial"), path.with_name(f".{path.name}.sqlite")
    with _file_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with translated(ledger.path):
                copy_ledger(ledger.path, copy, progress=progress, cancel=cancel)
                manifest = _describe(copy, made_ns=made_ns, scheduled=scheduled)
            pack(copy, partial, manifest, progress=progress, cancel=cancel)
            partial.replace(path)
        finally:
            for leftover in (partial, copy, copy.with_name(f"{copy.name}-journal")):
                leftover.unlink(missing_ok=True)
    return _backup(path, manifest)


def make_again(ledger: Ledger, path: Path, manifest: Manifest) -> None:
    """Puts a backup of `ledger` in the place of the backup `path`, which `manifest` describes."""
    partial, copy = path.with_name(f".{path.name}.partial"), path.with_name(f".{path.name}.sqlite")
    with _file_errors(path):
        try:
            copy_ledger(ledger.path, copy, progress=no_progress, cancel=CancelToken())
            described = _describe(copy, made_ns=manifest.made_ns, scheduled=manifest.scheduled)
            pack(copy, partial, described, progress=no_progress, cancel=CancelToken())
            partial.replace(path)
        finally:
            for leftover in (partial, copy):
                leftover.unlink(missing_ok=True)


def _target(ledger: Ledger, target: Path | None, made_ns: int) -> Path:
    folder = ledger.data_dir / FOLDER if target is None else target
    if target is not None and not target.is_dir():
        if target.exists():
            raise InvalidInput(f"There is a file {target} already; a backup replaces nothing.", path=str(target))
        return target
    stem = "graymatter-" + format_ns(made_ns)[:19].replace("-", "").replace(":", "") + "Z"
    path, number = folder / f"{stem}.zip", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.zip"
    return path


def copy_ledger(source: Path, target: Path, *, progress: Progress, cancel: CancelToken) -> None:
    """Copies one snapshot of a ledger to a new file that needs no log beside it; running programs are left out."""
    target.unlink(missing_ok=True)
    uri = f"file:{quote(str(source.absolute()))}?mode=ro"

    def step(_: int, remaining: int, total: int) -> None:
        cancel.check()
        progress(total - remaining, total, "Copying the ledger")

    with (
        closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_S)) as reader,
        closing(sqlite3.connect(target, isolation_level=None)) as writer,
    ):
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM journal").fetchone()  # from here on, one snapshot
        reader.backup(writer, pages=_PAGES_PER_STEP, progress=step)
        writer.execute("PRAGMA journal_mode=DELETE")
        writer.execute("DELETE FROM clients")


def _describe(copy: Path, *, made_ns: int, scheduled: bool) -> Manifest:
    with closing(sqlite3.connect(copy)) as raw:
        counts = Counts(*raw.execute(_COUNTS).fetchone())
        seq = int(raw.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()[0])
        schema = int(raw.execute("PRAGMA user_version").fetchone()[0])
        store = str(raw.execute(_STORE).fetchone()[0])
    return Manifest(made_ns, seq, schema, counts, scheduled, store, "", copy.stat().st_size)


def pack(copy: Path, target: Path, manifest: Manifest, *, progress: Progress, cancel: CancelToken) -> None:
    """Zips a copied ledger with its manifest, and waits until it is on the disk."""
    total = copy.stat().st_size
    digest = hashlib.sha256()
    with target.open("wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
            with copy.open("rb") as source, archive.open(LEDGER_NAME, "w", force_zip64=True) as member:
                for done, chunk in _chunks(source):
                    cancel.check()
                    progress(done, total, "Packing the backup")
                    digest.update(chunk)
                    member.write(chunk)
            archive.writestr(MANIFEST_NAME, _manifest_json(manifest, digest.hexdigest(), total))
        file.flush()
        _sync(file)


def _sync(file: IO[bytes]) -> None:
    os.fsync(file.fileno())


def _chunks(source: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    done = 0
    while chunk := source.read(_CHUNK):
        done += len(chunk)
        yield done, chunk


def _manifest_json(manifest: Manifest, sha256: str, size_bytes: int) -> str:
    content = {
        "format": _FORMAT,
        "made_at": format_ns(manifest.made_ns),
        "made_by": f"graymatter {__version__}",
        "schema": manifest.schema,
        "seq": manifest.seq,
        "scheduled": manifest.scheduled,
        "store": manifest.store,
        "counts": {
            "facts": manifest.counts.facts,
            "checkpoints": manifest.counts.checkpoints,
            "entities": manifest.counts.entities,
            "edges": manifest.counts.edges,
        },
        "files": {LEDGER_NAME: {"sha256": sha256, "size_bytes": size_bytes}},
    }
    return json.dumps(content, indent=2)


def read_manifest(path: Path) -> Manifest:
    """What a backup says about itself; its ledger is not looked at. `BackupDamaged` when it says nothing sensible."""
    with _opened(path) as archive:
        return _manifest(archive, path)


def verify_backup(path: Path, *, progress: Progress = no_progress, cancel: CancelToken | None = None) -> Backup:
    """Reads a whole backup and compares its checksums. Raises `BackupDamaged` with the reason, `StoreTooNew`."""
    with _opened(path) as archive:
        manifest = _manifest(archive, path)
        _read_ledger(archive, manifest, path, None, progress=progress, cancel=cancel or CancelToken())
    return _backup(path, manifest)


def restore_backup(
    path: Path, target_dir: Path, *, progress: Progress = no_progress, cancel: CancelToken | None = None
) -> Backup:
    """Makes a new store in `target_dir`, which must be empty or not exist, from a backup that proves to be sound.

    The present store is never touched: look at the copy, then open it instead. Raises `InvalidInput`, `BackupDamaged`,
    `StoreTooNew`, `DiskFull` or `Cancelled`; then nothing is left in `target_dir`.
    """
    if target_dir.exists() and (not target_dir.is_dir() or any(target_dir.iterdir())):
        raise InvalidInput(f"{target_dir} is not empty; a backup is restored to a new directory.", path=str(target_dir))
    folder = target_dir.absolute().with_name(f".{target_dir.absolute().name}.restoring")
    with _file_errors(target_dir):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            with _opened(path) as archive:
                manifest = _manifest(archive, path)
                with (folder / LEDGER_NAME).open("wb") as out:
                    _read_ledger(archive, manifest, path, out, progress=progress, cancel=cancel or CancelToken())
                    _sync(out)
            _check_ledger(folder / LEDGER_NAME, path)
            if target_dir.exists():
                target_dir.rmdir()
            folder.replace(target_dir)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return _backup(path, manifest)


def _check_ledger(ledger: Path, path: Path) -> None:
    try:
        with closing(sqlite3.connect(ledger)) as raw:
            answer = raw.execute("PRAGMA quick_check(1)").fetchone()[0]
            raw.execute(_COUNTS).fetchone()
    except sqlite3.Error as error:
        raise BackupDamaged(f"{path.name} holds no ledger that can be opened: {error}.", path=str(path)) from error
    if answer != "ok":
        raise BackupDamaged(f"{path.name} holds a damaged ledger: {answer}.", path=str(path))


def _read_ledger(
    archive: zipfile.ZipFile,
    manifest: Manifest,
    path: Path,
    out: IO[bytes] | None,
    *,
    progress: Progress,
    cancel: CancelToken,
) -> None:
    """Reads the packed ledger once, to `out` if given, and compares its length and checksum with the manifest."""
    digest, size = hashlib.sha256(), 0
    with archive.open(LEDGER_NAME) as member:
        for size, chunk in _chunks(member):
            cancel.check()
            progress(size, manifest.size_bytes, "Checking the backup")
            if size > manifest.size_bytes:
                break  # more than was promised: no need to unpack what may never end
            digest.update(chunk)
            if out is not None:
                out.write(chunk)
    if size != manifest.size_bytes or digest.hexdigest() != manifest.sha256:
        raise BackupDamaged(f"{path.name} does not hold what its manifest says.", path=str(path))


def _manifest(archive: zipfile.ZipFile, path: Path) -> Manifest:
    try:
        if archive.getinfo(MANIFEST_NAME).file_size > _MANIFEST_LIMIT:
            raise ValueError("the manifest is too long")
        content: Any = json.loads(archive.read(MANIFEST_NAME))
        if content["format"] != _FORMAT:
            raise StoreTooNew(f"{path.name} was made by a newer program: update and restart.", path=str(path))
        file = content["files"][LEDGER_NAME]
        made_ns = parse_rfc3339(content["made_at"])
        counts = Counts(*(int(content["counts"][name]) for name in ("facts", "checkpoints", "entities", "edges")))
        manifest = Manifest(
            made_ns=0 if made_ns is None else made_ns,
            seq=int(content["seq"]),
            schema=int(content["schema"]),
            counts=counts,
            scheduled=content.get("scheduled") is True,
            store=str(content.get("store", "")),
            sha256=str(file["sha256"]),
            size_bytes=int(file["size_bytes"]),
        )
    except (KeyError, TypeError, ValueError, InvalidInput) as error:
        raise BackupDamaged(f"{path.name} has no manifest that can be read: {error}.", path=str(path)) from error
    if manifest.schema > SCHEMA_VERSION:
        raise StoreTooNew(
            f"{path.name} holds schema {manifest.schema}, this program knows {SCHEMA_VERSION}: update and restart.",
            path=str(path),
        )
    return manifest


def store_name(connection: Connection) -> str:
    """What the backups of one store have in common; empty while nothing was written to it."""
    return str(connection.exec_driver_sql(_STORE).scalar_one())


def backups_in(folder: Path, *, of_store: str | None = None) -> tuple[Backup, ...]:
    """The backups in a folder, newest first; those that cannot be read say why.

    With `of_store` the folder is somebody's own: only files with a name of ours count, and no other store's.
    """
    found = []
    for path in sorted(folder.glob("*.zip" if of_store is None else _OWN_NAMES)):
        try:
            manifest = read_manifest(path)
            if of_store is None or manifest.store == of_store:
                found.append(_backup(path, manifest))
        except GrayMatterError as error:
            size = path.stat().st_size if path.is_file() else 0
            found.append(Backup(str(path), 0, size, 0, Counts(), scheduled=False, problem=error.message))
    return tuple(sorted(found, key=lambda backup: (-backup.made_ns, backup.path)))


def remove_backup(backup: Backup) -> None:
    """Deletes a backup file; one that is gone already is no error."""
    with _file_errors(Path(backup.path)):
        Path(backup.path).unlink(missing_ok=True)


def _backup(path: Path, manifest: Manifest) -> Backup:
    size = path.stat().st_size
    return Backup(str(path), manifest.made_ns, size, manifest.seq, manifest.counts, manifest.scheduled)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive; whatever is wrong with it is `BackupDamaged`."""
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {path}.", path=str(path)) from error
    except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
        raise BackupDamaged(f"{path.name} is no backup that can be read: {error}.", path=str(path)) from error
    try:
        with archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError) as error:
        raise BackupDamaged(f"{path.name} is damaged: {error}.", path=str(path)) from error


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"The disk is full; {path} was not written.", path=str(path)) from error
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror or error}.", path=str(path)) from error


def forget_leftovers(folder: Path, *, of: str = _OWN_NAMES) -> tuple[Path, ...]:
    """Removes what killed backups with such names left behind in a folder; returns what could not be removed."""
    left = []
    for path in sorted((*folder.glob(f".{of}.partial"), *folder.glob(f".{of}.sqlite*"))):
        try:
            path.unlink(missing_ok=True)
        except OSError:
            left.append(path)
    return tuple(left)
