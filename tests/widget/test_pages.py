"""The page that shows first is built first, the others when they are wanted or when there is time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QListView, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.pages import ENTRIES
from gm_desktop.views.shortcuts_dialog import ShortcutsDialog
from tests.widget.conftest import open_scripted


class ShownWindows(QObject):
    """Notes every window that is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Looks at every show event."""
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.seen.append(repr(watched))
        return False


@pytest.fixture
def shown_windows(qapp: QApplication) -> Iterator[ShownWindows]:
    watch = ShownWindows()
    qapp.installEventFilter(watch)
    yield watch
    qapp.removeEventFilter(watch)


@pytest.fixture
def early_app(app: App, qtbot: QtBot, tmp_path: Path) -> App:
    """The desktop with an open store, before it had time for a second page."""
    app.building.stop()
    with open_scripted(tmp_path / "store", read_only=False) as memory:
        memory.remember("sales", "An invoice is paid within ten days")
    app.start(tmp_path / "store")
    qtbot.waitUntil(lambda: app.host.is_open and app.window.pages["memory"].is_settled())
    return app


def test_only_the_page_that_shows_is_built_at_first(early_app: App) -> None:
    assert list(early_app.window.built_pages) == ["memory"]
    assert list(early_app.window.pages) == [entry.page_id for entry in ENTRIES]


def test_the_others_follow_by_themselves_without_a_flash(
    early_app: App, qtbot: QtBot, shown_windows: ShownWindows
) -> None:
    with qtbot.waitSignal(early_app.building.finished):
        early_app.building.start()
    assert set(early_app.window.built_pages) == set(early_app.window.pages)
    assert shown_windows.seen == []
    assert early_app.window.page_id == "memory"


def test_every_entry_opens_the_page_that_it_names(open_app: App) -> None:
    for entry in ENTRIES:
        page = open_app.window.pages[entry.page_id]
        assert page.page_id == entry.page_id
        open_app.actions.run(f"page.{entry.page_id}")
        assert open_app.window.windowTitle().startswith(f"{entry.title} – ")


def test_a_page_that_is_not_there_yet_opens_with_its_actions_and_what_it_remembers(early_app: App) -> None:
    early_app.preferences.set_page_state("settings", {"section": "keeping"})
    early_app.actions.run("page.settings")
    assert early_app.window.page_id == "settings"
    assert early_app.window.pages["settings"].save_state() == {"section": "keeping"}
    assert early_app.actions.action("store.backup") in early_app.actions.in_menu("Store")


def test_a_page_that_was_never_built_keeps_what_it_remembers(early_app: App) -> None:
    early_app.preferences.set_page_state("search", {"top_k": "3"})
    early_app.window.close_now()
    assert early_app.preferences.page_state("search") == {"top_k": "3"}


def test_the_list_of_shortcuts_names_the_keys_of_every_page(early_app: App) -> None:
    early_app.actions.run("shortcuts.show")
    shown = early_app.window.findChild(ShortcutsDialog)
    assert shown is not None
    texts = {label.text() for label in shown.findChildren(QLabel)}
    shown.accept()
    assert {spec.title.rstrip("…") for spec in early_app.window.pages["vault"].action_specs() if spec.shortcut} <= texts


def test_an_open_palette_takes_in_what_the_pages_bring_and_keeps_what_is_chosen(early_app: App, qtbot: QtBot) -> None:
    palette = early_app.window.palette_popup
    palette.open()
    line = palette.findChild(QLineEdit)
    assert line is not None
    line.setText("bl")
    assert list(early_app.window.built_pages) == ["memory"]
    assert "Settings: Blocked values" not in palette.titles()
    QTest.keyClick(line, Qt.Key.Key_Down)
    chosen = palette.findChildren(QListView)[0].currentIndex().data()
    with qtbot.waitSignal(early_app.building.finished):
        early_app.building.start()
    assert "Settings: Blocked values" in palette.titles()
    assert palette.findChildren(QListView)[0].currentIndex().data() == chosen


def test_actions_are_listed_in_the_order_of_the_pages_whichever_came_first(early_app: App) -> None:
    for page_id in ("settings", "vault", "search"):
        early_app.show_page(page_id)
    early_app.building.finish()
    listed = [spec.id for spec in early_app.actions.specs()]
    of_pages = [spec.id for page in early_app.window.pages.values() for spec in page.action_specs()]
    assert listed[-len(of_pages) :] == of_pages
    assert listed.index("past.choose") < listed.index("store.backup") < listed.index(of_pages[0])
