"""Named counts with a bar each; a row opens the list behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QVBoxLayout, QWidget

from gm_desktop.formatting import number
from gm_desktop.i18n import tr
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import Theme
from gm_desktop.widgets.basics import text_label
from gm_desktop.widgets.focus_ring import paint_focus_ring

_HEIGHT = 34
_BAR = 4
INSET = 8


@dataclass(frozen=True, slots=True)
class Meter:
    """One row; `share` in [0, 1] is the length of its bar, `tone` its colour."""

    title: str
    count: int
    share: float
    hover: str = ""
    tone: str = "accent"


class _Row(QAbstractButton):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._meter = Meter("", 0, 0.0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_meter(self, meter: Meter) -> None:
        self._meter = meter
        self.setToolTip(as_tip(meter.hover))
        self.setAccessibleName(f"{meter.title}: {number(meter.count)}")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(160, _HEIGHT)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color, meter = self._theme.color, self._meter
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        if self.underMouse() or self.hasFocus():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color("hover"))
            painter.drawRoundedRect(box, 6, 6)
        if self.hasFocus():
            paint_focus_ring(painter, box, self._theme)
        inner = box.adjusted(INSET, 4, -INSET, -5)
        font = QFont(self._theme.font("body"))
        font.setFeature(QFont.Tag("tnum"), 1)
        painter.setFont(font)
        count = number(meter.count)
        width = painter.fontMetrics().horizontalAdvance(count)
        painter.setPen(color("text_muted"))
        painter.drawText(inner, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop, count)
        painter.setPen(color("text"))
        room = inner.adjusted(0, 0, -width - 10, 0)
        title = painter.fontMetrics().elidedText(meter.title, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, title)
        track = QRectF(inner.left(), inner.bottom() - _BAR, inner.width(), _BAR)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color("pill"))
        painter.drawRoundedRect(track, 2, 2)
        if meter.share > 0:
            track.setWidth(max(float(_BAR), track.width() * min(1.0, meter.share)))
            painter.setBrush(color(meter.tone))
            painter.drawRoundedRect(track, 2, 2)
        painter.end()


class MeterRows(QWidget):
    """Emits `chosen(index)`. Names stand `INSET` pixels from the edge: give it that much less margin."""

    chosen = Signal(int)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.rows: list[QAbstractButton] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(2)
        self.empty = text_label(tr("Nothing to show yet"), "muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.hide()
        self._column.addWidget(self.empty, 1)
        self._column.addStretch()

    def show_meters(self, meters: Sequence[Meter]) -> None:
        """Shows other rows, or that there is none; those that are there are used again."""
        while len(self.rows) < len(meters):
            at = len(self.rows)
            row = _Row(self._theme)
            row.clicked.connect(lambda _on=False, at=at: self.chosen.emit(at))
            self._column.insertWidget(at, row)
            self.rows.append(row)
        for at, shown in enumerate(self.rows):
            shown.setVisible(at < len(meters))
            if at < len(meters) and isinstance(shown, _Row):
                shown.show_meter(meters[at])
        self.empty.setVisible(not meters)
