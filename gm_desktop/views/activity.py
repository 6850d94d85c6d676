"""The Activity page: who wrote, what happened and when, as it happens."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QItemSelectionModel, QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QListView, QMenu, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.activity import ActivityViewModel
from gm_desktop.viewmodels.activity_details import ActionDetails
from gm_desktop.viewmodels.activity_filter import ActivityFilter
from gm_desktop.viewmodels.clients import ClientsViewModel
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.views.activity_filters import ActivityFilters
from gm_desktop.views.activity_inspector import ActivityInspector
from gm_desktop.views.clients import ClientsPanel
from gm_desktop.views.made_actions import fill_menu
from gm_desktop.widgets.activity_delegate import ActivityDelegate
from gm_desktop.widgets.basics import EmptyState, PageHeader, document_tabs, push_button, rule
from gm_desktop.widgets.keys import begin_when_clicked, keep_keys
from gm_desktop.widgets.line_view import LineView

SIDE_WIDTH = (160, 224)  # least and most


class ActivityPage(Page):
    """Programs on the left, the journal in the middle, one action in the inspector.

    `fact_wanted(id)` and `checkpoint_wanted(id)` open what an action changed, `moment_wanted(seq)` the store before it.
    """

    page_id = "activity"
    fact_wanted = Signal(str)
    checkpoint_wanted = Signal(str)
    moment_wanted = Signal(int)

    def __init__(self, viewmodel: ActivityViewModel, clients: ClientsViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self.clients = ClientsPanel(clients, theme)
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()

    def _make_widgets(self) -> None:
        model = self._viewmodel
        self.header = PageHeader(tr("Activity"), tr("What was written, by whom, as it happens"))
        self.filters = ActivityFilters(model)
        self.writers = LineView(model.writers, self._theme, tr("Programs"), are_names=True)
        self.list = QListView()
        self.list.setModel(model.lines)
        self.list.setItemDelegate(ActivityDelegate(self._theme, self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setAccessibleName(tr("Actions, newest first"))
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.clear = push_button(tr("Clear filters"), "", self._clear)
        self.retry = push_button(tr("Try again"), "", model.reload)
        self.note = EmptyState(self._theme, "activity", "", "", (self.clear, self.retry))
        self.panel = ActivityInspector(model, self._theme)

    def _lay_out(self) -> None:
        self.tabs = document_tabs()
        self.tabs.addTab(self._journal(), tr("Journal"))
        self.tabs.addTab(self.clients, tr("Clients"))
        self.tabs.tabBar().setContentsMargins(MARGIN, 0, 0, 0)
        keep_keys(self.tabs.tabBar())
        begin_when_clicked(self.tabs.tabBar(), self.activate)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        wrap = QVBoxLayout()
        wrap.setContentsMargins(MARGIN, 0, 0, 0)
        wrap.addWidget(self.tabs)
        layout.addLayout(wrap, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def _journal(self) -> QWidget:
        """Programs at the side, filters above the list."""
        side = QWidget()
        side.setMinimumWidth(SIDE_WIDTH[0])
        side.setMaximumWidth(SIDE_WIDTH[1])  # a small window takes from it, too
        column = QVBoxLayout(side)
        column.setContentsMargins(0, 12, 10, 10)
        column.setSpacing(8)
        column.addWidget(self.writers, 1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(self.list)
        middle = QVBoxLayout()
        middle.setContentsMargins(0, 10, 0, 0)
        middle.setSpacing(0)
        middle.addWidget(self.filters)
        middle.addWidget(rule())
        inset = QHBoxLayout()  # the icons stand under the filters
        inset.setContentsMargins(MARGIN - 12, 8, 8, 0)
        inset.addWidget(self._stack)
        middle.addLayout(inset, 1)
        journal = QWidget()
        layout = QHBoxLayout(journal)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(side, 1)
        layout.addWidget(rule(vertical=True))
        layout.addLayout(middle, 2)
        return journal

    def _wire(self) -> None:
        model = self._viewmodel
        model.state_changed.connect(self._show_state)
        model.selection_changed.connect(self._show_selection)
        model.filter_changed.connect(self._show_writer)
        model.lines.modelReset.connect(self._show_selection)
        model.lines.rowsInserted.connect(self._show_selection)
        model.writers.modelReset.connect(self._show_writer)
        self.list.selectionModel().currentChanged.connect(self._on_current)
        self.list.activated.connect(lambda _index: self._open_first())
        self.writers.chosen.connect(model.choose_writer)
        self.tabs.currentChanged.connect(lambda _at: self.inspector_changed.emit())
        self.list.customContextMenuRequested.connect(self._open_menu)
        self.panel.target_chosen.connect(self._open)
        self.panel.before_wanted.connect(self._show_before)
        self.clients.journal_wanted.connect(self._follow_client)

    # Page

    def inspector(self) -> QWidget:
        """One action, whole."""
        return self.panel

    def uses_inspector(self) -> bool:
        """Beside the programs there is no action to show."""
        return self.tabs.currentWidget() is not self.clients

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done to an action."""
        model = self._viewmodel
        return (
            ActionSpec("entry.undo", tr("Undo this action"), "undo", "U", lambda: model.can_undo, model.undo),
            ActionSpec(
                "entry.before",
                tr("Show the store as it was before this"),
                "history",
                "B",
                lambda: model.selected is not None,
                self._show_before,
                words="time travel past moment",
            ),
            ActionSpec("entry.open", tr("Open the fact"), "brain", "Ctrl+Return", self._has_fact, self._open_first),
            ActionSpec(
                "activity.clients",
                tr("Show the clients"),
                "users",
                when=self.isVisible,
                run=self.show_clients,
                words="mcp",
            ),
            *self.clients.specs(),
            ActionSpec("activity.clear", tr("Clear filters"), "filter", "", lambda: model.filter.narrows, self._clear),
        )

    def activate(self) -> None:
        """Work begins in the list."""
        if self.tabs.currentWidget() is self.clients:
            self.clients.focus_list()
        else:
            self.list.setFocus()

    def show_entry(self, seq: int) -> None:
        """Opens an action of the journal."""
        self.tabs.setCurrentIndex(0)
        self._viewmodel.reveal(seq)

    def show_clients(self) -> None:
        """Opens the tab of the programs."""
        self.tabs.setCurrentWidget(self.clients)
        self.clients.focus_list()

    def open_agent(self, agent_id: str) -> None:
        """Shows what touched one agent."""
        self._viewmodel.set_filter(ActivityFilter(agent_id=agent_id))

    def prepare_screenshot(self) -> None:
        """The newest action is selected already."""
        self.tabs.setCurrentIndex(0)
        self._viewmodel.reload()

    def screenshot_scenes(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        """The programs."""
        return (("clients", self.show_clients),)

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return not self._viewmodel.is_waiting

    def be_looked_at(self, is_looked_at: bool) -> None:
        """Programs that come and go are watched while the page shows."""
        self._viewmodel.watch(is_looked_at)

    # state

    def _show_state(self) -> None:
        state = self._viewmodel.state
        self.clear.setVisible(isinstance(state, Empty) and state.reason == "filter")
        self.retry.setVisible(isinstance(state, Failed))
        if isinstance(state, Empty):
            self.note.say("filter" if state.reason == "filter" else "activity", state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The journal can't be read"), state.message)
        elif not isinstance(state, Full):
            self.note.say("clock", tr("Reading the store…"))
        self._stack.setCurrentWidget(self.list if isinstance(state, Full) else self.note)
        self._show_selection()

    def _show_selection(self) -> None:
        at = self._viewmodel.lines.row_of(self._viewmodel.selected)
        if at is not None and not self.list.selectionModel().isRowSelected(at):
            flags = QItemSelectionModel.SelectionFlag
            index = self._viewmodel.lines.index(at)
            self.list.selectionModel().setCurrentIndex(index, flags.ClearAndSelect)

    def _show_writer(self) -> None:
        at = self._viewmodel.writers.row_of(self._viewmodel.filter.writer)
        if at is not None and not self.writers.selectionModel().isRowSelected(at):
            flags = QItemSelectionModel.SelectionFlag
            index = self._viewmodel.writers.index(at)
            self.writers.selectionModel().setCurrentIndex(index, flags.ClearAndSelect)

    def _on_current(self) -> None:
        at = self.list.currentIndex().row()
        if 0 <= at < len(self._viewmodel.lines.lines):
            self._viewmodel.select(self._viewmodel.lines.lines[at].seq)

    # deeds

    def _show_before(self) -> None:
        if self._viewmodel.selected is not None:
            self.moment_wanted.emit(self._viewmodel.selected)

    def _open_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_menu(menu, self, "entry.undo | entry.before entry.open")
        menu.popup(self.list.viewport().mapToGlobal(at))

    def _follow_client(self, name: str) -> None:
        self.tabs.setCurrentIndex(0)
        self._viewmodel.follow_client(name)
        self.list.setFocus()

    def _clear(self) -> None:
        self._viewmodel.set_filter(ActivityFilter())

    def _has_fact(self) -> bool:
        state = self._viewmodel.details.state
        return isinstance(state, ActionDetails) and state.fact_id is not None

    def _open_first(self) -> None:
        state = self._viewmodel.details.state
        if isinstance(state, ActionDetails) and state.fact_id is not None:
            self.fact_wanted.emit(state.fact_id)

    def _open(self, kind: str, target: str) -> None:
        if kind == "fact":
            self.fact_wanted.emit(target)
        elif kind == "checkpoint":
            self.checkpoint_wanted.emit(target)
