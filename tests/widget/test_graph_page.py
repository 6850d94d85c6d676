"""The Graph page on a real store: found, drawn, explained by its facts, edited in place, each step undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notice, Notices
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels import graph_details
from gm_desktop.viewmodels.graph import GraphViewModel
from gm_desktop.viewmodels.graph_details import EntityDetails, LinkDetails, ShapeDetails, WayDetails
from gm_desktop.viewmodels.graph_verbs import GraphVerbs
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading
from gm_desktop.views.graph import GraphPage
from gm_desktop.views.graph_dialogs import AddEntityDialog, ChooseEntityDialog, SplitDialog
from gm_engine import Memory, StoreDamaged
from tests.fakes.clock import FrozenClock

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
ASK = Callable[[EngineHost, Callable[[Memory], object]], object]


@dataclass
class Desk:
    host: EngineHost
    model: GraphViewModel
    page: GraphPage
    undo: UndoController
    qtbot: QtBot

    def write(self, job: Callable[[Memory], object]) -> None:
        """Writes, and waits until the page has followed."""
        with self.qtbot.waitSignal(self.host.changed):
            self.host.write(job, lambda _: None)
        self.settle()

    def settle(self) -> None:
        self.qtbot.waitUntil(self.page.is_settled, timeout=10_000)

    def act(self, run: Callable[[], object]) -> None:
        """Does something that writes, and waits until the page has followed."""
        with self.qtbot.waitSignal(self.host.changed):
            run()
        self.settle()

    def choose(self, entity_id: str) -> EntityDetails:
        self.model.select(entity_id)
        self.settle()
        assert isinstance(self.model.details, EntityDetails)
        return self.model.details

    def titles(self) -> list[str]:
        return [node.title for node in self.model.entities.nodes]

    def drawn(self) -> set[str]:
        return {node.id for node in self.model.picture.nodes}


@pytest.fixture
def empty_desk(open_host: EngineHost, undo: UndoController, notices: Notices, theme: Theme, qtbot: QtBot) -> Desk:
    verbs = GraphVerbs(open_host, undo, notices, open_host)
    model = GraphViewModel(open_host, verbs, notices, FrozenClock(tick_s=0), open_host)
    QAbstractItemModelTester(model.entities, FATAL, model.entities)
    page = GraphPage(model, theme)
    page.inspector().setParent(page)
    page.resize(1100, 700)
    qtbot.addWidget(page)
    page.show()
    desk = Desk(open_host, model, page, undo, qtbot)
    desk.settle()
    return desk


@pytest.fixture
def desk(empty_desk: Desk) -> Desk:
    empty_desk.write(remember_some)
    empty_desk.qtbot.waitUntil(lambda: empty_desk.model.state == Full(7))
    empty_desk.settle()
    return empty_desk


def remember_some(memory: Memory) -> None:
    memory.remember("ops", "Grace Lin met Tom Becker in Lisbon.")
    memory.remember("ops", "Tom Becker works at Acme Corp.")
    memory.remember("sales", "Ana Sousa called Ben Ode.")
    memory.graph.extract()
    memory.graph.add("Alone", "project")


def dialog(kind: type[QDialog]) -> QDialog:
    found = [each for each in QApplication.topLevelWidgets() if isinstance(each, kind) and each.isVisible()]
    assert len(found) == 1
    return found[0]


def test_an_empty_graph_says_what_fills_it_and_can_be_filled(empty_desk: Desk, told: list[Notice]) -> None:
    state = empty_desk.model.state
    assert isinstance(state, Empty)
    assert empty_desk.page.read.isVisible()
    empty_desk.write(lambda memory: memory.remember("ops", "Grace Lin met Tom Becker."))
    empty_desk.act(empty_desk.page.read.click)
    empty_desk.qtbot.waitUntil(lambda: empty_desk.model.state == Full(2))
    empty_desk.qtbot.waitUntil(lambda: bool(told))
    assert told[-1].text == "Read 1 fact: 2 new entities."


def test_the_page_reads_only_while_somebody_looks(desk: Desk) -> None:
    desk.page.hide()
    with desk.qtbot.waitSignal(desk.host.changed):
        desk.host.write(lambda memory: memory.graph.add("Later", "project"), lambda _: None)
    assert "Later" not in desk.titles()
    assert not desk.model.is_waiting
    desk.page.show()
    desk.qtbot.waitUntil(lambda: "Later" in desk.titles())


def test_a_graph_that_cannot_be_read_offers_to_try_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Memory) -> None:
        raise StoreDamaged("The ledger is damaged.")

    with monkeypatch.context() as patch:
        patch.setattr("gm_desktop.viewmodels.graph.load_graph", broken)
        desk.model.reload()
        desk.qtbot.waitUntil(lambda: isinstance(desk.model.state, Failed))
    assert desk.page.retry.isVisible()
    desk.page.retry.click()
    desk.qtbot.waitUntil(lambda: desk.model.state == Full(7))


def test_before_a_store_is_open_the_page_says_that_it_reads(desk: Desk) -> None:
    desk.host.close_store()
    assert isinstance(desk.model.state, Loading)
    assert desk.drawn() == set()


def test_names_are_found_by_any_part_the_best_linked_first(desk: Desk) -> None:
    assert desk.titles()[0] == "Tom Becker"
    desk.page.query.setText("li")
    assert desk.titles() == ["Lisbon", "Grace Lin"]
    desk.page.query.setText("")
    desk.model.set_order("orphans")
    assert desk.titles() == ["Alone"]
    desk.model.set_order("name")
    assert desk.titles()[:2] == ["Acme Corp", "Alone"]


def test_enter_in_the_search_draws_the_neighbourhood(desk: Desk) -> None:
    assert desk.drawn() == {node.id for node in desk.model.entities.nodes}
    desk.page.query.setText("acme")
    QTest.keyClick(desk.page.query, Qt.Key.Key_Return)
    desk.qtbot.waitUntil(lambda: desk.drawn() == {"acme corp", "tom becker"})
    assert desk.model.selected_id == "acme corp"
    assert "Around Acme Corp: 2 of 7" in desk.page.caption.text()
    desk.model.set_depth(2)
    desk.qtbot.waitUntil(lambda: desk.drawn() == {"acme corp", "tom becker", "grace lin", "lisbon"})
    desk.page.whole.click()
    desk.qtbot.waitUntil(lambda: len(desk.drawn()) == 7)


def test_list_canvas_and_inspector_choose_together(desk: Desk) -> None:
    desk.choose("tom becker")
    assert desk.page.stage.canvas.selected == {"tom becker"}
    assert desk.page.list.currentIndex().data() == "Tom Becker"
    assert desk.page.panel.entity.name.text() == "Tom Becker"
    desk.page.list.setCurrentIndex(desk.model.entities.index(desk.model.entities.row_of("lisbon") or 0))
    assert desk.model.selected_id == "lisbon"
    desk.page.stage.canvas.node_chosen.emit("grace lin")
    assert desk.model.selected_id == "grace lin"


def test_an_entity_shows_its_links_and_the_facts_behind_it(desk: Desk) -> None:
    details = desk.choose("tom becker")
    assert {(line.title, line.relation, line.receipts) for line in details.links} == {
        ("Grace Lin", "mentioned together", 1),
        ("Lisbon", "mentioned together", 1),
        ("Acme Corp", "works at", 1),
    }
    assert [fact.text for fact in details.facts] == [
        "Tom Becker works at Acme Corp.",
        "Grace Lin met Tom Becker in Lisbon.",
    ]
    with desk.qtbot.waitSignal(desk.page.fact_wanted) as wanted:
        desk.page.panel.entity.facts.chosen.emit(details.facts[0].id)
    assert wanted.args == [details.facts[0].id]


def test_a_link_shows_the_facts_behind_it_and_is_severed_in_place(desk: Desk) -> None:
    desk.choose("tom becker")
    desk.page.panel.entity.link_chosen.emit("acme corp")
    desk.settle()
    details = desk.model.details
    assert isinstance(details, LinkDetails)
    assert [fact.text for fact in details.facts] == ["Tom Becker works at Acme Corp."]
    desk.act(desk.page.panel.unlink)
    assert desk.model.data is not None
    assert desk.model.data.edges_of("acme corp") == []
    desk.act(desk.undo.undo)
    assert len(desk.model.data.edges_of("acme corp")) == 1


def test_a_name_is_written_over_in_place_and_undone(desk: Desk) -> None:
    desk.choose("tom becker")
    desk.page.panel.rename()
    edit = desk.page.panel.entity.name
    assert edit.hasFocus()
    QTest.keyClicks(edit, "Thomas")
    desk.act(lambda: QTest.keyClick(edit, Qt.Key.Key_Return))
    assert "Thomas" in desk.titles()
    assert desk.undo.undo_text == "Renamed to Thomas"
    desk.act(desk.undo.undo)
    assert "Tom Becker" in desk.titles()


def test_escape_gives_a_new_name_up(desk: Desk) -> None:
    desk.choose("tom becker")
    desk.page.panel.rename()
    edit = desk.page.panel.entity.name
    QTest.keyClicks(edit, "X")
    QTest.keyClick(edit, Qt.Key.Key_Escape)
    assert edit.text() == "Tom Becker"
    assert not desk.undo.can_undo


def test_a_taken_name_is_refused_in_words(desk: Desk, told: list[Notice], notices: Notices) -> None:
    desk.host.failed.connect(notices.show_failure)
    desk.choose("tom becker")
    desk.model.verbs.rename("tom becker", "grace lin")
    desk.qtbot.waitUntil(lambda: bool(told))
    assert "Merge" in told[-1].text


def test_another_type_changes_colour_and_legend(desk: Desk) -> None:
    desk.choose("lisbon")
    assert ("place", "Place", 1) in desk.model.kinds
    box = desk.page.panel.entity.kind
    box.setCurrentIndex(box.findData("project"))
    desk.act(lambda: box.activated.emit(box.currentIndex()))
    assert ("project", "Project", 2) in desk.model.kinds
    desk.choose("lisbon")
    box.setEditText("harbour town")
    desk.act(lambda: QTest.keyClick(line_edit(box.lineEdit()), Qt.Key.Key_Return))
    assert ("other", "Other", 1) in desk.model.kinds


def line_edit(found: QLineEdit | None) -> QLineEdit:
    assert found is not None
    return found


def test_a_type_of_the_legend_is_left_out_and_brought_back(desk: Desk) -> None:
    row = next(each for each in desk.page.stage.kinds if each.item.kind == "place")
    row.click()
    assert desk.page.stage.canvas.hidden == {"place"}
    row.click()
    assert desk.page.stage.canvas.hidden == frozenset()


def test_an_entity_is_added_by_a_dialog_and_chosen(desk: Desk) -> None:
    desk.page.add.click()
    asked = dialog(AddEntityDialog)
    assert isinstance(asked, AddEntityDialog)
    assert not asked.save.isEnabled()
    asked.label.setText("Orbit Labs")
    asked.kind.show_kind("organization")
    desk.act(asked.save.click)
    assert desk.model.selected_id == "orbit labs"


def test_entities_are_merged_by_a_dialog(desk: Desk) -> None:
    desk.choose("grace lin")
    desk.page.panel.merge()
    asked = dialog(ChooseEntityDialog)
    assert isinstance(asked, ChooseEntityDialog)
    assert "Grace Lin" not in [node.title for node in asked.found.nodes]
    asked.query.setText("ana")
    desk.act(asked.save.click)
    assert desk.model.selected_id == "ana sousa"
    assert "Grace Lin" not in desk.titles()
    desk.act(desk.undo.undo)
    assert "Grace Lin" in desk.titles()


def test_entities_are_linked_by_a_dialog(desk: Desk) -> None:
    desk.choose("alone")
    desk.page.panel.link_to()
    asked = dialog(ChooseEntityDialog)
    assert isinstance(asked, ChooseEntityDialog)
    asked.query.setText("lis")
    asked.relation.setEditText("happens in")
    desk.act(asked.save.click)
    assert [line.relation for line in desk.choose("alone").links] == ["happens in"]
    assert desk.undo.undo_text == "Linked Alone and Lisbon"


def test_facts_are_split_off_by_a_dialog(desk: Desk) -> None:
    desk.choose("tom becker")
    desk.page.panel.split()
    asked = dialog(SplitDialog)
    assert isinstance(asked, SplitDialog)
    asked.label.setText("Other Tom")
    asked.facts.item(0).setCheckState(Qt.CheckState.Checked)
    desk.act(asked.save.click)
    assert desk.model.selected_id == "other tom"
    assert [line.title for line in desk.choose("other tom").links] == ["Acme Corp"]


def test_a_deleted_entity_leaves_the_picture_and_comes_back(desk: Desk) -> None:
    desk.choose("lisbon")
    desk.act(desk.page.panel.delete)
    assert "lisbon" not in desk.drawn()
    assert desk.model.selected_id == ""
    desk.act(desk.undo.undo)
    assert "lisbon" in desk.drawn()


def test_the_way_between_two_entities_is_drawn(desk: Desk, told: list[Notice]) -> None:
    desk.choose("acme corp")
    desk.page.panel.find_way()
    asked = dialog(ChooseEntityDialog)
    assert isinstance(asked, ChooseEntityDialog)
    asked.query.setText("lisbon")
    asked.save.click()
    desk.qtbot.waitUntil(lambda: isinstance(desk.model.details, WayDetails))
    desk.settle()
    assert isinstance(desk.model.details, WayDetails)
    assert desk.model.details.titles == ("Acme Corp", "Tom Becker", "Lisbon")
    assert desk.page.stage.canvas.selected == {"acme corp", "tom becker", "lisbon"}
    desk.model.find_way("acme corp", "ana sousa")
    desk.qtbot.waitUntil(lambda: bool(told))
    assert "No links" in told[-1].text


def test_letting_go_of_an_entity_on_a_way_shows_the_way_again(desk: Desk) -> None:
    desk.model.find_way("acme corp", "lisbon")
    desk.qtbot.waitUntil(lambda: isinstance(desk.model.details, WayDetails))
    desk.choose("tom becker")
    desk.model.select("")
    desk.settle()
    assert isinstance(desk.model.details, WayDetails)
    assert desk.page.stage.canvas.selected == {"acme corp", "tom becker", "lisbon"}


def test_an_entity_that_was_let_go_of_is_not_shown_when_its_answer_comes(desk: Desk) -> None:
    shown: list[object] = []
    desk.model.details_changed.connect(lambda: shown.append(desk.model.details))
    desk.model.select("acme corp")
    desk.model.select("")
    desk.settle()
    assert [type(each) for each in shown] == [ShapeDetails]


def test_with_nothing_chosen_the_shape_of_the_graph_is_shown(desk: Desk) -> None:
    desk.model.select("")
    desk.qtbot.waitUntil(lambda: isinstance(desk.model.details, ShapeDetails))
    shape = desk.model.details
    assert isinstance(shape, ShapeDetails)
    assert [title for _, title, _ in shape.orphans] == ["Alone"]
    assert shape.hubs[0][1] == "Tom Becker"
    desk.page.panel.shape.entity_wanted.emit("tom becker")
    desk.settle()
    assert desk.model.scope.focus == "tom becker"


def test_a_link_whose_facts_are_retired_is_shown_as_stale(desk: Desk) -> None:
    fact_id = desk.choose("acme corp").facts[0].id
    desk.write(lambda memory: memory.retire("ops", [fact_id]))
    desk.qtbot.waitUntil(lambda: bool(desk.model.data and desk.model.data.stale))
    desk.settle()
    assert [line.is_stale for line in desk.choose("acme corp").links] == [True]
    assert desk.model.picture.stale.sum() == 1
    desk.model.set_order("stale")
    assert set(desk.titles()) == {"Acme Corp", "Tom Becker"}


def test_what_another_program_writes_appears_and_the_choice_stays(desk: Desk) -> None:
    desk.choose("lisbon")
    view = desk.page.stage.canvas.view
    desk.write(lambda memory: memory.graph.link("alone", "lisbon"))
    desk.qtbot.waitUntil(lambda: bool(desk.model.data and desk.model.data.edges_of("alone")))
    desk.settle()
    assert desk.model.selected_id == "lisbon"
    assert desk.page.stage.canvas.view == view


def test_the_drawn_graph_is_saved(desk: Desk, told: list[Notice], tmp_path: Path) -> None:
    desk.page.save_to(tmp_path / "g.png")
    desk.qtbot.waitUntil(lambda: bool(told))
    assert told[-1].text == "Saved g.png"
    assert not QImage(str(tmp_path / "g.png")).isNull()
    desk.page.save_to(tmp_path / "missing" / "g.svg")
    desk.qtbot.waitUntil(lambda: len(told) == 2)
    assert told[-1].level == "error"


def test_order_and_depth_come_back_with_the_next_start(desk: Desk) -> None:
    desk.model.set_order("recent")
    desk.model.set_depth(3)
    state = desk.page.save_state()
    desk.model.set_order("links")
    desk.model.set_depth(1)
    desk.page.restore_state({**state, "unknown": "x"})
    assert (desk.model.order, desk.model.scope.depth) == ("recent", 3)


def test_a_read_only_store_offers_no_changes(desk: Desk) -> None:
    desk.host.read_only = True
    desk.model.select("")
    desk.choose("lisbon")
    panel = desk.page.panel.entity
    assert panel.name.isReadOnly()
    assert not any(button.isEnabled() for button in (panel.kind, panel.link, panel.merge, panel.split, panel.delete))
    specs = {spec.id: spec.when() for spec in desk.page.action_specs()}
    assert not specs["entity.rename"]
    assert specs["entity.way"]


def add_odd(label: str, memory: Memory) -> None:
    memory.graph.add(label, "<i>")


def test_hostile_labels_are_shown_as_text(desk: Desk) -> None:
    for label in ("<b>bold</b>", "a\0b", "שלום\u202e", "x" * 500, "[[x]] ---\n"):
        desk.write(partial(add_odd, label))
    for node in desk.model.entities.nodes:
        desk.choose(node.id)
    desk.page.grab()
    assert any("<b>bold</b>" in title for title in desk.titles())


def test_missing_ends_are_drawn_and_named(desk: Desk) -> None:
    def dangle(memory: Memory) -> None:
        memory.graph.link("alone", "lisbon", "r")
        with memory._ledger.bookkeep() as connection:
            connection.exec_driver_sql("UPDATE edges SET to_id = 'ghost' WHERE relation = 'r'")

    desk.write(dangle)
    desk.qtbot.waitUntil(lambda: "ghost" in desk.drawn())
    assert [line.title for line in desk.choose("alone").links] == ["ghost"]
    desk.model.select("ghost")
    desk.settle()
    assert desk.model.details is None


def place_of(desk: Desk, entity_id: str) -> tuple[float, ...]:
    picture = desk.model.picture
    return tuple(picture.places[picture.number[entity_id]].tolist())


def test_where_a_person_put_an_entity_is_kept_in_the_store_until_it_is_laid_out_anew(desk: Desk, asked: ASK) -> None:
    desk.model.show_whole()
    desk.settle()
    entity_id = desk.model.entities.nodes[0].id
    laid_out = place_of(desk, entity_id)
    desk.page.stage.canvas.node_moved.emit(entity_id, 31.0, -17.0)
    assert place_of(desk, entity_id) == (31.0, -17.0)
    desk.qtbot.waitUntil(lambda: asked(desk.host, lambda memory: memory.graph.positions()[entity_id]) == (31.0, -17.0))
    desk.write(lambda memory: memory.graph.add("Newcomer", "project"))
    assert place_of(desk, entity_id) == (31.0, -17.0)
    desk.model.reset_layout()
    desk.qtbot.waitUntil(lambda: place_of(desk, entity_id) != (31.0, -17.0))
    desk.settle()
    assert place_of(desk, entity_id) == asked(desk.host, lambda memory: memory.graph.positions()[entity_id])
    assert laid_out != (31.0, -17.0)


def test_in_a_neighbourhood_a_moved_entity_stays_for_as_long_as_the_program_runs(desk: Desk, asked: ASK) -> None:
    entity_id = desk.model.found("Grace")[0].id
    desk.model.show_near(entity_id, 2)
    desk.settle()
    kept = asked(desk.host, lambda memory: memory.graph.positions()[entity_id])
    desk.model.move_node(entity_id, 5.0, 6.0)
    desk.model.show_whole()
    desk.settle()
    assert place_of(desk, entity_id) == kept
    desk.model.show_near(entity_id, 2)
    desk.settle()
    assert place_of(desk, entity_id) == (5.0, 6.0)
    desk.model.reset_layout()
    desk.settle()
    assert place_of(desk, entity_id) == (0.0, 0.0)


def test_of_an_entity_and_of_a_link_all_facts_are_counted_though_the_newest_alone_are_shown(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_details, "MOST_FACTS", 2)
    for number in range(3):
        desk.write(partial(remember_a_meeting, number=number))
    tom, panel = desk.model.found("Tom")[0].id, desk.page.panel
    assert len(desk.choose(tom).facts) == 2
    assert (panel.entity.facts_title.text(), panel.entity.more_facts.text()) == ("5 facts", "and 3 more")
    desk.model.select_link(desk.model.found("Grace")[0].id, tom)
    desk.settle()
    assert (panel.link.facts_title.text(), panel.link.more_facts.text()) == ("4 facts behind it", "and 2 more")
    monkeypatch.setattr(graph_details, "MOST_FACTS", 60)
    desk.choose(tom)
    assert not panel.entity.more_facts.isVisibleTo(panel)


def remember_a_meeting(memory: Memory, *, number: int) -> None:
    memory.remember("ops", f"Grace Lin met Tom Becker again, room {number}.")
    memory.graph.extract()


def test_texts_lists_and_facts_of_the_inspector_begin_at_one_line_and_end_at_one(desk: Desk) -> None:
    tom, panel = desk.model.found("Tom")[0].id, desk.page.panel
    desk.choose(tom)
    desk.page.resize(1500, 700)
    panel.setGeometry(1160, 0, 320, 700)
    panel.show()
    entity = panel.entity
    desk.qtbot.waitUntil(lambda: entity.links.width() > 200)

    def edges(widget: QWidget) -> tuple[int, int]:
        left = widget.mapTo(panel, QPoint(0, 0)).x()
        return left, left + widget.width()

    left, right = edges(entity.links_title)
    assert edges(entity.facts_title) == edges(entity.rows) == edges(entity.kind) == (left, right)
    assert edges(entity.links) == (left - 8, right + 8)  # a list has its ground around its dots
    picture = entity.grab().toImage()
    surface = picture.pixelColor(2, 2)

    def first_ink(widget: QWidget) -> int:
        spot, area = widget.mapTo(entity, QPoint(0, 0)), widget.size()
        inked = (
            x
            for x in range(area.width())
            for y in range(min(area.height(), 26))
            if picture.pixelColor(spot.x() + x, spot.y() + y) != surface
        )
        return spot.x() + next(inked)

    assert abs(first_ink(entity.links) - first_ink(entity.links_title)) <= 1
    assert abs(first_ink(entity.facts) - first_ink(entity.facts_title)) <= 1


def test_the_inspector_has_the_same_margin_at_both_sides_with_a_scroll_bar_and_without(desk: Desk) -> None:
    desk.choose(desk.model.found("Tom")[0].id)
    desk.page.resize(1500, 1500)
    panel = desk.page.panel
    bar, title = panel.entity.verticalScrollBar(), panel.entity.links_title
    panel.show()
    widths = []
    for height in (1400, 300, 1400):
        panel.setGeometry(1160, 0, 320, height)
        desk.qtbot.waitUntil(lambda: (bar.maximum() > 0) == (panel.height() == 300))
        desk.qtbot.waitUntil(lambda: title.mapTo(panel, QPoint(0, 0)).x() == 320 - 20 - title.width())
        widths.append(title.width())
    assert widths == [280, 280, 280]
