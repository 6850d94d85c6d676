"""`graymatter backup` and `graymatter restore-backup`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from gm_engine.cli.payloads import backup_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, minute, shared_options
from gm_engine.records import Backup, BackupSchedule, JsonValue


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--list", "listing", is_flag=True, help="Only list the backups in the store's and the schedule's folder.")
@click.option("--if-due", is_flag=True, help="Only when the schedule asks for one; removes old scheduled ones.")
@click.option("--every", "every_h", type=int, metavar="HOURS", help="Set the schedule: so many hours apart; 0 is off.")
@click.option("--keep", "kept", type=int, metavar="N", help="Set how many scheduled backups stay.")
@click.option("--folder", metavar="DIR", help='Set where scheduled backups go; "" is the store\'s own folder.')
@shared_options
def backup(
    path: Path | None, *, listing: bool, if_due: bool, every_h: int | None, kept: int | None, folder: str | None
) -> None:
    """Copy the store to the new file or directory PATH, or to its own folder `backups`.

    Nobody has to stop writing meanwhile. With --every, --keep or --folder, only the schedule is set.
    """
    if path is not None and (listing or if_due):
        raise click.UsageError("--list and --if-due take no PATH.", click.get_current_context())
    changes: dict[str, Any] = {"every_h": every_h, "kept": kept, "folder": folder and str(Path(folder).absolute())}
    if changes := {name: value for name, value in changes.items() if value is not None}:
        _set_schedule(changes)
        return
    session = current()
    if listing:
        with session.reading() as memory:
            found = memory.backups()
        payload: list[JsonValue] = [backup_payload(item) for item in found]
        session.answer(payload, map(_line, found))
        return
    with session.writing() if if_due else session.reading() as memory, session.progress() as progress:
        made = memory.backup_if_due(progress=progress) if if_due else memory.backup(path, progress=progress)
    if made is None:
        session.answer(None, ["nothing is due"])
    else:
        session.answer(backup_payload(made), [f"made {_line(made)}"])


def _set_schedule(changes: Mapping[str, Any]) -> None:
    with current().writing() as memory:
        memory.set_backup_schedule(replace(memory.backup_schedule, **changes))
        schedule = memory.backup_schedule
    current().answer(
        {"every_h": schedule.every_h, "kept": schedule.kept, "folder": schedule.folder}, [_schedule_line(schedule)]
    )


def _schedule_line(schedule: BackupSchedule) -> str:
    if schedule.every_h == 0:
        return "no scheduled backups"
    where = f" in {plain(schedule.folder)}" if schedule.folder else ""
    return f"a backup every {schedule.every_h} hours{where}, the newest {schedule.kept} of them are kept"


def _line(made: Backup) -> str:
    if made.problem:
        return f"{plain(made.path)}  {plain(made.problem)}"
    kind = "scheduled" if made.scheduled else "by hand"
    return f"{plain(made.path)}  {minute(made.made_ns)}  {made.size_bytes:,} bytes  {made.counts.facts:,} facts  {kind}"


@click.command()
@click.argument("file", metavar="ZIP", type=click.Path(path_type=Path))
@click.argument("target", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@shared_options
def restore_backup(file: Path, target: Path | None) -> None:
    """Make a new store in DIR from the backup ZIP; without DIR, only check it.

    The present store is never touched. Look at the copy with --data-dir DIR before you use it instead.
    """
    from gm_engine.store.backup import restore_backup as restore
    from gm_engine.store.backup import verify_backup

    session = current()
    with session.progress() as progress:
        found = verify_backup(file, progress=progress) if target is None else restore(file, target, progress=progress)
    payload: dict[str, JsonValue] = {
        "backup": backup_payload(found),
        "data_dir": None if target is None else str(target),
    }
    done = "sound:" if target is None else f"restored to {plain(str(target))}:"
    session.answer(payload, [f"{done} {_line(found)}"])
