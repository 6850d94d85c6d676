"""What the soaks judge by: they must see what they look for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from gm_engine import FactQuery, Memory
from gm_engine.records import Fact
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.soak.clients import PATIENCE_S, Worker, settle, shown_after
from tests.soak.vitals import FACT_BYTES, growth, resident_bytes

BASE = Counter(["An old fact."])


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        opened.remember("ops", "An old fact.")
        yield opened


def facts(memory: Memory) -> list[Fact]:
    return memory.facts(memory.fact_ids(FactQuery()))


def worker(tmp_path: Path, *kept: str, unsure: tuple[str, ...] = ()) -> Worker:
    return Worker(tmp_path, 0, 0.0, Event(), "ops", 10, kept=[*kept], unsure=[*unsure])


def test_an_account_is_good_when_the_store_holds_what_was_acknowledged(memory: Memory, tmp_path: Path) -> None:
    memory.remember("ops", "kept")
    memory.remember("ops", "cut off")
    assert settle(facts(memory), [worker(tmp_path, "kept", unsure=("cut off", "never came"))], before=BASE).is_good


def test_an_account_names_what_is_lost_doubled_and_from_nowhere(memory: Memory, tmp_path: Path) -> None:
    for text in ("twice", "twice", "foreign"):
        memory.remember("ops", text)
    memory.retire("ops", [fact.id for fact in facts(memory) if fact.text == "An old fact."])
    found = settle(facts(memory), [worker(tmp_path, "twice", "gone")], before=BASE)
    assert (found.lost, found.doubled, found.foreign) == (("gone", "An old fact."), ("twice",), ("foreign",))
    assert not found.is_good


def test_a_server_that_ended_by_itself_is_a_failure(memory: Memory, tmp_path: Path) -> None:
    client = worker(tmp_path, "An old fact.")
    client.strikes, client.deaths = 1, 1
    assert settle(facts(memory), [client]).failures == ()
    client.deaths = 3
    assert settle(facts(memory), [client]).failures == ("server 0 ended by itself 2 times",)


def test_a_fact_waits_from_its_writing_until_the_table_has_grown_by_it(memory: Memory) -> None:
    memory.remember("ops", "new")
    first, second = sorted(facts(memory), key=lambda fact: fact.version)
    rows = [(first.created_ns + 500_000_000, 1), (second.created_ns + 2_000_000_000, 2)]
    assert shown_after([second, first], rows) == [0.5, 2.0]
    assert shown_after([second], rows, before=1) == [2.0]
    assert shown_after([second], rows[:1], before=1) == [PATIENCE_S]


def test_memory_is_flat_when_the_last_third_is_like_the_first_after_the_warm_up() -> None:
    warm_up, steady = [10, 200], [1_000, 1_010, 5_000, 1_000, 1_020, 1_010, 1_005, 1_015]
    grown, allowed = growth(warm_up + steady, facts=0)
    assert grown <= allowed
    grown, allowed = growth(warm_up + [1_000 * step for step in range(1, 9)], facts=0)
    assert grown > allowed
    assert growth(warm_up + steady, facts=2)[1] == 0.1 * 1_010 + 2 * FACT_BYTES


def test_a_process_that_is_gone_holds_nothing() -> None:
    assert resident_bytes(1 << 30) == 0
