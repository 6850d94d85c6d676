"""Theme: readable in both themes, complete, followed by icons; bundled font and icons are there."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QFontInfo, QImage, QPalette, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QDateEdit,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QToolButton,
    QTreeView,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gm_desktop.paths import resource
from gm_desktop.theme import SHAPES_ON, TEXT_ON, Mode, Theme, contrast, load_tokens
from gm_desktop.widgets.basics import push_button

THEMES = ("light", "dark")
KINDS = ("", "primary", "danger", "quiet", "link", "chip")
PROGRAM = Path(__file__).parents[2] / "gm_desktop"


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize(("text", "ground"), TEXT_ON)
def test_text_has_enough_contrast(name: str, text: str, ground: str) -> None:
    tokens = load_tokens(name)
    assert contrast(tokens.color(text), tokens.color(ground)) >= 4.5


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize(("shape", "ground"), SHAPES_ON)
def test_shapes_that_mean_something_stand_out(name: str, shape: str, ground: str) -> None:
    tokens = load_tokens(name)
    assert contrast(tokens.color(shape), tokens.color(ground)) >= 3.0


def test_both_themes_name_the_same_roles() -> None:
    assert load_tokens("light").roles.keys() == load_tokens("dark").roles.keys()


def test_the_bundled_font_is_used(theme: Theme) -> None:
    assert QFontInfo(theme.font()).family() == "Inter"
    assert theme.font().pixelSize() == 13


def test_icons_follow_a_change_of_theme_and_die_with_their_button(theme: Theme, qtbot: QtBot) -> None:
    button = QToolButton()
    qtbot.addWidget(button)
    theme.bind_icon(button, "pin")
    light = button.icon().pixmap(16, 16).toImage()
    theme.set_mode("dark")
    assert button.icon().pixmap(16, 16).toImage() != light
    gone = QToolButton()
    theme.bind_icon(gone, "pin")
    gone.deleteLater()
    with qtbot.waitSignal(gone.destroyed):
        pass
    theme.set_mode("light")
    assert button.icon().pixmap(16, 16).toImage() == light


def _icons_named(path: Path) -> set[str]:
    """Literals that stand where a call takes the name of an icon."""
    place = {"ActionSpec": 2, "Picture": 1, "icon_button": 1, "EmptyState": 1, "bind_icon": 1, "icon": 0, "pixmap": 0}
    named = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            at = place.get(called)
            argument = node.args[at] if at is not None and len(node.args) > at else None
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value:
                named.add(argument.value)
    return named


def test_every_icon_named_in_the_program_is_bundled() -> None:
    shipped = {path.stem for path in resource("icons").glob("*.svg")}
    named = set().union(*(_icons_named(path) for path in PROGRAM.rglob("*.py")))
    assert named - shipped == set()
    assert {"plus", "brain", "upload"} <= named


def test_no_icon_is_bundled_for_nothing() -> None:
    shipped = {path.stem for path in resource("icons").glob("*.svg")}
    said = {
        node.value
        for path in PROGRAM.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert shipped - said == set()


def test_void_calls_leak_no_reference_to_none(theme: Theme, qtbot: QtBot) -> None:
    label = QLabel()
    qtbot.addWidget(label)
    before = sys.getrefcount(None)
    for number in range(1000):
        label.setText(str(number))
    assert abs(sys.getrefcount(None) - before) < 100


def _colours(image: QImage) -> set[str]:
    return {QColor(image.pixel(x, y)).name() for x in range(image.width()) for y in range(image.height())}


def _two_buttons(kind: str, name: Mode, theme: Theme, qtbot: QtBot) -> tuple[QPushButton, QPushButton]:
    """One of that kind, and a plain one, in a window of the theme."""
    theme.set_mode(name)
    window = QWidget()
    qtbot.addWidget(window)
    layout = QVBoxLayout(window)
    buttons = push_button("Forget for ever", kind), push_button("Keep")
    for button in buttons:
        layout.addWidget(button)
    theme.dress(window)
    return buttons


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_button_that_cannot_be_pressed_looks_so_whatever_its_kind(
    kind: str, name: Mode, theme: Theme, qtbot: QtBot
) -> None:
    button, _ = _two_buttons(kind, name, theme, qtbot)
    button.setEnabled(False)
    button.ensurePolished()
    assert button.palette().color(QPalette.ColorRole.ButtonText) == theme.color("text_faint")
    assert not _colours(button.grab().toImage()) & {theme.color(role).name() for role in ("danger", "accent", "link")}


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_button_with_the_focus_has_a_ring_whatever_its_kind(
    kind: str, name: Mode, theme: Theme, qtbot: QtBot
) -> None:
    button, other = _two_buttons(kind, name, theme, qtbot)
    window = button.window()
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    button.setFocus(Qt.FocusReason.TabFocusReason)
    ring = button.grab().toImage()
    edge = QColor(ring.pixel(ring.width() // 2, ring.height() - 1 - (kind == "link")))
    other.setFocus(Qt.FocusReason.TabFocusReason)
    rest = button.grab().toImage()
    assert edge == theme.color("text" if kind in ("primary", "danger") else "focus")
    assert edge != QColor(rest.pixel(rest.width() // 2, rest.height() - 1 - (kind == "link")))
    assert contrast(edge, theme.color("surface")) >= 3.0


@pytest.mark.parametrize("made", [QSpinBox, QDoubleSpinBox, QDateEdit])
def test_a_field_of_numbers_that_is_off_stands_on_the_ground_of_what_is_off(
    made: type[QSpinBox | QDoubleSpinBox | QDateEdit], theme: Theme, qtbot: QtBot
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    field = made()
    QVBoxLayout(window).addWidget(field)
    theme.dress(window)
    assert theme.color("surface").name() in _colours(field.grab().toImage())
    field.setEnabled(False)
    field.ensurePolished()
    assert QColor(field.grab().toImage().pixel(40, 5)) == theme.color("surface_sunken")


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("made", [QLineEdit, QPlainTextEdit])
def test_what_an_empty_field_asks_for_is_readable(
    made: type[QLineEdit | QPlainTextEdit], name: Mode, theme: Theme, qtbot: QtBot
) -> None:
    theme.set_mode(name)
    window = QWidget()
    qtbot.addWidget(window)
    field = made()
    field.setPlaceholderText("Find in facts")
    QVBoxLayout(window).addWidget(field)
    theme.dress(window)
    field.ensurePolished()
    assert field.palette().color(QPalette.ColorRole.PlaceholderText) == theme.color("text_muted")
    field.setEnabled(False)
    assert field.palette().color(QPalette.ColorRole.PlaceholderText) == theme.color("text_faint")


def test_a_selected_line_of_a_tree_has_one_ground(theme: Theme, qtbot: QtBot) -> None:
    model = QStandardItemModel()
    parent = QStandardItem("New")
    parent.appendRow(QStandardItem("note"))
    model.appendRow(parent)
    tree = QTreeView()
    qtbot.addWidget(tree)
    theme.dress(tree)
    tree.setModel(model)
    tree.expandAll()
    tree.resize(300, 200)
    with qtbot.waitExposed(tree):
        tree.show()
    index = model.index(0, 0, model.index(0, 0))
    tree.setCurrentIndex(index)
    line = tree.visualRect(index)
    picture = tree.viewport().grab().toImage()
    along = [QPoint(x, line.top() + 1) for x in range(2, line.left() + 8)]
    assert {picture.pixelColor(each).name() for each in along} == {theme.color("selection").name()}
