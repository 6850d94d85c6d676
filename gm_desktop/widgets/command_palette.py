"""The command palette: one line of typing over everything that can be done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QGraphicsDropShadowEffect,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.formatting import isolate
from gm_desktop.i18n import tr
from gm_desktop.theme import ROW, Theme
from gm_desktop.widgets.basics import rule

WIDTH = 560
SHOWN_ROWS = 9
_Index = QModelIndex | QPersistentModelIndex


class Entry(Protocol):
    """What the palette shows and runs."""

    @property
    def title(self) -> str:
        """The name."""

    @property
    def group(self) -> str:
        """The quiet word after the name."""

    @property
    def icon(self) -> str:
        """A file name in resources/icons."""

    @property
    def hint(self) -> str:
        """What stands on the right."""

    @property
    def run(self) -> Callable[[], None]:
        """Does it."""


class EntryModel(QAbstractListModel):
    """The entries found, best first."""

    EntryRole = Qt.ItemDataRole.UserRole

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._entries: tuple[Entry, ...] = ()

    def show_entries(self, entries: Sequence[Entry]) -> None:
        """Replaces the list."""
        self.beginResetModel()
        self._entries = tuple(entries)
        self.endResetModel()

    def entry(self, row: int) -> Entry:
        """The entry in a row."""
        return self._entries[row]

    def row_of(self, entry: Entry) -> int | None:
        """Where an entry stands now: its title alone may be in several groups. None where it is gone."""
        names = [(each.title, each.group) for each in self._entries]
        name = (entry.title, entry.group)
        return names.index(name) if name in names else None

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        """Qt's row count."""
        return 0 if parent.isValid() else len(self._entries)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The title, and the entry itself for the delegate."""
        if not index.isValid():
            return None
        entry = self._entries[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return entry.title
        return entry if role == self.EntryRole else None


class _EntryDelegate(QStyledItemDelegate):
    """Icon, title, group and hint on one line."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, _option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """One comfortable row."""
        return QSize(0, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draws a row; the chosen one on a soft ground."""
        entry = index.data(EntryModel.EntryRole)
        theme, rect = self._theme, QRect(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("selection"))
            painter.drawRoundedRect(rect.adjusted(0, 1, 0, -1), 7, 7)
        if entry.icon:
            painter.drawPixmap(rect.left() + 12, rect.center().y() - 7, theme.pixmap(entry.icon, "text_muted"))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(theme.font("small"))
        painter.setPen(theme.color("text_muted"))
        hint_width = painter.fontMetrics().horizontalAdvance(entry.hint)
        painter.drawText(rect.adjusted(0, 0, -14, 0), middle | Qt.AlignmentFlag.AlignRight, entry.hint)
        group_width = painter.fontMetrics().horizontalAdvance(entry.group)
        painter.setFont(theme.font("body"))
        room = rect.adjusted(40, 0, -hint_width - group_width - 40, 0)
        title = painter.fontMetrics().elidedText(isolate(entry.title), Qt.TextElideMode.ElideRight, room.width())
        painter.setPen(theme.color("text"))
        painter.drawText(room, middle | Qt.AlignmentFlag.AlignLeft, title)
        after = room.left() + painter.fontMetrics().horizontalAdvance(title) + 10
        painter.setFont(theme.font("small"))
        painter.setPen(theme.color("text_muted"))
        painter.drawText(QRect(after, rect.top(), group_width + 4, rect.height()), middle, entry.group)
        painter.restore()


class CommandPalette(QFrame):
    """Ctrl+K: type, choose with the arrows, Enter runs, Escape closes. An overlay, never a modal loop."""

    def __init__(self, theme: Theme, parent: QWidget, find: Callable[[str], Sequence[Entry]]) -> None:
        super().__init__(parent)
        self._find, self._over = find, parent
        self._came_from: QWidget | None = None
        self.setProperty("kind", "popup")
        self.setFixedWidth(WIDTH)
        self.setAccessibleName(tr("Command palette"))
        self._line = QLineEdit()
        self._line.setProperty("kind", "bare")
        self._line.setProperty("size", "large")
        self._line.setPlaceholderText(tr("Find an action, a page or an agent"))
        self._line.setAccessibleName(tr("Find an action, a page or an agent"))
        self._model = EntryModel(self)
        self._view = QListView()
        self._view.setModel(self._model)
        self._view.setItemDelegate(_EntryDelegate(theme, self))
        self._view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._view.setProperty("kind", "palette")
        self._view.setMouseTracking(True)
        self._view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(8)
        self._line.setContentsMargins(10, 6, 10, 2)
        layout.addWidget(self._line)
        layout.addWidget(rule())
        layout.addWidget(self._view)
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(48)
        shadow.setOffset(0, 12)
        shadow.setColor(theme.color("scrim"))
        self.setGraphicsEffect(shadow)
        self._line.textChanged.connect(self._on_text)
        self._line.installEventFilter(self)
        self._view.clicked.connect(lambda index: self._run(index.row()))
        self.hide()

    def open(self) -> None:
        """Shows the palette over its parent and takes the keyboard; the one that is open stays as it is."""
        if self.isVisible():
            return
        parent = self._over
        self._came_from = parent.window().focusWidget()
        self._line.clear()
        self._on_text("")
        self.move((parent.width() - WIDTH) // 2, max(24, parent.height() // 8))
        self.show()
        self.raise_()
        self._line.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def look_again(self) -> None:
        """There is more to find now: an open palette lists it, and what is chosen stays chosen."""
        if self.isVisible():
            chosen: Entry | None = self._view.currentIndex().data(EntryModel.EntryRole)
            self._on_text(self._line.text())
            row = self._model.row_of(chosen) if chosen is not None else None
            if row is not None:
                self._view.setCurrentIndex(self._model.index(row, 0))

    def close_palette(self) -> None:
        """Hides it and gives the keyboard back."""
        self.hide()
        if self._came_from is not None:
            self._came_from.setFocus(Qt.FocusReason.OtherFocusReason)
            self._came_from = None

    def titles(self) -> tuple[str, ...]:
        """What is listed now."""
        return tuple(self._model.entry(row).title for row in range(self._model.rowCount()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keys that belong to the list although the line has the focus."""
        if event.type() == QEvent.Type.FocusOut and self.isVisible():
            self.hide()
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            key = event.key()
            if key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
                self._step(1 if key == Qt.Key.Key_Down else -1)
                return True
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._run(self._view.currentIndex().row())
                return True
            if key == Qt.Key.Key_Escape:
                self.close_palette()
                return True
        return super().eventFilter(watched, event)

    def _on_text(self, text: str) -> None:
        self._model.show_entries(self._find(text))
        rows = self._model.rowCount()
        self._view.setFixedHeight(max(1, min(rows, SHOWN_ROWS)) * ROW + 2)
        self._view.setCurrentIndex(self._model.index(0, 0))
        self.adjustSize()

    def _step(self, by: int) -> None:
        rows = self._model.rowCount()
        if rows:
            self._view.setCurrentIndex(self._model.index((self._view.currentIndex().row() + by) % rows, 0))

    def _run(self, row: int) -> None:
        if 0 <= row < self._model.rowCount():
            entry = self._model.entry(row)
            self.close_palette()
            entry.run()
