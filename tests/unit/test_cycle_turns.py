"""Automatic cycles of one store in several programs: one at a time, with pauses that all of them keep."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import filelock
import pytest

from gm_engine import Config, EmbeddingMode, Memory
from gm_engine.consolidation.turns import FAILED_PAUSE_S, LOCK_NAME, LOCKED_PAUSE_S, PAUSE_FACTOR, Turns, pause_s
from gm_engine.store import consolidation as rows
from gm_engine.store.consolidation import CycleMark
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import ROOT

QUIET = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, async_consolidate=False)
FACTS = 25
S = 1_000_000_000


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(tick_s=0.0)


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Memory]:
    """A store with enough facts for a cycle, which nobody has looked at."""
    with Memory.open(tmp_path / "store", clock=clock, config=QUIET, background=False) as opened:
        for number in range(FACTS):
            opened.remember("ops", f"Crate {number} stands in hall {number}.")
        yield opened


class Program:
    """One running `tests.fakes.cycle_process`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert self._answer() == "ready"

    def ask(self, line: str) -> str:
        """What it is at after it did what `line` says."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self._answer()

    def until(self, state: str) -> None:
        """Steps until it is there; fails when it stops with another answer."""
        while (now := self.ask("step")) != state:
            assert now == "began"

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def program(memory: Memory, clock: FrozenClock) -> Iterator[Program]:
    """Another program on the same store; its clock starts where this one stands."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CYCLE_CLOCK_NS": str(clock.at_ns)}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.cycle_process", str(memory.data_dir)],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Program(process)
        finally:
            process.kill()


def cycles(memory: Memory) -> int:
    return memory.consolidation_counters().cycles


# --- in several processes ---------------------------------------------------------------------------------------------


def test_of_two_programs_one_runs_a_cycle_and_the_other_is_spared_what_was_looked_at(
    memory: Memory, clock: FrozenClock
) -> None:
    with program(memory, clock) as one, program(memory, clock) as other:
        assert one.ask("write ops The gate opens at nine.") == "waits"
        assert other.ask("write ops The yard closes at ten.") == "waits"
        assert one.ask("step") == "began"
        assert other.ask("step") == "waits"
        one.until("idle")
        assert cycles(memory) == 1
        with memory._curated.read() as connection:
            assert not rows.has_news(connection, "ops")
        assert Turns(memory._curated).ask("ops") == "covered"
        other.ask("advance 1000")
        while other.ask("step") != "idle":  # it asks again within a second of its own
            assert cycles(memory) == 1
        assert cycles(memory) == 1


def test_what_is_written_while_another_programs_cycle_runs_is_looked_at_after_the_pause(
    memory: Memory, clock: FrozenClock
) -> None:
    with program(memory, clock) as one, program(memory, clock) as other:
        one.ask("write ops The gate opens at nine.")
        while one.ask("step") == "began":  # the last time is just before its end
            assert other.ask("write ops The yard closes at ten.") == "waits"
        assert cycles(memory) == 1
        found = Turns(memory._curated).ask("ops")
        assert isinstance(found, float)
        assert found > 0
    clock.advance(found)
    turn = Turns(memory._curated)  # of a program that wrote nothing itself: what a program left behind is not lost
    assert turn.ask("ops") == "begins"
    turn.give_back()


def test_a_killed_program_gives_its_turn_back_and_its_cycle_is_begun_anew_a_minute_after_it_began(
    memory: Memory, clock: FrozenClock
) -> None:
    turn = Turns(memory._curated)
    with program(memory, clock) as killed:
        killed.ask("write ops The gate opens at nine.")
        assert killed.ask("step") == "began"
        assert turn.ask("ops") == LOCKED_PAUSE_S
        killed.process.kill()
        killed.process.wait()
        assert turn.ask("ops") == FAILED_PAUSE_S
        clock.advance(FAILED_PAUSE_S - 1)
        assert turn.ask("ops") == 1.0
        with program(memory, clock) as next_one:
            next_one.ask("write ops The yard closes at ten.")
            assert next_one.ask("step") == "waits"
        clock.advance(1)
        with program(memory, clock) as next_one:
            next_one.ask("write ops The door opens at ten.")
            assert next_one.ask("step") == "began"
            next_one.until("idle")
    assert cycles(memory) == 1


# --- the lock ---------------------------------------------------------------------------------------------------------


def test_a_cycle_of_another_namespace_waits_too(memory: Memory) -> None:
    one, other = Turns(memory._curated), Turns(memory._curated)
    assert one.ask("ops") == "begins"
    assert other.ask("sales") == LOCKED_PAUSE_S
    one.give_back()
    one.give_back()
    assert other.ask("sales") == "begins"
    other.give_back()


@pytest.mark.parametrize("failure", [OSError("no locks"), NotImplementedError()])
def test_where_a_file_system_cannot_lock_cycles_run_all_the_same(memory: Memory, failure: Exception) -> None:
    with patch.object(filelock.FileLock, "acquire", side_effect=failure):
        turn = Turns(memory._curated)
        assert turn.ask("ops") == "begins"
        turn.begin("ops")
        assert Turns(memory._curated).ask("ops") == FAILED_PAUSE_S
        turn.end("ops", took_s=0.0)
        turn.give_back()
        assert Turns(memory._curated).ask("ops") == "begins"


