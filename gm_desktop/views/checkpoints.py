"""The Checkpoints page: what agents saved, newest first; state, conversation and metadata of one of them."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QListView,
    QScrollArea,
    QStackedWidget,
    QTabWidget,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.formatting import number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.agent_list import AGENT_ROLE
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.checkpoints import (
    CheckpointDetails,
    CheckpointsViewModel,
    CheckpointUnread,
    DamagedCheckpoint,
)
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.widgets.basics import EmptyState, PageHeader, push_button, row, rule, text_label
from gm_desktop.widgets.conversation import Conversation
from gm_desktop.widgets.name_values import NameValues
from gm_desktop.widgets.side_delegates import CheckpointDelegate
from gm_desktop.widgets.state_delegate import StateDelegate

LIST_WIDTH = 268


class CheckpointsPage(Page):
    """A list on the left, one checkpoint on the right."""

    page_id = "checkpoints"
    title = "Checkpoints"
    icon_name = "bookmark"

    def __init__(self, viewmodel: CheckpointsViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()
        self._show_details()

    def _make_widgets(self) -> None:
        self.header = PageHeader(tr("Checkpoints"), tr("What agents saved to resume from"))
        self.agent = QComboBox()
        self.agent.setModel(self._viewmodel.agents)
        self.agent.setAccessibleName(tr("Agent"))
        self.list = QListView()
        self.list.setModel(self._viewmodel.checkpoints)
        self.list.setItemDelegate(CheckpointDelegate(self._theme, self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setAccessibleName(tr("Checkpoints"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.tree = QTreeView()
        self.tree.setModel(self._viewmodel.tree)
        self.tree.setItemDelegate(StateDelegate(self._theme, self.tree))
        self.tree.setUniformRowHeights(True)
        self.tree.setFrameShape(QFrame.Shape.NoFrame)
        self.tree.setAccessibleName(tr("State"))
        self.tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        self.tree.header().setStretchLastSection(True)
        self.tree.header().resizeSection(0, 240)
        self.conversation = Conversation(self._theme)
        self.metadata = NameValues()
        self._silent = EmptyState(
            self._theme, "messages-square", tr("No messages"), tr("This checkpoint holds state only.")
        )
        self._stateless = EmptyState(self._theme, "braces", tr("No state"), tr("This checkpoint holds messages only."))
        self._title, self._age = text_label("", "heading"), text_label("", "small")
        self.retry = push_button(tr("Try again"), "", self._viewmodel.reload)
        self.note = EmptyState(self._theme, "bookmark", "", "", (self.retry,))
        self.trouble = EmptyState(self._theme, "triangle-alert", "")

    def _lay_out(self) -> None:
        side = QWidget()
        side.setFixedWidth(LIST_WIDTH)
        column = QVBoxLayout(side)
        column.setContentsMargins(MARGIN - 12, 0, 12, 12)
        column.setSpacing(10)
        column.addLayout(row(self.agent, margins=(12, 0, 0, 0)))
        column.addWidget(self.list, 1)
        self._tabs = QTabWidget()
        self._tabs.setDocumentMode(True)
        self._tabs.addTab(self._state_tab(), tr("State"))
        self._tabs.addTab(self._messages_tab(), tr("Conversation"))
        self._tabs.addTab(self._metadata_tab(), tr("Metadata"))
        shown = QWidget()
        inner = QVBoxLayout(shown)
        inner.setContentsMargins(MARGIN, 0, MARGIN, 12)
        inner.setSpacing(2)
        for widget in (self._title, self._age):
            inner.addWidget(widget)
        inner.addSpacing(8)
        inner.addWidget(self._tabs, 1)
        self._right = QStackedWidget()
        for page in (self.trouble, shown):
            self._right.addWidget(page)
        self._shown = shown
        both = QWidget()
        line = QHBoxLayout(both)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(0)
        line.addWidget(side)
        line.addWidget(rule(vertical=True))
        line.addWidget(self._right, 1)
        self._both = both
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(both)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addWidget(self._stack, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def _state_tab(self) -> QWidget:
        self._state_stack = QStackedWidget()
        self._state_stack.addWidget(self.tree)
        self._state_stack.addWidget(self._stateless)
        return self._state_stack

    def _messages_tab(self) -> QWidget:
        self._messages_stack = QStackedWidget()
        page = QWidget()
        inner = QVBoxLayout(page)
        inner.setContentsMargins(0, 12, 0, 0)
        inner.addWidget(self.conversation)
        self._messages_stack.addWidget(page)
        self._messages_stack.addWidget(self._silent)
        return self._messages_stack

    def _metadata_tab(self) -> QWidget:
        body = QWidget()
        inner = QVBoxLayout(body)
        inner.setContentsMargins(0, 14, 0, 0)
        inner.addWidget(self.metadata)
        inner.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(body)
        return area

    def _wire(self) -> None:
        model = self._viewmodel
        model.state_changed.connect(self._show_state)
        model.details_changed.connect(self._show_details)
        model.agent_changed.connect(self._show_agent)
        model.agents.modelReset.connect(self._show_agent)
        self.agent.activated.connect(lambda _at: model.set_agent(self.agent.currentData(AGENT_ROLE)))
        self.list.selectionModel().currentChanged.connect(self._on_current)

    # Page

    def activate(self) -> None:
        """Work begins in the list."""
        self.list.setFocus()

    def save_state(self) -> dict[str, str]:
        """The tab."""
        return {"tab": str(self._tabs.currentIndex())}

    def restore_state(self, state: dict[str, str]) -> None:
        """Takes the tab back."""
        if state.get("tab", "").isdecimal():
            self._tabs.setCurrentIndex(int(state["tab"]))

    def prepare_screenshot(self) -> None:
        """Opens the state a little."""
        self.tree.expandToDepth(0)

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return not self._viewmodel.is_waiting

    # state

    def _show_state(self) -> None:
        state = self._viewmodel.state
        self.retry.setVisible(isinstance(state, Failed))
        if isinstance(state, Empty):
            self.note.say("bookmark", state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The checkpoints can't be read"), state.message)
        elif not isinstance(state, Full):
            self.note.say("clock", tr("Reading the store…"))
        self._stack.setCurrentWidget(self._both if isinstance(state, Full) else self.note)
        self._show_agent()
        self._show_selection()

    def _show_agent(self) -> None:
        at = self._viewmodel.agents.row_of(self._viewmodel.agent_id)
        if at is not None:
            with QSignalBlocker(self.agent):
                self.agent.setCurrentIndex(at)

    def _show_selection(self) -> None:
        chosen = self._viewmodel.selected_id
        at = self._viewmodel.checkpoints.row_of(chosen) if chosen else None
        if at is not None and self.list.currentIndex().row() != at:
            flags = QItemSelectionModel.SelectionFlag
            index = self._viewmodel.checkpoints.index(at)
            self.list.selectionModel().setCurrentIndex(index, flags.ClearAndSelect)

    def _on_current(self) -> None:
        at = self.list.currentIndex().row()
        if at >= 0:
            self._viewmodel.select(self._viewmodel.checkpoints.lines[at].id)

    def _show_details(self) -> None:
        details = self._viewmodel.details
        if isinstance(details, CheckpointDetails):
            self._show_checkpoint(details)
            self._right.setCurrentWidget(self._shown)
        else:
            if isinstance(details, DamagedCheckpoint):
                self.trouble.say("triangle-alert", tr("This checkpoint is damaged"), details.reason)
            elif isinstance(details, CheckpointUnread):
                self.trouble.say("circle-alert", tr("This checkpoint can't be read"), details.message)
            else:
                self.trouble.say("bookmark", tr("No checkpoint selected"))
            self._right.setCurrentWidget(self.trouble)
        self._show_selection()

    def _show_checkpoint(self, details: CheckpointDetails) -> None:
        self._title.setText(details.agent)
        messages = tr_count("{count} message", "{count} messages", len(details.messages))
        keys = tr_count("{count} key of state", "{count} keys of state", details.state_keys)
        self._age.setText(f"{details.when}  ·  {keys}  ·  {messages}")
        self._age.setToolTip(details.when_utc)
        self._tabs.setTabText(1, tr("Conversation ({count})", count=number(len(details.messages))))
        self.conversation.show_messages(details.messages)
        self._messages_stack.setCurrentIndex(0 if details.messages else 1)
        self._state_stack.setCurrentIndex(0 if details.state_keys else 1)
        self.metadata.show_rows(details.metadata)
