"""The window: which page when, menus, palette, toasts, closing, dropping, remembering."""

from __future__ import annotations

import json
import threading
from functools import partial
from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QPointF, QRect, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QLabel,
    QLineEdit,
    QMenuBar,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QTabBar,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gm_desktop.app import App, Places
from gm_desktop.main_window import MainWindow
from gm_desktop.views.crash_dialog import CrashDialog
from gm_desktop.views.first_run import Choice, FirstRunView
from gm_desktop.views.import_dialog import ImportDialog
from gm_desktop.views.shortcuts_dialog import ShortcutsDialog
from gm_desktop.widgets.drop_hint import DropHint
from gm_desktop.widgets.rail import RailButton
from gm_engine import BALANCED_WEIGHTS, CancelToken, Memory, Progress
from tests.fakes.clock import FrozenClock
from tests.widget.conftest import open_scripted


def _button(parent: QWidget, text: str) -> QPushButton:
    found = [each for each in parent.findChildren(QPushButton) if each.text() == text and each.isVisibleTo(parent)]
    assert len(found) == 1, [each.text() for each in parent.findChildren(QPushButton)]
    return found[0]


def _shows(parent: QWidget, text: str) -> bool:
    return any(each.text() == text and each.isVisibleTo(parent) for each in parent.findChildren(QPushButton))


def _dialog(app: App, kind: type[QDialog]) -> QDialog:
    found = [each for each in app.window.findChildren(kind) if each.isVisible()]
    assert len(found) == 1
    return found[0]


def test_without_a_store_the_first_run_page_shows_and_pages_are_off(app: App) -> None:
    assert app.window.page_id is None
    assert isinstance(app.window.findChild(FirstRunView), FirstRunView)
    assert app.window.strip.path_text == "No store is open"
    assert not app.actions.action("page.memory").isEnabled()


def test_an_open_store_shows_its_path_and_the_first_page(open_app: App, tmp_path: Path) -> None:
    assert open_app.window.page_id == "memory"
    assert open_app.window.strip.path_text == str(tmp_path / "store")


def test_a_new_store_starts_with_the_balanced_profile(app: App, qtbot: QtBot, tmp_path: Path) -> None:
    with qtbot.waitSignal(app.host.store_opened):
        app.flow.open_new(tmp_path / "new")
    weights: list[object] = []
    app.host.read(lambda memory: memory.settings.signal_weights, weights.append)
    qtbot.waitUntil(lambda: weights == [BALANCED_WEIGHTS])


def test_new_in_a_folder_with_a_store_opens_it_as_it_is(open_app: App, qtbot: QtBot, tmp_path: Path) -> None:
    with qtbot.waitSignal(open_app.host.store_opened):
        open_app.flow.open_new(tmp_path / "store")
    assert "already" in open_app.window.toasts.texts()[-1]
    agents: list[int] = []
    open_app.host.read(lambda memory: len(memory.agents()), agents.append)
    qtbot.waitUntil(lambda: bool(agents))
    assert agents[0] >= 2


def test_opening_a_folder_without_a_store_says_so_and_offers_one(app: App, tmp_path: Path) -> None:
    app.flow.open_existing(tmp_path)
    assert "no store" in app.window.toasts.texts()[0]
    assert not app.host.is_open


def test_a_store_that_cannot_be_opened_is_explained_on_the_first_page(app: App, qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"this is no database at all" * 100)
    with qtbot.waitSignal(app.host.open_failed):
        app.start(tmp_path)
    shown = [label.text() for label in app.start_page.findChildren(QWidget) if hasattr(label, "text")]
    assert any("left as it is" in str(text) for text in shown)
    assert app.window.page_id is None


def test_enter_on_a_choice_chooses_it(app: App, qtbot: QtBot) -> None:
    choice = next(each for each in app.start_page.findChildren(Choice) if each.accessibleName() == "Import")
    with qtbot.waitSignal(choice.chosen):
        QTest.keyClick(choice, Qt.Key.Key_Return)
    assert [each for each in app.window.findChildren(QDialog) if each.isVisible()] != []
    for dialog in app.window.findChildren(QDialog):
        dialog.reject()


def test_pages_are_reached_by_their_shortcuts(open_app: App) -> None:
    own = {"past": "Ctrl+Shift+P", "sources": "Ctrl+0", "settings": "Ctrl+,"}
    for number, page_id in enumerate(open_app.window.pages, start=1):
        open_app.actions.run(f"page.{page_id}")
        assert open_app.window.page_id == page_id
        assert open_app.actions.spec(f"page.{page_id}").shortcut == own.get(page_id, f"Ctrl+{number}")


