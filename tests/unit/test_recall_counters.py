"""What a recall leaves behind: counters of the facts that it returned, and of the day."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import Memory, Origin
from gm_engine.store.database import Ledger
from gm_engine.store.recalls import daily_recalls
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

DAY = "1972-09-27"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    clock = FrozenClock(f"{DAY}T08:00:00Z")
    origin = Origin("mcp", client="assistant")
    with Memory.open(tmp_path, background=False, clock=clock, embedder=ScriptedEmbedder(), origin=origin) as memory:
        yield memory


def counted(memory: Memory) -> list[tuple[str, str, str, int]]:
    with Ledger.open(memory.data_dir, clock=FrozenClock(), read_only=True) as ledger, ledger.read() as connection:
        return list(daily_recalls(connection))


def test_a_recall_counts_its_facts_and_the_day_and_a_preview_counts_nothing(memory: Memory) -> None:
    fox = memory.remember("ops", "red fox")
    memory.recall("ops", "fox", preview=True)
    assert (memory.get(fox.id).access_count, memory.get(fox.id).accessed_ns) == (0, None)
    assert counted(memory) == []
    memory.recall("ops", "fox")
    memory.recall_explain("ops", "fox", origin=Origin("cli"))
    memory.recall_shared("fox")
    after = memory.get(fox.id)
    assert after.access_count == 2
    assert after.accessed_ns is not None
    assert after.version == fox.version
    assert counted(memory) == [
        (DAY, "__shared__", "assistant", 1),
        (DAY, "ops", "assistant", 1),
        (DAY, "ops", "cli", 1),
    ]


def test_of_two_copies_the_agents_own_is_the_one_that_counts(memory: Memory) -> None:
    own = memory.remember("ops", "Dates carry a year: café.")
    shared = memory.remember_shared("Dates carry a year: cafe\u0301.")
    other = memory.remember_shared("Amounts carry a currency.")
    answer = memory.recall_all("ops", "dates carry a year")
    assert [fact.id for fact in answer.facts] == [own.id, other.id]
    assert [memory.get(fact.id).access_count for fact in (own, shared, other)] == [1, 0, 1]


def test_a_batch_counts_each_query_as_if_alone(memory: Memory) -> None:
    fox, hen = memory.remember("ops", "red fox"), memory.remember("ops", "red hen")
    results = memory.batch_recall("ops", ["red", "fox", "\ud800"], top_k=2)
    assert [result.error is None for result in results] == [True, True, False]
    assert [memory.get(fact.id).access_count for fact in (fox, hen)] == [2, 2]
    assert counted(memory) == [(DAY, "ops", "assistant", 2)]


def test_a_recall_never_waits_long_for_a_writer_and_never_fails_for_it(memory: Memory) -> None:
    fox = memory.remember("ops", "red fox")
    with (
        Ledger.open(memory.data_dir, clock=FrozenClock()) as other,
        other.write("remember", origin=Origin("library")),
    ):
        assert [fact.id for fact in memory.recall("ops", "fox").facts] == [fox.id]
    assert memory.get(fox.id).access_count == 0
    memory.recall("ops", "fox")
    assert memory.get(fox.id).access_count == 1


def test_as_of_moves_no_counter(memory: Memory) -> None:
    fox = memory.remember("ops", "red fox")
    memory.recall("ops", "fox", as_of_ns=fox.created_ns)
    assert memory.get(fox.id).access_count == 0
    assert counted(memory) == []
