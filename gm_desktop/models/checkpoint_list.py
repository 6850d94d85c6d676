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
    """One checkpoint: when it was saved, by which agent, what is in it and what was thought of it."""

    id: str
    agent_id: str
    agent: str
    when: str
    when_utc: str
    age: str
    summary: str
    is_damaged: bool
    verdict: str = ""
    verdict_title: str = ""
    is_restored: bool = False


class CheckpointList(QAbstractListModel):
    """The lines as a model; new ones on top, and ones that went, keep the selection."""

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

    def line(self, checkpoint_id: str | None) -> CheckpointLine | None:
        """The line of a checkpoint, None where it is not listed."""
        return next((line for line in self._lines if line.id == checkpoint_id), None)

    def set_lines(self, lines: list[CheckpointLine]) -> None:
        """Shows other lines. Equal lists change nothing; more on top are inserted, a missing one is removed."""
        old, new = [line.id for line in self._lines], [line.id for line in lines]
        fresh = len(new) - len(old)
        if old == new:
            self._lines = lines
        elif fresh > 0 and old and new[fresh:] == old:
            self.beginInsertRows(QModelIndex(), 0, fresh - 1)
            self._lines = lines
            self.endInsertRows()
        elif fresh == -1 and (gone := _missing(old, new)) is not None:
            self.beginRemoveRows(QModelIndex(), gone, gone)
            self._lines = lines
            self.endRemoveRows()
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
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(part for part in (line.when, line.agent, line.summary, line.verdict_title) if part)
        return None


def _missing(old: list[str], new: list[str]) -> int | None:
    """The one row that `new` lacks and that is all they differ in."""
    at = next((row for row, each in enumerate(new) if each != old[row]), len(new))
    return at if old[at + 1 :] == new[at:] else None