def test_the_palette_finds_pages_actions_and_agents(open_app: App, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: len(open_app.agents) >= 2)
    assert open_app.find_entries("checkpoints")[0].title == "Checkpoints"
    assert open_app.find_entries("dark")[0].title == "Dark theme"
    assert open_app.find_entries("ops")[0].group == "Agent"
    open_app.find_entries("dark")[0].run()
    assert open_app.theme.is_dark


def test_an_agent_chosen_in_the_palette_narrows_the_memory_page(open_app: App, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: len(open_app.agents) >= 2)
    open_app.show_page("vault")
    next(each for each in open_app.find_entries("ops") if each.group == "Agent").run()
    assert open_app.window.page_id == "memory"
    assert open_app.remembering.filter.agent_id == "ops"


def test_every_action_is_reachable_and_named(open_app: App) -> None:
    for spec in open_app.actions.specs():
        assert spec.title
        assert (
            spec.menu or spec.shortcut or spec.icon or spec.id.split(".")[0] in ("fact", "filter", "hit", "checkpoint")
        )
    shortcuts = [spec.shortcut for spec in open_app.actions.specs() if spec.menu and spec.shortcut]
    assert len(shortcuts) == len(set(shortcuts))


def test_every_icon_only_button_has_a_name_and_a_tooltip(open_app: App) -> None:
    for page_id in open_app.window.pages:
        open_app.show_page(page_id)
    bare = [each for each in open_app.window.findChildren(QToolButton) if not each.icon().isNull() and not each.text()]
    ours = [each for each in bare if not isinstance(each.parent(), QMenuBar | QLineEdit | QTabBar)]
    nameless = [each for each in ours if not each.accessibleName() or not each.toolTip()]
    assert [str(each.parent()) for each in nameless] == []


def test_the_undo_menu_names_the_step(open_app: App, qtbot: QtBot) -> None:
    done: list[int] = []
    open_app.host.write(lambda memory: memory.remember("ops", "new").version, done.append)
    qtbot.waitUntil(lambda: bool(done))
    open_app.undo.did("Added a fact", done[0])
    assert open_app.actions.action("step.undo").text() == "Undo: Added a fact"
    assert open_app.actions.action("step.undo").isEnabled()
    assert open_app.window.toasts.texts()[-1] == "Added a fact"
    open_app.actions.run("step.undo")
    qtbot.waitUntil(lambda: open_app.actions.action("step.redo").text() == "Redo: Added a fact")


def test_closing_asks_while_a_task_runs(open_app: App, qtbot: QtBot) -> None:
    release = threading.Event()

    def job(memory: Memory, progress: Progress, cancel: CancelToken) -> None:
        release.wait(30)

    task = open_app.host.run_task("Long work", job, lambda _: None)
    assert not open_app.window.close()
    box = open_app.window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    assert "1 task" in box.text()
    with qtbot.waitSignal(box.finished):
        box.reject()
    assert open_app.window.isVisible()
    with qtbot.waitSignal(task.ended):
        release.set()
    assert open_app.window.close()


