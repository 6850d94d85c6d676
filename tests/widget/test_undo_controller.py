"""Undo: the engine agrees first, the steps are named, a conflict changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notice
from gm_desktop.undo_controller import UndoController
from gm_engine import Fact, Memory

Ask = Callable[[EngineHost, Callable[[Memory], object]], object]


def _written(host: EngineHost, qtbot: QtBot, job: Callable[[Memory], object]) -> object:
    answers: list[object] = []
    host.write(job, answers.append)
    qtbot.waitUntil(lambda: bool(answers))
    return answers[0]


def _remember(host: EngineHost, qtbot: QtBot, text: str) -> Fact:
    fact = _written(host, qtbot, lambda memory: memory.remember("sales", text))
    assert isinstance(fact, Fact)
    return fact


def _settle(undo: UndoController, qtbot: QtBot, act: Callable[[], None], told: list[Notice]) -> None:
    before = len(told)
    act()
    qtbot.waitUntil(lambda: len(told) > before)


def test_undo_and_redo_follow_the_engine(
    open_host: EngineHost, undo: UndoController, told: list[Notice], qtbot: QtBot, asked: Ask
) -> None:
    fact = _remember(open_host, qtbot, "Ann prefers email")
    undo.did("Added a fact", fact.version)
    assert (undo.undo_text, undo.can_undo, undo.can_redo) == ("Added a fact", True, False)
    _settle(undo, qtbot, undo.undo, told)
    assert asked(open_host, lambda memory: memory.facts([fact.id])) == []
    assert (undo.redo_text, undo.can_undo, undo.can_redo) == ("Added a fact", False, True)
    _settle(undo, qtbot, undo.redo, told)
    assert asked(open_host, lambda memory: [each.text for each in memory.facts([fact.id])]) == ["Ann prefers email"]
    _settle(undo, qtbot, undo.undo, told)
    assert asked(open_host, lambda memory: memory.facts([fact.id])) == []


def test_steps_are_taken_back_in_order(
    open_host: EngineHost, undo: UndoController, told: list[Notice], qtbot: QtBot, asked: Ask
) -> None:
    first = _remember(open_host, qtbot, "one")
    undo.did("Added one", first.version)
    pinned = _written(open_host, qtbot, lambda memory: memory.pin("sales", [first.id]))
    assert isinstance(pinned, tuple)
    undo.did("Pinned one", pinned[0].version)
    _settle(undo, qtbot, undo.undo, told)
    assert asked(open_host, lambda memory: memory.get(first.id).pinned) is False
    assert undo.undo_text == "Added one"


def test_the_toast_offers_undo(open_host: EngineHost, undo: UndoController, told: list[Notice], qtbot: QtBot) -> None:
    fact = _remember(open_host, qtbot, "Ann prefers email")
    undo.did("Added a fact", fact.version)
    offer = told[-1].action
    assert told[-1].text == "Added a fact"
    assert offer is not None
    assert offer.label == "Undo"
    _settle(undo, qtbot, offer.run, told)
    assert told[-1].text == "Undone: Added a fact"


def test_a_conflict_is_told_and_the_step_is_dropped(
    open_host: EngineHost, undo: UndoController, told: list[Notice], qtbot: QtBot, asked: Ask
) -> None:
    first = _remember(open_host, qtbot, "kept")
    undo.did("Added kept", first.version)
    fact = _remember(open_host, qtbot, "Ann prefers email")
    undo.did("Added a fact", fact.version)
    pinned = _written(open_host, qtbot, lambda memory: memory.pin("sales", [fact.id]))  # somebody else's later change
    assert isinstance(pinned, tuple)
    _settle(undo, qtbot, undo.undo, told)
    assert told[-1].level == "warning"
    assert told[-1].text.startswith("Not undone: “Pinned a fact” by Desktop, "), "it names what is in the way"
    offer = told[-1].action
    assert offer is not None
    with qtbot.waitSignal(undo.entry_wanted) as wanted:
        offer.run()
    assert wanted.args == [pinned[0].version]
    assert asked(open_host, lambda memory: memory.get(fact.id).pinned) is True
    assert undo.undo_text == "Added kept"


def test_a_redo_in_whose_way_something_is_says_so(
    open_host: EngineHost, undo: UndoController, told: list[Notice], qtbot: QtBot
) -> None:
    fact = _remember(open_host, qtbot, "Ann prefers email")
    pinned = _written(open_host, qtbot, lambda memory: memory.pin("sales", [fact.id]))
    assert isinstance(pinned, tuple)
    undo.did("Pinned a fact", pinned[0].version)
    _settle(undo, qtbot, undo.undo, told)
    _written(open_host, qtbot, lambda memory: memory.label("sales", [fact.id], "verified"))
    _settle(undo, qtbot, undo.redo, told)
    assert told[-1].text.startswith("Not redone: “Labelled a fact verified” by Desktop, ")
    assert not undo.can_redo


def test_a_new_step_forgets_what_could_be_redone(
    open_host: EngineHost, undo: UndoController, told: list[Notice], qtbot: QtBot
) -> None:
    undo.did("Added one", _remember(open_host, qtbot, "one").version)
    _settle(undo, qtbot, undo.undo, told)
    undo.did("Added two", _remember(open_host, qtbot, "two").version)
    assert not undo.can_redo
    assert undo.undo_text == "Added two"


def test_closing_the_store_forgets_the_steps(open_host: EngineHost, undo: UndoController, qtbot: QtBot) -> None:
    undo.did("Added one", _remember(open_host, qtbot, "one").version)
    open_host.close_store()
    assert not undo.can_undo


def test_a_step_whose_store_was_left_is_told_and_never_undoes_something_in_the_next_store(
    open_host: EngineHost, undo: UndoController, told: list[Notice], qtbot: QtBot, tmp_path: Path
) -> None:
    open_host.write(
        lambda memory: memory.remember("sales", "Written at the last moment"),
        lambda fact: undo.did("Added a fact to sales", fact.version),
    )
    with qtbot.waitSignal(open_host.store_opened):
        open_host.open_store(tmp_path / "another")
    assert [(each.text, each.action) for each in told] == [("Added a fact to sales", None)]
    assert not undo.can_undo
    assert undo.undo_text == ""
