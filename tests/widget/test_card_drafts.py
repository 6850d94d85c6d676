"""An own text on a card is the person's work: another card, or another program's decision, does not lose it."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.models.proposal_cards import Card
from gm_desktop.notices import Notice, Notices
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.inbox import InboxViewModel
from gm_desktop.viewmodels.inbox_subjects import consolidation
from gm_engine import Memory
from tests.fakes.clock import FrozenClock
from tests.widget.writing import write_beside

OWN = "Feature flags of Orion are removed."
TEXTS = (
    "The gate opens at nine.",
    "The gate opens at nine.",
    "Feature flags are removed after a launch.",
    "Feature flags are not removed after a launch.",
)


@pytest.fixture
def model(qtbot: QtBot, open_host: EngineHost, undo: UndoController, notices: Notices) -> InboxViewModel:
    def fill(memory: Memory) -> None:
        for text in TEXTS:
            memory.remember("ops", text)
        memory.consolidate("ops")

    made = InboxViewModel(open_host, undo, notices, FrozenClock(), open_host, subject=consolidation())
    made.look(is_looked_at=True)
    write_beside(open_host, qtbot, fill)
    qtbot.waitUntil(lambda: len(made.cards.lines) == 2 and not made.is_waiting)
    return made


def _choose(model: InboxViewModel, qtbot: QtBot, kind: str) -> str:
    card_id = next(line.id for line in model.cards.lines if line.kind == kind)
    model.select(card_id)
    qtbot.waitUntil(lambda: isinstance(model.card, Card) and model.card.id == card_id and not model.is_waiting)
    return card_id


def _write_own(model: InboxViewModel, qtbot: QtBot) -> str:
    card_id = _choose(model, qtbot, "contradiction")
    model.edit()
    model.set_draft(OWN)
    return card_id


def test_an_own_text_waits_while_another_card_is_looked_at(model: InboxViewModel, qtbot: QtBot) -> None:
    _write_own(model, qtbot)
    _choose(model, qtbot, "exact_duplicate")
    assert not model.is_editing
    _choose(model, qtbot, "contradiction")
    model.edit()
    assert model.draft_text == OWN
    with qtbot.waitSignal(model.draft_changed):
        model.set_draft(f"{OWN}!")
    model.accept()
    qtbot.waitUntil(lambda: len(model.cards.lines) == 1 and not model.is_waiting)
    assert not model.is_editing


@pytest.mark.parametrize("typed", [OWN, None])
def test_a_card_that_another_program_decides_gives_the_own_text_back(
    model: InboxViewModel,
    open_host: EngineHost,
    told: list[Notice],
    qtbot: QtBot,
    typed: str | None,
) -> None:
    card_id = _choose(model, qtbot, "contradiction")
    model.edit()
    if typed is not None:
        model.set_draft(typed)
    write_beside(open_host, qtbot, lambda memory: memory.inbox.reject(card_id))
    qtbot.waitUntil(lambda: len(model.cards.lines) == 1 and not model.is_waiting)
    assert not model.is_editing
    if typed is None:
        assert told == []
        return
    assert (told[-1].level, told[-1].lasting) == ("error", True)
    assert told[-1].action is not None
    assert told[-1].action.label == "Copy my text"
    told[-1].action.run()
    assert QApplication.clipboard().text() == typed


def test_stopping_to_edit_begins_anew_from_what_is_proposed(model: InboxViewModel, qtbot: QtBot) -> None:
    _write_own(model, qtbot)
    model.stop_editing()
    assert isinstance(model.card, Card)
    model.edit()
    assert model.draft_text == model.card.result
