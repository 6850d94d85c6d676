"""Backups by a schedule: where they go, when one is due, and which old ones have had their time."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from gm_engine.clock import NS_PER_S
from gm_engine.errors import InvalidInput, StoreUnavailable
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import Backup, BackupSchedule
from gm_engine.store.backup import FOLDER, backups_in, forget_leftovers, make_backup, remove_backup, store_name
from gm_engine.store.database import Ledger
from gm_engine.store.settings import settings_under, write_setting
from gm_engine.store.transaction import Transaction

_KEY = "backups"
_MOST_H = 24 * 366
_LATER_NS = 3600 * NS_PER_S  # packing takes its time, and clocks of two machines differ


def load_schedule(connection: Connection) -> BackupSchedule:
    """The stored schedule; no backups by default."""
    stored: Any = settings_under(connection, _KEY).get("", {})
    return BackupSchedule(**stored)


def checked(schedule: BackupSchedule, data_dir: Path) -> BackupSchedule:
    """The schedule as it is stored: the store's own folder is "". `InvalidInput` names a bad value."""
    if not 0 <= schedule.every_h <= _MOST_H:
        raise InvalidInput(f"every_h must be between 0 and {_MOST_H}, not {schedule.every_h}", field="every_h")
    if schedule.kept < 1:
        raise InvalidInput("At least one backup must be kept.", field="kept")
    if not schedule.folder:
        return schedule
    folder = Path(schedule.folder)
    if not folder.is_absolute() or not folder.is_dir():
        raise InvalidInput(f"{schedule.folder} is no folder on this computer.", field="folder")
    is_own = folder.resolve() == (data_dir / FOLDER).resolve()
    return replace(schedule, folder="" if is_own else schedule.folder)


def save_schedule(tx: Transaction, schedule: BackupSchedule) -> None:
    """Stores and journals a schedule that was checked."""
    write_setting(tx, _KEY, asdict(schedule))


def known_backups(ledger: Ledger, *, elsewhere_only: bool = False) -> tuple[Backup, ...]:
    """The backups in the store's own folder, and this store's in the folder of the schedule; newest first."""
    with ledger.read() as connection:
        folder, name = load_schedule(connection).folder, store_name(connection)
    found = () if elsewhere_only else backups_in(ledger.data_dir / FOLDER)
    if folder:
        found = (*found, *backups_in(Path(folder), of_store=name))
    return tuple(sorted(found, key=lambda backup: (-backup.made_ns, backup.path)))


def due_ns(schedule: BackupSchedule, found: tuple[Backup, ...], now_ns: int) -> int | None:
    """From when on the schedule wants a backup; None when it wants none. Where there is none yet, from now on.

    A backup of a later time than now was made by a clock that was wrong, and does not put off the next one.
    """
    if schedule.every_h == 0:
        return None
    made = [backup.made_ns for backup in found if not backup.problem and backup.made_ns <= now_ns]
    return max(made) + schedule.every_h * 3600 * NS_PER_S if made else now_ns


def back_up_if_due(ledger: Ledger, *, progress: Progress, cancel: CancelToken) -> Backup | None:
    """See `Memory.backup_if_due`."""
    with ledger.read() as connection:
        schedule = load_schedule(connection)
    if schedule.every_h == 0:
        return None
    found, now_ns = known_backups(ledger), ledger.clock.now_ns()
    due = due_ns(schedule, found, now_ns)
    if due is None or now_ns < due:
        return None
    folder = Path(schedule.folder) if schedule.folder else None
    if folder is not None and not folder.is_dir():
        raise StoreUnavailable(f"The folder for backups, {folder}, is not there.", path=str(folder))
    forget_leftovers(folder or ledger.data_dir / FOLDER)
    backup = make_backup(ledger, folder, scheduled=True, progress=progress, cancel=cancel)
    ours = [one for one in (backup, *found) if one.scheduled and not one.problem]
    ours.sort(key=lambda one: one.made_ns > now_ns + _LATER_NS)  # one of a wrong clock takes no later one's place
    for one in ours[schedule.kept :]:
        remove_backup(one)
    return backup
