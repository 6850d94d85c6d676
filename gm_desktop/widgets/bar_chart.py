"""Bars over time or over a range: hover tells, a click or Enter opens the list behind a bar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCharts import QBarCategoryAxis, QBarSeries, QBarSet, QChart, QChartView, QValueAxis
from PySide6.QtCore import QEvent, QMargins, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFocusEvent, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import Theme
from gm_desktop.widgets.basics import text_label

HEIGHT = 150
_GAP = {True: 0.78, False: 0.88}  # share of its column that a bar fills: few bars, many bars
_FEW = 16
_AXIS = 44


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One bar: how high, and what it says."""

    count: int
    hover: str


class _Bars(QChartView):
    """The chart itself. Each column of it answers to the mouse, however low its bar is."""

    chosen = Signal(int)

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.bars: tuple[ChartBar, ...] = ()
        self.current = -1
        self._set = QBarSet("")
        self._series = QBarSeries()
        self._series.append(self._set)
        self._x, self._y = QBarCategoryAxis(), QValueAxis()
        self._build()
        self.setAccessibleName(name)
        self.setAccessibleDescription(tr("A bar chart: arrows go from bar to bar, Enter opens what is behind one."))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._tint)
        self._tint()

    def _build(self) -> None:
        chart = QChart()
        chart.setBackgroundVisible(False)
        chart.legend().hide()
        chart.setMargins(QMargins(0, 4, 0, 0))
        chart.layout().setContentsMargins(0, 0, 0, 0)
        chart.setBackgroundRoundness(0)
        chart.addSeries(self._series)
        chart.addAxis(self._x, Qt.AlignmentFlag.AlignBottom)
        chart.addAxis(self._y, Qt.AlignmentFlag.AlignLeft)
        self._series.attachAxis(self._x)
        self._series.attachAxis(self._y)
        self._x.setLabelsVisible(False)
        self._x.setGridLineVisible(False)
        self._x.setLineVisible(False)
        self._y.setLabelFormat("%d")
        self._y.setTickCount(3)
        self._y.setLineVisible(False)
        self.setChart(chart)

    def show_bars(self, bars: Sequence[ChartBar]) -> None:
        """Shows other bars."""
        self.bars = tuple(bars)
        self._set_current(min(self.current, len(self.bars) - 1))
        self._set.remove(0, self._set.count())
        self._set.append([float(bar.count) for bar in self.bars])
        self._x.clear()
        self._x.append([str(at) for at in range(len(self.bars))])
        self._y.setRange(0, nice_end(max((bar.count for bar in self.bars), default=0)))
        self._series.setBarWidth(_GAP[len(self.bars) <= _FEW])

    def _tint(self) -> None:
        color = self._theme.color
        soft = _between(color("accent"), color("surface_raised"), 0.62)
        self.setBackgroundBrush(Qt.BrushStyle.NoBrush)
        self.viewport().setAutoFillBackground(False)
        self.setStyleSheet("background: transparent;")
        self._set.setColor(soft)
        self._set.setSelectedColor(color("accent"))
        self._set.setBorderColor(Qt.GlobalColor.transparent)
        self._y.setGridLinePen(QPen(color("border")))
        self._y.setLabelsFont(self._theme.font("small"))
        self._y.setLabelsBrush(QBrush(color("text_muted")))

    def _set_current(self, at: int) -> None:
        if at != self.current:
            self._set.deselectAllBars()
            if at >= 0:
                self._set.selectBar(at)
                self.setAccessibleDescription(self.bars[at].hover)
            self.current = at

    def _at(self, x: float) -> int:
        """The column under a place; -1 beside them."""
        plot = self.chart().plotArea()
        if not self.bars or not plot.left() <= x < plot.right():
            return -1
        return int((x - plot.left()) / plot.width() * len(self.bars))

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

    def viewportEvent(self, event: QEvent) -> bool:
        """The hover text of the column under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            at = self._at(event.pos().x())
            if at >= 0:
                QToolTip.showText(event.globalPos(), self.bars[at].hover, self)
            return True
        return bool(super().viewportEvent(event))

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
        plot = self.chart().plotArea()
        x = plot.left() + (self.current + 0.5) * plot.width() / max(1, len(self.bars))
        place = self.viewport().mapToGlobal(self.rect().topLeft())
        place.setX(place.x() + int(x))
        QToolTip.showText(place, self.bars[self.current].hover, self)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The newest bar is the first to be told of."""
        super().focusInEvent(event)
        if self.current < 0 and self.bars:
            self._set_current(len(self.bars) - 1)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Nothing is lit up any more."""
        super().focusOutEvent(event)
        self._set_current(-1)

    def drawForeground(self, painter: QPainter, _rect: object) -> None:
        """The focus is seen."""
        if self.hasFocus():
            painter.setPen(self._theme.color("focus"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(self.sceneRect().adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)


class BarChart(QWidget):
    """Emits `chosen(index)`. Below the chart stand the names of its first and its last bar."""

    chosen = Signal(int)

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.view = _Bars(theme, name)
        self.first, self.last = text_label("", "small"), text_label("", "small")
        ends = QHBoxLayout()
        ends.setContentsMargins(_AXIS - 10, 0, 6, 0)
        ends.addWidget(self.first)
        ends.addStretch(1)
        ends.addWidget(self.last)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 0, 8, 0)
        layout.setSpacing(0)
        self.empty = text_label(tr("Nothing to show yet"), "muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setFixedHeight(HEIGHT)
        layout.addWidget(self.view)
        layout.addWidget(self.empty)
        layout.addLayout(ends)
        self.view.chosen.connect(self.chosen)

    def show_bars(self, bars: Sequence[ChartBar], *, first: str, last: str) -> None:
        """Shows other bars."""
        if tuple(bars) != self.view.bars:
            self.view.show_bars(bars)
        self.view.setVisible(bool(bars))
        self.empty.setVisible(not bars)
        self.first.setText(first)
        self.last.setText(last)


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
