"""A new fact: what was typed is never lost, whatever becomes of the write."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.engine_host import EngineHost
from gm_desktop.views.fact_dialogs import AddFactDialog
from gm_engine import FactQuery, Memory

ASK = Callable[[EngineHost, Callable[[Memory], object]], object]
TEXT = "The invoice of May is paid twice"


def _add(app: App) -> AddFactDialog:
    app.actions.run("fact.add")
    return _shown(app)


def _shown(app: App) -> AddFactDialog:
    return next(each for each in app.window.findChildren(AddFactDialog) if each.isVisible())


def _dialogs(app: App) -> list[AddFactDialog]:
    return [each for each in app.window.findChildren(AddFactDialog) if each.isVisible()]


def _texts(app: App, asked: ASK) -> set[str]:
    found = asked(app.host, lambda memory: {each.text for each in memory.facts(memory.fact_ids(FactQuery()))})
    assert isinstance(found, set)
    return found


def test_a_fact_that_is_refused_stays_in_its_dialog_with_the_reason(open_app: App, qtbot: QtBot, asked: ASK) -> None:
    asked(open_app.host, lambda memory: memory.blocked.add(TEXT, None))
    dialog = _add(open_app)
    dialog.text.setPlainText(TEXT)
    dialog.save.click()
    qtbot.waitUntil(dialog.problem.isVisible)
    assert "blocked" in dialog.problem.text()
    assert dialog.text.toPlainText() == TEXT
    dialog.text.setPlainText(f"{TEXT} and back again")
    with qtbot.waitSignal(open_app.remembering.verbs.added):
        dialog.save.click()
    assert _dialogs(open_app) == []
    assert f"{TEXT} and back again" in _texts(open_app, asked)


def test_a_dialog_that_is_left_while_it_waits_is_there_again_when_the_write_fails(
    open_app: App, qtbot: QtBot, asked: ASK
) -> None:
    asked(open_app.host, lambda memory: memory.blocked.add(TEXT, None))
    held = Event()
    open_app.host.write(lambda _: held.wait(60), lambda _: None)
    dialog = _add(open_app)
    dialog.text.setPlainText(TEXT)
    dialog.save.click()
    dialog.save.click()
    QTest.keyClicks(dialog.text, "more")
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert _dialogs(open_app) == []
    held.set()
    qtbot.waitUntil(lambda: bool(_dialogs(open_app)))
    assert _shown(open_app).text.toPlainText() == TEXT
    QTest.keyClick(dialog, Qt.Key.Key_Escape)


def test_a_text_that_was_typed_and_left_is_there_when_a_fact_is_added_again(open_app: App, qtbot: QtBot) -> None:
    dialog = _add(open_app)
    QTest.keyClicks(dialog.text, TEXT)
    QTest.keyClick(dialog.text, Qt.Key.Key_Escape)
    again = _add(open_app)
    assert again.text.toPlainText() == TEXT
    with qtbot.waitSignal(open_app.remembering.verbs.added):
        again.save.click()
    last = _add(open_app)
    assert last.text.toPlainText() == ""
    QTest.keyClick(last.text, Qt.Key.Key_Escape)
