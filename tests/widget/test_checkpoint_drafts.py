"""An edited part of a checkpoint that is left waits, and one that is still being written takes nothing typed next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notices
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.checkpoint_edit import CheckpointEdit
from gm_desktop.views.json_dialog import JsonDialog
from gm_engine import Memory
from gm_engine.errors import GrayMatterError
from gm_engine.records import JsonPath

ASK = Callable[[EngineHost, Callable[[Memory], object]], object]
STEP: JsonPath = ("state", "step")
OPEN: JsonPath = ("state", "open")


@pytest.fixture
def checkpoint_id(open_host: EngineHost, asked: ASK) -> str:
    return str(asked(open_host, lambda memory: memory.checkpoints.save("ops", state={"step": 2, "open": [1]}).id))


@pytest.fixture
def edit(open_host: EngineHost, undo: UndoController, notices: Notices) -> CheckpointEdit:
    return CheckpointEdit(open_host, undo, notices, open_host)


@pytest.fixture
def held() -> Iterator[Event]:
    """Set, it lets go of the write lane, which another program's long transaction holds up."""
    gate = Event()
    yield gate
    gate.set()


def _open(edit: CheckpointEdit, qtbot: QtBot, checkpoint_id: str, path: JsonPath) -> None:
    with qtbot.waitSignal(edit.opened):
        edit.open(checkpoint_id, path)


def _type(edit: CheckpointEdit, qtbot: QtBot, text: str) -> None:
    edit.set_text(text)
    qtbot.waitUntil(lambda: edit.can_save)


def test_what_was_typed_and_left_is_there_when_the_part_is_edited_again(
    edit: CheckpointEdit, checkpoint_id: str, theme: Theme, qtbot: QtBot
) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    dialog = JsonDialog(edit, theme, page)
    _open(edit, qtbot, checkpoint_id, STEP)
    dialog.text.setPlainText("34")
    dialog.reject()
    _open(edit, qtbot, checkpoint_id, OPEN)
    assert dialog.text.toPlainText() == "[\n  1\n]"
    dialog.reject()
    _open(edit, qtbot, checkpoint_id, STEP)
    assert dialog.text.toPlainText() == "34"
    qtbot.waitUntil(dialog.save.isEnabled)
    with qtbot.waitSignal(edit.made):
        dialog.save.click()
    _open(edit, qtbot, checkpoint_id, STEP)
    assert dialog.text.toPlainText() == "2", "it was written and waits no more"
    dialog.reject()


def test_a_draft_that_is_begun_while_another_is_written_stays_open(
    edit: CheckpointEdit, open_host: EngineHost, checkpoint_id: str, held: Event, theme: Theme, qtbot: QtBot
) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    dialog = JsonDialog(edit, theme, page)
    _open(edit, qtbot, checkpoint_id, STEP)
    _type(edit, qtbot, "34")
    open_host.write(lambda _: held.wait(60), lambda _: None)
    edit.save()
    QTest.keyClicks(dialog.text, "5")
    assert edit.text == "34"
    dialog.reject()
    _open(edit, qtbot, checkpoint_id, OPEN)
    edit.set_text("[1, 2")
    with qtbot.waitSignal(edit.made):
        held.set()
    assert edit.draft is not None
    assert edit.text == "[1, 2"
    dialog.reject()
    _open(edit, qtbot, checkpoint_id, STEP)
    assert edit.text == "2"
    edit.close()


def test_a_save_that_fails_after_the_editor_was_left_is_told_and_the_draft_waits(
    edit: CheckpointEdit, open_host: EngineHost, checkpoint_id: str, held: Event, qtbot: QtBot
) -> None:
    failures: list[GrayMatterError] = []
    open_host.failed.connect(failures.append)
    _open(edit, qtbot, checkpoint_id, STEP)
    _type(edit, qtbot, "34")
    open_host.write(lambda _: held.wait(60), lambda _: None)
    open_host.write(lambda memory: memory.undo(memory.last_seq()), lambda _: None)
    edit.save()
    edit.close()
    held.set()
    qtbot.waitUntil(lambda: bool(failures))
    assert failures[0].code == "not_found"
    assert edit._kept.take((checkpoint_id, STEP), "") == "34"
