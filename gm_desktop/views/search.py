"""The Search page: a question, ranked hits with what made their scores, and *Why this?* beside them."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QFrame, QLineEdit, QListView, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr
from gm_desktop.models.agent_list import AGENT_ROLE
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.search import TOP_CHOICES, SearchViewModel
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.viewmodels.why import signal_title
from gm_desktop.views.why_panel import WhyPanel
from gm_desktop.widgets.basics import EmptyState, PageHeader, push_button, row, text_label
from gm_desktop.widgets.contribution_bar import Legend
from gm_desktop.widgets.hit_delegate import HitDelegate

SIGNALS = ("vector", "keyword", "recency")


class SearchPage(Page):
    """Arranges; asking and explaining is the view-model's business."""

    page_id = "search"
    title = "Search"
    icon_name = "search"
    fact_wanted = Signal(str)
    revise_wanted = Signal(str)

    def __init__(self, viewmodel: SearchViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_question()
        self._show_state()

    def _make_widgets(self) -> None:
        self.header = PageHeader(
            tr("Search"), tr("What an agent is given for a question. Looking here never counts as use.")
        )
        self.query = QLineEdit()
        self.query.setProperty("kind", "search")
        self.query.setPlaceholderText(tr("Ask a question, or type a few words"))
        self.query.setAccessibleName(tr("Question"))
        self.query.setClearButtonEnabled(True)
        glyph = QAction(self.query)
        self._theme.bind_icon(glyph, "search")
        self.query.addAction(glyph, QLineEdit.ActionPosition.LeadingPosition)
        self.agent = QComboBox()
        self.agent.setModel(self._viewmodel.agents)
        self.agent.setAccessibleName(tr("Agent"))
        self.agent.setMinimumWidth(150)
        self.agent.setMaximumWidth(220)
        self.top_k = QComboBox()
        self.top_k.setAccessibleName(tr("Number of hits"))
        self.top_k.setToolTip(tr("How many hits an agent would be given"))
        for count in TOP_CHOICES:
            self.top_k.addItem(tr("Top {count}", count=count), count)
        self.coverage = text_label("", "small", wrap=True)
        self.legend = Legend(self._theme, [signal_title(each) for each in SIGNALS])
        self.feedback = QFrame()
        self.feedback.setProperty("kind", "well")
        self.feedback_text = text_label("", "", wrap=True)
        self.hits = QListView()
        self.hits.setModel(self._viewmodel.hits)
        self.hits.setItemDelegate(HitDelegate(self._theme, self.hits))
        self.hits.setFrameShape(QFrame.Shape.NoFrame)
        self.hits.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.hits.setResizeMode(QListView.ResizeMode.Adjust)
        self.hits.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.hits.setAccessibleName(tr("Hits"))
        self.hits.setMouseTracking(True)
        self.retry = push_button(tr("Try again"), "", self._viewmodel.ask)
        self.note = EmptyState(self._theme, "search", "", "", (self.retry,))
        self.panel = WhyPanel(self._viewmodel, self._theme)

    def _lay_out(self) -> None:
        banner = QVBoxLayout(self.feedback)
        banner.setContentsMargins(14, 10, 14, 10)
        banner.addWidget(self.feedback_text)
        answer = QWidget()
        inner = QVBoxLayout(answer)
        inner.setContentsMargins(MARGIN - 12, 0, MARGIN - 14, 0)
        inner.setSpacing(8)
        line = row(self.coverage, self.legend, spacing=16, margins=(12, 0, 14, 0))
        line.setStretch(0, 1)
        inner.addLayout(line)
        inner.addLayout(row(self.feedback, margins=(12, 0, 14, 0)))
        inner.addWidget(self.hits, 1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(answer)
        self._answer = answer
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        ask = row(self.query, self.agent, self.top_k, margins=(MARGIN, 0, MARGIN, 14))
        ask.setStretch(0, 1)
        layout.addLayout(ask)
        layout.addWidget(self._stack, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def _wire(self) -> None:
        model = self._viewmodel
        self.query.textChanged.connect(model.set_query)
        self.query.returnPressed.connect(model.ask)
        self.agent.activated.connect(lambda _at: model.set_agent(str(self.agent.currentData(AGENT_ROLE))))
        self.top_k.activated.connect(lambda _at: model.set_top_k(int(self.top_k.currentData())))
        self.hits.selectionModel().currentChanged.connect(self._on_current)
        self.hits.activated.connect(self._revise)
        self.panel.fact_wanted.connect(self.fact_wanted)
        model.question_changed.connect(self._show_question)
        model.state_changed.connect(self._show_state)
        model.selection_changed.connect(self._show_selection)

    # Page

    def inspector(self) -> QWidget:
        """Why the selected hit came back."""
        return self.panel

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done with a question and its hits."""
        return (
            ActionSpec(
                "query.focus", tr("Ask a question"), "search", "Ctrl+L", run=self.activate, words="search recall"
            ),
            ActionSpec("hit.revise", tr("Revise the hit…"), "pencil", "F2", self._can_change, self._revise),
            ActionSpec("hit.pin", tr("Pin or unpin the hit"), "pin", "P", self._can_change, self._viewmodel.toggle_pin),
            ActionSpec("hit.retire", tr("Retire the hit"), "archive", "Del", self._can_change, self._viewmodel.retire),
            ActionSpec("hit.open", tr("Open the hit in Memory"), "brain", "Ctrl+Return", self._has_hit, self._open_hit),
        )

    def activate(self) -> None:
        """Work begins with a question."""
        self.query.setFocus()
        self.query.selectAll()

    def save_state(self) -> dict[str, str]:
        """The question."""
        asked = self._viewmodel.question
        return {"query": asked.query, "agent": asked.agent_id, "top_k": str(asked.top_k)}

    def restore_state(self, state: dict[str, str]) -> None:
        """Takes the question back."""
        if state.get("top_k", "").isdecimal():
            self._viewmodel.set_top_k(int(state["top_k"]))
        if state.get("agent"):
            self._viewmodel.set_agent(state["agent"])
        self._viewmodel.set_query(state.get("query", ""))

    def prepare_screenshot(self) -> None:
        """Asks about something the store knows."""
        self._viewmodel.ask_something_telling()

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return not self._viewmodel.is_waiting

    # state

    def _show_question(self) -> None:
        asked = self._viewmodel.question
        with QSignalBlocker(self.query):
            if self.query.text() != asked.query:
                self.query.setText(asked.query)
        if self.top_k.findData(asked.top_k) < 0:
            self.top_k.addItem(tr("Top {count}", count=asked.top_k), asked.top_k)
        self.top_k.setCurrentIndex(self.top_k.findData(asked.top_k))
        at = self._viewmodel.agents.row_of(asked.agent_id)
        if at is not None:
            with QSignalBlocker(self.agent):
                self.agent.setCurrentIndex(at)

    def _show_state(self) -> None:
        state, answer = self._viewmodel.state, self._viewmodel.answer
        self.retry.setVisible(isinstance(state, Failed))
        if isinstance(state, Empty):
            self.note.say("search", state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The question can't be answered"), state.message)
        elif not isinstance(state, Full):
            self.note.say("clock", tr("Reading the store…"))
        self._stack.setCurrentWidget(self._answer if isinstance(state, Full) else self.note)
        if answer is not None:
            self.coverage.setText(answer.coverage)
            self.feedback_text.setText(answer.feedback)
            self.feedback.setVisible(bool(answer.feedback))
        self._show_selection()

    def _show_selection(self) -> None:
        chosen = self._viewmodel.selected_id
        at = self._viewmodel.hits.row_of(chosen) if chosen else None
        if at is not None and self.hits.currentIndex().row() != at:
            flags = QItemSelectionModel.SelectionFlag
            self.hits.selectionModel().setCurrentIndex(self._viewmodel.hits.index(at), flags.ClearAndSelect)

    def _on_current(self) -> None:
        at = self.hits.currentIndex().row()
        if at >= 0:
            self._viewmodel.select(self._viewmodel.hits.hits[at].id)

    def _has_hit(self) -> bool:
        return self._viewmodel.why is not None

    def _can_change(self) -> bool:
        return self._has_hit() and self._viewmodel.verbs.can_write

    def _revise(self) -> None:
        if self._can_change() and self._viewmodel.selected_id is not None:
            self.revise_wanted.emit(self._viewmodel.selected_id)

    def _open_hit(self) -> None:
        why = self._viewmodel.why
        if why is not None:
            self.fact_wanted.emit(why.id)
