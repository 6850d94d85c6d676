"""The Memory page without widgets: namespaces, the fact table, filters, the selection."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import age, number, utc_time
from gm_desktop.i18n import decimal, tr
from gm_desktop.models.agent_list import AgentLine, AgentList, agent_lines
from gm_desktop.models.fact_row import FactRow, agent_title, fact_row
from gm_desktop.models.paged_table import PAGE_ROWS, Cell, Column, PagedTable
from gm_desktop.notices import sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.fact_details import FactDetails, FactDetailsViewModel
from gm_desktop.viewmodels.fact_filter import FactFilter
from gm_desktop.viewmodels.fact_verbs import FactVerbs
from gm_desktop.viewmodels.fact_words import channel_title, confidence_title, status_title
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError
from gm_engine.records import SHARED_AGENT_ID, Changes, FactListing, FactQuery, SortColumn

if TYPE_CHECKING:
    from gm_engine import Memory

TYPING_PAUSE_MS = 180
FOLLOW_MS = 120


@dataclass(frozen=True, slots=True)
class _Listing:
    """One answer of the read lane: the ids that pass the filter and the namespaces with counts."""

    found: FactListing
    lines: list[AgentLine]
    total: int
    written: list[FactRow]


class MemoryViewModel(QObject):
    """Holds filter, order and selection; follows the store without losing any of them."""

    state_changed = Signal()
    filter_changed = Signal()
    selection_changed = Signal()

    def __init__(self, host: EngineHost, verbs: FactVerbs, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self._clock = clock
        self.verbs = verbs
        self.agents = AgentList(self)
        self.table = PagedTable(self._columns(), self)
        self.details = FactDetailsViewModel(host, clock, self)
        self.filter = FactFilter()
        self.sort: tuple[SortColumn, bool] = ("created", True)
        self.state: PageState = Loading()
        self.selected: frozenset[str] = frozenset()
        self.left_text = ""  # of a new fact that was typed and not added
        self._total = 0
        self._known: FactListing | None = None
        self._written: frozenset[str] = frozenset()
        self._is_listing = False
        self._wanted_id: str | None = None
        self._is_loosened = False
        self._drops_hidden = True  # another filter was chosen, or a remembered selection is to be found
        self._listing = Latest()
        self._bodies = Latest()
        self._reload_soon = QTimer(self, singleShot=True)
        self._reload_soon.timeout.connect(self._follow)
        self.table.rows_wanted.connect(self._on_rows_wanted)
        self.table.sort_wanted.connect(self.set_sort)
        verbs.added.connect(self.reveal)
        self.details.vanished.connect(lambda replaced: self.select((replaced,) if replaced else ()))
        host.changed.connect(self._on_changed)
        host.store_opened.connect(self._on_opened)
        host.store_closed.connect(self._on_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return (
            isinstance(self.state, Loading)
            or self._is_listing
            or self._reload_soon.isActive()
            or self.details.is_waiting
            or self.table.is_waiting
        )

    def set_filter(self, wanted: FactFilter) -> None:
        """Shows what passes another filter. Typing is debounced; every other choice applies at once."""
        if wanted == self.filter:
            return
        is_typing = replace(wanted, text=self.filter.text) == self.filter
        self.filter = wanted
        self._drops_hidden = True
        self.filter_changed.emit()
        self._ask_anew(TYPING_PAUSE_MS if is_typing else 0)

    def set_sort(self, key: SortColumn, descending: bool) -> None:
        """Orders by a column."""
        if (key, descending) != self.sort:
            self.sort = (key, descending)
            self._ask_anew()

    def _ask_anew(self, pause_ms: int = 0) -> None:
        """Asks for another list; the answer to the question before is wanted no more."""
        self._is_listing = False
        self._listing.cancel()
        self._reload_soon.start(pause_ms)

    def select(self, ids: Iterable[str]) -> None:
        """The person selected these facts; the inspector follows."""
        wanted = frozenset(ids)
        if wanted == self.selected:
            return
        self.selected = wanted
        if len(wanted) == 1:
            self.details.show(next(iter(wanted)))
        elif wanted:
            self.details.show_many(len(wanted))
        else:
            self.details.clear()
        self.selection_changed.emit()

    def reveal(self, fact_id: str) -> None:
        """Selects a fact, and loosens the filter when it hides it."""
        if self.table.row_of(fact_id) is not None:
            self.select((fact_id,))
            return
        self._wanted_id, self._is_loosened = fact_id, False
        self.reload()

    def _loosen(self, agent_id: str) -> None:
        self.filter = FactFilter(agent_id=agent_id, status="all")
        self.filter_changed.emit()
        self.reload()

    def toggle_pin(self) -> None:
        """Pins the selection, or unpins it when every selected fact that is known is pinned."""
        known = [row for each in self.selected if (row := self.table.body(each)) is not None]
        if known and all(row.pinned for row in known):
            self.verbs.unpin(self.selected)
        else:
            self.verbs.pin(self.selected)

    @property
    def likely_agent(self) -> str | None:
        """Whom a new fact is probably for: the chosen agent, that of the shown fact, else the one with most facts."""
        if self.filter.agent_id is not None:
            return self.filter.agent_id
        if isinstance(self.details.state, FactDetails):
            return self.details.state.agent_id
        others = [line for line in self.agents.lines if line.agent_id not in (None, SHARED_AGENT_ID)]
        return max(others, key=lambda line: line.live).agent_id if others else None

    def leave_text(self, text: str) -> None:
        """Keeps the text of a new fact until the next one is added."""
        self.left_text = text

    def agent_choices(self) -> list[tuple[str, str]]:
        """Namespaces a fact can be written to, as (id, title); shared is always among them."""
        known = [(line.agent_id, line.title) for line in self.agents.lines if line.agent_id is not None]
        if SHARED_AGENT_ID not in {agent_id for agent_id, _ in known}:
            known.append((SHARED_AGENT_ID, agent_title(SHARED_AGENT_ID)))
        return known

    def select_telling(self) -> None:
        """Selects the fact of the result that has most to tell: one that replaced another, else the first."""

        def done(fact_id: str | None) -> None:
            if fact_id is not None:
                self.select((fact_id,))

        self._host.read(partial(_telling, list(self.table.ids[:200])), done)

    def _follow(self) -> None:
        """Reads again, but never before the listing under way has come: where that is slow, there would be none."""
        if self._is_listing:
            self._reload_soon.start(FOLLOW_MS)
        else:
            self.reload()

    def reload(self) -> None:
        """Reads namespaces and ids again; bodies that are cached stay. Without a store, opening one does it."""
        self._reload_soon.stop()
        if not self._host.is_open:
            return
        self._is_listing = True
        query = self.filter.query(self._clock.now_ns(), sort=self.sort[0], descending=self.sort[1])
        written, self._written = self._written, frozenset()
        job = partial(_load, query, self._known, written if len(written) <= PAGE_ROWS else ())
        self._listing.take(self._host.read(job, self._on_listed, self._on_failed))

    def _on_listed(self, listing: _Listing) -> None:
        self._is_listing = False
        self.agents.set_lines(listing.lines)
        if self.filter.agent_id is not None and self.agents.row_of(self.filter.agent_id) is None:
            self._on_agent_gone()
            return
        self._total, self._known = listing.total, listing.found
        ids = listing.found.ids
        self.table.learn(row for row in listing.written if row.id not in self._written)
        self.table.set_ids(ids)
        self._keep_selection()
        self._set_state(Full(len(ids)) if ids else self._empty())

    def _on_agent_gone(self) -> None:
        self.filter = replace(self.filter, agent_id=None)
        self.filter_changed.emit()
        self.reload()

    def _keep_selection(self) -> None:
        wanted = self._wanted_id
        if wanted is not None and self.table.row_of(wanted) is not None:
            self._wanted_id = None
            self.select((wanted,))
        elif wanted is not None and not self._is_loosened:
            self._is_loosened = True
            self._host.read(lambda memory: memory.get(wanted).agent_id, self._loosen)
        elif self.selected:
            # one fact stays in the inspector when a change hides it, so that it can be brought back
            keeps_hidden = len(self.selected) == 1 and not self._drops_hidden
            if not keeps_hidden:
                self.select(self.table.id_at(row) for row in self.table.rows_of(self.selected))
        self._drops_hidden = False

    def _on_failed(self, error: GrayMatterError) -> None:
        self._is_listing = False
        self._set_state(Failed(sentence_for(error)))

    def _on_rows_wanted(self, ids: tuple[str, ...]) -> None:
        def done(rows: list[FactRow]) -> None:
            self.table.deliver(ids, rows)

        def failed(error: GrayMatterError) -> None:
            self.table.give_up()
            self._on_failed(error)

        self._bodies.take(self._host.read(lambda memory: [fact_row(fact) for fact in memory.facts(ids)], done, failed))

    def _on_changed(self, changes: Changes) -> None:
        if "fact" in changes.kinds:
            self.table.forget(changes.fact_ids)
            self._written |= changes.fact_ids
            if not self._reload_soon.isActive():
                self._reload_soon.start(FOLLOW_MS)

    def _on_opened(self) -> None:
        self._drops_hidden = True
        self.reload()

    def _on_closed(self) -> None:
        self._listing.cancel()
        self._is_listing = False
        self._bodies.cancel()
        self._reload_soon.stop()
        self.select(())
        self.left_text = ""
        self._known, self._written = None, frozenset()
        self.table.give_up()
        self.table.set_ids([])
        self.table.forget_all()
        self.agents.set_lines([])
        self.filter = FactFilter()
        self.filter_changed.emit()
        self._set_state(Loading())

    def _set_state(self, state: PageState) -> None:
        if state != self.state:
            self.state = state
            self.state_changed.emit()

    def _empty(self) -> Empty:
        if self.filter.narrows and self._total:
            return Empty("filter", tr("No fact passes these filters"), tr("Loosen a filter, or clear all of them."))
        if self.filter.agent_id is not None and self._total:
            agent = agent_title(self.filter.agent_id)
            return Empty(
                "agent",
                tr("{agent} remembers nothing yet", agent=agent),
                tr("Add a fact, or wait for the agent to write one."),
            )
        return Empty(
            "store",
            tr("No memories yet"),
            tr("Facts appear here when an agent writes them, when you import a store, or when you add one."),
        )

    def _columns(self) -> tuple[Column, ...]:
        return (
            Column(tr("Fact"), "text", _text_cell),
            Column(
                "",
                "pinned",
                lambda row: Cell(tr("Pinned") if row.pinned else "", "pin", tr("Pinned") if row.pinned else ""),
            ),
            Column(tr("Agent"), "agent", lambda row: Cell(agent_title(row.agent_id), "quiet")),
            Column(tr("Confidence"), "confidence", _confidence_cell),
            Column(tr("Weight"), "weight", _weight_cell, is_number=True),
            Column(tr("Age"), "created", self._age_cell, is_number=True),
            Column(tr("Uses"), "uses", lambda row: Cell(number(row.uses), "quiet"), is_number=True),
            Column(tr("Origin"), "origin", lambda row: Cell(channel_title(row.channel), "quiet", row.client)),
            Column(tr("Status"), "status", _status_cell),
        )

    def _age_cell(self, row: FactRow) -> Cell:
        return Cell(age(row.created_ns, self._clock.now_ns()), "quiet", utc_time(row.created_ns))


def _text_cell(row: FactRow) -> Cell:
    return Cell(row.text, "", tr("{fact}, pinned", fact=row.text) if row.pinned else "")


def _confidence_cell(row: FactRow) -> Cell:
    if row.is_alias:
        return Cell(tr("Alias"), "info", tr("Vocabulary: never returned by a recall"))
    spoken = tr("No label was given; it counts as inferred.") if row.label == "" else ""
    return Cell(confidence_title(row.confidence), row.confidence, spoken)


def _weight_cell(row: FactRow) -> Cell:
    return Cell(decimal(f"{row.weight:.2f}"), "meter", share=min(1.0, max(0.0, row.weight)))


def _status_cell(row: FactRow) -> Cell:
    return Cell("" if row.status == "live" else status_title(row.status), "" if row.status == "live" else row.status)


def _load(query: FactQuery, known: FactListing | None, written: Collection[str], memory: Memory) -> _Listing:
    agents = memory.agents()
    total = sum(each.live + each.retired + each.aliases for each in agents)
    rows = [fact_row(fact) for fact in memory.facts(tuple(written))] if written else []
    return _Listing(memory.follow_ids(query, known), agent_lines(agents, with_all=True), total, rows)


def _telling(ids: list[str], memory: Memory) -> str | None:
    scored = [
        (len(memory.lineage(fact.id).supersedes), len(memory.journal(target=fact.id, limit=9)), fact.id)
        for fact in memory.facts(ids)
    ]
    return max(scored)[2] if scored else None
