"""Widgets in lines that wrap, like words."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLayout, QLayoutItem, QStyle, QWidget


class FlowLayout(QLayout):
    """In reading direction, then down; each line is as high as its highest widget."""

    def __init__(self, parent: QWidget, *, margins: tuple[int, int, int, int] = (0, 0, 0, 0), gap: int = 8) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._gap = gap
        self.setContentsMargins(*margins)
        policy = parent.sizePolicy()
        policy.setHeightForWidth(True)
        parent.setSizePolicy(policy)

    def addItem(self, item: QLayoutItem) -> None:
        """Adds an item at the end."""
        self._items.append(item)

    def count(self) -> int:
        """How many items there are."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """One item, None beyond the end."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Removes and returns an item, None beyond the end."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        """It takes no more room than it needs."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """Narrower means higher."""
        return True

    def heightForWidth(self, width: int) -> int:
        """The height all lines need."""
        return self._arrange(QRect(0, 0, width, 0), is_real=False)

    def setGeometry(self, rect: QRect) -> None:
        """Places the widgets."""
        super().setGeometry(rect)
        self._arrange(rect, is_real=True)

    def sizeHint(self) -> QSize:
        """The narrowest it can be."""
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        """As wide as the widest widget."""
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        margins = self.contentsMargins()
        return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom())

    def _arrange(self, rect: QRect, *, is_real: bool) -> int:
        margins = self.contentsMargins()
        room = rect.adjusted(margins.left(), margins.top(), -margins.right(), 0)
        lines: list[list[QLayoutItem]] = [[]]
        left = room.left()
        for item in self._items:
            if item.isEmpty():
                continue
            width = item.sizeHint().width()
            if lines[-1] and left + width > room.right() + 1:
                lines.append([])
                left = room.left()
            lines[-1].append(item)
            left += width + self._gap
        top = room.top()
        for line in lines:
            top = self._place(line, QPoint(room.left(), top), room, is_real=is_real) + self._gap
        return top - self._gap - rect.top() + margins.bottom()

    def _place(self, line: list[QLayoutItem], at: QPoint, room: QRect, *, is_real: bool) -> int:
        direction = QGuiApplication.layoutDirection()
        height = max((item.sizeHint().height() for item in line), default=0)
        left = at.x()
        for item in line:
            size = item.sizeHint()
            if is_real:
                place = QRect(QPoint(left, at.y() + (height - size.height()) // 2), size)
                item.setGeometry(QStyle.visualRect(direction, room, place))
            left += size.width() + self._gap
        return at.y() + height


def flowing(*widgets: QWidget, gap: int = 8) -> QWidget:
    """Widgets side by side, in as many lines as the place asks for."""
    holder = QWidget()
    layout = FlowLayout(holder, gap=gap)
    for widget in widgets:
        layout.addWidget(widget)
    return holder
