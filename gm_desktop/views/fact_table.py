"""The fact table in a person's hands: selection by ids, place kept as facts come and go, columns that give way."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QItemSelectionRange,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QSignalBlocker,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView

from gm_desktop.i18n import tr
from gm_desktop.models.paged_table import ID_ROLE, PagedTable
from gm_desktop.theme import Theme
from gm_desktop.viewmodels.memory import MemoryViewModel
from gm_desktop.widgets.fact_delegate import ROW_HEIGHT, FactDelegate, agent_width
from gm_desktop.widgets.fact_drag import drag_facts

TEXT, PINNED, AGENT, CONFIDENCE, WEIGHT, AGE, USES, ORIGIN, STATUS = range(9)
_WIDTHS = {PINNED: 34, AGENT: 112, CONFIDENCE: 116, WEIGHT: 98, AGE: 63, USES: 60, ORIGIN: 112, STATUS: 94}
_GIVES_WAY = (ORIGIN, WEIGHT, USES, AGENT, STATUS, AGE, CONFIDENCE)
_TEXT_NEEDS = 270
MOST_SPANS = 500  # Qt needs quadratic time for a selection in pieces
_SPANS_AROUND = 50  # rows beyond what is seen whose selection the view knows, too
_STEPS = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home)
_PLAIN = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
_KEYS = ("text", "pinned", "agent", "confidence", "weight", "created", "uses", "origin", "status")


class FactTable(QTableView):
    """Shows a `PagedTable`; the selection's truth is the view-model's set of ids."""

    menu_wanted = Signal(QPoint)

    def __init__(self, viewmodel: MemoryViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._table: PagedTable = viewmodel.table
        self._forced: dict[int, bool] = {}
        self._spans: list[tuple[int, int]] = []  # of a selection in very many pieces: the view knows those in sight
        self._clears = True
        self._anchor: tuple[str, int] | None = None
        self._current_id: str | None = None
        self._is_syncing = False
        self._lost_rows = False
        self._is_other_list = False
        self._set_up(theme)
        self._wire()
        self._fit_columns()

    def _set_up(self, theme: Theme) -> None:
        self.setModel(self._table)
        self.setItemDelegate(FactDelegate(theme, self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setAccessibleName(tr("Facts"))
        self.setDragEnabled(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        header = self.horizontalHeader()
        # with the table's own, painting the header asks every row whether a whole column is selected
        header.setSelectionModel(QItemSelectionModel(self._table, header))
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(TEXT, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(32)
        for column, width in _WIDTHS.items():
            header.resizeSection(column, width)
        self.show_order()
        self.setSortingEnabled(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)

    def _wire(self) -> None:
        self._table.about_to_change.connect(self._keep_place)
        self._table.changed.connect(self._return_to_place)
        self._table.modelReset.connect(self._on_rows_gone)
        self._table.rowsRemoved.connect(self._on_rows_gone)
        self.selectionModel().selectionChanged.connect(self._on_selected)
        self.selectionModel().currentRowChanged.connect(self._on_current)
        self._viewmodel.selection_changed.connect(self._show_selection)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._viewmodel.filter_changed.connect(self._fit_columns)
        self._viewmodel.filter_changed.connect(self._begin_at_top)
        self.customContextMenuRequested.connect(lambda at: self.menu_wanted.emit(self.viewport().mapToGlobal(at)))
        self.horizontalHeader().customContextMenuRequested.connect(self._open_column_menu)

    def show_order(self) -> None:
        """Shows the view-model's order in the header without asking for it again."""
        key, descending = self._viewmodel.sort
        order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
        with QSignalBlocker(self.horizontalHeader()):
            self.horizontalHeader().setSortIndicator(_KEYS.index(key), order)

    # selection

    def selectionCommand(
        self, index: QModelIndex | QPersistentModelIndex, event: QEvent | None = None
    ) -> QItemSelectionModel.SelectionFlag:
        """Notes whether what the person does starts a new selection or adds to the present one."""
        command = super().selectionCommand(index, event)
        self._clears = bool(command & QItemSelectionModel.SelectionFlag.Clear)
        return command

    def _on_selected(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        if self._is_syncing:
            return
        if self._spans and not self._clears:
            gone, new = set(self._ids_of(deselected)), self._ids_of(selected)
            ids = [*(each for each in self._viewmodel.selected if each not in gone), *new]
        else:
            self._spans = []
            ids = self._ids_of(self.selectionModel().selection())
        self._is_syncing = True
        self._viewmodel.select(ids)
        self._is_syncing = False

    def _ids_of(self, selection: QItemSelection) -> list[str]:
        spans = [selection.at(at) for at in range(selection.size())]
        return [each for span in spans for each in self._table.ids[span.top() : span.bottom() + 1]]

    def _on_current(self) -> None:
        if not self._is_syncing:
            self._current_id = self.currentIndex().data(ID_ROLE)

    def _show_selection(self) -> None:
        """Makes the view agree with the set of ids."""
        if self._is_syncing:
            return
        self._is_syncing = True
        rows = self._table.rows_of(self._viewmodel.selected)
        spans = _spans_of(rows)
        self._spans = spans if len(spans) > MOST_SPANS else []
        self._select(self._spans_in_sight() if self._spans else spans)
        if len(rows) == 1 and self._table.id_at(rows[0]) != self._current_id:
            self._current_id = self._table.id_at(rows[0])
            self._set_current(rows[0])
            self.scrollTo(self._table.index(rows[0], TEXT), QAbstractItemView.ScrollHint.EnsureVisible)
        self._is_syncing = False

    def _select(self, spans: Iterable[tuple[int, int]]) -> None:
        selection = QItemSelection()
        for first, last in spans:
            selection.append(QItemSelectionRange(self._table.index(first, 0), self._table.index(last, STATUS)))
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().select(selection, flags.ClearAndSelect)

    def _spans_in_sight(self) -> list[tuple[int, int]]:
        first = self.verticalScrollBar().value() // ROW_HEIGHT - _SPANS_AROUND
        last = first + self.viewport().height() // ROW_HEIGHT + 2 * _SPANS_AROUND
        begin = bisect_left(self._spans, (max(0, first), -1))
        return self._spans[max(0, begin - 1) : bisect_left(self._spans, (last + 1, -1))]

    def _on_scrolled(self) -> None:
        """Of a selection in very many pieces, the view is told those that came into sight."""
        self._is_other_list = False
        if self._spans and not self._is_syncing:
            self._is_syncing = True
            self._select(self._spans_in_sight())
            self._is_syncing = False

    def _set_current(self, row: int) -> None:
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(self._table.index(row, TEXT), flags.NoUpdate)

    def startDrag(self, _actions: Qt.DropAction) -> None:
        """Drags the selection, however large: the ids stay in the view-model."""
        drag_facts(self, self._viewmodel.selected, self._theme, may_move=True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Where nothing is selected, the first arrow selects the fact that has the focus; it doesn't step over it."""
        at = 0 if event.key() == Qt.Key.Key_Home else self.currentIndex().row()
        is_step = event.key() in _STEPS and event.modifiers() in _PLAIN
        if is_step and not self._viewmodel.selected and 0 <= at < len(self._table.ids):
            self.selectRow(at)
            self.scrollTo(self.currentIndex())  # it may have been current before, out of sight
        else:
            super().keyPressEvent(event)

    # keeping one's place

    def _begin_at_top(self) -> None:
        """Another list is read from its beginning, or from the selected fact where that is in it."""
        self.scrollToTop()
        self._is_other_list = True

    def _keep_place(self) -> None:
        self._is_syncing = True
        self.setAutoScroll(False)  # the fact that has the focus may be far away from what is seen
        offset = self.verticalScrollBar().value()
        row = offset // ROW_HEIGHT
        at_top = offset == 0 or row >= len(self._table.ids)
        self._anchor = None if at_top else (self._table.id_at(row), offset % ROW_HEIGHT)

    def _on_rows_gone(self) -> None:
        self._lost_rows = True

    def _return_to_place(self) -> None:
        is_other_list, self._is_other_list = self._is_other_list, False
        if self._anchor is not None or is_other_list:
            self.updateGeometries()
        if self._anchor is not None:
            row = self._table.row_of(self._anchor[0])
            if row is not None:
                self.verticalScrollBar().setValue(row * ROW_HEIGHT + self._anchor[1])
        current = self._table.row_of(self._current_id) if self._current_id else None
        if current is not None:
            self._set_current(current)
        elif is_other_list:
            self.selectionModel().clearCurrentIndex()  # where its row went, Qt took a neighbour
        self.setAutoScroll(True)
        self._is_syncing = False
        if self._lost_rows or self._spans:  # those that only come keep the view's selection; a lost one may be back
            self._lost_rows = False
            self._show_selection()
        if is_other_list and current is not None and self._current_id in self._viewmodel.selected:
            self.scrollTo(self._table.index(current, TEXT), QAbstractItemView.ScrollHint.EnsureVisible)

    # columns

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Columns give way to the text."""
        super().resizeEvent(event)
        self.horizontalHeader().resizeSection(AGENT, agent_width(self.viewport().width()))
        self._fit_columns()

    def _fit_columns(self) -> None:
        shown = set(_WIDTHS) - {PINNED}  # a pin stands at the end of its fact's text
        if self._viewmodel.filter.agent_id is not None:
            shown.discard(AGENT)
        if self._viewmodel.filter.status == "live":
            shown.discard(STATUS)
        room = self.viewport().width() - _TEXT_NEEDS
        for column in _GIVES_WAY:
            if sum(_WIDTHS[each] for each in shown) <= room:
                break
            shown.discard(column)
        for column in _WIDTHS:
            self.setColumnHidden(column, not self._forced.get(column, column in shown))

    def _open_column_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for column in _WIDTHS:
            title = str(self._table.headerData(column, Qt.Orientation.Horizontal) or tr("Pinned"))
            action = menu.addAction(title)
            action.setCheckable(True)
            action.setChecked(not self.isColumnHidden(column))
            action.toggled.connect(lambda is_on, column=column: self._force(column, is_on=is_on))
        menu.addSeparator()
        menu.addAction(tr("Choose by width")).triggered.connect(self._forget_forced)
        menu.popup(self.horizontalHeader().mapToGlobal(at))

    def _force(self, column: int, *, is_on: bool) -> None:
        self._forced[column] = is_on
        self._fit_columns()

    def _forget_forced(self) -> None:
        self._forced.clear()
        self._fit_columns()


def _spans_of(rows: Sequence[int]) -> list[tuple[int, int]]:
    """Sorted rows as (first, last) of each run."""
    starts = [row for before, row in zip([-2, *rows], rows, strict=False) if row != before + 1]
    ends = [row for row, after in zip(rows, [*rows[1:], -2], strict=False) if after != row + 1]
    return list(zip(starts, ends, strict=True))
