"""Building many records without the collector."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

import pytest

from gm_engine.garbage import give_back, without_collecting
from tests.soak.vitals import resident_bytes


@pytest.fixture
def frozen() -> Iterator[int]:
    """How much the collector leaves alone; as before when the test ends."""
    assert gc.isenabled()
    gc.collect()
    gc.freeze()  # what earlier tests left is not what these count
    yield gc.get_freeze_count()
    gc.unfreeze()


def test_the_collector_rests_meanwhile_and_works_again_after_a_failure(frozen: int) -> None:
    def build() -> None:
        with without_collecting():
            assert not gc.isenabled()
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        build()
    assert gc.isenabled()


def test_many_records_are_left_alone_and_go_when_nobody_holds_them(frozen: int) -> None:
    with without_collecting():
        records = [[number] for number in range(150_000)]
    assert gc.get_freeze_count() > frozen + 100_000
    records.clear()
    assert gc.get_freeze_count() < frozen + 100_000


def test_few_records_are_looked_at_as_usual(frozen: int) -> None:
    with without_collecting():
        records = [[number] for number in range(1_000)]
    assert len(records) == 1_000
    assert gc.get_freeze_count() <= frozen


def test_one_inside_another_changes_nothing(frozen: int) -> None:
    with without_collecting():
        with without_collecting():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.skipif(sys.platform != "linux", reason="another C library")
def test_what_was_freed_is_given_back_to_the_system() -> None:
    pieces = [bytes(1_000) for _ in range(60_000)]
    last = bytes(1_000)  # keeps the end of the heap in use
    pieces.clear()
    before = resident_bytes(os.getpid())
    give_back()
    assert resident_bytes(os.getpid()) < before - 20_000_000
    assert len(last) == 1_000
