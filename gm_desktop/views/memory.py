"""The Memory page: namespaces, the fact table, filters, and the inspector of one fact."""

from __future__ import annotations

import json
from dataclasses import replace

from PySide6.QtCore import QItemSelectionModel, QPoint, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.formatting import number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.agent_list import AGENT_ROLE
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.fact_details import FactDetails
from gm_desktop.viewmodels.memory import MemoryViewModel
from gm_desktop.viewmodels.revision import RevisionViewModel
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading
from gm_desktop.views.fact_actions import FactActions
from gm_desktop.views.fact_inspector import FactInspector
from gm_desktop.views.fact_table import FactTable
from gm_desktop.views.filter_bar import FilterBar
from gm_desktop.views.revise_dialog import ReviseDialog
from gm_desktop.widgets.agent_view import AgentView
from gm_desktop.widgets.basics import EmptyState, PageHeader, push_button, rule, text_label
from gm_desktop.widgets.fact_delegate import CELL_PADDING

AGENTS_WIDTH, MOST_AGENTS_WIDTH = 188, 260


class MemoryPage(Page):
    """Arranges; what is shown and done is the view-models' business."""

    page_id = "memory"
    why_not_wanted = Signal(str)

    def __init__(self, viewmodel: MemoryViewModel, revision: RevisionViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._revision, self._theme = viewmodel, revision, theme
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()

    def _make_widgets(self) -> None:
        self._actions = FactActions(self._viewmodel, self._revision, self)
        self.agents = AgentView(self._viewmodel.agents, self._theme)
        self.add = push_button(tr("Add fact"), "primary", self._actions.add)
        self.header = PageHeader(tr("Memory"), "", (self.add,))
        self.filters = FilterBar(self._viewmodel, self._theme)
        self.table = FactTable(self._viewmodel, self._theme)
        self.empty_button = push_button(tr("Clear filters"), "", self._clear_filters)
        self.retry_button = push_button(tr("Try again"), "", self._viewmodel.reload)
        self.note = EmptyState(self._theme, "brain", "", "", (self.empty_button, self.retry_button))
        self._more = QMenu(self)
        self._more.aboutToShow.connect(self._fill_more)
        self.panel = FactInspector(self._viewmodel.details, self._theme, more=self._more)
        self.revise_dialog = ReviseDialog(self._revision, self._theme, self)

    def _lay_out(self) -> None:
        side = QWidget()
        side.setMinimumWidth(AGENTS_WIDTH)
        side.setMaximumWidth(MOST_AGENTS_WIDTH)
        column = QVBoxLayout(side)
        column.setContentsMargins(10, 20, 10, 10)
        column.setSpacing(8)
        title = text_label(tr("Agents"), "section")
        title.setContentsMargins(10, 6, 0, 0)
        column.addWidget(title)
        column.addWidget(self.agents, 1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(self.table)
        middle = QVBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.header)
        middle.addWidget(self.filters)
        middle.addWidget(rule())
        inset = QHBoxLayout()  # the first column's text stands under the page's title
        inset.setContentsMargins(MARGIN - CELL_PADDING, 0, 0, 0)
        inset.addWidget(self._stack)
        middle.addLayout(inset, 1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(side, 1)
        layout.addWidget(rule(vertical=True))
        layout.addLayout(middle, 5)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def _wire(self) -> None:
        model = self._viewmodel
        model.state_changed.connect(self._show_state)
        model.filter_changed.connect(self._show_agent)
        model.agents.modelReset.connect(self._show_agent)
        model.selection_changed.connect(self._show_counts)
        self.agents.selectionModel().currentChanged.connect(self._on_agent)
        self.agents.facts_dropped.connect(self._actions.drop_on)
        self.table.menu_wanted.connect(self._open_menu)
        self.table.activated.connect(lambda _index: self._actions.revise())
        self.panel.revise_wanted.connect(self._actions.revise)
        self.panel.pin_wanted.connect(self._actions.toggle_pin)
        self.panel.retire_wanted.connect(self._actions.retire)
        self.panel.restore_wanted.connect(self._actions.restore)
        self.panel.fact_wanted.connect(model.reveal)
        self._revision.saved.connect(self._on_saved)

    def open_agent(self, agent_id: str) -> None:
        """Shows one agent's facts."""
        self._viewmodel.set_filter(replace(self._viewmodel.filter, agent_id=agent_id))

    # Page

    def inspector(self) -> QWidget:
        """The fact, whole."""
        return self.panel

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done to facts."""
        return (
            *self._actions.specs(),
            ActionSpec("fact.find", tr("Find in facts"), "search", "Ctrl+F", run=self._focus_find),
            ActionSpec(
                "fact.why_not",
                tr("Why isn't it found?"),
                "circle-question-mark",
                "",
                lambda: len(self._viewmodel.selected) == 1,
                self._why_not,
                words="why not missing search explain",
            ),
            ActionSpec("filter.clear", tr("Clear filters"), "filter", "", self._narrows, self._clear_filters),
        )

    def activate(self) -> None:
        """Work begins in the table."""
        self.table.setFocus()

    def save_state(self) -> dict[str, str]:
        """Agent, filters and selection."""
        wanted = self._viewmodel.filter
        state = {"status": wanted.status, "text": wanted.text}
        if wanted.agent_id is not None:
            state["agent"] = wanted.agent_id
        if 0 < len(self._viewmodel.selected) <= 100:
            state["selected"] = json.dumps(sorted(self._viewmodel.selected))
        return state

    def restore_state(self, state: dict[str, str]) -> None:
        """Takes agent, filters and selection back."""
        status = state.get("status", "live")
        wanted = replace(self._viewmodel.filter, agent_id=state.get("agent"), text=state.get("text", ""))
        self._viewmodel.set_filter(wanted.with_status(status if status in self.filters.status_chips else "live"))
        try:
            selected = json.loads(state.get("selected", "[]"))
        except ValueError:
            selected = []
        if isinstance(selected, list):
            self._viewmodel.select(each for each in selected if isinstance(each, str))

    def landmark(self) -> QWidget:
        """The agents."""
        return self.agents

    def prepare_screenshot(self) -> None:
        """Selects the fact with the most to tell."""
        self._viewmodel.select_telling()

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return not self._viewmodel.is_waiting

    # state

    def _show_state(self) -> None:
        state = self._viewmodel.state
        self.empty_button.setVisible(isinstance(state, Empty) and state.reason == "filter")
        self.retry_button.setVisible(isinstance(state, Failed))
        if isinstance(state, Loading):
            self.note.say("clock", tr("Reading the store…"))
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The facts can't be read"), state.message)
        elif isinstance(state, Empty):
            self.note.say("filter" if state.reason == "filter" else "brain", state.title, state.hint)
        self._stack.setCurrentWidget(self.table if isinstance(state, Full) else self.note)
        self.add.setEnabled(self._viewmodel.verbs.can_write)
        self._show_agent()
        self._show_counts()

    def _show_counts(self) -> None:
        state = self._viewmodel.state
        count = state.count if isinstance(state, Full) else 0
        parts = [tr_count("{count} fact", "{count} facts", count)] if not isinstance(state, Loading) else []
        if len(self._viewmodel.selected) > 1:
            parts.append(tr("{count} selected", count=number(len(self._viewmodel.selected))))
        self.header.set_subtitle(" · ".join(parts) or " ")

    def _show_agent(self) -> None:
        row = self._viewmodel.agents.row_of(self._viewmodel.filter.agent_id)
        if row is not None and self.agents.currentIndex().row() != row:
            flags = QItemSelectionModel.SelectionFlag
            index = self._viewmodel.agents.index(row)
            self.agents.selectionModel().setCurrentIndex(index, flags.ClearAndSelect)

    def _on_agent(self) -> None:
        index = self.agents.currentIndex()
        if index.isValid():
            self._viewmodel.set_filter(replace(self._viewmodel.filter, agent_id=index.data(AGENT_ROLE)))

    # deeds

    def _on_saved(self, fact_id: str) -> None:
        if self.isVisible():  # a revision made on another page leaves this one's filters alone
            self._viewmodel.reveal(fact_id)

    def _narrows(self) -> bool:
        return self._viewmodel.filter.narrows

    def _clear_filters(self) -> None:
        self._viewmodel.set_filter(self._viewmodel.filter.cleared())

    def _why_not(self) -> None:
        if len(self._viewmodel.selected) == 1:
            self.why_not_wanted.emit(next(iter(self._viewmodel.selected)))

    def _focus_find(self) -> None:
        self.filters.text.setFocus()
        self.filters.text.selectAll()

    def _open_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._actions.fill(menu)
        menu.popup(at)

    def _fill_more(self) -> None:
        self._more.clear()
        self._actions.fill(self._more)

    @property
    def shown_fact(self) -> FactDetails | None:
        """The fact in the inspector."""
        state = self._viewmodel.details.state
        return state if isinstance(state, FactDetails) else None
