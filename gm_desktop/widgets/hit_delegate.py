"""How a ranked hit is drawn: place, two lines of text with the matched words, who and when, and what made the score."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QFont, QFontMetricsF, QPainter, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gm_desktop.models.hit_list import HIT_ROLE, Hit
from gm_desktop.plain_text import utf16_spans
from gm_desktop.theme import Theme
from gm_desktop.widgets.contribution_bar import paint_contributions
from gm_desktop.widgets.focus_ring import paint_focus_ring
from gm_desktop.widgets.pills import paint_pill
from gm_desktop.widgets.scrolled import SCROLL_BAR

_PADDING = (12, 10, 14, 10)
_GAP = 2
_BELOW = 20
_BELOW_GAP = 8
_PLACE_WIDTH = 34
_BAR_WIDTH = 170
_SCORE_WIDTH = 78
_LINES = 2
_UNBROKEN = 1e6  # wider than any line


class HitDelegate(QStyledItemDelegate):
    """Paints one hit."""

    def __init__(self, theme: Theme, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._theme, self._view = theme, view

    def sizeHint(self, _option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """As high as the text needs, at most two lines, and the line below it."""
        hit = index.data(HIT_ROLE)
        font = self._theme.font("body")
        lines = text_layout(hit.text, font, self._room(), lines=_LINES).lineCount() if isinstance(hit, Hit) else 1
        text = lines * QFontMetricsF(font).lineSpacing()
        return QSize(320, int(2 * _GAP + _PADDING[1] + text + _BELOW_GAP + _BELOW + _PADDING[3]))

    def _room(self) -> int:
        """Pixels that a text has in a line: as many without a scroll bar as beside one, so that no row jumps."""
        width = self._view.maximumViewportSize().width() - SCROLL_BAR
        return max(80, width - _PADDING[0] - _PADDING[2] - _PLACE_WIDTH)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Ground, place, text, and the line below it."""
        hit = index.data(HIT_ROLE)
        if not isinstance(hit, Hit):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(option.rect).adjusted(0, _GAP, 0, -_GAP)
        self._paint_ground(painter, option, card)
        inner = card.adjusted(_PADDING[0], _PADDING[1], -_PADDING[2], -_PADDING[3])
        painter.setFont(self._theme.font("strong"))
        painter.setPen(self._theme.color("text_muted"))
        place = QRectF(inner.left(), inner.top(), _PLACE_WIDTH - 10, 20)
        painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, str(hit.position))
        if hit.moved:
            self._paint_move(painter, QRectF(place.left(), inner.bottom() - _BELOW, place.width(), _BELOW), hit)
        body = inner.adjusted(_PLACE_WIDTH, 0, 0, 0)
        painter.setFont(self._theme.font("body"))
        self._paint_text(painter, body, hit)
        below = QRectF(body.left(), body.bottom() - _BELOW, body.width(), _BELOW)
        self._paint_below(painter, below, hit, is_selected=bool(option.state & QStyle.StateFlag.State_Selected))
        painter.restore()

    def _paint_move(self, painter: QPainter, box: QRectF, hit: Hit) -> None:
        """How far the hit moved, below its place; it may reach a little to the left."""
        painter.setFont(_tabular(self._theme.font("small")))
        painter.setPen(self._theme.color(hit.tone))
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(box.adjusted(-_PADDING[0] + 2, 0, 2, 0), flags, hit.moved)

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem, card: QRectF) -> None:
        role = ""
        if option.state & QStyle.StateFlag.State_Selected:
            role = "selection"
        elif option.state & QStyle.StateFlag.State_MouseOver:
            role = "hover"
        if role:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color(role))
            painter.drawRoundedRect(card, 8, 8)
        if option.state & QStyle.StateFlag.State_HasFocus:
            paint_focus_ring(painter, card, self._theme, radius=8)

    def _paint_text(self, painter: QPainter, body: QRectF, hit: Hit) -> None:
        layout = text_layout(hit.text, painter.font(), self._room(), lines=_LINES)
        look = QTextCharFormat()
        look.setBackground(QBrush(self._theme.color("match")))
        look.setForeground(QBrush(self._theme.color("text")))
        ranges = []
        for start, end in utf16_spans(hit.text, hit.spans):
            part = QTextLayout.FormatRange()
            part.start, part.length, part.format = start, end - start, look
            ranges.append(part)
        painter.setPen(self._theme.color("text"))
        layout.draw(painter, QPointF(body.left(), body.top()), ranges)

    def _paint_below(self, painter: QPainter, line: QRectF, hit: Hit, *, is_selected: bool) -> None:
        painter.setFont(_tabular(self._theme.font("small")))
        right = line.right()
        painter.setPen(self._theme.color("text_muted"))
        score = QRectF(right - _SCORE_WIDTH, line.top(), _SCORE_WIDTH, line.height())
        painter.drawText(score, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, hit.score)
        bar_width = min(_BAR_WIDTH, max(60.0, line.width() - 330)) if hit.shares else 0.0
        bar = QRectF(score.left() - bar_width, line.top(), bar_width, line.height())
        if hit.shares:
            paint_contributions(painter, bar, hit.shares, self._theme)
        left = line.left()
        room = QRectF(left, line.top(), max(0.0, bar.left() - left - 12), line.height())
        drawn = paint_pill(
            painter, room, hit.confidence_title, tone=hit.confidence, theme=self._theme, is_selected=is_selected
        )
        left += drawn + 8
        if hit.is_pinned:
            painter.drawPixmap(QPointF(left, line.center().y() - 7), self._theme.pixmap("pin", "accent", 14))
            left += 20
        metrics = QFontMetricsF(painter.font())
        width = max(0.0, bar.left() - left - 12)
        text = metrics.elidedText(f"{hit.agent}  ·  {hit.age}", Qt.TextElideMode.ElideRight, width)
        painter.setPen(self._theme.color("text_muted"))
        painter.drawText(QRectF(left, line.top(), width, line.height()), Qt.AlignmentFlag.AlignVCenter, text)


