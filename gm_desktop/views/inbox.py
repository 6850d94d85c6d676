"""An inbox: a list at the side, one card, decisions by arrow keys. Pages put it where they need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QItemSelectionModel, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QListView,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.actions import ActionSpec
from gm_desktop.formatting import number
from gm_desktop.i18n import tr
from gm_desktop.models.agent_list import AGENT_ROLE
from gm_desktop.models.proposal_cards import Card
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.inbox import CardUnread, InboxViewModel
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.widgets.basics import EmptyState, push_button, row, rule, text_label
from gm_desktop.widgets.card_delegate import CardDelegate
from gm_desktop.widgets.keys import keep_keys
from gm_desktop.widgets.proposal_card import ProposalCard

LIST_WIDTH = 288
_KEYS = "→ accept   ← reject   ↓ later   E edit   X never again   J K next, previous"
_EDITING_KEYS = "Ctrl+Enter accept your text   Esc stop editing"


@dataclass(frozen=True, slots=True)
class InboxWords:
    """What an inbox calls its things. `prefix` begins the ids of its actions; `groups` names the box of filters."""

    prefix: str
    icon: str
    cards: str
    groups: str
    accept: str
    reject: str
    later: str
    edit: str
    never: str
    following: str
    previous: str
    bulk: str
    bulk_keys: str


class InboxView(QWidget):
    """The list, the card and their keys. `buttons` stand below the sentence that says why it is empty."""

    fact_wanted = Signal(str)

    def __init__(
        self, viewmodel: InboxViewModel, theme: Theme, words: InboxWords, buttons: Sequence[QPushButton] = ()
    ) -> None:
        super().__init__()
        self.viewmodel, self._theme, self._words, self._buttons = viewmodel, theme, words, tuple(buttons)
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()
        self._show_card()

    def _make_widgets(self) -> None:
        model, words = self.viewmodel, self._words
        self.group = QComboBox()
        self.group.setModel(model.groups)
        self.group.setAccessibleName(words.groups)
        self.put_off = push_button("", "chip")
        self.put_off.setToolTip(tr("Show the cards that were put off"))
        self.bulk = push_button("", "link", model.accept_bulk)
        self.bulk.setToolTip(tr("One step, one undo ({keys})", keys=words.bulk_keys))
        self.list = QListView()
        self.list.setModel(model.cards)
        self.list.setItemDelegate(CardDelegate(self._theme, self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setAccessibleName(words.cards)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.card = ProposalCard(self._theme)
        self.trouble = EmptyState(self._theme, "circle-alert", "")
        self.retry = push_button(tr("Try again"), "", model.reload)
        self.note = EmptyState(self._theme, words.icon, "", "", (self.retry, *self._buttons))
        self.hint = text_label("", "small", wrap=True)
        keep_keys(self.group, self.put_off)

    def _lay_out(self) -> None:
        self.side = QWidget()
        self.side.setFixedWidth(LIST_WIDTH)
        column = QVBoxLayout(self.side)
        column.setContentsMargins(0, 12, 12, 12)
        column.setSpacing(8)
        column.addLayout(row(self.group, self.put_off))
        column.addLayout(row(self.bulk, 1))
        column.addWidget(self.list, 1)
        self._right = QStackedWidget()
        for page in (self.trouble, self.card):
            self._right.addWidget(page)
        self._card_side = QWidget()
        inner = QVBoxLayout(self._card_side)
        inner.setContentsMargins(0, 12, 0, 0)
        inner.setSpacing(0)
        inner.addWidget(self._right, 1)
        inner.addLayout(row(self.hint, margins=(MARGIN, 0, MARGIN, 10)))
        self._note_or_card = QStackedWidget()
        self._note_or_card.addWidget(self.note)
        self._note_or_card.addWidget(self._card_side)
        self._rule = rule(vertical=True)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(0)
        line.addWidget(self.side)
        line.addWidget(self._rule)
        line.addWidget(self._note_or_card, 1)

    def _wire(self) -> None:
        model, card = self.viewmodel, self.card
        model.state_changed.connect(self._show_state)
        model.card_changed.connect(self._show_card)
        model.draft_changed.connect(self._show_draft)
        model.group_changed.connect(self._show_group)
        model.groups.modelReset.connect(self._show_group)
        self.group.activated.connect(lambda _at: model.set_group(self.group.currentData(AGENT_ROLE)))
        self.put_off.toggled.connect(lambda is_on: model.set_pile("later" if is_on else "open"))
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
        """What can be done with a card while the inbox shows."""
        model, words = self.viewmodel, self._words
        prefix, may_decide, may_step = words.prefix, self._may_decide, self._may_step
        return (
            ActionSpec(f"{prefix}.accept", words.accept, "check", "Right", self._may_accept, self.accept),
            ActionSpec(f"{prefix}.reject", words.reject, "x", "Left", may_decide, model.reject),
            ActionSpec(f"{prefix}.later", words.later, "clock", "Down", may_decide, model.later),
            ActionSpec(f"{prefix}.edit", words.edit, "pencil", "E", self._may_edit, model.edit),
            ActionSpec(f"{prefix}.never", words.never, "", "X", may_decide, model.never_again),
            ActionSpec(f"{prefix}.next", words.following, "", "J", may_step, lambda: model.step(1)),
            ActionSpec(f"{prefix}.previous", words.previous, "", "K", may_step, lambda: model.step(-1)),
            ActionSpec(
                f"{prefix}.bulk", words.bulk, "", words.bulk_keys, self._may_bulk, model.accept_bulk, words="bulk all"
            ),
        )

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return not self.viewmodel.is_waiting

    def focus_list(self) -> None:
        """Work begins in the list."""
        self.list.setFocus()

    def accept(self) -> None:
        """Does what the card says."""
        was_editing = self.viewmodel.is_editing
        self.viewmodel.accept()
        if was_editing:
            self.list.setFocus()

    # --- state -----------------------------------------------------------------------------------------------------

    def _show_state(self) -> None:
        model = self.viewmodel
        state = model.state
        is_full = isinstance(state, Full)
        self.retry.setVisible(isinstance(state, Failed))
        for button in self._buttons:
            button.setVisible(isinstance(state, Empty) and model.pile == "open")
        if isinstance(state, Empty):
            is_first = not model.later_count and model.pile == "open"
            self.note.say(self._words.icon if is_first else "circle-check", state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The inbox can't be read"), state.message)
        elif not is_full:
            self.note.say("clock", tr("Reading the store…"))
        self._note_or_card.setCurrentWidget(self._card_side if is_full else self.note)
        with QSignalBlocker(self.put_off):
            self.put_off.setChecked(model.pile == "later")
        self.put_off.setText(tr("Put off ({count})", count=number(model.later_count)))
        self.put_off.setVisible(model.later_count > 0 or model.pile == "later")
        self.bulk.setText(model.subject.bulk_title(len(model.bulk)))
        self.bulk.setVisible(len(model.bulk) > 1 and model.pile == "open" and model.can_write)
        self.card.show_later_title(tr("Bring back") if model.pile == "later" else tr("Later"))
        has_side = is_full or len(model.groups.lines) > 1 or model.later_count > 0 or model.pile == "later"
        self.side.setVisible(has_side)
        self._rule.setVisible(has_side)
        self.note.setContentsMargins(0, 0, 0 if has_side else MARGIN, 0)  # the page has one at the left
        self._show_group()
        self._show_selection()

    def _show_group(self) -> None:
        at = self.viewmodel.groups.row_of(self.viewmodel.group)
        if at is not None:
            with QSignalBlocker(self.group):
                self.group.setCurrentIndex(at)

    def _show_selection(self) -> None:
        at = self.viewmodel.cards.row_of(self.viewmodel.selected_id)
        if at is not None and not self.list.selectionModel().isRowSelected(at):
            flags = QItemSelectionModel.SelectionFlag
            self.list.selectionModel().setCurrentIndex(self.viewmodel.cards.index(at), flags.ClearAndSelect)

    def _on_current(self) -> None:
        at = self.list.currentIndex().row()
        if at >= 0:
            self.viewmodel.select(self.viewmodel.cards.lines[at].id)

    def _show_card(self) -> None:
        card = self.viewmodel.card
        if isinstance(card, Card):
            self.card.show_card(card, may_decide=self.viewmodel.can_decide)
            self._right.setCurrentWidget(self.card)
        elif isinstance(card, CardUnread):
            self.trouble.say("circle-alert", tr("This card can't be read"), card.message)
            self._right.setCurrentWidget(self.trouble)
        else:
            is_coming = self.viewmodel.selected_id is not None
            self.trouble.say("clock", tr("Reading the card…") if is_coming else tr("No card selected"))
            self._right.setCurrentWidget(self.trouble)
        self.hint.setVisible(isinstance(card, Card))
        self._show_selection()
        self._show_draft()

    def _show_draft(self) -> None:
        model = self.viewmodel
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
        self.viewmodel.stop_editing()
        self.list.setFocus()

    def _may_decide(self) -> bool:
        return self.isVisible() and self.viewmodel.can_decide and not self.viewmodel.is_editing

    def _may_accept(self) -> bool:
        return self._may_decide() and self.viewmodel.can_accept

    def _may_edit(self) -> bool:
        card = self.viewmodel.card
        return self._may_accept() and isinstance(card, Card) and card.can_edit

    def _may_step(self) -> bool:
        return self.isVisible() and bool(self.viewmodel.cards.lines) and not self.viewmodel.is_editing

    def _may_bulk(self) -> bool:
        return self.isVisible() and bool(self.viewmodel.bulk) and self.viewmodel.can_write
