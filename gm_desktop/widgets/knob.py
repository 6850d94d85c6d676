"""A number to move: its name, a slider with a tick at the saved value, a field for the exact figure."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QSizePolicy, QSlider, QWidget

from gm_desktop.i18n import decimal
from gm_desktop.theme import Theme, font
from gm_desktop.widgets.basics import set_kind, text_label
from gm_desktop.widgets.contribution_bar import SignalDot
from gm_desktop.widgets.focus_ring import paint_focus_ring

LABEL_WIDTH = 76
_DOT_AND_GAP = 16
FIELD_WIDTH = 58
_HANDLE = 8


class TickedSlider(QSlider):
    """A slider that shows where the saved value is. The wheel scrolls the panel, not the value."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._theme = theme
        self._tick: float | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def show_tick(self, share: float | None) -> None:
        """Marks the place `share` (0 to 1) of the groove; None: no mark."""
        if share != self._tick:
            self._tick = share
            self.update()

    def sizeHint(self) -> QSize:
        """Room for handle and tick."""
        return QSize(90, 26)

    def minimumSizeHint(self) -> QSize:
        """It gives way to its neighbours."""
        return QSize(60, 26)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Moving through a panel must not change a ranking."""
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The slider, its tick, and a frame while it has the keyboard."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._tick is not None:
            x = _HANDLE + self._tick * (self.width() - 2 * _HANDLE)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color("text_muted"))
            painter.drawRoundedRect(QRectF(x - 1, self.height() - 5, 2, 5), 1, 1)
        if self.hasFocus():
            paint_focus_ring(painter, QRectF(self.rect()), self._theme)
        painter.end()


class Figure(QLineEdit):
    """The exact figure. Emits `entered(value)` for a number within its limits; anything else is put back."""

    entered = Signal(float)

    def __init__(self, *, lowest: float, highest: float, step: float) -> None:
        super().__init__()
        self._lowest, self._highest, self._step = lowest, highest, step
        self._value = lowest
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setProperty("kind", "figure")
        self.editingFinished.connect(self._on_edited)

    @property
    def value(self) -> float:
        """The figure."""
        return self._value

    def show_value(self, value: float) -> None:
        """Shows a figure; while the person types another one, theirs stays."""
        is_same = value == self._value
        self._value = value
        if not (is_same and self.hasFocus()):
            self.setText(decimal(f"{round(value, 3):.7g}"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and down step."""
        direction = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()))
        if direction is None:
            super().keyPressEvent(event)
        else:
            self._enter(round(self._value + direction * self._step, 6))

    def _on_edited(self) -> None:
        try:
            value = float(self.text().strip().replace(",", "."))
        except ValueError:
            value = self._value
        if value != round(self._value, 3) and math.isfinite(value):  # a rounded figure that was not touched stays exact
            self._enter(value)
        else:
            self.setText(decimal(f"{round(self._value, 3):.7g}"))

    def _enter(self, value: float) -> None:
        self._value = min(self._highest, max(self._lowest, value))
        self.setText(decimal(f"{round(self._value, 3):.7g}"))
        self.entered.emit(self._value)


class Knob(QWidget):
    """Emits `moved(value)` when the person moves it. The slider ends at `reach`; the field goes on to `highest`."""

    moved = Signal(float)

    def __init__(
        self,
        theme: Theme,
        title: str,
        hint: str,
        *,
        reach: float,
        highest: float,
        step: float = 0.01,
        lowest: float = 0.0,
        signal: int | None = None,
    ) -> None:
        super().__init__()
        self._reach, self._lowest, self._step = reach, lowest, step
        self._is_whole = step >= 1
        self._label = text_label(title)
        self._dot = SignalDot(theme, signal) if signal is not None else None
        self.slider = TickedSlider(theme)
        self.slider.setRange(round(lowest / step), round(reach / step))
        self.slider.setPageStep(max(1, round((reach - lowest) / step / 10)))
        self.slider.setAccessibleName(title)
        self.slider.setAccessibleDescription(hint)
        self.field = Figure(lowest=lowest, highest=highest, step=step if self._is_whole else 0.05)
        self.field.setFixedWidth(FIELD_WIDTH)
        self.field.setAccessibleName(title)
        self.setToolTip(hint)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._lay_out()
        self.slider.valueChanged.connect(lambda at: self.moved.emit(at * self._step))
        self.field.entered.connect(self.moved)

    def _lay_out(self) -> None:
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        if self._dot is not None:
            layout.addWidget(self._dot)
        layout.addWidget(self._label)
        layout.addWidget(self.slider, 1)
        layout.addWidget(self.field)

    @property
    def label_width(self) -> int:
        """How much room its title needs, with the dot, also while it is marked."""
        width = QFontMetrics(font("strong")).horizontalAdvance(self._label.text()) + 2
        return width + (_DOT_AND_GAP if self._dot is not None else 0)

    def set_label_width(self, width: int) -> None:
        """Gives its title that much room, so that knobs stand under each other."""
        self._label.setFixedWidth(width - (_DOT_AND_GAP if self._dot is not None else 0))

    def show_value(self, value: float, saved: float | None) -> None:
        """Shows a value, and where the saved one is; neither counts as moved."""
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(min(value, self._reach) / self._step))
        self.field.show_value(value)
        set_kind(self._label, "accent" if saved is not None and saved != value else "")
        share = None if saved is None else (min(saved, self._reach) - self._lowest) / (self._reach - self._lowest)
        self.slider.show_tick(share)
