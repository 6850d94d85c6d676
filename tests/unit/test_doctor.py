"""The doctor: silent about a sound store, exact about a broken one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gm_engine import Memory
from gm_engine.doctor import Verdict, examine
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    data_dir = tmp_path / "store"
    with Memory.open(data_dir, background=False, clock=FrozenClock()) as memory:
        first = memory.remember("ops", "Rollbacks take ten minutes.")
        second = memory.revise("ops", [first.id], "Rollbacks take five minutes.")
        memory.pin("ops", [second.id])
        memory.undo(memory.last_seq())
        memory.alias("ops", "k8s", ["kubernetes"])
    return data_dir


def verdicts(data_dir: Path) -> dict[str, tuple[Verdict, str]]:
    return {finding.check: (finding.verdict, finding.detail) for finding in examine(data_dir)}


def test_a_sound_store_has_nothing_broken(store: Path) -> None:
    found = verdicts(store)
    assert {name for name, (verdict, _) in found.items() if verdict is not Verdict.SOUND} == {"vectors"}
    assert found["journal"] == (Verdict.SOUND, "the journal replays to 3 facts")


def tamper(data_dir: Path, statement: str, values: tuple[object, ...] = ()) -> None:
    with closing(sqlite3.connect(data_dir / "ledger.sqlite")) as raw:
        raw.execute(statement, values)
        raw.commit()


@pytest.mark.parametrize(
    ("statement", "check", "verdict", "words"),
    [
        (
            "UPDATE facts SET text = 'forged' WHERE no = 1",
            "journal",
            Verdict.BROKEN,
            "differs from the journal in text",
        ),
        ("UPDATE facts SET version = 99 WHERE no = 1", "journal", Verdict.BROKEN, "has version 99"),
        ("DELETE FROM facts WHERE no = 1", "journal", Verdict.BROKEN, "1 facts of the journal are gone"),
        ("DELETE FROM fact_terms WHERE fact_no = 1", "keyword index", Verdict.BROKEN, "is not indexed"),
        ("UPDATE fact_terms SET data = x'00' WHERE fact_no = 1", "keyword index", Verdict.BROKEN, "cut off"),
        ("UPDATE facts SET superseded_by = 'gone' WHERE no = 2", "lineage", Verdict.NOTICE, "not in the store"),
        ("UPDATE facts SET superseded_by = id WHERE no = 2", "lineage", Verdict.NOTICE, "in a circle"),
        ("UPDATE facts SET text = 'alias: k8s' WHERE no = 3", "aliases", Verdict.NOTICE, "not of the form"),
        ("UPDATE facts SET actor_id = 77 WHERE no = 1", "file", Verdict.BROKEN, "names a row of actors"),
    ],
)
def test_what_was_tampered_with_is_named(store: Path, statement: str, check: str, verdict: Verdict, words: str) -> None:
    tamper(store, statement)
    found = verdicts(store)[check]
    assert found[0] is verdict
    assert words in found[1]


def test_the_command_exits_with_an_error_when_something_is_broken(store: Path) -> None:
    sound = run("doctor", "--json", "--data-dir", store)
    assert (sound.code, sound.json["sound"]) == (0, True)
    tamper(store, "DELETE FROM facts WHERE no = 1")
    broken = run("doctor", "--json", "--data-dir", store)
    assert (broken.code, broken.json["sound"]) == (1, False)
    assert "broken" in run("doctor", "--data-dir", store).out


def test_a_damaged_page_is_a_finding_and_no_crash(store: Path) -> None:
    path = store / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'facts'").fetchone()[0]
        size = raw.execute("PRAGMA page_size").fetchone()[0]
    data = bytearray(path.read_bytes())
    data[(root - 1) * size : root * size] = b"\xff" * size
    path.write_bytes(data)
    assert verdicts(store)["file"][0] is Verdict.BROKEN
