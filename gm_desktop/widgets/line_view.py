"""A calm list of short lines: text, a quiet note below it, a mark at the right."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QResizeEvent
from PySide6.QtWidgets import QFrame, QListView, QSizePolicy, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gm_desktop.models.line_list import LINE_ROLE, Line, LineList
from gm_desktop.theme import Theme
from gm_desktop.widgets.focus_ring import paint_focus_ring
from gm_desktop.widgets.hit_delegate import text_layout

LINE_INDENT = 10
_PADDING = (LINE_INDENT, 7, LINE_INDENT, 7)
_LINES = 2
_ROLES = {"success", "danger", "warning", "accent", "text_muted"}


class _LineDelegate(QStyledItemDelegate):
    """Paints one line; as high as its text needs."""

    def __init__(self, theme: Theme, view: QListView, *, are_names: bool) -> None:
        super().__init__(view)
        self._theme, self._view, self._are_names = theme, view, are_names

    def sizeHint(self, _option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """At most two lines of text, and the note."""
        line = index.data(LINE_ROLE)
        if not isinstance(line, Line):
            return QSize(120, 30)
        width = self._view.viewport().width()
        return QSize(120, line_height(line, self._theme, width, are_names=self._are_names))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Ground, text, note, mark."""
        line = index.data(LINE_ROLE)
        if not isinstance(line, Line):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(option.rect).adjusted(0, 1, 0, -1)
        self._paint_ground(painter, option, card)
        inner = card.adjusted(_PADDING[0], _PADDING[1] - 1, -_PADDING[2], -_PADDING[3] + 1)
        if line.mark:
            painter.setFont(_mark_font(self._theme))
            painter.setPen(self._theme.color(line.tone if line.tone in _ROLES else "text_muted"))
            first = QRectF(inner.left(), inner.top(), inner.width(), QFontMetricsF(self._theme.font()).lineSpacing())
            painter.drawText(first, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, line.mark)
        font = self._theme.font("body")
        room = line_room(line, self._theme, option.rect.width())
        layout = text_layout(line.text, font, room, lines=_LINES, whole_words=self._are_names)
        painter.setPen(self._theme.color("text"))
        layout.draw(painter, QPointF(inner.left(), inner.top()))
        if line.note:
            top = inner.top() + layout.lineCount() * QFontMetricsF(font).lineSpacing() + 1
            painter.setFont(self._theme.font("small"))
            painter.setPen(self._theme.color(line.tone if line.tone in ("danger", "warning") else "text_muted"))
            box = QRectF(inner.left(), top, inner.width(), QFontMetricsF(painter.font()).lineSpacing())
            shown = painter.fontMetrics().elidedText(line.note, Qt.TextElideMode.ElideRight, int(box.width()))
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, shown)
        painter.restore()

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem, card: QRectF) -> None:
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if is_selected or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color("selection" if is_selected else "hover"))
            painter.drawRoundedRect(card, 6, 6)
        if option.state & QStyle.StateFlag.State_HasFocus:
            paint_focus_ring(painter, card, self._theme)


class LineView(QListView):
    """Emits `chosen(key)` on a click or Enter.

    With `grows`, it is as high as its lines, up to `most_px`. Lines that `are_names` are never broken inside a word.
    """

    chosen = Signal(str)

    def __init__(
        self,
        lines: LineList,
        theme: Theme,
        name: str,
        *,
        grows: bool = False,
        most_px: int = 360,
        are_names: bool = False,
    ) -> None:
        super().__init__()
        self._theme, self._lines = theme, lines
        self._grows, self._most_px, self._are_names = grows, most_px, are_names
        self.setModel(lines)
        self.setItemDelegate(_LineDelegate(theme, self, are_names=are_names))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setAccessibleName(name)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self._on_chosen)
        self.activated.connect(self._on_chosen)
        if grows:
            self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            lines.modelReset.connect(self._fit)
            lines.dataChanged.connect(self._fit)
            self._fit()

    def _on_chosen(self, index: QModelIndex) -> None:
        line = index.data(LINE_ROLE)
        if isinstance(line, Line):
            self.chosen.emit(line.key)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrapping changes the height."""
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._fit()

    def _fit(self) -> None:
        if self._grows:
            width = self.viewport().width()
            heights = (line_height(line, self._theme, width, are_names=self._are_names) for line in self._lines.lines)
            wanted = sum(heights)
            policy = Qt.ScrollBarPolicy
            self.setVerticalScrollBarPolicy(
                policy.ScrollBarAsNeeded if wanted > self._most_px else policy.ScrollBarAlwaysOff
            )
            self.setFixedHeight(max(1, min(wanted + 2, self._most_px)))


def line_height(line: Line, theme: Theme, width: int, *, are_names: bool) -> int:
    """Pixels one line needs in a list of that width."""
    font = theme.font("body")
    layout = text_layout(line.text, font, line_room(line, theme, width), lines=_LINES, whole_words=are_names)
    height = layout.lineCount() * QFontMetricsF(font).lineSpacing()
    if line.note:
        height += 1 + QFontMetricsF(theme.font("small")).lineSpacing()
    return int(height + _PADDING[1] + _PADDING[3]) + 1


def line_room(line: Line, theme: Theme, width: int) -> float:
    """Pixels that its text has in a list of that width, beside its mark."""
    mark = QFontMetricsF(_mark_font(theme)).horizontalAdvance(line.mark) + 12 if line.mark else 0.0
    return max(40.0, width - _PADDING[0] - _PADDING[2] - mark)


def _mark_font(theme: Theme) -> QFont:
    font = theme.font("small")
    font.setFeature(QFont.Tag("tnum"), 1)
    return font
