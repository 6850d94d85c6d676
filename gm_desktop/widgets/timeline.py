"""Short texts on a line through time: what a fact was before, what happened to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QVBoxLayout, QWidget

from gm_desktop.plain_text import as_tip
from gm_desktop.theme import Theme
from gm_desktop.widgets.focus_ring import paint_focus_ring
from gm_desktop.widgets.hit_delegate import text_layout

_LEFT = 22
_TOP = 6
_NOTE_GAP = 2


@dataclass(frozen=True, slots=True)
class Moment:
    """One entry: its text (up to two lines), a quiet note below, a hover text, and whether it is where one stands."""

    key: str
    text: str
    note: str
    hover: str = ""
    is_here: bool = False


class _MomentRow(QAbstractButton):
    """One entry on the line; a button where it can be opened."""

    def __init__(self, theme: Theme, moment: Moment, *, is_first: bool, is_last: bool, opens: bool) -> None:
        super().__init__()
        self._theme, self.moment = theme, moment
        self._is_first, self._is_last = is_first, is_last
        self._opens = opens and not moment.is_here
        self.setToolTip(as_tip(moment.hover))
        self.setAccessibleName(f"{moment.text}, {moment.note}")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if self._opens else Qt.FocusPolicy.NoFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        if self._opens:
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        """Two lines and a note."""
        return QSize(200, self.heightForWidth(260))

    def heightForWidth(self, width: int) -> int:
        """As many lines as the text needs, at most two."""
        layout = text_layout(self.moment.text, self.font(), max(40, width - _LEFT - 8), lines=2)
        small = self.fontMetrics().lineSpacing() if self.moment.note else 0
        return int(layout.lineCount() * self.fontMetrics().lineSpacing() + _NOTE_GAP + small + 2 * _TOP)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The line, the dot, the text, the note."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = self._theme.color
        if self._opens and (self.underMouse() or self.hasFocus()):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color("hover"))
            painter.drawRoundedRect(QRectF(self.rect()), 6, 6)
        if self._opens and self.hasFocus():
            paint_focus_ring(painter, QRectF(self.rect()), self._theme)
        middle = _TOP + self.fontMetrics().lineSpacing() / 2
        painter.setPen(color("border_strong"))
        painter.drawLine(QPointF(9, 0 if not self._is_first else middle), QPointF(9, middle))
        painter.drawLine(QPointF(9, middle), QPointF(9, middle if self._is_last else self.height()))
        painter.setPen(color("accent") if self.moment.is_here else color("text_faint"))
        painter.setBrush(color("accent") if self.moment.is_here else color("surface"))
        painter.drawEllipse(QPointF(9, middle), 3.5, 3.5)
        layout = text_layout(self.moment.text, self.font(), max(40, self.width() - _LEFT - 8), lines=2)
        painter.setPen(color("text"))
        layout.draw(painter, QPointF(_LEFT, _TOP))
        top = _TOP + layout.lineCount() * self.fontMetrics().lineSpacing() + _NOTE_GAP
        painter.setFont(self._theme.font("small"))
        painter.setPen(color("text_muted"))
        room = QRectF(_LEFT, top, self.width() - _LEFT - 8, self.fontMetrics().lineSpacing())
        note = painter.fontMetrics().elidedText(self.moment.note, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, note)
        painter.end()


class Timeline(QWidget):
    """Emits `chosen(key)` when an entry that opens something is clicked or pressed."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, *, opens: bool) -> None:
        super().__init__()
        self._theme, self._opens = theme, opens
        self._moments: tuple[Moment, ...] = ()
        self._rows: list[_MomentRow] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)

    @property
    def moments(self) -> tuple[Moment, ...]:
        """What is shown."""
        return self._moments

    def focus(self) -> None:
        """Puts the keyboard on the first entry."""
        if self._rows:
            self._rows[0].setFocus()

    def show_moments(self, moments: Sequence[Moment]) -> None:
        """Shows other entries."""
        moments = tuple(moments)
        if moments == self._moments:
            return
        self._moments = moments
        for row in self._rows:
            self._layout.removeWidget(row)
            row.hide()
            row.deleteLater()
        last = len(moments) - 1
        self._rows = [
            _MomentRow(self._theme, each, is_first=at == 0, is_last=at == last, opens=self._opens)
            for at, each in enumerate(moments)
        ]
        for row in self._rows:
            self._layout.addWidget(row)
            if self._opens:
                row.clicked.connect(lambda _checked=False, key=row.moment.key: self.chosen.emit(key))
