"""Rows of entities, types and links: many of them appear in one go."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.theme import Theme
from gm_desktop.widgets.entity_rows import EntityRow, EntityRows, RowItem
from gm_desktop.widgets.scrolled import scroll_area


class Counter(QObject):
    """How often a widget was given another size."""

    resized = 0

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Counts and takes nothing."""
        self.resized += event.type() is QEvent.Type.Resize
        return False


def test_many_rows_are_laid_out_once_and_lie_below_each_other(qtbot: QtBot) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    body = QWidget()
    column = QVBoxLayout(body)
    rows = EntityRows(Theme(app))
    column.addWidget(QLabel("Links"))
    column.addWidget(rows)
    column.addStretch(1)
    area = scroll_area(body)
    qtbot.addWidget(area)
    area.resize(300, 400)
    area.show()
    qtbot.waitExposed(area)
    counter = Counter()
    rows.installEventFilter(counter)
    items = [RowItem(str(each), f"Entity {each}", "person") for each in range(120)]
    for count in (120, 3, 120):
        counter.resized = 0
        rows.show_items(items[:count])
        qtbot.waitUntil(partial(are_below_each_other, rows, count))
        assert [item.key for item in rows.items] == [str(each) for each in range(count)]
        assert counter.resized < 10


def are_below_each_other(rows: EntityRows, count: int) -> bool:
    """Whether each visible row begins where the one before ends."""
    shown = [row for row in rows.findChildren(EntityRow) if row.isVisible()]
    high = shown[0].sizeHint().height()
    return len(shown) == count and [row.y() for row in shown] == [at * high for at in range(count)]
