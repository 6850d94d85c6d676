"""The list of hits: every row is as high as its own text needs, whatever was there before and however wide it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QHBoxLayout, QStyleOptionViewItem, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.models.hit_list import Hit, HitList
from gm_desktop.theme import Theme
from gm_desktop.views.hit_view import HitView

SHORT, LONG = (
    "Rollbacks take ten minutes",
    "Delivery inside Germany takes three working days, and a little more in winter. " * 3,
)
MIDDLE = "Delivery inside Germany takes three working days, in winter four"


def hits(*texts: str, first: int = 0) -> list[Hit]:
    return [
        Hit(f"f{first + at}", at + 1, text, (), "ops", "", "Inferred", False, "3 d", (0.5,), "0.01639", text)
        for at, text in enumerate(texts)
    ]


@pytest.fixture
def view(theme: Theme, qtbot: QtBot) -> Iterator[HitView]:
    around = QWidget()
    qtbot.addWidget(around)
    layout = QHBoxLayout(around)
    layout.setContentsMargins(0, 0, 0, 0)
    made = HitView(HitList(around), theme)
    layout.addWidget(made, 1)
    around.resize(900, 500)
    around.show()
    qtbot.waitExposed(around)
    yield made
    around.hide()


def is_fitted(view: HitView) -> bool:
    """Whether every row has the height of its own text."""
    rows = [view.model().index(row, 0) for row in range(view.model().rowCount())]
    wanted = [view.itemDelegate().sizeHint(QStyleOptionViewItem(), row).height() for row in rows]
    return [view.visualRect(row).height() for row in rows] == wanted


def test_rows_follow_a_shorter_answer_of_other_facts_and_of_the_same_ones(view: HitView, qtbot: QtBot) -> None:
    view._hits.set_hits(hits(LONG, LONG, SHORT))
    qtbot.waitUntil(lambda: is_fitted(view))
    view._hits.set_hits(hits(SHORT, LONG, SHORT, first=10))
    qtbot.waitUntil(lambda: is_fitted(view))
    view._hits.set_hits(hits(SHORT, SHORT, LONG, first=10))
    qtbot.waitUntil(lambda: is_fitted(view))


def test_rows_follow_a_window_that_gets_wider_or_narrower_only(view: HitView, qtbot: QtBot) -> None:
    view._hits.set_hits(hits(MIDDLE, SHORT, LONG))
    qtbot.waitUntil(lambda: is_fitted(view))
    heights = set()
    for width in (300, 900, 360):
        view.window().resize(width, 500)
        qtbot.waitUntil(lambda: is_fitted(view))
        heights.add(view.visualRect(view.model().index(0, 0)).height())
    assert len(heights) == 2, "the first text was in one line and in two"


def test_rows_follow_a_scroll_bar_that_comes_and_goes(view: HitView, qtbot: QtBot) -> None:
    view._hits.set_hits(hits(*[LONG] * 20))
    qtbot.waitUntil(lambda: view.verticalScrollBar().isVisible() and is_fitted(view))
    view._hits.set_hits(hits(MIDDLE, first=50))
    qtbot.waitUntil(lambda: not view.verticalScrollBar().isVisible() and is_fitted(view))


def test_no_text_wraps_otherwise_because_a_scroll_bar_comes(view: HitView, theme: Theme, qtbot: QtBot) -> None:
    metrics = QFontMetricsF(theme.font("body"))
    text = "0"  # made longer until it fills the line to where a scroll bar would be
    while metrics.horizontalAdvance(f"{text} i") < view.viewport().width() - 61:
        text += " i"
    heights = []
    for count in (1, 20):
        view._hits.set_hits(hits(*[text] * count, first=100 * count))
        qtbot.waitUntil(lambda: is_fitted(view))
        heights.append(view.visualRect(view.model().index(0, 0)).height())
    assert view.verticalScrollBar().isVisible()
    assert heights[0] == heights[1]
