"""How an entity is drawn in a list: a dot in the colour of its type, its name, how many links it has."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from gm_desktop.formatting import number
from gm_desktop.models.entity_list import NODE_ROLE
from gm_desktop.models.graph_picture import GraphNode
from gm_desktop.widgets.side_delegates import SideDelegate

HEIGHT = 32


class EntityDelegate(SideDelegate):
    """Dot, name, number of links."""

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        """One height for all."""
        return QSize(160, HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draws one entity."""
        node = index.data(NODE_ROLE)
        if not isinstance(node, GraphNode):
            return
        painter.save()
        card = self._ground(painter, option)
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        inner = card.adjusted(12, 0, -10, 0)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color(f"entity_{node.kind}"))
        painter.drawEllipse(QPointF(inner.left() + 4, inner.center().y()), 4.5, 4.5)
        painter.setFont(self._theme.font("small"))
        count = number(node.degree)
        width = painter.fontMetrics().horizontalAdvance(count) + 2
        painter.setPen(self._theme.color("text_muted"))
        painter.drawText(inner, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, count)
        painter.setFont(self._theme.font("strong" if is_selected else "body"))
        painter.setPen(self._theme.color("text"))
        room = inner.adjusted(18, 0, -width - 8, 0)
        title = painter.fontMetrics().elidedText(node.title, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, title)
        painter.restore()
