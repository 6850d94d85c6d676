"""The Checkpoints page without widgets: what agents saved to resume from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import age, local_time, number, utc_time
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.agent_list import AgentLine, AgentList
from gm_desktop.models.checkpoint_list import CheckpointLine, CheckpointList
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.state_tree import StateTree
from gm_desktop.notices import sentence_for
from gm_desktop.plain_text import row_text
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_engine.clock import Clock
from gm_engine.errors import CheckpointDamaged, GrayMatterError
from gm_engine.records import Changes, Checkpoint, CheckpointSummary

if TYPE_CHECKING:
    from gm_engine import Memory

FOLLOW_MS = 150


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class CheckpointDetails:
    """One checkpoint that could be read. `metadata` is (name, value, hover)."""

    id: str
    agent: str
    when: str
    when_utc: str
    state_keys: int
    messages: tuple[Said, ...]
    metadata: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class DamagedCheckpoint:
    """One that exists and cannot be read: why."""

    id: str
    agent: str
    when: str
    when_utc: str
    reason: str


@dataclass(frozen=True, slots=True)
class NoCheckpoint:
    """None is selected."""


@dataclass(frozen=True, slots=True)
class CheckpointUnread:
    """It could not be loaded: a sentence."""

    message: str


CheckpointState = NoCheckpoint | CheckpointUnread | DamagedCheckpoint | CheckpointDetails


class CheckpointsViewModel(QObject):
    """Lists checkpoints of one agent or of all, newest first, and opens one at a time."""

    state_changed = Signal()
    agent_changed = Signal()
    details_changed = Signal()

    def __init__(self, host: EngineHost, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self._clock = clock
        self.agents = AgentList(self)
        self.checkpoints = CheckpointList(self)
        self.tree = StateTree(self)
        self.agent_id: str | None = None
        self.state: PageState = Loading()
        self.details: CheckpointState = NoCheckpoint()
        self.selected_id: str | None = None
        self.is_waiting = False
        self._listing = Latest()
        self._loading = Latest()
        self._reload_soon = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._reload_soon.timeout.connect(self.reload)
        host.changed.connect(self._on_changed)
        host.store_opened.connect(self.reload)
        host.store_closed.connect(self._on_closed)

    def set_agent(self, agent_id: str | None) -> None:
        """Shows one agent's checkpoints; None: all."""
        if agent_id != self.agent_id:
            self.agent_id = agent_id
            self.agent_changed.emit()
            self.reload()

    def reload(self) -> None:
        """Reads the list again."""
        self._reload_soon.stop()
        self._listing.take(
            self._host.read(partial(_list, self.agent_id, self._clock.now_ns()), self._on_listed, self._on_failed)
        )

    def _on_listed(self, answer: tuple[list[AgentLine], list[CheckpointLine]]) -> None:
        agents, lines = answer
        self.agents.set_lines(agents)
        if self.agents.row_of(self.agent_id) is None:
            self.agent_id = None
            self.agent_changed.emit()
        self.checkpoints.set_lines(lines)
        known = {line.id for line in lines}
        if self.selected_id not in known:
            self.select(lines[0].id if lines else None)
        if lines:
            self._set_state(Full(len(lines)))
        else:
            hint = tr("Agents save checkpoints to resume from: their state, the conversation and metadata.")
            self._set_state(Empty("none", tr("No checkpoints yet"), hint))

    def _on_failed(self, error: GrayMatterError) -> None:
        self._set_state(Failed(sentence_for(error)))

    def select(self, checkpoint_id: str | None) -> None:
        """Opens a checkpoint."""
        if checkpoint_id == self.selected_id:
            return
        self.selected_id = checkpoint_id
        if checkpoint_id is None:
            self._loading.cancel()
            self.is_waiting = False
            self._show(NoCheckpoint(), {})
            return
        self.is_waiting = True
        line = self.checkpoints.lines[self.checkpoints.row_of(checkpoint_id) or 0]

        def done(answer: tuple[CheckpointState, object]) -> None:
            self.is_waiting = False
            self._show(*answer)

        def failed(error: GrayMatterError) -> None:
            self.is_waiting = False
            self._show(CheckpointUnread(sentence_for(error)), {})

        self._loading.take(self._host.read(partial(_open, line), done, failed))

    def _show(self, details: CheckpointState, state: object) -> None:
        self.details = details
        self.tree.set_state(state)
        self.details_changed.emit()

    def _on_changed(self, changes: Changes) -> None:
        if "checkpoint" in changes.kinds and not self._reload_soon.isActive():
            self._reload_soon.start()

    def _on_closed(self) -> None:
        self._listing.cancel()
        self._reload_soon.stop()
        self.agents.set_lines([])
        self.checkpoints.set_lines([])
        self.select(None)
        self.agent_id = None
        self.agent_changed.emit()
        self._set_state(Loading())

    def _set_state(self, state: PageState) -> None:
        if state != self.state:
            self.state = state
            self.state_changed.emit()


def _list(agent_id: str | None, now_ns: int, memory: Memory) -> tuple[list[AgentLine], list[CheckpointLine]]:
    everything = memory.checkpoints.list()
    counts: dict[str, int] = {}
    for each in everything:
        counts[each.agent_id] = counts.get(each.agent_id, 0) + 1
    agents = [AgentLine(None, tr("All agents"), len(everything), 0, "layers")]
    names = sorted(counts, key=lambda each: (each.casefold(), each))
    agents.extend(AgentLine(name, agent_title(name), counts[name], 0, "bot") for name in names)
    shown = [each for each in everything if agent_id in (None, each.agent_id) or agent_id not in counts]
    return agents, [_line(each, now_ns) for each in shown]


def _line(summary: CheckpointSummary, now_ns: int) -> CheckpointLine:
    is_damaged = summary.message_count is None
    messages = tr_count("{count} message", "{count} messages", summary.message_count or 0)
    return CheckpointLine(
        id=summary.id,
        agent=agent_title(summary.agent_id),
        when=local_time(summary.created_ns),
        when_utc=utc_time(summary.created_ns),
        age=age(summary.created_ns, now_ns),
        summary=tr("Damaged") if is_damaged else messages,
        is_damaged=is_damaged,
    )


def _open(line: CheckpointLine, memory: Memory) -> tuple[CheckpointState, object]:
    try:
        checkpoint = memory.checkpoints.load(line.id)
    except CheckpointDamaged as error:
        return DamagedCheckpoint(line.id, line.agent, line.when, line.when_utc, error.message), {}
    return _details(checkpoint, line), checkpoint.state


def _details(checkpoint: Checkpoint, line: CheckpointLine) -> CheckpointDetails:
    metadata = [
        (tr("Agent"), line.agent, ""),
        (tr("Saved"), line.when, line.when_utc),
        (tr("Messages"), number(len(checkpoint.messages)), ""),
        (tr("Id"), checkpoint.id, ""),
        *((row_text(key, 60), row_text(value, 400), "") for key, value in sorted(checkpoint.metadata.items())),
    ]
    return CheckpointDetails(
        id=checkpoint.id,
        agent=line.agent,
        when=line.when,
        when_utc=line.when_utc,
        state_keys=len(checkpoint.state),
        messages=tuple(Said(each.role, each.content) for each in checkpoint.messages),
        metadata=tuple(metadata),
    )
