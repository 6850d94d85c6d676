"""One number that opens its list: large digits, a quiet name."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from gm_desktop.plain_text import as_tip
from gm_desktop.theme import Theme

_HEIGHT = 78
_RADIUS = 10
_DIGITS_PX = 22


class FigureTile(QAbstractButton):
    """A button."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._title, self._value = "", ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_figure(self, title: str, value: str, hover: str) -> None:
        """Shows another number."""
        self._title, self._value = title, value
        self.setToolTip(as_tip(hover))
        self.setAccessibleName(f"{title}: {value}")
        self.setAccessibleDescription(hover)
        self.update()

    def sizeHint(self) -> QSize:
        """Room for six digits."""
        return QSize(132, _HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """Narrow windows cut the name, never the digits."""
        return QSize(96, _HEIGHT)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter opens, as Space does."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Card, digits, name."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = self._theme.color
        line = 2.0 if self.hasFocus() else 1.0
        card = QRectF(self.rect()).adjusted(line / 2, line / 2, -line / 2, -line / 2)
        is_hot = self.underMouse() or self.isDown()
        painter.setPen(QPen(color("focus" if self.hasFocus() else "accent" if is_hot else "border"), line))
        painter.setBrush(color("hover") if self.isDown() else color("surface_raised"))
        painter.drawRoundedRect(card, _RADIUS, _RADIUS)
        inner = QRectF(self.rect()).adjusted(15, 12, -12, -13)
        font = QFont(self._theme.font("heading"))
        font.setPixelSize(_DIGITS_PX)
        painter.setFont(font)
        painter.setPen(color("text"))
        flags = Qt.AlignmentFlag.AlignLeft
        painter.drawText(inner, flags | Qt.AlignmentFlag.AlignTop, self._value)
        painter.setFont(self._theme.font("small"))
        painter.setPen(color("text_muted"))
        title = painter.fontMetrics().elidedText(self._title, Qt.TextElideMode.ElideRight, int(inner.width()))
        painter.drawText(inner, flags | Qt.AlignmentFlag.AlignBottom, title)
        painter.end()