def test_a_bug_shows_a_report_that_can_be_copied(open_app: App, qtbot: QtBot) -> None:
    open_app.host.read(lambda memory: 1 // 0, lambda _: None, lambda _: None)
    qtbot.waitUntil(lambda: open_app.window.findChild(CrashDialog) is not None)
    dialog = open_app.window.findChild(CrashDialog)
    assert isinstance(dialog, CrashDialog)
    text = dialog.findChild(QPlainTextEdit)
    assert isinstance(text, QPlainTextEdit)
    assert "ZeroDivisionError" in text.toPlainText()
    dialog.copy_report()
    assert "ZeroDivisionError" in QApplication.clipboard().text()
    assert "ZeroDivisionError" in (open_app.places.logs / "last-crash.txt").read_text()
    assert "ZeroDivisionError" in (open_app.places.logs / "desktop.log").read_text()
    dialog.accept()


def test_a_dropped_file_is_looked_into_and_imported(open_app: App, qtbot: QtBot, tmp_path: Path) -> None:
    export = tmp_path / "memories.json"
    export.write_text(json.dumps([_record(number) for number in range(5)]))
    _drop(open_app, export)
    qtbot.waitUntil(lambda: open_app.window.findChild(ImportDialog) is not None)
    dialog = _dialog(open_app, ImportDialog)
    qtbot.waitUntil(lambda: _shows(dialog, "Import"))
    _button(dialog, "Import").click()
    qtbot.waitUntil(lambda: _shows(dialog, "Show memory"))
    counted: list[int] = []
    open_app.host.read(lambda memory: memory.stats("imported").fact_count, counted.append)
    qtbot.waitUntil(lambda: counted == [5])
    with qtbot.waitSignal(dialog.finished):
        _button(dialog, "Show memory").click()
    assert open_app.window.page_id == "memory"
    open_app.actions.run("step.undo")
    qtbot.waitUntil(lambda: open_app.undo.redo_text == "Imported memories.json")
    open_app.host.read(lambda memory: memory.stats("imported").fact_count, counted.append)
    qtbot.waitUntil(lambda: counted == [5, 0])


def test_the_demo_that_is_opened_from_the_settings_shows_its_facts(open_app: App, qtbot: QtBot, tmp_path: Path) -> None:
    with open_scripted(tmp_path / "demo", read_only=False) as memory:
        memory.remember("ops", "A fact of the demo")
    open_app.show_page("settings")
    open_app.flow.reopen()  # the same store, as another model asks for
    qtbot.waitUntil(lambda: open_app.host.is_open)
    assert open_app.window.page_id == "settings"
    open_app.flow.open_demo(tmp_path / "demo")
    qtbot.waitUntil(lambda: open_app.host.is_open)
    assert open_app.window.page_id == "memory"


def test_the_shortcuts_are_listed_from_the_action_table(open_app: App) -> None:
    open_app.actions.run("shortcuts.show")
    dialog = _dialog(open_app, ShortcutsDialog)
    shown = {label.text() for label in dialog.findChildren(QLabel)}
    assert {"Command palette", "Ctrl+K", "Undo", "Ctrl+Z", "Publish", "Ctrl+Enter"} <= shown
    dialog.accept()


def test_a_folder_of_the_go_program_offers_the_import(app: App, qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "gray.db").write_bytes(b"whatever is inside")
    app.flow.open_existing(tmp_path)
    assert "gray.db" in app.window.toasts.texts()[-1]
    assert [each.text() for each in app.window.toasts.findChildren(QPushButton)] == ["Import"]


def test_a_dropped_file_of_another_kind_is_refused_with_a_sentence(open_app: App, tmp_path: Path) -> None:
    picture = tmp_path / "cat.png"
    picture.write_bytes(b"\x89PNG")
    _drop(open_app, picture)
    assert "not a store" in open_app.window.toasts.texts()[-1]


def test_a_broken_import_file_says_why_and_changes_nothing(open_app: App, qtbot: QtBot, tmp_path: Path) -> None:
    broken = tmp_path / "gray.db"
    broken.write_bytes(b"not a bbolt file")
    open_app.flow.import_file(broken)
    dialog = _dialog(open_app, ImportDialog)
    qtbot.waitUntil(lambda: dialog.findChildren(QPushButton)[-1].text() == "Close")
    seq: list[int] = []
    open_app.host.read(lambda memory: memory.last_seq(), seq.append)
    qtbot.waitUntil(lambda: seq == [4])
    dialog.reject()


def test_window_page_and_theme_are_remembered(open_app: App, qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    open_app.show_page("vault")
    open_app.actions.run("theme.dark")
    open_app.window.resize(1000, 700)
    open_app.window.close()
    again = App(
        qapp,
        places=Places(tmp_path / "preferences", tmp_path / "logs2"),
        clock=FrozenClock(),
        opener=open_scripted,
    )
    try:
        assert again.theme.is_dark
        assert again.window.height() == 700  # the width does not fit the test's small screen
        again.start(None)
        qtbot.waitUntil(lambda: again.host.is_open)
        assert again.window.page_id == "vault"
    finally:
        again.close()
        again.window.deleteLater()
        again.deleteLater()


def test_a_read_only_store_says_so_and_offers_no_import(app: App, qtbot: QtBot, tmp_path: Path) -> None:
    with open_scripted(tmp_path / "store", read_only=False) as memory:
        memory.remember("ops", "one")
    app.start(tmp_path / "store", read_only=True)
    qtbot.waitUntil(lambda: app.host.is_open)
    assert not app.actions.action("store.import").isEnabled()


def test_publishing_reports_what_was_written(open_app: App, qtbot: QtBot, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    open_app.show_page("vault")
    open_app.publishing.choose(vault=str(vault))
    open_app.actions.refresh()
    open_app.actions.run("vault.publish")
    qtbot.waitUntil(lambda: not open_app.publishing.is_publishing, timeout=20_000)
    assert (vault / "Memory" / "Memory.md").is_file()
    assert "written to the vault" in open_app.window.toasts.texts()[-1]


def test_a_folder_outside_the_vault_is_refused_with_a_sentence(open_app: App, qtbot: QtBot, tmp_path: Path) -> None:
    open_app.show_page("vault")
    open_app.publishing.choose(vault=str(tmp_path), folder="../elsewhere")
    open_app.publishing.publish()
    qtbot.waitUntil(lambda: not open_app.publishing.is_publishing)
    shown = [label.text() for label in open_app.window.pages["vault"].findChildren(QLabel)]
    assert any("Nothing was published" in text for text in shown)


def _record(number: int) -> dict[str, object]:
    return {
        "id": f"01ARZ3NDEKTSV4RRFFQ69G5FA{number}",
        "agent_id": "imported",
        "text": f"Imported fact {number}",
        "created_at": "2026-01-01T00:00:00Z",
        "accessed_at": "2026-01-01T00:00:00Z",
        "access_count": 0,
        "weight": 1.0,
    }


def _drop(app: App, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    app.window.dropEvent(
        QDropEvent(
            QPointF(QPoint(400, 300)),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )


def test_a_store_is_not_let_go_of_while_a_task_works_on_it(open_app: App, qtbot: QtBot) -> None:
    release = threading.Event()
    task = open_app.host.run_task("Long work", lambda memory, progress, cancel: release.wait(30), lambda _: None)
    open_app.actions.run("store.close")
    assert open_app.host.is_open
    assert "Long work is still running" in open_app.window.toasts.texts()[-1]
    with qtbot.waitSignal(task.ended):
        release.set()
    open_app.actions.run("store.close")
    assert open_app.window.page_id is None


def test_a_hovering_file_is_told_what_dropping_does(open_app: App, tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "memories.json"))])
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(400, 300), Qt.DropAction.CopyAction, data, buttons, keys)
    hint = open_app.window.findChild(DropHint)
    assert isinstance(hint, DropHint)
    open_app.window.dragEnterEvent(enter)
    assert enter.isAccepted()
    assert hint.isVisible()
    open_app.window.dragLeaveEvent(QDragLeaveEvent())
    assert not hint.isVisible()


def test_text_dragged_over_the_window_is_no_import(open_app: App) -> None:
    data = QMimeData()
    data.setText("gray.db")
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(400, 300), Qt.DropAction.CopyAction, data, buttons, keys)
    enter.ignore()
    open_app.window.dragEnterEvent(enter)
    assert not enter.isAccepted()


