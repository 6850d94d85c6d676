"""The Checkpoints page: a timeline of what agents saved; one of them with all that is in it, and a verdict on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QMenu,
    QStackedWidget,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.actions import ActionSpec
from gm_desktop.formatting import number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.page import Page
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.viewmodels.checkpoint_details import CheckpointDetails, CheckpointUnread, DamagedCheckpoint
from gm_desktop.viewmodels.checkpoints import CheckpointsViewModel
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.views.checkpoint_actions import CheckpointActions
from gm_desktop.views.checkpoint_changes import ChangesPanel
from gm_desktop.views.checkpoint_moment import MomentPanel
from gm_desktop.views.checkpoint_timeline import CheckpointTimeline
from gm_desktop.views.json_dialog import JsonDialog
from gm_desktop.widgets.basics import (
    EmptyState,
    PageHeader,
    YieldingLabel,
    document_tabs,
    icon_button,
    push_button,
    rule,
    text_label,
)
from gm_desktop.widgets.conversation import Conversation
from gm_desktop.widgets.line_view import LINE_INDENT
from gm_desktop.widgets.name_values import NameValues
from gm_desktop.widgets.review_bar import ReviewBar
from gm_desktop.widgets.scrolled import scroll_area
from gm_desktop.widgets.state_delegate import StateDelegate

STATE, MESSAGES, CHANGES, MOMENT, METADATA = range(5)


class CheckpointsPage(Page):
    """A timeline on the left, one checkpoint on the right, the verdict below. `fact_wanted(id)` opens a fact."""

    page_id = "checkpoints"
    fact_wanted = Signal(str)

    def __init__(self, viewmodel: CheckpointsViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._conversation_of: CheckpointDetails | None = None
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()
        self._show_details()
        self._show_review()

    def _make_widgets(self) -> None:
        model = self._viewmodel
        self._actions = CheckpointActions(
            model,
            self,
            chosen_part=self._chosen_part,
            give_verdict=self._give_verdict,
            show_changes=self.show_changes,
        )
        self.header = PageHeader(tr("Checkpoints"), tr("What agents saved to resume from"))
        self.timeline = CheckpointTimeline(model, self._theme)
        self.list = self.timeline.list
        self._make_tree()
        self.conversation = Conversation(self._theme)
        self.changes = ChangesPanel(model.compare, self._theme)
        self.moment = MomentPanel(model.moment, self._theme)
        self.metadata = NameValues()
        self.edit_metadata = push_button(tr("Edit metadata…"), "link", self._actions.edit_metadata)
        self._silent = EmptyState(
            self._theme, "messages-square", tr("No messages"), tr("This checkpoint holds state only.")
        )
        self._stateless = EmptyState(self._theme, "braces", tr("No state"), tr("This checkpoint holds messages only."))
        self._title, self._age = text_label("", "heading"), YieldingLabel("", "small")
        self.make_current = push_button(tr("Make current"), "", self._actions.make_current)
        self.make_current.setToolTip(tr("Save a copy that the agent resumes from next (Ctrl+Shift+M)"))
        self.more = icon_button(self._theme, "ellipsis", tr("More actions"))
        self._more_menu = QMenu(self)
        self._more_menu.aboutToShow.connect(self._fill_more)
        self.more.setMenu(self._more_menu)
        self.more.setPopupMode(self.more.ToolButtonPopupMode.InstantPopup)
        self.review = ReviewBar(
            self._theme,
            (("approved", tr("Approve"), "A"), ("needs_work", tr("Needs work"), "W"), ("rejected", tr("Reject"), "R")),
        )
        self.retry = push_button(tr("Try again"), "", model.reload)
        self.note = EmptyState(self._theme, "bookmark", "", "", (self.retry,))
        self.open_again = push_button(tr("Try again"), "", model.open_again)
        self.rescue = push_button(tr("Save damaged record…"), "", self._actions.rescue)
        self.trouble = EmptyState(self._theme, "triangle-alert", "", "", (self.open_again, self.rescue))
        self.dialog = JsonDialog(model.edit, self._theme, self)

    def _make_tree(self) -> None:
        self.tree = QTreeView()
        self.tree.setModel(self._viewmodel.tree)
        self.tree.setItemDelegate(StateDelegate(self._theme, self.tree))
        self.tree.setUniformRowHeights(True)
        self.tree.setFrameShape(QFrame.Shape.NoFrame)
        self.tree.setAccessibleName(tr("State"))
        self.tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        self.tree.header().setStretchLastSection(True)
        self.tree.header().resizeSection(0, 240)
        self.tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)

    def _lay_out(self) -> None:
        self._tabs = document_tabs(overhang=LINE_INDENT)
        self._tabs.addTab(self._state_tab(), tr("State"))
        self._tabs.addTab(self._messages_tab(), tr("Conversation"))
        self._tabs.addTab(self.changes, tr("What changed"))
        self._tabs.addTab(self.moment, tr("Known then"))
        self._tabs.addTab(self._metadata_tab(), tr("Metadata"))
        shown = QWidget()
        inner = QVBoxLayout(shown)
        inner.setContentsMargins(MARGIN - LINE_INDENT, 0, MARGIN, 0)  # texts of lists stand below the tabs
        inner.addWidget(self._tabs)
        self._right = QStackedWidget()
        for page in (self.trouble, shown):
            self._right.addWidget(page)
        self._shown = shown
        self._both = QWidget()
        line = QHBoxLayout(self._both)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(0)
        line.addWidget(self.timeline)
        line.addWidget(rule(vertical=True))
        line.addLayout(self._opened(), 1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(self._both)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addWidget(self._stack, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def _opened(self) -> QVBoxLayout:
        titles = QVBoxLayout()
        titles.setSpacing(2)
        titles.addWidget(self._title)
        titles.addWidget(self._age)
        head = QHBoxLayout()
        head.setContentsMargins(MARGIN, 0, MARGIN, 0)
        head.setSpacing(SPACE)
        head.addLayout(titles, 1)
        head.addWidget(self.make_current)
        head.addWidget(self.more)
        column = QVBoxLayout()
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(self.review)
        column.addWidget(self._right, 1)
        return column

    def _state_tab(self) -> QWidget:
        self._state_stack = QStackedWidget()
        self._state_stack.addWidget(self.tree)
        self._state_stack.addWidget(self._stateless)
        return self._state_stack

    def _messages_tab(self) -> QWidget:
        self._messages_stack = QStackedWidget()
        page = QWidget()
        inner = QVBoxLayout(page)
        inner.setContentsMargins(LINE_INDENT, 12, 0, 0)
        inner.addWidget(self.conversation)
        self._messages_stack.addWidget(page)
        self._messages_stack.addWidget(self._silent)
        return self._messages_stack

    def _metadata_tab(self) -> QWidget:
        body = QWidget()
        inner = QVBoxLayout(body)
        inner.setContentsMargins(LINE_INDENT, 14, 0, 0)
        inner.setSpacing(12)
        inner.addWidget(self.metadata)
        inner.addWidget(self.edit_metadata, 0, Qt.AlignmentFlag.AlignLeft)
        inner.addStretch(1)
        return scroll_area(body)

    def _wire(self) -> None:
        model = self._viewmodel
        model.state_changed.connect(self._show_state)
        model.details_changed.connect(self._show_details)
        model.review_changed.connect(self._show_review)
        self.list.customContextMenuRequested.connect(lambda at: self._open_menu(self.list.viewport().mapToGlobal(at)))
        self.tree.customContextMenuRequested.connect(lambda at: self._open_menu(self.tree.viewport().mapToGlobal(at)))
        self._tabs.currentChanged.connect(self._on_tab)
        self.review.verdict_chosen.connect(model.give_verdict)
        self.moment.fact_wanted.connect(self.fact_wanted)

    # Page

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done to a checkpoint."""
        return self._actions.specs()

    def activate(self) -> None:
        """Work begins in the list."""
        self.list.setFocus()

    def open_agent(self, agent_id: str) -> None:
        """Shows one agent's checkpoints."""
        self._viewmodel.set_agent(agent_id)

    def save_state(self) -> dict[str, str]:
        """The tab."""
        return {"tab": str(self._tabs.currentIndex())}

    def restore_state(self, state: dict[str, str]) -> None:
        """Takes the tab back."""
        if state.get("tab", "").isdecimal():
            self._tabs.setCurrentIndex(int(state["tab"]))

    def prepare_screenshot(self) -> None:
        """Shows what changed, with the first change in full."""
        self.tree.expandToDepth(0)
        self.show_changes()

    def screenshot_scenes(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        """State, conversation, and what was known then."""
        return tuple(
            (name, partial(self._tabs.setCurrentIndex, at))
            for name, at in (("state", STATE), ("conversation", MESSAGES), ("known-then", MOMENT))
        )

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

    def _show_details(self) -> None:
        details = self._viewmodel.details
        can_write = self._viewmodel.verbs.can_write
        self.make_current.setEnabled(can_write and isinstance(details, CheckpointDetails))
        self.edit_metadata.setVisible(can_write)
        self.review.set_can_write(can_write and self._viewmodel.selected_id is not None)
        if isinstance(details, CheckpointDetails):
            self._show_checkpoint(details)
            self._right.setCurrentWidget(self._shown)
        else:
            self._show_trouble()
            self._right.setCurrentWidget(self.trouble)

    def _show_trouble(self) -> None:
        details = self._viewmodel.details
        self.rescue.setVisible(isinstance(details, DamagedCheckpoint))
        self.open_again.setVisible(isinstance(details, CheckpointUnread))
        if isinstance(details, DamagedCheckpoint):
            self._show_head(details.agent, details.when, details.when_utc)
            reason = tr("Its record can't be read: {reason}.", reason=details.reason.rstrip("."))
            self.trouble.say("triangle-alert", tr("This checkpoint is damaged"), reason)
            return
        self._show_head("", "", "")
        if isinstance(details, CheckpointUnread):
            self.trouble.say("circle-alert", tr("This checkpoint can't be read"), details.message)
        else:
            self.trouble.say("bookmark", tr("No checkpoint selected"))

    def _show_head(self, title: str, below: str, hover: str) -> None:
        self._title.setText(title)
        self._age.setText(below)
        self._age.setToolTip(as_tip(hover))

    def _show_checkpoint(self, details: CheckpointDetails) -> None:
        parts = [
            details.when,
            tr_count("{count} key of state", "{count} keys of state", details.state_keys),
            tr_count("{count} message", "{count} messages", len(details.messages)),
            details.size,
        ]
        below = "  ·  ".join([*parts, *([details.origin] if details.origin else [])])
        self._show_head(details.agent, below, details.when_utc)
        self._tabs.setTabText(MESSAGES, tr("Conversation ({count})", count=number(len(details.messages))))
        self._show_messages()
        self._messages_stack.setCurrentIndex(0 if details.messages else 1)
        self._state_stack.setCurrentIndex(0 if details.state_keys else 1)
        self.metadata.show_rows(details.metadata)

    def _show_messages(self) -> None:
        """Setting Markdown takes time: only for somebody who looks."""
        details = self._viewmodel.details
        if self._tabs.currentIndex() != MESSAGES or not isinstance(details, CheckpointDetails):
            return
        if self._conversation_of is not details:
            self._conversation_of = details
            self.conversation.show_messages(details.messages)

    def _show_review(self) -> None:
        review = self._viewmodel.review
        when = tr("{verdict} on {when}", verdict=review.title, when=review.when) if review.when else ""
        self.review.show_review(
            self._viewmodel.selected_id or "",
            verdict=review.verdict,
            note=review.note,
            when=when,
            when_utc=review.when_utc,
        )

    # deeds

    def show_changes(self) -> None:
        """Opens the tab that says what changed."""
        self._tabs.setCurrentIndex(CHANGES)
        self.changes.focus()

    def _give_verdict(self, verdict: str) -> None:
        self.review.choose(verdict)

    def _chosen_part(self) -> tuple[str | int, ...]:
        is_here = self._tabs.currentIndex() == STATE
        return self._viewmodel.tree.path(self.tree.currentIndex()) if is_here else ()

    def _on_tab(self, at: int) -> None:
        self._viewmodel.compare.look(at == CHANGES)
        self._viewmodel.moment.look(at == MOMENT)
        self._show_messages()

    def _open_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._actions.fill(menu)
        menu.popup(at)

    def _fill_more(self) -> None:
        self._more_menu.clear()
        self._actions.fill(self._more_menu)
