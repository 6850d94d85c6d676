"""Keys in the window: what a key does that comes too early, and the way from page to page by the palette."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.action_table import ActionTable
from gm_desktop.actions import ActionSpec, KeyLine
from gm_desktop.app import App
from gm_desktop.theme import Theme
from gm_desktop.views.activity import ActivityPage
from gm_desktop.views.shortcuts_dialog import ShortcutsDialog
from gm_engine import FactQuery
from tests.widget.conftest import open_scripted


@pytest.fixture
def curated_app(app: App, qtbot: QtBot, tmp_path: Path) -> App:
    """The desktop over a store whose journal holds an action that begins with the letter of a key."""
    with open_scripted(tmp_path / "store", read_only=False) as memory:
        fact = memory.remember("ops", "The night shift starts at ten")
        memory.pin("ops", [fact.id])
        memory.unpin("ops", [fact.id])
        memory.remember("ops", "The bell rings at noon")
    app.start(tmp_path / "store")
    qtbot.waitUntil(lambda: app.host.is_open)
    return app


def test_a_key_that_comes_before_its_page_is_ready_selects_nothing_else(curated_app: App, qtbot: QtBot) -> None:
    curated_app.show_page("activity")
    page = curated_app.window.pages["activity"]
    assert isinstance(page, ActivityPage)
    qtbot.waitUntil(lambda: page.is_settled() and page.list.hasFocus())

    curated_app.actions.action("entry.undo").setEnabled(False)  # as it is until the newest action is read
    QTest.keyClick(page.list, Qt.Key.Key_U)
    assert page.list.currentIndex().row() == 0, "the letter looked for an action that begins with it"

    curated_app.actions.refresh()
    QTest.keyClick(page.list, Qt.Key.Key_U)
    qtbot.waitUntil(lambda: page.is_settled() and "Undid: Remembered a fact" in _told(page))
    with open_scripted(curated_app.host.data_dir or Path(), read_only=True) as memory:
        assert len(memory.fact_ids(FactQuery())) == 1


def test_other_letters_still_find_a_row(curated_app: App, qtbot: QtBot) -> None:
    curated_app.show_page("activity")
    page = curated_app.window.pages["activity"]
    assert isinstance(page, ActivityPage)
    qtbot.waitUntil(lambda: page.is_settled() and page.list.hasFocus())
    QTest.keyClick(page.list, Qt.Key.Key_P)
    assert _told(page)[page.list.currentIndex().row()] == "Pinned a fact"


def _told(page: ActivityPage) -> list[str]:
    model = page.list.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


@pytest.mark.parametrize("kind", [QLineEdit, QPlainTextEdit])
def test_the_palette_opens_from_a_field_that_is_being_written_in(curated_app: App, kind: type[QWidget]) -> None:
    field = kind(curated_app.window)
    field.show()
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert curated_app.window.palette_popup.isVisible()


def test_the_palette_that_is_called_twice_is_one_and_gives_the_keyboard_back(curated_app: App) -> None:
    window = curated_app.window
    before = window.focusWidget()
    for _ in range(2):
        curated_app.actions.run("palette.open")
    line = QApplication.focusWidget()
    assert isinstance(line, QLineEdit)
    QTest.keyClick(line, Qt.Key.Key_Escape)
    assert not window.palette_popup.isVisible()
    assert window.focusWidget() is before


def test_the_title_names_the_page_and_the_store(curated_app: App) -> None:
    for page_id, title in (("activity", "Activity"), ("graph", "Graph")):
        curated_app.show_page(page_id)
        assert curated_app.window.windowTitle() == f"{title} – store – GrayMatter"
    curated_app.flow.close()
    assert curated_app.window.windowTitle() == "GrayMatter"


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_both_enter_keys_do_what_is_announced_as_enter(theme: Theme, qtbot: QtBot, key: Qt.Key) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    ran: list[str] = []
    table = ActionTable(theme)
    dim = ActionSpec("lamp.dim", "Dim", "", "Ctrl+Return", run=lambda: ran.append("dim"))
    table.add(window, [dim], everywhere=True)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    QTest.keyClick(window, key, Qt.KeyboardModifier.ControlModifier)
    assert ran == ["dim"]
    assert table.keys("lamp.dim") == "Ctrl+Enter"
    assert table.action("lamp.dim").toolTip() == "Dim (Ctrl+Enter)"


def test_the_sheet_of_shortcuts_has_a_heading_for_each_menu_and_page_and_scrolls_by_keys(
    curated_app: App, qtbot: QtBot
) -> None:
    curated_app.actions.run("shortcuts.show")
    sheet = curated_app.window.findChild(ShortcutsDialog)
    assert sheet is not None
    labels = sheet.area.findChildren(QLabel)
    headings = [label.text() for label in labels if label.property("kind") == "section"]
    assert headings[:7] == ["File", "Edit", "Go", "View", "Help", "Store", "Memory"]
    assert len(set(headings)) == len(headings)
    texts = [label.text() for label in labels]
    assert texts[texts.index("Edit") :][:3] == ["Edit", "Undo", "Ctrl+Z"]
    assert "Publish" in texts[texts.index("Vault", texts.index("Help")) : texts.index("Activity", texts.index("Help"))]
    bar = sheet.area.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    assert sheet.focusWidget() is sheet.area
    steps: tuple[tuple[Qt.Key, Callable[[], bool]], ...] = (
        (Qt.Key.Key_Down, lambda: 0 < bar.value() < bar.maximum()),
        (Qt.Key.Key_End, lambda: bar.value() == bar.maximum()),
        (Qt.Key.Key_PageUp, lambda: 0 < bar.value() < bar.maximum()),
        (Qt.Key.Key_Home, lambda: bar.value() == 0),
    )
    for key, is_there in steps:
        QTest.keyClick(sheet.area, key)
        assert is_there(), key
    sheet.accept()


def test_a_long_title_in_the_sheet_of_shortcuts_leaves_the_keys_their_room(theme: Theme, qtbot: QtBot) -> None:
    sheet = ShortcutsDialog(
        [KeyLine("File", "Den Speicher zeigen, wie er vor langer Zeit einmal war " * 2, "Ctrl+Shift+N")]
    )
    qtbot.addWidget(sheet)
    theme.dress(sheet)
    with qtbot.waitExposed(sheet):
        sheet.show()
    keys, room = sheet.area.findChildren(QLabel)[-1], sheet.area.viewport()
    assert keys.text() == "Ctrl+Shift+N"
    assert room.rect().contains(QRect(keys.mapTo(room, QPoint()), keys.size()))
