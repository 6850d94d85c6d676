"""Stores that may not be written: by their folder's rights, by another write that lasts, after they were closed."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event, Thread

import pytest

from gm_engine import FactQuery, Memory, Origin
from gm_engine.errors import ReadOnlyStore, StoreBusy, StoreUnavailable
from gm_engine.store.database import LEDGER_NAME, Ledger
from tests.fakes.clock import FrozenClock


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), background=False) as memory:
        memory.remember("ops", "The gate opens at nine.")
    return tmp_path / "store"


@pytest.fixture
def locked(store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store where the system says of every file that it may not be written, also to those who may do everything."""
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    return store


def test_a_store_that_cannot_be_written_says_how_to_open_it(locked: Path) -> None:
    with pytest.raises(ReadOnlyStore, match="Open it read-only"):
        Memory.open(locked, background=False)


def test_a_store_in_a_folder_that_cannot_be_written_is_read_without_a_file_beside_it(locked: Path) -> None:
    before = sorted(path.name for path in locked.iterdir())
    with Memory.open(locked, read_only=True, background=False) as memory:
        assert [fact.text for fact in memory.list_facts(FactQuery())] == ["The gate opens at nine."]
    assert sorted(path.name for path in locked.iterdir()) == before


@pytest.mark.parametrize("size", [0, 32])
def test_writes_that_wait_in_such_a_folder_are_not_passed_over(locked: Path, size: int) -> None:
    (locked / f"{LEDGER_NAME}-wal").write_bytes(bytes(size))
    if size:
        with pytest.raises(StoreUnavailable, match="unfinished writes"):
            Memory.open(locked, read_only=True, background=False)
    else:
        Memory.open(locked, read_only=True, background=False).close()


def test_a_write_beside_one_that_does_not_end_says_that_the_store_is_busy(store: Path) -> None:
    ledger = Ledger.open(store, clock=FrozenClock())
    begun, end = Event(), Event()

    def writes() -> None:
        with ledger.write("remember", origin=Origin("library")):
            begun.set()
            end.wait(30)

    thread = Thread(target=writes)
    thread.start()
    try:
        assert begun.wait(30)
        with pytest.raises(StoreBusy, match="has not finished"), ledger.bookkeep(timeout_s=0.01):
            pass
    finally:
        end.set()
        thread.join()
        ledger.close()


def test_a_store_that_was_closed_is_not_compacted(store: Path) -> None:
    ledger = Ledger.open(store, clock=FrozenClock())
    ledger.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        ledger.compact()
