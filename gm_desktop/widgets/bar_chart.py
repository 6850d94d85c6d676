"""Bars over time or over a range: hover tells, a click or Enter opens the list behind a bar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from gm_desktop.formatting import number
from gm_desktop.i18n import tr
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import Theme
from gm_desktop.widgets.basics import text_label
from gm_desktop.widgets.focus_ring import paint_focus_ring

HEIGHT = 150
_FILLED = {True: 0.78, False: 0.88}  # share of its column that a bar fills: few bars, many bars
_FEW = 16
_AXIS, _TOP, _RIGHT, _BOTTOM = 44, 12, 6, 8  # room around the bars; on the left the numbers stand
_GAP = 8  # between a number and its line
_INSET = 4  # from the edge to the longest number: where the title of a card begins


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One bar: how high, and what it says."""

    count: int
    hover: str


class _Bars(QWidget):
    """The chart itself. Each column of it answers to the mouse, however low its bar is."""

    chosen = Signal(int)

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.bars: tuple[ChartBar, ...] = ()
        self.current = -1
        self._end = nice_end(0)
        self.setAccessibleName(name)
        self.setAccessibleDescription(tr("A bar chart: arrows go from bar to bar, Enter opens what is behind one."))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def plot(self) -> QRectF:
        """Where the bars stand: right of the numbers."""
        widest = QFontMetricsF(self._theme.font("small")).horizontalAdvance(number(self._end))
        return QRectF(self.rect()).adjusted(max(_AXIS, math.ceil(_INSET + widest + _GAP)), _TOP, -_RIGHT, -_BOTTOM)

    def show_bars(self, bars: Sequence[ChartBar]) -> None:
        """Shows other bars."""
        self.bars = tuple(bars)
        self._end = nice_end(max((bar.count for bar in self.bars), default=0))
        self._set_current(min(self.current, len(self.bars) - 1))
        self.update()

    def _set_current(self, at: int) -> None:
        if at != self.current:
            if at >= 0:
                self.setAccessibleDescription(self.bars[at].hover)
            self.current = at
            self.update()

    def _at(self, x: float) -> int:
        """The column under a place; -1 beside them."""
        plot = self.plot
        if not self.bars or not plot.left() <= x < plot.right():
            return -1
        return int((x - plot.left()) / plot.width() * len(self.bars))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The axis, the bars, and the focus."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_axis(painter)
        self._paint_bars(painter)
        if self.hasFocus():
            paint_focus_ring(painter, QRectF(self.rect()), self._theme)

    def _paint_axis(self, painter: QPainter) -> None:
        """Three lines with their numbers: nothing, the middle, the end."""
        plot = self.plot
        painter.setFont(self._theme.font("small"))
        beside = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for part in range(3):
            y = round(plot.bottom() - plot.height() * part / 2) + 0.5
            painter.setPen(self._theme.color("border"))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(self._theme.color("text_muted"))
            place = QRectF(0, y - _TOP, plot.left() - _GAP, 2 * _TOP)
            painter.drawText(place, beside, number(self._end * part // 2))

    def _paint_bars(self, painter: QPainter) -> None:
        plot, color = self.plot, self._theme.color
        column = plot.width() / max(1, len(self.bars))
        width = column * _FILLED[len(self.bars) <= _FEW]
        soft = _between(color("accent"), color("surface_raised"), 0.62)
        for at, bar in enumerate(self.bars):
            height = plot.height() * bar.count / self._end
            left = plot.left() + at * column + (column - width) / 2
            place = QRectF(left, plot.bottom() - height, width, height)
            painter.fillRect(place, color("accent") if at == self.current else soft)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """The column under the mouse lights up."""
        self._set_current(self._at(event.position().x()))
        self.setCursor(Qt.CursorShape.PointingHandCursor if self.current >= 0 else Qt.CursorShape.ArrowCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Opens the list behind the column."""
        at = self._at(event.position().x())
        if at >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(at)

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is lit up any more."""
        super().leaveEvent(event)
        if not self.hasFocus():
            self._set_current(-1)

    def event(self, event: QEvent) -> bool:
        """The hover text of the column under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            at = self._at(event.pos().x())
            if at >= 0:
                QToolTip.showText(event.globalPos(), as_tip(self.bars[at].hover), self)
            return True
        return bool(super().event(event))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows walk from bar to bar, Home and End go to the ends, Enter opens."""
        last = len(self.bars) - 1
        steps = {
            Qt.Key.Key_Left: max(0, self.current - 1),
            Qt.Key.Key_Right: min(last, self.current + 1),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if event.key() in steps and self.bars:
            self._set_current(steps[Qt.Key(event.key())])
            self._tell()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self.current >= 0:
            self.chosen.emit(self.current)
        else:
            super().keyPressEvent(event)

    def _tell(self) -> None:
        plot = self.plot
        x = plot.left() + (self.current + 0.5) * plot.width() / max(1, len(self.bars))
        place = self.mapToGlobal(self.rect().topLeft())
        place.setX(place.x() + int(x))
        QToolTip.showText(place, as_tip(self.bars[self.current].hover), self)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The newest bar is the first to be told of."""
        super().focusInEvent(event)
        if self.current < 0 and self.bars:
            self._set_current(len(self.bars) - 1)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Nothing is lit up any more."""
        super().focusOutEvent(event)
        self._set_current(-1)


class BarChart(QWidget):
    """Emits `chosen(index)`. Below the chart stand the names of its first and its last bar."""

    chosen = Signal(int)

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.view = _Bars(theme, name)
        self.first, self.last = text_label("", "small"), text_label("", "small")
        self._ends = QHBoxLayout()
        self._ends.addWidget(self.first)
        self._ends.addStretch(1)
        self._ends.addWidget(self.last)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 0, 8, 0)
        layout.setSpacing(0)
        self.empty = text_label(tr("Nothing to show yet"), "muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setMinimumHeight(HEIGHT)
        self.empty.setContentsMargins(4, 0, 0, 0)  # as much as at the right: in the middle of the card
        layout.addWidget(self.view)
        layout.addWidget(self.empty, 1)
        layout.addLayout(self._ends)
        layout.addStretch()  # in a higher card the dates stay below the bars
        self.view.chosen.connect(self.chosen)

    def show_bars(self, bars: Sequence[ChartBar], *, first: str, last: str) -> None:
        """Shows other bars."""
        if tuple(bars) != self.view.bars:
            self.view.show_bars(bars)
        self._ends.setContentsMargins(int(self.view.plot.left()), 0, _RIGHT, 0)
        self.view.setVisible(bool(bars))
        self.empty.setVisible(not bars)
        for label, text in ((self.first, first), (self.last, last)):
            label.setText(text)
            label.setVisible(bool(bars))


def _between(one: QColor, other: QColor, share: float) -> QColor:
    """A colour on the way from `other` to `one`; opaque, so that no line shows through."""
    red, green, blue = (
        a * share + b * (1 - share)
        for a, b in (
            (one.redF(), other.redF()),
            (one.greenF(), other.greenF()),
            (one.blueF(), other.blueF()),
        )
    )
    return QColor.fromRgbF(red, green, blue)


def nice_end(highest: int) -> int:
    """The end of an axis: even, so that its middle is a whole number, and of few digits."""
    if highest <= 2:
        return 2
    unit = 10 ** math.floor(math.log10(highest))
    for factor in (1, 2, 4, 6, 8, 10):
        if highest <= factor * unit and (factor * unit) % 2 == 0:
            return int(factor * unit)
    return int(10 * unit)
