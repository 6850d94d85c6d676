"""A column that scrolls up and down, never sideways."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

PANEL_MARGIN = 20
SCROLL_BAR = 10  # its width in the style sheet


def scroll_area(body: QWidget) -> QScrollArea:
    """A frameless scroll area around `body`. Tab does not stop at it: what is inside takes the keys."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(body)
    return area


def scrolled(column: QVBoxLayout, *, margin: int = PANEL_MARGIN) -> QScrollArea:
    """A scroll area around a column of a side panel, `margin` px from its left and right edge."""
    body = QWidget()
    body.setLayout(column)
    column.setContentsMargins(margin, 14, margin, 20)
    return scroll_area(body)
