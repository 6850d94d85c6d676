"""The Consolidate page: the inbox of what waits; cycles, dry and real, and those of the past."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractButton, QApplication, QVBoxLayout, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.formatting import number
from gm_desktop.i18n import tr
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.cycles import CyclesViewModel
from gm_desktop.viewmodels.inbox import InboxViewModel
from gm_desktop.views.cycles import CycleReportPanel, HistoryPanel
from gm_desktop.views.inbox import InboxView, InboxWords
from gm_desktop.widgets.basics import PageHeader, document_tabs, push_button
from gm_desktop.widgets.keys import begin_when_clicked, keep_keys


class ConsolidatePage(Page):
    """The inbox, and beside it past cycles."""

    page_id = "consolidate"
    fact_wanted = Signal(str)

    def __init__(self, viewmodel: InboxViewModel, cycles: CyclesViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._cycles, self._theme = viewmodel, cycles, theme
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_tabs()
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
        self.look = push_button(tr("Dry run"), "", lambda: self._run(dry_run=True))
        self.go = push_button(tr("Run a cycle"), "primary", lambda: self._run(dry_run=False))
        self.inbox = InboxView(self._viewmodel, self._theme, _words(), (self.look, self.go))
        self.report = CycleReportPanel(self._cycles, self._theme)
        self.history = HistoryPanel(self._cycles, self._theme)

    def _lay_out(self) -> None:
        self.tabs = document_tabs()
        self.tabs.addTab(self.inbox, tr("Inbox"))
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
        begin_when_clicked(self.tabs.tabBar(), self.activate)
        self._viewmodel.state_changed.connect(self._show_tabs)
        self._cycles.running_changed.connect(self._show_running)
        self._cycles.history_changed.connect(self._show_tabs)
        self.inbox.fact_wanted.connect(self.fact_wanted)

    # Page

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done with a card, and with cycles."""
        cycles = self._cycles
        return (
            *self.inbox.specs(),
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
        """Work begins in the list of the open tab."""
        if self.tabs.currentWidget() is self.history:
            self.history.focus()
        else:
            self.inbox.focus_list()

    def open_agent(self, agent_id: str) -> None:
        """Shows the cards of one agent."""
        self._viewmodel.set_group(agent_id)

    def save_state(self) -> dict[str, str]:
        """The tab and the agent."""
        return {"tab": str(self.tabs.currentIndex()), "agent": self._viewmodel.group or ""}

    def restore_state(self, state: dict[str, str]) -> None:
        """Takes tab and agent back."""
        if state.get("tab", "").isdecimal():
            self.tabs.setCurrentIndex(int(state["tab"]))
        self._viewmodel.set_group(state.get("agent") or None)

    def landmark(self) -> QWidget:
        """The cards of the inbox."""
        self.tabs.setCurrentWidget(self.inbox)
        return self.inbox.list

    def prepare_screenshot(self) -> None:
        """Runs a cycle, so that there are cards."""
        self._run(dry_run=False)

    def be_looked_at(self, is_looked_at: bool) -> None:
        """Cards are read while the page shows."""
        self._viewmodel.look(is_looked_at)

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return self.inbox.is_settled() and not self._cycles.is_waiting

    # state

    def _show_tabs(self) -> None:
        open_cards = len(self._viewmodel.cards.lines)
        self.tabs.setTabText(0, tr("Inbox ({count})", count=number(open_cards)) if open_cards else tr("Inbox"))
        past = len(self._cycles.history)
        self.tabs.setTabText(1, tr("Past cycles ({count})", count=number(past)) if past else tr("Past cycles"))

    def _show_running(self) -> None:
        focused = QApplication.focusWidget()
        if self._cycles.is_running and isinstance(focused, QAbstractButton) and self.isAncestorOf(focused):
            self.activate()  # a button switched off would hand the keyboard to the tabs
        for button in (self.dry_run, self.look):
            button.setEnabled(self._cycles.can_run)
        for button in (self.run_cycle, self.go):
            button.setEnabled(self._cycles.can_write)

    def _run(self, *, dry_run: bool) -> None:
        self._cycles.run(self._viewmodel.group, dry_run=dry_run)


def _words() -> InboxWords:
    return InboxWords(
        prefix="card",
        icon="git-merge",
        cards=tr("Cards"),
        groups=tr("Agent"),
        accept=tr("Accept the card"),
        reject=tr("Reject the card"),
        later=tr("Put the card off"),
        edit=tr("Edit the card's result…"),
        never=tr("Never propose this again"),
        following=tr("Next card"),
        previous=tr("Previous card"),
        bulk=tr("Merge all exact duplicates"),
        bulk_keys="Ctrl+Shift+M",
    )