def test_a_store_that_is_closed_within_a_cycle_lets_the_next_program_have_its_turn(tmp_path: Path) -> None:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    path = tmp_path / "store"
    with Memory.open(path, clock=FrozenClock(), config=config, background=False) as memory:
        for number in range(FACTS):
            memory.remember("ops", f"Crate {number} stands.")
        assert memory.index_step(0.0)
        with pytest.raises(filelock.Timeout):
            filelock.FileLock(path / LOCK_NAME, timeout=0).acquire()
    with filelock.FileLock(path / LOCK_NAME, timeout=0) as lock:
        assert lock.is_locked


def test_a_namespace_that_is_too_small_keeps_nobody_from_its_turn(tmp_path: Path) -> None:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as memory:
        memory.remember("ops", "Crate 1 stands.")
        while memory.index_step(0.1):
            pass
        assert memory._automatic.is_idle
        turn = Turns(memory._curated)
        assert turn.ask("ops") == "begins"
        turn.give_back()


# --- pauses -----------------------------------------------------------------------------------------------------------


def test_the_first_cycle_of_a_namespace_begins_at_once(memory: Memory) -> None:
    with memory._curated.read() as connection:
        assert rows.cycle_mark(connection, "ops") is None
    turn = Turns(memory._curated)
    assert turn.ask("ops") == "begins"
    turn.give_back()


def test_the_pause_after_a_cycle_is_ten_times_what_it_took_in_every_program(memory: Memory, clock: FrozenClock) -> None:
    one, other = Turns(memory._curated), Turns(memory._curated)
    assert one.ask("ops") == "begins"
    one.begin("ops")
    one.end("ops", took_s=2.5)
    one.give_back()
    assert other.ask("ops") == 2.5 * PAUSE_FACTOR
    clock.advance(20)
    assert other.ask("ops") == 5.0
    clock.advance(5)
    assert other.ask("ops") == "begins"
    other.give_back()


def test_a_mark_of_the_future_is_of_a_wrong_clock_and_blocks_nobody() -> None:
    ended, begun = CycleMark(100 * S, 2 * S), CycleMark(100 * S, None)
    assert [pause_s(ended, at * S) for at in (99, 100, 110, 119, 120, 10**9)] == [0.0, 20.0, 10.0, 1.0, 0.0, 0.0]
    assert [pause_s(begun, at * S) for at in (99, 100, 159, 160)] == [0.0, 60.0, 1.0, 0.0]


def test_a_trigger_that_waits_for_a_pause_keeps_nobody_waiting_and_is_taken_up_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    clock = FrozenClock(tick_s=0.0)
    with Memory.open(tmp_path / "store", clock=clock, config=config, background=False) as memory:
        for number in range(FACTS):
            memory.remember("ops", f"Crate {number} stands.")
        while memory.index_step(0.1):
            pass
        assert cycles(memory) == 1
        memory.remember("ops", "Crate 0 stands.")
        assert not memory._automatic.step(10.0)
        assert not memory._automatic.is_idle
        assert cycles(memory) == 1
        clock.advance(1000)
        monkeypatch.setattr(memory._automatic, "_not_before", {})
        while memory._automatic.step(0.1):
            pass
        assert (cycles(memory), memory._automatic.is_idle) == (2, True)
        assert [card.kind for card in memory.inbox.list()] == ["exact_duplicate"]


# --- what the ledger keeps --------------------------------------------------------------------------------------------


def test_a_cycle_that_was_asked_for_runs_at_any_time_and_leaves_the_marks(memory: Memory, clock: FrozenClock) -> None:
    turn = Turns(memory._curated)
    assert turn.ask("ops") == "begins"
    turn.begin("ops")
    assert memory.consolidate("ops").facts == FACTS
    assert memory.maybe_consolidate("ops") is not None
    turn.give_back()
    with memory._curated.read() as connection:
        assert rows.cycle_mark(connection, "ops") == CycleMark(clock.at_ns, None)
        assert rows.consolidated_seq(connection, "ops") == memory.last_seq()
        assert not rows.has_news(connection, "ops")


@pytest.mark.parametrize("value", ["", "{}", '{"at_ns": "late"}', "[1]", '{"at_ns": null, "took_ns": 5}'])
def test_a_mark_that_is_none_counts_as_none(memory: Memory, value: str) -> None:
    with memory._curated.bookkeep() as connection:
        connection.exec_driver_sql("INSERT INTO meta(key, value) VALUES ('consolidated:ops', ?)", (value,))
    turn = Turns(memory._curated)
    assert turn.ask("ops") == "begins"
    turn.give_back()


def test_only_what_lives_and_was_written_since_is_news(memory: Memory) -> None:
    def has_news() -> bool:
        with memory._curated.read() as connection:
            return rows.has_news(connection, "ops")

    memory.maybe_consolidate("ops")
    assert not has_news()
    memory.remember("sales", "Quite another namespace.")
    assert not has_news()
    fact = memory.remember("ops", "Something new.")
    assert has_news()
    memory.retire("ops", [fact.id])
    assert not has_news()
    memory.restore("ops", [fact.id])
    assert has_news()
