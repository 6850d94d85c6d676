"""The Search page in the whole window: reached from everywhere, by keys, by the palette, by dropping a fact."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.viewmodels.why_not_words import WhyNotReport
from gm_desktop.views.fact_table import PINNED, TEXT
from gm_desktop.views.made_actions import fill_menu
from gm_desktop.views.memory import MemoryPage
from gm_desktop.views.search import SearchPage
from gm_desktop.views.search_actions import HIT_MENU
from tests.widget.search_desk import drop_facts, hover_fact


def search_page(app: App) -> SearchPage:
    page = app.window.pages["search"]
    assert isinstance(page, SearchPage)
    return page


def tab_of(page: SearchPage) -> str:
    return page.side.tab


def focused() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


def test_every_panel_has_a_key_that_works_from_another_page(open_app: App, qtbot: QtBot) -> None:
    page = search_page(open_app)
    for action, tab in (("why_not.show", "why_not"), ("lab.show", "lab"), ("why.show", "why")):
        open_app.show_page("memory")
        open_app.actions.run(action)
        assert open_app.window.page_id == "search"
        assert tab_of(page) == tab
    open_app.actions.run("query.focus")
    QTest.keyClick(focused(), Qt.Key.Key_F7, Qt.KeyboardModifier.ShiftModifier)
    assert tab_of(page) == "why_not"
    assert focused() is page.side.why_not.field
    QTest.keyClick(focused(), Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    assert tab_of(page) == "lab"
    assert focused() is page.side.lab.knobs["vector"].slider
    QTest.keyClick(focused(), Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    assert page.eye_chip.isChecked()
    QTest.keyClick(focused(), Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert open_app.search_models.batch.is_open
    assert focused() is page.batch.questions
    QTest.keyClick(focused(), Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert not open_app.search_models.batch.is_open
    qtbot.waitUntil(page.is_settled)


def test_a_closed_inspector_opens_for_what_it_shows(open_app: App) -> None:
    open_app.show_page("search")
    open_app.actions.run("inspector.toggle")
    assert open_app.window.inspector_width == 0
    open_app.actions.run("lab.show")
    assert open_app.window.inspector_width > 0


def test_the_palette_finds_lab_batch_and_agents_eye(open_app: App) -> None:
    for words, title in (("lab", "Ranking lab"), ("batch", "Ask several questions"), ("agent's eye", "Agent's eye")):
        assert title in [entry.title for entry in open_app.find_entries(words)[:3]]


def test_a_fact_of_the_memory_page_is_followed_in_one_step(open_app: App, qtbot: QtBot) -> None:
    memory = open_app.window.pages["memory"]
    assert isinstance(memory, MemoryPage)
    qtbot.waitUntil(memory.is_settled)
    open_app.searching.set_query("invoices")
    qtbot.waitUntil(search_page(open_app).is_settled)
    memory.table.selectRow(0)
    open_app.actions.run("fact.why_not")
    qtbot.waitUntil(lambda: isinstance(open_app.search_models.why_not.state, WhyNotReport))
    assert open_app.window.page_id == "search"
    assert tab_of(search_page(open_app)) == "why_not"


def test_a_fact_dropped_on_search_in_the_rail_is_followed(open_app: App, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: bool(open_app.remembering.table.ids))
    fact_id = open_app.remembering.table.ids[0]
    entry = next(each for each in open_app.window.rail.findChildren(QToolButton) if each.text() == "Search")
    assert drop_facts(entry, fact_id)
    assert open_app.window.page_id == "search"
    assert open_app.search_models.why_not.fact_id == fact_id
    vault = next(each for each in open_app.window.rail.findChildren(QToolButton) if each.text() == "Vault")
    assert not vault.acceptDrops()
    qtbot.waitUntil(search_page(open_app).is_settled)


def test_a_fact_that_hovers_over_search_opens_the_page(open_app: App, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: bool(open_app.remembering.table.ids))
    entry = next(each for each in open_app.window.rail.findChildren(QToolButton) if each.text() == "Search")
    hover_fact(entry, open_app.remembering.table.ids[0])
    qtbot.waitUntil(lambda: open_app.window.page_id == "search")


def test_without_agents_the_box_says_so(app: App) -> None:
    page = search_page(app)
    assert page.agent.placeholderText() == "No agents yet"
    assert page.agent.currentIndex() == -1
    assert not page.agent.isEnabled()


def test_the_text_column_uses_its_width_and_a_pin_costs_only_its_own_row(open_app: App, qtbot: QtBot) -> None:
    memory = open_app.window.pages["memory"]
    assert isinstance(memory, MemoryPage)
    open_app.window.resize(1280, 800)
    qtbot.waitUntil(memory.is_settled)
    table = memory.table
    assert table.isColumnHidden(PINNED)
    assert table.columnWidth(TEXT) >= 280
    first = open_app.remembering.table.ids[0]
    with qtbot.waitSignal(open_app.host.changed):
        open_app.remembering.verbs.pin([first])
    qtbot.waitUntil(lambda: bool(open_app.remembering.table.index(0, PINNED).data()))
    spoken = open_app.remembering.table.index(0, TEXT).data(Qt.ItemDataRole.ToolTipRole)
    assert str(spoken).endswith(", pinned")


def test_del_in_the_lab_retires_no_hit_and_in_the_list_it_does(open_app: App, qtbot: QtBot) -> None:
    page = search_page(open_app)
    open_app.actions.run("lab.show")
    open_app.searching.set_query("invoices")
    qtbot.waitUntil(lambda: page.is_settled() and open_app.searching.selected_id is not None)
    for key in (Qt.Key.Key_Delete, Qt.Key.Key_P):
        QTest.keyClick(focused(), key)
    open_app.actions.run("why_not.show")
    QTest.keyClick(focused(), Qt.Key.Key_P)
    assert page.side.why_not.field.text() == "p"
    page.hits.setFocus()
    with qtbot.waitSignal(open_app.host.changed):
        QTest.keyClick(page.hits, Qt.Key.Key_Delete)
    assert open_app.undo.undo_text == "Retired a fact"
    open_app.undo.undo()
    qtbot.waitUntil(lambda: open_app.undo.undo_text == "")  # nothing before it was changed
    qtbot.waitUntil(page.is_settled)


def test_a_hit_has_a_menu_of_what_can_be_done_to_it(open_app: App, qtbot: QtBot) -> None:
    page = search_page(open_app)
    open_app.show_page("search")
    open_app.searching.set_query("invoices")
    qtbot.waitUntil(lambda: page.is_settled() and open_app.searching.selected_id is not None)
    menu = QMenu()
    qtbot.addWidget(menu)
    fill_menu(menu, page, HIT_MENU)
    names = [action.objectName() for action in menu.actions() if not action.isSeparator()]
    assert names == ["hit.revise", "hit.pin", "hit.open", "hit.why_not", "hit.expect", "hit.retire", "hit.block"]
    assert all(action.isEnabled() for action in menu.actions())
