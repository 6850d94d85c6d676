"""A titled card of fields: names on the left, fields in line, a quiet hint below a field."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QFrame,
    QGridLayout,
    QLabel,
    QLayout,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.i18n import decimal
from gm_desktop.theme import Theme
from gm_desktop.widgets.basics import Picture, text_label
from gm_desktop.widgets.line_view import LINE_INDENT

_EDGE = 20
_NAME_WIDTH = 132 + LINE_INDENT
_NUMBER_WIDTH = 144
FIELD_HEIGHT = 32  # of every field; a number field would take more for its arrows
FIELD_INSET = (10, 0, 0, 0)


class FormCard(QFrame):
    """Rows are added from top to bottom."""

    def __init__(self, title: str, note: str = "") -> None:
        super().__init__()
        self.setProperty("kind", "card")
        self.note = text_label(note, "muted", wrap=True)
        if not note:  # showing it here would open a window: nothing holds it yet
            self.note.hide()
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(10)
        self._grid.setColumnMinimumWidth(0, _NAME_WIDTH)
        self._grid.setColumnStretch(1, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(_EDGE - LINE_INDENT, 16, _EDGE - LINE_INDENT, 18)
        column.setSpacing(6)
        for label in (text_label(title, "strong"), self.note):
            label.setContentsMargins(LINE_INDENT, 0, LINE_INDENT, 0)
            column.addWidget(label)
        column.addSpacing(6)
        column.addLayout(self._grid)

    def add(self, name: str, field: QWidget, hint: str = "") -> QLabel:
        """One named field; returns its hint, which is hidden while it is empty."""
        label = text_label(name)
        label.setBuddy(field)
        if not field.accessibleName():
            field.setAccessibleName(name)
        at = self._grid.rowCount()
        self._grid.addWidget(label, at, 0, Qt.AlignmentFlag.AlignTop)
        label.setContentsMargins(LINE_INDENT, 8, 0, 0)
        said = text_label(hint, "small", wrap=True)
        if not hint:
            said.hide()
        cell = QVBoxLayout()
        cell.setContentsMargins(0, 0, LINE_INDENT, 0)
        cell.setSpacing(4)
        cell.addWidget(field)
        cell.addWidget(said)
        self._grid.addLayout(cell, at, 1)
        return said

    def add_wide(self, item: QWidget | QLayout) -> None:
        """Something over the whole width."""
        inset = QVBoxLayout()
        inset.setContentsMargins(LINE_INDENT, 0, LINE_INDENT, 0)
        if isinstance(item, QWidget):
            inset.addWidget(item)
        else:
            inset.addLayout(item)
        self._grid.addLayout(inset, self._grid.rowCount(), 0, 1, 2)

    def add_list(self, lines: QWidget) -> None:
        """A `LineView`, or a stack with one: texts in line with the title, the ground of a row beyond it."""
        self._grid.addWidget(lines, self._grid.rowCount(), 0, 1, 2)


class ChoiceBox(QComboBox):
    """A few things to choose from. The wheel scrolls the page, it chooses nothing by accident."""

    def __init__(self, choices: tuple[tuple[str, str], ...]) -> None:
        super().__init__()
        for key, title in choices:
            self.addItem(title, key)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def chosen(self) -> str:
        """The key of what is chosen."""
        return str(self.currentData())

    def choose(self, key: str) -> None:
        """Shows a key; nothing where it is unknown."""
        self.setCurrentIndex(self.findData(key))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Lets the page scroll."""
        event.ignore()


class CountBox(QSpinBox):
    """A whole number. The wheel scrolls the page."""

    def __init__(self, lowest: int, highest: int, *, suffix: str = "", step: int = 1) -> None:
        super().__init__()
        self.setRange(lowest, highest)
        self.setSingleStep(step)
        self.setSuffix(suffix)
        self.setKeyboardTracking(False)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(_NUMBER_WIDTH)
        self.setFixedHeight(FIELD_HEIGHT)
        self.lineEdit().setTextMargins(*FIELD_INSET)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Lets the page scroll."""
        event.ignore()


class DecimalBox(QDoubleSpinBox):
    """A figure with a fraction, written as the language writes it; point and comma may be typed for it."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(FIELD_HEIGHT)

    def textFromValue(self, value: float) -> str:
        """With the decimal comma where the language has one."""
        return decimal(super().textFromValue(value))

    def valueFromText(self, text: str) -> float:
        """The figure, whichever mark it has."""
        return super().valueFromText(text.replace(",", "."))

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """What may be typed: as with a point."""
        state, _, at = super().validate(text.replace(",", "."), position)
        return state, text, at


class ShareBox(DecimalBox):
    """A figure from 0 to `highest`, in steps of 0.05. A change counts when the field is left or a step is made."""

    def __init__(self, highest: float) -> None:
        super().__init__()
        self.setRange(0.0, highest)
        self.setDecimals(3)
        self.setSingleStep(0.05)
        self.setKeyboardTracking(False)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(_NUMBER_WIDTH)
        self.lineEdit().setTextMargins(*FIELD_INSET)

    def show_value(self, value: float) -> None:
        """Shows a stored figure; that is no change."""
        if round(value, self.decimals()) != self.value():
            with QSignalBlocker(self):
                self.setValue(value)

    def textFromValue(self, value: float) -> str:
        """No more digits than it has."""
        return decimal(f"{value:.3f}".rstrip("0").rstrip("."))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Lets the page scroll."""
        event.ignore()


class ResultLine(QWidget):
    """How something ended: an icon and a sentence that can be copied; hidden while there is nothing to say."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._picture = Picture(theme, "circle-check", "success")
        self.text = text_label("", "", wrap=True, selectable=True)
        self.text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 2, 0, 2)
        layout.setHorizontalSpacing(10)
        layout.setColumnStretch(1, 1)
        layout.addWidget(self._picture, 0, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.text, 0, 1)
        self.say("", "")

    def say(self, tone: str, text: str) -> None:
        """`tone` is `success`, `danger`, `warning` or `text_muted` (still at it)."""
        icons = {"success": "circle-check", "danger": "circle-alert", "warning": "triangle-alert"}
        if text:
            self._picture.show_icon(icons.get(tone, "clock"), tone)
        self.text.setText(text)
        self.setVisible(bool(text))
