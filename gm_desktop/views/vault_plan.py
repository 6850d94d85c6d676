"""What a publish would do: a tree on the left; the note's diff, its text and its preview on the right."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QSplitter,
    QStackedWidget,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.i18n import tr
from gm_desktop.models.plan_tree import NODE_ROLE
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.viewmodels.vault_plan import VaultPlanViewModel
from gm_desktop.widgets.basics import EmptyState, document_tabs, push_button, row, text_label
from gm_desktop.widgets.reading_view import ReadingView
from gm_desktop.widgets.text_panes import TextPane


class VaultPlanPanel(QWidget):
    """The plan and one note of it."""

    def __init__(self, viewmodel: VaultPlanViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()
        self._show_note()

    def _make_widgets(self) -> None:
        self.compare = push_button(tr("Compare with the vault"), "", self._viewmodel.compare)
        self.compare.setToolTip(tr("Find out what publishing would do (Ctrl+D)"))
        self.tree = QTreeView()
        self.tree.setModel(self._viewmodel.tree)
        self.tree.setHeaderHidden(True)
        self.tree.setUniformRowHeights(True)
        self.tree.setFrameShape(QFrame.Shape.NoFrame)
        self.tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.tree.setAccessibleName(tr("What publishing would do"))
        self.path, self.reason = text_label("", "strong", wrap=True), text_label("", "small", wrap=True)
        self.diff, self.raw = TextPane(self._theme), TextPane(self._theme)
        self.diff.setAccessibleName(tr("Changes"))
        self.raw.setAccessibleName(tr("Note as text"))
        self.preview = ReadingView(tr("Rendered note"))
        self.again = push_button(tr("Compare with the vault"), "primary", self._viewmodel.compare)
        self.note = EmptyState(self._theme, "book-open", "", "", (self.again,))
        self.note.setContentsMargins(0, 0, MARGIN, 0)  # in the middle of the page, which has one at the left

    def _lay_out(self) -> None:
        self.views = document_tabs()
        both = QSplitter(Qt.Orientation.Horizontal)
        both.setChildrenCollapsible(False)
        both.addWidget(self.preview)
        beside = QWidget()
        beside.setLayout(row(self.raw, margins=(2 * SPACE, 0, 0, 0)))
        both.addWidget(beside)
        self.views.addTab(both, tr("Note"))
        self.views.addTab(self.diff, tr("Changes"))
        self._right = QWidget()
        column = QVBoxLayout(self._right)
        column.setContentsMargins(MARGIN, SPACE, MARGIN, SPACE)
        column.addWidget(self.path)
        column.addWidget(self.reason)
        column.addWidget(self.views, 1)
        left = QWidget()
        side = QVBoxLayout(left)
        side.setContentsMargins(0, SPACE, SPACE, SPACE)
        side.addLayout(row(self.compare, 1))
        side.addWidget(self.tree, 1)
        self._both = QSplitter(Qt.Orientation.Horizontal)
        self._both.setChildrenCollapsible(False)
        self._both.addWidget(left)
        self._both.addWidget(self._right)
        self._both.setStretchFactor(1, 1)
        self._both.setSizes([340, 700])
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(self._both)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)

    def _wire(self) -> None:
        self._viewmodel.state_changed.connect(self._show_state)
        self._viewmodel.note_changed.connect(self._show_note)
        self.tree.selectionModel().currentChanged.connect(self._on_current)

    @property
    def can_compare(self) -> bool:
        """Whether there is a vault to compare with."""
        return self._viewmodel.can_compare

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return not self._viewmodel.is_waiting

    def focus(self) -> None:
        """Work begins in the tree, or with comparing where there is none yet."""
        (self.again if self.again.isVisible() else self.tree).setFocus()

    def run(self) -> None:
        """Compares store and vault."""
        self._viewmodel.compare()

    def refresh(self) -> None:
        """Shows whether comparing is possible now."""
        for button in (self.compare, self.again):
            button.setEnabled(self._viewmodel.can_compare)

    def _on_current(self, current: QModelIndex | QPersistentModelIndex) -> None:
        self._viewmodel.select(current.data(NODE_ROLE))

    def _show_state(self) -> None:
        state = self._viewmodel.state
        self.again.setVisible(isinstance(state, Empty | Failed))
        if isinstance(state, Empty):
            self.note.say("book-open", state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The vault can't be compared"), state.message)
        elif not isinstance(state, Full):
            self.note.say("clock", tr("Comparing…"))
        self._stack.setCurrentWidget(self._both if isinstance(state, Full) else self.note)
        if isinstance(state, Full):
            self._open_first()
        self.refresh()

    def _open_first(self) -> None:
        """The first group that says something is open, its first note shown."""
        model = self._viewmodel.tree
        if model.rowCount():
            head = model.index(0, 0)
            self.tree.expand(head)
            self.tree.setCurrentIndex(model.index(0, 0, head))

    def _show_note(self) -> None:
        note = self._viewmodel.note
        self._right.setVisible(note is not None)
        if note is None:
            return
        self.path.setText(note.path)
        self.reason.setText(note.reason)
        self.reason.setVisible(bool(note.reason))
        self.diff.show_text(note.diff)
        self.raw.show_text(note.raw)
        self.preview.setHtml(note.html)
        self.preview.setVisible(bool(note.html))
        self.views.setTabEnabled(1, bool(note.diff))
