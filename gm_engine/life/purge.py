"""Purging a text: out of the rows, the vector index, the backups, the free pages and the log; then looking for it.

The rows go first, in one transaction that also notes what is still to do: a purge that was interrupted is finished by
the next one, or by the doctor.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from gm_engine.errors import DiskFull, GrayMatterError, NotFound, StoreBusy
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import Origin, PurgeReport
from gm_engine.store import clients
from gm_engine.store.backup import FOLDER, forget_leftovers, make_again, read_manifest, restore_backup
from gm_engine.store.backup_schedule import known_backups, load_schedule
from gm_engine.store.database import LEDGER_NAME, Ledger
from gm_engine.store.facts import check_text
from gm_engine.store.purge import Needle, Removed, clear_pending, pending, purge_rows, still_in
from gm_engine.store.settings import load_settings
from gm_engine.terms import text_key
from gm_engine.vectors.places import FOLDER as VECTOR_FOLDER

_PATIENCE_S = 5.0
_PAUSE_S = 0.1
_WORK_FOLDER = ".purge"
_SHORTEST_SCAN = 6  # bytes; shorter ones stand in any file by chance
_BLOCK = 1 << 20


class Purge:
    """One purge of a store. `discard_indexes` removes the vector indexes on disk and says whether they are gone."""

    def __init__(
        self, ledger: Ledger, *, origin: Origin, discard_indexes: Callable[[], bool], progress: Progress
    ) -> None:
        self._ledger = ledger
        self._origin = origin
        self._discard_indexes = discard_indexes
        self._progress = progress
        self._incomplete: list[str] = []
        self._checkpoints = False
        self._index_folders = [path for path in (ledger.data_dir / VECTOR_FOLDER).glob("*") if path.is_dir()]

    def run(self, text: str, *, containing: bool, block: bool, checkpoints: bool, cancel: CancelToken) -> PurgeReport:
        """See `Memory.purge`. Once the rows are gone it is not cancelled any more."""
        check_text(text)
        needle = Needle(frozenset([text_key(text)]), text, containing)
        self._progress(0, None, "Looking for the text")
        self._checkpoints = checkpoints
        removed = self._rows(self._ledger, needle, block=block, cancel=cancel)
        with self._ledger.read() as connection:
            left = pending(connection)
            elsewhere = tuple(still_in(connection, text))
        if not removed and not left:
            raise NotFound("The store holds no such text, now or in its history.", still_in=elsewhere)
        backups = self._finish(Needle(frozenset({*left, *removed.keys}), text, containing))
        self._look_for(text, is_quoted=bool(elsewhere))
        return self._report(removed, backups, elsewhere)

    def finish(self) -> PurgeReport | None:
        """Ends a purge that was interrupted; None when there is none."""
        with self._ledger.read() as connection:
            left = pending(connection)
        if not left:
            return None
        return self._report(Removed(), self._finish(Needle(frozenset(left))), ())

    def _report(self, removed: Removed, backups: tuple[str, ...], elsewhere: tuple[str, ...]) -> PurgeReport:
        return PurgeReport(
            facts=removed.facts,
            journal_images=removed.images,
            vectors=removed.vectors,
            proposals=removed.proposals,
            backups=backups,
            removed_bytes=removed.size_bytes,
            still_in=elsewhere,
            incomplete=tuple(self._incomplete),
            entities=removed.entities,
            checkpoints=removed.checkpoints,
        )

    def _rows(self, ledger: Ledger, needle: Needle, *, block: bool, cancel: CancelToken) -> Removed:
        with ledger.write("purge", origin=self._origin) as tx:
            language = load_settings(tx.connection).language
            removed = purge_rows(
                tx, needle, language=language, block=block, cancel=cancel, checkpoints=self._checkpoints
            )
            if removed:
                tx.seq  # noqa: B018 — the entry is there even where only history held the text
        return removed

    def _finish(self, needle: Needle) -> tuple[str, ...]:
        self._progress(0, None, "Removing the vector index")
        if not self._patiently(self._index_is_gone):
            self._incomplete.append(f"The vector index is removed once {self._others()} noticed, or ended.")
        backups = tuple(self._backups(needle))
        self._progress(0, None, "Rewriting the store")
        try:
            if not self._ledger.compact() and not self._patiently(self._ledger.empty_log):
                self._incomplete.append(f"The log is emptied once {self._others()} stopped reading: purge again then.")
        except StoreBusy:
            self._incomplete.append(f"The file is rewritten once {self._others()} stopped writing: purge again then.")
        except DiskFull:
            self._incomplete.append("The file is rewritten once the disk has room for a copy of it: purge again then.")
        if not self._incomplete:
            with self._ledger.bookkeep() as connection:
                clear_pending(connection)
        return backups

    def _index_is_gone(self) -> bool:
        """Removed here, or by the process that has it open: that one forgets dropped vectors with its next step."""
        return self._discard_indexes() or not any(folder.exists() for folder in self._index_folders)

    def _patiently(self, act: Callable[[], bool]) -> bool:
        until = monotonic() + _PATIENCE_S
        while not act():
            if monotonic() >= until:
                return False
            sleep(_PAUSE_S)
        return True

    def _others(self) -> str:
        with self._ledger.read() as connection:
            running = clients.processes(connection)
        names = sorted({process.client or process.program for process in running if process.pid != os.getpid()})
        return ", ".join(names) or "another program"

    def _backups(self, needle: Needle) -> Iterator[str]:
        """Rewrites the backups that hold the text; those that cannot be read are named as incomplete."""
        own = self._ledger.data_dir / FOLDER
        self._forget_half_backups(own)
        files = sorted(path for path in own.glob("*") if path.suffix in (".zip", ".sqlite"))
        files += [Path(backup.path) for backup in known_backups(self._ledger, elsewhere_only=True)]
        for done, path in enumerate(files):
            self._progress(done, len(files), "Rewriting backups")
            try:
                with _work_folder(own) as work:
                    changed = self._zip(path, needle, work) if path.suffix == ".zip" else self._copy(path, needle, work)
            except (GrayMatterError, OSError) as error:
                name = f"{FOLDER}/{path.name}" if path.parent == own else str(path)
                self._incomplete.append(f"{name} may still hold the text; it could not be read: {error}")
                continue
            if changed:
                yield str(path)
        with self._ledger.read() as connection:
            elsewhere = load_schedule(connection).folder
        if elsewhere and not Path(elsewhere).is_dir():
            self._incomplete.append(f"The backups in {elsewhere} may still hold the text: the folder is not there.")

    def _forget_half_backups(self, own: Path) -> None:
        """What a killed backup left is packed and cannot be looked into; one that is being made now fails instead."""
        with self._ledger.read() as connection:
            elsewhere = load_schedule(connection).folder
        left = [*forget_leftovers(own, of="*"), *(forget_leftovers(Path(elsewhere)) if elsewhere else ())]
        self._incomplete += [f"{path} may still hold the text; it could not be removed." for path in left]

    def _zip(self, path: Path, needle: Needle, work: Path) -> bool:
        manifest = read_manifest(path)
        restore_backup(path, work / "store")
        with Ledger.open(work / "store", clock=self._ledger.clock) as copy:
            if not self._rows(copy, needle, block=False, cancel=CancelToken()):
                return False
            copy.compact()
            with copy.bookkeep() as connection:
                clear_pending(connection)
            make_again(copy, path, manifest)
        return True

    def _copy(self, path: Path, needle: Needle, work: Path) -> bool:
        """A ledger that was kept before a new schema: it must stay as it was, so one that holds the text is deleted."""
        (work / "store").mkdir()
        shutil.copyfile(path, work / "store" / LEDGER_NAME)
        with Ledger.open(work / "store", clock=self._ledger.clock) as copy:
            found = bool(self._rows(copy, needle, block=False, cancel=CancelToken()))
        if found:
            path.unlink()
        return found

    def _look_for(self, text: str, *, is_quoted: bool) -> None:
        """Reads the files of the store; a text that something longer holds is in the ledger for that reason."""
        wanted = text.encode()
        if len(wanted) < _SHORTEST_SCAN:
            return
        for path in sorted(self._ledger.data_dir.rglob("*")):
            self._progress(0, None, "Looking for what is left")
            if path.is_file() and not (is_quoted and path.name.startswith(LEDGER_NAME)) and _holds(path, wanted):
                name = path.relative_to(self._ledger.data_dir).as_posix()
                self._incomplete.append(f"The file {name} still holds the text.")


@contextmanager
def _work_folder(folder: Path) -> Iterator[Path]:
    work = folder / _WORK_FOLDER
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _holds(path: Path, wanted: bytes) -> bool:
    try:
        with path.open("rb") as file:
            tail = b""
            while block := file.read(_BLOCK):
                if wanted in tail + block:
                    return True
                tail = block[-len(wanted) + 1 :]
    except OSError:
        return False
    return False
