"""How narrow lists at the side of a page are drawn: namespaces with counts, checkpoints with their age."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from gm_desktop.formatting import number
from gm_desktop.models.agent_list import COUNT_ROLE, ICON_ROLE
from gm_desktop.models.checkpoint_list import CHECKPOINT_ROLE, CheckpointLine
from gm_desktop.theme import Theme
from gm_desktop.widgets.focus_ring import paint_focus_ring
from gm_desktop.widgets.pills import paint_pill, pill_width

AGENT_HEIGHT = 34
CHECKPOINT_HEIGHT = 58
_TIME_LINE, _DOT = 30, 15
_VERDICT_INKS = {"approved": "success", "needs_work": "warning", "rejected": "danger"}
_VERDICT_TONES = {"approved": "verified", "needs_work": "unverified", "rejected": "danger"}


class SideDelegate(QStyledItemDelegate):
    """A rounded ground for what is selected, hovered or focused."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem) -> QRectF:
        card = QRectF(option.rect).adjusted(0, 1, 0, -1)
        role = ""
        if option.state & QStyle.StateFlag.State_Selected:
            role = "selection"
        elif option.state & QStyle.StateFlag.State_MouseOver:
            role = "hover"
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if role:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color(role))
            painter.drawRoundedRect(card, 7, 7)
        if option.state & QStyle.StateFlag.State_HasFocus:
            paint_focus_ring(painter, card, self._theme, radius=7)
        return card


class AgentDelegate(SideDelegate):
    """Icon, name, count."""

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        """One height for all."""
        return QSize(160, AGENT_HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draws one namespace."""
        painter.save()
        card = self._ground(painter, option)
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        inner = card.adjusted(10, 0, -10, 0)
        glyph = self._theme.pixmap(str(index.data(ICON_ROLE)), "accent" if is_selected else "text_muted", 15)
        painter.drawPixmap(QPointF(inner.left(), inner.center().y() - 7.5), glyph)
        painter.setFont(self._theme.font("small"))
        count = number(int(index.data(COUNT_ROLE) or 0))
        width = painter.fontMetrics().horizontalAdvance(count) + 2
        painter.setPen(self._theme.color("text_muted"))
        painter.drawText(inner, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, count)
        painter.setFont(self._theme.font("strong" if is_selected else "body"))
        painter.setPen(self._theme.color("text"))
        room = inner.adjusted(25, 0, -width - 8, 0)
        title = str(index.data(Qt.ItemDataRole.DisplayRole))
        shown = painter.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
        painter.restore()


class CheckpointDelegate(SideDelegate):
    """A line through time: when, how long ago, by whom, how much, and what was thought of it."""

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        """One height for all."""
        return QSize(220, CHECKPOINT_HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draws one checkpoint."""
        line = index.data(CHECKPOINT_ROLE)
        if not isinstance(line, CheckpointLine):
            return
        painter.save()
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        inner = self._ground(painter, option).adjusted(_TIME_LINE, 8, -12, -8)
        self._draw_time_line(painter, QRectF(option.rect), line, index)
        top = QRectF(inner.left(), inner.top(), inner.width(), inner.height() / 2)
        below = top.translated(0, inner.height() / 2)
        painter.setFont(self._theme.font("strong"))
        painter.setPen(self._theme.color("text"))
        painter.drawText(top, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, line.when)
        painter.setFont(self._theme.font("small"))
        painter.setPen(self._theme.color("text_muted"))
        painter.drawText(top, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, line.age)
        room = QRectF(below)
        if line.verdict_title:
            width = pill_width(line.verdict_title, painter.fontMetrics())
            box = QRectF(below.right() - width, below.top(), width, below.height())
            tone = _VERDICT_TONES.get(line.verdict, "")
            paint_pill(painter, box, line.verdict_title, tone=tone, theme=self._theme, is_selected=is_selected)
            room.setRight(box.left() - 8)
        if line.is_damaged:
            damage = paint_pill(painter, room, line.summary, tone="danger", theme=self._theme, is_selected=is_selected)
            room.setLeft(room.left() + damage + 8)
        painter.setPen(self._theme.color("text_muted"))
        self._cut(painter, room, line.agent if line.is_damaged or line.verdict else f"{line.agent}  ·  {line.summary}")
        painter.restore()

    def _draw_time_line(
        self, painter: QPainter, card: QRectF, line: CheckpointLine, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """The line and the dot on it: hollow until reviewed, a ring around what was restored."""
        x, y = card.left() + _DOT, card.top() + 19
        is_first, is_last = index.row() == 0, index.row() == index.model().rowCount() - 1
        painter.setPen(self._theme.color("border_strong"))
        painter.drawLine(QPointF(x, y if is_first else card.top()), QPointF(x, y if is_last else card.bottom() + 1))
        ink = self._theme.color("danger" if line.is_damaged else _VERDICT_INKS.get(line.verdict, "text_faint"))
        painter.setPen(ink)
        painter.setBrush(ink if line.verdict else self._theme.color("surface"))
        painter.drawEllipse(QPointF(x, y), 4, 4)
        if line.is_restored:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(QPointF(x, y), 6.5, 6.5)

    @staticmethod
    def _cut(painter: QPainter, room: QRectF, text: str) -> None:
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
