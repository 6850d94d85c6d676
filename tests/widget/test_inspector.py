"""The inspector is opened and closed where the page has something to say there, and nowhere else."""

from __future__ import annotations

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.main_window import INSPECTOR_WIDTH
from gm_desktop.theme import Theme
from gm_desktop.views.activity import ActivityPage
from gm_desktop.widgets.text_panes import TextPane


def test_beside_the_programs_the_inspector_of_the_journal_is_not_taken_away(open_app: App, qtbot: QtBot) -> None:
    open_app.show_page("activity")
    page = open_app.window.pages["activity"]
    assert isinstance(page, ActivityPage)
    toggle = open_app.actions.action("inspector.toggle")
    page.show_clients()
    qtbot.waitUntil(lambda: not toggle.isEnabled())
    open_app.actions.run("inspector.toggle")
    page.tabs.setCurrentIndex(0)
    qtbot.waitUntil(toggle.isEnabled)
    assert page.panel.isVisible()
    assert open_app.window.inspector_width > 0
    open_app.actions.run("inspector.toggle")
    assert not page.panel.isVisible()


def test_a_page_without_an_inspector_has_none_to_open(open_app: App) -> None:
    toggle = open_app.actions.action("inspector.toggle")
    assert toggle.isEnabled()
    open_app.show_page("settings")
    assert not toggle.isEnabled()
    open_app.actions.run("inspector.toggle")
    assert open_app.window.inspector_width == INSPECTOR_WIDTH
    open_app.window.show_start()
    assert not toggle.isEnabled()


def test_a_text_pane_never_scrolls_sideways(theme: Theme, qtbot: QtBot) -> None:
    pane = TextPane(theme)
    qtbot.addWidget(pane)
    pane.resize(300, 200)
    pane.show_text("- [[Memory/Facts/One|One]]\n" * 40 + "x" * 400)
    pane.show()
    qtbot.waitUntil(pane.verticalScrollBar().isVisible)
    assert not pane.horizontalScrollBar().isVisible()
    assert pane.horizontalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff
