"""The drawn graph as a file: PNG or SVG, painted by the same lines as on the screen, in whatever thread."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRect, QSize, QSizeF
from PySide6.QtGui import QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator

from gm_desktop.models.graph_picture import GraphPicture
from gm_desktop.widgets.graph_paint import Style, View, paint_all

IMAGE_SCALE = 2


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """What is on the screen at one moment: `size` of it, in pixels, without the types that are `hidden`."""

    picture: GraphPicture
    view: View
    style: Style
    size: QSize
    hidden: frozenset[str]

    def write(self, path: Path) -> None:
        """Writes a file, as its ending says: SVG, or else PNG. `OSError` when it cannot be written."""
        path.write_bytes(self.svg() if path.suffix.lower() == ".svg" else self.png())

    def png(self) -> bytes:
        """An image of twice the size."""
        image = QImage(self.size * IMAGE_SCALE, QImage.Format.Format_RGB32)
        painter = QPainter(image)
        painter.scale(IMAGE_SCALE, IMAGE_SCALE)
        self._paint(painter)
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        QImageWriter(buffer, QByteArray(b"png")).write(image)
        buffer.close()
        return bytes(data.data())

    def svg(self) -> bytes:
        """Vectors."""
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        made = QSvgGenerator()
        made.setOutputDevice(buffer)
        made.setSize(self.size)
        made.setViewBox(QRect(0, 0, self.size.width(), self.size.height()))
        made.setTitle("GrayMatter")
        self._paint(QPainter(made))
        buffer.close()
        return bytes(data.data())

    def _paint(self, painter: QPainter) -> None:
        paint_all(painter, self.picture, self.view, self.style, size=QSizeF(self.size), hidden=self.hidden)
        painter.end()
