"""What a person does on the Checkpoints page: review, compare, bring back, edit, delete, take along."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.engine_host import EngineHost
from gm_desktop.models.change_table import AFTER, BEFORE, KIND, WHERE, ChangeTable
from gm_desktop.notices import Notice, Notices
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.checkpoint_compare import Compared, CompareFailed, NothingToCompare
from gm_desktop.viewmodels.checkpoint_details import CheckpointDetails, CheckpointUnread, DamagedCheckpoint
from gm_desktop.viewmodels.checkpoint_edit import MOST_CHARS, parse, replaced
from gm_desktop.viewmodels.checkpoint_moment import MomentShown
from gm_desktop.viewmodels.checkpoint_words import path_text
from gm_desktop.viewmodels.checkpoints import CheckpointsViewModel
from gm_desktop.viewmodels.states import Empty, Failed
from gm_desktop.views.checkpoints import CHANGES, MESSAGES, METADATA, MOMENT, STATE, CheckpointsPage
from gm_desktop.widgets.line_view import LINE_INDENT
from gm_engine import Memory, Message
from gm_engine.errors import StoreDamaged
from gm_engine.records import JsonChange, JsonValue
from tests.fakes.clock import FrozenClock
from tests.widget.writing import write_beside

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
ASK = Callable[[EngineHost, Callable[[Memory], object]], object]


@dataclass
class Desk:
    host: EngineHost
    undo: UndoController
    model: CheckpointsViewModel
    page: CheckpointsPage
    qtbot: QtBot
    told: list[Notice]

    def write(self, job: Callable[[Memory], object]) -> None:
        """Writes beside the page, as another program would, and waits until the page knows all of it."""
        write_beside(self.host, self.qtbot, job)
        self.settle()

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: not self.model.is_waiting)

    def run(self, action: str) -> None:
        """Runs an action of the page, as its key or menu would, and waits for the store."""
        (spec,) = [each for each in self.page.action_specs() if each.id == action]
        assert spec.when()
        with self.qtbot.waitSignal(self.host.changed):
            spec.run()
        self.settle()

    def can(self, action: str) -> bool:
        (spec,) = [each for each in self.page.action_specs() if each.id == action]
        return spec.when()

    def read(self, job: Callable[[Memory], object]) -> object:
        answers: list[object] = []
        self.host.read(job, answers.append)
        self.qtbot.waitUntil(lambda: bool(answers))
        return answers[0]

    def show_tab(self, at: int) -> None:
        self.page._tabs.setCurrentIndex(at)
        self.settle()


@pytest.fixture
def desk(
    open_host: EngineHost, undo: UndoController, notices: Notices, told: list[Notice], theme: Theme, qtbot: QtBot
) -> Desk:
    model = CheckpointsViewModel(open_host, undo, notices, FrozenClock(tick_s=0), open_host)
    for each in (model.checkpoints, model.agents, model.tree, model.compare.table, model.moment.facts):
        QAbstractItemModelTester(each, FATAL, each)
    page = CheckpointsPage(model, theme)
    page.resize(1000, 700)
    qtbot.addWidget(page)
    page.show()
    model.reload()
    qtbot.waitUntil(lambda: isinstance(model.state, Empty))
    made = Desk(open_host, undo, model, page, qtbot, told)
    made.write(save_three)
    return made


def save_three(memory: Memory) -> None:
    memory.checkpoints.save("ops", state={"step": 1, "open": ["a", "b"]}, metadata={"branch": "main"})
    memory.checkpoints.save("sales", state={"quote": "Q-1"})
    memory.checkpoints.save("ops", state={"step": 2, "open": ["a", "b"]}, messages=[Message("user", "Go")])


def test_a_verdict_is_given_with_a_note_shown_in_the_timeline_and_undone(desk: Desk) -> None:
    desk.page.review.note.setText("Agreed on Monday")
    desk.run("checkpoint.approve")
    line = desk.model.checkpoints.lines[0]
    assert (line.verdict, line.verdict_title) == ("approved", "Approved")
    assert desk.page.review.buttons["approved"].isChecked()
    assert desk.page.review.when.text().startswith("Approved on ")
    assert desk.model.review.note == "Agreed on Monday"
    assert desk.undo.undo_text == "Approved a checkpoint"
    with desk.qtbot.waitSignal(desk.host.changed):
        desk.undo.undo()
    desk.settle()
    assert desk.model.checkpoints.lines[0].verdict == ""
    assert not desk.page.review.buttons["approved"].isChecked()


def test_the_same_verdict_again_takes_it_back_and_a_note_can_follow(desk: Desk) -> None:
    desk.run("checkpoint.needs_work")
    desk.page.review.note.setText("Step 2 is wrong")
    with desk.qtbot.waitSignal(desk.host.changed):
        QTest.keyClick(desk.page.review.note, Qt.Key.Key_Return)
    desk.settle()
    assert (desk.model.review.verdict, desk.model.review.note) == ("needs_work", "Step 2 is wrong")
    desk.run("checkpoint.needs_work")
    assert (desk.model.review.verdict, desk.page.review.note.text()) == ("", "")


def test_a_note_that_is_being_written_survives_changes_by_others(desk: Desk) -> None:
    desk.page.review.note.setText("half a sen")
    desk.write(lambda memory: memory.checkpoints.save("ops", state={"step": 3}))
    assert desk.page.review.note.text() == "half a sen"
    desk.model.select(desk.model.checkpoints.lines[0].id)
    desk.settle()
    assert desk.page.review.note.text() == ""


def test_what_changed_since_the_agents_checkpoint_before_is_one_tab_away(desk: Desk) -> None:
    desk.show_tab(CHANGES)
    table = desk.model.compare.table
    assert desk.model.compare.state == Compared(3, "1 changed, 1 added, 1 removed")
    cells = [[table.data(table.index(row, column)) for column in (KIND, WHERE, BEFORE, AFTER)] for row in range(3)]
    assert cells == [
        ["Changed", "State › step", "1", "2"],
        ["Added", "Messages › 0", "", "user: Go"],
        ["Removed", "Metadata › branch", "main", ""],
    ]
    desk.qtbot.waitUntil(lambda: desk.model.compare.details is not None)
    details = desk.model.compare.details
    assert details is not None
    assert (details.before, details.after, details.removed, details.added) == ("1", "2", ((0, 1),), ((0, 1),))
    assert desk.page.changes.before.tinted_texts() == ("1",)


def test_any_two_checkpoints_are_compared(desk: Desk) -> None:
    desk.show_tab(CHANGES)
    other = next(line.id for line in desk.model.checkpoints.lines if line.agent == "sales")
    box = desk.page.changes.base
    box.setCurrentIndex(box.findData(other))
    box.activated.emit(box.currentIndex())
    desk.settle()
    assert (desk.model.compare.base_id, desk.model.compare.table.rowCount()) == (other, 4)
    desk.model.select(other)
    desk.settle()
    assert desk.model.compare.state == NothingToCompare(can_choose=True)


def test_two_that_are_the_same_say_so(desk: Desk) -> None:
    desk.write(lambda memory: memory.checkpoints.save("sales", state={"quote": "Q-1"}))
    desk.model.select(desk.model.checkpoints.lines[0].id)
    desk.show_tab(CHANGES)
    assert desk.model.compare.state == Compared(0, "Nothing differs")
    assert desk.page.changes.note.isVisible()


def test_an_older_checkpoint_is_made_current_and_opened(desk: Desk) -> None:
    older = desk.model.checkpoints.lines[2].id
    desk.model.select(older)
    desk.settle()
    desk.run("checkpoint.make_current")
    assert desk.model.selected_id == desk.model.checkpoints.lines[0].id
    assert desk.model.checkpoints.lines[0].is_restored
    assert isinstance(desk.model.details, CheckpointDetails)
    assert desk.model.details.origin.startswith("Restored from ")
    assert desk.read(lambda memory: memory.checkpoints.latest("ops").state["step"]) == 1


def test_a_deleted_checkpoint_makes_room_for_its_neighbour_and_comes_back(desk: Desk) -> None:
    gone, neighbour, _ = [line.id for line in desk.model.checkpoints.lines]
    desk.run("checkpoint.delete")
    assert desk.model.selected_id == neighbour
    assert desk.told[-1].action is not None
    with desk.qtbot.waitSignal(desk.host.changed):
        desk.told[-1].action.run()
    desk.settle()
    assert desk.model.checkpoints.lines[0].id == gone


def test_a_value_chosen_in_the_tree_is_edited_into_a_new_checkpoint(desk: Desk) -> None:
    desk.show_tab(STATE)
    tree = desk.model.tree
    desk.page.tree.setCurrentIndex(tree.index(0, 0, tree.index(1, 0)))
    dialog = desk.page.dialog
    with desk.qtbot.waitSignal(desk.model.edit.opened):
        next(spec for spec in desk.page.action_specs() if spec.id == "checkpoint.edit_state").run()
    assert (dialog.text.toPlainText(), desk.model.edit.draft is not None) == ('"a"', True)
    assert "State › open › 0" in dialog.where.text()
    dialog.text.setPlainText('{"half":')
    desk.qtbot.waitUntil(lambda: bool(desk.model.edit.problem))
    assert "Line 1" in dialog.problem.text()
    assert not dialog.save.isEnabled()
    dialog.text.setPlainText('{"a": 1.50}')
    desk.qtbot.waitUntil(dialog.save.isEnabled)
    assert dialog.summary.text() == "2 values change"
    with desk.qtbot.waitSignal(desk.host.changed):
        dialog.save.click()
    desk.settle()
    assert not dialog.isVisible()
    newest = desk.read(lambda memory: memory.checkpoints.latest("ops").state)
    assert newest == {"step": 2, "open": [{"a": 1.5}, "b"]}
    assert desk.model.selected_id == desk.model.checkpoints.lines[0].id
    assert len(desk.model.checkpoints.lines) == 4


def test_metadata_are_texts_and_the_editor_says_so(desk: Desk) -> None:
    desk.show_tab(METADATA)
    with desk.qtbot.waitSignal(desk.model.edit.opened):
        desk.page.edit_metadata.click()
    desk.page.dialog.text.setPlainText('{"n": 1}')
    desk.qtbot.waitUntil(lambda: "texts only" in desk.model.edit.problem)
    desk.page.dialog.text.setPlainText("[]")
    desk.qtbot.waitUntil(lambda: "object" in desk.model.edit.problem)
    desk.page.dialog.reject()
    assert desk.model.edit.draft is None
    assert len(desk.model.checkpoints.lines) == 3


def test_a_part_that_is_too_large_for_an_editor_is_refused_in_words(desk: Desk) -> None:
    desk.write(lambda memory: memory.checkpoints.save("ops", state={"large": "x" * MOST_CHARS}))
    desk.model.select(desk.model.checkpoints.lines[0].id)
    desk.settle()
    desk.model.edit_part(("state",))
    desk.qtbot.waitUntil(lambda: bool(desk.told))
    assert "too large" in desk.told[-1].text
    assert desk.model.edit.draft is None


def test_the_facts_that_were_live_at_that_moment_are_shown_with_what_became_of_them(desk: Desk) -> None:
    def live(memory: Memory) -> None:
        for text in ("stays", "goes", "is doubted"):
            memory.remember("ops", text)
        memory.checkpoints.save("ops", state={"step": 9})
        goes, doubted = (memory.resolve("ops", text)[0] for text in ("goes", "is doubted"))
        memory.retire("ops", [goes])
        memory.label("ops", [doubted], "unverified")
        memory.remember("ops", "came later")

    desk.write(live)
    desk.model.select(desk.model.checkpoints.lines[0].id)
    desk.show_tab(MOMENT)
    state = desk.model.moment.state
    assert isinstance(state, MomentShown)
    assert (state.count, state.note, state.caution) == (3, "3 live facts then, 2 of them still", "")
    texts, count = desk.page.moment.facts, desk.page.moment.count
    assert texts.mapTo(desk.page, QPoint()).x() == count.mapTo(desk.page, QPoint()).x()
    assert count.contentsMargins().left() == LINE_INDENT  # the texts stand below it
    marks = {line.text: line.mark for line in desk.model.moment.facts.lines}
    assert marks == {"stays": "", "goes": "Retired since", "is doubted": "Label changed since"}
    with desk.qtbot.waitSignal(desk.page.fact_wanted) as wanted:
        desk.page.moment.facts.chosen.emit(desk.model.moment.facts.lines[0].key)
    assert wanted.args == [desk.model.moment.facts.lines[0].key]


def damage(desk: Desk, checkpoint_id: str) -> None:
    assert desk.host.data_dir is not None
    with sqlite3.connect(desk.host.data_dir / "ledger.sqlite") as ledger:
        ledger.execute(
            "UPDATE checkpoints SET payload = ?, message_count = NULL WHERE id = ?", (b"{\xff", checkpoint_id)
        )
    ledger.close()
    desk.model.reload()
    desk.settle()


def test_a_damaged_checkpoint_can_be_judged_rescued_and_deleted_only(desk: Desk, tmp_path: Path) -> None:
    damaged = desk.model.checkpoints.lines[2].id
    damage(desk, damaged)
    desk.model.select(damaged)
    desk.settle()
    assert isinstance(desk.model.details, DamagedCheckpoint)
    assert desk.page.rescue.isVisible()
    assert desk.page._title.text() == "ops"
    assert "key of state" not in desk.page._age.text()
    for action in ("make_current", "edit_state", "edit_metadata", "copy_json", "export"):
        assert not desk.can(f"checkpoint.{action}")
    assert not desk.page.make_current.isEnabled()
    with desk.qtbot.waitSignal(desk.model.verbs._notices.shown):
        desk.model.verbs.export(damaged, tmp_path / "rescued", raw=True)
    assert (tmp_path / "rescued").read_bytes() == b"{\xff"
    desk.run("checkpoint.reject")
    assert desk.model.review.verdict == "rejected"
    desk.run("checkpoint.delete")
    assert len(desk.model.checkpoints.lines) == 2


def test_comparing_with_a_damaged_one_says_which_it_is(desk: Desk) -> None:
    desk.show_tab(CHANGES)
    damage(desk, desk.model.checkpoints.lines[2].id)
    desk.model.compare.refresh()
    desk.settle()
    assert isinstance(desk.model.compare.state, CompareFailed)
    assert desk.model.checkpoints.lines[2].id in desk.model.compare.state.message


def test_a_store_out_of_reach_is_neither_absent_nor_damaged(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_memory: Memory) -> object:
        raise StoreDamaged("The file is no database.")

    real = desk.host.read
    monkeypatch.setattr(desk.host, "read", lambda _job, done, failed=None: real(broken, done, failed))
    desk.model.open_again()
    desk.settle()
    assert isinstance(desk.model.details, CheckpointUnread)
    assert desk.page.open_again.isVisible()
    desk.model.reload()
    desk.settle()
    assert isinstance(desk.model.state, Failed)
    assert desk.page.retry.isVisible()
    monkeypatch.undo()
    desk.page.retry.click()
    desk.settle()
    assert len(desk.model.checkpoints.lines) == 3


def test_a_checkpoint_goes_to_the_clipboard_and_into_a_file(desk: Desk, tmp_path: Path) -> None:
    next(spec for spec in desk.page.action_specs() if spec.id == "checkpoint.copy_json").run()
    desk.qtbot.waitUntil(lambda: bool(desk.told))
    assert json.loads(QGuiApplication.clipboard().text())["state"] == {"step": 2, "open": ["a", "b"]}
    next(spec for spec in desk.page.action_specs() if spec.id == "checkpoint.export").run()
    (dialog,) = desk.page.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(tmp_path / "out.json"))
    dialog.close()
    desk.qtbot.waitUntil(lambda: len(desk.told) == 2)
    assert "out.json" in desk.told[-1].text
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["state"]["step"] == 2


def test_a_large_conversation_is_drawn_a_part_at_a_time(desk: Desk) -> None:
    said = [Message("user", f"message {n}. " + "word " * 1_500) for n in range(50)]
    desk.write(lambda memory: memory.checkpoints.save("ops", state={}, messages=said))
    desk.model.select(desk.model.checkpoints.lines[0].id)
    desk.settle()
    assert desk.page.conversation.view.toPlainText() == ""
    desk.show_tab(MESSAGES)
    text = desk.page.conversation.view.toPlainText()
    assert "message 49." in text
    assert "message 46." not in text
    desk.page.conversation._older.click()
    assert "message 46." in desk.page.conversation.view.toPlainText()


def test_a_hundred_thousand_changes_are_listed(qtbot: QtBot) -> None:
    table = ChangeTable(path_text)
    table.set_changes([JsonChange(("state", f"key {n}"), "changed", n, n + 1) for n in range(100_000)])
    assert table.rowCount() == 100_000
    assert table.data(table.index(99_999, WHERE)) == "State › key 99999"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), {"new": True}),
        (("a",), {"a": {"new": True}, "b": [1, {"c": 2}]}),
        (("b", 1, "c"), {"a": 0, "b": [1, {"c": {"new": True}}]}),
    ],
)
def test_a_part_is_replaced_and_the_rest_is_untouched(path: tuple[str | int, ...], expected: JsonValue) -> None:
    document: JsonValue = {"a": 0, "b": [1, {"c": 2}]}
    assert replaced(document, path, {"new": True}) == expected
    assert document == {"a": 0, "b": [1, {"c": 2}]}


@pytest.mark.parametrize("text", ["", "{", "[1,]", "NaN", "[" * 100_000])
def test_what_is_no_json_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse(text)


def test_seeing_what_changed_and_approving_are_two_keys(open_app: App, qtbot: QtBot) -> None:
    app = open_app
    app.host.write(save_three, lambda _: None)
    app.show_page("checkpoints")
    qtbot.waitUntil(lambda: len(app.checkpoints.checkpoints.lines) == 3 and not app.checkpoints.is_waiting)
    page = app.window.pages["checkpoints"]
    assert isinstance(page, CheckpointsPage)
    QTest.keyClick(page.list, Qt.Key.Key_D)
    qtbot.waitUntil(lambda: isinstance(app.checkpoints.compare.state, Compared))
    QTest.keyClick(page.changes.table, Qt.Key.Key_A)
    qtbot.waitUntil(lambda: app.checkpoints.checkpoints.lines[0].verdict == "approved")
    assert app.undo.undo_text == "Approved a checkpoint"
