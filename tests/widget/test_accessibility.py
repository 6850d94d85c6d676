"""The window without eyes and without a mouse: names, roles and the way of the Tab key, page by page."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QMenuBar,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.page import Page
from gm_desktop.pages import ENTRIES
from gm_desktop.widgets.rail import RailButton
from gm_engine import Memory, Message
from tests.widget.conftest import open_scripted

PROGRAM = Path(__file__).parents[2] / "gm_desktop"
MOST_STEPS = 150
# Roles that say no more than "something"; Qt knows none for a drawing, which has to describe itself.
MUTE_ROLES = {QAccessible.Role.NoRole, QAccessible.Role.Client, QAccessible.Role.Window}


def _fill(memory: Memory) -> None:
    """A little of everything, so that no page is empty."""
    for number in range(4):
        memory.remember("sales", f"Kestrel Bikes asked for offer number {number} in Ghent")
    memory.remember("sales", "Kestrel Bikes asked for offer number 3 in Ghent")
    memory.remember("ops", "The night shift of Kestrel Bikes starts at ten")
    memory.checkpoints.save("ops", state={"queue": {"open": 3}}, messages=[Message("user", "What is left?")])
    memory.graph.extract()
    memory.clients.set_access("scout", None, "review")
    client = memory.acting_as(memory.clients.connect("scout", "1.2", "stdio"))
    client.requests.remember("ops", "The gate opens at six")


@pytest.fixture
def full_app(app: App, qtbot: QtBot, tmp_path: Path) -> App:
    """The desktop over a small store with something on every page."""
    with open_scripted(tmp_path / "store", read_only=False) as memory:
        _fill(memory)
    app.start(tmp_path / "store")
    qtbot.waitUntil(lambda: app.host.is_open)
    return app


def _pages(app: App) -> list[Page]:
    """Those that stand on the rail; another one shows there while there is something on it."""
    entries = {entry.text() for entry in app.window.rail.findChildren(RailButton) if entry.isVisible()}
    return [app.window.pages[entry.page_id] for entry in ENTRIES if entry.title in entries]


def _open(app: App, page: Page, qtbot: QtBot) -> None:
    app.show_page(page.page_id)
    qtbot.waitUntil(page.is_settled)
    app.actions.refresh()


def _is_inner(widget: QWidget) -> bool:
    """Parts that Qt makes and speaks for: the line of a spin box, the arrow of a field, the head of a table."""
    parent = widget.parentWidget()
    if isinstance(widget, QHeaderView):
        return True
    if isinstance(parent, (QLineEdit, QAbstractSpinBox, QComboBox, QTabBar)):
        return True
    return widget.objectName().startswith("qt_")


def _takes_tab(widget: QWidget) -> bool:
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None


def _interactive(root: QWidget) -> list[QWidget]:
    """What a person can act on now."""
    return [
        widget
        for widget in root.findChildren(QWidget)
        if widget.isVisible()
        and widget.isEnabled()
        and not _is_inner(widget)
        and (_takes_tab(widget) or isinstance(widget, QAbstractButton))
    ]


def _told(widget: QWidget) -> str:
    """Enough to find it again."""
    text = widget.accessibleName() or (widget.text() if isinstance(widget, (QAbstractButton, QLineEdit)) else "")
    return f"{type(widget).__name__} {text!r} in {type(widget.parentWidget()).__name__}"


def _complaints(widget: QWidget, keys: dict[str, str]) -> list[str]:
    spoken = QAccessible.queryAccessibleInterface(widget)
    found = []
    name = spoken.text(QAccessible.Text.Name).strip()
    if not name:
        found.append(f"no name: {_told(widget)}")
    if spoken.role() in MUTE_ROLES and not spoken.text(QAccessible.Text.Description):
        found.append(f"neither a role nor a description: {_told(widget)}")
    if isinstance(widget, QAbstractButton) and not widget.text() and not widget.icon().isNull():
        if not widget.toolTip():
            found.append(f"no tooltip: {_told(widget)}")
        elif keys.get(name, "") not in widget.toolTip():
            found.append(f"no shortcut in the tooltip: {_told(widget)}")
    return found


def test_every_control_of_every_page_has_a_name_and_a_role(full_app: App, qtbot: QtBot) -> None:
    found: list[str] = []
    assert len(_pages(full_app)) >= 11
    keys = {each.title: each.keys for each in full_app.actions.with_keys()}
    for page in _pages(full_app):
        _open(full_app, page, qtbot)
        for widget in _interactive(full_app.window):
            found += [f"{page.page_id}: {line}" for line in _complaints(widget, keys)]
    assert not found, "\n".join(found)


def test_the_first_page_is_usable_without_eyes_and_mouse(app: App, qtbot: QtBot) -> None:
    app.start(None)
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    found = [line for widget in _interactive(app.window) for line in _complaints(widget, {})]
    assert not found + _walk(app.window), "\n".join(found)


def test_tab_walks_through_every_page_and_comes_back(full_app: App, qtbot: QtBot) -> None:
    found: list[str] = []
    for page in _pages(full_app):
        _open(full_app, page, qtbot)
        found += [f"{page.page_id}: {line}" for line in _walk(full_app.window)]
    assert not found, "\n".join(found)


def _walk(window: QWidget) -> list[str]:
    """Tab, until the walk is where it began; what was wrong on the way."""
    start = QApplication.focusWidget()
    if start is None or not start.isVisible():
        return ["nothing in sight has the focus"]
    seen = [start]
    for _ in range(MOST_STEPS):
        QTest.keyClick(seen[-1], Qt.Key.Key_Tab)
        at = QApplication.focusWidget()
        if at is None or not at.isVisible():
            return [f"the focus was lost after {_told(seen[-1])}"]
        if at is seen[-1]:
            return [f"Tab stays in {_told(at)}"]
        if at is start:
            break
        if at in seen:
            return [f"Tab never comes back to {_told(start)}: it turned at {_told(at)}"]
        seen.append(at)
    else:
        return [f"Tab did not come back within {MOST_STEPS} steps"]
    wanted = [widget for widget in _interactive(window) if _takes_tab(widget) and not isinstance(widget, QMenuBar)]
    return [f"never reached: {_told(widget)}" for widget in wanted if widget not in seen]


def test_every_page_is_reached_by_its_keys(full_app: App, qtbot: QtBot) -> None:
    taken: set[str] = set()
    for page in _pages(full_app):
        page_id = page.page_id
        keys = full_app.actions.keys(f"page.{page_id}")
        assert keys not in taken | {""}, f"{page_id} has no keys of its own"
        taken.add(keys)
        full_app.show_page("overview" if page_id != "overview" else "memory")
        QTest.keySequence(full_app.window, QKeySequence(keys))
        assert full_app.window.page_id == page_id
        qtbot.waitUntil(page.is_settled)
        at = QApplication.focusWidget()
        assert at is not None, page_id
        assert at.isVisible(), page_id


def test_nothing_moves_by_itself() -> None:
    """Reduced motion holds for everybody: no code of the window animates."""
    named = {
        f"{path.relative_to(PROGRAM)}: {node.id}"
        for path in PROGRAM.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name) and ("Animation" in node.id or node.id in {"QTimeLine", "QMovie"})
    }
    assert named == set()
