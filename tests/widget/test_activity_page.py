"""The Activity page on a real store: live, filtered, paged, with the way back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.engine_host import EngineHost
from gm_desktop.main_window import PageFrame
from gm_desktop.models.activity_list import ActivityLine, ActivityList
from gm_desktop.models.line_list import Line
from gm_desktop.notices import Notice, Notices
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.activity import PAGE_ROWS, ActivityViewModel
from gm_desktop.viewmodels.activity_details import ActionDetails
from gm_desktop.viewmodels.activity_filter import ActivityFilter
from gm_desktop.viewmodels.activity_words import target_text, verb_icon, verb_title
from gm_desktop.viewmodels.clients import ClientsViewModel
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.views.activity import ActivityPage
from gm_desktop.widgets.hit_delegate import text_layout
from gm_desktop.widgets.line_view import LINE_INDENT, line_height, line_room
from gm_engine import Memory, Origin
from gm_engine.errors import StoreDamaged
from gm_engine.records import ActivityTarget
from tests.fakes.clock import FrozenClock
from tests.widget.writing import write_beside

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
CLAUDE = Origin("mcp", client="claude", client_version="2.1")


@dataclass
class Desk:
    host: EngineHost
    undo: UndoController
    model: ActivityViewModel
    page: ActivityPage
    qtbot: QtBot
    told: list[Notice]

    def write(self, job: Callable[[Memory], object]) -> None:
        """Writes beside the page, as another program would, and waits until the page knows all of it."""
        write_beside(self.host, self.qtbot, job)
        self.settle()

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: not self.model.is_waiting)

    def shows(self) -> int | None:
        """How many actions the page shows; None while it shows something else."""
        state = self.model.state
        return state.count if isinstance(state, Full) else None

    def told_of(self) -> list[str]:
        return [line.what for line in self.model.lines.lines]

    def details(self) -> ActionDetails:
        self.settle()
        assert isinstance(self.model.details.state, ActionDetails)
        return self.model.details.state

    def choose(self, row: int) -> ActionDetails:
        self.page.list.setCurrentIndex(self.model.lines.index(row))
        return self.details()

    def undo_it(self) -> None:
        before = len(self.told)
        self.page.panel.undo.click()
        self.qtbot.waitUntil(lambda: len(self.told) > before)
        self.qtbot.waitUntil(lambda: not self.model._is_undoing)
        self.settle()


@pytest.fixture
def desk(
    open_host: EngineHost, undo: UndoController, notices: Notices, told: list[Notice], theme: Theme, qtbot: QtBot
) -> Iterator[Desk]:
    model = ActivityViewModel(open_host, undo, notices, FrozenClock(tick_s=0), open_host)
    for each in (model.lines, model.writers, model.details.targets):
        QAbstractItemModelTester(each, FATAL, each)
    page = ActivityPage(model, ClientsViewModel(open_host, undo, FrozenClock(tick_s=0), open_host), theme)
    page.inspector().setParent(page)
    page.resize(1100, 700)
    qtbot.addWidget(page)
    page.show()
    model.reload()
    qtbot.waitUntil(lambda: isinstance(model.state, Empty))
    yield Desk(open_host, undo, model, page, qtbot, told)
    model.watch(False)


def three(memory: Memory) -> None:
    first = memory.remember("ops", "Rollbacks take ten minutes", origin=CLAUDE)
    memory.label("ops", [first.id], "verified")
    memory.remember("sales", "The quote goes out on Monday")


def test_an_empty_journal_says_what_will_fill_it(desk: Desk) -> None:
    assert isinstance(desk.model.state, Empty)
    assert desk.model.state.reason == "none"
    assert desk.page.note.isVisible()


def test_what_others_write_appears_on_top_and_what_is_selected_stays(desk: Desk) -> None:
    desk.write(three)
    assert desk.told_of() == ["Remembered a fact", "Labelled a fact verified", "Remembered a fact"]
    assert desk.model.lines.lines[2].sample == "ops  ·  Rollbacks take ten minutes"
    assert desk.model.lines.lines[2].who == "MCP, claude 2.1"
    chosen = desk.choose(1)
    assert chosen.title == "Labelled a fact verified"
    panel = desk.page.panel
    lefts = [each.mapTo(panel, QPoint()).x() for each in (panel.facts, panel.targets)]
    assert lefts[0] - lefts[1] == LINE_INDENT  # the texts of what changed stand below
    (target,) = desk.model.details.targets.lines
    assert (target.text, target.note) == ("Rollbacks take ten minutes", "Fact  ·  ops  ·  Label: none → verified")
    desk.write(lambda memory: memory.remember("ops", "one more"))
    assert len(desk.told_of()) == 4
    assert desk.page.list.currentIndex().row() == 2
    assert desk.details() == chosen


def test_the_newest_action_is_shown_to_whoever_comes_to_look_and_then_stays(desk: Desk) -> None:
    desk.write(three)
    desk.page.hide()
    desk.write(lambda memory: memory.remember("ops", "while nobody looked"))
    desk.page.show()
    assert not desk.model.can_undo  # until it is known what the newest is
    assert desk.details().facts[-1][1] == "4"
    assert desk.model.can_undo
    desk.write(lambda memory: memory.remember("ops", "while somebody looked"))
    assert desk.details().facts[-1][1] == "4"
    desk.choose(3)
    chosen = desk.details().seq
    desk.page.hide()
    desk.write(lambda memory: memory.remember("ops", "later"))
    desk.page.show()
    assert desk.details().seq == chosen


def test_the_journal_is_read_for_somebody_only(desk: Desk) -> None:
    desk.page.hide()
    desk.write(three)
    assert desk.told_of() == []
    desk.page.show()
    desk.settle()
    assert len(desk.told_of()) == 3


def test_programs_are_listed_and_one_can_be_followed(desk: Desk) -> None:
    desk.write(three)
    lines = desk.model.writers.lines
    assert [(line.text, line.mark) for line in lines] == [("Everybody", "3"), ("Desktop", "● 2"), ("claude", "1")]
    assert lines[1].note.startswith("Connected, process ")
    assert lines[2].note.startswith("MCP  ·  Wrote ")
    desk.page.writers.chosen.emit(lines[2].key)
    desk.settle()
    assert desk.told_of() == ["Remembered a fact"]
    assert desk.page.writers.currentIndex().row() == 2
    desk.page.writers.chosen.emit(lines[2].key)
    desk.settle()
    assert len(desk.told_of()) == 3


def test_filters_by_agent_verb_and_time_and_their_menus(desk: Desk) -> None:
    desk.write(three)
    menu = desk.page.filters.verbs.menu()
    menu.aboutToShow.emit()
    assert [action.text() for action in menu.actions()] == ["Remembered  (2)", "Labelled  (1)"]
    menu.actions()[1].trigger()
    desk.settle()
    assert desk.told_of() == ["Labelled a fact verified"]
    assert desk.page.filters.verbs.text() == "Labelled ▾"
    desk.model.set_filter(ActivityFilter(agent_id="sales"))
    desk.settle()
    assert desk.told_of() == ["Remembered a fact"]
    desk.model.set_filter(replace(ActivityFilter(), verbs=frozenset({"purge"})))
    desk.settle()
    assert isinstance(desk.model.state, Empty)
    assert desk.model.state.reason == "filter"
    assert desk.page.clear.isVisible()
    desk.page.clear.click()
    desk.settle()
    assert desk.shows() == 3
    for fill in (desk.page.filters.agent, desk.page.filters.days):
        fill.menu().aboutToShow.emit()
        fill.menu().actions()[1].trigger()
    desk.settle()
    assert (desk.model.filter.agent_id, desk.model.filter.days) == ("ops", 1)


def test_any_action_is_undone_whoever_did_it_and_says_so(desk: Desk) -> None:
    desk.write(three)
    desk.choose(1)
    desk.undo_it()
    assert desk.told[-1].text == "Undid: Labelled a fact verified"
    desk.qtbot.waitUntil(lambda: len(desk.model.lines.lines) == 4)
    desk.settle()
    assert desk.told_of()[0] == "Undid: Labelled a fact"
    line = next(line for line in desk.model.lines.lines if line.what == "Labelled a fact verified")
    assert line.is_undone
    assert desk.details().is_undone
    assert not desk.page.panel.undo.isVisible()
    with desk.qtbot.waitSignal(desk.host.changed):
        desk.undo.undo()
    desk.settle()
    assert desk.told_of()[0] == "Redid: Labelled a fact verified"


def test_a_conflict_is_told_in_words_and_leads_to_what_stands_on_top(desk: Desk) -> None:
    def twice(memory: Memory) -> None:
        fact = memory.remember("ops", "Rollbacks take ten minutes", origin=CLAUDE)
        memory.label("ops", [fact.id], "verified")
        memory.pin("ops", [fact.id])

    desk.write(twice)
    desk.choose(2)
    desk.undo_it()
    said = desk.told[-1]
    assert said.text.startswith("Not undone: “Pinned a fact” by Desktop, ")
    assert said.text.endswith("Undo that first. 1 more action is in between.")
    assert len(desk.told_of()) == 3
    assert said.action is not None
    said.action.run()
    assert desk.details().title == "Pinned a fact"


def test_a_large_action_shows_its_changes_a_page_at_a_time(desk: Desk) -> None:
    def many(memory: Memory) -> None:
        memory.retire("ops", [memory.remember("ops", f"fact {n}").id for n in range(130)])

    desk.write(many)
    desk.choose(0)
    assert desk.details().title == "Retired 130 facts"
    assert (len(desk.model.details.targets.lines), desk.details().hidden) == (100, 30)
    desk.page.panel.more.click()
    desk.settle()
    assert (len(desk.model.details.targets.lines), desk.details().hidden) == (130, 0)


def test_older_actions_come_as_one_scrolls(desk: Desk) -> None:
    count = 3 * PAGE_ROWS + 30

    def many(memory: Memory) -> None:
        for n in range(count):
            memory.remember("ops", f"fact {n}")

    desk.write(many)
    assert len(desk.model.lines.lines) >= PAGE_ROWS

    def at_the_end() -> bool:
        desk.page.list.scrollToBottom()
        return len(desk.model.lines.lines) == count

    desk.qtbot.waitUntil(at_the_end)
    desk.qtbot.waitUntil(lambda: not desk.model._older.is_awaited)
    assert not desk.model.lines.canFetchMore(QModelIndex())
    seqs = [line.seq for line in desk.model.lines.lines]
    assert seqs == sorted(seqs, reverse=True)


def test_what_an_action_changed_is_opened(desk: Desk) -> None:
    def both(memory: Memory) -> None:
        memory.remember("ops", "a fact")
        memory.checkpoints.save("ops", state={})

    desk.write(both)
    desk.choose(1)
    key = desk.model.details.targets.lines[0].key
    with desk.qtbot.waitSignal(desk.page.fact_wanted) as wanted:
        desk.page.panel.targets.chosen.emit(key)
    assert wanted.args == [key.removeprefix("fact:")]
    desk.choose(0)
    with desk.qtbot.waitSignal(desk.page.checkpoint_wanted):
        desk.page.panel.targets.chosen.emit(desk.model.details.targets.lines[0].key)


def test_a_failure_says_so_and_can_be_tried_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(three)

    def broken(_memory: Memory) -> object:
        raise StoreDamaged("The file is no database.")

    real = desk.host.read
    monkeypatch.setattr(desk.host, "read", lambda _job, done, failed=None: real(broken, done, failed))
    desk.model.reload()
    desk.settle()
    assert isinstance(desk.model.state, Failed)
    monkeypatch.undo()
    desk.page.retry.click()
    desk.settle()
    assert desk.shows() == 3


@pytest.mark.parametrize("text", ["<b>bold</b> & more", "nul \x00 here", "مرحبا", "x" * 100_000, "[[x]]\n---"])
def test_hostile_texts_are_shown_as_text(desk: Desk, text: str) -> None:
    desk.write(lambda memory: memory.remember("a & b", text))
    desk.choose(0)
    shown = desk.model.lines.lines[0].sample
    assert len(shown) < 500
    assert "\x00" not in shown
    desk.page.grab()
    desk.page.filters.agent.menu().aboutToShow.emit()
    assert desk.page.filters.agent.menu().actions()[1].text() == "a && b"


def line(seq: int) -> ActivityLine:
    return ActivityLine(seq, "plus", f"did {seq}", "", "me", "now", "now", "now", is_undone=False)


@pytest.mark.parametrize(
    ("before", "after"),
    list(itertools.product(([], [3, 2, 1], [5, 4], [9]), ([], [3, 2, 1], [4, 3, 2], [5, 4, 3, 2, 1]))),
)
def test_the_list_becomes_any_other_list(qtbot: QtBot, before: list[int], after: list[int]) -> None:
    model = ActivityList()
    QAbstractItemModelTester(model, FATAL, model)
    model.set_lines([line(seq) for seq in before], has_more=False)
    model.set_lines([line(seq) for seq in after], has_more=True)
    assert [each.seq for each in model.lines] == after
    model.append([line(0)], has_more=False)
    assert [each.seq for each in model.lines] == [*after, 0]


def test_an_unknown_verb_is_told_by_its_name() -> None:
    assert verb_title("frob_the_store") == "Frob the store"
    assert verb_icon("frob_the_store") == "history"


def test_undo_is_one_key_in_the_window(open_app: App, qtbot: QtBot) -> None:
    app = open_app
    app.show_page("activity")
    qtbot.waitUntil(lambda: len(app.glance.activity.lines.lines) == 4 and not app.glance.activity.is_waiting)
    page = app.window.pages["activity"]
    assert isinstance(page, ActivityPage)
    qtbot.waitUntil(lambda: app.actions.action("entry.undo").isEnabled())
    QTest.keyClick(page.list, Qt.Key.Key_U)
    qtbot.waitUntil(lambda: len(app.glance.activity.lines.lines) == 5)
    assert app.glance.activity.lines.lines[0].what == "Undid: Remembered a fact"
    app.show_page("memory")


def test_what_is_in_the_way_of_an_undo_is_shown_whatever_the_page_showed_before(open_app: App, qtbot: QtBot) -> None:
    page = open_app.window.pages["activity"]
    assert isinstance(page, ActivityPage)
    page.show_clients()
    open_app.undo.entry_wanted.emit(2)
    qtbot.waitUntil(lambda: page.is_settled() and isinstance(open_app.glance.activity.details.state, ActionDetails))
    assert open_app.window.page_id == "activity"
    assert page.tabs.currentIndex() == 0
    assert open_app.glance.activity.selected == 2
    assert page.list.currentIndex().row() == len(open_app.glance.activity.lines.lines) - 2


def test_rights_and_proposals_are_told_in_words(desk: Desk) -> None:
    def review(memory: Memory) -> None:
        memory.clients.set_access("scout", None, "review")
        memory.clients.set_access("scout", "ops", "read")
        scout = memory.acting_as(memory.clients.connect("scout", "1", "stdio"))
        scout.requests.remember("sales", "The fair is in May")

    desk.write(review)
    shown = [(line.what, line.sample) for line in desk.model.lines.lines]
    assert shown == [
        ("Proposed a change", "sales  ·  The fair is in May"),
        ("Changed what a program may do", "ops  ·  scout  ·  ops"),
        ("Changed what a program may do", "scout  ·  everywhere"),
    ]


def test_beside_the_programs_there_is_no_inspector_and_the_journal_gets_it_back_as_wide_as_it_was(
    desk: Desk,
) -> None:
    frame = PageFrame(desk.page)
    desk.qtbot.addWidget(frame)
    frame.resize(1200, 700)
    frame.show_inspector(340)
    frame.show()
    frame.setSizes([900, 300])
    wide = frame.inspector_width()
    desk.page.show_clients()
    assert desk.page.panel.isHidden()
    assert frame.inspector_width() is None
    desk.page.tabs.setCurrentIndex(0)
    assert frame.inspector_width() == wide
    frame.show_inspector(0)
    desk.page.show_clients()
    desk.page.tabs.setCurrentIndex(0)
    assert desk.page.panel.isHidden()


def test_in_a_small_window_writers_are_named_whole_and_a_long_name_ends_in_dots(desk: Desk, theme: Theme) -> None:
    frame = PageFrame(desk.page)
    desk.qtbot.addWidget(frame)
    frame.resize(741, 600)  # what a window of 926 leaves beside the rail
    frame.show_inspector(320)
    frame.show()
    everybody = Line("", "Everybody", "", "12,345")
    program = Line("mcp\tnightly", "claude_code_nightly_build_of_the_year", "MCP  ·  Wrote 3 min ago", "● 1,017")
    desk.model.writers.set_lines([everybody, program])
    view, font = desk.page.writers, theme.font("body")
    rooms = [line_room(line, theme, view.viewport().width()) for line in (everybody, program)]
    whole, cut = (
        text_layout(line.text, font, room, lines=2, whole_words=True)
        for line, room in zip((everybody, program), rooms, strict=True)
    )
    assert (whole.lineCount(), whole.text()) == (1, "Everybody")
    assert cut.lineCount() == 1
    assert cut.text().startswith("claude")
    assert cut.text().endswith("…")
    index = desk.model.writers.index(1)
    assert view.visualRect(index).height() == line_height(
        replace(program, text="nightly"), theme, view.viewport().width(), are_names=True
    )
    assert index.data(Qt.ItemDataRole.ToolTipRole) == program.text


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("query_set:support_desk", "Judged questions: support_desk"),
        ("profile:words first", "Ranking profile: words first"),
        ("signal_weights", "signal weights"),
        ("profile:", "profile:"),
    ],
)
def test_a_setting_is_called_what_its_page_calls_it(key: str, said: str) -> None:
    assert target_text(ActivityTarget("setting", key, None, "", {}, {}, is_new=False, is_gone=False)) == said
