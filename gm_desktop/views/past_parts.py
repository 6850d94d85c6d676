"""Parts of the Past page: the read-only table, one fact as it was, the chips, the dialog that asks for a moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from PySide6.QtCore import QDateTime, QItemSelectionModel, QLocale, QPoint, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDateTimeEdit,
    QDialog,
    QHeaderView,
    QLineEdit,
    QScrollArea,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.formatting import local_time, number
from gm_desktop.i18n import spoken, tr
from gm_desktop.models.paged_table import ID_ROLE
from gm_desktop.theme import MARGIN, SPACE, Theme, font
from gm_desktop.viewmodels.past import QUICK, PastViewModel
from gm_desktop.viewmodels.past_words import LISTS, PastDetails, shown_title
from gm_desktop.widgets.basics import EmptyState, push_button, row, text_label
from gm_desktop.widgets.fact_delegate import CELL_PADDING, ROW_HEIGHT, FactDelegate, agent_width
from gm_desktop.widgets.flow_layout import FlowLayout
from gm_desktop.widgets.line_view import LINE_INDENT, LineView
from gm_desktop.widgets.name_values import NameValues
from gm_desktop.widgets.pills import Pill, pill_width
from gm_desktop.widgets.text_panes import LongText

TEXT, PINNED, AGENT, CONFIDENCE, WRITTEN, SINCE = range(6)
_WIDTHS = {AGENT: 120, CONFIDENCE: 116}
_MONTHS_NS = tuple(
    int(datetime(2024, month, 28, 20, 48, tzinfo=UTC).timestamp()) * 1_000_000_000 for month in range(1, 13)
)
_GIVES_WAY = (WRITTEN, AGENT, CONFIDENCE)
_TEXT_NEEDS = 260
_EDGE = 20


def column_widths() -> dict[int, int]:
    """Pixels of each column but the text's: times and pills have room in the language of the window."""
    body, small = QFontMetrics(font("body")), QFontMetrics(font("small"))
    time = max(body.horizontalAdvance(local_time(each)) for each in _MONTHS_NS)
    pill = max(pill_width(shown_title(each), small) for each in LISTS[2:])
    edges = 2 * CELL_PADDING + 4
    return {**_WIDTHS, WRITTEN: time + edges, SINCE: pill + edges}


