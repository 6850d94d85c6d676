"""Names and values in two columns."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout
from pytestqt.qtbot import QtBot

from gm_desktop.theme import Theme
from gm_desktop.widgets.name_values import NameValues
from gm_desktop.widgets.scrolled import scrolled

LONG = "A value of several lines, which wraps at the width it is given and never at less than that. " * 2


def test_values_wrap_and_take_no_more_height_than_their_width_asks(theme: Theme, qtbot: QtBot) -> None:
    values, column = NameValues(), QVBoxLayout()
    values.show_rows([(f"Name {at}", LONG, "") for at in range(8)])
    column.addWidget(values)
    column.addStretch(1)
    area = scrolled(column)
    qtbot.addWidget(area)
    area.resize(900, 8 * 60)
    area.show()
    qtbot.waitUntil(lambda: values.width() > 700)
    assert area.verticalScrollBar().maximum() == 0
    area.resize(320, 8 * 60)
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() > 0)
    assert values.height() >= values.heightForWidth(values.width())
