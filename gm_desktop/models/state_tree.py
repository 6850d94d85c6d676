"""A JSON document as a lazy tree: children are built when a branch is opened, and 500 at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gm_desktop.formatting import visible
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.paged_table import MUTED_ROLE, TONE_ROLE
from gm_desktop.plain_text import row_text

CHILDREN_STEP = 500
_TOOLTIP_CHARS = 2_000

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


@dataclass(slots=True, eq=False)
class _Node:
    key: str
    value: object
    parent: _Node | None
    row: int
    children: list[_Node] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.value) if isinstance(self.value, Mapping | list | tuple) else 0

    def grow(self, count: int) -> list[_Node]:
        first = len(self.children)
        if isinstance(self.value, Mapping):
            pairs = [(str(key), self.value[key]) for key in list(self.value)[first : first + count]]
        elif isinstance(self.value, list | tuple):
            pairs = [(str(first + at), each) for at, each in enumerate(self.value[first : first + count])]
        else:
            pairs = []
        return [_Node(key, value, self, first + at) for at, (key, value) in enumerate(pairs)]


class StateTree(QAbstractItemModel):
    """Two columns, key and value. Values are plain JSON; strings are shown as text, never interpreted."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._root = _Node("", {}, None, 0)

    def set_state(self, state: object) -> None:
        """Shows another document; its first branch is there at once."""
        self.beginResetModel()
        self._root = _Node("", state, None, 0)
        self._root.children = self._root.grow(CHILDREN_STEP)
        self.endResetModel()

    def _node(self, index: Index) -> _Node:
        if not index.isValid():
            return self._root
        node = index.internalPointer()
        return node if isinstance(node, _Node) else self._root

    def index(self, row: int, column: int, parent: Index = ROOT) -> QModelIndex:
        """The index of a child that was built."""
        children = self._node(parent).children
        if 0 <= row < len(children) and column in (0, 1) and parent.column() <= 0:
            return self.createIndex(row, column, children[row])
        return QModelIndex()

    def parent(self, child: Index = ROOT) -> QModelIndex:  # type: ignore[override]  # QObject.parent() has the same name
        """The branch that holds a child."""
        above = self._node(child).parent if child.isValid() else None
        if above is None or above is self._root:
            return QModelIndex()
        return self.createIndex(above.row, 0, above)

    def rowCount(self, parent: Index = ROOT) -> int:
        """Children built so far."""
        return 0 if parent.column() > 0 else len(self._node(parent).children)

    def columnCount(self, _parent: Index = ROOT) -> int:
        """Key and value."""
        return 2

    def hasChildren(self, parent: Index = ROOT) -> bool:
        """Whether a branch has anything in it, built or not."""
        return parent.column() <= 0 and self._node(parent).size > 0

    def canFetchMore(self, parent: Index) -> bool:
        """Whether a branch has children that are not built."""
        node = self._node(parent)
        return parent.column() <= 0 and len(node.children) < node.size

    def fetchMore(self, parent: Index) -> None:
        """Builds the next children of a branch."""
        node = self._node(parent)
        more = node.grow(CHILDREN_STEP)
        if more and parent.column() <= 0:
            first = len(node.children)
            above = QModelIndex() if node is self._root else self.createIndex(node.row, 0, node)
            self.beginInsertRows(above, first, first + len(more) - 1)
            node.children.extend(more)
            self.endInsertRows()

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Titles of the two columns."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole and section in (0, 1):
            return (tr("Key"), tr("Value"))[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Key or value as one line; the tooltip holds more of a long text."""
        if not index.isValid():
            return None
        node = self._node(index)
        if role == Qt.ItemDataRole.DisplayRole:
            return row_text(node.key, 120) if index.column() == 0 else value_text(node.value)
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == 1 and isinstance(node.value, str):
            return visible(node.value[:_TOOLTIP_CHARS])
        if role == TONE_ROLE:
            return "" if index.column() == 0 else value_tone(node.value)
        if role == MUTED_ROLE:
            return index.column() == 1 and (node.value is None or isinstance(node.value, Mapping | list | tuple))
        return None


def value_text(value: object) -> str:
    """One line for any JSON value; branches say how much is in them."""
    if isinstance(value, Mapping):
        return tr_count("{count} key", "{count} keys", len(value))
    if isinstance(value, list | tuple):
        return tr_count("{count} item", "{count} items", len(value))
    if isinstance(value, str):
        return row_text(value) if value else tr("empty text")
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def value_tone(value: object) -> str:
    """`text`, `number`, `word` (true, false, null) or `branch`."""
    if isinstance(value, str):
        return "text"
    if value is None or isinstance(value, bool):
        return "word"
    return "number" if isinstance(value, int | float) else "branch"
