"""The ring around what has the keyboard."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

import gm_desktop
from gm_desktop.theme import Theme
from gm_desktop.widgets.focus_ring import paint_focus_ring

OTHER_SHAPES = {
    "focus_ring.py",
    "rail.py",
    "fact_delegate.py",
}  # the rail has a ground in it, a table an edge


def test_the_ring_is_two_pixels_wide_and_inside_its_box(theme: Theme) -> None:
    image = QImage(40, 40, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    painter = QPainter(image)
    paint_focus_ring(painter, QRectF(5, 5, 30, 30), theme)
    painter.end()
    ring = theme.color("focus").rgb()
    assert [x for x in range(40) if image.pixel(x, 20) == ring] == [5, 6, 33, 34]


def test_no_widget_paints_a_ring_of_its_own() -> None:
    folder = Path(gm_desktop.__file__).parent
    own = {path.name for path in folder.rglob("*.py") if re.search(r'color\("focus"\)', path.read_text())}
    assert own == OTHER_SHAPES
