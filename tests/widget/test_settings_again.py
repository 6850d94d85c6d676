"""What was typed in a dialog of Settings is there again when it could not be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notice, Notices
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.settings_blocked import BlockedSettings
from gm_desktop.viewmodels.settings_dictionary import DictionarySettings
from gm_desktop.views.settings_dialogs import BlockDialog, EntryDialog
from gm_desktop.views.settings_store import BlockedSection, DictionarySection
from gm_engine import Memory
from gm_engine.errors import StoreBusy

T = TypeVar("T", bound=QWidget)
ASK = Callable[[EngineHost, Callable[[Memory], object]], object]


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


def test_a_name_that_is_refused_can_be_edited_again_as_it_was_typed(
    open_host: EngineHost,
    undo: UndoController,
    notices: Notices,
    told: list[Notice],
    theme: Theme,
    window: QWidget,
    asked: ASK,
    qtbot: QtBot,
) -> None:
    section = DictionarySection(DictionarySettings(open_host, undo, notices, open_host), theme)
    section.setParent(window)
    section.add.click()
    dialog = _newest(window, EntryDialog)
    dialog.label.setText("x" * 5_000)
    dialog.names.setPlainText("Orion\nThe Orion team")
    dialog.save.click()
    qtbot.waitUntil(lambda: bool(told))
    assert told[-1].lasting
    assert told[-1].action is not None
    told[-1].action.run()
    again = _newest(window, EntryDialog)
    assert again is not dialog
    assert again.names.toPlainText() == "Orion\nThe Orion team"
    again.label.setText("Orion")
    again.save.click()
    qtbot.waitUntil(lambda: bool(asked(open_host, lambda memory: memory.graph.dictionary())))


def test_a_value_that_could_not_be_blocked_can_be_edited_again_as_it_was_typed(
    open_host: EngineHost,
    undo: UndoController,
    notices: Notices,
    told: list[Notice],
    theme: Theme,
    window: QWidget,
    asked: ASK,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    section = BlockedSection(BlockedSettings(open_host, undo, notices, open_host), theme)
    section.setParent(window)

    def refuse(*_: object) -> int:
        raise StoreBusy("Another program writes.")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("gm_desktop.viewmodels.settings_blocked.journalled", refuse)
        section.add.click()
        dialog = _newest(window, BlockDialog)
        dialog.text.setPlainText("The vault code is 1234")
        dialog.save.click()
        qtbot.waitUntil(lambda: bool(told))
    assert told[-1].action is not None
    told[-1].action.run()
    again = _newest(window, BlockDialog)
    assert again.text.toPlainText() == "The vault code is 1234"
    again.save.click()
    qtbot.waitUntil(lambda: bool(asked(open_host, lambda memory: memory.blocked.list())))


def _newest(window: QWidget, kind: type[T]) -> T:
    return window.findChildren(kind)[-1]
