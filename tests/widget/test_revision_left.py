"""An editor that is left while its revision is being written: nothing of what is typed next is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.revision import RevisionViewModel
from gm_desktop.views.revise_dialog import ReviseDialog
from gm_engine import Memory
from gm_engine.errors import GrayMatterError

ASK = Callable[[EngineHost, Callable[[Memory], object]], object]


@pytest.fixture
def revision(open_host: EngineHost, undo: UndoController) -> RevisionViewModel:
    return RevisionViewModel(open_host, undo, open_host)


@pytest.fixture
def held(open_host: EngineHost) -> Iterator[Event]:
    """Set, it lets go of the write lane, which another program's long transaction holds up."""
    gate = Event()
    yield gate
    gate.set()


def _open(revision: RevisionViewModel, qtbot: QtBot, fact_id: str) -> None:
    with qtbot.waitSignal(revision.opened):
        revision.open(fact_id)


def _two(host: EngineHost, asked: ASK) -> tuple[str, str]:
    def write(memory: Memory) -> tuple[str, str]:
        return memory.remember("sales", "Ann prefers mail").id, memory.remember("sales", "Bob prefers mail").id

    found = asked(host, write)
    assert isinstance(found, tuple)
    return found


def test_what_is_typed_about_another_fact_stays_when_the_first_one_is_saved_at_last(
    open_host: EngineHost, revision: RevisionViewModel, held: Event, qtbot: QtBot, asked: ASK
) -> None:
    first, second = _two(open_host, asked)
    _open(revision, qtbot, first)
    revision.set_draft("Ann prefers a call")
    open_host.write(lambda _: held.wait(60), lambda _: None)
    revision.save()
    revision.close()  # Escape
    _open(revision, qtbot, second)
    revision.set_draft("Bob prefers a let")
    with qtbot.waitSignal(revision.saved):
        held.set()
    assert (revision.is_open, revision.before, revision.draft) == (True, "Bob prefers mail", "Bob prefers a let")
    revision.discard()
    _open(revision, qtbot, first)
    assert revision.draft == "Ann prefers mail", "the draft was written, it waits no more"
    revision.discard()


def test_a_save_that_fails_after_its_editor_was_left_is_told_and_the_draft_waits(
    open_host: EngineHost, revision: RevisionViewModel, held: Event, qtbot: QtBot, asked: ASK
) -> None:
    first, second = _two(open_host, asked)
    failures: list[GrayMatterError] = []
    in_editor: list[str] = []
    open_host.failed.connect(failures.append)
    revision.failed.connect(in_editor.append)
    _open(revision, qtbot, first)
    revision.set_draft("Ann prefers a call")
    open_host.write(lambda _: held.wait(60), lambda _: None)
    open_host.write(lambda memory: memory.retire("sales", [first]), lambda _: None)
    revision.save()
    revision.close()
    _open(revision, qtbot, second)
    held.set()
    qtbot.waitUntil(lambda: bool(failures))
    assert failures[0].code == "fact_changed"
    assert (in_editor, revision.conflict, revision.before) == ([], None, "Bob prefers mail")
    revision.discard()
    _open(revision, qtbot, first)
    assert revision.draft == "Ann prefers a call"
    revision.discard()


def test_while_a_revision_is_written_nothing_is_typed_that_would_not_be_in_it(
    open_host: EngineHost, revision: RevisionViewModel, held: Event, theme: Theme, qtbot: QtBot, asked: ASK
) -> None:
    first, _ = _two(open_host, asked)
    page = QWidget()
    qtbot.addWidget(page)
    dialog = ReviseDialog(revision, theme, page)
    _open(revision, qtbot, first)
    dialog.diff.after.setPlainText("")
    QTest.keyClicks(dialog.diff.after, "Ann calls")
    open_host.write(lambda _: held.wait(60), lambda _: None)
    revision.save()
    QTest.keyClicks(dialog.diff.after, " on Mondays")
    assert dialog.diff.after.raw_text() == "Ann calls"
    with qtbot.waitSignal(revision.saved):
        held.set()
    _open(revision, qtbot, first)
    QTest.keyClicks(dialog.diff.after, "!")
    assert revision.draft == "Ann prefers mail!"
    revision.discard()