def _tabular(font: QFont) -> QFont:
    """Digits of one width, so that columns of them line up."""
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def text_layout(text: str, font: QFont, width: float, *, lines: int, whole_words: bool = False) -> QTextLayout:
    """At most `lines` lines of a text, wrapped to `width`, `…` at the end where more follows.

    The direction is that of the text's own first letter. A word that has no room in a line goes on in the next one;
    with `whole_words` it ends in `…`, and so does the text.
    """
    if whole_words and _widest_word(text, font) > width:
        text, lines = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, width - 2), 1
    layout = _laid_out(text, font, width, lines)
    last = layout.lineAt(layout.lineCount() - 1)
    units = text.encode("utf-16-le")
    if layout.lineCount() < lines or 2 * (last.textStart() + last.textLength()) >= len(units):
        return layout
    head = units[: 2 * last.textStart()].decode("utf-16-le", "replace")
    rest = units[2 * last.textStart() :].decode("utf-16-le", "replace")
    cut = QFontMetricsF(font).elidedText(rest, Qt.TextElideMode.ElideRight, width - 2)
    return _laid_out(head + cut, font, width, lines)


def _widest_word(text: str, font: QFont) -> float:
    """Pixels of the widest piece that can be broken nowhere but inside a word."""
    layout = QTextLayout(text, font)
    layout.setTextOption(QTextOption())
    layout.beginLayout()
    layout.createLine().setLineWidth(_UNBROKEN)
    layout.endLayout()
    return layout.minimumWidth()


def _laid_out(text: str, font: QFont, width: float, lines: int) -> QTextLayout:
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
    spacing = QFontMetricsF(font).lineSpacing()
    layout = QTextLayout(text, font)
    layout.setTextOption(option)
    layout.beginLayout()
    for place in range(lines):
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(width)
        line.setPosition(QPointF(0, place * spacing))
    layout.endLayout()
    return layout
