"""What happened in a store, newest first: rows come on top as others write, and at the end as one scrolls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

ACTIVITY_ROLE = Qt.ItemDataRole.UserRole + 1

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class ActivityLine:
    """One action: what was done, to what, by whom, when. `icon` is a bundled one."""

    seq: int
    icon: str
    what: str
    sample: str
    who: str
    when: str
    when_utc: str
    age: str
    is_undone: bool

    @property
    def spoken(self) -> str:
        """All of it for ears."""
        return ", ".join(part for part in (self.what, self.sample, self.who, self.when) if part)


class ActivityList(QAbstractListModel):
    """Asks for more with `more_wanted` when a view has come to the end."""

    more_wanted = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[ActivityLine] = []
        self._has_more = False

    @property
    def lines(self) -> Sequence[ActivityLine]:
        """The lines in order. Not to be changed."""
        return self._lines

    def row_of(self, seq: int | None) -> int | None:
        """The row of an action, None where it is not loaded."""
        return next((row for row, line in enumerate(self._lines) if line.seq == seq), None)

    def set_lines(self, lines: list[ActivityLine], *, has_more: bool) -> None:
        """Shows the newest lines. What is on both lists keeps its row in every view."""
        self._has_more = has_more
        old, new = [line.seq for line in self._lines], [line.seq for line in lines]
        fresh = new.index(old[0]) if old and old[0] in new else -1
        kept = len(new) - fresh
        if fresh < 0 or new[fresh:] != old[:kept]:
            self.beginResetModel()
            self._lines = lines
            self.endResetModel()
            return
        if kept < len(old):
            self.beginRemoveRows(QModelIndex(), kept, len(old) - 1)
            del self._lines[kept:]
            self.endRemoveRows()
        if fresh:
            self.beginInsertRows(QModelIndex(), 0, fresh - 1)
            self._lines = lines
            self.endInsertRows()
        self._lines = lines
        if lines:
            self.dataChanged.emit(self.index(0), self.index(len(lines) - 1))

    def append(self, lines: Sequence[ActivityLine], *, has_more: bool) -> None:
        """Older lines, at the end."""
        self._has_more = has_more
        if lines:
            first = len(self._lines)
            self.beginInsertRows(QModelIndex(), first, first + len(lines) - 1)
            self._lines = [*self._lines, *lines]
            self.endInsertRows()

    def rowCount(self, parent: Index = ROOT) -> int:
        """One row per loaded action."""
        return 0 if parent.isValid() else len(self._lines)

    def canFetchMore(self, parent: Index) -> bool:
        """Whether there are older ones."""
        return not parent.isValid() and self._has_more

    def fetchMore(self, parent: Index) -> None:
        """Asks for older ones; they come through `append`."""
        if not parent.isValid():
            self.more_wanted.emit()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """What was done, the line itself, UTC on hover."""
        if not index.isValid() or not 0 <= index.row() < len(self._lines):
            return None
        line = self._lines[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return line.what
        if role == ACTIVITY_ROLE:
            return line
        if role == Qt.ItemDataRole.ToolTipRole:
            return line.when_utc
        return line.spoken if role == Qt.ItemDataRole.AccessibleTextRole else None
