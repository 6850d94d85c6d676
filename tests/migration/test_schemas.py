"""Every schema that was ever written opens for ever, after a copy was kept."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gm_engine import FactQuery, Memory
from gm_engine.store.database import LEDGER_NAME, Ledger
from gm_engine.store.tables import SCHEMA_VERSION
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

FIXTURES = sorted((Path(__file__).parent.parent / "fixtures" / "schemas").glob("schema-*.sqlite"))


def test_every_schema_before_this_one_is_kept() -> None:
    assert [int(path.stem.split("-")[1]) for path in FIXTURES] == list(range(1, SCHEMA_VERSION))


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
def test_an_old_store_opens_with_everything_in_it(fixture: Path, tmp_path: Path) -> None:
    shutil.copy(fixture, tmp_path / LEDGER_NAME)
    with closing(sqlite3.connect(fixture)) as old:
        facts = old.execute("SELECT id, text, version FROM facts ORDER BY id").fetchall()
        entries = old.execute("SELECT count(*) FROM journal").fetchone()[0]
    with Memory.open(tmp_path, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
        found = memory.facts(sorted(memory.fact_ids(FactQuery(status="all"))))
        assert [(fact.id, fact.text, fact.version) for fact in found] == facts
        assert len(memory.journal(limit=10_000)) == entries
        assert memory.recall("scout", "gate", preview=True).facts
        assert memory.checkpoints.latest("scout").state == {"step": 1}
        memory.undo(memory.remember("scout", "new").version)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
def test_a_copy_is_kept_before_the_schema_changes(fixture: Path, tmp_path: Path) -> None:
    shutil.copy(fixture, tmp_path / LEDGER_NAME)
    Ledger.open(tmp_path, clock=FrozenClock()).close()
    Ledger.open(tmp_path, clock=FrozenClock()).close()
    (kept,) = (tmp_path / "backups").iterdir()
    with closing(sqlite3.connect(kept)) as copy, closing(sqlite3.connect(fixture)) as old:
        assert list(copy.iterdump()) == list(old.iterdump())
