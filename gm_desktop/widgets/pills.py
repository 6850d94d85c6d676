"""Soft pills: a word on a tinted ground, so that colour never carries a meaning alone."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gm_desktop.theme import Theme

PILL_HEIGHT = 20
_PADDING = 8

_ROLES = {
    "verified": ("success", "success_soft"),
    "inferred": ("pill_text", "pill"),
    "unverified": ("warning", "warning_soft"),
    "live": ("success", "success_soft"),
    "retired": ("pill_text", "pill"),
    "replaced": ("pill_text", "pill"),
    "danger": ("danger", "danger_soft"),
    "accent": ("accent", "accent_soft"),
    "info": ("info", "info_soft"),
    "match": ("text", "match"),
}


def is_pill(tone: str) -> bool:
    """Whether a tone is drawn as a pill."""
    return tone in _ROLES


def pill_width(text: str, metrics: QFontMetrics) -> int:
    """Pixels a pill with this text takes."""
    return metrics.horizontalAdvance(text) + 2 * _PADDING


def paint_pill(
    painter: QPainter, rect: QRectF, text: str, *, tone: str, theme: Theme, is_selected: bool = False
) -> float:
    """Draws a pill at the left of `rect`, centred vertically and cut to its width; returns the width drawn.

    On a selected row its ground is the page's, so that it stays a pill there.
    """
    metrics = painter.fontMetrics()
    width = min(float(pill_width(text, metrics)), rect.width())
    height = max(PILL_HEIGHT, metrics.height() + 2)
    box = QRectF(rect.left(), rect.center().y() - height / 2, width, height)
    ink, ground = _ROLES.get(tone, ("pill_text", "pill"))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.color("surface" if is_selected else ground))
    painter.drawRoundedRect(box, height / 2, height / 2)
    painter.setPen(theme.color(ink))
    inner = box.adjusted(_PADDING, 0, -_PADDING + 1, 0)
    label = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(inner.width()) + 1)
    painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, label)
    painter.restore()
    return width


class Pill(QWidget):
    """One pill as a widget."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = ""
        self._tone = ""
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def text(self) -> str:
        """The word on the pill."""
        return self._text

    def show_text(self, text: str, tone: str) -> None:
        """Sets word and meaning; an empty word hides the pill."""
        self._text, self._tone = text, tone
        self.setAccessibleName(text)
        self.setVisible(bool(text))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as the word."""
        metrics = self.fontMetrics()
        return QSize(pill_width(self._text, metrics), max(PILL_HEIGHT, metrics.height() + 2) + 2)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draws the pill."""
        painter = QPainter(self)
        paint_pill(painter, QRectF(self.rect()), self._text, tone=self._tone, theme=self._theme)
        painter.end()
