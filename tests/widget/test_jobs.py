"""The jobs of the desktop in the steps they may take, through the real window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QMimeData, QPointF, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.engine_host import EngineHost
from gm_desktop.viewmodels.fact_details import FactDetails
from gm_desktop.viewmodels.fact_filter import FactFilter
from gm_desktop.views.memory import MemoryPage
from gm_desktop.views.revise_dialog import ReviseDialog
from gm_desktop.views.search import SearchPage
from gm_desktop.widgets.fact_drag import FACTS_MIME
from gm_engine import Memory
from tests.fakes.clock import FrozenClock
from tests.widget.conftest import open_scripted

ASK = Callable[[EngineHost, Callable[[Memory], object]], object]


def memory_page(app: App, qtbot: QtBot) -> MemoryPage:
    app.show_page("memory")
    page = app.window.pages["memory"]
    assert isinstance(page, MemoryPage)
    qtbot.waitUntil(page.is_settled)
    focus(page.table, qtbot)
    return page


def search_page(app: App, qtbot: QtBot, query: str) -> SearchPage:
    app.show_page("search")
    page = app.window.pages["search"]
    assert isinstance(page, SearchPage)
    qtbot.waitUntil(lambda: bool(app.searching.question.agent_id))
    app.searching.set_agent("sales")
    page.query.setText(query)
    qtbot.waitUntil(lambda: bool(app.searching.hits.hits))
    return page


def focus(widget: QWidget, qtbot: QtBot) -> None:
    widget.window().activateWindow()
    widget.setFocus()
    qtbot.waitUntil(widget.hasFocus)


def press(widget: QWidget, key: Qt.Key, *, ctrl: bool = False) -> None:
    modifier = Qt.KeyboardModifier.ControlModifier if ctrl else Qt.KeyboardModifier.NoModifier
    QTest.keyClick(widget, key, modifier)


def texts(memory: Memory) -> set[str]:
    agents = [each.agent_id for each in memory.agents()]
    found = (fact.text for agent in agents for fact in memory.recall(agent, "fact", top_k=100, preview=True).facts)
    return set(found)


def test_seeing_why_a_fact_came_back_is_selecting_it(open_app: App, qtbot: QtBot) -> None:
    page = search_page(open_app, qtbot, "invoices")
    focus(page.hits, qtbot)
    press(page.hits, Qt.Key.Key_Down)
    assert open_app.searching.why is not None
    assert open_app.searching.why.position == 2
    assert page.panel.sum.final.text() == open_app.searching.why.final


def test_correcting_a_fact_is_enter_edit_ctrl_enter(open_app: App, qtbot: QtBot, asked: ASK) -> None:
    page = memory_page(open_app, qtbot)
    page.table.selectRow(0)
    press(page.table, Qt.Key.Key_Return)
    qtbot.waitUntil(page.revise_dialog.isVisible)
    page.revise_dialog.diff.after.setPlainText("A corrected fact")
    with qtbot.waitSignal(open_app.revising.saved):
        press(page.revise_dialog.diff.after, Qt.Key.Key_Return, ctrl=True)
    found = asked(open_app.host, texts)
    assert isinstance(found, set)
    assert "A corrected fact" in found


def test_correcting_a_hit_takes_the_same_keys_on_the_search_page(open_app: App, qtbot: QtBot, asked: ASK) -> None:
    page = search_page(open_app, qtbot, "invoices")
    focus(page.hits, qtbot)
    press(page.hits, Qt.Key.Key_Return)
    dialog = memory_dialog(open_app)
    qtbot.waitUntil(dialog.isVisible)
    press(dialog.diff.after, Qt.Key.Key_End)
    QTest.keyClicks(dialog.diff.after, " and bills")
    with qtbot.waitSignal(open_app.revising.saved) as saved:
        press(dialog.diff.after, Qt.Key.Key_Return, ctrl=True)
    assert saved.args is not None
    new_id = saved.args[0]
    qtbot.waitUntil(lambda: open_app.searching.selected_id == new_id)
    assert open_app.window.page_id == "search"


def memory_dialog(app: App) -> ReviseDialog:
    page = app.window.pages["memory"]
    assert isinstance(page, MemoryPage)
    return page.revise_dialog


def test_pinning_every_fact_is_select_and_p_and_undo_is_one_key(open_app: App, qtbot: QtBot, asked: ASK) -> None:
    def pinned(memory: Memory) -> int:
        return sum(each.pinned for each in memory.agents())

    page = memory_page(open_app, qtbot)
    press(page.table, Qt.Key.Key_A, ctrl=True)
    qtbot.waitUntil(open_app.actions.action("fact.pin_toggle").isEnabled)
    with qtbot.waitSignal(open_app.host.changed):
        press(page.table, Qt.Key.Key_P)
    assert asked(open_app.host, pinned) == 4
    qtbot.waitUntil(open_app.actions.action("step.undo").isEnabled)
    with qtbot.waitSignal(open_app.host.changed):
        press(page.table, Qt.Key.Key_Z, ctrl=True)
    assert asked(open_app.host, pinned) == 0


def test_facts_that_are_selected_together_are_pinned_by_a_button_beside_them(
    open_app: App, qtbot: QtBot, asked: ASK
) -> None:
    page = memory_page(open_app, qtbot)
    pin, retire, more = page.panel.for_many
    assert not pin.isVisible(), "nothing is selected"
    press(page.table, Qt.Key.Key_A, ctrl=True)
    qtbot.waitUntil(pin.isVisible)
    assert retire.isVisible()
    assert more.menu() is page.panel.more.menu()
    with qtbot.waitSignal(open_app.host.changed):
        QTest.mouseClick(pin, Qt.MouseButton.LeftButton)
    assert asked(open_app.host, lambda memory: sum(each.pinned for each in memory.agents())) == 4
    page.table.selectRow(0)
    qtbot.waitUntil(lambda: shown_text(open_app) != "")
    assert not pin.isVisible()


def test_the_first_arrow_selects_the_first_fact_and_does_not_step_over_it(open_app: App, qtbot: QtBot) -> None:
    page = memory_page(open_app, qtbot)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Home):
        open_app.remembering.select(())
        press(page.table, key)
        assert open_app.remembering.selected == {open_app.remembering.table.id_at(0)}
    press(page.table, Qt.Key.Key_Down)
    assert open_app.remembering.selected == {open_app.remembering.table.id_at(1)}


def test_the_facts_of_another_agent_are_read_from_the_first_one_on(app: App, qtbot: QtBot, tmp_path: Path) -> None:
    with open_scripted(tmp_path / "store", read_only=False) as memory:
        for number in range(80):
            memory.remember("ops" if number % 2 else "sales", f"Lamp {number} is lit")
    app.start(tmp_path / "store")
    qtbot.waitUntil(lambda: app.host.is_open)
    page = memory_page(app, qtbot)
    qtbot.waitUntil(lambda: app.remembering.table.rowCount() == 80)
    bar = page.table.verticalScrollBar()
    page.table.scrollToBottom()
    page.open_agent("ops")
    qtbot.waitUntil(lambda: app.remembering.table.rowCount() == 40 and page.is_settled())
    assert bar.value() == 0
    page.table.selectRow(39)
    qtbot.waitUntil(lambda: bar.value() > 0)
    app.remembering.set_filter(FactFilter())
    qtbot.waitUntil(lambda: app.remembering.table.rowCount() == 80 and page.is_settled())
    assert page.table.viewport().rect().contains(page.table.visualRect(page.table.currentIndex())), "it is selected"


def test_an_undone_revision_shows_the_fact_as_it_was_and_its_message_goes(open_app: App, qtbot: QtBot) -> None:
    page = memory_page(open_app, qtbot)
    page.table.selectRow(0)
    before = open_app.remembering.selected
    press(page.table, Qt.Key.Key_Return)
    qtbot.waitUntil(page.revise_dialog.isVisible)
    page.revise_dialog.diff.after.setPlainText("A corrected fact")
    press(page.revise_dialog.diff.after, Qt.Key.Key_Return, ctrl=True)
    qtbot.waitUntil(lambda: shown_text(open_app) == "A corrected fact")
    qtbot.waitUntil(open_app.actions.action("step.undo").isEnabled)
    focus(page.table, qtbot)
    press(page.table, Qt.Key.Key_Z, ctrl=True)
    qtbot.waitUntil(lambda: open_app.remembering.selected == before)
    qtbot.waitUntil(lambda: shown_text(open_app) not in ("", "A corrected fact"))
    assert open_app.window.toasts.texts() == ("Undone: Revised a fact",)


def shown_text(app: App) -> str:
    state = app.remembering.details.state
    return state.text if isinstance(state, FactDetails) else ""


def test_stopping_a_wrong_fact_for_ever_is_selecting_it_and_shift_delete(
    open_app: App, qtbot: QtBot, asked: ASK
) -> None:
    page = memory_page(open_app, qtbot)
    page.table.selectRow(0)
    qtbot.waitUntil(lambda: shown_text(open_app) != "")
    wrong = shown_text(open_app)
    with qtbot.waitSignal(open_app.host.changed):
        QTest.keyClick(page.table, Qt.Key.Key_Delete, Qt.KeyboardModifier.ShiftModifier)
    assert asked(open_app.host, lambda memory: [each.text for each in memory.blocked.list()]) == [wrong]
    assert wrong not in texts_of(asked(open_app.host, texts))
    assert open_app.undo.undo_text == "Retired a fact and blocked its text"
    with qtbot.waitSignal(open_app.host.changed):
        press(page.table, Qt.Key.Key_Z, ctrl=True)
    qtbot.waitUntil(
        lambda: open_app.window.toasts.texts() == ("Undone: Retired a fact and blocked its text",)
    )  # not that it is refused from now on
    assert asked(open_app.host, lambda memory: memory.blocked.list()) == ()
    assert wrong in texts_of(asked(open_app.host, texts))


def texts_of(found: object) -> set[str]:
    assert isinstance(found, set)
    return found


def test_down_leads_from_the_question_to_the_hits_and_shift_delete_stops_a_wrong_one(
    open_app: App, qtbot: QtBot, asked: ASK
) -> None:
    page = search_page(open_app, qtbot, "invoices")
    focus(page.query, qtbot)
    press(page.query, Qt.Key.Key_Down)
    qtbot.waitUntil(page.hits.hasFocus)
    with qtbot.waitSignal(open_app.host.changed):
        QTest.keyClick(page.hits, Qt.Key.Key_Delete, Qt.KeyboardModifier.ShiftModifier)
    assert asked(open_app.host, lambda memory: len(memory.blocked.list())) == 1


def test_arrows_walk_over_the_choices_of_the_first_page(app: App, qtbot: QtBot) -> None:
    app.window.show()
    app.start_page.focus_first()
    first = app.window.focusWidget()
    assert first is not None
    focus(first, qtbot)
    press(first, Qt.Key.Key_Right)
    second = app.window.focusWidget()
    assert second is not None
    assert (first.accessibleName(), second.accessibleName()) == ("New store", "Open a store")
    press(second, Qt.Key.Key_Up)
    assert app.window.focusWidget() is first


def test_del_retires_and_typing_in_the_filter_never_does(open_app: App, qtbot: QtBot) -> None:
    page = memory_page(open_app, qtbot)
    page.table.selectRow(0)
    focus(page.filters.text, qtbot)
    QTest.keyClicks(page.filters.text, "pp")
    press(page.filters.text, Qt.Key.Key_Left)
    press(page.filters.text, Qt.Key.Key_Delete)
    assert page.filters.text.text() == "p"
    assert open_app.undo.undo_text == ""
    page.filters.text.clear()
    qtbot.waitUntil(page.is_settled)
    focus(page.table, qtbot)
    with qtbot.waitSignal(open_app.host.changed):
        press(page.table, Qt.Key.Key_Delete)
    assert open_app.undo.undo_text == "Retired a fact"


def test_facts_dropped_on_an_agent_move_there(open_app: App, qtbot: QtBot, asked: ASK) -> None:
    page = memory_page(open_app, qtbot)
    open_app.remembering.select(open_app.remembering.table.ids)
    row = open_app.remembering.agents.row_of("ops")
    assert row is not None
    at = page.agents.visualRect(open_app.remembering.agents.index(row)).center()
    data = QMimeData()  # an event only borrows it
    data.setData(FACTS_MIME, b"4")
    move, left, no_key = Qt.DropAction.MoveAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    with qtbot.waitSignal(open_app.host.changed):
        page.agents.dropEvent(QDropEvent(QPointF(at), move, data, left, no_key))
    agents = asked(open_app.host, lambda memory: [(each.agent_id, each.live) for each in memory.agents()])
    assert agents == [("ops", 4)]
    assert open_app.undo.undo_text == "Moved 3 facts to ops"


def test_the_next_start_shows_page_filter_selection_and_question_again(
    app: App, qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    with open_scripted(tmp_path / "store", read_only=False) as memory:
        for number in range(5):
            memory.remember("sales", f"Fact number {number} about invoices")
    app.start(tmp_path / "store")
    qtbot.waitUntil(lambda: app.window.page_id == "memory")
    page = memory_page(app, qtbot)
    page.filters.text.setText("number 3")
    qtbot.waitUntil(lambda: app.remembering.table.rowCount() == 1 and page.is_settled())
    page.table.selectRow(0)
    selected = app.remembering.selected
    app.window.build_page("search")
    app.searching.set_query("invoices")
    app._save()
    again = App(qapp, places=app.places, clock=FrozenClock(), theme_mode="light", opener=open_scripted)
    again.start(tmp_path / "store")
    qtbot.waitUntil(lambda: again.window.page_id == "memory")
    qtbot.waitUntil(lambda: not again.remembering.is_waiting)
    assert again.remembering.filter.text == "number 3"
    assert again.remembering.selected == selected
    assert isinstance(again.remembering.details.state, FactDetails)
    again.building.start()  # as after the first paint
    qtbot.waitUntil(lambda: len(again.searching.hits.hits) == 5)
    again.window.close_now()
    again.close()
    again.window.deleteLater()
    again.deleteLater()
