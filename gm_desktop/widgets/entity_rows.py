"""Entities and links as short rows that open something: in the legend, in the inspector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QVBoxLayout, QWidget

from gm_desktop.plain_text import as_tip
from gm_desktop.theme import Theme
from gm_desktop.widgets.focus_ring import paint_focus_ring

ROW_HEIGHT = 28
_DOT = 4.5


@dataclass(frozen=True, slots=True)
class RowItem:
    """One row: what it stands for, its title with a dot in the colour of a type, a quiet note at the right.

    `is_faded`: out of use (a stale link, a type that is left out); `hover` says more.
    """

    key: str
    title: str
    kind: str
    note: str = ""
    hover: str = ""
    is_faded: bool = False


class EntityRow(QAbstractButton):
    """One row."""

    def __init__(self, theme: Theme, item: RowItem) -> None:
        super().__init__()
        self._theme = theme
        self.item = item
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_item(item)
        theme.changed.connect(self.update)

    def show_item(self, item: RowItem) -> None:
        """Shows another item in the same place."""
        self.item = item
        self.setToolTip(as_tip(item.hover))
        self.setAccessibleName(", ".join(part for part in (item.title, item.note, item.hover) if part))
        self.updateGeometry()  # another text may be wider
        self.update()

    def sizeHint(self) -> QSize:
        """One line."""
        metrics = self.fontMetrics()
        wide = metrics.horizontalAdvance(self.item.title) + metrics.horizontalAdvance(self.item.note) + 50
        return QSize(min(wide, 240), ROW_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """Titles give way."""
        return QSize(80, ROW_HEIGHT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Dot, title, note."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = self._theme.color
        if self.underMouse() or self.hasFocus():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color("hover"))
            painter.drawRoundedRect(QRectF(self.rect()), 6, 6)
        if self.hasFocus():
            paint_focus_ring(painter, QRectF(self.rect()), self._theme)
        inner = QRectF(self.rect()).adjusted(8, 0, -8, 0)
        ink = color(f"entity_{self.item.kind}")
        painter.setPen(ink)
        painter.setBrush(color("surface") if self.item.is_faded else ink)
        painter.drawEllipse(QPointF(inner.left() + _DOT, inner.center().y()), _DOT - 0.5, _DOT - 0.5)
        painter.setFont(self._theme.font("small"))
        painter.setPen(color("text_muted"))
        most = int(inner.width() * 0.5)
        note = painter.fontMetrics().elidedText(self.item.note, Qt.TextElideMode.ElideRight, most)
        width = painter.fontMetrics().horizontalAdvance(note)
        painter.drawText(inner, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, note)
        painter.setFont(self._theme.font("body"))
        painter.setPen(color("text_muted" if self.item.is_faded else "text"))
        room = inner.adjusted(18, 0, -width - 10, 0)
        title = painter.fontMetrics().elidedText(self.item.title, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, title)
        painter.end()


class EntityRows(QWidget):
    """Rows below each other; emits `chosen(key)`. A refresh reuses them: it neither flickers nor loses the focus."""

    chosen = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: list[EntityRow] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)

    @property
    def items(self) -> tuple[RowItem, ...]:
        """What is shown."""
        return tuple(row.item for row in self._rows if row.isVisibleTo(self))

    def show_items(self, items: Sequence[RowItem]) -> None:
        """Shows other rows, laid out once: Qt would lay out everything around with each row that appears."""
        self._layout.setEnabled(False)
        while len(self._rows) < len(items):
            made = EntityRow(self._theme, items[len(self._rows)])
            made.clicked.connect(lambda _checked=False, row=made: self.chosen.emit(row.item.key))
            self._rows.append(made)
            self._layout.addWidget(made)
        for at, made in enumerate(self._rows):
            made.setVisible(at < len(items))
            if at < len(items) and made.item != items[at]:
                made.show_item(items[at])
        self._layout.setEnabled(True)
        self.updateGeometry()
        place: QWidget | None = self
        while place is not None and (layout := place.layout()) is not None:
            layout.activate()
            place = place.parentWidget()
