"""What the agent knew when it saved a checkpoint: the facts that were live at that moment, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import local_time, number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.fact_row import fact_status
from gm_desktop.models.line_list import Line, LineList
from gm_desktop.notices import sentence_for
from gm_desktop.plain_text import row_text
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.fact_words import confidence_title, status_title
from gm_engine.errors import GrayMatterError
from gm_engine.records import Changes, Fact, FactQuery

if TYPE_CHECKING:
    from gm_engine import Memory

SHOWN_FACTS = 200


@dataclass(frozen=True, slots=True)
class NoMoment:
    """Nothing is open."""


@dataclass(frozen=True, slots=True)
class MomentLoading:
    """The view of that moment is being made."""


@dataclass(frozen=True, slots=True)
class MomentFailed:
    """It could not be made: a sentence."""

    message: str


@dataclass(frozen=True, slots=True)
class MomentShown:
    """The facts are in the list. `note` counts them; `caution` says where the past is concluded, not known."""

    count: int
    note: str
    caution: str


MomentState = NoMoment | MomentLoading | MomentFailed | MomentShown


@dataclass(frozen=True, slots=True)
class Moment:
    """Whose facts, and when."""

    agent_id: str
    at_ns: int


class CheckpointMoment(QObject):
    """Looks into the past only while somebody looks at it."""

    changed = Signal()

    def __init__(self, host: EngineHost, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self.facts = LineList(self)
        self.state: MomentState = NoMoment()
        self._wanted: Moment | None = None
        self._shown: Moment | None = None
        self._is_looked_at = False
        self._asking = Latest()
        host.changed.connect(self._on_changed)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return isinstance(self.state, MomentLoading)

    def look(self, is_looked_at: bool) -> None:
        """Somebody looks at the facts of that moment, or no longer does."""
        self._is_looked_at = is_looked_at
        self._read()

    def show(self, moment: Moment | None) -> None:
        """Another checkpoint is open."""
        self._wanted = moment
        self._read()

    def _read(self) -> None:
        if not self._is_looked_at or self._wanted == self._shown:
            return
        self._shown = wanted = self._wanted
        if wanted is None:
            self._asking.cancel()
            self._take(NoMoment(), ())
            return
        self.state = MomentLoading()
        self.changed.emit()
        self._asking.take(self._host.read(lambda memory: _facts_at(memory, wanted), self._on_read, self._on_failed))

    def _on_read(self, answer: tuple[MomentShown, tuple[Line, ...]]) -> None:
        self._take(*answer)

    def _on_failed(self, error: GrayMatterError) -> None:
        self._take(MomentFailed(sentence_for(error)), ())

    def _take(self, state: MomentState, lines: tuple[Line, ...]) -> None:
        self.state = state
        self.facts.set_lines(lines)
        self.changed.emit()

    def _on_changed(self, changes: Changes) -> None:
        if "fact" in changes.kinds and self._wanted is not None and self._wanted.agent_id in changes.agent_ids:
            self._shown = None
            self._read()


def _facts_at(memory: Memory, moment: Moment) -> tuple[MomentShown, tuple[Line, ...]]:
    query = FactQuery(agent_id=moment.agent_id, status="live", kind="content")
    with memory.at(moment.at_ns) as view:
        ids = view.fact_ids(query)
        then = view.facts(ids[:SHOWN_FACTS])
        caution = tr("From before the journal begins: concluded from what was imported later.")
        caution = caution if view.reconstructed else ""
    now = {fact.id: fact for fact in memory.facts([fact.id for fact in then])}
    lines = tuple(_line(fact, now.get(fact.id)) for fact in then)
    note = tr_count("{count} live fact then", "{count} live facts then", len(ids))
    still = len(set(ids).intersection(memory.fact_ids(query)))
    if still < len(ids):
        note += tr(", {count} of them still", count=number(still))
    if len(ids) > len(then):
        note += tr(". The newest {count} are shown.", count=number(len(then)))
    return MomentShown(len(ids), note, caution), lines


def _line(then: Fact, now: Fact | None) -> Line:
    note = f"{confidence_title(then.effective_confidence.value)}  ·  {local_time(then.created_ns)}"
    if now is None:
        return Line(then.id, row_text(then.text), note, tr("Gone since"), "danger")
    if now.agent_id != then.agent_id:
        return Line(then.id, row_text(then.text), note, tr("Moved since"), "accent")
    if now.is_superseded:
        return Line(then.id, row_text(then.text), note, tr("{status} since", status=status_title(fact_status(now))))
    if now.confidence != then.confidence:
        return Line(then.id, row_text(then.text), note, tr("Label changed since"), "accent")
    return Line(then.id, row_text(then.text), note)
