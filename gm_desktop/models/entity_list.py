"""Entities as a list: one line each, all of them in memory, replaced when the search or the order changes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.graph_picture import GraphNode

NODE_ROLE = Qt.ItemDataRole.UserRole + 1
ID_ROLE = Qt.ItemDataRole.UserRole + 2

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


class EntityList(QAbstractListModel):
    """Nodes in the order given."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._nodes: tuple[GraphNode, ...] = ()
        self._rows: dict[str, int] = {}

    @property
    def nodes(self) -> tuple[GraphNode, ...]:
        """All of them."""
        return self._nodes

    def row_of(self, entity_id: str) -> int | None:
        """The row of an entity, None where it is not in the list."""
        return self._rows.get(entity_id)

    def set_nodes(self, nodes: Sequence[GraphNode]) -> None:
        """Shows other nodes; the same ones in the same order keep selections."""
        nodes = tuple(nodes)
        if nodes == self._nodes:
            return
        if [node.id for node in nodes] == [node.id for node in self._nodes]:
            self._nodes = nodes
            self.dataChanged.emit(self.index(0), self.index(len(nodes) - 1))
            return
        self.beginResetModel()
        self._nodes = nodes
        self._rows = {node.id: row for row, node in enumerate(nodes)}
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        """One row per entity."""
        return 0 if parent.isValid() else len(self._nodes)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The title, the node, its id, and what is spoken of it."""
        if not index.isValid() or not 0 <= index.row() < len(self._nodes):
            return None
        node = self._nodes[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.EditRole:
                return node.title
            case _ if role == NODE_ROLE:
                return node
            case _ if role == ID_ROLE:
                return node.id
            case Qt.ItemDataRole.AccessibleTextRole:
                links = tr_count("{count} link", "{count} links", node.degree)
                return tr("{title}, {kind}, {links}", title=node.title, kind=node.kind_title, links=links)
            case _:
                return None
