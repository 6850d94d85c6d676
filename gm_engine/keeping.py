"""The part of the door that keeps a store and its past: moments, differences, backups, purges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gm_engine.errors import InvalidInput, NotFound
from gm_engine.moment import MemoryView
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import Backup, BackupSchedule, FactDifference, JsonValue, Origin, PurgeReport
from gm_engine.search import Search
from gm_engine.store.database import Ledger
from gm_engine.store.settings import remove_setting, settings_under, write_setting

if TYPE_CHECKING:
    from gm_engine.life.purge import Purge

_MAX_NAME = 100
_NOTHING: JsonValue = {"": "no value is this one"}


class Keeping:
    """The verbs of `Memory` that look at the past, keep copies, and remove for good."""

    def _set_up_keeping(self, ledger: Ledger, *, search: Search, origin: Origin) -> None:
        self._kept = ledger
        self._keeper_search = search
        self._keeper = origin

    def stored_values(self, group: str) -> dict[str, JsonValue]:
        """What another package keeps in this store under `group`, by name, in order."""
        with self._kept.read() as connection:
            return settings_under(connection, f"{group}:")

    def store_value(self, group: str, name: str, value: JsonValue) -> None:
        """Keeps a value with the store, journalled and undoable; one that is there already leaves no entry."""
        if not name.strip() or len(name) > _MAX_NAME:
            raise InvalidInput(f"A name has 1 to {_MAX_NAME} characters.", field="name")
        if self.stored_values(group).get(name, _NOTHING) == value:
            return
        with self._kept.write("settings", origin=self._keeper) as tx:
            write_setting(tx, f"{group}:{name}", value)

    def remove_value(self, group: str, name: str) -> None:
        """Removes a value, journalled and undoable; `NotFound` when there is none."""
        with self._kept.write("settings", origin=self._keeper) as tx:
            if not remove_setting(tx, f"{group}:{name}"):
                raise NotFound(f"Nothing is saved under the name {name[:_MAX_NAME]!r}.", name=name[:_MAX_NAME])

    def dump(self) -> Iterator[str]:
        """The whole store but its vectors as the lines of a JSON file, from one moment; `import_store` reads it back.

        The same store gives the same lines.
        """
        from gm_engine.importing.dump import dump_lines

        return dump_lines(self._kept)

    def at(self, at_ns: int | None = None, *, before_seq: int | None = None) -> MemoryView:
        """The store as it stood at a moment, or before a journal entry: read only, to be closed."""
        return MemoryView(self._kept, self._keeper_search, at_ns=at_ns, before_seq=before_seq)

    def diff(self, from_ns: int, to_ns: int) -> tuple[FactDifference, ...]:
        """Every fact that differs between two moments, oldest first, with what happened to it."""
        with self.at(from_ns) as before, self.at(to_ns) as after:
            return before.diff(after)

    def backup(
        self, path: Path | str | None = None, *, progress: Progress = no_progress, cancel: CancelToken | None = None
    ) -> Backup:
        """Writes the whole store, but for what can be made anew, to a new zip with checksums.

        `path` is a new file or a directory; None is the store's own `backups/`. Nobody has to stop writing. Raises
        `InvalidInput` when the file exists, `DiskFull`, `StoreUnavailable` or `Cancelled`; then no file is left.
        """
        from gm_engine.store.backup import make_backup

        target = None if path is None else Path(path)
        return make_backup(self._kept, target, progress=progress, cancel=cancel or CancelToken())

    def backups(self) -> tuple[Backup, ...]:
        """The backups in the store's own folder and in that of the schedule, newest first; unreadable ones say why."""
        from gm_engine.store.backup_schedule import known_backups

        return known_backups(self._kept)

    @property
    def backup_schedule(self) -> BackupSchedule:
        """How often `backup_if_due` makes a backup, where, and how many it keeps."""
        from gm_engine.store.backup_schedule import load_schedule

        with self._kept.read() as connection:
            return load_schedule(connection)

    def set_backup_schedule(self, schedule: BackupSchedule) -> None:
        """Stores the schedule, journalled and undoable. `InvalidInput` names a bad value."""
        from gm_engine.store.backup_schedule import checked, save_schedule

        wanted = checked(schedule, self._kept.data_dir)
        if wanted != self.backup_schedule:
            with self._kept.write("settings", origin=self._keeper) as tx:
                save_schedule(tx, wanted)

    def backup_if_due(self, *, progress: Progress = no_progress, cancel: CancelToken | None = None) -> Backup | None:
        """Makes a backup when the schedule asks for one, and removes scheduled ones that are too many.

        Backups that a person made, and those of other stores, are never removed. Returns None when nothing is due.
        Raises `StoreUnavailable` when the schedule's folder is not there, and what `backup` raises.
        """
        from gm_engine.store.backup_schedule import back_up_if_due

        return back_up_if_due(self._kept, progress=progress, cancel=cancel or CancelToken())

    def purge(
        self,
        text: str,
        *,
        containing: bool = False,
        block: bool = False,
        checkpoints: bool = False,
        progress: Progress = no_progress,
        cancel: CancelToken | None = None,
    ) -> PurgeReport:
        """Removes a text for good: facts, journal, names, words, vectors, inbox, backups, free pages, log. No undo.

        Facts with that text (in any Unicode composition) go; with `containing`, every fact that holds it anywhere. With
        `block` it is refused from now on, known by its hash only. Entities with that name go, and those that only such
        facts spoke of; with `checkpoints`, whole checkpoints that hold it. What else holds the text within something
        longer is left and named. Can be cancelled until the first row is gone. Raises `NotFound` when the store never
        held it.
        """
        report = self._purge(progress).run(
            text, containing=containing, block=block, checkpoints=checkpoints, cancel=cancel or CancelToken()
        )
        self._keeper_search.wake()
        return report

    def finish_purges(self, *, progress: Progress = no_progress) -> PurgeReport | None:
        """Ends purges that were interrupted or had to wait for another program; None when there is none."""
        return self._purge(progress).finish()

    def _purge(self, progress: Progress) -> Purge:
        from gm_engine.life.purge import Purge

        return Purge(
            self._kept, origin=self._keeper, discard_indexes=self._keeper_search.discard_indexes, progress=progress
        )
