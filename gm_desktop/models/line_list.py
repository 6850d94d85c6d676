"""Short lines to choose from: a text, a quiet note below it, a mark at the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gm_desktop.plain_text import as_tip

LINE_ROLE = Qt.ItemDataRole.UserRole + 1

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `tone` is the theme colour of the mark; `key` is for programs."""

    key: str
    text: str
    note: str = ""
    mark: str = ""
    tone: str = "text_muted"

    @property
    def spoken(self) -> str:
        """All of it for ears."""
        return ", ".join(part for part in (self.text, self.note, self.mark) if part)


class LineList(QAbstractListModel):
    """Few lines; other keys replace them all, the same keys only refresh them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: tuple[Line, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """All of them."""
        return self._lines

    def row_of(self, key: str) -> int | None:
        """The row of a key, None where it is not there."""
        return next((row for row, line in enumerate(self._lines) if line.key == key), None)

    def set_lines(self, lines: Sequence[Line]) -> None:
        """Shows other lines."""
        lines = tuple(lines)
        if lines == self._lines:
            return
        if [line.key for line in lines] == [line.key for line in self._lines]:
            self._lines = lines
            self.dataChanged.emit(self.index(0), self.index(len(lines) - 1))
            return
        self.beginResetModel()
        self._lines = lines
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        """One row per line."""
        return 0 if parent.isValid() else len(self._lines)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The text, the line itself, and what is spoken of it."""
        if not index.isValid() or not 0 <= index.row() < len(self._lines):
            return None
        line = self._lines[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return line.text
        if role == LINE_ROLE:
            return line
        if role == Qt.ItemDataRole.ToolTipRole:
            return as_tip(line.text)
        return line.spoken if role == Qt.ItemDataRole.AccessibleTextRole else None
