"""The Search page: a question or a batch, ranked hits with what made their scores, what explains them beside."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QBoxLayout,
    QButtonGroup,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr
from gm_desktop.models.agent_list import AGENT_ROLE
from gm_desktop.page import Page
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.viewmodels.question import SCOPES
from gm_desktop.viewmodels.search import TOP_CHOICES
from gm_desktop.viewmodels.search_models import SearchModels
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.views.agent_eye import AgentEyeView
from gm_desktop.views.answer_view import AnswerView
from gm_desktop.views.batch_view import QUESTIONS_HEIGHT, BatchView
from gm_desktop.views.made_actions import fill_menu
from gm_desktop.views.search_actions import HIT_MENU, SearchDeeds, search_specs
from gm_desktop.views.search_inspector import SearchInspector, Tab
from gm_desktop.views.search_options import SearchOptions
from gm_desktop.views.search_scenes import search_scenes
from gm_desktop.widgets.basics import EmptyState, PageHeader, add_glass, push_button, row

QUERY_HEIGHT = 40
NARROW_PX = 460


class SearchPage(Page):
    """Arranges; asking, explaining and trying are the view-models' business."""

    page_id = "search"
    fact_wanted = Signal(str)
    revise_wanted = Signal(str)
    page_wanted = Signal()  # an action of this page ran while another one was open
    inspector_wanted = Signal()

    def __init__(self, models: SearchModels, theme: Theme) -> None:
        super().__init__()
        self._models, self._theme = models, theme
        self._viewmodel = models.search
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_question()
        self._show_state()

    def _make_widgets(self) -> None:
        self.one, self.several = push_button(tr("One question"), "chip"), push_button(tr("Batch"), "chip")
        self._mode = QButtonGroup(self)
        for chip in (self.one, self.several):
            self._mode.addButton(chip)
        self.one.setChecked(True)
        self.several.setToolTip(tr("Several questions at once ({keys})", keys="Ctrl+B"))
        self.eye_chip = push_button(tr("Agent's eye"), "chip")
        self.eye_chip.setToolTip(tr("Exactly what an agent receives ({keys})", keys="Ctrl+E"))
        self.header = PageHeader(
            tr("Search"),
            tr("What an agent is given for a question. Looking here never counts as use."),
            (self.one, self.several, self.eye_chip),
        )
        self._make_asking()
        self._make_answer()
        self.batch = BatchView(self._models.batch, self._theme)
        self.eye = AgentEyeView(self._models.eye, self._theme)
        self.side = SearchInspector(self._models.why_not, self._models.lab, self._theme, expect=self._expect_hit)
        self.panel = self.side.why

    def _make_asking(self) -> None:
        self.query = QLineEdit()
        self.query.setProperty("kind", "search")
        self.query.setPlaceholderText(tr("Ask a question, or type a few words"))
        self.query.setAccessibleName(tr("Question"))
        self.query.setClearButtonEnabled(True)
        add_glass(self.query, self._theme)
        self.agent = QComboBox()
        self.agent.setModel(self._viewmodel.agents)
        self.agent.setAccessibleName(tr("Agent"))
        self.agent.setPlaceholderText(tr("No agents yet"))
        self.agent.setMinimumWidth(150)
        self.agent.setMaximumWidth(220)
        self.top_k = QComboBox()
        self.top_k.setAccessibleName(tr("Number of hits"))
        self.top_k.setToolTip(tr("How many hits an agent would be given"))
        for count in TOP_CHOICES:
            self.top_k.addItem(tr("Top {count}", count=count), count)
        self.options = SearchOptions(self._viewmodel)

    def _make_answer(self) -> None:
        self.answer = AnswerView(self._viewmodel.hits, self._theme)
        self.hits = self.answer.hits
        self.retry = push_button(tr("Try again"), "", self._viewmodel.ask)
        self.ask_now = push_button(tr("Ask as of now"), "", lambda: self._viewmodel.set_as_of(None))
        self.ask_first = push_button(tr("Ask as of its beginning"), "", self._ask_horizon)
        self.loosen = push_button(tr("Any confidence"), "", lambda: self._viewmodel.set_knob("min_confidence", ""))
        buttons = (self.retry, self.ask_now, self.ask_first, self.loosen)
        self.note = EmptyState(self._theme, "search", "", "", buttons)

    def _lay_out(self) -> None:
        self._fields = QStackedWidget()
        self._fields.addWidget(self.query)
        self._fields.addWidget(self.batch.questions)
        self._fields.setFixedHeight(QUERY_HEIGHT)
        self._ask_row = ask = QHBoxLayout()
        ask.setContentsMargins(MARGIN, 0, MARGIN, 10)
        ask.setSpacing(SPACE)
        ask.addWidget(self._fields, 1)
        boxes = QWidget()
        boxes.setLayout(row(self.agent, self.top_k))
        boxes.setFixedHeight(QUERY_HEIGHT)
        ask.addWidget(boxes, 0, Qt.AlignmentFlag.AlignTop)
        self._stack = QStackedWidget()
        for widget in (self.note, self.answer, self.batch, self.eye):
            self._stack.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addLayout(ask)
        layout.addWidget(self.options)
        layout.addWidget(self._stack, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow window the question has a row of its own."""
        super().resizeEvent(event)
        is_narrow = event.size().width() < NARROW_PX
        self._ask_row.setDirection(QBoxLayout.Direction.TopToBottom if is_narrow else QBoxLayout.Direction.LeftToRight)

    def _wire(self) -> None:
        model, batch = self._viewmodel, self._models.batch
        self.query.textChanged.connect(model.set_query)
        self.query.returnPressed.connect(model.ask)
        down = QShortcut(QKeySequence(Qt.Key.Key_Down), self.query, context=Qt.ShortcutContext.WidgetShortcut)
        down.activated.connect(self.hits.setFocus)
        self.agent.activated.connect(lambda _at: model.set_agent(str(self.agent.currentData(AGENT_ROLE))))
        self.top_k.activated.connect(lambda _at: model.set_top_k(int(self.top_k.currentData())))
        self.one.clicked.connect(lambda: self.set_batch(is_batch=False))
        self.several.clicked.connect(lambda: self.set_batch(is_batch=True))
        self.eye_chip.clicked.connect(lambda is_on: self.set_eye(is_open=is_on))
        self.hits.current_changed.connect(model.select)
        self.hits.activated.connect(self._revise)
        for hits in (self.hits, self.batch.hits):
            hits.menu_wanted.connect(self._open_menu)
        self.side.tab_changed.connect(lambda: model.set_lab_open(self.side.tab == "lab"))
        self.side.found_by.finding_wanted.connect(batch.show_finding)
        for panel in (self.side.why, self.side.found_by, self.side.why_not):
            panel.fact_wanted.connect(self.fact_wanted)
        self.side.why_not.hit_wanted.connect(self._show_hit)
        self.side.why_not.lab_wanted.connect(lambda: self.side.open_tab("lab"))
        self.side.lab.hit_wanted.connect(self.follow)
        model.question_changed.connect(self._show_question)
        model.state_changed.connect(self._show_state)
        model.selection_changed.connect(self._show_selection)
        batch.state_changed.connect(self._show_body)
        batch.selection_changed.connect(self._show_why)
        self._models.eye.changed.connect(self._show_body)

    # Page

    def inspector(self) -> QWidget:
        """Why this, why not that, the lab."""
        return self.side

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done with questions, hits and rankings."""
        deeds = SearchDeeds(
            ask=self._ask_one,
            open_tab=self.open_tab,
            set_batch=lambda is_batch: self.set_batch(is_batch=is_batch),
            set_eye=lambda is_open: self.set_eye(is_open=is_open),
            copy_eye=self.eye.copy_shown,
            choose_moment=self._choose_moment,
            revise=self._revise,
            open_hit=self._open_hit,
            why_not_hit=self._why_not_hit,
            expect_hit=self._expect_hit,
            save_profile=self._save_profile,
        )
        return search_specs(self._models, deeds)

    def activate(self) -> None:
        """Work begins with a question."""
        if self._models.batch.is_open:
            self.batch.focus()
        else:
            self.query.setFocus()
            self.query.selectAll()

    def open_agent(self, agent_id: str) -> None:
        """Asks one namespace."""
        self._viewmodel.set_agent(agent_id)

    def save_state(self) -> dict[str, str]:
        """The question and the open tab; never a moment or a trial, which would surprise the next day."""
        asked = self._viewmodel.question
        return {
            "query": asked.query,
            "agent": asked.agent_id,
            "scope": asked.scope,
            "top_k": str(asked.top_k),
            "filter": asked.trial.min_confidence,
            "tab": self.side.tab,
            "batch": self._models.batch.text,
        }

    def restore_state(self, state: dict[str, str]) -> None:
        """Takes the question back."""
        model = self._viewmodel
        if state.get("top_k", "").isdecimal():
            model.set_top_k(int(state["top_k"]))
        if state.get("filter"):
            model.set_knob("min_confidence", state["filter"])
        if state.get("agent"):
            model.set_agent(state["agent"])
        scope = state.get("scope")
        if scope in SCOPES:
            model.set_scope(scope)
        self._models.batch.set_text(state.get("batch", ""))
        model.set_query(state.get("query", ""))

    def landmark(self) -> QWidget:
        """What explains a hit; where nothing was asked yet, of a question that the store can answer."""
        if not self._viewmodel.question.query:
            self._viewmodel.ask_something_telling()
        self.open_tab("why")
        return self.side

    def prepare_screenshot(self) -> None:
        """Asks about something the store knows; the words are to be read, not marked to be typed over."""
        self._viewmodel.ask_something_telling()
        self.query.deselect()

    def screenshot_scenes(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        """Why not, lab, judged questions, agent's eye, batch, a moment too early."""
        return search_scenes(
            self._models,
            self.side,
            set_batch=lambda is_batch: self.set_batch(is_batch=is_batch),
            set_eye=lambda is_open: self.set_eye(is_open=is_open),
            deselect=self.query.deselect,
        )

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        models = self._models
        return (
            not any(each.is_waiting for each in (models.search, models.batch, models.eye, models.why_not))
            and not models.lab.is_running
        )

    # deeds

    def open_tab(self, tab: Tab) -> None:
        """Shows a tab of the inspector, wherever one is."""
        self._come_here()
        self.inspector_wanted.emit()
        self.side.open_tab(tab)

    def set_batch(self, *, is_batch: bool) -> None:
        """One question or several."""
        self._come_here()
        self._models.batch.set_open(is_batch)
        (self.several if is_batch else self.one).setChecked(True)
        self._fields.setCurrentWidget(self.batch.questions if is_batch else self.query)
        self._fields.setFixedHeight(QUESTIONS_HEIGHT if is_batch else QUERY_HEIGHT)
        self._show_body()
        self.activate()

    def set_eye(self, *, is_open: bool) -> None:
        """The list of hits, or what the agent receives."""
        self._come_here()
        self.eye_chip.setChecked(is_open)
        self._models.eye.set_open(is_open)
        self._show_body()
        if self._stack.currentWidget() is self.eye:
            self.eye.focus()
        elif not is_open:
            self.activate()

    def follow(self, fact_id: str) -> None:
        """Explains why a fact is not among the hits."""
        self.open_tab("why_not")
        self._models.why_not.pick(fact_id)

    def _come_here(self) -> None:
        if not self.isVisible():
            self.page_wanted.emit()

    def _ask_one(self) -> None:
        self._come_here()
        if self._models.batch.is_open:
            self.set_batch(is_batch=False)
        self.activate()

    def _choose_moment(self) -> None:
        self._come_here()
        self.options.open_moment()

    def _save_profile(self) -> None:
        self.open_tab("lab")
        self.side.lab.save_profile()

    def _why_not_hit(self) -> None:
        if self._viewmodel.selected_id is not None:
            self.follow(self._viewmodel.selected_id)

    def _expect_hit(self) -> None:
        if self._viewmodel.selected_id is not None:
            self._models.lab.expect(self._viewmodel.selected_id)

    def _show_hit(self, fact_id: str) -> None:
        self._viewmodel.select(fact_id)
        self.side.open_tab("why")

    def _ask_horizon(self) -> None:
        if self._viewmodel.horizon_ns is not None:
            self._viewmodel.set_as_of(self._viewmodel.horizon_ns)

    def _open_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_menu(menu, self, HIT_MENU)
        menu.popup(at)

    def _revise(self) -> None:
        model = self._viewmodel
        if model.selected_hit is not None and model.verbs.can_write and model.selected_id is not None:
            self.revise_wanted.emit(model.selected_id)

    def _open_hit(self) -> None:
        models = self._models
        chosen = models.batch.selected_id if models.batch.is_open else models.search.selected_id
        if chosen is not None:
            self.fact_wanted.emit(chosen)

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
        with QSignalBlocker(self.agent):
            self.agent.setCurrentIndex(-1 if at is None else at)
        self.agent.setEnabled(bool(self._viewmodel.agents.lines))
        is_shared = asked.scope == "shared"
        self.agent.setToolTip(tr("Shared facts are the same for every agent") if is_shared else as_tip(asked.whom))

    def _show_state(self) -> None:
        state, answer = self._viewmodel.state, self._viewmodel.answer
        reason = state.reason if isinstance(state, Empty) else ""
        self._show_buttons(reason, is_failed=isinstance(state, Failed))
        if isinstance(state, Empty):
            self.note.say("history" if reason == "as_of" else "search", state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The question can't be answered"), state.message)
        elif not isinstance(state, Full):
            self.note.say("clock", tr("Reading the store…"))
        if answer is not None:
            self.answer.say(answer.coverage, answer.feedback)
        self._show_body()
        self._show_selection()

    def _show_buttons(self, reason: str, *, is_failed: bool) -> None:
        shown: dict[QPushButton, bool] = {
            self.retry: is_failed,
            self.ask_now: reason == "as_of" or (reason == "nothing" and self._viewmodel.question.as_of_ns is not None),
            self.ask_first: reason == "as_of" and self._viewmodel.horizon_ns is not None,
            self.loosen: reason == "filter",
        }
        for button, is_shown in shown.items():
            button.setVisible(is_shown)

    def _show_body(self) -> None:
        models = self._models
        is_full = isinstance(models.batch.state if models.batch.is_open else models.search.state, Full)
        body: QWidget = self.answer if is_full else self.note
        if models.batch.is_open:
            body = self.batch
        if is_full and models.eye.is_open:
            body = self.eye
        self._stack.setCurrentWidget(body)
        self._show_why()

    def _show_selection(self) -> None:
        self.hits.show_selected(self._viewmodel.selected_id)
        self._show_why()

    def _show_why(self) -> None:
        """The inspector explains the selected hit of whatever is looked at."""
        search, batch = self._models.search, self._models.batch
        source = batch if batch.is_open else search
        self.side.show_merged(batch.merged_hit if batch.is_open else None)
        answer = source.answer
        self.panel.show_why(
            source.why,
            count=len(answer.hits) if answer is not None else 0,
            coverage=answer.coverage if answer is not None else "",
        )
