"""A stacked bar: how much each ranking signal gave to a score, and its legend."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gm_desktop.theme import Theme

BAR_HEIGHT = 8
SIGNAL_ROLES = ("signal_vector", "signal_keyword", "signal_recency")
_DOT = 8
_GAP = 18


def paint_contributions(painter: QPainter, rect: QRectF, shares: Sequence[float], theme: Theme) -> None:
    """Fills `rect` from the left with one segment per signal; `shares` are parts of the full width (sum ≤ 1)."""
    height = min(float(BAR_HEIGHT), rect.height())
    track = QRectF(rect.left(), rect.center().y() - height / 2, rect.width(), height)
    outline = QPainterPath()
    outline.addRoundedRect(track, height / 2, height / 2)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillPath(outline, theme.color("pill"))
    painter.setClipPath(outline)
    left = track.left()
    for role, share in zip(SIGNAL_ROLES, shares, strict=False):
        width = track.width() * max(0.0, share)
        if width > 0:
            painter.fillRect(QRectF(left, track.top(), max(1.0, width - 1), height), theme.color(role))
        left += width
    painter.restore()


class ContributionBar(QWidget):
    """The bar as a widget; its accessible name says the shares in words given by the caller."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shares: tuple[float, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def shares(self) -> tuple[float, ...]:
        """What is drawn now."""
        return self._shares

    def show_shares(self, shares: Sequence[float], spoken: str) -> None:
        """Draws one segment per signal (vector, keyword, recency)."""
        self._shares = tuple(shares)
        self.setAccessibleName(spoken)
        self.update()

    def sizeHint(self) -> QSize:
        """A thin line, as wide as there is room."""
        return QSize(120, BAR_HEIGHT + 4)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draws the bar."""
        painter = QPainter(self)
        paint_contributions(painter, QRectF(self.rect()), self._shares, self._theme)
        painter.end()


class SignalDot(QWidget):
    """The coloured dot of one signal (0 vector, 1 keyword, 2 recency)."""

    def __init__(self, theme: Theme, signal: int) -> None:
        super().__init__()
        self._theme, self._role = theme, SIGNAL_ROLES[signal]
        self.setFixedSize(_DOT + 2, _DOT + 2)
        theme.changed.connect(self.update)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draws the dot."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color(self._role))
        painter.drawEllipse(QPointF(_DOT / 2 + 1, _DOT / 2 + 1), _DOT / 2, _DOT / 2)
        painter.end()


class Legend(QWidget):
    """Coloured dots with the signals' names."""

    def __init__(self, theme: Theme, names: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._names = tuple(names)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(", ".join(names))
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        """As wide as the names."""
        metrics = self.fontMetrics()
        width = sum(metrics.horizontalAdvance(name) + _DOT + 6 for name in self._names)
        return QSize(width + _GAP * (len(self._names) - 1), metrics.height() + 4)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draws dots and names in one line."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = painter.fontMetrics()
        left, middle = 0.0, self.height() / 2
        for role, name in zip(SIGNAL_ROLES, self._names, strict=False):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color(role))
            painter.drawEllipse(QPointF(left + _DOT / 2, middle), _DOT / 2, _DOT / 2)
            painter.setPen(self._theme.color("text_muted"))
            left += _DOT + 6
            box = QRectF(left, 0, metrics.horizontalAdvance(name) + 2, self.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, name)
            left += metrics.horizontalAdvance(name) + _GAP
        painter.end()
