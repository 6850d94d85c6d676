"""Past cycles without their page: which were taken back, whatever they did, and how often the store is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notices
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels import cycles as cycles_viewmodel
from gm_desktop.viewmodels.cycles import CycleLine, CyclesViewModel
from gm_engine import Changes, Memory
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

DAY_S = 86_400.0


@pytest.fixture
def undo(host: EngineHost, notices: Notices) -> UndoController:
    return UndoController(host, notices)


@pytest.fixture
def cycles(host: EngineHost, undo: UndoController, notices: Notices, qtbot: QtBot, tmp_path: Path) -> CyclesViewModel:
    """Over a store in which one cycle ran, that only pruned."""
    clock = FrozenClock("2026-01-15T09:00:00Z")
    store = tmp_path / "store"
    with Memory.open(store, background=False, clock=clock, embedder=ScriptedEmbedder()) as memory:
        memory.remember("ops", "Nobody asked for this.")
        clock.advance(300 * DAY_S)
        for text in ("The gate opens at nine.", "Ana wants the quote.", "Lamps are green in June."):
            memory.remember("ops", text)
        report = memory.consolidate("ops")
        assert (report.pruned, report.proposed) == (1, {})
    model = CyclesViewModel(host, undo, notices)
    host.open_store(store)
    qtbot.waitUntil(lambda: bool(model.history) and not model.is_waiting)
    return model


def test_a_cycle_that_only_pruned_says_that_it_was_taken_back_and_when_it_is_not_any_more(
    cycles: CyclesViewModel, undo: UndoController, qtbot: QtBot
) -> None:
    def is_taken_back() -> bool:
        return [line.is_undone for line in cycles.history] == [True] and "taken back" in cycles.history[0].note

    cycles.choose(cycles.history[0].seq)
    cycles.undo_chosen()
    qtbot.waitUntil(is_taken_back)
    assert not cycles.can_take_back
    undo.undo()
    qtbot.waitUntil(lambda: not is_taken_back())
    undo.redo()
    qtbot.waitUntil(is_taken_back)
    qtbot.waitUntil(lambda: not cycles.is_waiting)


def test_changes_that_come_together_are_one_look_at_the_past_cycles(
    cycles: CyclesViewModel, host: EngineHost, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Memory] = []
    look: Callable[[Memory], tuple[CycleLine, ...]] = cycles_viewmodel._history

    def counted(memory: Memory) -> tuple[CycleLine, ...]:
        looks.append(memory)
        return look(memory)

    monkeypatch.setattr(cycles_viewmodel, "_history", counted)
    for seq in range(3):
        host.changed.emit(Changes(seq, kinds=frozenset(("proposal",))))
    qtbot.waitUntil(lambda: bool(looks) and not cycles.is_waiting)
    assert len(looks) == 1


@pytest.mark.parametrize(("dry_run", "said"), [(True, "A cycle would add no card"), (False, "The cycle added no card")])
def test_a_cycle_without_a_card_says_so_in_words(
    cycles: CyclesViewModel, qtbot: QtBot, dry_run: bool, said: str
) -> None:
    cycles.run("ops", dry_run=dry_run)
    qtbot.waitUntil(lambda: cycles.report is not None)
    assert cycles.report is not None
    assert cycles.report.title == said
    qtbot.waitUntil(lambda: not cycles.is_waiting)
