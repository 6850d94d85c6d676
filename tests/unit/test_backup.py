"""Backups: complete or absent, checked before anything is restored, never restored over a store."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gm_engine import (
    BackupDamaged,
    BackupSchedule,
    Cancelled,
    CancelToken,
    DiskFull,
    FactQuery,
    InvalidInput,
    Memory,
    NotFound,
    StoreTooNew,
    StoreUnavailable,
    restore_backup,
    verify_backup,
)
from gm_engine.doctor import Finding, Verdict, examine
from gm_engine.store.backup import FOLDER, MANIFEST_NAME
from gm_engine.store.database import LEDGER_NAME
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run
from tests.fakes.embedder import ScriptedEmbedder


def open_store(path: Path, clock: FrozenClock | None = None) -> Memory:
    return Memory.open(path, clock=clock or FrozenClock(), embedder=ScriptedEmbedder(), background=False)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_store(tmp_path / "store") as opened:
        first = opened.remember("scout", "The gate \0 opens — 東京.")
        opened.revise("scout", [first.id], "The gate opens at ten.")
        opened.checkpoints.save("scout", state={"step": 1})
        opened.wait_for_embeddings()
        yield opened


def everything(source: Memory) -> object:
    ids = source.fact_ids(FactQuery(status="all"))
    return source.facts(ids), source.journal(limit=1000), source.checkpoints.latest("scout")


def test_a_restored_backup_is_the_store_with_its_history(memory: Memory, tmp_path: Path) -> None:
    backup = memory.backup()
    assert Path(backup.path).parent == memory.data_dir / FOLDER
    assert (backup.counts.facts, backup.seq, backup.size_bytes) == (2, 3, Path(backup.path).stat().st_size)
    assert memory.backups() == (backup,)
    assert verify_backup(Path(backup.path)) == backup
    copy = tmp_path / "copy"
    assert restore_backup(Path(backup.path), copy) == backup
    with open_store(copy) as restored:
        assert everything(restored) == everything(memory)
        assert (
            restored.recall("scout", "gate", preview=True).facts == memory.recall("scout", "gate", preview=True).facts
        )
        assert len(restored.processes()) == 1
        restored.undo(2)
    assert len(memory.journal()) == 3


def test_a_backup_holds_one_state_while_others_write(memory: Memory, tmp_path: Path) -> None:
    def write_meanwhile(done: int, total: int | None, what: str) -> None:
        memory.remember("scout", f"Written during the backup, {what} {done}.")

    backup = memory.backup(progress=write_meanwhile)
    restore_backup(Path(backup.path), tmp_path / "copy")
    with open_store(tmp_path / "copy") as restored:
        assert restored.last_seq() == backup.seq < memory.last_seq()
        assert run("doctor", "--data-dir", tmp_path / "copy", "--json").json["sound"]


def test_a_cancelled_backup_leaves_nothing(memory: Memory, tmp_path: Path) -> None:
    cancel = CancelToken()

    def cancel_late(done: int, total: int | None, what: str) -> None:
        if what.startswith("Packing"):
            cancel.cancel()

    (tmp_path / "out").mkdir()
    cancel.cancel()
    with pytest.raises(Cancelled):
        memory.backup(tmp_path / "out", cancel=cancel)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_backup_replaces_no_file(memory: Memory, tmp_path: Path) -> None:
    target = tmp_path / "mine.zip"
    target.write_bytes(b"precious")
    with pytest.raises(InvalidInput):
        memory.backup(target)
    assert target.read_bytes() == b"precious"
    assert Path(memory.backup(tmp_path / "new.zip").path) == tmp_path / "new.zip"


def test_two_backups_of_one_second_are_two_files(tmp_path: Path) -> None:
    with open_store(tmp_path / "store", FrozenClock(tick_s=0)) as memory:
        memory.remember("scout", "One.")
        assert len({memory.backup().path, memory.backup().path}) == 2


def rewritten(source: Path, target: Path, **changes: bytes) -> Path:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, changes.get(name.partition(".")[0], old.read(name)))
    return target


def with_a_row_that_breaks_its_rule(ledger: bytes, beside: Path) -> bytes:
    """A ledger that SQLite opens and reads; only its own check finds the damage."""
    copy = beside.with_suffix(".sqlite")
    copy.write_bytes(ledger)
    with closing(sqlite3.connect(copy, isolation_level=None)) as raw:
        raw.execute("CREATE TABLE twin(a)")
        raw.execute("INSERT INTO twin VALUES (NULL)")
        raw.execute("PRAGMA writable_schema=ON")
        raw.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE twin(a NOT NULL)' WHERE name = 'twin'")
    data = copy.read_bytes()
    copy.unlink()
    return data


def damaged(source: Path, target: Path, how: str) -> Path:
    data = source.read_bytes()
    with zipfile.ZipFile(source) as archive:
        manifest = json.loads(archive.read(MANIFEST_NAME))
        ledger = archive.read(LEDGER_NAME)
    match how:
        case "truncated":
            target.write_bytes(data[: len(data) // 2])
        case "empty":
            target.write_bytes(b"")
        case "a flipped bit":
            place = data.index(b"ledger.sqlite") + 200
            target.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        case "another ledger":
            rewritten(source, target, ledger=ledger[:-1] + b"x")
        case "a longer ledger":
            rewritten(source, target, ledger=ledger + bytes(1 << 20))
        case "no manifest":
            with zipfile.ZipFile(target, "w") as archive:
                archive.writestr(LEDGER_NAME, ledger)
        case "a manifest of nonsense":
            rewritten(source, target, manifest=b'{"format": 1, "files": []}')
        case "a manifest without end":
            rewritten(source, target, manifest=json.dumps(manifest).encode() + b" " * (1 << 20))
        case "a ledger that is none" | "a ledger with a row that breaks its rule":
            other = (
                b"junk" * 1000 if how == "a ledger that is none" else with_a_row_that_breaks_its_rule(ledger, target)
            )
            manifest["files"][LEDGER_NAME] = {"sha256": hashlib.sha256(other).hexdigest(), "size_bytes": len(other)}
            rewritten(source, target, ledger=other, manifest=json.dumps(manifest).encode())
    return target


@pytest.mark.parametrize(
    "how",
    [
        "truncated",
        "empty",
        "a flipped bit",
        "another ledger",
        "a longer ledger",
        "no manifest",
        "a manifest of nonsense",
        "a manifest without end",
        "a ledger that is none",
        "a ledger with a row that breaks its rule",
    ],
)
def test_a_damaged_backup_restores_nothing(memory: Memory, tmp_path: Path, how: str) -> None:
    sound = Path(memory.backup(tmp_path / "sound.zip").path)
    broken = damaged(sound, tmp_path / "broken.zip", how)
    with pytest.raises(BackupDamaged):
        restore_backup(broken, tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.zip", "sound.zip", "store"]


def test_a_backup_of_a_newer_program_is_refused(memory: Memory, tmp_path: Path) -> None:
    sound = Path(memory.backup(tmp_path / "sound.zip").path)
    with zipfile.ZipFile(sound) as archive:
        manifest = json.loads(archive.read(MANIFEST_NAME))
    for newer in ({**manifest, "schema": 99}, {**manifest, "format": 2}):
        target = rewritten(sound, tmp_path / "newer.zip", manifest=json.dumps(newer).encode())
        with pytest.raises(StoreTooNew):
            verify_backup(target)


def test_nothing_is_restored_over_a_store_or_from_nowhere(memory: Memory, tmp_path: Path) -> None:
    backup = Path(memory.backup().path)
    before = everything(memory)
    with pytest.raises(InvalidInput):
        restore_backup(backup, memory.data_dir)
    with pytest.raises(NotFound):
        restore_backup(tmp_path / "none.zip", tmp_path / "copy")
    assert everything(memory) == before
    (tmp_path / "empty").mkdir()
    assert restore_backup(backup, tmp_path / "empty").counts.facts == 2


def test_scheduled_backups_come_when_due_and_old_ones_go(tmp_path: Path) -> None:
    clock = FrozenClock()
    with open_store(tmp_path / "store", clock) as memory:
        memory.remember("scout", "One.")
        assert memory.backup_if_due() is None
        memory.set_backup_schedule(BackupSchedule(every_h=24, kept=2))
        by_hand = memory.backup()
        assert memory.backup_if_due() is None
        made = []
        for _ in range(3):
            clock.advance(25 * 3600)
            made.append(memory.backup_if_due())
            assert memory.backup_if_due() is None
        assert set(memory.backups()) == {made[1], made[2], by_hand}
        assert all(backup is not None and backup.scheduled for backup in made)


def test_scheduled_backups_go_to_a_folder_of_ones_own_and_spare_what_is_not_theirs(tmp_path: Path) -> None:
    clock, folder = FrozenClock(), tmp_path / "stick"
    folder.mkdir()
    (folder / "holiday.zip").write_bytes(b"PK not really")
    schedule = BackupSchedule(every_h=24, kept=1, folder=str(folder))
    with open_store(tmp_path / "store", clock) as memory, open_store(tmp_path / "other", clock) as other:
        for store in (memory, other):
            store.remember("scout", "One.")
            store.set_backup_schedule(schedule)
        theirs = other.backup_if_due()
        first = memory.backup_if_due()
        assert theirs is not None
        assert first is not None
        assert memory.backups() == (first,)
        clock.advance(25 * 3600)
        second = memory.backup_if_due()
        assert memory.backups() == (second,)
        assert second is not None
        assert {path.name for path in folder.iterdir()} == {
            "holiday.zip",
            Path(theirs.path).name,
            Path(second.path).name,
        }
        assert not (memory.data_dir / FOLDER).exists()


def test_a_backup_folder_that_is_away_is_said_and_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "stick"
    folder.mkdir()
    with open_store(tmp_path / "store") as memory:
        memory.set_backup_schedule(BackupSchedule(every_h=1, folder=str(folder)))
        folder.rmdir()
        with pytest.raises(StoreUnavailable, match="not there"):
            memory.backup_if_due()
        assert not folder.exists()


def test_the_own_folder_by_its_path_is_the_own_folder(memory: Memory) -> None:
    memory.backup()
    memory.set_backup_schedule(BackupSchedule(1, 1, str(memory.data_dir / FOLDER)))
    assert memory.backup_schedule == BackupSchedule(1, 1)


def test_a_backup_from_the_future_does_not_put_off_the_next_one(tmp_path: Path) -> None:
    clock = FrozenClock()
    with open_store(tmp_path / "store", clock) as memory:
        memory.set_backup_schedule(BackupSchedule(every_h=24))
        clock.advance(1000 * 3600)
        memory.backup()
        clock.advance(-1000 * 3600)
        assert memory.backup_if_due() is not None


def test_backups_from_the_future_go_before_those_of_now(tmp_path: Path) -> None:
    clock = FrozenClock()
    with open_store(tmp_path / "store", clock) as memory:
        memory.set_backup_schedule(BackupSchedule(every_h=24, kept=2))
        made = []
        for hours in (10_000, 25, -9_000, 25, 25):
            clock.advance(hours * 3600)
            made.append(memory.backup_if_due())
        assert set(memory.backups()) == set(made[-2:])


def test_the_doctor_says_that_a_scheduled_backup_is_due(memory: Memory) -> None:
    def finding() -> Finding:
        return next(found for found in examine(memory.data_dir) if found.check == "backups")

    assert finding().verdict is Verdict.SOUND
    memory.set_backup_schedule(BackupSchedule(every_h=24))
    assert finding().verdict is Verdict.NOTICE
    assert "the schedule asks for one, every 24 hours" in finding().detail


@pytest.mark.parametrize(
    "schedule",
    [
        BackupSchedule(-1),
        BackupSchedule(10**6),
        BackupSchedule(1, 0),
        BackupSchedule(1, 1, "relative"),
        BackupSchedule(1, 1, "/no such folder"),
    ],
)
def test_a_senseless_schedule_is_refused(memory: Memory, schedule: BackupSchedule) -> None:
    with pytest.raises(InvalidInput):
        memory.set_backup_schedule(schedule)


def test_the_schedule_is_journalled_and_undone(memory: Memory) -> None:
    wanted = replace(memory.backup_schedule, every_h=12)
    memory.set_backup_schedule(wanted)
    assert memory.backup_schedule == wanted
    memory.undo(memory.last_seq())
    assert memory.backup_schedule == BackupSchedule()


def test_a_file_that_is_no_backup_is_listed_with_its_problem(memory: Memory) -> None:
    sound = memory.backup()
    (memory.data_dir / FOLDER / "holiday.zip").write_bytes(b"PK not really")
    listed = memory.backups()
    assert listed[0] == sound
    assert "no backup" in listed[1].problem


def test_a_read_only_store_can_be_backed_up_elsewhere(memory: Memory, tmp_path: Path) -> None:
    with Memory.open(memory.data_dir, read_only=True, background=False, clock=FrozenClock()) as reader:
        backup = reader.backup(tmp_path / "copy.zip")
    with zipfile.ZipFile(backup.path) as archive:
        archive.extract(LEDGER_NAME, tmp_path)
    with closing(sqlite3.connect(tmp_path / LEDGER_NAME)) as raw:
        assert raw.execute("SELECT count(*) FROM facts").fetchone() == (2,)


def test_the_command_line_makes_lists_checks_and_restores(tmp_path: Path) -> None:
    store = ("--data-dir", tmp_path / "store")
    run(*store, "remember", "ops", "Keep me.")
    made = run(*store, "--json", "backup").json
    assert [item["path"] for item in run(*store, "--json", "backup", "--list").json] == [made["path"]]
    assert run("restore-backup", made["path"]).out.startswith("sound:")
    restored = run("--json", "restore-backup", made["path"], tmp_path / "copy")
    assert (restored.code, restored.json["backup"]["counts"]["facts"]) == (0, 1)
    assert "Keep me." in run("--data-dir", tmp_path / "copy", "list", "ops").out
    assert run("restore-backup", made["path"], tmp_path / "copy").code == 2
    assert run("--json", "restore-backup", tmp_path / "none.zip").error["code"] == "not_found"
    assert run(*store, "backup", "--every", "24", "--keep", "3").out.startswith("a backup every 24 hours")
    assert run(*store, "backup", "--if-due").out == "nothing is due\n"


@pytest.mark.parametrize(("number", "expected"), [(errno.ENOSPC, DiskFull), (errno.EROFS, StoreUnavailable)])
def test_a_disk_that_fails_is_told_and_leaves_no_half_backup(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[Exception]
) -> None:
    def failing(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing)
        with pytest.raises(expected, match=r"mine\.zip"):
            memory.backup(tmp_path / "mine.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_what_a_killed_backup_left_goes_with_the_next_scheduled_one(tmp_path: Path) -> None:
    with open_store(tmp_path / "store", FrozenClock()) as memory:
        memory.set_backup_schedule(BackupSchedule(every_h=24, kept=2))
        folder = memory.data_dir / "backups"
        folder.mkdir(exist_ok=True)
        for name in (".graymatter-store-1.zip.partial", ".graymatter-store-1.zip.sqlite", ".mine.partial"):
            (folder / name).write_bytes(b"half")
        made = memory.backup_if_due()
        assert made is not None
        assert sorted(path.name for path in folder.iterdir()) == sorted([".mine.partial", Path(made.path).name])
