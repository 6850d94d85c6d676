"""What was edited in the vault, one card at a time: the same card and keys as for consolidation."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QListView, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.proposal_cards import Card
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.consolidate import CardUnread, ConsolidateViewModel
from gm_desktop.viewmodels.states import Failed, Full
from gm_desktop.viewmodels.vault_watch import VaultWatch
from gm_desktop.widgets.basics import EmptyState, push_button, row, rule, text_label
from gm_desktop.widgets.card_delegate import CardDelegate
from gm_desktop.widgets.proposal_card import ProposalCard

LIST_WIDTH = 288
_KEYS = "→ accept   ← reject   ↓ later   E edit   J K next, previous"
_EDITING_KEYS = "Ctrl+Enter accept your text   Esc stop editing"
_SHOWN_PROBLEMS = 4


class VaultInboxPanel(QWidget):
    """A list of edits and the card of one of them."""

    fact_wanted = Signal(str)

    def __init__(self, viewmodel: ConsolidateViewModel, watch: VaultWatch, theme: Theme) -> None:
        super().__init__()
        self.viewmodel, self._watch, self._theme = viewmodel, watch, theme
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()

    def _make_widgets(self) -> None:
        self.list = QListView()
        self.list.setModel(self.viewmodel.cards)
        self.list.setItemDelegate(CardDelegate(self._theme, self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setAccessibleName(tr("Edits from the vault"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.card = ProposalCard(self._theme)
        self.look = push_button(tr("Look for edits"), "", self._watch.look)
        self.note = EmptyState(self._theme, "circle-check", "", "", (self.look,))
        self.watching = text_label("", "small", wrap=True)
        self.problems = text_label("", "small", wrap=True, selectable=True)
        self.hint = text_label(tr(_KEYS), "small")

    def _lay_out(self) -> None:
        self._side = QWidget()
        self._side.setFixedWidth(LIST_WIDTH)
        column = QVBoxLayout(self._side)
        column.setContentsMargins(0, 12, 12, 12)
        column.addWidget(self.list, 1)
        self._right = QWidget()
        inner = QVBoxLayout(self._right)
        inner.setContentsMargins(0, 12, 0, 0)
        inner.addWidget(self.card, 1)
        inner.addLayout(row(self.hint, margins=(MARGIN, 0, MARGIN, 10)))
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(self._right)
        line = QHBoxLayout()
        line.setSpacing(0)
        line.addWidget(self._side)
        line.addWidget(rule(vertical=True))
        line.addWidget(self._stack, 1)
        foot = QVBoxLayout()
        foot.setContentsMargins(0, 0, MARGIN, 10)
        foot.addWidget(self.problems)
        foot.addWidget(self.watching)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(line, 1)
        layout.addLayout(foot)

    def _wire(self) -> None:
        model, card = self.viewmodel, self.card
        model.state_changed.connect(self._show_state)
        model.card_changed.connect(self._show_card)
        model.draft_changed.connect(self._show_card)
        self._watch.changed.connect(self._show_watch)
        self.list.selectionModel().currentChanged.connect(self._on_current)
        card.accept_wanted.connect(self.accept)
        card.reject_wanted.connect(model.reject)
        card.later_wanted.connect(model.later)
        card.never_wanted.connect(model.never_again)
        card.edit_wanted.connect(model.edit)
        card.edit_ended.connect(self._stop_editing)
        card.edited.connect(model.set_draft)
        card.keep_wanted.connect(model.keep)
        card.fact_wanted.connect(self.fact_wanted)

    def specs(self) -> tuple[ActionSpec, ...]:
        """What can be done with an edit, while this panel shows."""
        model = self.viewmodel

        def may_decide() -> bool:
            return self.isVisible() and model.can_decide and not model.is_editing

        def may_accept() -> bool:
            return self.isVisible() and model.can_accept and not model.is_editing

        def may_edit() -> bool:
            return may_accept() and isinstance(model.card, Card) and model.card.can_edit

        def may_step() -> bool:
            return self.isVisible() and bool(model.cards.lines) and not model.is_editing

        return (
            ActionSpec("edit.accept", tr("Accept the edit"), "check", "Right", may_accept, self.accept),
            ActionSpec("edit.reject", tr("Reject the edit"), "x", "Left", may_decide, model.reject),
            ActionSpec("edit.later", tr("Put the edit off"), "clock", "Down", may_decide, model.later),
            ActionSpec("edit.change", tr("Merge the edit by hand…"), "pencil", "E", may_edit, model.edit),
            ActionSpec("edit.next", tr("Next edit"), "", "J", may_step, lambda: model.step(1)),
            ActionSpec("edit.previous", tr("Previous edit"), "", "K", may_step, lambda: model.step(-1)),
            ActionSpec(
                "vault.look", tr("Look for edits in the vault"), "search", "Ctrl+L", self.isVisible, self._watch.look
            ),
        )

    def accept(self) -> None:
        """Does what the card says."""
        self.viewmodel.accept()
        self.list.setFocus()

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return not self.viewmodel.is_waiting and not self._watch.is_waiting

    def _stop_editing(self) -> None:
        self.viewmodel.stop_editing()
        self.list.setFocus()

    def _on_current(self) -> None:
        at = self.list.currentIndex().row()
        if at >= 0:
            self.viewmodel.select(self.viewmodel.cards.lines[at].id)

    def _show_state(self) -> None:
        state = self.viewmodel.state
        is_full = isinstance(state, Full)
        if isinstance(state, Failed):
            self.note.say("circle-alert", tr("The inbox can't be read"), state.message)
        elif not is_full:
            self.note.say(
                "circle-check",
                tr("No edits wait"),
                tr("Change a note in Obsidian, and the change waits here until you accept it."),
            )
        self._side.setVisible(is_full)
        self._stack.setCurrentWidget(self._right if is_full else self.note)
        self._show_watch()
        self._show_card()

    def _show_watch(self) -> None:
        problems = self._watch.problems
        shown = [tr_count("{count} note needs a look", "{count} notes need a look", len(problems))]
        shown += problems[:_SHOWN_PROBLEMS]
        self.problems.setText("\n".join(shown))
        self.problems.setVisible(bool(problems))
        is_watching = self._watch.is_watching
        self.watching.setText(
            tr("Watching the vault: edits appear here by themselves")
            if is_watching
            else tr("Not watching: publish to a vault first")
        )

    def _show_card(self) -> None:
        model = self.viewmodel
        card = model.card
        self.hint.setText(tr(_EDITING_KEYS) if model.is_editing else tr(_KEYS))
        if isinstance(card, Card):
            self.card.show_card(card, may_decide=model.can_decide)
        self.card.setVisible(isinstance(card, Card))
        if isinstance(card, CardUnread):
            self.hint.setText(card.message)
        draft = model.draft
        self.card.show_draft(
            is_editing=model.is_editing,
            text=model.draft_text,
            added=draft.added if draft else (),
            removed=draft.removed if draft else (),
            cautions=draft.cautions if draft else (),
        )
        if not model.is_editing and isinstance(card, Card):
            self.card.show_card(card, may_decide=model.can_decide)
        at = model.cards.row_of(model.selected_id)
        if at is not None and self.list.currentIndex().row() != at:
            flags = QItemSelectionModel.SelectionFlag
            self.list.selectionModel().setCurrentIndex(model.cards.index(at), flags.ClearAndSelect)
