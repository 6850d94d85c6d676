"""The Consolidate page: one card at a time by keyboard; cycles, dry and real, and those of the past."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QListView,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.actions import ActionSpec
from gm_desktop.formatting import number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.agent_list import AGENT_ROLE
from gm_desktop.models.proposal_cards import Card
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.consolidate import CardUnread, ConsolidateViewModel
from gm_desktop.viewmodels.cycles import CyclesViewModel
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.views.cycles import CycleReportPanel, HistoryPanel
from gm_desktop.widgets.basics import EmptyState, PageHeader, push_button, row, rule, text_label
from gm_desktop.widgets.card_delegate import CardDelegate
from gm_desktop.widgets.keys import keep_keys
from gm_desktop.widgets.proposal_card import ProposalCard

LIST_WIDTH = 288
_KEYS = "→ accept   ← reject   ↓ later   E edit   X never again   J K next, previous"
_EDITING_KEYS = "Ctrl+Enter accept your text   Esc stop editing"


class ConsolidatePage(Page):
    """A list on the left, one card on the right; decisions by arrow keys."""

    page_id = "consolidate"
    title = "Consolidate"
    icon_name = "git-merge"
    fact_wanted = Signal(str)

    def __init__(self, viewmodel: ConsolidateViewModel, cycles: CyclesViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._cycles, self._theme = viewmodel, cycles, theme
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()
        self._show_card()
        self._show_running()

    def _make_widgets(self) -> None:
        self.dry_run = push_button(tr("Dry run"), "", lambda: self._run(dry_run=True))
        self.dry_run.setToolTip(tr("Only look what a cycle would do (Ctrl+Shift+D)"))
        self.run_cycle = push_button(tr("Run a cycle"), "", lambda: self._run(dry_run=False))
        self.run_cycle.setToolTip(tr("Find duplicates and contradictions, let unused facts fade (Ctrl+R)"))
        self.header = PageHeader(
            tr("Consolidate"),
            tr("Duplicates, contradictions and what has faded: nothing is merged before you say so."),
            (self.dry_run, self.run_cycle),
        )
        self.agent = QComboBox()
        self.agent.setModel(self._viewmodel.agents)
        self.agent.setAccessibleName(tr("Agent"))
        self.put_off = push_button("", "chip")
        self.put_off.setToolTip(tr("Show the cards that were put off"))
        self.exact = push_button("", "link", self._viewmodel.accept_exact)
        self.list = QListView()
        self.list.setModel(self._viewmodel.cards)
        self.list.setItemDelegate(CardDelegate(self._theme, self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setAccessibleName(tr("Cards"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.card = ProposalCard(self._theme)
        self.trouble = EmptyState(self._theme, "circle-alert", "")
        self.retry = push_button(tr("Try again"), "", self._viewmodel.reload)
        self.look = push_button(tr("Dry run"), "", lambda: self._run(dry_run=True))
        self.go = push_button(tr("Run a cycle"), "primary", lambda: self._run(dry_run=False))
        self.note = EmptyState(self._theme, "git-merge", "", "", (self.retry, self.look, self.go))
        self.report = CycleReportPanel(self._cycles, self._theme)
        self.history = HistoryPanel(self._cycles, self._theme)
        self.hint = text_label("", "small", wrap=True)
        keep_keys(self.agent, self.put_off)

    def _lay_out(self) -> None:
        side = QWidget()
        side.setFixedWidth(LIST_WIDTH)
        column = QVBoxLayout(side)
        column.setContentsMargins(0, 12, 12, 12)
        column.setSpacing(8)
        column.addLayout(row(self.agent, self.put_off))
        column.addLayout(row(self.exact, 1))
        column.addWidget(self.list, 1)
        self._right = QStackedWidget()
        for page in (self.trouble, self.card):
            self._right.addWidget(page)
        right = QWidget()
        inner = QVBoxLayout(right)
        inner.setContentsMargins(0, 12, 0, 0)
        inner.setSpacing(0)
        inner.addWidget(self._right, 1)
        inner.addLayout(row(self.hint, margins=(MARGIN, 0, MARGIN, 10)))
        self._cards_and_card = QStackedWidget()
        self._cards_and_card.addWidget(self.note)
        self._cards_and_card.addWidget(right)
        self._card_side = right
        both = QWidget()
        line = QHBoxLayout(both)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(0)
        line.addWidget(side)
        line.addWidget(rule(vertical=True))
        line.addWidget(self._cards_and_card, 1)
        self._side = side
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(both, tr("Inbox"))
        self.tabs.addTab(self.history, tr("Past cycles"))
        self.tabs.tabBar().setContentsMargins(MARGIN, 0, 0, 0)
        keep_keys(self.tabs.tabBar())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addWidget(self.report)
        wrap = QVBoxLayout()
        wrap.setContentsMargins(MARGIN, 0, 0, 0)
        wrap.addWidget(self.tabs)
        layout.addLayout(wrap, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def _wire(self) -> None:
        model, card = self._viewmodel, self.card
        model.state_changed.connect(self._show_state)
        model.card_changed.connect(self._show_card)
        model.draft_changed.connect(self._show_draft)
        model.agent_changed.connect(self._show_agent)
        model.agents.modelReset.connect(self._show_agent)
        self._cycles.running_changed.connect(self._show_running)
        self._cycles.history_changed.connect(self._show_tabs)
        self.agent.activated.connect(lambda _at: model.set_agent(self.agent.currentData(AGENT_ROLE)))
        self.put_off.toggled.connect(lambda is_on: model.set_pile("later" if is_on else "open"))
        self.list.selectionModel().currentChanged.connect(self._on_current)
        card.accept_wanted.connect(self._accept)
        card.reject_wanted.connect(model.reject)
        card.later_wanted.connect(model.later)
        card.never_wanted.connect(model.never_again)
        card.edit_wanted.connect(model.edit)
        card.edit_ended.connect(self._stop_editing)
        card.edited.connect(model.set_draft)
        card.keep_wanted.connect(model.keep)
        card.fact_wanted.connect(self.fact_wanted)

    # Page

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done with a card, and with cycles."""
        model, cycles = self._viewmodel, self._cycles
        return (
            ActionSpec("card.accept", tr("Accept the card"), "check", "Right", self._may_accept, self._accept),
            ActionSpec("card.reject", tr("Reject the card"), "x", "Left", self._may_decide, model.reject),
            ActionSpec("card.later", tr("Put the card off"), "clock", "Down", self._may_decide, model.later),
            ActionSpec("card.edit", tr("Edit the card's result…"), "pencil", "E", self._may_edit, model.edit),
            ActionSpec("card.never", tr("Never propose this again"), "", "X", self._may_decide, model.never_again),
            ActionSpec("card.next", tr("Next card"), "", "J", self._may_step, lambda: model.step(1)),
            ActionSpec("card.previous", tr("Previous card"), "", "K", self._may_step, lambda: model.step(-1)),
            ActionSpec(
                "card.accept_exact",
                tr("Merge all exact duplicates"),
                "git-merge",
                "Ctrl+Shift+M",
                lambda: bool(model.exact) and model.can_write,
                model.accept_exact,
                words="bulk",
            ),
            ActionSpec(
                "cycle.dry_run",
                tr("Dry run of a cycle"),
                "",
                "Ctrl+Shift+D",
                lambda: cycles.can_run,
                lambda: self._run(dry_run=True),
                words="consolidate preview",
            ),
            ActionSpec(
                "cycle.run",
                tr("Run a cycle"),
                "git-merge",
                "Ctrl+R",
                lambda: cycles.can_write,
                lambda: self._run(dry_run=False),
                words="consolidate duplicates fade prune",
            ),
        )

    def activate(self) -> None:
        """Work begins in the list."""
        self.list.setFocus()

    def open_agent(self, agent_id: str) -> None:
        """Shows the cards of one agent."""
        self._viewmodel.set_agent(agent_id)

    def save_state(self) -> dict[str, str]:
        """The tab and the agent."""
        return {"tab": str(self.tabs.currentIndex()), "agent": self._viewmodel.agent_id or ""}

    def restore_state(self, state: dict[str, str]) -> None:
        """Takes tab and agent back."""
        if state.get("tab", "").isdecimal():
            self.tabs.setCurrentIndex(int(state["tab"]))
        self._viewmodel.set_agent(state.get("agent") or None)

    def prepare_screenshot(self) -> None:
        """Runs a cycle, so that there are cards."""
        self._run(dry_run=False)

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return not self._viewmodel.is_waiting and not self._cycles.is_waiting

    # state

    def _show_state(self) -> None:
        model = self._viewmodel
        state = model.state
        is_full = isinstance(state, Full)
        is_first = isinstance(state, Empty) and not model.later_count and model.pile == "open"
        self.retry.setVisible(isinstance(state, Failed))
        self.look.setVisible(isinstance(state, Empty) and model.pile == "open")
        self.go.setVisible(isinstance(state, Empty) and model.pile == "open")
        if isinstance(state, Empty):
            self.note.say("git-merge" if is_first else "circle-check", state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The inbox can't be read"), state.message)
        elif not is_full:
            self.note.say("clock", tr("Reading the store…"))
        self._cards_and_card.setCurrentWidget(self._card_side if is_full else self.note)
        with QSignalBlocker(self.put_off):
            self.put_off.setChecked(model.pile == "later")
        self.put_off.setText(tr("Put off ({count})", count=number(model.later_count)))
        self.put_off.setVisible(model.later_count > 0 or model.pile == "later")
        count = len(model.exact)
        self.exact.setText(tr_count("Merge {count} exact duplicate", "Merge all {count} exact duplicates", count))
        self.exact.setToolTip(tr("One step, one undo (Ctrl+Shift+M)"))
        self.exact.setVisible(count > 1 and model.pile == "open" and model.can_write)
        self.card.show_later_title(tr("Bring back") if model.pile == "later" else tr("Later"))
        self._show_tabs()
        self._show_agent()
        self._show_selection()

    def _show_tabs(self) -> None:
        open_cards = len(self._viewmodel.cards.lines)
        self.tabs.setTabText(0, tr("Inbox ({count})", count=number(open_cards)) if open_cards else tr("Inbox"))
        past = len(self._cycles.history)
        self.tabs.setTabText(1, tr("Past cycles ({count})", count=number(past)) if past else tr("Past cycles"))

    def _show_agent(self) -> None:
        at = self._viewmodel.agents.row_of(self._viewmodel.agent_id)
        if at is not None:
            with QSignalBlocker(self.agent):
                self.agent.setCurrentIndex(at)

    def _show_selection(self) -> None:
        at = self._viewmodel.cards.row_of(self._viewmodel.selected_id)
        if at is not None and self.list.currentIndex().row() != at:
            flags = QItemSelectionModel.SelectionFlag
            self.list.selectionModel().setCurrentIndex(self._viewmodel.cards.index(at), flags.ClearAndSelect)

    def _on_current(self) -> None:
        at = self.list.currentIndex().row()
        if at >= 0:
            self._viewmodel.select(self._viewmodel.cards.lines[at].id)

    def _show_card(self) -> None:
        card = self._viewmodel.card
        if isinstance(card, Card):
            self.card.show_card(card, may_decide=self._viewmodel.can_decide)
            self._right.setCurrentWidget(self.card)
        elif isinstance(card, CardUnread):
            self.trouble.say("circle-alert", tr("This card can't be read"), card.message)
            self._right.setCurrentWidget(self.trouble)
        else:
            self.trouble.say("clock", tr("No card selected"))
            self._right.setCurrentWidget(self.trouble)
        self.hint.setVisible(isinstance(card, Card))
        self._show_selection()
        self._show_draft()

    def _show_draft(self) -> None:
        model = self._viewmodel
        draft = model.draft
        self.hint.setText(tr(_EDITING_KEYS) if model.is_editing else tr(_KEYS))
        self.card.show_draft(
            is_editing=model.is_editing,
            text=model.draft_text,
            added=draft.added if draft else (),
            removed=draft.removed if draft else (),
            cautions=draft.cautions if draft else (),
        )
        if not model.is_editing and isinstance(model.card, Card):
            self.card.show_card(model.card, may_decide=model.can_decide)

    def _stop_editing(self) -> None:
        self._viewmodel.stop_editing()
        self.list.setFocus()

    def _show_running(self) -> None:
        for button in (self.dry_run, self.look):
            button.setEnabled(self._cycles.can_run)
        for button in (self.run_cycle, self.go):
            button.setEnabled(self._cycles.can_write)

    # deeds

    def _run(self, *, dry_run: bool) -> None:
        self._cycles.run(self._viewmodel.agent_id, dry_run=dry_run)

    def _accept(self) -> None:
        was_editing = self._viewmodel.is_editing
        self._viewmodel.accept()
        if was_editing:
            self.list.setFocus()

    def _is_in_front(self) -> bool:
        return self.tabs.currentIndex() == 0

    def _may_decide(self) -> bool:
        return self._is_in_front() and self._viewmodel.can_decide and not self._viewmodel.is_editing

    def _may_accept(self) -> bool:
        return self._is_in_front() and self._viewmodel.can_accept and not self._viewmodel.is_editing

    def _may_edit(self) -> bool:
        card = self._viewmodel.card
        return self._may_accept() and isinstance(card, Card) and card.can_edit

    def _may_step(self) -> bool:
        return self._is_in_front() and bool(self._viewmodel.cards.lines) and not self._viewmodel.is_editing
