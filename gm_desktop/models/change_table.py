"""What differs between two JSON documents, as a table; a hundred thousand changes are put into words one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gm_desktop.i18n import tr
from gm_desktop.models.paged_table import TONE_ROLE
from gm_desktop.models.state_tree import value_text
from gm_desktop.plain_text import as_tip, row_text
from gm_engine.records import JsonChange, JsonPath, JsonValue

KIND, WHERE, BEFORE, AFTER = range(4)
_KINDS = {"added": "Added", "removed": "Removed", "changed": "Changed", "moved": "Moved"}
_TONES = {"added": "verified", "removed": "danger", "changed": "accent", "moved": "info"}

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


class ChangeTable(QAbstractTableModel):
    """Kind, place, value before, value after."""

    def __init__(self, path_text: Callable[[JsonPath], str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path_text = path_text
        self._changes: Sequence[JsonChange] = ()

    @property
    def changes(self) -> Sequence[JsonChange]:
        """All of them in order."""
        return self._changes

    def set_changes(self, changes: Sequence[JsonChange]) -> None:
        """Shows other changes."""
        if changes != self._changes:
            self.beginResetModel()
            self._changes = changes
            self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        """One row per change."""
        return 0 if parent.isValid() else len(self._changes)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Four."""
        return 0 if parent.isValid() else 4

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Titles."""
        if orientation is Qt.Orientation.Horizontal and 0 <= section < 4:
            if role == Qt.ItemDataRole.DisplayRole:
                return (tr("Change"), tr("Where"), tr("Before"), tr("After"))[section]
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return _LEFT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """One cell in words; a value that is not there is an empty cell."""
        if not index.isValid() or not 0 <= index.row() < len(self._changes):
            return None
        change, column = self._changes[index.row()], index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            text = self._text(change, column)
            return as_tip(text) if role == Qt.ItemDataRole.ToolTipRole else text
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT
        if role == TONE_ROLE:
            return _TONES[change.kind] if column == KIND else "quiet" if column == BEFORE else ""
        if role == Qt.ItemDataRole.AccessibleTextRole and column == KIND:
            texts = [self._text(change, each) for each in range(4)]
            return ", ".join(text for text in texts if text)
        return None

    def _text(self, change: JsonChange, column: int) -> str:
        if column == KIND:
            return tr(_KINDS[change.kind])
        if column == WHERE:
            return self._path_text(change.path)
        if column == BEFORE and change.moved_from is not None:
            return tr("at {place}", place=self._path_text(change.moved_from[-1:]) or "–")
        if column == BEFORE:
            return "" if change.kind == "added" else _short(change.before)
        return "" if change.kind == "removed" else _short(change.after)


def _short(value: JsonValue) -> str:
    """One line; a message says who said what."""
    if isinstance(value, dict) and value.keys() == {"role", "content"}:
        role, content = value["role"], value["content"]
        if isinstance(role, str) and isinstance(content, str):
            return row_text(f"{role}: {content}")
    return value_text(value)
