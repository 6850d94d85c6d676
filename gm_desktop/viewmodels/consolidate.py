"""The Consolidate page without widgets: what waits for a decision, one card at a time, and cycles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.agent_list import AgentLine, AgentList
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.proposal_cards import Card, CardLine, CardList
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.card_words import Draft, accepted_sentence, card_line, draft_of, read_card
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_engine import Changes, Proposal, ProposalSource
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError

if TYPE_CHECKING:
    from gm_engine import BulkDecision, Memory

T = TypeVar("T")
FOLLOW_MS = 150
DRAFT_MS = 120
MOST_CARDS = 2_000
Pile = Literal["open", "later"]


@dataclass(frozen=True, slots=True)
class NoCard:
    """None is selected."""


@dataclass(frozen=True, slots=True)
class CardUnread:
    """It could not be read: a sentence."""

    message: str


CardState = NoCard | CardUnread | Card


@dataclass(frozen=True, slots=True)
class _Listed:
    agents: list[AgentLine]
    lines: list[CardLine]
    later: int
    exact: tuple[str, ...]


class ConsolidateViewModel(QObject):
    """Lists the cards of one agent or of all, opens one at a time, and carries decisions to the engine."""

    state_changed = Signal()
    agent_changed = Signal()
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
        source: ProposalSource | None = None,
    ) -> None:
        super().__init__(parent)
        self._source = source
        self._host, self._undo, self._notices, self._clock = host, undo, notices, clock
        self.agents = AgentList(self)
        self.cards = CardList(self)
        self.agent_id: str | None = None
        self.pile: Pile = "open"
        self.later_count = 0
        self.exact: tuple[str, ...] = ()
        self.state: PageState = Loading()
        self.card: CardState = NoCard()
        self.selected_id: str | None = None
        self.is_editing = False
        self.draft_text = ""
        self.draft: Draft | None = None
        self.is_deciding = False
        self._listing, self._opening, self._drafting = Latest(), Latest(), Latest()
        self._reload_soon = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._reload_soon.timeout.connect(self.reload)
        self._draft_soon = QTimer(self, singleShot=True, interval=DRAFT_MS)
        self._draft_soon.timeout.connect(self._compare_draft)
        host.changed.connect(self._on_changed)
        host.store_opened.connect(self.reload)
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
        """Whether the shown card can be decided on now."""
        return self.can_write and isinstance(self.card, Card) and not self.is_deciding

    @property
    def can_accept(self) -> bool:
        """Whether the shown card can be accepted: none of its facts has changed."""
        return self.can_decide and isinstance(self.card, Card) and not self.card.stale

    # --- listing ---------------------------------------------------------------------------------------------------

    def set_agent(self, agent_id: str | None) -> None:
        """Shows one agent's cards; None: all."""
        if agent_id != self.agent_id:
            self.agent_id = agent_id
            self.agent_changed.emit()
            self.reload()

    def set_pile(self, pile: Pile) -> None:
        """Shows what waits, or what was put off."""
        if pile != self.pile:
            self.pile = pile
            self.reload()

    def reload(self) -> None:
        """Reads the list again."""
        self._reload_soon.stop()
        self._listing.take(
            self._host.read(partial(_list, self.agent_id, self.pile, self._source), self._on_listed, self._on_failed)
        )

    def _on_listed(self, answer: _Listed) -> None:
        before = self.cards.row_of(self.selected_id)
        self.agents.set_lines(answer.agents)
        self.cards.set_lines(answer.lines)
        self.later_count, self.exact = answer.later, answer.exact
        if answer.lines:
            self._set_state(Full(len(answer.lines)))
        else:
            self._set_state(self._empty())
        if self.cards.row_of(self.selected_id) is None:
            row = min(before or 0, len(answer.lines) - 1)
            self.select(answer.lines[row].id if answer.lines else None)
        elif not self.is_editing:
            self._open(self.selected_id)

    def _empty(self) -> Empty:
        if self.pile == "later":
            return Empty("none-later", tr("Nothing was put off"), tr("Cards that you put off with ↓ wait here."))
        if self.later_count:
            waiting = tr_count("{count} card was put off.", "{count} cards were put off.", self.later_count)
            return Empty("none", tr("Everything is decided"), waiting)
        hint = tr(
            "Duplicates, contradictions and faded facts appear here as cards after a cycle. Run one, or look at a dry "
            "run first: it changes nothing."
        )
        return Empty("none", tr("Nothing waits for you"), hint)

    def _on_failed(self, error: GrayMatterError) -> None:
        self._set_state(Failed(sentence_for(error)))

    def _set_state(self, state: PageState) -> None:
        self.state = state
        self.state_changed.emit()

    # --- one card --------------------------------------------------------------------------------------------------

    def select(self, card_id: str | None) -> None:
        """Opens a card; a draft of the one before is dropped."""
        if card_id == self.selected_id and not isinstance(self.card, CardUnread):
            return
        self.selected_id = card_id
        self._end_draft()
        if card_id is None:
            self._opening.cancel()
            self._show(NoCard())
        else:
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
        """Starts an own text from the proposed result."""
        if self.can_accept and isinstance(self.card, Card) and self.card.can_edit and not self.is_editing:
            self.is_editing, self.draft_text = True, self.card.result
            self.draft = Draft(self.card.added, tuple(fact.removed for fact in self.card.goes), self.card.cautions)
            self.draft_changed.emit()

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
        self._end_draft()
        self.draft_changed.emit()

    def _end_draft(self) -> None:
        self._draft_soon.stop()
        self._drafting.cancel()
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
            self._undo.did(accepted_sentence(card), accepted.seq)
            self._decided()

        self._decide(lambda memory: verb(memory, card.id), done)

    def reject(self) -> None:
        """Turns the card down; the same is not proposed while these facts stay as they are."""
        self._turn(tr("Rejected a proposal"), lambda memory, card_id: memory.inbox.reject(card_id))

    def never_again(self) -> None:
        """Turns the card down for good."""
        self._turn(tr("These texts are never proposed together again"), lambda memory, i: memory.inbox.never_again(i))

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
            self.reload()

        self._host.write(job, done, failed)

    def _decided(self) -> None:
        self.is_deciding = False
        self._end_draft()
        self.reload()

    def accept_exact(self) -> None:
        """Merges every exact duplicate in sight, as one step; what has changed meanwhile is left."""
        ids = self.exact
        if not ids or not self.can_write or self.is_deciding:
            return
        self.is_deciding = True

        def done(decision: BulkDecision) -> None:
            if decision.seq is not None:
                count = len(decision.accepted)
                said = tr_count("Merged {count} exact duplicate", "Merged {count} exact duplicates", count)
                self._undo.did(said, decision.seq)
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
            self.reload()

        self._host.run_task(
            tr("Merging exact duplicates"),
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
        if changes.kinds & {"proposal", "fact"} and not self._reload_soon.isActive():
            self._reload_soon.start()

    def _on_closed(self) -> None:
        for answer in (self._listing, self._opening, self._drafting):
            answer.cancel()
        self._reload_soon.stop()
        self._end_draft()
        self.agents.set_lines([])
        self.cards.set_lines([])
        self.agent_id, self.selected_id, self.is_deciding = None, None, False
        self.later_count, self.exact = 0, ()
        self._show(NoCard())
        self._set_state(Loading())


def _list(agent_id: str | None, pile: Pile, source: ProposalSource | None, memory: Memory) -> _Listed:
    waiting = memory.inbox.list("waiting", source=source)
    counts: dict[str, int] = {}
    for proposal in waiting:
        if proposal.agent_id is not None and proposal.state == pile:
            counts[proposal.agent_id] = counts.get(proposal.agent_id, 0) + 1
    names = sorted(
        {each.agent_id for each in memory.agents() if each.live} | set(counts), key=lambda each: (each.casefold(), each)
    )
    in_pile = [proposal for proposal in waiting if proposal.state == pile]
    agents = [AgentLine(None, tr("All agents"), len(in_pile), 0, "layers")]
    agents += [AgentLine(name, agent_title(name), counts.get(name, 0), 0, "bot") for name in names]
    mine = [proposal for proposal in waiting if agent_id in (None, proposal.agent_id)]
    shown = [proposal for proposal in mine if proposal.state == pile][:MOST_CARDS]
    firsts = memory.facts([proposal.facts[0] for proposal in shown if proposal.facts])
    facts = {fact.id: fact for fact in firsts}
    return _Listed(
        agents=agents,
        lines=[card_line(proposal, facts) for proposal in shown],
        later=sum(proposal.state == "later" for proposal in mine),
        exact=tuple(
            proposal.id
            for proposal in mine
            if proposal.state == "open" and proposal.kind == "exact_duplicate" and not proposal.stale
        ),
    )


def _read_card(card_id: str, now_ns: int, memory: Memory) -> Card:
    return read_card(memory, card_id, now_ns)
