"""What stands in the store is shown as it stands there: no label, tooltip or button takes it for markup."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QAbstractTableModel, QModelIndex, Qt
from PySide6.QtGui import Qt as QtGui
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QLabel, QTabBar, QTabWidget, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.pages import ENTRIES
from gm_desktop.plain_text import as_tip
from gm_engine import Memory, Message
from tests.widget.conftest import open_scripted

HOSTILE = "<img src='file:///etc/passwd'> &lt; R&D <b>bold</b>"
NAME = "<b>R&D</b>"
AND = "R&D"
MOST_ROWS = 40


def _fill(memory: Memory) -> None:
    """Hostile words wherever a program can put any."""
    memory.remember(NAME, HOSTILE, confidence="verified")
    memory.remember(NAME, f"{HOSTILE} once more")
    (pinned,) = memory.pin(NAME, [memory.remember(NAME, f"{HOSTILE} for ever").id])
    memory.revise(NAME, [pinned.id], f"{HOSTILE} and revised")
    memory.remember(NAME, f"{HOSTILE} once more")
    memory.blocked.add(f"{HOSTILE} never", NAME)
    for key in (HOSTILE, NAME):
        memory.checkpoints.save(
            NAME, state={key: HOSTILE, "list": [HOSTILE]}, metadata={NAME: HOSTILE}, messages=[Message(NAME, HOSTILE)]
        )
    one, other = (memory.graph.add(label, "concept").entities[0] for label in (NAME, HOSTILE))
    memory.graph.link(one.id, other.id, "depends_on")
    memory.clients.set_access(NAME, None, "review")
    client = memory.acting_as(memory.clients.connect(NAME, HOSTILE, "stdio"))
    client.requests.remember(NAME, f"{HOSTILE} asks to be let in")
    memory.consolidate(NAME, prune=False)


@pytest.fixture
def hostile_app(app: App, qtbot: QtBot, tmp_path: Path) -> App:
    """The desktop over a store in a folder of that name, with every page built."""
    data_dir = tmp_path / NAME.replace("/", "")
    with open_scripted(data_dir, read_only=False) as memory:
        _fill(memory)
    app.start(data_dir)
    qtbot.waitUntil(lambda: app.host.is_open and app.building.is_finished)
    return app


def _tips(widget: QWidget) -> Iterator[str]:
    yield widget.toolTip()
    for action in widget.actions():
        yield action.toolTip()
    if isinstance(widget, QAbstractItemView) and widget.model() is not None:
        for index in _cells(widget.model(), QModelIndex()):
            yield str(index.data(Qt.ItemDataRole.ToolTipRole) or "")


def _cells(model: QAbstractItemModel, parent: QModelIndex) -> Iterator[QModelIndex]:
    is_list = isinstance(model, QAbstractListModel)  # which hides that it has one column
    is_flat = isinstance(model, (QAbstractListModel, QAbstractTableModel))
    for row in range(min(MOST_ROWS, model.rowCount(parent))):
        for column in range(1 if is_list else model.columnCount(parent)):
            index = model.index(row, column, parent)
            yield index
            if not is_flat and model.hasChildren(index):
                yield from _cells(model, index)


def _complaints(widget: QWidget) -> Iterator[str]:
    where = f"{type(widget).__name__} in {type(widget.parentWidget()).__name__}"
    for tip in _tips(widget):
        if QtGui.mightBeRichText(tip):
            yield f"a tooltip of {where} is markup: {tip!r}"
    if isinstance(widget, QLabel) and widget.textFormat() != Qt.TextFormat.PlainText and widget.text():
        yield f"the label {where} may take its text for markup: {widget.text()!r}"
    for text in _texts(widget):
        if AND in text:
            yield f"in {where} the & is a mark for a key: {text!r}"


def _texts(widget: QWidget) -> Iterator[str]:
    """Those in which Qt takes a & for the mark before a letter of the keyboard."""
    if isinstance(widget, QAbstractButton):
        yield widget.text()
    if isinstance(widget, QTabBar):
        yield from (widget.tabText(at) for at in range(widget.count()))
    yield from (action.text() for action in widget.actions())


def test_no_page_takes_stored_text_for_markup(hostile_app: App, qtbot: QtBot) -> None:
    app, found = hostile_app, list[str]()
    shown: set[str] = set()
    for entry in ENTRIES:
        app.show_page(entry.page_id)
        page = app.window.pages[entry.page_id]
        page.prepare_screenshot()
        qtbot.waitUntil(page.is_settled)
        for tabs in page.findChildren(QTabWidget):
            for at in range(tabs.count()):
                tabs.setCurrentIndex(at)
                qtbot.waitUntil(page.is_settled)
        for widget in [app.window, *app.window.findChildren(QWidget)]:
            found += [f"{entry.page_id}: {line}" for line in _complaints(widget)]
            shown.update(tip for tip in _tips(widget) if "<" in tip)
    assert not found, "\n".join(dict.fromkeys(found))
    assert len(shown) > 10, "hostile words are in many tooltips, so that there was something to see"


def test_a_step_is_named_in_the_menu_as_it_is_called(hostile_app: App, qtbot: QtBot) -> None:
    app = hostile_app
    with qtbot.waitSignal(app.remembering.verbs.added):
        app.remembering.verbs.add(NAME, "A fact for research", "", lambda _: None)
    assert app.actions.action("step.undo").text() == f"Undo: Added a fact to {NAME.replace('&', '&&')}"


@pytest.mark.parametrize("text", [HOSTILE, NAME, "&lt;b>", "a\n<b>b</b>", "<!doctype html>", "<?xml ?><b>x</b>"])
def test_a_tooltip_keeps_every_letter(text: str) -> None:
    assert not QtGui.mightBeRichText(as_tip(text))
    assert as_tip(text).replace("\u2060", "") == text
