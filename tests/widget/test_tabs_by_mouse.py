"""A tab that is opened by the mouse takes the keyboard along: what the page says about its keys is true at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QTabBar
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.views.consolidate import ConsolidatePage
from gm_desktop.views.publish import PublishPage
from gm_desktop.views.search import SearchPage
from gm_desktop.widgets.keys import begin_when_clicked
from tests.widget.conftest import open_scripted


@pytest.fixture
def twice_told(app: App, qtbot: QtBot, tmp_path: Path) -> App:
    """The desktop over a store in which one card waits."""
    with open_scripted(tmp_path / "store", read_only=False) as memory:
        for _ in range(2):
            memory.remember("ops", "The bell rings at noon.")
        memory.consolidate("ops")
    app.start(tmp_path / "store")
    qtbot.waitUntil(lambda: app.host.is_open)
    return app


def _click(bar: QTabBar, at: int) -> None:
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(at).center())


def _consolidate(app: App, qtbot: QtBot) -> ConsolidatePage:
    app.show_page("consolidate")
    page = app.window.pages["consolidate"]
    assert isinstance(page, ConsolidatePage)
    qtbot.waitUntil(lambda: page.is_settled() and bool(app.cycles.history))
    return page


def test_right_accepts_the_card_whose_tab_was_just_clicked(twice_told: App, qtbot: QtBot) -> None:
    page = _consolidate(twice_told, qtbot)
    page.tabs.setCurrentWidget(page.history)
    accept = twice_told.actions.action("card.accept")
    qtbot.waitUntil(lambda: not accept.isEnabled())
    _click(page.tabs.tabBar(), 0)
    qtbot.waitUntil(lambda: page.inbox.list.hasFocus() and accept.isEnabled())
    QTest.keyClick(page.inbox.list, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: page.is_settled() and not twice_told.consolidating.cards.lines)


def test_the_newest_cycle_has_the_keyboard_once_the_past_cycles_are_clicked(twice_told: App, qtbot: QtBot) -> None:
    page = _consolidate(twice_told, qtbot)
    _click(page.tabs.tabBar(), 1)
    qtbot.waitUntil(lambda: page.history.isAncestorOf(QApplication.focusWidget() or page))
    focused = QApplication.focusWidget()
    assert focused is not None
    QTest.keyClick(focused, Qt.Key.Key_Space)
    assert twice_told.cycles.chosen == twice_told.cycles.history[0]


def test_a_cycle_that_was_started_by_its_button_leaves_the_keyboard_with_the_cards(
    twice_told: App, qtbot: QtBot
) -> None:
    page = _consolidate(twice_told, qtbot)
    page.run_cycle.setFocus()
    QTest.mouseClick(page.run_cycle, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.is_settled() and twice_told.cycles.report is not None)
    assert page.inbox.list.hasFocus()


def test_the_edits_of_the_vault_have_the_keyboard_once_their_tab_is_clicked(twice_told: App, qtbot: QtBot) -> None:
    twice_told.show_page("vault")
    page = twice_told.window.pages["vault"]
    assert isinstance(page, PublishPage)
    _click(page.tabs.tabBar(), 2)
    qtbot.waitUntil(lambda: QApplication.focusWidget() is page.inbox.cards.list)
    _click(page.tabs.tabBar(), 1)
    qtbot.waitUntil(lambda: page.plan.isAncestorOf(QApplication.focusWidget() or page))
    _click(page.tabs.tabBar(), 0)
    qtbot.waitUntil(lambda: not isinstance(QApplication.focusWidget(), QPushButton | QTabBar))


def test_a_missing_fact_can_be_looked_for_once_why_not_that_is_clicked(twice_told: App, qtbot: QtBot) -> None:
    twice_told.show_page("search")
    page = twice_told.window.pages["search"]
    assert isinstance(page, SearchPage)
    _click(page.side.tabs, 1)
    qtbot.waitUntil(page.side.why_not.field.hasFocus)


def test_a_click_beside_the_tabs_leaves_the_keyboard_where_it_is(qtbot: QtBot) -> None:
    bar = QTabBar()
    qtbot.addWidget(bar)
    bar.addTab("Journal")
    bar.addTab("Clients")
    bar.setExpanding(False)
    bar.resize(600, bar.sizeHint().height())
    bar.show()
    begun: list[int] = []
    begin_when_clicked(bar, lambda: begun.append(bar.currentIndex()))
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=QPoint(bar.tabRect(1).right() + 40, bar.height() // 2))
    _click(bar, 1)
    qtbot.waitUntil(lambda: 1 in begun)
    assert begun == [1]


def test_no_page_draws_a_line_of_the_style_along_its_tabs(open_app: App) -> None:
    tabs = [bar for page in open_app.window.pages.values() for bar in page.findChildren(QTabBar)]
    assert len(tabs) > 5
    assert not [bar.parent() for bar in tabs if bar.drawBase()]
