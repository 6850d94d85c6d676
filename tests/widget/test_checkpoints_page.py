"""The Checkpoints page on a real store: newest first, state as a tree, messages that stay text, damage shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from PySide6.QtCore import QModelIndex, QUrl
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.models.state_tree import GROUP, StateTree
from gm_desktop.notices import Notices
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.checkpoint_details import CheckpointDetails, DamagedCheckpoint, Said
from gm_desktop.viewmodels.checkpoints import CheckpointsViewModel
from gm_desktop.viewmodels.states import Empty
from gm_desktop.views.checkpoints import MESSAGES, CheckpointsPage
from gm_desktop.widgets.conversation import Conversation
from gm_engine import Memory
from gm_engine.records import Message
from tests.fakes.clock import FrozenClock

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


@dataclass
class Desk:
    host: EngineHost
    model: CheckpointsViewModel
    page: CheckpointsPage
    qtbot: QtBot

    def write(self, job: Callable[[Memory], object]) -> None:
        with self.qtbot.waitSignal(self.host.changed):
            self.host.write(job, lambda _: None)

    def details(self) -> CheckpointDetails:
        self.qtbot.waitUntil(lambda: isinstance(self.model.details, CheckpointDetails))
        assert isinstance(self.model.details, CheckpointDetails)
        return self.model.details


@pytest.fixture
def desk(open_host: EngineHost, undo: UndoController, notices: Notices, theme: Theme, qtbot: QtBot) -> Desk:
    model = CheckpointsViewModel(open_host, undo, notices, FrozenClock(tick_s=0), open_host)
    for each in (model.checkpoints, model.agents, model.tree, model.compare.table, model.moment.facts):
        QAbstractItemModelTester(each, FATAL, each)
    page = CheckpointsPage(model, theme)
    qtbot.addWidget(page)
    page.show()
    model.reload()
    qtbot.waitUntil(lambda: isinstance(model.state, Empty))
    return Desk(open_host, model, page, qtbot)


def save(memory: Memory) -> None:
    memory.checkpoints.save(
        "sales", state={"step": 1}, messages=[Message("user", "hello")], metadata={"branch": "main"}
    )
    memory.checkpoints.save("support", state={})


def test_checkpoints_are_listed_newest_first_and_the_newest_is_open(desk: Desk) -> None:
    desk.write(save)
    desk.qtbot.waitUntil(lambda: len(desk.model.checkpoints.lines) == 2)
    assert [line.agent for line in desk.model.checkpoints.lines] == ["support", "sales"]
    assert desk.details().agent == "support"


def test_one_agents_checkpoint_shows_state_messages_and_metadata(desk: Desk) -> None:
    desk.write(save)
    desk.model.set_agent("sales")
    desk.qtbot.waitUntil(lambda: desk.model.selected_id is not None and len(desk.model.checkpoints.lines) == 1)
    desk.qtbot.waitUntil(lambda: isinstance(desk.model.details, CheckpointDetails) and desk.details().agent == "sales")
    assert desk.details().messages == (Said("user", "hello"),)
    assert ("branch", "main", "") in desk.details().metadata
    tree = desk.model.tree
    assert (tree.data(tree.index(0, 0)), tree.data(tree.index(0, 1))) == ("step", "1")
    desk.page._tabs.setCurrentIndex(MESSAGES)
    assert "hello" in desk.page.conversation.view.toPlainText()


def test_a_new_checkpoint_arrives_on_top_and_the_open_one_stays_open(desk: Desk) -> None:
    desk.write(save)
    desk.qtbot.waitUntil(lambda: desk.model.selected_id is not None)
    chosen = desk.model.selected_id
    desk.write(lambda memory: memory.checkpoints.save("sales", state={"step": 2}))
    desk.qtbot.waitUntil(lambda: len(desk.model.checkpoints.lines) == 3)
    assert desk.model.selected_id == chosen
    assert desk.page.list.currentIndex().row() == 1


def test_a_damaged_checkpoint_is_shown_as_damaged_with_the_reason(desk: Desk) -> None:
    desk.write(save)
    desk.details()
    assert desk.host.data_dir is not None
    with sqlite3.connect(desk.host.data_dir / "ledger.sqlite") as ledger:
        ledger.execute(
            "UPDATE checkpoints SET payload = ?, message_count = NULL WHERE agent_id = 'sales'", (b"{broken",)
        )
    ledger.close()
    desk.model.reload()
    desk.qtbot.waitUntil(lambda: any(line.is_damaged for line in desk.model.checkpoints.lines))
    damaged = next(line for line in desk.model.checkpoints.lines if line.is_damaged)
    desk.model.select(damaged.id)
    desk.qtbot.waitUntil(lambda: isinstance(desk.model.details, DamagedCheckpoint))
    assert isinstance(desk.model.details, DamagedCheckpoint)
    assert desk.model.details.reason
    assert desk.page.trouble.isVisible()


def test_a_long_list_in_a_state_comes_in_groups(qtbot: QtBot) -> None:
    tree = StateTree()
    QAbstractItemModelTester(tree, FATAL, tree)
    tree.set_state({"items": list(range(2 * GROUP + 1)), "none": None, "nested": {"deep": [True, "text", 1.5]}})
    items = tree.index(0, 0)
    assert tree.rowCount(items) == 3
    second = tree.index(1, 0, items)
    assert tree.data(second) == "\u2068500 – 999\u2069"
    last = tree.index(2, 0, items)
    assert tree.data(tree.index(0, 0, last)) == "1000"
    assert tree.data(tree.index(0, 1, last)) == "1000"
    assert tree.data(tree.index(1, 1)) == "null"
    assert tree.data(tree.index(2, 1)) == "1 key"
    assert tree.parent(second) == items
    assert tree.parent(items) == QModelIndex()


HOSTILE = [
    "<script>alert(1)</script><b>bold</b>",
    "<img src='http://example.invalid/x.png'>",
    "![image](file:///etc/passwd)",
    "[link](http://example.invalid) `code` **strong**",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "nul \x00 and \u202e override",
]


@pytest.mark.parametrize("content", HOSTILE)
def test_messages_load_nothing_and_run_nothing(theme: Theme, qtbot: QtBot, content: str) -> None:
    view = Conversation(theme)
    qtbot.addWidget(view)
    view.show_messages([Said("user", content), Said("<i>role</i>", "fine")])
    html = view.view.toHtml()
    assert "<script" not in html
    assert "<img" not in html
    shown = view.view.toPlainText()
    assert "<i>role</i>" in shown
    if content.startswith("<"):
        assert content in shown
    assert view.view.loadResource(2, QUrl("file:///etc/passwd")) in ("", None)


def test_a_long_conversation_starts_with_its_end(theme: Theme, qtbot: QtBot) -> None:
    view = Conversation(theme)
    qtbot.addWidget(view)
    view.show_messages([Said("user", f"message number {n}.") for n in range(100)])
    assert "message number 39." not in view.view.toPlainText()
    assert "message number 99." in view.view.toPlainText()
    view._show_older()
    assert "message number 0." in view.view.toPlainText()
