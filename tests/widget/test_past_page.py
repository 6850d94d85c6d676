"""The Past page on a real store: the store as it was, what differs now, and the way back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import local_time
from gm_desktop.i18n import use_language
from gm_desktop.paths import resource
from gm_desktop.theme import MARGIN, Theme, font
from gm_desktop.viewmodels.past import DAY_NS, PastViewModel
from gm_desktop.viewmodels.past_reading import BeforeLast, PastReader, Shown
from gm_desktop.viewmodels.past_words import LISTS, PastDetails, PastHead, shown_title
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading
from gm_desktop.views.past import PastPage
from gm_desktop.views.past_parts import AGENT, CONFIDENCE, SINCE, TEXT, WRITTEN, PastDialog, column_widths
from gm_desktop.widgets.fact_delegate import CELL_PADDING
from gm_desktop.widgets.line_view import LINE_INDENT
from gm_desktop.widgets.pills import pill_width
from gm_engine import FactQuery, Memory
from gm_engine.errors import StoreDamaged
from tests.fakes.clock import FrozenClock
from tests.widget.writing import write_beside

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
FIXTURES = Path(__file__).parents[1] / "fixtures" / "graymatter"


@dataclass
class Desk:
    host: EngineHost
    model: PastViewModel
    page: PastPage
    qtbot: QtBot

    def write(self, job: Callable[[Memory], object]) -> int:
        """Writes beside the page; the newest entry, once the page knows of it."""
        newest = write_beside(self.host, self.qtbot, job)
        self.settle()
        return newest

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: not self.model.is_waiting)

    def open(self, how: Callable[[], object]) -> PastHead:
        how()
        self.settle()
        assert self.model.head is not None
        return self.model.head

    def column(self, column: int) -> list[str]:
        """What a column of the table says, top to bottom."""
        table = self.model.table
        rows = range(table.rowCount())
        self.qtbot.waitUntil(lambda: all(table.data(table.index(row, TEXT)) is not None for row in rows))
        return [str(table.data(table.index(row, column))).strip("\u2068\u2069") for row in rows]

    def show_only(self, shown: Shown) -> list[str]:
        self.page.chips.chips[shown].click()
        self.settle()
        return self.column(TEXT)

    def chips(self) -> dict[str, str]:
        return {shown: chip.text() for shown, chip in self.page.chips.chips.items() if not chip.isHidden()}

    def choose(self, text: str) -> PastDetails:
        self.page.table.selectRow(self.column(TEXT).index(text))
        self.settle()
        assert self.model.details is not None
        return self.model.details

    def ask(self, query: str) -> list[str]:
        self.page.focus_question()
        self.page.question.setText(query)
        self.page.question.returnPressed.emit()
        self.settle()
        return [line.text.partition(".  ")[2].strip("\u2068\u2069") for line in self.model.hits.lines]


@pytest.fixture
def desk(open_host: EngineHost, theme: Theme, qtbot: QtBot) -> Iterator[Desk]:
    model = PastViewModel(open_host, FrozenClock(tick_s=0), open_host)
    for each in (model.table, model.agents, model.checkpoints, model.hits, model.since):
        QAbstractItemModelTester(each, FATAL, each)
    page = PastPage(model, theme)
    page.inspector().setParent(page)
    page.resize(1100, 700)
    qtbot.addWidget(page)
    page.show()
    yield Desk(open_host, model, page, qtbot)
    model.close()


def three(memory: Memory) -> None:
    memory.remember("ops", "Rollbacks take ten minutes")
    memory.remember("ops", "The gate opens at nine")
    memory.remember("sales", "The quote goes out on Monday")


def changes(memory: Memory) -> None:
    """One thing of each kind that can happen to a fact."""
    ids = {fact.text: fact.id for fact in memory.list_facts(FactQuery())}
    memory.retire("ops", [ids["Rollbacks take ten minutes"]])
    memory.label("ops", [ids["The gate opens at nine"]], "verified")
    memory.move("sales", [ids["The quote goes out on Monday"]], "ops")
    memory.remember("ops", "The bridge is closed")


def test_without_a_moment_the_page_offers_to_choose_one(desk: Desk) -> None:
    assert isinstance(desk.model.state, Empty)
    assert desk.page.start.isVisible()
    assert not desk.page.table.isVisible()
    assert not desk.page.back.isVisible()
    assert desk.page.is_settled()


def test_the_store_is_shown_as_it_was_and_what_differs_now_is_counted(desk: Desk) -> None:
    then = desk.write(three)
    desk.write(changes)
    head = desk.open(lambda: desk.model.open_before(then + 1))
    assert head.title.startswith("As it was on 30 Nov 2026")
    assert head.counts == "3 facts · 0 entities · 0 links · 0 checkpoints"
    assert (head.caution, head.no_recall) == ("", "")
    assert not desk.page.pill.isVisible()
    everything = ["The quote goes out on Monday", "The gate opens at nine", "Rollbacks take ten minutes"]
    assert desk.column(TEXT) == everything
    assert desk.column(AGENT) == ["sales", "ops", "ops"]
    assert desk.column(SINCE) == ["Moved since", "Changed since", "Retired since"]
    assert desk.chips() == {
        "then": "Live then",
        "then_retired": "Retired then",
        "added": "Added since  1",
        "retired": "Retired since  1",
        "moved": "Moved since  1",
        "changed": "Changed since  1",
    }
    assert desk.show_only("added") == ["The bridge is closed"]
    assert desk.show_only("moved") == ["The quote goes out on Monday"]
    assert desk.show_only("then_retired") == []
    assert isinstance(desk.model.state, Empty)
    desk.page.clear.click()
    desk.settle()
    assert desk.column(TEXT) == everything


def test_a_fact_tells_what_happened_to_it_since_and_leads_to_now(desk: Desk) -> None:
    then = desk.write(three)
    desk.write(changes)
    desk.open(lambda: desk.model.open_before(then + 1))
    opened: list[str] = []
    desk.page.fact_wanted.connect(opened.append)
    moved = desk.choose("The quote goes out on Monday")
    assert [(line.text, line.note) for line in moved.since] == [("Moved since", "sales → ops")]
    assert dict(row[:2] for row in moved.facts)["Agent"] == "sales"
    labelled = desk.choose("The gate opens at nine")
    assert [(line.text, line.note) for line in labelled.since] == [("Label changed since", "none → verified")]
    assert labelled.confidence == "inferred"
    retired = desk.choose("Rollbacks take ten minutes")
    assert retired.status == "live"
    desk.page.panel.now.click()
    assert opened == [retired.id]
    desk.show_only("added")
    added = desk.choose("The bridge is closed")
    assert not added.was_there
    assert [line.text for line in added.since] == ["Added since"]


def test_agent_text_and_order_narrow_the_list(desk: Desk) -> None:
    then = desk.write(three)
    desk.open(lambda: desk.model.open_before(then + 1))
    desk.page.agent.setCurrentIndex(desk.model.agents.row_of("ops") or 0)
    desk.page.agent.activated.emit(desk.page.agent.currentIndex())
    desk.settle()
    assert desk.column(TEXT) == ["The gate opens at nine", "Rollbacks take ten minutes"]
    desk.page.text.setText("gate")
    desk.settle()
    assert desk.column(TEXT) == ["The gate opens at nine"]
    desk.page.text.clear()
    desk.page.table.sortByColumn(WRITTEN, Qt.SortOrder.AscendingOrder)
    desk.settle()
    assert desk.column(TEXT) == ["Rollbacks take ten minutes", "The gate opens at nine"]
    desk.page.table.sortByColumn(SINCE, Qt.SortOrder.AscendingOrder)  # has no order: nothing is asked
    assert desk.model.sort == ("created", False)


def test_a_question_is_answered_from_then_with_its_sum_and_counts_nothing(desk: Desk, asked: object) -> None:
    then = desk.write(three)
    desk.write(lambda memory: memory.remember("ops", "The gate opens at ten now"))
    desk.open(lambda: desk.model.open_before(then + 1))
    hits = desk.ask("when does the gate open")
    assert hits[0] == "The gate opens at nine"
    assert "The gate opens at ten now" not in hits
    given = f"ops would have been given {len(hits)} facts, the best first."
    assert desk.page.said.text() == f"{given} Of all agents it knew most then."
    first = desk.model.hits.lines[0].note
    assert "words (rank 1)" in first
    total, parts = first.split(" = ")
    assert float(total) == pytest.approx(sum(float(part.split()[0]) for part in parts.split(" + ")), abs=1e-9)
    uses: list[int] = []
    desk.host.read(lambda memory: [fact.access_count for fact in memory.list_facts(FactQuery())], uses.extend)
    desk.qtbot.waitUntil(lambda: bool(uses))
    assert set(uses) == {0}
    desk.page.hits.setCurrentIndex(desk.model.hits.index(0))
    desk.settle()
    assert desk.model.details is not None
    assert desk.model.details.text == "The gate opens at nine"


def test_before_the_journal_the_store_is_reconstructed_and_cannot_be_asked(desk: Desk) -> None:
    desk.write(lambda memory: memory.import_store(FIXTURES / "gray.db"))
    desk.write(three)
    head = desk.open(lambda: desk.model.open_time(FrozenClock().at_ns - 30 * DAY_NS))
    assert desk.page.pill.text == "Reconstructed"
    assert head.caution.startswith("The journal knows everything from 30 Nov 2026")
    assert desk.page.caution.isVisible()
    assert desk.model.table.rowCount() > 0
    assert "The gate opens at nine" not in desk.column(TEXT)
    assert int(desk.chips()["added"].split()[-1]) > 3  # the three, and what the import says was written since
    assert desk.ask("anything at all") == []
    assert desk.model.answer is not None
    assert desk.model.answer.is_refused
    assert desk.model.answer.said == head.no_recall
    assert desk.page.hits_note.isVisible()


def test_before_the_first_fact_the_page_says_that_nothing_was_remembered(desk: Desk) -> None:
    desk.write(three)
    desk.open(lambda: desk.model.open_before(1))
    assert isinstance(desk.model.state, Empty)
    assert desk.model.state.reason == "then"
    assert desk.page.note.isVisible()
    assert desk.chips()["added"] == "Added since  3"


def test_checkpoints_of_then_are_listed_and_open(desk: Desk) -> None:
    then = desk.write(lambda memory: memory.checkpoints.save("ops", state={"step": 1}))
    desk.write(lambda memory: memory.checkpoints.save("ops", state={"step": 2}))
    desk.open(lambda: desk.model.open_before(then + 1))
    (line,) = desk.model.checkpoints.lines
    assert (line.mark, line.tone) == ("", "")  # nobody had reviewed it
    opened: list[str] = []
    desk.page.checkpoint_wanted.connect(opened.append)
    desk.page.tabs.setCurrentIndex(2)
    desk.page.checkpoints.setCurrentIndex(desk.model.checkpoints.index(0))
    desk.page.checkpoints.setFocus()
    QTest.keyClick(desk.page.checkpoints, Qt.Key.Key_Return)
    assert opened == [line.key]


def test_what_others_write_meanwhile_only_changes_what_differs_since(desk: Desk) -> None:
    then = desk.write(three)
    desk.open(lambda: desk.model.open_before(then + 1))
    assert "added" not in desk.chips()
    desk.write(lambda memory: memory.remember("ops", "written meanwhile"))
    desk.qtbot.waitUntil(lambda: desk.chips().get("added") == "Added since  1")
    assert "written meanwhile" not in desk.column(TEXT)


def test_what_differs_since_is_worked_out_for_a_page_that_shows(desk: Desk) -> None:
    then = desk.write(three)
    desk.open(lambda: desk.model.open_before(then + 1))
    desk.page.hide()
    with desk.qtbot.waitSignal(desk.host.changed):
        desk.write(lambda memory: memory.remember("ops", "written meanwhile"))
    assert not desk.model.is_waiting
    assert "added" not in desk.chips()
    desk.page.show()
    desk.qtbot.waitUntil(lambda: desk.chips().get("added") == "Added since  1")


def test_before_the_last_changes_means_those_before_it_was_opened(desk: Desk) -> None:
    desk.write(three)
    desk.open(lambda: desk.model.open(BeforeLast(1)))
    assert desk.column(TEXT) == ["The gate opens at nine", "Rollbacks take ten minutes"]
    desk.write(lambda memory: memory.remember("ops", "written meanwhile"))
    assert desk.column(TEXT) == ["The gate opens at nine", "Rollbacks take ten minutes"]
    desk.open(lambda: desk.model.open_quick("changes"))
    assert desk.model.table.rowCount() == 0


def test_a_moment_that_cannot_be_read_says_why_and_can_be_tried_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = desk.write(three)

    def broken(*_: object) -> object:
        raise StoreDamaged("page 7 is torn")

    with monkeypatch.context() as patch:
        patch.setattr(PastReader, "read", broken)
        desk.model.open_before(then + 1)
        assert isinstance(desk.model.state, Loading)
        assert desk.page.moment.text() == "Going back…"
        desk.settle()
    assert isinstance(desk.model.state, Failed)
    assert "page 7 is torn" in desk.model.state.message
    desk.page.retry.click()
    desk.settle()
    assert isinstance(desk.model.state, Full)


def test_where_a_filter_takes_the_selected_fact_out_none_is_selected(desk: Desk) -> None:
    def write(memory: Memory) -> None:
        for text in ("Gate 1", "Gate 2", "Bell 1", "Bell 2", "Bell 3", "Gate 3"):
            memory.remember("ops", text)

    then = desk.write(write)
    desk.open(lambda: desk.model.open_before(then + 1))
    desk.choose("Bell 2")
    desk.page.text.setText("Gate")
    desk.settle()
    assert desk.column(TEXT) == ["Gate 3", "Gate 2", "Gate 1"]
    assert desk.model.selected is None
    assert desk.model.details is None
    assert not desk.page.table.selectionModel().hasSelection()
    desk.choose("Gate 3")
    desk.page.text.clear()
    desk.settle()
    assert desk.page.table.currentIndex().row() == desk.column(TEXT).index("Gate 3")


def test_the_moment_is_let_go_when_one_comes_back_or_the_store_is_closed(desk: Desk) -> None:
    then = desk.write(three)
    reader = desk.model._reader
    desk.open(lambda: desk.model.open_before(then + 1))
    assert reader._view is not None
    desk.model.close()
    desk.qtbot.waitUntil(lambda: reader._view is None)
    desk.open(lambda: desk.model.open_before(then + 1))
    desk.host.close_store()
    desk.qtbot.waitUntil(lambda: reader._view is None)
    assert desk.model.moment is None


def test_the_dialog_asks_for_a_moment_in_the_past(qtbot: QtBot, theme: Theme, desk: Desk) -> None:
    now_ns = FrozenClock().at_ns
    dialog = PastDialog(now_ns, desk.page)
    quick: list[str] = []
    times: list[int] = []
    dialog.quick_chosen.connect(quick.append)
    dialog.time_chosen.connect(times.append)
    dialog.open()
    dialog.quick["month"].click()
    assert quick == ["month"]
    again = PastDialog(now_ns, desk.page)
    again.time_chosen.connect(times.append)
    again.open()
    again.field.setDateTime(again.field.maximumDateTime().addYears(1))
    again.go.click()
    assert times == [now_ns // 1_000_000 * 1_000_000]


def test_b_on_an_action_opens_the_store_before_it_and_escape_comes_back(open_app: App, qtbot: QtBot) -> None:
    open_app.show_page("activity")
    model, past = open_app.glance.activity, open_app.glance.past.model
    qtbot.waitUntil(lambda: model.selected is not None and not model.is_waiting)
    assert open_app.window.rail._buttons["past"].isHidden()
    open_app.actions.action("entry.before").trigger()
    assert open_app.window.page_id == "past"
    qtbot.waitUntil(lambda: past.head is not None and not past.is_waiting)
    assert past.table.rowCount() == 3
    assert not open_app.window.rail._buttons["past"].isHidden()
    assert open_app.actions.action("past.back").isEnabled()
    open_app.actions.action("past.back").trigger()
    assert open_app.window.page_id == "activity"
    assert open_app.window.rail._buttons["past"].isHidden()


def test_the_palette_and_the_menu_lead_to_the_past_and_a_fact_leads_back(open_app: App, qtbot: QtBot) -> None:
    past = open_app.glance.past.model
    assert "past.choose" in {action.objectName() for action in open_app.actions.in_menu("Store")}
    titles = [entry.title for entry in open_app.find_entries("store as it was")]
    assert "Show the store as it was: a month ago" in titles
    open_app.actions.run("past.changes")
    assert open_app.window.page_id == "past"
    qtbot.waitUntil(lambda: past.head is not None and not past.is_waiting)
    past.set_filter(replace(past.filter, shown="added"))
    qtbot.waitUntil(lambda: not past.is_waiting and past.table.rowCount() == 4)
    past.select(past.table.id_at(0))
    qtbot.waitUntil(lambda: past.details is not None)
    open_app.actions.run("past.open_now")
    assert open_app.window.page_id == "memory"
    qtbot.waitUntil(lambda: open_app.remembering.selected == {past.selected})
    open_app.actions.run("past.choose")
    (dialog,) = open_app.window.findChildren(PastDialog)
    dialog.reject()


def test_a_program_that_was_left_in_the_past_starts_in_the_present(open_app: App, qtbot: QtBot, tmp_path: Path) -> None:
    open_app.actions.run("page.past")
    assert open_app.window.page_id == "past"
    open_app.host.open_store(tmp_path / "store")
    qtbot.waitUntil(lambda: open_app.host.is_open)
    assert open_app.window.page_id == "memory"


def test_the_field_to_find_facts_stands_in_one_row_with_the_chips_as_on_the_memory_page(desk: Desk) -> None:
    desk.page.resize(1200, 700)
    desk.page.show()
    assert not desk.page.text.isVisible()
    desk.open(lambda: desk.model.open_quick("changes"))
    chip = desk.page.chips.chips["then"]
    desk.qtbot.waitUntil(lambda: chip.isVisible() and desk.page.text.geometry().right() < chip.x())
    assert abs(desk.page.text.geometry().center().y() - chip.geometry().center().y()) <= 1


def test_in_a_narrow_window_the_buttons_stand_below_the_moment_which_is_whole(desk: Desk) -> None:
    desk.page.show()
    desk.open(lambda: desk.model.open_quick("changes"))
    page = desk.page
    page.resize(1200, 700)
    desk.qtbot.waitUntil(lambda: page.back.x() > page.moment.geometry().right() and page.agent.width() == 200)
    page.resize(400, 700)
    desk.qtbot.waitUntil(lambda: page.back.y() > page.moment.geometry().bottom() and page.agent.width() == 136)
    assert page.moment.width() >= page.moment.fontMetrics().horizontalAdvance(page.moment.text())


@pytest.mark.parametrize("language", ["de", "es"])
def test_the_column_of_confidence_has_room_for_its_pills_in_every_language(desk: Desk, language: str) -> None:
    words = json.loads(resource("i18n", f"{language}.json").read_text(encoding="utf-8"))
    pills = [pill_width(words[title], QFontMetrics(font("small"))) for title in ("Verified", "Inferred", "Unverified")]
    assert max(pills) + 2 * CELL_PADDING <= desk.page.table.columnWidth(CONFIDENCE)


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_times_and_what_happened_since_have_room_in_every_language(language: str) -> None:
    use_language(language)
    try:
        widths, titles = column_widths(), [shown_title(shown) for shown in LISTS[2:]]
        september = local_time(1_790_000_000_000_000_000)
    finally:
        use_language("en")
    assert QFontMetrics(font("body")).horizontalAdvance(september) + 2 * CELL_PADDING <= widths[WRITTEN]
    pills = [pill_width(title, QFontMetrics(font("small"))) for title in titles]
    assert max(pills) + 2 * CELL_PADDING <= widths[SINCE]


def test_the_fact_that_the_inspector_shows_is_selected_in_the_table(desk: Desk) -> None:
    then = desk.write(three)
    desk.open(lambda: desk.model.open_before(then + 1))
    desk.page.activate()  # the focus makes the first row current
    desk.qtbot.waitUntil(lambda: desk.model.selected is not None)
    assert desk.model.selected == desk.model.table.id_at(0)
    assert [each.row() for each in desk.page.table.selectionModel().selectedRows()] == [0]


def test_what_happened_since_has_a_column_only_where_something_did(desk: Desk) -> None:
    then = desk.write(three)
    desk.open(lambda: desk.model.open_before(then + 1))
    table = desk.page.table
    assert table.isColumnHidden(SINCE)
    desk.write(lambda memory: memory.remember("ops", "written since"))
    desk.qtbot.waitUntil(lambda: "added" in desk.chips())
    assert table.isColumnHidden(SINCE)  # what was there is the same now
    desk.show_only("added")
    assert not table.isColumnHidden(SINCE)
    desk.show_only("then")
    assert table.isColumnHidden(SINCE)


def test_beside_the_checkpoints_no_fact_is_shown_and_back_to_now_a_moment_can_be_chosen(desk: Desk) -> None:
    then = desk.write(three)
    desk.open(lambda: desk.model.open_before(then + 1))
    assert desk.page.uses_inspector()
    assert desk.page.counts.isVisible()
    with desk.qtbot.waitSignal(desk.page.inspector_changed):
        desk.page.tabs.setCurrentIndex(2)
    assert not desk.page.uses_inspector()
    with desk.qtbot.waitSignal(desk.page.inspector_changed):
        desk.model.close()
    assert not desk.page.uses_inspector()  # no moment, no fact of it
    assert desk.page.start.isVisible()
    assert not desk.page.counts.isVisible()


def test_the_texts_of_every_list_stand_below_the_field_above_it(desk: Desk) -> None:
    then = desk.write(three)
    desk.write(changes)
    desk.open(lambda: desk.model.open_before(then + 1))
    page = desk.page
    assert left(page.table, page) + CELL_PADDING == left(page.text, page) == MARGIN
    desk.ask("gate")
    assert left(page.hits, page) + LINE_INDENT == left(page.said, page) == left(page.question, page) == MARGIN
    desk.choose("The gate opens at nine")
    panel = page.panel
    assert left(panel.since, panel) + LINE_INDENT == left(panel.facts, panel) == left(panel.text, panel)


def left(widget: QWidget, page: QWidget) -> int:
    return widget.mapTo(page, QPoint()).x()
