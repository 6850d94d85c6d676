"""One action in full: who, when, what exactly; its changes a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import local_time, number, utc_time
from gm_desktop.i18n import tr
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.line_list import Line, LineList
from gm_desktop.notices import sentence_for
from gm_desktop.plain_text import row_text
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.activity_words import entry_title, target_line
from gm_desktop.viewmodels.fact_words import channel_title
from gm_engine.errors import GrayMatterError
from gm_engine.records import ActivityEntry

if TYPE_CHECKING:
    from gm_engine import Memory

TARGETS = 100
LONG_WORD = 20


@dataclass(frozen=True, slots=True)
class ActionDetails:
    """One action in words. `facts` are (name, value, hover); `hidden` changes are still to be loaded."""

    seq: int
    group_id: str
    title: str
    is_undone: bool
    can_undo: bool
    facts: tuple[tuple[str, str, str], ...]
    fact_id: str | None
    hidden: int


@dataclass(frozen=True, slots=True)
class NoAction:
    """None is selected."""


@dataclass(frozen=True, slots=True)
class ActionUnread:
    """It could not be read: a sentence."""

    message: str


ActionState = NoAction | ActionUnread | ActionDetails


class ActivityDetails(QObject):
    """Loads one action in the read lane; the old one stays until the new one is there."""

    changed = Signal()

    def __init__(self, host: EngineHost, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self.targets = LineList(self)
        self.state: ActionState = NoAction()
        self._seq: int | None = None
        self._shown = TARGETS
        self._latest = Latest()

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._latest.is_awaited

    def show(self, seq: int | None) -> None:
        """Another action, or none."""
        if seq != self._seq:
            self._seq, self._shown = seq, TARGETS
        self.refresh()

    def show_more(self) -> None:
        """The next changes of a large action."""
        self._shown += 5 * TARGETS
        self.refresh()

    def refresh(self) -> None:
        """Reads the action again: it may be undone meanwhile."""
        seq, shown = self._seq, self._shown
        if seq is None or not self._host.is_open:
            self._latest.cancel()
            self._take((NoAction(), ()))
            return
        self._latest.take(self._host.read(lambda memory: _details(memory, seq, shown), self._take, self._on_failed))

    def _take(self, answer: tuple[ActionState, tuple[Line, ...]]) -> None:
        state, lines = answer
        self.targets.set_lines(lines)
        if state != self.state:
            self.state = state
            self.changed.emit()

    def _on_failed(self, error: GrayMatterError) -> None:
        self._take((ActionUnread(sentence_for(error)), ()))


def _details(memory: Memory, seq: int, shown: int) -> tuple[ActionState, tuple[Line, ...]]:
    entry = memory.activity.entry(seq)
    targets = memory.activity.targets(entry.group_id, limit=shown)
    facts = [each.target for each in targets[:2] if each.kind == "fact" and not each.is_gone]
    details = ActionDetails(
        seq=entry.seq,
        group_id=entry.group_id,
        title=entry_title(entry),
        is_undone=entry.is_undone,
        can_undo=not entry.is_undone and entry.verb != "purge" and entry.changes > 0,
        facts=_facts(entry),
        fact_id=facts[0] if facts else None,
        hidden=entry.changes - len(targets),
    )
    lines = {line.key: line for line in map(target_line, targets)}  # a target may change more than once
    return details, tuple(lines.values())


def _facts(entry: ActivityEntry) -> tuple[tuple[str, str, str], ...]:
    who = entry.actor
    seqs = number(entry.seq) if entry.last_seq == entry.seq else f"{number(entry.seq)} – {number(entry.last_seq)}"
    lines = [
        (tr("When"), local_time(entry.at_ns), utc_time(entry.at_ns)),
        (tr("Through"), channel_title(who.channel), ""),
    ]
    if who.client:
        client = " ".join(part for part in (who.client, who.client_version) if part)
        lines.append((tr("Program"), row_text(client, 80), ""))
    if who.session:
        lines.append((tr("Session"), _shortened(who.session), row_text(who.session, 80)))
    if entry.agent_id is not None:
        lines.append((tr("Agent"), agent_title(entry.agent_id), ""))
    lines.append((tr("Changes"), number(entry.changes), ""))
    hint = tr("The number by which the command line names it: graymatter undo {seq}", seq=entry.seq)
    lines.append((tr("Entry"), seqs, hint))
    return tuple(lines)


def _shortened(session: str) -> str:
    """An id is too long for its column: its last letters tell it apart."""
    return " ".join(f"…{word[-8:]}" if len(word) > LONG_WORD else word for word in row_text(session, 80).split())
