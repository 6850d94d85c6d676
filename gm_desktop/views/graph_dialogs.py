"""Small dialogs of the Graph page: a new entity, another one to merge with or link to, facts to split off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFrame,
    QLineEdit,
    QListView,
    QListWidget,
    QListWidgetItem,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.i18n import tr
from gm_desktop.models.entity_list import ID_ROLE, EntityList
from gm_desktop.models.graph_picture import GraphNode
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.widgets.basics import push_button, row, text_label
from gm_desktop.widgets.entity_delegate import EntityDelegate

RELATIONS = ("related_to", "works at", "part of", "depends on", "knows", "located in", "contradicts")
_MOST_FOUND = 200


class TypeBox(QComboBox):
    """Choose a type, or type the name of another one."""

    def __init__(self, kinds: Sequence[tuple[str, str]], chosen: str) -> None:
        super().__init__()
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setAccessibleName(tr("Type"))
        for kind, title in kinds:
            self.addItem(title, kind)
        self.show_kind(chosen)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The wheel scrolls what is around the box; it changes no type by accident."""
        event.ignore()

    def show_kind(self, kind: str) -> None:
        """Shows a type; one that is not in the list as it is written."""
        at = self.findData(kind)
        if at >= 0:
            self.setCurrentIndex(at)
        else:
            self.setEditText(kind)

    def kind(self) -> str:
        """The type that is chosen or typed; blank when there is none."""
        at = self.findText(self.currentText(), Qt.MatchFlag.MatchFixedString)
        return str(self.itemData(at)) if at >= 0 else self.currentText().strip()


class _Dialog(QDialog):
    """A title, content, one button."""

    def __init__(self, title: str, button: str, on_save: Callable[[], None], *, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.setMinimumWidth(420)
        self.save = push_button(button, "primary", on_save)
        self.save.setDefault(True)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(MARGIN, 20, MARGIN, 20)
        self._column.setSpacing(12)
        self._column.addWidget(text_label(title, "title"))
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self, self.save.click)

    def _finish(self) -> None:
        self._column.addLayout(row(1, push_button(tr("Cancel"), "", self.reject), self.save))


class AddEntityDialog(_Dialog):
    """Emits `entity_named(label, type)`."""

    entity_named = Signal(str, str)

    def __init__(self, kinds: Sequence[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(tr("Add an entity"), tr("Add"), self._on_save, parent=parent)
        self.label = QLineEdit()
        self.label.setPlaceholderText(tr("Its name, as people write it"))
        self.label.setAccessibleName(tr("Name"))
        self.kind = TypeBox(kinds, "person")
        self.label.textChanged.connect(self._refresh)
        self.kind.editTextChanged.connect(self._refresh)
        self._column.addWidget(self.label)
        self._column.addWidget(self.kind)
        self._finish()
        self._refresh()
        self.label.setFocus()

    def _refresh(self) -> None:
        self.save.setEnabled(bool(self.label.text().strip()) and bool(self.kind.kind()))

    def _on_save(self) -> None:
        self.entity_named.emit(self.label.text(), self.kind.kind())
        self.accept()


class ChooseEntityDialog(_Dialog):
    """Search for another entity. Emits `entity_chosen(id, relation)`; the relation is empty unless it is asked for."""

    entity_chosen = Signal(str, str)

    def __init__(
        self,
        title: str,
        button: str,
        hint: str,
        *,
        find: Callable[[str], Sequence[GraphNode]],
        theme: Theme,
        parent: QWidget,
        with_relation: bool = False,
    ) -> None:
        super().__init__(title, button, self._on_save, parent=parent)
        self._find = find
        self.query = QLineEdit()
        self.query.setPlaceholderText(tr("Search for an entity"))
        self.query.setAccessibleName(tr("Search for an entity"))
        self.found = EntityList(self)
        self.list = QListView()
        self.list.setModel(self.found)
        self.list.setItemDelegate(EntityDelegate(theme, self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        self.list.setMinimumSize(QSize(360, 240))
        self.list.setAccessibleName(tr("Entities"))
        self.relation = QComboBox()
        self.relation.setEditable(True)
        self.relation.setAccessibleName(tr("Relation"))
        for each in RELATIONS:
            self.relation.addItem(each.replace("_", " "), each)
        self._column.addWidget(text_label(hint, "small", wrap=True))
        self._column.addWidget(self.query)
        self._column.addWidget(self.list, 1)
        self._relation_row = QWidget()
        self.relation.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._relation_row.setLayout(row(text_label(tr("Relation"), "muted"), self.relation))
        self._relation_row.setVisible(with_relation)
        self._with_relation = with_relation
        self._column.addWidget(self._relation_row)
        self._finish()
        self.query.textChanged.connect(self._search)
        self.list.activated.connect(lambda _index: self._on_save())
        self._search()
        self.query.setFocus()

    def _search(self) -> None:
        self.found.set_nodes(self._find(self.query.text())[:_MOST_FOUND])
        if self.found.nodes:
            self.list.setCurrentIndex(self.found.index(0))
        self.save.setEnabled(bool(self.found.nodes))

    def _relation(self) -> str:
        if not self._with_relation:
            return ""
        at = self.relation.findText(self.relation.currentText())
        return str(self.relation.itemData(at)) if at >= 0 else self.relation.currentText().strip()

    def _on_save(self) -> None:
        index = self.list.currentIndex()
        if index.isValid() and (self._relation() or not self._with_relation):
            self.entity_chosen.emit(str(index.data(ID_ROLE)), self._relation())
            self.accept()


class SplitDialog(_Dialog):
    """Which facts are about somebody or something else. Emits `split_wanted(label, fact ids)`."""

    split_wanted = Signal(str, list)

    def __init__(self, name: str, facts: Sequence[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(tr("Split {name}", name=name), tr("Split"), self._on_save, parent=parent)
        self.label = QLineEdit()
        self.label.setPlaceholderText(tr("Name of the new entity"))
        self.label.setAccessibleName(tr("Name of the new entity"))
        self.facts = QListWidget()
        self.facts.setAccessibleName(tr("Facts"))
        self.facts.setWordWrap(True)
        self.facts.setSpacing(3)
        self.facts.setMinimumSize(QSize(460, 260))
        for fact_id, text in facts:
            item = QListWidgetItem(text)
            item.setData(Qt.ItemDataRole.UserRole, fact_id)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Unchecked)
            self.facts.addItem(item)
        hint = tr("The links that these facts stand behind move to the new entity.")
        self._column.addWidget(self.label)
        self._column.addWidget(text_label(tr("Which facts are about the new one?"), "section"))
        self._column.addWidget(self.facts, 1)
        self._column.addWidget(text_label(hint, "small", wrap=True))
        self._finish()
        self.label.textChanged.connect(self._refresh)
        self.facts.itemChanged.connect(self._refresh)
        self._refresh()
        self.label.setFocus()

    def chosen(self) -> list[str]:
        """The ids of the facts that are ticked."""
        items = (self.facts.item(at) for at in range(self.facts.count()))
        return [
            str(item.data(Qt.ItemDataRole.UserRole)) for item in items if item.checkState() == Qt.CheckState.Checked
        ]

    def _refresh(self) -> None:
        self.save.setEnabled(bool(self.label.text().strip()) and bool(self.chosen()))

    def _on_save(self) -> None:
        self.split_wanted.emit(self.label.text(), self.chosen())
        self.accept()
