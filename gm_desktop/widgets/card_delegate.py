"""How a waiting card is drawn in the list at the side: kind, first words, whose it is."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gm_desktop.models.proposal_cards import CARD_ROLE, CardLine
from gm_desktop.theme import Theme
from gm_desktop.widgets.focus_ring import paint_focus_ring
from gm_desktop.widgets.hit_delegate import text_layout
from gm_desktop.widgets.pills import paint_pill

_HEIGHT = 84
_LINES = 2


class CardDelegate(QStyledItemDelegate):
    """A pill and a note, two lines of text."""

    def __init__(self, theme: Theme, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._theme = theme

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        """One height for all, so that thousands of cards scroll."""
        return QSize(220, _HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draws one card."""
        line = index.data(CARD_ROLE)
        if not isinstance(line, CardLine):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        inner = self._ground(painter, option).adjusted(12, 9, -12, -8)
        self._paint_top(painter, QRectF(inner.left(), inner.top(), inner.width(), 20), line, is_selected=is_selected)
        painter.setFont(self._theme.font("body"))
        painter.setPen(self._theme.color("text"))
        layout = text_layout(line.text, painter.font(), inner.width(), lines=_LINES)
        layout.draw(painter, QPointF(inner.left(), inner.top() + 26))
        painter.restore()

    def _paint_top(self, painter: QPainter, top: QRectF, line: CardLine, *, is_selected: bool) -> None:
        painter.setFont(self._theme.font("small"))
        tone = "danger" if line.is_stale else line.tone
        drawn = paint_pill(painter, top, line.kind_title, tone=tone, theme=self._theme, is_selected=is_selected)
        room = top.adjusted(drawn + 8, 0, 0, 0)
        painter.setPen(self._theme.color("danger" if line.is_stale else "text_muted"))
        shown = card_note(line, QFontMetricsF(painter.font()), room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, shown)

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem) -> QRectF:
        card = QRectF(option.rect).adjusted(0, 1, 0, -1)
        role = ""
        if option.state & QStyle.StateFlag.State_Selected:
            role = "selection"
        elif option.state & QStyle.StateFlag.State_MouseOver:
            role = "hover"
        if role:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color(role))
            painter.drawRoundedRect(card, 7, 7)
        if option.state & QStyle.StateFlag.State_HasFocus:
            paint_focus_ring(painter, card, self._theme, radius=7)
        return card


def card_note(line: CardLine, metrics: QFontMetricsF, room: float) -> str:
    """Whose the card is and how many facts it is about: where room is short, the name gives way, the count stays."""
    if line.is_stale or not (line.agent and line.note):
        return metrics.elidedText(line.note or line.agent, Qt.TextElideMode.ElideMiddle, max(0.0, room))
    rest = f"  ·  {line.note}"
    left = room - metrics.horizontalAdvance(rest)
    return metrics.elidedText(line.agent, Qt.TextElideMode.ElideRight, max(0.0, left)) + rest
