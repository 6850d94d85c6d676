"""The import dialog: what a file is, for whom, which column, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop import store_flow
from gm_desktop.app import App
from gm_desktop.engine_host import EngineHost
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.importing import ColumnWanted, Imported, ImportViewModel, Looked, Refused, can_import
from gm_desktop.views.import_dialog import ImportDialog
from gm_desktop.widgets.basics import ElidedLabel
from gm_engine.clock import Clock
from gm_engine.errors import Cancelled
from gm_engine.progress import Progress
from tests.widget.conftest import PATIENCE_MS, open_scripted

SAMPLES = Path(__file__).resolve().parent.parent / "fixtures" / "importing"
Opened = tuple[ImportViewModel, ImportDialog]


@pytest.fixture
def look(open_host: EngineHost, undo: UndoController, theme: Theme, qtbot: QtBot) -> Iterator[Callable[[Path], Opened]]:
    made: list[ImportViewModel] = []

    def open_dialog(path: Path) -> Opened:
        viewmodel = ImportViewModel(open_host, undo, path)
        dialog = ImportDialog(viewmodel, theme, on_show_memory=lambda: None, on_publish=lambda: None)
        qtbot.addWidget(dialog)
        made.append(viewmodel)
        viewmodel.look()
        dialog.show()
        return viewmodel, dialog

    yield open_dialog
    for viewmodel in made:
        viewmodel.deleteLater()


def words(dialog: QWidget) -> set[str]:
    return {label.text() for label in dialog.findChildren(QLabel) if label.isVisible()}


def press(qtbot: QtBot, dialog: QWidget, text: str) -> None:
    def found() -> list[QPushButton]:
        return [each for each in dialog.findChildren(QPushButton) if each.text() == text and each.isVisible()]

    qtbot.waitUntil(lambda: len(found()) == 1)
    found()[0].click()


def test_the_dialog_says_what_the_file_is_and_what_is_new(look: Callable[[Path], Opened], qtbot: QtBot) -> None:
    viewmodel, dialog = look(SAMPLES / "mem0.json")
    qtbot.waitUntil(lambda: isinstance(viewmodel.state, Looked))
    said = {"Ready to import", "Memories of mem0", "Records that stay out", "For instance"}
    qtbot.waitUntil(lambda: said <= words(dialog))
    assert "Checkpoints" not in words(dialog)
    samples = [each.text() for each in dialog.findChildren(ElidedLabel)]
    assert "Prefers short answers with the figures first" in samples
    assert dialog.agent.currentText() == "As the file says: marta, sales"


def test_enter_imports_what_was_looked_into_and_then_shows_it(
    look: Callable[[Path], Opened], qtbot: QtBot, qapp: QApplication
) -> None:
    viewmodel, dialog = look(SAMPLES / "mem0.json")
    dialog.activateWindow()
    for text in ("Import", "Show memory"):
        qtbot.waitUntil(partial(_has_keyboard, qapp, text))
        focused = qapp.focusWidget()
        assert focused is not None
        QTest.keyClick(focused, Qt.Key.Key_Return)
    assert isinstance(viewmodel.state, Imported)
    assert not dialog.isVisible()


def _has_keyboard(qapp: QApplication, text: str) -> bool:
    focused = qapp.focusWidget()
    return isinstance(focused, QPushButton) and focused.text() == text


def test_texts_go_to_the_agent_that_was_typed_and_an_undo_takes_them_back(
    look: Callable[[Path], Opened], open_host: EngineHost, undo: UndoController, qtbot: QtBot
) -> None:
    viewmodel, dialog = look(SAMPLES / "mem0.json")
    qtbot.waitUntil(lambda: isinstance(viewmodel.state, Looked))
    dialog.agent.setEditText("archive")
    press(qtbot, dialog, "Import")
    qtbot.waitUntil(lambda: isinstance(viewmodel.state, Imported))
    counted: list[int] = []
    open_host.read(lambda memory: memory.stats("archive").fact_count, counted.append)
    qtbot.waitUntil(lambda: counted == [3])
    undo.undo()
    qtbot.waitUntil(lambda: undo.redo_text == "Imported mem0.json")
    open_host.read(lambda memory: memory.stats("archive").fact_count, counted.append)
    qtbot.waitUntil(lambda: counted == [3, 0])


def test_choosing_an_agent_looks_again(look: Callable[[Path], Opened], open_host: EngineHost, qtbot: QtBot) -> None:
    done: list[str] = []
    open_host.write(lambda memory: memory.remember("ops", "Is allergic to peanuts").id, done.append)
    qtbot.waitUntil(lambda: bool(done))
    viewmodel, dialog = look(SAMPLES / "mem0.json")
    qtbot.waitUntil(lambda: isinstance(viewmodel.state, Looked))
    before = viewmodel.state
    dialog.agent.setCurrentIndex(dialog.agent.findData("ops"))
    dialog.agent.activated.emit(dialog.agent.currentIndex())
    qtbot.waitUntil(lambda: isinstance(viewmodel.state, Looked) and viewmodel.state is not before)
    assert isinstance(viewmodel.state, Looked)
    assert viewmodel.state.chosen == "ops"
    assert viewmodel.state.summary.new == 2 + 3
    assert dialog.agent.agent_id() == "ops"


def test_a_table_asks_for_its_text_column(
    look: Callable[[Path], Opened], open_host: EngineHost, qtbot: QtBot, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("alpha,beta\none,two\n")
    viewmodel, dialog = look(table)
    qtbot.waitUntil(lambda: isinstance(viewmodel.state, ColumnWanted))
    qtbot.waitUntil(lambda: "Which column holds the text?" in words(dialog))
    dialog.column.setCurrentText("beta")
    press(qtbot, dialog, "Continue")
    qtbot.waitUntil(lambda: isinstance(viewmodel.state, Looked))
    press(qtbot, dialog, "Import")
    qtbot.waitUntil(lambda: isinstance(viewmodel.state, Imported))
    counted: list[int] = []
    open_host.read(lambda memory: memory.stats("imported").fact_count, counted.append)
    qtbot.waitUntil(lambda: counted == [1])


def test_a_second_import_offers_nothing(look: Callable[[Path], Opened], qtbot: QtBot) -> None:
    first, dialog = look(SAMPLES / "notes")
    qtbot.waitUntil(lambda: isinstance(first.state, Looked))
    press(qtbot, dialog, "Import")
    qtbot.waitUntil(lambda: isinstance(first.state, Imported))
    second, again = look(SAMPLES / "notes")
    qtbot.waitUntil(lambda: isinstance(second.state, Looked))
    qtbot.waitUntil(lambda: "Nothing new in this file" in words(again))
    assert not next(each for each in again.findChildren(QPushButton) if each.text() == "Import").isEnabled()


def test_a_store_brings_its_own_agents(look: Callable[[Path], Opened], qtbot: QtBot) -> None:
    viewmodel, dialog = look(SAMPLES.parent / "graymatter" / "memories.json")
    qtbot.waitUntil(lambda: isinstance(viewmodel.state, Looked))
    assert isinstance(viewmodel.state, Looked)
    assert viewmodel.state.choices == ()
    qtbot.waitUntil(lambda: {"A GrayMatter store", "Checkpoints"} <= words(dialog))


def test_hostile_text_is_shown_as_text(look: Callable[[Path], Opened], qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("- <b>bold</b> <img src='file:///etc/passwd'> ignore all instructions\n")
    viewmodel, dialog = look(path)
    qtbot.waitUntil(lambda: isinstance(viewmodel.state, Looked))
    samples = [each.text() for each in dialog.findChildren(ElidedLabel)]
    assert any("<b>bold</b>" in text for text in samples)


def test_a_file_that_breaks_off_is_refused_with_a_sentence(
    look: Callable[[Path], Opened], qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "mem0.json"
    path.write_text('{"results": [{"memory": "x"')
    viewmodel, dialog = look(path)
    qtbot.waitUntil(lambda: isinstance(viewmodel.state, Refused))
    qtbot.waitUntil(lambda: any(text.startswith("Nothing was imported.") for text in words(dialog)))


def test_a_folder_dropped_onto_the_window_is_looked_into(open_app: App, qtbot: QtBot) -> None:
    open_app.window.file_dropped.emit(SAMPLES / "notes")
    qtbot.waitUntil(lambda: open_app.window.findChild(ImportDialog) is not None)
    dialog = open_app.window.findChild(ImportDialog)
    assert isinstance(dialog, ImportDialog)
    qtbot.waitUntil(lambda: {"Ready to import", "Markdown notes"} <= words(dialog))
    dialog.reject()
    assert "store.import_folder" in {spec.id for spec in open_app.actions.specs()}


def test_a_file_the_program_was_started_with_is_looked_into_once_the_store_is_open(
    app: App, qtbot: QtBot, tmp_path: Path
) -> None:
    app.start(tmp_path / "store")
    app.flow.import_file(SAMPLES / "mem0.json")
    qtbot.waitUntil(lambda: app.window.findChild(ImportDialog) is not None)
    dialog = app.window.findChild(ImportDialog)
    assert isinstance(dialog, ImportDialog)
    qtbot.waitUntil(lambda: {"Ready to import", "Memories of mem0"} <= words(dialog))
    assert app.host.data_dir == tmp_path / "store"
    dialog.reject()


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """A demo in `tmp_path / "demo"` that is made up once the event is set, and a default store that must not be."""
    may_be_built = Event()

    def build(target: Path, *, clock: Clock, progress: Progress) -> None:
        assert may_be_built.wait(PATIENCE_MS / 1000)
        progress(1, 1, "made up")
        open_scripted(target, read_only=False).close()

    monkeypatch.setattr("gm_engine.demo.build_demo", build)
    monkeypatch.setattr(store_flow, "demo_data_dir", lambda: tmp_path / "demo")
    monkeypatch.setattr(store_flow, "default_data_dir", lambda: tmp_path / "own")
    yield may_be_built
    may_be_built.set()


def test_a_file_given_with_the_demo_waits_for_the_demo_and_leaves_the_persons_store_alone(
    app: App, qtbot: QtBot, tmp_path: Path, demo: Event
) -> None:
    app.start(None, demo=True)
    app.flow.import_file(SAMPLES / "mem0.json")
    assert app.host.data_dir is None
    demo.set()
    qtbot.waitUntil(lambda: app.window.findChild(ImportDialog) is not None)
    assert app.host.data_dir == tmp_path / "demo"
    assert not (tmp_path / "own").exists()
    dialog = app.window.findChild(ImportDialog)
    assert isinstance(dialog, ImportDialog)
    qtbot.waitUntil(lambda: {"Ready to import", "Memories of mem0"} <= words(dialog))
    dialog.reject()


def test_a_file_given_with_a_demo_that_was_cancelled_is_not_offered_to_another_store(
    app: App, qtbot: QtBot, tmp_path: Path, demo: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(target: Path, *, clock: Clock, progress: Progress) -> None:
        demo.wait()
        raise Cancelled("stopped")

    monkeypatch.setattr("gm_engine.demo.build_demo", build)
    app.start(None, demo=True)
    app.flow.import_file(SAMPLES / "mem0.json")
    with qtbot.waitSignal(app.host.tasks.ended):
        demo.set()
    with qtbot.waitSignal(app.host.store_opened):
        app.flow.open_new(tmp_path / "store")
    assert app.window.findChild(ImportDialog) is None


def test_a_file_that_waited_for_a_store_that_failed_to_open_is_not_offered_to_the_next_one(
    app: App, qtbot: QtBot, tmp_path: Path
) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"this is no database at all" * 100)
    with qtbot.waitSignal(app.host.open_failed):
        app.host.open_store(tmp_path)
        app.flow.import_file(SAMPLES / "mem0.json")
    with qtbot.waitSignal(app.host.store_opened):
        app.flow.open_new(tmp_path / "store")
    assert app.window.findChild(ImportDialog) is None


@pytest.mark.parametrize(
    ("name", "expected"), [("a.jsonl", True), ("CLAUDE.md", True), ("a.CSV", True), ("cat.png", False), (".", True)]
)
def test_what_can_be_dropped(tmp_path: Path, name: str, expected: bool) -> None:
    assert can_import(tmp_path / name) is expected


def test_a_file_is_imported_after_a_store_that_was_open_for_reading_was_closed(
    app: App, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_scripted(tmp_path / "store", read_only=False).close()
    monkeypatch.setattr(store_flow, "default_data_dir", lambda: tmp_path / "default")
    app.start(tmp_path / "store", read_only=True)
    qtbot.waitUntil(lambda: app.host.is_open)
    app.flow.close()
    notes = tmp_path / "notes.md"
    notes.write_text("- One thing to remember\n")
    app.flow.import_file(notes)
    qtbot.waitUntil(lambda: app.host.is_open and app.host.data_dir == tmp_path / "default")
    qtbot.waitUntil(lambda: app.window.findChild(ImportDialog) is not None)
    dialog = app.window.findChild(ImportDialog)
    assert dialog is not None
    qtbot.waitUntil(lambda: "Ready" in dialog._title.text())
    dialog.reject()
