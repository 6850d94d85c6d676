"""An inbox without widgets: what waits for a decision, one card at a time, by keyboard or many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.agent_list import AgentList
from gm_desktop.models.proposal_cards import Card, CardList
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.card_words import Draft, accepted_sentence, draft_of, read_card
from gm_desktop.viewmodels.inbox_listing import InboxSubject, Listed, Pile, count_open, list_cards
from gm_desktop.viewmodels.kept_drafts import KeptDrafts
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_engine import Changes, Proposal
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError

if TYPE_CHECKING:
    from gm_engine import BulkDecision, Memory

T = TypeVar("T")
FOLLOW_MS = 150
UNTOUCHED_MS = 30_000  # what was written has nothing to do with a card: looked at in passing, a long list is not cheap
DRAFT_MS = 120


@dataclass(frozen=True, slots=True)
class NoCard:
    """None is selected."""


@dataclass(frozen=True, slots=True)
class CardUnread:
    """It could not be read: a sentence."""

    message: str


CardState = NoCard | CardUnread | Card


class InboxViewModel(QObject):
    """Lists the cards of one group or of all, opens one at a time, and carries decisions to the engine.

    Cards are read while somebody looks at them; while nobody does, the open ones are only counted.
    """

    state_changed = Signal()
    group_changed = Signal()
    card_changed = Signal()
    draft_changed = Signal()

    def __init__(
        self,
        host: EngineHost,
        undo: UndoController,
        notices: Notices,
        clock: Clock,
        parent: QObject | None = None,
        *,
        subject: InboxSubject,
    ) -> None:
        super().__init__(parent)
        self.subject = subject
        self._host, self._undo, self._notices, self._clock = host, undo, notices, clock
        self.groups = AgentList(self)
        self.cards = CardList(self)
        self.group: str | None = None
        self.pile: Pile = "open"
        self.later_count = 0
        self.bulk: tuple[str, ...] = ()
        self.open_count = 0
        self._groups_of: Mapping[str, str | None] = {}
        self.state: PageState = Loading()
        self.card: CardState = NoCard()
        self.selected_id: str | None = None
        self.is_editing = False
        self.draft_text = ""
        self.draft: Draft | None = None
        self.is_deciding = False
        self._kept = KeptDrafts[str]()  # own texts that were begun and not accepted, by card
        self._left: str | None = None  # decided, and still shown until the list is read again
        self._listing, self._opening, self._drafting = Latest(), Latest(), Latest()
        self._counting = Latest()
        self._is_looked_at = self._is_stale = False
        self._named: frozenset[str] = frozenset()  # the facts that cards are about
        self._heard_of: frozenset[str] = frozenset()  # agents whose facts changed
        self._reload_soon = QTimer(self, singleShot=True)
        self._reload_soon.timeout.connect(self._follow)
        self._draft_soon = QTimer(self, singleShot=True, interval=DRAFT_MS)
        self._draft_soon.timeout.connect(self._compare_draft)
        host.changed.connect(self._on_changed)
        host.store_opened.connect(self._follow)
        host.store_closed.connect(self._on_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._listing.is_awaited or self._opening.is_awaited or self._drafting.is_awaited or self.is_deciding

    @property
    def can_write(self) -> bool:
        """Whether a store is open for writing."""
        return self._host.is_open and not self._host.read_only

    @property
    def can_decide(self) -> bool:
        """Whether the shown card can be decided on now: not while another one is about to take its place."""
        is_current = isinstance(self.card, Card) and self.card.id == self.selected_id and self.card.id != self._left
        return self.can_write and is_current and not self.is_deciding

    @property
    def can_accept(self) -> bool:
        """Whether the shown card can be accepted: none of its facts has changed."""
        return self.can_decide and isinstance(self.card, Card) and not self.card.stale

    @property
    def card_group(self) -> str | None:
        """The group that the open card belongs to."""
        return None if self.selected_id is None else self._groups_of.get(self.selected_id)

    # --- listing ---------------------------------------------------------------------------------------------------

    def set_group(self, group: str | None) -> None:
        """Shows the cards of one group; None: all."""
        if group != self.group:
            self.group = group
            self.group_changed.emit()
            self._follow()

    def set_pile(self, pile: Pile) -> None:
        """Shows what waits, or what was put off."""
        if pile != self.pile:
            self.pile = pile
            self.reload()

    def look(self, is_looked_at: bool) -> None:
        """Somebody looks at the cards, or no longer does."""
        self._is_looked_at = is_looked_at
        if is_looked_at and self._is_stale:
            self.reload()

    def reload(self) -> None:
        """Reads the list again."""
        self._reload_soon.stop()
        self._counting.cancel()
        self._is_stale = False
        self._listing.take(
            self._host.read(partial(list_cards, self.subject, self.group, self.pile), self._on_listed, self._on_failed)
        )

    def _follow(self) -> None:
        """Reads the list again for somebody who looks; for nobody, what is open is counted."""
        if self._is_looked_at:
            self.reload()
            return
        self._is_stale = True
        if self._host.is_open:
            self._counting.take(self._host.read(partial(count_open, self.subject), self._on_counted))

    def _on_counted(self, count: int) -> None:
        self.open_count = count
        self.state_changed.emit()

    def _on_listed(self, answer: Listed) -> None:
        was_left, self._left = self._left, None
        before = self.cards.row_of(self.selected_id)
        self.groups.set_lines(answer.groups)
        self.cards.set_lines(answer.lines)
        self.later_count, self.bulk, self._groups_of = answer.later, answer.bulk, answer.groups_of
        self.open_count, self._named = answer.open, answer.named
        if answer.lines:
            self._set_state(Full(len(answer.lines)))
        else:
            self._set_state(self._empty())
        if self.cards.row_of(self.selected_id) is None:
            self._tell_of_draft()
            row = min(before or 0, len(answer.lines) - 1)
            self.select(answer.lines[row].id if answer.lines else None)
        elif not self.is_editing:
            if self.selected_id == was_left:
                self.card_changed.emit()  # it stays: it can be decided on again
            self._open(self.selected_id)

    def _empty(self) -> Empty:
        if self.pile == "later":
            return Empty("none-later", tr("Nothing was put off"), tr("Cards that you put off with ↓ wait here."))
        if self.later_count:
            waiting = tr_count("{count} card was put off.", "{count} cards were put off.", self.later_count)
            return Empty("none", tr("Everything is decided"), waiting)
        return Empty("none", self.subject.empty_title, self.subject.empty_hint)

    def _on_failed(self, error: GrayMatterError) -> None:
        self._left = None
        self._set_state(Failed(sentence_for(error)))

    def _set_state(self, state: PageState) -> None:
        self.state = state
        self.state_changed.emit()

    # --- one card --------------------------------------------------------------------------------------------------

    def select(self, card_id: str | None) -> None:
        """Opens a card; a draft of the one before waits until that one is edited again."""
        if card_id == self.selected_id and not isinstance(self.card, CardUnread):
            return
        self.selected_id = card_id
        self._end_draft()
        if card_id is None:
            self._opening.cancel()
            self._show(NoCard())
        else:
            if not isinstance(self.card, Card):
                self.card_changed.emit()  # nothing is shown yet: say that it is read
            self._open(card_id)

    def step(self, by: int) -> None:
        """Opens the card `by` rows further, without deciding."""
        row = self.cards.row_of(self.selected_id)
        if row is not None and 0 <= row + by < len(self.cards.lines):
            self.select(self.cards.lines[row + by].id)

    def _open(self, card_id: str | None) -> None:
        if card_id is not None:
            job = partial(_read_card, card_id, self._clock.now_ns())
            self._opening.take(
                self._host.read(job, self._show, lambda error: self._show(CardUnread(sentence_for(error))))
            )

    def _show(self, card: CardState) -> None:
        if card != self.card:
            self.card = card
            self.card_changed.emit()

    # --- editing ---------------------------------------------------------------------------------------------------

    def edit(self) -> None:
        """Starts an own text from the proposed result, or goes on with one that was left."""
        if self.can_accept and isinstance(self.card, Card) and self.card.can_edit and not self.is_editing:
            self.is_editing, self.draft_text = True, self._kept.take(self.card.id, self.card.result)
            self.draft = Draft(self.card.added, tuple(fact.removed for fact in self.card.goes), self.card.cautions)
            self.draft_changed.emit()
            if self.draft_text != self.card.result:
                self._compare_draft()

    def set_draft(self, text: str) -> None:
        """The person typed; what it loses is compared a moment later."""
        self.draft_text = text
        self._draft_soon.start()

    def _compare_draft(self) -> None:
        if self.is_editing and isinstance(self.card, Card):
            card, text = self.card, self.draft_text
            self._drafting.take(self._host.read(lambda _memory: draft_of(card, text), self._on_draft))

    def _on_draft(self, draft: Draft) -> None:
        if self.is_editing:
            self.draft = draft
            self.draft_changed.emit()

    def stop_editing(self) -> None:
        """Drops the own text."""
        self.draft_text = ""
        self._end_draft()
        self.draft_changed.emit()

    @property
    def _own_text(self) -> str:
        """What the person wrote on the shown card, where that is something else than was proposed."""
        card = self.card
        return self.draft_text if self.is_editing and isinstance(card, Card) and self.draft_text != card.result else ""

    def _tell_of_draft(self) -> None:
        """The edited card left the list: another program decided it, or what it was about is gone."""
        text = self._own_text
        if text and not self.is_deciding:
            self._notices.show(
                tr("The card that you were editing left the list. Your text was not written."),
                level="error",
                action=(tr("Copy my text"), lambda: QGuiApplication.clipboard().setText(text)),
            )

    def _end_draft(self) -> None:
        self._draft_soon.stop()
        self._drafting.cancel()
        if self._own_text.strip() and isinstance(self.card, Card):
            self._kept.keep(self.card.id, self._own_text)
        self.is_editing, self.draft_text, self.draft = False, "", None

    # --- deciding --------------------------------------------------------------------------------------------------

    def accept(self) -> None:
        """Does what the card says, with the own text where there is one."""
        if self.can_accept:
            edited = self.draft_text if self.is_editing else None
            self._accept(lambda memory, card_id: memory.inbox.accept(card_id, edited=edited))

    def keep(self, fact_id: str) -> None:
        """Accepts the card, but another of its facts stays."""
        if self.can_accept:
            self._accept(lambda memory, card_id: memory.inbox.accept(card_id, keep=fact_id))

    def _accept(self, verb: Callable[[Memory, str], Proposal]) -> None:
        card = self.card
        assert isinstance(card, Card)  # noqa: S101  (`can_accept` says so)

        def done(accepted: Proposal) -> None:
            self._undo.did(accepted_sentence(card, accepted), accepted.seq)
            self._decided()

        self._decide(lambda memory: verb(memory, card.id), done)

    def reject(self) -> None:
        """Turns the card down; the same is not proposed while these facts stay as they are."""
        self._turn(tr("Rejected a proposal"), lambda memory, card_id: memory.inbox.reject(card_id))

    def never_again(self) -> None:
        """Turns the card down for good."""
        self._turn(tr("Rejected a proposal for good"), lambda memory, card_id: memory.inbox.never_again(card_id))

    def later(self) -> None:
        """Puts the card off; one that was put off comes back."""
        if self.pile == "later":
            self._turn(tr("Brought a card back"), lambda memory, card_id: memory.inbox.reopen(card_id))
        else:
            self._turn(tr("Put a card off"), lambda memory, card_id: memory.inbox.later(card_id))

    def _turn(self, said: str, verb: Callable[[Memory, str], tuple[Proposal, ...]]) -> None:
        card = self.card
        if not self.can_decide or not isinstance(card, Card):
            return

        def done(proposals: tuple[Proposal, ...]) -> None:
            self._undo.did(said, proposals[0].seq)
            self._decided()

        self._decide(lambda memory: verb(memory, card.id), done)

    def _decide(self, job: Callable[[Memory], T], done: Callable[[T], None]) -> None:
        self.is_deciding = True

        def failed(error: GrayMatterError) -> None:
            self.is_deciding = False
            self._notices.show_failure(error)
            self._follow()

        self._host.write(job, done, failed)

    def _decided(self) -> None:
        self.is_deciding = False
        self._left = self.selected_id
        self._end_draft()
        if self._left is not None:
            self._kept.forget(self._left)
        self._follow()

    def accept_bulk(self) -> None:
        """Accepts every card in sight that needs no look of its own, as one step; what has changed is left."""
        ids = self.bulk
        if not ids or not self.can_write or self.is_deciding:
            return
        self.is_deciding = True

        def done(decision: BulkDecision) -> None:
            if decision.seq is not None:
                self._undo.did(self.subject.bulk_said(len(decision.accepted)), decision.seq)
            if decision.left:
                self._notices.show(
                    tr_count(
                        "{count} card was left: {why}",
                        "{count} cards were left: {why}",
                        len(decision.left),
                        why=decision.left[0].reason,
                    ),
                    level="warning",
                )
            self._decided()

        def failed(error: GrayMatterError) -> None:
            self.is_deciding = False
            self._notices.show_failure(error)
            self._follow()

        self._host.run_task(
            self.subject.bulk_title(len(ids)),
            lambda memory, progress, cancel: memory.inbox.accept_many(ids, progress=progress, cancel=cancel),
            done,
            failed,
        ).ended.connect(self._on_task_ended)

    def _on_task_ended(self) -> None:
        """A cancelled task calls nobody: what it had merged stays, and the page goes on."""
        if self.is_deciding:
            self._decided()

    # --- the store -------------------------------------------------------------------------------------------------

    def _on_changed(self, changes: Changes) -> None:
        if not changes.kinds & {"proposal", "fact"}:
            return
        self._is_stale = self._is_stale or not self._is_looked_at
        if self._is_looked_at or "proposal" in changes.kinds:
            wait_ms = FOLLOW_MS if self._concerns_cards(changes) else UNTOUCHED_MS
            if not self._reload_soon.isActive() or self._reload_soon.remainingTime() > wait_ms:
                self._reload_soon.start(wait_ms)

    def _concerns_cards(self, changes: Changes) -> bool:
        """Whether a card came, went or became stale, or somebody is new."""
        is_newcomer = not changes.agent_ids <= self._heard_of
        self._heard_of |= changes.agent_ids
        named = self._named | ({fact.id for fact in self.card.goes} if isinstance(self.card, Card) else set())
        return "proposal" in changes.kinds or is_newcomer or not named.isdisjoint(changes.fact_ids)

    def _on_closed(self) -> None:
        for answer in (self._listing, self._counting, self._opening, self._drafting):
            answer.cancel()
        self._reload_soon.stop()
        self._end_draft()
        self._kept.clear()
        self.groups.set_lines([])
        self.cards.set_lines([])
        self.group, self.selected_id, self._left, self.is_deciding = None, None, None, False
        self.open_count, self.later_count, self.bulk, self._groups_of = 0, 0, (), {}
        self._named = self._heard_of = frozenset()
        self._is_stale = False
        self._show(NoCard())
        self._set_state(Loading())


def _read_card(card_id: str, now_ns: int, memory: Memory) -> Card:
    return read_card(memory, card_id, now_ns)
