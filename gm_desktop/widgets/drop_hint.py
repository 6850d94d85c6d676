"""What the window shows while a file hovers over it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import Theme

INSET = 20
RADIUS = 16


class DropHint(QWidget):
    """A frame over the whole window that says what dropping does."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def cover(self, over: QWidget) -> None:
        """Shows itself over `over`."""
        self.setGeometry(over.rect())
        self.show()
        self.raise_()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """A soft ground, a frame, one sentence."""
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = theme.color("accent_soft")
        ground.setAlphaF(0.92)
        painter.setBrush(ground)
        painter.setPen(QPen(theme.color("accent"), 2, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(INSET, INSET, -INSET, -INSET), RADIUS, RADIUS)
        centre = self.rect().center()
        painter.drawPixmap(centre.x() - 16, centre.y() - 44, theme.pixmap("download", "accent", 32))
        painter.setFont(theme.font("heading"))
        painter.setPen(theme.color("text"))
        words = tr("Drop a store, an export or a folder of notes to look inside")
        painter.drawText(self.rect().translated(0, 12), Qt.AlignmentFlag.AlignCenter, words)
