"""The Past page: the store as it was at one moment, under a coloured strip that says so; nothing can be changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr
from gm_desktop.models.agent_list import AGENT_ROLE
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.past import PastViewModel
from gm_desktop.viewmodels.past_reading import PastFilter
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading
from gm_desktop.views.made_actions import fill_menu
from gm_desktop.views.past_parts import PastChips, PastDialog, PastInspector, PastTable
from gm_desktop.widgets.basics import (
    EmptyState,
    Picture,
    YieldingLabel,
    add_glass,
    document_tabs,
    push_button,
    row,
    rule,
    text_label,
)
from gm_desktop.widgets.keys import keep_keys
from gm_desktop.widgets.line_view import LINE_INDENT, LineView
from gm_desktop.widgets.pills import Pill

NARROW_PX = 640
_EDGE = MARGIN - LINE_INDENT  # of lists, whose texts stand 24 px from the edge
_AGENT_WIDTHS = (200, 136)  # in a narrow window the second
_FIELD_WIDTH = 190


class PastPage(Page):
    """Emits `fact_wanted(id)` and `checkpoint_wanted(id)` for what is to be opened as it is now."""

    page_id = "past"
    fact_wanted = Signal(str)
    checkpoint_wanted = Signal(str)

    def __init__(self, viewmodel: PastViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._was_open = False
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()
        self._show_answer()

    def _make_widgets(self) -> None:
        model = self._viewmodel
        self.moment, self.counts = YieldingLabel(tr("Past"), "title"), text_label("", "muted")
        self.caution = text_label("", "small", wrap=True)
        self.pill = Pill(self._theme)
        self.other = push_button(tr("Another moment…"), "", self.choose)
        self.back = push_button(tr("Back to now"), "primary", model.close)
        self.back.setToolTip(tr("Back to now (Escape)"))
        self.agent = QComboBox()
        self.agent.setModel(model.agents)
        self.agent.setAccessibleName(tr("Agent"))
        self.text = QLineEdit()
        self.text.setPlaceholderText(tr("Find in facts"))
        self.text.setAccessibleName(tr("Find in facts"))
        self.text.setClearButtonEnabled(True)
        self.text.setMaxLength(500)
        self.text.setMinimumWidth(_FIELD_WIDTH)
        add_glass(self.text, self._theme)
        self.chips = PastChips(model, self.text)
        self.table = PastTable(model, self._theme)
        self.clear = push_button(tr("Clear filters"), "", lambda: model.set_filter(PastFilter()))
        self.retry = push_button(tr("Try again"), "", model.reload)
        self.start = push_button(tr("Choose a moment…"), "primary", self.choose)
        self.note = EmptyState(self._theme, "history", "", "", (self.clear, self.retry, self.start))
        self.question = QLineEdit()
        self.question.setPlaceholderText(tr("What would an agent have been given then? Ask, and press Enter"))
        self.question.setAccessibleName(tr("Question about then"))
        add_glass(self.question, self._theme)
        self.said = text_label("", "muted", wrap=True)
        self.hits = LineView(model.hits, self._theme, tr("What would have been given"))
        self.hits_note = EmptyState(self._theme, "search", "")
        self.checkpoints = LineView(model.checkpoints, self._theme, tr("Checkpoints then"))
        self.no_checkpoints = EmptyState(self._theme, "bookmark", tr("There were no checkpoints then"))
        self.panel = PastInspector(model, self._theme)

    def _lay_out(self) -> None:
        self._facts, self._hits, self._checkpoints = QStackedWidget(), QStackedWidget(), QStackedWidget()
        for stack, widgets in (
            (self._facts, (self.note, self.table)),
            (self._hits, (self.hits_note, self.hits)),
            (self._checkpoints, (self.no_checkpoints, self.checkpoints)),
        ):
            for widget in widgets:
                stack.addWidget(widget)
        for note in (self.note, self.hits_note):
            note.setContentsMargins(0, 0, _EDGE, 0)  # in the middle of the page, which has one at the left
        self.tabs = document_tabs(overhang=LINE_INDENT)
        keep_keys(self.tabs.tabBar())
        self.tabs.addTab(_column(self.chips, self._facts), tr("Facts"))
        asked = row(self.question, margins=(LINE_INDENT, 12, MARGIN, 4))
        told = row(self.said, margins=(LINE_INDENT, 4, MARGIN, 4))
        self.tabs.addTab(_column(asked, told, self._hits), tr("Recall"))
        self._back_then = _column(self._checkpoints)
        self._back_then.setContentsMargins(0, 12, _EDGE, 0)
        self.tabs.addTab(self._back_then, tr("Checkpoints"))
        corner = QWidget()
        corner.setLayout(row(self.agent, margins=(0, 0, MARGIN, 6)))
        self.tabs.setCornerWidget(corner)
        wrap = QVBoxLayout()
        wrap.setContentsMargins(_EDGE, 10, 0, 0)
        wrap.addWidget(self.tabs)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._strip())
        layout.addWidget(rule())
        layout.addLayout(wrap, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def _strip(self) -> QFrame:
        """What says that this is the past."""
        strip = QFrame()
        strip.setProperty("kind", "past")
        column = QVBoxLayout(strip)
        column.setContentsMargins(MARGIN - 4, 14, MARGIN, 12)
        column.setSpacing(3)
        icon = Picture(self._theme, "history", "info", 20)
        self._head = row()
        self._head.addLayout(row(icon, self.moment, self.pill, 1))
        self._head.addLayout(row(1, self.other, self.back))
        column.addLayout(self._head)
        column.addWidget(self.counts)
        column.addWidget(self.caution)
        return strip

    def _wire(self) -> None:
        model = self._viewmodel
        model.state_changed.connect(self._show_state)
        model.filter_changed.connect(self._show_filter)
        model.answered.connect(self._show_answer)
        model.agents.modelReset.connect(self._show_filter)
        self.agent.activated.connect(
            lambda _at: model.set_filter(replace(model.filter, agent_id=self.agent.currentData(AGENT_ROLE)))
        )
        self.text.textChanged.connect(lambda text: model.set_filter(replace(model.filter, text=text)))
        self.question.returnPressed.connect(lambda: model.ask(self.question.text()))
        self.table.activated.connect(lambda _index: self._open_now())
        self.table.menu_wanted.connect(self._open_menu)
        self.hits.chosen.connect(model.select)
        self.hits.selectionModel().currentChanged.connect(self._on_hit)
        self.checkpoints.activated.connect(lambda _index: self._open_checkpoint())
        self.panel.now_wanted.connect(self._open_now)
        self.tabs.currentChanged.connect(lambda _at: self.inspector_changed.emit())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow window the buttons stand below the moment, and the agents leave the tabs their room."""
        super().resizeEvent(event)
        is_narrow = event.size().width() < NARROW_PX
        self._head.setDirection(QBoxLayout.Direction.TopToBottom if is_narrow else QBoxLayout.Direction.LeftToRight)
        self.agent.setFixedWidth(_AGENT_WIDTHS[is_narrow])

    # Page

    def inspector(self) -> QWidget:
        """One fact as it was."""
        return self.panel

    def uses_inspector(self) -> bool:
        """Beside the checkpoints there is no fact to show, and none before a moment is chosen."""
        return self._is_open() and self.tabs.currentWidget() is not self._back_then

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done while looking back."""
        is_open = self._is_open
        return (
            ActionSpec("past.back", tr("Back to now"), "x", "Escape", is_open, self._viewmodel.close, words="present"),
            ActionSpec(
                "past.open_now",
                tr("Open it as it is now"),
                "brain",
                "Ctrl+Return",
                lambda: self._viewmodel.details is not None and self._viewmodel.details.is_there_now,
                self._open_now,
            ),
            ActionSpec("past.find", tr("Find in the facts of then"), "search", "Ctrl+F", is_open, self._focus_find),
            ActionSpec(
                "past.ask", tr("Ask about then"), "search", "Ctrl+L", is_open, self.focus_question, words="recall"
            ),
        )

    def activate(self) -> None:
        """Work begins in the list."""
        if self._viewmodel.moment is None:
            self.start.setFocus()
        else:
            self.tabs.setCurrentIndex(0)
            self.table.setFocus()

    def open_agent(self, agent_id: str) -> None:
        """Lists one agent's facts."""
        self._viewmodel.set_filter(replace(self._viewmodel.filter, agent_id=agent_id))

    def prepare_screenshot(self) -> None:
        """Before the last ten changes."""
        self._viewmodel.open_quick("changes")

    def screenshot_scenes(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        """A question, the checkpoints, a moment that is only concluded, what differs since."""
        return (
            ("recall", self._show_recall),
            ("checkpoints", lambda: self.tabs.setCurrentIndex(2)),
            ("month", lambda: self._viewmodel.open_quick("month")),
            ("since", self._show_since),
        )

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return not self._viewmodel.is_waiting

    def be_looked_at(self, is_looked_at: bool) -> None:
        """What differs since is followed while the page shows."""
        self._viewmodel.look(is_looked_at)

    def choose(self) -> None:
        """Asks for a moment."""
        dialog = PastDialog(self._viewmodel.now_ns, self.window())
        dialog.quick_chosen.connect(self._viewmodel.open_quick)
        dialog.time_chosen.connect(self._viewmodel.open_time)
        dialog.open()

    def focus_question(self) -> None:
        """Lets the person ask."""
        self.tabs.setCurrentIndex(1)
        self.question.setFocus()

    # state

    def _is_open(self) -> bool:
        return self._viewmodel.moment is not None

    def _show_state(self) -> None:
        model, state, head = self._viewmodel, self._viewmodel.state, self._viewmodel.head
        is_open = model.moment is not None
        self.moment.setText(head.title if head else tr("Going back…") if is_open else tr("Past"))
        self.moment.setToolTip(head.title_utc if head else "")
        self.counts.setText(head.counts if head else " ")
        self.counts.setVisible(is_open)
        self.caution.setText(head.caution if head else "")
        self.caution.setVisible(bool(self.caution.text()))
        self.pill.show_text(tr("Reconstructed") if head and head.caution else "", "unverified")
        for widget in (self.agent, self.other, self.back):
            widget.setVisible(is_open)
        self.text.setEnabled(is_open)
        self.question.setEnabled(head is not None)
        self.tabs.tabBar().setVisible(is_open)
        if not is_open:
            self.tabs.setCurrentIndex(0)  # where a moment is chosen
        if is_open != self._was_open:
            self._was_open = is_open
            self.inspector_changed.emit()
        self._show_note()
        self._facts.setCurrentWidget(self.table if isinstance(state, Full) else self.note)
        has_checkpoints = bool(model.checkpoints.lines)
        self._checkpoints.setCurrentWidget(self.checkpoints if has_checkpoints else self.no_checkpoints)
        self._show_filter()

    def _show_note(self) -> None:
        state = self._viewmodel.state
        self.clear.setVisible(isinstance(state, Empty) and state.reason == "filter")
        self.start.setVisible(isinstance(state, Empty) and state.reason == "now")
        self.retry.setVisible(isinstance(state, Failed))
        if isinstance(state, Loading):
            self.note.say("clock", tr("Going back to that moment…"))
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("That moment can't be shown"), state.message)
        elif isinstance(state, Empty):
            self.note.say("filter" if state.reason == "filter" else "history", state.title, state.hint)

    def _show_filter(self) -> None:
        wanted = self._viewmodel.filter
        with QSignalBlocker(self.text), QSignalBlocker(self.agent):
            if self.text.text() != wanted.text:
                self.text.setText(wanted.text)
            at = self._viewmodel.agents.row_of(wanted.agent_id)
            if at is not None:
                self.agent.setCurrentIndex(at)
        self.chips.setVisible(self._is_open())

    def _show_answer(self) -> None:
        answer, model = self._viewmodel.answer, self._viewmodel
        if not model.query and answer is None:
            self.question.clear()
        has_hits = bool(model.hits.lines)
        self.said.setText(answer.said if answer is not None and has_hits else "")
        if answer is None:
            hint = tr("The same recall as on the Search page, from what was in the store then. It counts nothing.")
            self.hits_note.say("search", tr("Ask about then"), hint)
        else:
            title = tr("This moment can't be asked") if answer.is_refused else tr("Nothing comes back")
            self.hits_note.say("circle-alert" if answer.is_refused else "search", title, answer.said)
        self._hits.setCurrentWidget(self.hits if has_hits else self.hits_note)

    # deeds

    def _on_hit(self) -> None:
        at = self.hits.currentIndex().row()
        if at >= 0:
            self._viewmodel.select(self._viewmodel.hits.lines[at].key)

    def _focus_find(self) -> None:
        self.tabs.setCurrentIndex(0)
        self.text.setFocus()
        self.text.selectAll()

    def _open_now(self) -> None:
        fact = self._viewmodel.details
        if fact is not None and fact.is_there_now:
            self.fact_wanted.emit(fact.id)

    def _open_checkpoint(self) -> None:
        at = self.checkpoints.currentIndex().row()
        if at >= 0:
            self.checkpoint_wanted.emit(self._viewmodel.checkpoints.lines[at].key)

    def _open_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_menu(menu, self, "past.open_now | past.back")
        menu.popup(at)

    def _show_since(self) -> None:
        self.chips.chips["added"].click()

    def _show_recall(self) -> None:
        self.focus_question()
        self.question.setText(tr("What was decided?"))
        self.question.returnPressed.emit()


def _column(*parts: QHBoxLayout | QWidget) -> QWidget:
    """Parts of a tab, the last of which takes the room."""
    made = QWidget()
    layout = QVBoxLayout(made)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    for part in parts[:-1]:
        if isinstance(part, QWidget):
            layout.addWidget(part)
        else:
            layout.addLayout(part)
    last = QHBoxLayout()
    last.setContentsMargins(0, 0, 0, 0)
    if isinstance(parts[-1], QWidget):
        last.addWidget(parts[-1])
    layout.addLayout(last, 1)
    return made
