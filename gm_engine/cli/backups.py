"""`graymatter backup` and `graymatter restore-backup`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from gm_engine.cli.payloads import backup_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, minute, shared_options
from gm_engine.records import Backup, BackupSchedule, JsonValue


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--list", "listing", is_flag=True, help="Only list the backups in the store's own folder.")
@click.option("--if-due", is_flag=True, help="Only when the schedule asks for one; removes old scheduled ones.")
@click.option("--every", "every_h", type=int, metavar="HOURS", help="Set the schedule: so many hours apart; 0 is off.")
@click.option("--keep", "kept", type=int, metavar="N", help="Set how many scheduled backups stay.")
@shared_options
def backup(path: Path | None, *, listing: bool, if_due: bool, every_h: int | None, kept: int | None) -> None:
    """Copy the store to the new file or directory PATH, or to its own folder `backups`.

    Nobody has to stop writing meanwhile. With --every or --keep, only the schedule is set.
    """
    if path is not None and (listing or if_due):
        raise click.UsageError("--list and --if-due look at the store's own folder only.", click.get_current_context())
    if every_h is not None or kept is not None:
        _set_schedule(every_h, kept)
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


def _set_schedule(every_h: int | None, kept: int | None) -> None:
    with current().writing() as memory:
        schedule = memory.backup_schedule
        schedule = replace(
            schedule,
            every_h=schedule.every_h if every_h is None else every_h,
            kept=schedule.kept if kept is None else kept,
        )
        memory.set_backup_schedule(schedule)
    current().answer({"every_h": schedule.every_h, "kept": schedule.kept}, [_schedule_line(schedule)])


def _schedule_line(schedule: BackupSchedule) -> str:
    if schedule.every_h == 0:
        return "no scheduled backups"
    return f"a backup every {schedule.every_h} hours, the newest {schedule.kept} of them are kept"


def _line(made: Backup) -> str:
    if made.problem:
        return f"{plain(made.path)}  {plain(made.problem)}"
    kind = "scheduled" if made.scheduled else "by hand"
    return f"{plain(made.path)}  {minute(made.made_ns)}  {made.size_bytes:,} bytes  {made.counts.facts:,} facts  {kind}"


@click.command()
@click.argument("file", metavar="ZIP", type=click.Path(path_type=Path))
@click.argument("target", metavar="DIR", required=False, type=click.Path(path_type=Path))
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
