"""The tab that says what became different: with which checkpoint, the changes, and one of them in full."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QSplitter,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.i18n import tr
from gm_desktop.models.change_table import AFTER, BEFORE, KIND, WHERE
from gm_desktop.plain_text import as_lines
from gm_desktop.theme import SPACE, Theme
from gm_desktop.viewmodels.checkpoint_compare import (
    CheckpointCompare,
    Compared,
    CompareFailed,
    Comparing,
)
from gm_desktop.widgets.basics import EmptyState, row, text_label
from gm_desktop.widgets.fact_delegate import ROW_HEIGHT, FactDelegate
from gm_desktop.widgets.line_view import LINE_INDENT
from gm_desktop.widgets.text_panes import TextPane


class ChangesPanel(QWidget):
    """A table of changes over the two values of the selected one."""

    def __init__(self, viewmodel: CheckpointCompare, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_choices()
        self._show_state()

    def _make_widgets(self) -> None:
        self.base = QComboBox()
        self.base.setAccessibleName(tr("Compared with"))
        self.base.setMinimumContentsLength(26)
        self.base.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.summary = text_label("", "muted")
        self.table = QTableView()
        self.table.setModel(self._viewmodel.table)
        self.table.setItemDelegate(FactDelegate(self._theme, self.table))
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.table.setShowGrid(False)
        self.table.setWordWrap(False)
        self.table.setTabKeyNavigation(False)
        self.table.setAccessibleName(tr("Changes"))
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.table.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(KIND, QHeaderView.ResizeMode.Fixed)
        header.resizeSection(KIND, 104)
        for column in (WHERE, BEFORE, AFTER):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        self.note = EmptyState(self._theme, "git-compare", "")
        self.where = text_label("", "strong")
        self.before, self.after = TextPane(self._theme), TextPane(self._theme)
        self.before.setAccessibleName(tr("Value before"))
        self.after.setAccessibleName(tr("Value after"))

    def _lay_out(self) -> None:
        self.details = QWidget()
        column = QVBoxLayout(self.details)
        column.setContentsMargins(LINE_INDENT, 10, 0, 0)
        column.setSpacing(SPACE)
        column.addWidget(self.where)
        panes = QHBoxLayout()
        panes.setSpacing(2 * SPACE)
        for title, pane in ((tr("Before"), self.before), (tr("After"), self.after)):
            side = QVBoxLayout()
            side.setSpacing(4)
            side.addWidget(text_label(title, "section"))
            well = QFrame()
            well.setProperty("kind", "well")
            inner = QVBoxLayout(well)
            inner.setContentsMargins(10, 8, 6, 8)
            inner.addWidget(pane)
            side.addWidget(well, 1)
            panes.addLayout(side, 1)
        column.addLayout(panes, 1)
        self.details.hide()
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(self.table)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(1)
        split.addWidget(self._stack)
        split.addWidget(self.details)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        split.setSizes([340, 220])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 12, 0, 0)
        layout.setSpacing(10)
        compared = text_label(tr("Compared with"), "muted")
        layout.addLayout(row(compared, self.base, 1, self.summary, margins=(LINE_INDENT, 0, 0, 0)))
        layout.addWidget(split, 1)

    def _wire(self) -> None:
        model = self._viewmodel
        model.choices_changed.connect(self._show_choices)
        model.changed.connect(self._show_state)
        model.details_changed.connect(self._show_details)
        self.base.activated.connect(lambda _at: model.set_base(str(self.base.currentData())))
        self.table.selectionModel().currentRowChanged.connect(lambda now, _was: model.explain(now.row()))

    def focus(self) -> None:
        """Work begins in the table, with its first change in full."""
        self.table.setFocus()
        self._select_first()

    def _select_first(self) -> None:
        if self.table.model().rowCount() and not self.table.selectionModel().hasSelection():
            self.table.selectRow(0)
            self._viewmodel.explain(0)  # taking the focus may have made it the current row before

    def _show_choices(self) -> None:
        with QSignalBlocker(self.base):
            shown = [(self.base.itemData(at), self.base.itemText(at)) for at in range(self.base.count())]
            if shown != list(self._viewmodel.choices):
                self.base.clear()
                for checkpoint_id, title in self._viewmodel.choices:
                    self.base.addItem(title, checkpoint_id)
            self.base.setCurrentIndex(self.base.findData(self._viewmodel.base_id))
        self.base.setPlaceholderText(tr("Choose a checkpoint"))
        self.base.setEnabled(bool(self._viewmodel.choices))

    def _show_state(self) -> None:
        state = self._viewmodel.state
        is_full = isinstance(state, Compared) and state.count > 0
        self.summary.setText(state.summary if isinstance(state, Compared) and state.count else "")
        if isinstance(state, Comparing):
            self.note.say("clock", tr("Comparing…"))
        elif isinstance(state, CompareFailed):
            self.note.say("triangle-alert", tr("These two can't be compared"), state.message)
        elif isinstance(state, Compared):
            self.note.say("circle-check", tr("Nothing differs"), tr("State, messages and metadata are the same."))
        else:
            hint = (
                tr("Choose one of another agent above.") if state.can_choose else tr("It is the only one in the store.")
            )
            self.note.say("git-compare", tr("This agent saved no other checkpoint"), hint)
        self._stack.setCurrentWidget(self.table if is_full else self.note)
        if is_full and self.isVisible():
            self._select_first()

    def _show_details(self) -> None:
        details = self._viewmodel.details
        self.details.setVisible(details is not None)
        if details is None:
            return
        self.where.setText(details.where)
        for pane, text, spans, ground, ink in (
            (self.before, details.before, details.removed, "diff_removed", "diff_removed_text"),
            (self.after, details.after, details.added, "diff_added", "diff_added_text"),
        ):
            shown = as_lines(text)
            pane.setFont(self._theme.font("body" if details.is_text else "mono"))
            pane.show_text(shown)
            pane.tint(spans if len(shown) == len(text) else (), ground=ground, ink=ink)
            pane.setPlaceholderText(tr("Not there"))
