"""The ring around what has the keyboard, where the program paints it itself: as wide as the style sheet draws it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from gm_desktop.theme import Theme

_WIDTH = 2


def paint_focus_ring(painter: QPainter, box: QRectF, theme: Theme, *, radius: float = 6) -> None:
    """Along the inside of `box`, in pixels; the brush is none afterwards."""
    inset = _WIDTH / 2
    painter.setPen(QPen(theme.color("focus"), _WIDTH))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box.adjusted(inset, inset, -inset, -inset), radius, radius)
