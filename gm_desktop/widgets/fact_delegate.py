"""How the cells of a fact table are drawn: calm rows, pills with words, a pin, muted text for what is retired."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from gm_desktop.models.paged_table import MUTED_ROLE, SHARE_ROLE, TONE_ROLE
from gm_desktop.theme import Theme
from gm_desktop.widgets.pills import is_pill, paint_pill

ROW_HEIGHT = 36
CELL_PADDING = 10
_PIN_SIZE = 15
_METER_WIDTH = 34
_TEXT, _PIN = 0, 1  # the first two columns
_AGENT_WIDTHS = (112, 176)


def agent_width(table_px: int) -> int:
    """The width of the agents' column: a name has more room in a wide table."""
    least, most = _AGENT_WIDTHS
    return max(least, min(most, table_px // 8))


class FactDelegate(QStyledItemDelegate):
    """Paints one cell by its tone; the whole row answers to the mouse."""

    def __init__(self, theme: Theme, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._theme = theme
        self._view = view
        self._hovered_row = -1
        view.setMouseTracking(True)
        view.entered.connect(self._on_entered)
        view.viewportEntered.connect(self._on_left)

    def _on_entered(self, index: QModelIndex) -> None:
        self._hovered_row = index.row()
        self._view.viewport().update()

    def _on_left(self) -> None:
        self._hovered_row = -1
        self._view.viewport().update()

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Rows of one height, so that the view never has to measure them."""
        return QSize(80, ROW_HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Ground, then what the cell says."""
        painter.save()
        painter.setFont(option.font)
        self._paint_ground(painter, option, index)
        inner = QRectF(option.rect).adjusted(CELL_PADDING, 0, -CELL_PADDING, 0)
        text = index.data(Qt.ItemDataRole.DisplayRole)
        tone = index.data(TONE_ROLE)
        is_muted = bool(index.data(MUTED_ROLE))
        if text is None and index.column() == 0:
            self._paint_waiting(painter, inner, index.row())
        elif tone == "pin":
            if text:
                glyph = self._theme.pixmap("pin", "accent", _PIN_SIZE)
                painter.drawPixmap(int(inner.left()), int(inner.center().y() - _PIN_SIZE / 2) + 1, glyph)
        elif tone == "meter":
            self._paint_meter(painter, inner, str(text), share=index.data(SHARE_ROLE))
        elif isinstance(tone, str) and is_pill(tone):
            is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
            paint_pill(painter, inner, str(text), tone=tone, theme=self._theme, is_selected=is_selected)
        elif text:
            if index.column() == _TEXT:
                inner = self._beside_pin(painter, inner, index)
            role = "text_muted" if is_muted or tone == "quiet" else "text"
            self._paint_text(painter, inner, str(text), role=role, index=index)
        painter.restore()

    def _beside_pin(self, painter: QPainter, inner: QRectF, index: QModelIndex | QPersistentModelIndex) -> QRectF:
        """Room for the text. While the pins have no column of their own, a pin stands at the end of its fact's text."""
        pin = index.model().index(index.row(), _PIN)
        is_drawn_there = isinstance(self._view, QTableView) and not self._view.isColumnHidden(_PIN)
        if is_drawn_there or pin.data(TONE_ROLE) != "pin" or not pin.data(Qt.ItemDataRole.DisplayRole):
            return inner
        glyph = self._theme.pixmap("pin", "accent", _PIN_SIZE)
        painter.drawPixmap(int(inner.right()) - _PIN_SIZE, int(inner.center().y() - _PIN_SIZE / 2) + 1, glyph)
        return inner.adjusted(0, 0, -_PIN_SIZE - 8, 0)

    def _paint_ground(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if is_selected:
            painter.fillRect(option.rect, self._theme.color("selection"))
        elif index.row() == self._hovered_row:
            painter.fillRect(option.rect, self._theme.color("hover"))
        if index.column() == 0 and index.row() == self._view.currentIndex().row() and self._view.hasFocus():
            edge = QRectF(option.rect.left(), option.rect.top() + 4, 3, option.rect.height() - 8)
            painter.fillRect(edge, self._theme.color("focus"))

    def _paint_text(
        self, painter: QPainter, inner: QRectF, text: str, *, role: str, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        painter.setPen(self._theme.color(role))
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        is_number = index.data(Qt.ItemDataRole.TextAlignmentRole) & Qt.AlignmentFlag.AlignRight
        flags |= Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
        metrics = QFontMetrics(painter.font())
        painter.drawText(inner, flags, metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(inner.width())))

    def _paint_meter(self, painter: QPainter, inner: QRectF, text: str, *, share: float) -> None:
        """A retention weight: its figure, and a short bar that is as full as it is high."""
        painter.setPen(self._theme.color("text_muted"))
        bar = QRectF(inner.left(), inner.center().y() - 1.5, _METER_WIDTH, 3)
        painter.fillRect(bar, self._theme.color("pill"))
        bar.setWidth(_METER_WIDTH * share)
        painter.fillRect(bar, self._theme.color("text_muted"))
        box = inner.adjusted(_METER_WIDTH + 6, 0, 0, 0)
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, text)

    def _paint_waiting(self, painter: QPainter, inner: QRectF, row: int) -> None:
        """A quiet stand-in while the page of this row is on its way."""
        width = inner.width() * (0.35 + 0.11 * (row * 7 % 5))
        bar = QRectF(inner.left(), inner.center().y() - 4, min(width, inner.width()), 8)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("pill"))
        painter.drawRoundedRect(bar, 4, 4)
