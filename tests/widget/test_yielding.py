"""What gives way in a narrow window: nothing is cut without an ellipsis, and what has no room goes below."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import QEvent, QPoint, QRect
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.theme import Theme
from gm_desktop.widgets.basics import EmptyState
from gm_desktop.widgets.yielding import CaptionBar, YieldingCombo

LONG = "Bestverknüpfte zuerst"


def test_a_choice_without_room_ends_in_an_ellipsis_and_is_whole_in_its_tooltip(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda _at, text, _of: told.append(text))
    choice = YieldingCombo()
    qtbot.addWidget(choice)
    choice.addItem(LONG)
    choice.resize(400, 32)
    choice.show()
    ask = QHelpEvent(QEvent.Type.ToolTip, QPoint(5, 5), QPoint(5, 5))
    QApplication.sendEvent(choice, ask)
    assert (choice.shown(), told) == (LONG, [])
    choice.resize(110, 32)
    choice.grab()
    QApplication.sendEvent(choice, ask)
    assert choice.shown().endswith("…")
    assert told == [LONG]
    assert choice.minimumSizeHint().width() < 110


def test_controls_go_below_a_caption_where_there_is_no_room_for_both_and_come_back(qtbot: QtBot) -> None:
    caption, choice, button = QLabel("Around Kestrel: 24 of 34 entities"), YieldingCombo(), QPushButton("Ganzer Graph")
    choice.addItem("2 Verknüpfungen entfernt")
    bar = CaptionBar(caption, (choice, button), margins=(16, 0, 24, 10), height=42)
    around = QWidget()
    qtbot.addWidget(around)
    bar.setParent(around)
    around.resize(900, 300)
    around.show()
    for width, is_below in ((800, False), (260, True), (800, False)):
        bar.resize(width, bar.height())
        qtbot.waitUntil(partial(_stands_below, button, bar, caption) if is_below else partial(_stands_beside, bar))
        assert button.width() >= button.minimumSizeHint().width()
        assert bar.rect().contains(QRect(button.mapTo(bar, QPoint()), button.size()))


def test_a_control_that_comes_makes_room_for_itself_and_gives_it_back(qtbot: QtBot) -> None:
    caption, choice, button = QLabel("Around Kestrel: 24 of 34 entities"), YieldingCombo(), QPushButton("Ganzer Graph")
    choice.addItem("2 Verknüpfungen entfernt")
    bar = CaptionBar(caption, (choice, button), margins=(16, 0, 24, 10), height=42)
    button.hide()
    around = QWidget()
    qtbot.addWidget(around)
    bar.setParent(around)
    around.resize(900, 300)
    around.show()
    bar.resize(choice.sizeHint().width() + 140, bar.height())  # room for the choice beside a short caption
    for _ in range(2):
        button.show()
        qtbot.waitUntil(partial(_stands_below, button, bar, caption))
        button.hide()
        qtbot.waitUntil(partial(_stands_beside, bar))


def _stands_below(button: QWidget, bar: QWidget, caption: QWidget) -> bool:
    return bar.height() > 42 and button.mapTo(bar, QPoint()).y() >= caption.geometry().bottom()


def _stands_beside(bar: QWidget) -> bool:
    return bar.height() == 42


@pytest.mark.parametrize("width", [260, 380, 900])
def test_the_title_of_an_empty_place_is_broken_into_lines_before_it_is_cut(
    theme: Theme, qtbot: QtBot, width: int
) -> None:
    note = EmptyState(theme, "graph", "Dieser Agent hat keinen weiteren Checkpoint gespeichert", "Oben einen wählen.")
    around = QWidget()
    qtbot.addWidget(around)
    note.setParent(around)
    note.resize(width, 400)
    around.resize(width, 400)
    around.show()
    title = note._title
    qtbot.waitUntil(lambda: note.rect().contains(title.geometry()))
    is_one_line = title.height() < 2 * title.fontMetrics().lineSpacing()
    assert is_one_line == (width == 900)
    if not is_one_line:
        assert title.height() >= title.heightForWidth(title.width())
    note.say("graph", "Leer")
    qtbot.waitUntil(lambda: title.height() < 2 * title.fontMetrics().lineSpacing())
