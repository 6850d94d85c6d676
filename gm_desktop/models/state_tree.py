"""A JSON document as a lazy tree: children are built when a branch is looked into, long branches in groups of 500."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gm_desktop.formatting import visible
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.paged_table import MUTED_ROLE, TONE_ROLE
from gm_desktop.plain_text import as_tip, row_text

GROUP = 500
_TOOLTIP_CHARS = 2_000

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


@dataclass(slots=True, eq=False)
class _Node:
    key: str
    value: object
    parent: _Node | None
    row: int
    is_group: bool = False
    built: list[_Node] | None = None

    @property
    def size(self) -> int:
        return len(self.value) if isinstance(self.value, Mapping | list | tuple) else 0

    @property
    def child_count(self) -> int:
        """Without building anything."""
        return self.size if self.size <= GROUP else -(-self.size // GROUP)

    @property
    def children(self) -> list[_Node]:
        if self.built is None:
            self.built = self.made()
        return self.built

    def made(self) -> list[_Node]:
        """The children, built now."""
        return self._groups() if self.size > GROUP else self._members()

    def _members(self) -> list[_Node]:
        if isinstance(self.value, Mapping):
            pairs = [(str(key), each) for key, each in self.value.items()]
        elif isinstance(self.value, list | tuple):
            first = int(self.key.split(" ")[0]) if self.is_group else 0
            pairs = [(str(first + at), each) for at, each in enumerate(self.value)]
        else:
            pairs = []
        return [_Node(key, each, self, at) for at, (key, each) in enumerate(pairs)]

    def _groups(self) -> list[_Node]:
        made = []
        items = list(self.value.items()) if isinstance(self.value, Mapping) else self.value
        for row, first in enumerate(range(0, self.size, GROUP)):
            last = min(first + GROUP, self.size) - 1
            part = items[first : last + 1] if isinstance(items, list | tuple) else []
            value: object = dict(part) if isinstance(self.value, Mapping) else part
            made.append(_Node(f"{first} – {last}", value, self, row, is_group=True))
        return made


def _is_object(node: _Node) -> bool:
    return isinstance(node.value, Mapping)


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A JSON document made ready to be shown; made in a lane, because the first level of a large one takes its time."""

    root: _Node


def document(state: object) -> Document:
    """The document with its first level built."""
    root = _Node("", state, None, 0)
    root.built = root.made()
    return Document(root)


class StateTree(QAbstractItemModel):
    """Two columns, key and value. Values are plain JSON; strings are shown as text, never interpreted."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._root = _Node("", {}, None, 0)

    def set_state(self, state: object) -> None:
        """Shows another document, made ready or not."""
        self.beginResetModel()
        self._root = state.root if isinstance(state, Document) else _Node("", state, None, 0)
        self.endResetModel()

    def _node(self, index: Index) -> _Node:
        if not index.isValid():
            return self._root
        node = index.internalPointer()
        return node if isinstance(node, _Node) else self._root

    def path(self, index: Index) -> tuple[str | int, ...]:
        """The keys and list places that lead to a node; a group of a long branch stands for the branch."""
        steps: list[str | int] = []
        node: _Node | None = self._node(index)
        while node is not None and node.parent is not None:
            if not node.is_group:
                steps.append(node.key if _is_object(node.parent) else int(node.key))
            node = node.parent
        return tuple(reversed(steps))

    def index(self, row: int, column: int, parent: Index = ROOT) -> QModelIndex:
        """The index of a child; its branch is built now."""
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
        """Children of a branch: its members, or groups of them."""
        return 0 if parent.column() > 0 else self._node(parent).child_count

    def columnCount(self, _parent: Index = ROOT) -> int:
        """Key and value."""
        return 2

    def hasChildren(self, parent: Index = ROOT) -> bool:
        """Whether a branch has anything in it, built or not."""
        return parent.column() <= 0 and self._node(parent).size > 0

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
            return as_tip(visible(node.value[:_TOOLTIP_CHARS]))
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
