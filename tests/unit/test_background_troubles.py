"""Work beside the person's own: a cycle or an extraction that fails pauses, is told, and is tried again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, Memory
from gm_engine.consolidation import automatic, turns
from gm_engine.consolidation.automatic import AutomaticCycles
from gm_engine.consolidation.steps import Steps, run, uncollected
from gm_engine.consolidation.turns import Turns
from gm_engine.doctor import Verdict, examine
from gm_engine.embedding.minilm import MiniLM
from gm_engine.errors import Cancelled, DiskFull, EmbeddingFailed, GrayMatterError, StoreBusy, StoreDamaged
from gm_engine.graph import knowledge
from gm_engine.progress import CancelToken
from gm_engine.proposals import CycleReport
from gm_engine.store.database import Ledger
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        yield opened


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger.open(tmp_path / "store", clock=FrozenClock())
    yield opened
    opened.close()


class _Cycles:
    """Begins cycles that end as the list says, one after the other."""

    def __init__(self, ledger: Ledger, *endings: GrayMatterError | None) -> None:
        self._endings = list(endings)
        self.begun: list[str] = []
        self.told: list[GrayMatterError] = []
        self.queue = AutomaticCycles(self._begin, turns=Turns(ledger), at_most=2, on_error=self.told.append)

    def _begin(self, agent_id: str) -> Steps[CycleReport]:
        self.begun.append(agent_id)
        yield 0, 1, "looking"
        if (ending := self._endings.pop(0)) is not None:
            raise ending
        return CycleReport(agent_id, at_ns=0, facts=0)


def test_a_cycle_that_the_store_had_no_time_for_comes_again(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (automatic, turns):
        monkeypatch.setattr(module, "FAILED_PAUSE_S", 0.0)
    busy = StoreBusy("Another write has not finished.")
    cycles = _Cycles(ledger, busy, None)
    cycles.queue.notice("ops")
    while cycles.queue.step(1.0):
        pass
    assert cycles.begun == ["ops", "ops"]
    assert cycles.told == [busy]
    assert cycles.queue.is_idle


def test_a_cycle_that_fails_is_told_and_waits_for_the_next_write(ledger: Ledger) -> None:
    full = DiskFull("The disk is full.")
    cycles = _Cycles(ledger, full, None)
    cycles.queue.notice("ops")
    assert not cycles.queue.step(1.0)
    assert (cycles.told, cycles.queue.is_idle) == ([full], True)
    cycles.queue.notice("ops")
    assert not cycles.queue.step(1.0)  # its pause is not over
    assert cycles.begun == ["ops"]
    assert not cycles.queue.is_idle


def test_a_cycle_that_is_cancelled_is_no_failure(ledger: Ledger) -> None:
    cycles = _Cycles(ledger, Cancelled("The store is being closed."))
    cycles.queue.notice("ops")
    cycles.queue.step(1.0)
    assert (cycles.told, cycles.queue.is_idle) == ([], True)


@pytest.mark.parametrize("steps_before", [0, 1])
def test_a_bug_in_a_cycle_keeps_no_other_program_from_its_turn(ledger: Ledger, steps_before: int) -> None:
    def begin(_: str) -> Steps[CycleReport]:
        if not steps_before:
            raise ZeroDivisionError
        return broken()

    def broken() -> Steps[CycleReport]:
        yield 0, 1, "looking"
        raise ZeroDivisionError

    queue = AutomaticCycles(begin, turns=Turns(ledger), at_most=2, on_error=None)
    queue.notice("ops")
    with pytest.raises(ZeroDivisionError):
        queue.step(1.0)
    assert queue.is_idle
    other = Turns(ledger)
    assert other.ask("sales") == "begins"
    other.give_back()


def test_a_namespace_in_its_pause_takes_no_place_in_the_queue(ledger: Ledger) -> None:
    full = DiskFull("The disk is full.")
    cycles = _Cycles(ledger, full, full, None)
    for agent in ("a", "b"):
        cycles.queue.notice(agent)
    cycles.queue.step(5.0)
    for agent in ("a", "b", "c"):
        cycles.queue.notice(agent)
    cycles.queue.step(5.0)
    assert cycles.begun == ["a", "b", "c"]
    assert not cycles.queue.is_idle


def test_more_namespaces_than_may_wait_are_dropped(ledger: Ledger) -> None:
    cycles = _Cycles(ledger, None, None)
    for agent in ("a", "b", "c"):
        cycles.queue.notice(agent)
    cycles.queue.step(5.0)
    assert cycles.begun == ["a", "b"]


def test_a_store_that_is_closed_within_a_cycle_gives_it_up(tmp_path: Path) -> None:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as memory:
        for number in range(25):
            memory.remember("ops", f"Crate {number} stands.")
        assert memory.index_step(0.0)
        assert not memory._automatic.is_idle
        assert gc.isenabled()
    assert memory._automatic._running is None
    memory.close()


def test_the_collector_rests_within_a_piece_and_works_between_two_and_after_a_cancelled_cycle() -> None:
    rested, ended = list[bool](), list[bool]()

    def work() -> Steps[None]:
        try:
            while True:
                rested.append(not gc.isenabled())
                yield 0, None, "looking"
        finally:
            ended.append(True)

    cancel = CancelToken()

    def progress(done: int, total: int | None, what: str) -> None:
        assert gc.isenabled()
        if len(rested) == 3:
            cancel.cancel()

    with pytest.raises(Cancelled) as kept:  # its traceback holds the work
        run(uncollected(work()), progress=progress, cancel=cancel)
    assert kept.value.code == "cancelled"
    assert (rested, ended, gc.isenabled()) == ([True] * 3, [True], True)


def test_an_extraction_that_fails_pauses_and_goes_on(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def busy(_: float) -> bool:
        raise StoreBusy("Another write has not finished.")

    memory.remember("ops", "Ana Okafor leads the Lagos office.")
    with monkeypatch.context() as patched:
        patched.setattr(memory.graph._feeder, "step", busy)
        assert memory.graph.step(0.1) is False
    assert "extraction pauses" in caplog.text
    assert memory.graph.step(0.1) is False  # it pauses
    assert memory.graph.entities() == ()
    monkeypatch.setattr(memory.graph, "_pause_until", 0.0)
    while memory.graph.step(0.1):
        pass
    assert memory.graph.entities() != ()
    assert knowledge._PAUSE_S > 0


def test_the_doctor_goes_on_when_one_of_its_looks_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Memory.open(tmp_path, clock=FrozenClock(), background=False).close()

    def damaged(*_: object, **__: object) -> Memory:
        raise StoreDamaged("The file is damaged.")

    def changed(_: MiniLM) -> None:
        raise EmbeddingFailed("A file of the model is not the one that was shipped.")

    monkeypatch.setattr(Memory, "open", damaged)
    monkeypatch.setattr(MiniLM, "verify", changed)
    found = {finding.check: finding for finding in examine(tmp_path)}
    assert (found["vectors"].verdict, found["vectors"].detail) == (Verdict.BROKEN, "The file is damaged.")
    assert found["model"].verdict is Verdict.BROKEN
    assert found["journal"].verdict is Verdict.SOUND
