"""An agent's checkpoints, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

CHECKPOINT_ROLE = Qt.ItemDataRole.UserRole + 1

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class CheckpointLine:
    """One checkpoint: when it was saved, by which agent, and a line about what is in it."""

    id: str
    agent: str
    when: str
    when_utc: str
    age: str
    summary: str
    is_damaged: bool


class CheckpointList(QAbstractListModel):
    """The lines as a model; new ones on top keep the selection."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[CheckpointLine] = []

    @property
    def lines(self) -> Sequence[CheckpointLine]:
        """The lines in order. Not to be changed."""
        return self._lines

    def row_of(self, checkpoint_id: str) -> int | None:
        """The row of a checkpoint, None where it is not listed."""
        return next((row for row, line in enumerate(self._lines) if line.id == checkpoint_id), None)

    def set_lines(self, lines: list[CheckpointLine]) -> None:
        """Shows other lines. Equal lists change nothing; more on top are inserted."""
        fresh = len(lines) - len(self._lines)
        if fresh > 0 and self._lines and [x.id for x in lines[fresh:]] == [x.id for x in self._lines]:
            self.beginInsertRows(QModelIndex(), 0, fresh - 1)
            self._lines = lines
            self.endInsertRows()
        elif [line.id for line in lines] == [line.id for line in self._lines]:
            self._lines = lines
        else:
            self.beginResetModel()
            self._lines = lines
            self.endResetModel()
        if lines:
            self.dataChanged.emit(self.index(0), self.index(len(lines) - 1))

    def rowCount(self, parent: Index = ROOT) -> int:
        """One row per checkpoint."""
        return 0 if parent.isValid() else len(self._lines)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Time, the line itself, UTC on hover."""
        if not index.isValid() or not 0 <= index.row() < len(self._lines):
            return None
        line = self._lines[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return line.when
        if role == CHECKPOINT_ROLE:
            return line
        if role == Qt.ItemDataRole.ToolTipRole:
            return line.when_utc
        return f"{line.when}, {line.agent}, {line.summary}" if role == Qt.ItemDataRole.AccessibleTextRole else None
