"""The Memory page on a real store: what a person sees after what a person does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notice, Notices
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.fact_details import FactDetails, NothingSelected
from gm_desktop.viewmodels.fact_verbs import FactVerbs
from gm_desktop.viewmodels.memory import MemoryViewModel
from gm_desktop.viewmodels.revision import PART_CHARS, RevisionViewModel, parts_of
from gm_desktop.viewmodels.states import Empty, Full
from gm_desktop.views.fact_dialogs import AddFactDialog, AgentDialog
from gm_desktop.views.fact_table import AGE, AGENT, TEXT
from gm_desktop.views.memory import MemoryPage
from gm_desktop.views.revise_dialog import ReviseDialog
from gm_desktop.widgets.fact_delegate import CELL_PADDING
from gm_engine import Fact, FactQuery, Memory
from tests.fakes.clock import FrozenClock
from tests.widget.writing import write_beside

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
ASK = Callable[[EngineHost, Callable[[Memory], object]], object]


@dataclass
class Desk:
    """The page, its view-models, and the store behind them."""

    host: EngineHost
    undo: UndoController
    model: MemoryViewModel
    revision: RevisionViewModel
    page: MemoryPage
    qtbot: QtBot

    def write(self, job: Callable[[Memory], object]) -> None:
        """Writes beside the page, as another program would."""
        write_beside(self.host, self.qtbot, job)
        self.settle()

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: not self.model.is_waiting)

    def texts(self) -> list[str]:
        """What the table shows, top to bottom."""
        table = self.model.table
        self.qtbot.waitUntil(
            lambda: all(table.data(table.index(row, TEXT)) is not None for row in range(table.rowCount()))
        )
        return [str(table.data(table.index(row, TEXT))).strip("\u2068\u2069") for row in range(table.rowCount())]

    def select(self, *texts: str) -> None:
        """Selects rows by their texts, through the view."""
        shown = self.texts()
        flags = QItemSelectionModel.SelectionFlag
        self.page.table.selectionModel().clearSelection()
        for text in texts:
            index = self.model.table.index(shown.index(text), TEXT)
            self.page.table.selectionModel().setCurrentIndex(index, flags.Select | flags.Rows)
        self.settle()

    def details(self) -> FactDetails:
        self.settle()
        state = self.model.details.state
        assert isinstance(state, FactDetails)
        return state


@pytest.fixture
def desk(open_host: EngineHost, undo: UndoController, notices: Notices, theme: Theme, qtbot: QtBot) -> Desk:
    clock = FrozenClock(tick_s=0)
    verbs = FactVerbs(open_host, undo, notices, open_host)
    model = MemoryViewModel(open_host, verbs, clock, open_host)
    revision = RevisionViewModel(open_host, undo, open_host)
    for each in (model.table, model.agents):
        QAbstractItemModelTester(each, FATAL, each)
    page = MemoryPage(model, revision, theme)
    page.inspector().setParent(page)
    page.resize(1100, 700)
    qtbot.addWidget(page)
    page.show()
    model.reload()
    desk = Desk(open_host, undo, model, revision, page, qtbot)
    desk.settle()
    return desk


def three(memory: Memory) -> None:
    memory.remember("sales", "The quote goes out on Monday", confidence="verified")
    memory.remember("sales", "Ms Ito prefers mail")
    memory.remember("support", "Tickets are answered in a day")


def pinned(memory: Memory) -> int:
    return sum(each.pinned for each in memory.agents())


def test_an_empty_store_says_why_it_is_empty_and_what_fills_it(desk: Desk) -> None:
    assert isinstance(desk.model.state, Empty)
    assert desk.model.state.reason == "store"
    assert "import" in desk.model.state.hint


def test_facts_written_by_another_program_appear_with_counts(desk: Desk) -> None:
    desk.write(three)
    assert desk.texts() == ["Tickets are answered in a day", "Ms Ito prefers mail", "The quote goes out on Monday"]
    assert [(line.title, line.live) for line in desk.model.agents.lines] == [
        ("All agents", 3),
        ("sales", 2),
        ("support", 1),
    ]
    assert desk.model.state == Full(3)


def test_choosing_an_agent_and_typing_narrow_the_table(desk: Desk) -> None:
    desk.write(three)
    desk.page.agents.setCurrentIndex(desk.model.agents.index(1))
    desk.settle()
    assert len(desk.texts()) == 2
    desk.page.filters.text.setText("ito")
    desk.settle()
    assert desk.texts() == ["Ms Ito prefers mail"]
    desk.page.filters.text.setText("nobody")
    desk.settle()
    assert isinstance(desk.model.state, Empty)
    assert desk.model.state.reason == "filter"
    assert desk.page.empty_button.isVisible()
    desk.page.empty_button.click()
    desk.settle()
    assert len(desk.texts()) == 2


def test_sorting_by_a_header_sorts_in_the_store(desk: Desk) -> None:
    desk.write(three)
    desk.page.table.sortByColumn(TEXT, Qt.SortOrder.AscendingOrder)
    desk.settle()
    assert desk.texts() == ["Ms Ito prefers mail", "The quote goes out on Monday", "Tickets are answered in a day"]


def test_pinning_several_facts_of_two_agents_is_one_step_to_undo(desk: Desk, told: list[Notice], asked: ASK) -> None:
    desk.write(three)
    desk.select("Ms Ito prefers mail", "Tickets are answered in a day")
    with desk.qtbot.waitSignal(desk.host.changed):
        desk.page._actions.toggle_pin()
    desk.settle()
    assert told[-1].text == "Pinned 2 facts"
    assert desk.undo.undo_text == "Pinned 2 facts"
    assert asked(desk.host, pinned) == 2
    with desk.qtbot.waitSignal(desk.host.changed):
        desk.undo.undo()
    assert asked(desk.host, pinned) == 0
    assert desk.undo.redo_text == "Pinned 2 facts"


def test_retiring_takes_a_fact_away_and_restoring_brings_it_back(desk: Desk) -> None:
    desk.write(three)
    desk.select("Ms Ito prefers mail")
    with desk.qtbot.waitSignal(desk.host.changed):
        desk.page.panel.retire.click()
    desk.settle()
    assert "Ms Ito prefers mail" not in desk.texts()
    assert desk.details().status == "retired"
    desk.page.filters.status_chips["retired"].click()
    desk.settle()
    assert desk.texts() == ["Ms Ito prefers mail"]
    with desk.qtbot.waitSignal(desk.host.changed):
        desk.page.panel.restore.click()
    desk.settle()
    assert desk.details().status == "live"


def test_a_change_by_another_program_keeps_selection_and_place(desk: Desk) -> None:
    desk.write(lambda memory: [memory.remember("sales", f"Fact number {n:03}") for n in range(120)])
    desk.select("Fact number 060")
    bar = desk.page.table.verticalScrollBar()
    bar.setValue(40 * 36 + 7)
    top = desk.model.table.id_at(bar.value() // 36)
    selected = desk.model.selected
    desk.write(lambda memory: [memory.remember("sales", f"Later {n}") for n in range(3)])
    assert desk.model.selected == selected
    assert [desk.model.table.id_at(each.row()) for each in desk.page.table.selectionModel().selectedRows()] == list(
        selected
    )
    assert desk.model.table.id_at(bar.value() // 36) == top
    assert bar.value() % 36 == 7


def test_a_very_long_text_is_revised_part_by_part_and_saved_whole(desk: Desk) -> None:
    text = " ".join(f"word{n}" for n in range(12_000))
    desk.write(lambda memory: memory.remember("sales", text))
    fact_id = desk.model.table.id_at(0)
    desk.revision.open(fact_id)
    desk.qtbot.waitUntil(lambda: desk.revision.is_open)
    dialog = desk.page.findChildren(ReviseDialog)[0]
    assert desk.revision.part_count > 4
    assert not dialog.earlier.isEnabled()
    dialog.later.click()
    dialog.later.click()
    assert dialog.part.text() == f"Part 3 of {desk.revision.part_count}"
    shown = dialog.diff.after.raw_text()
    assert len(shown) <= PART_CHARS
    dialog.diff.after.setPlainText(f"something new {shown}")
    dialog.earlier.click()
    dialog.later.click()
    draft = dialog.diff.after.raw_text()
    assert draft != shown
    assert desk.revision.draft == text.replace(shown, draft)
    assert desk.revision.can_save
    desk.write(lambda memory: memory.revise("sales", [fact_id], f"Before it. {text}"))
    desk.qtbot.waitUntil(lambda: desk.revision.conflict is not None)
    whole = desk.revision.draft
    dialog.take_newer.click()
    assert desk.revision.draft == whole
    assert dialog.diff.after.raw_text() == desk.revision.shown[1]
    with desk.qtbot.waitSignal(desk.revision.saved):
        dialog.save.click()
    desk.settle()
    assert [fact.text for fact in _live(desk)] == [whole]


def test_parts_are_the_text_and_part_no_line_end() -> None:
    for text in ("a" * 100_000, "x" * (PART_CHARS - 1) + "\r\n" + "y" * 50_000, "one two " * 20_000, "short", ""):
        assert "".join(parts_of(text)) == text
        assert not any(part.endswith("\r") for part in parts_of(text))


def _live(desk: Desk) -> list[Fact]:
    answers: list[list[Fact]] = []
    desk.host.read(lambda memory: memory.facts(memory.fact_ids(FactQuery())), answers.append)
    desk.qtbot.waitUntil(lambda: bool(answers))
    return answers[0]


def test_a_selection_in_very_many_pieces_is_shown_where_one_looks_and_goes_on_by_ctrl_click(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gm_desktop.views.fact_table.MOST_SPANS", 10)
    monkeypatch.setattr("gm_desktop.views.fact_table._SPANS_AROUND", 2)
    desk.write(lambda memory: [memory.remember("sales", f"Fact number {n:03}") for n in range(120)])
    table, ids = desk.page.table, list(desk.model.table.ids)
    wanted = frozenset(ids[::2])
    desk.model.select(wanted)

    def shown() -> list[int]:
        return sorted(each.row() for each in table.selectionModel().selectedRows())

    assert 5 < len(shown()) < 30
    assert set(shown()) <= set(range(0, 120, 2))
    table.verticalScrollBar().setValue(table.verticalScrollBar().maximum())
    assert shown()[-1] == 118
    assert 0 not in shown()
    assert desk.model.selected == wanted

    def click(row: int, *, adds: bool) -> None:
        held = Qt.KeyboardModifier.ControlModifier if adds else Qt.KeyboardModifier.NoModifier
        place = table.visualRect(desk.model.table.index(row, TEXT)).center()
        QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, held, place)

    click(117, adds=True)
    click(118, adds=True)
    assert desk.model.selected == (wanted | {ids[117]}) - {ids[118]}
    desk.write(lambda memory: memory.remember("sales", "A newcomer"))
    assert desk.model.selected == (wanted | {ids[117]}) - {ids[118]}
    assert desk.model.table.row_of(ids[117]) in shown()
    click(115, adds=False)
    assert desk.model.selected == {desk.model.table.id_at(115)}
    table.selectAll()
    assert len(desk.model.selected) == 121


def test_the_inspector_tells_text_lineage_and_journal(desk: Desk) -> None:
    desk.write(three)
    fact_id = desk.model.table.id_at(1)
    desk.write(lambda memory: memory.revise("sales", [fact_id], "Ms Ito prefers a call"))
    desk.select("Ms Ito prefers a call")
    details = desk.details()
    assert details.text == "Ms Ito prefers a call"
    assert [item.place for item in details.lineage] == ["before", "this"]
    assert [line.what for line in details.journal] == ["Written as a revision"]
    assert details.journal[0].who.startswith("Desktop")
    desk.page.panel.lineage.chosen.emit(details.lineage[0].id)
    desk.qtbot.waitUntil(lambda: desk.model.details.fact_id == fact_id)
    assert desk.details().status == "replaced"
    assert [line.what for line in desk.details().journal] == ["Replaced by a revision", "Remembered"]
    desk.qtbot.waitUntil(lambda: desk.model.filter.status == "all")
    desk.settle()
    assert fact_id in desk.model.table.ids


def test_versions_that_differ_near_their_end_show_where_they_differ(desk: Desk) -> None:
    long = "The customer in Lagos pays every invoice by bank transfer and wants a reminder before it is due, "
    versions = (long + "five days ahead", long + "three days ahead", long + "three days ahead, by letter")

    def write(memory: Memory) -> None:
        memory.remember("sales", versions[0])
        for old, new in pairwise(versions):
            memory.revise("sales", old, new)

    desk.write(write)
    desk.select(versions[-1])
    shown = [moment.text for moment in desk.page.panel.lineage.moments]
    for text, change in zip(shown, ("five days", "three days", ", by letter"), strict=True):
        assert 0 < text.index(change) < 60, text
        begins = text.strip("\u2068\u2069").split()[:2]
        assert begins[0] == "…"
        assert begins[1] in long.split(), "cut inside a word"


def test_revising_shows_the_words_that_change_and_saves_with_one_undo(desk: Desk, told: list[Notice]) -> None:
    desk.write(three)
    desk.select("The quote goes out on Monday")
    with desk.qtbot.waitSignal(desk.revision.opened):
        desk.page.table.activated.emit(desk.page.table.currentIndex())
    dialog = desk.page.revise_dialog
    assert not dialog.save.isEnabled()
    dialog.diff.after.setPlainText("The quote goes out on Friday")
    desk.qtbot.waitUntil(lambda: dialog.diff.before.tinted_texts() == ("Monday",))
    assert dialog.diff.after.tinted_texts() == ("Friday",)
    with desk.qtbot.waitSignal(desk.revision.saved):
        QTest.keyClick(dialog.diff.after, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    desk.qtbot.waitUntil(lambda: "The quote goes out on Friday" in desk.texts())
    assert told[-1].text == "Revised a fact"
    assert not dialog.isVisible()
    assert desk.details().text == "The quote goes out on Friday"


def test_a_conflict_shows_both_texts_and_loses_no_draft(desk: Desk) -> None:
    desk.write(three)
    desk.select("Ms Ito prefers mail")
    fact_id = next(iter(desk.model.selected))
    with desk.qtbot.waitSignal(desk.revision.opened):
        desk.page._actions.revise()
    dialog = desk.page.revise_dialog
    dialog.diff.after.setPlainText("Ms Ito prefers post")
    with desk.qtbot.waitSignal(desk.revision.conflict_changed):
        desk.host.write(lambda memory: memory.revise("sales", [fact_id], "Ms Ito prefers a call"), lambda _: None)
    assert dialog.conflict.isVisible()
    assert "Ms Ito prefers a call" in dialog.conflict_text.text()
    assert dialog.diff.after.raw_text() == "Ms Ito prefers post"
    assert not dialog.save.isEnabled()
    dialog.take_newer.click()
    assert dialog.diff.before.raw_text() == "Ms Ito prefers a call"
    with desk.qtbot.waitSignal(desk.revision.saved):
        dialog.save.click()
    desk.qtbot.waitUntil(lambda: "Ms Ito prefers post" in desk.texts())
    assert "Ms Ito prefers a call" not in desk.texts()


def test_a_draft_that_was_left_is_there_again(desk: Desk) -> None:
    desk.write(three)
    desk.select("Ms Ito prefers mail")
    for expected in ("Ms Ito prefers mail", "Ms Ito prefers"):
        with desk.qtbot.waitSignal(desk.revision.opened):
            desk.page._actions.revise()
        assert desk.page.revise_dialog.diff.after.raw_text() == expected
        desk.page.revise_dialog.diff.after.setPlainText("Ms Ito prefers")
        desk.page.revise_dialog.reject()


def test_an_untouched_text_with_odd_line_ends_stays_as_it_is(desk: Desk) -> None:
    odd = "first\r\nsecond\u00a0half\u2029third"
    desk.write(lambda memory: memory.remember("sales", odd))
    desk.model.select(desk.model.table.ids)
    with desk.qtbot.waitSignal(desk.revision.opened):
        desk.page._actions.revise()
    editor = desk.page.revise_dialog.diff.after
    editor.setPlainText(editor.raw_text() + "!")
    editor.setPlainText(editor.raw_text()[:-1])
    assert desk.revision.draft == odd
    desk.page.revise_dialog.reject()


def test_adding_a_fact_selects_it_even_where_a_filter_hid_it(desk: Desk) -> None:
    desk.write(three)
    desk.model.set_filter(replace(desk.model.filter, text="quote"))
    desk.settle()
    desk.page._actions.add()
    dialog = desk.page.findChild(AddFactDialog)
    assert dialog is not None
    assert not dialog.save.isEnabled()
    dialog.agent.setCurrentText("new agent ")
    dialog.text.setPlainText("A new thing")
    dialog.label.setCurrentIndex(1)
    with desk.qtbot.waitSignal(desk.model.verbs.added):
        dialog.save.click()
    desk.qtbot.waitUntil(lambda: desk.texts() == ["A new thing"])
    details = desk.details()
    assert details.agent_id == "new agent "
    assert details.confidence == "verified"


def test_moving_to_a_new_agent_keeps_the_id(desk: Desk) -> None:
    desk.write(three)
    desk.select("Ms Ito prefers mail")
    (fact_id,) = desk.model.selected
    desk.page._actions.move()
    dialog = desk.page.findChild(AgentDialog)
    assert dialog is not None
    dialog.agent.setCurrentText("archive")
    with desk.qtbot.waitSignal(desk.host.changed):
        dialog.save.click()
    desk.settle()
    assert desk.details().id == fact_id
    assert desk.details().agent_id == "archive"
    assert desk.undo.undo_text == "Moved a fact to archive"


@pytest.mark.parametrize(
    "text",
    [
        "<b>bold</b> <img src='file:///etc/passwd'>",
        "nul \x00 here",
        "\u202eevil override",
        "שלום עולם and more",
        "👩‍👩‍👧 family",
        "[[x]] --- **md**",
    ],
)
def test_hostile_text_is_shown_as_text(desk: Desk, text: str) -> None:
    desk.write(lambda memory: memory.remember("a", text))
    desk.model.select(desk.model.table.ids)
    details = desk.details()
    assert details.text == text
    shown = desk.page.panel.text.pane.raw_text()
    assert shown == text.replace("\x00", "\u2400").replace("\u202e", "␦")
    row = desk.texts()[0]
    assert "\u202e" not in row
    assert "\x00" not in row


def test_a_megabyte_is_cut_in_the_row_and_shown_a_part_at_a_time(desk: Desk) -> None:
    desk.write(lambda memory: memory.remember("a", "long " * 200_000))
    desk.model.select(desk.model.table.ids)
    desk.details()
    assert len(desk.texts()[0]) < 500
    assert len(desk.page.panel.text.pane.raw_text()) <= 20_000
    desk.page.panel.text._more.click()
    assert 100_000 < len(desk.page.panel.text.pane.raw_text()) <= 120_000


def test_a_fact_that_another_filter_hides_is_no_longer_acted_on(desk: Desk) -> None:
    desk.write(three)
    desk.select("Ms Ito prefers mail")
    desk.write(lambda memory: memory.retire("sales", list(desk.model.selected)))
    assert desk.details().text == "Ms Ito prefers mail"  # what happens to it may hide it: it can be brought back
    desk.model.set_filter(replace(desk.model.filter, agent_id="support"))
    desk.settle()
    assert desk.model.selected == frozenset()
    assert isinstance(desk.model.details.state, NothingSelected)


def test_filters_and_selection_come_back_with_the_next_start(desk: Desk) -> None:
    desk.write(three)
    desk.model.set_filter(replace(desk.model.filter, agent_id="sales", text="ito"))
    desk.settle()
    desk.select("Ms Ito prefers mail")
    state = desk.page.save_state()
    desk.model.set_filter(desk.model.filter.cleared())
    desk.model.select(())
    desk.page.restore_state(state)
    desk.settle()
    assert desk.model.filter.agent_id == "sales"
    assert desk.texts() == ["Ms Ito prefers mail"]
    assert desk.details().text == "Ms Ito prefers mail"


def test_the_names_of_agents_get_more_room_in_a_wide_window(desk: Desk) -> None:
    desk.write(three)
    widths = []
    for width in (760, 1200, 1700, 3000, 760):
        desk.page.resize(width, 700)
        widths.append((desk.page.agents.width(), desk.page.table.columnWidth(AGENT)))
    assert widths[0] <= widths[1] < widths[2]
    assert widths[2][0] == widths[3][0]
    assert widths[2][1] <= widths[3][1] == 176
    assert widths[4] == widths[0]


def test_at_the_usual_size_of_the_window_the_table_still_names_the_agents(desk: Desk) -> None:
    desk.write(three)
    desk.page.resize(775, 700)  # what 1280 pixels leave beside the rail and the inspector
    assert not desk.page.table.isColumnHidden(AGENT)


def test_the_column_of_ages_has_room_for_any_of_them(desk: Desk) -> None:
    widest = max(desk.page.table.fontMetrics().horizontalAdvance(text) for text in ("48 min", "59 d", "23 mo"))
    assert widest + 2 * CELL_PADDING < desk.page.table.columnWidth(AGE)