class PastTable(QTableView):
    """The facts of a moment: to be read, one at a time. `menu_wanted` says where."""

    menu_wanted = Signal(QPoint)

    def __init__(self, viewmodel: PastViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._table = viewmodel, viewmodel.table
        self._is_syncing = False
        self.setModel(self._table)
        self.setItemDelegate(FactDelegate(theme, self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setAccessibleName(tr("Facts as they were"))
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        header = self.horizontalHeader()
        header.setSelectionModel(QItemSelectionModel(self._table, header))  # see the table of the Memory page
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(TEXT, QHeaderView.ResizeMode.Stretch)
        self._widths = column_widths()
        for column, width in self._widths.items():
            header.resizeSection(column, width)
        self.setColumnHidden(PINNED, True)  # a pin stands at the end of its fact's text
        header.setSortIndicator(WRITTEN, Qt.SortOrder.DescendingOrder)
        self.setSortingEnabled(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(lambda at: self.menu_wanted.emit(self.viewport().mapToGlobal(at)))
        self.selectionModel().currentRowChanged.connect(self._on_current)
        self._table.about_to_change.connect(self._on_about_to_change)
        self._table.changed.connect(self._show_selected)
        viewmodel.state_changed.connect(self._fit_columns)
        viewmodel.filter_changed.connect(self._fit_columns)

    def _on_about_to_change(self) -> None:
        self._is_syncing = True  # where the selected row goes, Qt takes its neighbour; nobody chose that

    def _on_current(self) -> None:
        index = self.currentIndex()
        fact_id = index.data(ID_ROLE)
        if isinstance(fact_id, str) and not self._is_syncing:
            self._viewmodel.select(fact_id)
            if not self.selectionModel().isRowSelected(index.row()):
                self.selectRow(index.row())  # the focus alone makes the first row current, without selecting it

    def _show_selected(self) -> None:
        """Keeps the selected fact current when the list is another one; nothing is, where it is not in it."""
        at = self._table.row_of(self._viewmodel.selected) if self._viewmodel.selected else None
        if at is None:
            self.selectionModel().clear()
        elif self.currentIndex().row() != at:
            self.setCurrentIndex(self._table.index(at, TEXT))
        self._is_syncing = False

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Columns give way to the text."""
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        self.horizontalHeader().resizeSection(AGENT, agent_width(self.viewport().width()))
        shown, room = set(self._widths), self.viewport().width() - _TEXT_NEEDS
        if not self._viewmodel.has_differences:
            shown.discard(SINCE)
        for column in _GIVES_WAY:
            if sum(self._widths[each] for each in shown) <= room:
                break
            shown.discard(column)
        for column in self._widths:
            self.setColumnHidden(column, column not in shown)


class PastChips(QWidget):
    """Which facts are listed: those there were, and what became different since, counted. `find` stands before them."""

    def __init__(self, viewmodel: PastViewModel, find: QLineEdit) -> None:
        super().__init__()
        self._viewmodel = viewmodel
        self.chips = {each: push_button(shown_title(each), "chip") for each in LISTS}
        layout = FlowLayout(self, margins=(LINE_INDENT, 12, MARGIN, 12), gap=SPACE)
        layout.addWidget(find)
        for shown, chip in self.chips.items():
            layout.addWidget(chip)
            chip.clicked.connect(
                lambda _on=False, shown=shown: viewmodel.set_filter(replace(viewmodel.filter, shown=shown))
            )
        viewmodel.filter_changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        counts, wanted = self._viewmodel.counts, self._viewmodel.filter.shown
        for shown, chip in self.chips.items():
            count = (counts or {}).get(shown, 0)
            is_plain = shown in ("then", "then_retired")
            chip.setVisible(is_plain or count > 0 or shown == wanted)
            title = shown_title(shown)
            chip.setText(title if is_plain else f"{title}  {number(count)}")
            chip.setChecked(shown == wanted)


class PastInspector(QWidget):
    """One fact as it was, and what happened to it since."""

    now_wanted = Signal()

    def __init__(self, viewmodel: PastViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumWidth(280)
        self.pills = [Pill(theme) for _ in range(3)]
        self.text = LongText(theme)
        self.text.pane.setAccessibleName(tr("Text of the fact"))
        self.facts = NameValues()
        self.since = LineView(viewmodel.since, theme, tr("What happened since"), grows=True)
        self.unchanged = text_label(tr("It is the same now."), "muted")
        self.now = push_button(tr("Open it as it is now"), "", self.now_wanted.emit)
        self.note = EmptyState(theme, "history", "", text_width=220)
        self._lay_out()
        viewmodel.details_changed.connect(self._show)
        viewmodel.state_changed.connect(self._show)
        self._show()

    def _lay_out(self) -> None:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(_EDGE - LINE_INDENT, 20, _EDGE - LINE_INDENT, 20)
        column.setSpacing(12)
        inset = QVBoxLayout()  # the texts of what happened since stand in line with these
        inset.setContentsMargins(LINE_INDENT, 0, LINE_INDENT, 0)
        inset.setSpacing(12)
        inset.addLayout(row(*self.pills, 1, spacing=6))
        inset.addWidget(self.text)
        inset.addLayout(row(self.now, 1))
        inset.addSpacing(SPACE)
        self._then = text_label("", "section")
        inset.addWidget(self._then)
        inset.addWidget(self.facts)
        inset.addSpacing(SPACE)
        inset.addWidget(text_label(tr("What happened since"), "section"))
        inset.addWidget(self.unchanged)
        column.addLayout(inset)
        column.addWidget(self.since)
        column.addStretch(1)
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setWidget(body)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(self._area)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)

    def _show(self) -> None:
        fact = self._viewmodel.details
        if fact is None:
            hint = tr("Choose a fact to see it as it was, and what happened to it since.")
            self.note.say("history", tr("No fact selected"), hint if self._viewmodel.moment is not None else "")
            self._stack.setCurrentWidget(self.note)
            return
        self._show_fact(fact)
        self._stack.setCurrentWidget(self._area)

    def _show_fact(self, fact: PastDetails) -> None:
        if (self.text.property("fact"), self.text.text) != (fact.id, fact.text):
            self.text.setProperty("fact", fact.id)
            self.text.show_text(fact.text)
        confidence, status, pinned = self.pills
        confidence.show_text(fact.confidence_title, fact.confidence)
        status.show_text("" if fact.status == "live" else fact.status_title, fact.status)
        pinned.show_text(tr("Pinned") if fact.is_pinned else "", "accent")
        self._then.setText(tr("As it was") if fact.was_there else tr("As it is now"))
        self.facts.show_rows(fact.facts)
        self.since.setVisible(bool(fact.since))
        self.unchanged.setVisible(not fact.since)
        self.now.setVisible(fact.is_there_now)


class PastDialog(QDialog):
    """Asks for a moment: emits `quick_chosen(key)` or `time_chosen(nanoseconds UTC)`."""

    quick_chosen = Signal(str)
    time_chosen = Signal(object)

    def __init__(self, now_ns: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Show the store as it was"))
        self.setModal(True)
        self.setMinimumWidth(400)
        now = QDateTime.fromMSecsSinceEpoch(now_ns // 1_000_000)
        self.field = QDateTimeEdit(now.addDays(-1))
        self.field.setLocale(QLocale(spoken()))
        self.field.setDisplayFormat("d MMM yyyy, HH:mm")
        self.field.setCalendarPopup(True)
        self.field.setMaximumDateTime(now)
        self.field.setAccessibleName(tr("Date and time"))
        self.quick = {key: push_button(tr(title), "") for key, title in QUICK}
        self.go = push_button(tr("Show it"), "primary", self._on_go)
        self.go.setDefault(True)
        self._lay_out(tuple(self.quick.values()))
        for key, button in self.quick.items():
            button.clicked.connect(lambda _on=False, key=key: self._on_quick(key))
        next(iter(self.quick.values())).setFocus()

    def _lay_out(self, quick: Sequence[QWidget]) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN, 20)
        layout.setSpacing(SPACE)
        layout.addWidget(text_label(tr("Show the store as it was"), "heading"))
        note = tr("To be read only: looking changes nothing, and you come back to now with Escape.")
        layout.addWidget(text_label(note, "small", wrap=True))
        layout.addSpacing(6)
        for button in quick:
            layout.addWidget(button)
        layout.addSpacing(6)
        layout.addWidget(text_label(tr("Or at a time of your choice"), "section"))
        layout.addWidget(self.field)
        layout.addSpacing(10)
        layout.addLayout(row(1, push_button(tr("Cancel"), "", self.reject), self.go))

    def _on_quick(self, key: str) -> None:
        self.quick_chosen.emit(key)
        self.accept()

    def _on_go(self) -> None:
        self.time_chosen.emit(self.field.dateTime().toMSecsSinceEpoch() * 1_000_000)
        self.accept()
