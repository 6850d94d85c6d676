"""How one action of the journal is drawn: what was done, to what, by whom, how long ago."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from gm_desktop.formatting import visible
from gm_desktop.i18n import tr
from gm_desktop.models.activity_list import ACTIVITY_ROLE, ActivityLine
from gm_desktop.theme import Theme
from gm_desktop.widgets.focus_ring import paint_focus_ring
from gm_desktop.widgets.pills import paint_pill, pill_width

HEIGHT = 56
_ICON = 28
_SIDE = 190


class ActivityDelegate(QStyledItemDelegate):
    """Rows of one height, so that a view never measures what it does not show."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        """One height for all."""
        return QSize(300, HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draws one action."""
        line = index.data(ACTIVITY_ROLE)
        if not isinstance(line, ActivityLine):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(option.rect).adjusted(0, 1, 0, -1)
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        self._paint_ground(painter, option, card, is_selected=is_selected)
        inner = card.adjusted(12, 8, -12, -8)
        self._paint_icon(painter, inner, line, is_selected=is_selected)
        small = QFontMetrics(self._theme.font("small"))
        side = max(small.horizontalAdvance(line.who), small.horizontalAdvance(line.age)) + 2.0
        side = min(side, float(_SIDE), inner.width() * 0.4)
        right = QRectF(inner.right() - side, inner.top(), side, inner.height())
        left = QRectF(inner.left() + _ICON + 12, inner.top(), right.left() - inner.left() - _ICON - 24, inner.height())
        spare = side - small.horizontalAdvance(line.age) - 2.0  # beside the age, the title has more room
        self._paint_what(painter, left, line, spare=max(0.0, spare), is_selected=is_selected)
        self._paint_who(painter, right, line)
        painter.restore()

    def _paint_ground(
        self, painter: QPainter, option: QStyleOptionViewItem, card: QRectF, *, is_selected: bool
    ) -> None:
        if is_selected or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color("selection" if is_selected else "hover"))
            painter.drawRoundedRect(card, 7, 7)
        if option.state & QStyle.StateFlag.State_HasFocus:
            paint_focus_ring(painter, card, self._theme, radius=7)

    def _paint_icon(self, painter: QPainter, inner: QRectF, line: ActivityLine, *, is_selected: bool) -> None:
        disc = QRectF(inner.left(), inner.center().y() - _ICON / 2, _ICON, _ICON)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("surface" if is_selected else "pill"))
        painter.drawEllipse(disc)
        role = "text_faint" if line.is_undone else "accent" if is_selected else "text_muted"
        painter.drawPixmap(
            QPointF(disc.center().x() - 7, disc.center().y() - 7), self._theme.pixmap(line.icon, role, 14)
        )

    def _paint_what(
        self, painter: QPainter, room: QRectF, line: ActivityLine, *, spare: float, is_selected: bool
    ) -> None:
        top, below = self._halves(room)
        top.setWidth(top.width() + spare)
        painter.setFont(self._theme.font("strong"))
        painter.setPen(self._theme.color("text_muted" if line.is_undone else "text"))
        width = self._draw(painter, top, visible(line.what))
        if line.is_undone:
            painter.setFont(self._theme.font("small"))
            said = tr("Undone")
            if width + pill_width(said, painter.fontMetrics()) + 10 <= top.width():
                box = top.adjusted(width + 10, 0, 0, 0)
                paint_pill(painter, box, said, tone="retired", theme=self._theme, is_selected=is_selected)
        painter.setFont(self._theme.font("small"))
        painter.setPen(self._theme.color("text_muted"))
        self._draw(painter, below, line.sample)

    def _paint_who(self, painter: QPainter, room: QRectF, line: ActivityLine) -> None:
        top, below = self._halves(room)
        painter.setFont(self._theme.font("small"))
        painter.setPen(self._theme.color("text_muted"))
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for box, text in ((top, line.age), (below, line.who)):
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(box.width()))
            painter.drawText(box, flags, shown)

    @staticmethod
    def _halves(room: QRectF) -> tuple[QRectF, QRectF]:
        half = room.height() / 2
        top = QRectF(room.left(), room.top(), room.width(), half)
        return top, top.translated(0, half)

    @staticmethod
    def _draw(painter: QPainter, room: QRectF, text: str) -> float:
        """Draws what fits on one line; returns its width."""
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, max(0, int(room.width())))
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
        return float(painter.fontMetrics().horizontalAdvance(shown))