def test_toasts_stand_where_the_rail_is_empty_and_cover_nothing(
    open_app: App, qapp: QApplication, qtbot: QtBot
) -> None:
    window = open_app.window
    window.resize(1280, 800)
    try:
        for direction in (Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft):
            qapp.setLayoutDirection(direction)
            open_app.notices.show("Moved 3 facts", action=("Undo", lambda: None))
            entries = [each for each in window.rail.findChildren(RailButton) if each.isVisible()]
            assert len(entries) > 12
            qtbot.waitUntil(partial(_keep_clear, window, entries, is_mirrored=qapp.isRightToLeft()))
    finally:
        qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


def _keep_clear(window: MainWindow, entries: list[RailButton], *, is_mirrored: bool) -> bool:
    toasts = QRect(window.toasts.mapTo(window, QPoint()), window.toasts.size())
    page = window.pages["memory"]
    rail = QRect(window.rail.mapTo(window, QPoint()), window.rail.size())
    covered = [each.text() for each in entries if toasts.intersects(QRect(each.mapTo(window, QPoint()), each.size()))]
    assert covered == []
    assert rail.contains(toasts)
    assert not toasts.intersects(QRect(page.mapTo(window, QPoint()), page.size()))
    assert (rail.x() > 600) == is_mirrored
    return True


def test_in_a_small_window_toasts_stand_over_the_rail_and_never_over_a_page(open_app: App, qtbot: QtBot) -> None:
    window = open_app.window
    page = window.pages["memory"]
    text = "“Delivery inside Germany takes three working days” was retired"
    window.toasts.show_toast(text, level="success", action=("Undo", lambda: None), lasting=True)
    for width, height in ((926, window.minimumSizeHint().height()), (1280, 800), (926, 700)):
        window.resize(width, height)
        qtbot.waitUntil(lambda: window.toasts.geometry().bottom() < window.rail.gap.bottom())
        qtbot.waitUntil(lambda: window.toasts.geometry().bottom() > window.rail.gap.bottom() - 10)
        toasts = QRect(window.toasts.mapTo(window, QPoint()), window.toasts.size())
        assert QRect(window.rail.mapTo(window, QPoint()), window.rail.size()).contains(toasts)
        assert not toasts.intersects(QRect(page.mapTo(window, QPoint()), page.size()))
    window.toasts.clear()


def test_toasts_of_a_closed_store_are_taken_away(open_app: App) -> None:
    open_app.notices.show("Pinned", action=("Undo", lambda: None))
    assert open_app.window.toasts.texts() == ("Pinned",)
    open_app.actions.run("store.close")
    assert open_app.window.toasts.texts() == ()


def test_a_page_shows_at_once_while_the_store_opens(app: App, qtbot: QtBot, tmp_path: Path) -> None:
    app.start(tmp_path / "store")
    assert not app.host.is_open
    assert app.window.page_id == "memory"
    qtbot.waitUntil(lambda: app.host.is_open)
    assert app.window.page_id == "memory"
