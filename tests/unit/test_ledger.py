"""The ledger under bad conditions: locks, full disks, damage, read-only directories, schema."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from gm_engine.errors import DiskFull, ReadOnlyStore, StoreBusy, StoreDamaged, StoreUnavailable
from gm_engine.records import Origin
from gm_engine.store.database import LEDGER_NAME, Ledger, translated
from gm_engine.store.facts import NewFact, insert_facts, load_facts
from gm_engine.store.tables import SCHEMA_VERSION, metadata
from gm_engine.store.transaction import Transaction
from tests.fakes.clock import FrozenClock

WHO = Origin("library")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "store", clock=FrozenClock()) as opened:
        yield opened


def remember(ledger: Ledger, text: str = "x") -> str:
    with ledger.write("remember", origin=WHO, agent_id="scout") as tx:
        return insert_facts(tx, [new_fact(tx, text)], language="english")[0].id


def new_fact(tx: Transaction, text: str) -> NewFact:
    return NewFact(tx.clock.new_id(tx.at_ns), "scout", text, tx.at_ns, WHO)


def count(ledger: Ledger, table: str) -> int:
    with ledger.read() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())


def test_the_migrated_schema_is_the_schema_of_the_tables(ledger: Ledger) -> None:
    with ledger.read() as connection:
        context = MigrationContext.configure(connection)
        differences = [d for d in compare_metadata(context, metadata) if "alembic_version" not in str(d)]
        version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    assert differences == []
    assert version == SCHEMA_VERSION


def test_two_new_stores_can_be_opened_at_once(tmp_path: Path) -> None:
    ready = Barrier(2)

    def open_one(path: Path) -> int:
        ready.wait()
        with Ledger.open(path, clock=FrozenClock()) as opened:
            return count(opened, "facts")

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(open_one, [tmp_path / str(number) for number in range(8)])) == [0] * 8


def test_a_block_that_raises_leaves_nothing(ledger: Ledger) -> None:
    def fail_halfway() -> None:
        with ledger.write("remember", origin=WHO) as tx:
            insert_facts(tx, [new_fact(tx, "x")], language="english")
            raise KeyError

    with pytest.raises(KeyError):
        fail_halfway()
    assert [count(ledger, table) for table in ("facts", "journal", "changes", "actors", "terms")] == [0] * 5


def test_a_block_that_records_nothing_leaves_no_journal_row(ledger: Ledger) -> None:
    with ledger.write("pin", origin=WHO):
        pass
    assert ledger.last_seq() == 0


def test_a_reader_sees_one_snapshot_until_its_block_ends(ledger: Ledger) -> None:
    with ledger.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM facts").scalar_one() == 0
        remember(ledger)
        assert connection.exec_driver_sql("SELECT count(*) FROM facts").scalar_one() == 0
    assert count(ledger, "facts") == 1


def test_a_writer_waits_for_another_process_and_then_says_busy(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gm_engine.store.database.BUSY_TIMEOUT_S", 0.05)
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="locked by another process"):
        remember(ledger)
    other.execute("ROLLBACK")
    other.close()
    assert remember(ledger)


def test_a_full_disk_rolls_back_and_the_store_goes_on(ledger: Ledger) -> None:
    kept = remember(ledger)
    with ledger.bookkeep() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(DiskFull):
        remember(ledger, "x" * 500_000)
    with ledger.bookkeep() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1073741823")
        assert connection.exec_driver_sql("SELECT id FROM facts").scalars().all() == [kept]
    assert remember(ledger, "y")


@pytest.mark.skipif(os.name == "nt", reason="an open file stays where it is there")
@pytest.mark.parametrize("fate", ["moved", "deleted", "replaced"])
def test_what_nobody_would_find_again_is_not_written(ledger: Ledger, fate: str) -> None:
    remember(ledger)
    elsewhere = ledger.data_dir.with_name("elsewhere")
    ledger.data_dir.rename(elsewhere)
    if fate == "deleted":
        shutil.rmtree(elsewhere)
    elif fate == "replaced":
        shutil.copytree(elsewhere, ledger.data_dir)
    with pytest.raises(StoreUnavailable, match="moved, deleted or replaced") as refused:
        remember(ledger)
    assert refused.value.fields == {"path": str(ledger.path), "is_gone": True}
    if fate == "moved":
        elsewhere.rename(ledger.data_dir)
        remember(ledger)
        assert count(ledger, "facts") == 2, "put back where it was, it is written to as before"


def test_damage_is_named_and_never_repaired(tmp_path: Path) -> None:
    with Ledger.open(tmp_path, clock=FrozenClock()) as ledger:
        for i in range(200):
            remember(ledger, f"fact {i} " * 20)
    path = tmp_path / LEDGER_NAME
    content = bytearray(path.read_bytes())
    for page in range(2, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(content)
    with (
        Ledger.open(tmp_path, clock=FrozenClock(), read_only=True) as ledger,
        pytest.raises(StoreDamaged, match="ledger"),
    ):
        count(ledger, "facts")
    assert path.read_bytes() == content


def test_a_truncated_ledger_is_damaged(tmp_path: Path) -> None:
    with Ledger.open(tmp_path, clock=FrozenClock()) as ledger:
        remember(ledger)
    path = tmp_path / LEDGER_NAME
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(StoreDamaged), Ledger.open(tmp_path, clock=FrozenClock()) as ledger:
        remember(ledger)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE facts SET text = CAST(x'6162ff' AS TEXT)", "Could not decode to UTF-8 column 'text')."),
        ("UPDATE facts SET origin = '{'", "an image that is no JSON"),
        (
            "UPDATE sqlite_master SET name = x'61ff', sql = 'x' WHERE name = 'facts_text'",
            "bytes that are no text",
        ),
    ],
)
def test_what_a_damaged_page_holds_in_place_of_text_is_damage(tmp_path: Path, statement: str, said: str) -> None:
    with Ledger.open(tmp_path, clock=FrozenClock()) as ledger:
        fact_id = remember(ledger)
    with closing(sqlite3.connect(tmp_path / LEDGER_NAME)) as raw:
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute(statement)
        raw.commit()
    with (
        pytest.raises(StoreDamaged, match=re.escape(said)),
        Ledger.open(tmp_path, clock=FrozenClock(), read_only=True) as ledger,
        ledger.read() as connection,
    ):
        load_facts(connection, [fact_id])


def test_what_is_asked_of_a_closed_connection_is_no_damage(tmp_path: Path) -> None:
    closed = sqlite3.connect(tmp_path / LEDGER_NAME)
    closed.close()
    with pytest.raises(StoreUnavailable, match="is closed"), translated(tmp_path / LEDGER_NAME):
        closed.execute("SELECT 1")


def test_a_data_directory_that_is_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable):
        Ledger.open(tmp_path / "file", clock=FrozenClock())
    with pytest.raises(StoreUnavailable):
        Ledger.open(tmp_path / "nul\0name", clock=FrozenClock())


AS_NOBODY = """
import os, sys
from pathlib import Path
from gm_engine.errors import GrayMatterError
from gm_engine.store.database import Ledger
from gm_engine.clock import SystemClock
from sqlalchemy import create_engine
create_engine("sqlite://").connect().close()  # loads what the other user may not read
os.setuid(65534)
try:
    with Ledger.open(Path(sys.argv[1]), clock=SystemClock(), read_only=sys.argv[2] == "ro") as ledger:
        with ledger.read() as connection:
            print(connection.exec_driver_sql("SELECT count(*) FROM facts").scalar_one())
except GrayMatterError as error:
    print(type(error).__name__)
"""


@pytest.fixture
def everybodys_path() -> Iterator[Path]:
    """A folder that other users may look into; pytest closes its own to them whenever a run begins."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
def test_a_read_only_directory_can_be_read_and_refuses_writers(everybodys_path: Path) -> None:
    folder = everybodys_path / "store"
    with Ledger.open(folder, clock=FrozenClock()) as ledger:
        remember(ledger)
    folder.chmod(0o555)

    def as_nobody(mode: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(folder), mode], capture_output=True, text=True, check=True
        ).stdout.strip()

    assert as_nobody("rw") == ReadOnlyStore.__name__
    assert as_nobody("ro") == "1"
    (folder / (LEDGER_NAME + "-wal")).write_bytes(b"unfinished")
    assert as_nobody("ro") == StoreUnavailable.__name__


def test_a_closed_ledger_says_so(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, clock=FrozenClock())
    ledger.close()
    ledger.close()
    for use in (lambda: remember(ledger), lambda: count(ledger, "facts"), ledger.last_seq):
        with pytest.raises(StoreUnavailable, match="closed"):
            use()
