"""The Past page without widgets: the store as it was at one moment, read only, and what became different since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import local_time, utc_time
from gm_desktop.i18n import tr
from gm_desktop.models.agent_list import AgentList
from gm_desktop.models.fact_row import FactRow, agent_title
from gm_desktop.models.line_list import LineList
from gm_desktop.models.paged_table import Cell, Column, PagedTable
from gm_desktop.notices import sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.fact_words import confidence_title
from gm_desktop.viewmodels.past_reading import (
    AtTime,
    BeforeEntry,
    BeforeLast,
    Comparison,
    PastFilter,
    PastListing,
    PastMoment,
    PastReader,
    Shown,
)
from gm_desktop.viewmodels.past_words import (
    PastDetails,
    PastHead,
    answer_sentence,
    checkpoint_lines,
    hit_lines,
    past_details,
    past_head,
    shown_title,
    shown_tone,
)
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError
from gm_engine.records import Changes, DifferenceKind, Fact, RecallExplainResult, SortColumn

TYPING_PAUSE_MS = 180
FOLLOW_MS = 1_000  # what became different is worked out again; nobody needs that at once
DAY_NS = 86_400 * 1_000_000_000
QUICK: tuple[tuple[str, str], ...] = (
    ("changes", "Before the last 10 changes"),
    ("yesterday", "Yesterday at this time"),
    ("week", "A week ago"),
    ("month", "A month ago"),
)
_DAYS = {"yesterday": 1, "week": 7, "month": 30}
_LAST_ACTIONS = 10


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """What came of a question about then: a sentence about it; the hits are in `PastViewModel.hits`."""

    said: str
    is_refused: bool = False


class PastViewModel(QObject):
    """Looks at one moment until the person comes back to now; `opened` and `closed` say when."""

    opened = Signal()
    closed = Signal()
    state_changed = Signal()
    filter_changed = Signal()
    details_changed = Signal()
    answered = Signal()

    def __init__(self, host: EngineHost, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._clock = host, clock
        self._reader = PastReader()
        self.agents = AgentList(self)
        self.table = PagedTable(self._columns(), self)
        self.checkpoints, self.hits, self.since = LineList(self), LineList(self), LineList(self)
        self.moment: PastMoment | None = None
        self.head: PastHead | None = None
        self.state: PageState = _nothing_open()
        self.filter = PastFilter()
        self.sort: tuple[SortColumn, bool] = ("created", True)
        self.counts: Mapping[Shown, int] | None = None
        self.selected: str | None = None
        self.details: PastDetails | None = None
        self.answer: PastAnswer | None = None
        self.query = ""
        self.has_differences = False  # whether a listed fact is different now
        self._kinds: Mapping[str, tuple[DifferenceKind, ...]] = {}
        self._is_looked_at = False
        self._is_stale = False
        self._reading, self._comparing, self._bodies = Latest(), Latest(), Latest()
        self._detailing, self._asking = Latest(), Latest()
        self._reload_soon = QTimer(self, singleShot=True)
        self._reload_soon.timeout.connect(self.reload)
        self.table.rows_wanted.connect(self._on_rows_wanted)
        self.table.sort_wanted.connect(self.set_sort)
        host.changed.connect(self._on_changed)
        host.store_closed.connect(self.close)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        claims = (self._reading, self._comparing, self._bodies, self._detailing, self._asking)
        return any(each.is_awaited for each in claims) or self._reload_soon.isActive() or self.table.is_waiting

    @property
    def now_ns(self) -> int:
        """The present, in nanoseconds UTC."""
        return self._clock.now_ns()

    def look(self, is_looked_at: bool) -> None:
        """Somebody looks at the page, or no longer does: what differs since is worked out only for somebody."""
        self._is_looked_at = is_looked_at
        if is_looked_at and self._is_stale:
            self.reload()

    # --- the moment ------------------------------------------------------------------------------------------------

    def open(self, moment: PastMoment) -> None:
        """Goes back to a moment."""
        if not self._host.is_open:
            return
        self._forget()
        self.moment = moment
        self._set_state(Loading())
        self.opened.emit()
        self.reload()

    def open_before(self, seq: int) -> None:
        """Goes back to before an entry of the journal."""
        self.open(BeforeEntry(seq))

    def open_time(self, at_ns: int) -> None:
        """Goes back to a time."""
        self.open(AtTime(at_ns))

    def open_quick(self, key: str) -> None:
        """Goes back to one of the `QUICK` moments."""
        self.open(BeforeLast(_LAST_ACTIONS) if key == "changes" else AtTime(self.now_ns - _DAYS[key] * DAY_NS))

    def close(self) -> None:
        """Back to now: lets go of the moment."""
        if self.moment is None:
            return
        self.moment = None
        self._forget()
        self._set_state(_nothing_open())
        self._host.end_reading(self._reader.close)
        self.closed.emit()

    def _forget(self) -> None:
        for each in (self._reading, self._comparing, self._bodies, self._detailing, self._asking):
            each.cancel()
        self._reload_soon.stop()
        self._is_stale = False
        self.head, self.counts, self._kinds = None, None, {}
        self.answer, self.query, self.filter = None, "", PastFilter()
        self.table.give_up()
        self.table.set_ids([])
        self.table.forget_all()
        self.has_differences = False
        self.agents.set_lines([])
        self.hits.set_lines(())
        self.checkpoints.set_lines(())
        self.select(None)
        self.filter_changed.emit()
        self.answered.emit()

    def reload(self) -> None:
        """Reads the moment with the present filter, then what differs now."""
        self._reload_soon.stop()
        self._is_stale = False
        moment = self.moment
        if moment is not None and self._host.is_open:
            job = partial(self._reader.read, moment, self.filter, self.sort)
            self._reading.take(self._host.read(job, self._on_read, self._on_failed))
            self._comparing.take(
                self._host.read(partial(self._reader.compare, moment), self._on_compared, self._on_failed)
            )

    def _on_read(self, listing: PastListing) -> None:
        self.agents.set_lines(listing.lines)
        if self.filter.agent_id is not None and self.agents.row_of(self.filter.agent_id) is None:
            self.set_filter(replace(self.filter, agent_id=None))
            return
        self.head = past_head(listing)
        self.checkpoints.set_lines(checkpoint_lines(listing.checkpoints))
        self.table.set_ids(listing.ids)
        self._look_for_differences()
        if self.selected is not None and self.table.row_of(self.selected) is None:
            self.select(None)
        self.state = Full(len(listing.ids)) if listing.ids else self._empty(listing.counts.facts)
        self.state_changed.emit()

    def _on_compared(self, compared: Comparison) -> None:
        self._kinds, self.counts = compared.kinds, compared.counts
        self.table.forget_all()
        self._look_for_differences()
        self.filter_changed.emit()

    def _look_for_differences(self) -> None:
        self.has_differences = not self._kinds.keys().isdisjoint(self.table.ids)

    def _on_failed(self, error: GrayMatterError) -> None:
        self._set_state(Failed(sentence_for(error)))

    def _empty(self, facts: int) -> Empty:
        wanted = self.filter
        if wanted.shown != "then" or wanted.text or wanted.agent_id is not None:
            return Empty("filter", tr("No fact passes these filters"), tr("Loosen a filter, or clear all of them."))
        if facts:
            return Empty("then", tr("No fact was live then"), tr("What there was had been retired."))
        return Empty("then", tr("Nothing was remembered yet"), tr("The store held no facts at this moment."))

    # --- the list --------------------------------------------------------------------------------------------------

    def set_filter(self, wanted: PastFilter) -> None:
        """Lists other facts. Typing is debounced."""
        if wanted != self.filter:
            is_typing, is_other_agent = wanted.text != self.filter.text, wanted.agent_id != self.filter.agent_id
            self.filter = wanted
            self.filter_changed.emit()
            self._reload_soon.start(TYPING_PAUSE_MS if is_typing else 0)
            if is_other_agent and self.query:
                self.ask(self.query)

    def set_sort(self, key: SortColumn | Literal[""], descending: bool) -> None:
        """Orders by a column; what happened since has no order."""
        if key and (key, descending) != self.sort:
            self.sort = (key, descending)
            self._reload_soon.start(0)

    def select(self, fact_id: str | None) -> None:
        """Shows one fact as it was, and what became of it."""
        if fact_id == self.selected:
            return
        self.selected = fact_id
        if fact_id is None:
            self._detailing.cancel()
            self._take_details(None)
        else:
            self._read_details()

    def _read_details(self) -> None:
        moment, fact_id = self.moment, self.selected
        if moment is None or fact_id is None:
            return

        def done(both: tuple[Fact | None, Fact | None]) -> None:
            self._take_details(past_details(fact_id, *both))

        self._detailing.take(self._host.read(partial(self._reader.both, moment, fact_id), done))

    def _take_details(self, details: PastDetails | None) -> None:
        self.details = details
        self.since.set_lines(details.since if details is not None else ())
        self.details_changed.emit()

    def _on_rows_wanted(self, ids: tuple[str, ...]) -> None:
        moment = self.moment
        if moment is None:
            self.table.give_up()
            return

        def failed(error: GrayMatterError) -> None:
            self.table.give_up()
            self._on_failed(error)

        job = partial(self._reader.rows, moment, ids)
        self._bodies.take(self._host.read(job, lambda rows: self.table.deliver(ids, rows), failed))

    # --- asking ----------------------------------------------------------------------------------------------------

    def ask(self, query: str) -> None:
        """Recalls as of the moment; counts nothing."""
        moment = self.moment
        self.query = query.strip()
        self._asking.cancel()
        if moment is None or not self.query:
            self._take_answer(None)
            return
        job = partial(self._reader.recall, moment, self.filter.agent_id, self.query)
        self._asking.take(self._host.read(job, self._on_answer, self._on_refused))

    def _on_answer(self, answer: tuple[str, RecallExplainResult]) -> None:
        agent_id, result = answer
        self.hits.set_lines(hit_lines(result.receipts))
        said = answer_sentence(agent_id, len(result.receipts), is_chosen=self.filter.agent_id is not None)
        self.answer = PastAnswer(said)
        self.answered.emit()

    def _on_refused(self, error: GrayMatterError) -> None:
        said = self.head.no_recall if self.head is not None and error.code == "as_of_unsupported" else ""
        self._take_answer(PastAnswer(said or sentence_for(error), is_refused=True))

    def _take_answer(self, answer: PastAnswer | None) -> None:
        self.answer = answer
        self.hits.set_lines(())
        self.answered.emit()

    # --- following -------------------------------------------------------------------------------------------------

    def _on_changed(self, changes: Changes) -> None:
        if self.moment is not None and changes:
            self.table.forget(changes.fact_ids)
            if self.selected in changes.fact_ids:
                self._read_details()
            if not self._is_looked_at:
                self._is_stale = True
            elif not self._reload_soon.isActive():
                self._reload_soon.start(FOLLOW_MS)

    def _set_state(self, state: PageState) -> None:
        if state != self.state:
            self.state = state
            self.state_changed.emit()

    # --- columns ---------------------------------------------------------------------------------------------------

    def _columns(self) -> tuple[Column, ...]:
        return (
            Column(tr("Fact"), "text", lambda row: Cell(row.text)),
            Column("", "pinned", lambda row: Cell(tr("Pinned") if row.pinned else "", "pin")),
            Column(tr("Agent"), "agent", lambda row: Cell(agent_title(row.agent_id), "quiet")),
            Column(tr("Confidence"), "confidence", _confidence_cell),
            Column(
                tr("Written"),
                "created",
                lambda row: Cell(local_time(row.created_ns), "quiet", utc_time(row.created_ns)),
            ),
            Column(tr("Since then"), "", self._since_cell),
        )

    def _since_cell(self, row: FactRow) -> Cell:
        kinds = self._kinds.get(row.id, ())
        if not kinds:
            return Cell("")
        words = [shown_title(kind) for kind in kinds]
        return Cell(words[0], shown_tone(kinds[0]), ", ".join(words))


def _confidence_cell(row: FactRow) -> Cell:
    return Cell(tr("Alias"), "info") if row.is_alias else Cell(confidence_title(row.confidence), row.confidence)


def _nothing_open() -> Empty:
    return Empty(
        "now",
        tr("You are looking at now"),
        tr("Choose a moment to see the store as it was then. Nothing is changed by looking."),
    )
