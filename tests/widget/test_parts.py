"""Small parts of the shell: tasks, preferences, notices, toasts, crash reports, the stall watch, the action table."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop import crash
from gm_desktop.action_table import ActionTable
from gm_desktop.actions import ActionSpec
from gm_desktop.formatting import duration
from gm_desktop.models.line_list import Line, LineList
from gm_desktop.notices import Notice, Notices, sentence_for
from gm_desktop.preferences import Preferences
from gm_desktop.stall_watch import StallWatch
from gm_desktop.tasks import Task, TaskBoard, TaskState
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.widgets.activity_strip import ActivityStrip, TaskLine
from gm_desktop.widgets.basics import EmptyState, PageHeader, document_tabs, even_width, push_button, text_label
from gm_desktop.widgets.form_card import FormCard
from gm_desktop.widgets.line_view import LINE_INDENT, LineView
from gm_desktop.widgets.rail import NavigationRail, RailButton
from gm_desktop.widgets.toasts import AT_MOST, Toast, ToastStack
from gm_engine.errors import DiskFull, FactChanged, GrayMatterError, StoreTooNew, StoreUnavailable


def test_a_task_knows_its_share_and_begins_anew_with_each_stage(qtbot: QtBot) -> None:
    task = Task("Import")
    assert (task.fraction, task.left_s) == (None, None)
    task.report(5, 10, "Reading")
    assert task.fraction == 0.5
    task.report(20, 10, "Reading")
    assert task.fraction == 1.0
    task.report(0, None, "Writing")
    assert task.fraction is None
    assert task.left_s is None


def test_the_board_cancels_and_forgets(qtbot: QtBot) -> None:
    board = TaskBoard()
    first, second = board.start("one"), board.start("two")
    board.cancel_all()
    assert first.token.is_cancelled
    assert second.state is TaskState.CANCELLING
    board.end(first, TaskState.CANCELLED)
    assert board.running == (second,)
    assert not first.is_running
    board.end(second, TaskState.DONE)


def test_the_strip_shows_running_tasks_and_the_store(theme: Theme, qtbot: QtBot) -> None:
    strip, board = ActivityStrip(theme), TaskBoard()
    qtbot.addWidget(strip)
    board.started.connect(strip.add_task)
    board.ended.connect(strip.remove_task)
    task = board.start("Import")
    assert len(strip.findChildren(TaskLine)) == 1
    board.end(task, TaskState.DONE)
    assert [line for line in strip.findChildren(TaskLine) if line.isVisibleTo(strip)] == []
    strip.show_store("/stores/one", badge="read only")
    assert strip.path_text == "/stores/one"
    strip.show_indexing(3, 7)
    assert strip.is_indexing
    strip.show_indexing(3, 7, left_s=150.0)
    assert strip._indexing.text() == f"Learning meanings: 3 of 10, {duration(150)} left"
    strip.show_indexing(3, 7, left_s=1.0, error="The server refused the key (401).")
    assert strip._indexing.text() == "Learning meanings pauses at 3 of 10"
    assert "refused the key" in strip._indexing.toolTip()
    strip.show_indexing(10, 0)
    assert not strip.is_indexing


def test_preferences_come_back(tmp_path: Path) -> None:
    first = Preferences(tmp_path)
    first.theme = "dark"
    first.page = "search"
    first.inspector_width = 0
    first.vault = "/notes/with, comma"
    first.set_page_state("memory", {"agent": "a \u202e b", "text": '"quoted" = [x]'})
    for number in range(8):
        first.remember_store(tmp_path / str(number))
    first.remember_store(tmp_path / "5")
    first.save()
    second = Preferences(tmp_path)
    assert (second.theme, second.page, second.inspector_width) == ("dark", "search", 0)
    assert second.vault == "/notes/with, comma"
    assert second.page_state("memory") == {"agent": "a \u202e b", "text": '"quoted" = [x]'}
    assert [path.name for path in second.recent_stores] == ["5", "7", "6", "4", "3", "2"]


def test_damaged_preferences_are_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "preferences.ini").write_text(
        "[General]\ntheme=plaid\n[stores]\nrecent={nonsense\n[pages]\nmemory=[1]\n"
    )
    preferences = Preferences(tmp_path)
    assert preferences.theme == "system"
    assert preferences.recent_stores == ()
    assert preferences.page_state("memory") == {}
    assert preferences.geometry is None


def test_failures_become_sentences_with_a_level(notices: Notices, told: list[Notice]) -> None:
    notices.show_failure(FactChanged("x", ids=("a",)))
    notices.show_failure(StoreTooNew("x"))
    assert [(each.level, each.lasting) for each in told] == [("warning", False), ("error", True)]
    assert "Nothing was written" in told[0].text


def test_a_full_disk_is_named_where_it_is_known() -> None:
    assert sentence_for(DiskFull("x", path="/tmp")) == "The disk of /tmp is full. Free some space there and try again."
    assert sentence_for(DiskFull("x")).startswith("The disk is full. Nothing was changed")


def test_a_store_that_went_while_it_was_open_is_named_with_what_to_do() -> None:
    gone = StoreUnavailable("x", path="/tmp/ledger.sqlite", is_gone=True)
    assert sentence_for(gone).startswith("/tmp/ledger.sqlite was moved, deleted or replaced. Nothing was written;")
    assert sentence_for(StoreUnavailable("Why.")) == "The store can't be opened. Why."


@pytest.mark.parametrize("kind", GrayMatterError.__subclasses__(), ids=lambda kind: kind.__name__)
def test_every_expected_failure_has_something_to_say(kind: type[GrayMatterError]) -> None:
    sentence = sentence_for(kind("The reason in words."))
    assert sentence.endswith(".")
    assert "{" not in sentence


def test_toasts_make_room_for_newer_ones_and_their_button_acts_once(theme: Theme, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(800, 600)
    stack = ToastStack(theme, window, gap=lambda: QRect(10, 60, 164, 500))
    ran: list[str] = []
    toast = stack.show_toast("first", level="success", action=("Undo", lambda: ran.append("undone")))
    assert toast.button is not None
    toast.button.click()
    assert ran == ["undone"]
    assert stack.texts() == ()
    for number in range(AT_MOST + 2):
        stack.show_toast(f"toast {number}", level="info")
    assert len(stack.texts()) == AT_MOST
    assert stack.texts()[-1] == f"toast {AT_MOST + 1}"


def test_toasts_keep_to_their_place_and_make_room_there(theme: Theme, qtbot: QtBot) -> None:
    window, place = QWidget(), QRect(10, 300, 164, 196)
    qtbot.addWidget(window)
    window.resize(800, 600)
    window.show()
    stack = ToastStack(theme, window, gap=lambda: place)
    stack.show_toast("A task has ended, and that is said until somebody has read it", level="info", lasting=True)
    for number in range(AT_MOST):
        stack.show_toast(f"Moved {number} facts", level="success", action=("Undo", lambda: None))
        assert place.contains(stack.geometry())
    assert stack.texts()[-1] == f"Moved {AT_MOST - 1} facts"
    shown = [each for each in stack.findChildren(Toast) if each.text in stack.texts() and each.isVisible()]
    assert all(stack.rect().contains(each.geometry()) for each in shown)
    stack.clear()
    written = "Written to averyverylongfoldernamewithoutroominacolumn/notes"
    toast = stack.show_toast(written, level="info")
    assert place.contains(stack.geometry())
    (label,) = [each for each in toast.findChildren(QLabel) if each.accessibleName() == written]
    assert label.minimumSizeHint().width() <= label.width()
    assert label.text().replace("\u200b", "") == written


def test_toasts_stand_over_the_rail_where_it_has_no_gap_and_move_with_it(theme: Theme, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    rail = NavigationRail(theme, "GrayMatter")
    for number in range(4):
        rail.add_page(f"page {number}", f"Page {number}", "brain", shortcut="")
    line = QHBoxLayout(window)
    line.setContentsMargins(0, 0, 0, 0)
    line.addWidget(rail)
    line.addWidget(QWidget(), 1)
    stack = ToastStack(theme, window, gap=lambda: rail.gap.translated(rail.pos()))
    rail.gap_moved.connect(stack.place)
    window.resize(800, 600)
    window.show()
    stack.show_toast("Moved 3 facts", level="success", action=("Undo", lambda: None), lasting=True)
    lower = stack.geometry().bottom()
    assert rail.gap.contains(stack.geometry())
    rail.add_action(QAction("Import…", window))
    qtbot.waitUntil(lambda: stack.geometry().bottom() < lower)
    assert rail.gap.contains(stack.geometry())
    window.resize(800, 200)
    qtbot.waitUntil(lambda: rail.gap.height() < stack.height())
    assert rail.geometry().contains(stack.geometry())
    window.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    qtbot.waitUntil(lambda: rail.x() > 600 and rail.geometry().contains(stack.geometry()))


def test_an_entry_of_the_rail_is_mirrored_where_text_runs_from_right_to_left(theme: Theme, qtbot: QtBot) -> None:
    entry = RailButton(theme, "Review")
    qtbot.addWidget(entry)
    entry.resize(164, 34)
    entry.show_count(3)
    places = []
    for direction in (Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft):
        entry.setLayoutDirection(direction)
        picture = entry.grab().toImage()
        places.append([x for x in range(picture.width()) if picture.pixelColor(x, 10) == theme.color("accent")])
    assert places[1] == [163 - x for x in reversed(places[0])] != []


def test_the_buttons_of_a_page_stand_whole_below_its_title_where_there_is_no_room_beside_it(
    theme: Theme, qtbot: QtBot
) -> None:
    add, more = push_button("Fakt hinzufügen", "primary"), push_button("Mehr")
    page = QWidget()  # gives the header less room than it asks for, as a narrow window does
    qtbot.addWidget(page)
    theme.dress(page)
    header = PageHeader("Erinnerungen", "168 Fakten", (add, more))
    header.setParent(page)
    title = next(each for each in header.findChildren(QLabel) if each.text() == "Erinnerungen")
    page.show()
    needed = header.minimumSizeHint().width()
    header.resize(needed, 120)
    qtbot.waitUntil(lambda: add.x() > title.geometry().right() and more.geometry().right() == needed - MARGIN - 1)
    header.resize(needed - 1, 120)
    qtbot.waitUntil(lambda: title.geometry().bottom() < add.y() == more.y())
    assert (add.x(), add.width()) == (MARGIN, add.sizeHint().width())
    assert title.width() >= title.sizeHint().width()
    header.resize(needed, 120)
    qtbot.waitUntil(lambda: add.x() > title.geometry().right() and add.y() <= title.y())


def test_the_texts_of_a_list_in_a_card_stand_in_line_with_its_title(theme: Theme, qtbot: QtBot) -> None:
    lines = LineList()
    lines.set_lines([Line("a", "Claude Code", note="not found here", mark="3")])
    view = LineView(lines, theme, "Programs")
    card = FormCard("Programs")
    qtbot.addWidget(card)
    card.add_list(view)
    card.resize(600, 300)
    card.show()
    title = next(each for each in card.findChildren(QLabel) if each.text() == "Programs")
    qtbot.waitUntil(lambda: view.width() > 300)
    assert view.mapTo(card, QPoint(LINE_INDENT, 0)).x() == title.mapTo(card, title.contentsRect().topLeft()).x()
    assert view.mapTo(card, view.rect().topRight()).x() == card.width() - 1 - view.x()


def test_labels_never_interpret_what_they_show(theme: Theme, qtbot: QtBot) -> None:
    label = text_label("<b>bold</b> &amp;")
    state = EmptyState(theme, "brain", "<i>title</i>", "<img src=x>")
    for widget in (label, state):
        qtbot.addWidget(widget)
    assert label.textFormat().name == "PlainText"
    assert {each.textFormat().name for each in state.findChildren(type(label)) if each.text()} == {"PlainText"}


def test_the_button_stays_below_the_text_when_an_empty_page_grows_wide_again(theme: Theme, qtbot: QtBot) -> None:
    button = push_button("Choose")
    state = EmptyState(theme, "history", "Nothing", "Choose a moment to see the store as it was then. " * 2, (button,))
    place = QWidget()
    qtbot.addWidget(place)
    place.resize(700, 900)
    state.setParent(place)
    state.resize(120, 900)
    place.show()
    narrow = state._text.height()
    state.resize(700, 900)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    assert state._text.height() < narrow
    assert state._text.height() == state._text.heightForWidth(state._text.width())
    assert 0 < button.y() - state._text.geometry().bottom() <= 4 * SPACE


@pytest.fixture
def log_dir(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "logs"
    crash.stop_log()


def test_a_report_holds_traceback_and_log(log_dir: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crash.log, "propagate", False)  # parallel test runners cannot pass a lone surrogate on
    assert crash.start_log(log_dir) == log_dir / "desktop.log"
    reporter = crash.CrashReporter(log_dir)
    logging.getLogger("graymatter").info("what happened before")
    with qtbot.waitSignal(reporter.reported) as heard:
        try:
            raise ValueError("surprise \udc80")
        except ValueError as error:
            reporter.report(error)
    assert heard.args is not None
    assert "what happened before" in heard.args[0]
    assert "ValueError" in (log_dir / "last-crash.txt").read_text()


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert crash.start_log(tmp_path / "file" / "logs") is None


def test_the_stall_watch_notices_a_held_up_loop(qtbot: QtBot) -> None:
    watch = StallWatch(stall_ms=50)
    watch.start()

    def hold() -> None:
        until_s = perf_counter() + 0.2
        while perf_counter() < until_s:
            pass

    with qtbot.waitSignal(watch.stalled):
        QTimer.singleShot(30, watch, hold)
    assert watch.stalls_ms
    assert watch.longest_ms > 50
    watch.stop()


def test_an_action_runs_only_when_it_can(theme: Theme, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    ran: list[str] = []
    state = {"on": False}
    table = ActionTable(theme)
    table.add(
        window,
        [ActionSpec("lamp.dim", "Dim", "sun", "Ctrl+D", lambda: state["on"], lambda: ran.append("dim"), "View")],
    )
    action = table.action("lamp.dim")
    assert not action.isEnabled()
    table.run("lamp.dim")
    assert ran == []
    state["on"] = True
    table.refresh_soon()
    qtbot.waitUntil(action.isEnabled)
    action.trigger()
    assert ran == ["dim"]
    assert action.toolTip() == "Dim (Ctrl+D)"
    assert table.in_menu("View") == (action,)
    with pytest.raises(ValueError, match=r"lamp\.dim"):
        table.add(window, [ActionSpec("lamp.dim", "Again")])


def test_below_tabs_that_overhang_a_list_reaches_further_out_than_their_titles(qtbot: QtBot) -> None:
    tabs, body = document_tabs(overhang=LINE_INDENT), QWidget()
    qtbot.addWidget(tabs)
    tabs.addTab(body, "Hits")
    with qtbot.waitExposed(tabs):
        tabs.show()
    plain = document_tabs()
    qtbot.addWidget(plain)
    plain.addTab(QWidget(), "Hits")
    with qtbot.waitExposed(plain):
        plain.show()
    assert tabs.tabBar().x() == plain.tabBar().x() + LINE_INDENT
    assert body.mapTo(tabs, QPoint()).x() == 0


def test_no_line_of_an_empty_page_is_a_single_word(theme: Theme, qtbot: QtBot) -> None:
    label = text_label("A backup is one file with everything but what can be made anew.", "muted", wrap=True)
    qtbot.addWidget(label)
    lines = label.heightForWidth(380)
    even = even_width(label, 380)
    assert lines == label.heightForWidth(even) < label.heightForWidth(even - 1)
    assert even < 300
    short = text_label("/a/path/that/has/no/space/in/it", wrap=True)
    qtbot.addWidget(short)
    assert even_width(short, 380) >= short.fontMetrics().horizontalAdvance(short.text())
    assert even_width(short, 40) == 40


def has_width(widget: QWidget, width: int) -> bool:
    """Whether it was laid out as it was told."""
    return widget.width() == width


def test_an_empty_page_keeps_its_lines_however_often_it_changes_its_width(theme: Theme, qtbot: QtBot) -> None:
    state = EmptyState(theme, "archive", "Nothing", "A backup is one file with everything but what can be made anew.")
    qtbot.addWidget(state)
    state.show()
    label = next(each for each in state.findChildren(QLabel) if each.text().startswith("A backup"))
    for width in (700, 420, 640, 300, 700):
        state.resize(width, 400)
        qtbot.waitUntil(partial(has_width, state, width))
        fresh = text_label(label.text(), "muted", wrap=True)
        qtbot.addWidget(fresh)
        most = min(380, width - 2 * MARGIN)
        assert label.width() == even_width(fresh, most)
        assert label.height() >= fresh.heightForWidth(most)
