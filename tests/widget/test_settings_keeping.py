"""Store maintenance: backups by hand and by themselves, restoring to a copy, removing a text for good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notice, Notices
from gm_desktop.tasks import Task
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.settings_keeping import KeepingSettings, purge_words
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.views.overview import OverviewPage
from gm_desktop.views.purge_dialog import PurgeDialog
from gm_desktop.views.settings_keeping import KeepingSection
from gm_desktop.widgets.line_view import LINE_INDENT
from gm_engine import Memory
from gm_engine.errors import StoreUnavailable
from gm_engine.records import BackupSchedule, PurgeReport
from tests.fakes.clock import FrozenClock

Asked = Callable[[EngineHost, Callable[[Memory], object]], object]


@pytest.fixture
def section(
    open_host: EngineHost, undo: UndoController, notices: Notices, theme: Theme, qtbot: QtBot
) -> KeepingSection:
    written: list[object] = []
    open_host.write(lambda memory: memory.remember("ops", "Rollbacks take ten minutes"), written.append)
    qtbot.waitUntil(lambda: bool(written))
    model = KeepingSettings(open_host, undo, notices, clock=FrozenClock(tick_s=0), parent=open_host)
    tester = QAbstractItemModelTester(model.lines, QAbstractItemModelTester.FailureReportingMode.Fatal)
    tester.setParent(open_host)
    made = KeepingSection(model, theme)
    made.resize(760, 900)
    qtbot.addWidget(made)
    made.show()
    made.look(True)
    qtbot.waitUntil(made.is_settled)
    return made


def settle(section: KeepingSection, qtbot: QtBot) -> None:
    qtbot.waitUntil(section.is_settled, timeout=15_000)


def dialogs(section: QWidget) -> list[QFileDialog]:
    return section.window().findChildren(QFileDialog)


def test_a_backup_is_made_listed_and_restored_to_a_copy(
    section: KeepingSection, told: list[Notice], tmp_path: Path, qtbot: QtBot
) -> None:
    model = section._viewmodel
    assert isinstance(model.state, Empty)
    assert not section.restore.isEnabled()
    section.now.click()
    assert not section.now.isEnabled()
    settle(section, qtbot)
    assert isinstance(model.state, Full)
    assert told[-1].text.startswith("Backed up to ")
    assert "1 fact" in model.lines.lines[0].note
    section.list.choose(0)
    assert section.restore.isEnabled()
    section.restore.click()
    dialogs(section)[-1].fileSelected.emit(str(tmp_path / "copy"))
    settle(section, qtbot)
    assert (tmp_path / "copy" / "ledger.sqlite").is_file()
    offer = told[-1].action
    assert offer is not None
    with qtbot.waitSignal(model.open_wanted) as opened:
        offer.run()
    assert opened.args == [tmp_path / "copy"]


def test_a_backup_goes_to_another_folder_and_comes_back_from_a_file(
    section: KeepingSection, tmp_path: Path, qtbot: QtBot
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    section.to_folder.click()
    dialogs(section)[-1].fileSelected.emit(str(folder))
    settle(section, qtbot)
    made = list(folder.glob("*.zip"))
    assert len(made) == 1
    section.restore_other.click()
    dialogs(section)[-1].fileSelected.emit(str(made[0]))
    dialogs(section)[-1].fileSelected.emit(str(tmp_path / "copy"))
    settle(section, qtbot)
    assert (tmp_path / "copy" / "ledger.sqlite").is_file()


def test_a_damaged_backup_says_so_and_is_not_restored(
    section: KeepingSection, told: list[Notice], open_host: EngineHost, tmp_path: Path, qtbot: QtBot
) -> None:
    assert open_host.data_dir is not None
    folder = open_host.data_dir / "backups"
    folder.mkdir(exist_ok=True)
    (folder / "broken.zip").write_bytes(b"no zip at all")
    section.look(True)
    settle(section, qtbot)
    assert section._viewmodel.lines.lines[0].mark == "damaged"
    section.list.choose(0)
    assert not section.restore.isEnabled()
    open_host.failed.connect(section._viewmodel._notices.show_failure)
    section._viewmodel.restore_file(folder / "broken.zip", tmp_path / "copy")
    settle(section, qtbot)
    assert told[-1].level in ("warning", "error")
    assert not (tmp_path / "copy").exists()


def test_a_schedule_makes_what_is_due_and_is_one_step_to_undo(
    section: KeepingSection,
    open_host: EngineHost,
    undo: UndoController,
    told: list[Notice],
    asked: Asked,
    tmp_path: Path,
    qtbot: QtBot,
) -> None:
    assert not section.kept.isEnabled()
    section.every.choose("24")
    section.every.activated.emit(section.every.currentIndex())
    qtbot.waitUntil(lambda: [line.mark for line in section._viewmodel.lines.lines] == ["scheduled"], timeout=15_000)
    settle(section, qtbot)
    assert section.kept.isEnabled()
    section.kept.setValue(3)
    qtbot.waitUntil(lambda: asked(open_host, lambda memory: memory.backup_schedule) == BackupSchedule(24, 3))
    settle(section, qtbot)
    (tmp_path / "nas").mkdir()
    section.choose_folder.click()
    dialogs(section)[-1].fileSelected.emit(str(tmp_path / "nas"))
    qtbot.waitUntil(lambda: section.folder.text() == str(tmp_path / "nas"))
    settle(section, qtbot)
    assert section.own_folder.isEnabled()
    changed = "Changed when backups are made"
    qtbot.waitUntil(lambda: [notice.text for notice in told].count(changed) == 3)
    undo.undo()
    qtbot.waitUntil(lambda: asked(open_host, lambda memory: memory.backup_schedule.folder) == "")
    section.look(True)
    settle(section, qtbot)
    assert section.folder.text() == "In the store's own folder"


def test_a_schedule_whose_folder_is_gone_complains_once(
    section: KeepingSection, told: list[Notice], open_host: EngineHost, tmp_path: Path, qtbot: QtBot
) -> None:
    folder = tmp_path / "stick"
    folder.mkdir()
    model = section._viewmodel
    model.set_schedule(24, 7, str(folder))
    qtbot.waitUntil(lambda: bool(list(folder.glob("*.zip"))), timeout=15_000)
    settle(section, qtbot)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    told.clear()
    for _ in range(3):
        section.look(True)
        settle(section, qtbot)
    assert len([notice for notice in told if notice.level in ("warning", "error")]) == 1


def test_a_scheduled_backup_that_was_cancelled_is_not_begun_again_at_once(
    section: KeepingSection, open_host: EngineHost, qtbot: QtBot
) -> None:
    begun: list[str] = []

    def cancel(task: Task) -> None:
        begun.append(task.title)
        task.cancel()

    open_host.tasks.started.connect(cancel)
    section._viewmodel.set_schedule(24, 7)
    qtbot.waitUntil(lambda: bool(begun))
    settle(section, qtbot)
    section.look(True)
    settle(section, qtbot)
    assert begun == ["Making the scheduled backup"]
    section._viewmodel.set_schedule(24, 8)
    qtbot.waitUntil(lambda: len(begun) == 2)
    settle(section, qtbot)


def test_backups_that_cannot_be_read_are_a_state_with_a_way_on(section: KeepingSection, qtbot: QtBot) -> None:
    section._viewmodel._on_failed(StoreUnavailable("The folder is locked."))
    assert isinstance(section._viewmodel.state, Failed)
    section.list.retry.click()
    settle(section, qtbot)
    assert isinstance(section._viewmodel.state, Empty)


def test_a_text_goes_for_good_after_it_was_shown_and_a_word_was_typed(
    section: KeepingSection, open_host: EngineHost, asked: Asked, qtbot: QtBot
) -> None:
    written: list[object] = []
    open_host.write(lambda memory: memory.remember("sales", "Rollbacks take ten minutes, says ops"), written.append)
    qtbot.waitUntil(lambda: bool(written))
    section.purge.click()
    dialog = section.window().findChildren(PurgeDialog)[-1]
    assert dialog.found.text() == "The facts that go are listed here."
    assert not dialog.remove.isEnabled()
    dialog.text.setPlainText("Rollbacks take ten minutes")
    qtbot.waitUntil(lambda: dialog.found.text() == "1 fact goes.")
    assert [line.note for line in dialog.lines.lines] == ["ops"]
    lefts = [each.mapTo(dialog, QPoint()).x() for each in (dialog.found, dialog.view)]
    assert lefts == [MARGIN, MARGIN - LINE_INDENT]  # the texts of the list stand below
    dialog.containing.click()
    qtbot.waitUntil(lambda: dialog.found.text() == "2 facts go.")
    assert not dialog.remove.isEnabled()
    QTest.keyClicks(dialog.typed, "Remove")
    assert dialog.remove.isEnabled()
    dialog.block.click()
    with qtbot.waitSignal(section._viewmodel.purged, timeout=15_000):
        dialog.remove.click()
    assert "bytes of 2 facts are gone for good" in dialog.said.text.text()
    assert "in the journal" in dialog.report.text()
    settle(section, qtbot)
    assert asked(open_host, lambda memory: [each.live for each in memory.agents()]) in ([], [0], [0, 0])
    assert asked(open_host, lambda memory: [each.text for each in memory.blocked.list()]) == [None, None]
    data = b"".join(path.read_bytes() for path in Path(str(open_host.data_dir)).rglob("*") if path.is_file())
    assert b"Rollbacks take" not in data
    dialog.close_it.click()
    assert section._viewmodel.preview is None


def test_a_text_that_the_store_never_held_is_told_and_nothing_goes(
    section: KeepingSection, told: list[Notice], open_host: EngineHost, qtbot: QtBot
) -> None:
    open_host.failed.connect(section._viewmodel._notices.show_failure)
    section.purge.click()
    dialog = section.window().findChildren(PurgeDialog)[-1]
    dialog.text.setPlainText("Nobody ever said this")
    qtbot.waitUntil(lambda: dialog.found.text().startswith("No fact holds it now."))
    QTest.keyClicks(dialog.typed, "remove")
    dialog.remove.click()
    settle(section, qtbot)
    assert "no such text" in told[-1].text
    assert dialog.stack.currentIndex() == 0
    QTest.keyClick(dialog, Qt.Key.Key_Escape)


def test_a_purge_is_told_in_figures_and_says_what_is_left() -> None:
    report = PurgeReport(
        facts=1,
        journal_images=3,
        vectors=1,
        proposals=0,
        backups=("a.zip",),
        removed_bytes=12_345,
        still_in=("a checkpoint of ops",),
        incomplete=("Close the other program.",),
    )
    sentence, lines = purge_words(report)
    assert sentence == "12,345 bytes of 1 fact are gone for good."
    assert lines == (
        "3 images in the journal",
        "1 vector",
        "1 backup written anew",
        "Still there, inside something longer: a checkpoint of ops",
        "Close the other program.",
    )


def test_the_overview_leads_to_backups_and_purging(open_app: App) -> None:
    open_app.show_page("overview")
    overview = open_app.window.pages["overview"]
    assert isinstance(overview, OverviewPage)
    overview.keep.click()
    assert open_app.window.page_id == "settings"
    assert open_app.settings._page.section_id == "keeping"


def test_the_menu_store_backs_up_restores_purges_and_examines(open_app: App, qtbot: QtBot) -> None:
    menu = [action.objectName() for action in open_app.actions.in_menu("Store")]
    assert menu == ["past.choose", "store.backup", "store.backup_to", "store.restore", "store.purge", "store.examine"]
    keeping = open_app.settings.keeping
    qtbot.waitUntil(lambda: keeping.can_back_up and not keeping.is_waiting)
    open_app.actions.run("store.backup")
    qtbot.waitUntil(lambda: len(keeping.lines.lines) == 1 and not keeping.is_waiting, timeout=15_000)
    open_app.actions.run("store.purge")
    dialog = open_app.window.findChildren(PurgeDialog)[-1]
    assert dialog.isVisible()
    dialog.reject()
