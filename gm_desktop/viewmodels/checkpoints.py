"""The Checkpoints page without widgets: what agents saved to resume from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.models.agent_list import AgentLine, AgentList
from gm_desktop.models.checkpoint_list import CheckpointLine, CheckpointList
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.state_tree import StateTree, document
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.checkpoint_compare import CheckpointCompare
from gm_desktop.viewmodels.checkpoint_details import (
    CheckpointDetails,
    CheckpointState,
    CheckpointUnread,
    DamagedCheckpoint,
    NoCheckpoint,
    OpenCheckpoint,
    Review,
    open_checkpoint,
    review_of,
)
from gm_desktop.viewmodels.checkpoint_edit import CheckpointEdit
from gm_desktop.viewmodels.checkpoint_moment import CheckpointMoment, Moment
from gm_desktop.viewmodels.checkpoint_verbs import CheckpointVerbs
from gm_desktop.viewmodels.checkpoint_words import checkpoint_line
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError
from gm_engine.records import Changes, JsonPath

if TYPE_CHECKING:
    from gm_engine import Memory

FOLLOW_MS = 150


@dataclass(frozen=True, slots=True)
class _Listing:
    """One answer of the read lane."""

    agents: list[AgentLine]
    lines: list[CheckpointLine]
    reviews: dict[str, Review]


class CheckpointsViewModel(QObject):
    """Lists checkpoints of one agent or of all, newest first, and opens one at a time."""

    state_changed = Signal()
    agent_changed = Signal()
    details_changed = Signal()
    review_changed = Signal()

    def __init__(
        self, host: EngineHost, undo: UndoController, notices: Notices, clock: Clock, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._host, self._clock = host, clock
        self.agents = AgentList(self)
        self.checkpoints = CheckpointList(self)
        self.tree = StateTree(self)
        self.verbs = CheckpointVerbs(host, undo, notices, self)
        self.edit = CheckpointEdit(host, undo, notices, self)
        self.compare = CheckpointCompare(host, self)
        self.moment = CheckpointMoment(host, self)
        self.agent_id: str | None = None
        self.state: PageState = Loading()
        self.details: CheckpointState = NoCheckpoint()
        self.review = Review()
        self.selected_id: str | None = None
        self._reviews: dict[str, Review] = {}
        self._wanted_id: str | None = None
        self._is_opening = False
        self._is_listing = False
        self._listing = Latest()
        self._loading = Latest()
        self._reload_soon = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._reload_soon.timeout.connect(self.reload)
        self.verbs.made.connect(self.reveal)
        self.edit.made.connect(self.reveal)
        host.changed.connect(self._on_changed)
        host.store_opened.connect(self.reload)
        host.store_closed.connect(self._on_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        own = self._is_opening or self._is_listing or self._reload_soon.isActive()
        return own or self.compare.is_waiting or self.moment.is_waiting

    @property
    def is_readable(self) -> bool:
        """Whether the open checkpoint could be read."""
        return isinstance(self.details, CheckpointDetails)

    @property
    def is_damaged(self) -> bool:
        """Whether the open checkpoint is there but cannot be read."""
        return isinstance(self.details, DamagedCheckpoint)

    def set_agent(self, agent_id: str | None) -> None:
        """Shows one agent's checkpoints; None: all."""
        if agent_id != self.agent_id:
            self.agent_id = agent_id
            self.agent_changed.emit()
            self.reload()

    def reveal(self, checkpoint_id: str) -> None:
        """Opens a checkpoint, as soon as it is listed."""
        if self.checkpoints.row_of(checkpoint_id) is not None:
            self.select(checkpoint_id)
            return
        self._wanted_id = checkpoint_id
        self.reload()

    def reload(self) -> None:
        """Reads the list again. Without a store, opening one does it."""
        self._reload_soon.stop()
        if not self._host.is_open:
            return
        self._is_listing = True
        self._listing.take(
            self._host.read(partial(_list, self.agent_id, self._clock.now_ns()), self._on_listed, self._on_failed)
        )

    def _on_listed(self, listing: _Listing) -> None:
        self._is_listing = False
        self.agents.set_lines(listing.agents)
        if self.agents.row_of(self.agent_id) is None:
            self.agent_id = None
            self.agent_changed.emit()
        place = self.checkpoints.row_of(self.selected_id) if self.selected_id else None
        lines = listing.lines
        self.checkpoints.set_lines(lines)
        self._reviews = listing.reviews
        self._choose(lines, place)
        self._show_review()
        if lines:
            self._set_state(Full(len(lines)))
        else:
            hint = tr("Agents save checkpoints to resume from: their state, the conversation and metadata.")
            self._set_state(Empty("none", tr("No checkpoints yet"), hint))
        self.compare.show(self.checkpoints.line(self.selected_id), lines)

    def _choose(self, lines: list[CheckpointLine], place: int | None) -> None:
        """Keeps what is open; opens what was just made, else what took the place of the one that went."""
        known = {line.id for line in lines}
        wanted, self._wanted_id = self._wanted_id, None
        if wanted in known:
            self.select(wanted)
        elif self.selected_id not in known:
            self.select(lines[min(place or 0, len(lines) - 1)].id if lines else None)

    def _on_failed(self, error: GrayMatterError) -> None:
        self._is_listing = False
        self._set_state(Failed(sentence_for(error)))

    def select(self, checkpoint_id: str | None) -> None:
        """Opens a checkpoint."""
        if checkpoint_id == self.selected_id:
            return
        self.selected_id = checkpoint_id
        self.review = self._reviews.get(checkpoint_id or "", Review())
        self.review_changed.emit()
        self.compare.show(self.checkpoints.line(checkpoint_id), self.checkpoints.lines)
        if checkpoint_id is None:
            self._loading.cancel()
            self._show(OpenCheckpoint(NoCheckpoint(), document({}), "", 0))
            return
        self._load(checkpoint_id)

    def _load(self, checkpoint_id: str) -> None:
        self._is_opening = True

        def failed(error: GrayMatterError) -> None:
            self._show(OpenCheckpoint(CheckpointUnread(sentence_for(error)), document({}), "", 0))

        self._loading.take(self._host.read(lambda memory: open_checkpoint(memory, checkpoint_id), self._show, failed))

    def open_again(self) -> None:
        """Reads the open checkpoint again."""
        if self.selected_id is not None:
            self._load(self.selected_id)

    def _show(self, opened: OpenCheckpoint) -> None:
        self._is_opening = False
        self.details = opened.details
        self.tree.set_state(opened.state)
        self.moment.show(Moment(opened.agent_id, opened.created_ns) if opened.agent_id else None)
        self.details_changed.emit()

    def _show_review(self) -> None:
        review = self._reviews.get(self.selected_id or "", Review())
        if review != self.review:
            self.review = review
            self.review_changed.emit()

    # --- deeds on what is open -------------------------------------------------------------------------------------

    def give_verdict(self, verdict: str, note: str) -> None:
        """Reviews the open checkpoint; its verdict again takes it back."""
        if self.selected_id is not None:
            is_same = verdict == self.review.verdict and note == self.review.note
            self.verbs.review(self.selected_id, "" if is_same else verdict, "" if is_same else note)

    def edit_part(self, path: JsonPath) -> None:
        """Opens an editor for a part of the open checkpoint: `("state", …)` or `("metadata",)`."""
        if self.selected_id is not None and self.is_readable:
            self.edit.open(self.selected_id, path)

    # --- following -------------------------------------------------------------------------------------------------

    def _on_changed(self, changes: Changes) -> None:
        if "checkpoint" in changes.kinds and not self._reload_soon.isActive():
            self._reload_soon.start()

    def _on_closed(self) -> None:
        self._listing.cancel()
        self._is_listing = False
        self._reload_soon.stop()
        self.agents.set_lines([])
        self.checkpoints.set_lines([])
        self._reviews = {}
        self.select(None)
        self.agent_id = None
        self.agent_changed.emit()
        self._set_state(Loading())

    def _set_state(self, state: PageState) -> None:
        if state != self.state:
            self.state = state
            self.state_changed.emit()


def _list(agent_id: str | None, now_ns: int, memory: Memory) -> _Listing:
    everything = memory.checkpoints.list()
    counts: dict[str, int] = {}
    for each in everything:
        counts[each.agent_id] = counts.get(each.agent_id, 0) + 1
    agents = [AgentLine(None, tr("All agents"), len(everything), 0, "layers")]
    names = sorted(counts, key=lambda each: (each.casefold(), each))
    agents.extend(AgentLine(name, agent_title(name), counts[name], 0, "bot") for name in names)
    shown = [each for each in everything if agent_id in (None, each.agent_id) or agent_id not in counts]
    return _Listing(
        agents,
        [checkpoint_line(each, now_ns) for each in shown],
        {each.id: review_of(each) for each in shown if each.verdict},
    )
