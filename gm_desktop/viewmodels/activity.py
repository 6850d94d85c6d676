"""The Activity page without widgets: the journal, live; who wrote; undo of any action."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.models.activity_list import ActivityLine, ActivityList
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.line_list import Line, LineList
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.activity_details import ActionDetails, ActivityDetails
from gm_desktop.viewmodels.activity_filter import SEPARATOR, ActivityFilter
from gm_desktop.viewmodels.activity_words import activity_line, entry_title
from gm_desktop.viewmodels.activity_writers import writer_lines
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_desktop.viewmodels.undo_words import Refusal, refusal
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError, UndoConflict
from gm_engine.records import ActivityQuery, Changes

if TYPE_CHECKING:
    from gm_engine import Memory

FOLLOW_MS = 150
PROGRAMS_MS = 4_000
PAGE_ROWS = 100


@dataclass(frozen=True, slots=True)
class _Listing:
    """One answer of the read lane."""

    lines: list[ActivityLine]
    has_more: bool
    writers: tuple[Line, ...]
    agents: tuple[tuple[str, str], ...]
    verbs: tuple[tuple[str, int], ...]
    entries: int


@dataclass(frozen=True, slots=True)
class _Undone:
    """The compensating entry, and what it undid."""

    seq: int
    what: str


class ActivityViewModel(QObject):
    """Follows the journal without losing place or selection."""

    state_changed = Signal()
    filter_changed = Signal()
    selection_changed = Signal()

    def __init__(
        self, host: EngineHost, undo: UndoController, notices: Notices, clock: Clock, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._host, self._undo, self._notices, self._clock = host, undo, notices, clock
        self.lines = ActivityList(self)
        self.writers = LineList(self)
        self.details = ActivityDetails(host, self)
        self.filter = ActivityFilter()
        self.state: PageState = Loading()
        self.selected: int | None = None
        self.agents: tuple[tuple[str, str], ...] = ()
        self.verbs: tuple[tuple[str, int], ...] = ()
        self._is_undoing = False
        self._is_chosen = False
        self._wants_newest = False
        self._is_stale = True
        self._listing = Latest()
        self._older = Latest()
        self._programs = Latest()
        self._reload_soon = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._reload_soon.timeout.connect(self.reload)
        self._watch = QTimer(self, interval=PROGRAMS_MS)
        self._watch.timeout.connect(self._read_programs)
        self.lines.more_wanted.connect(self._read_older)
        host.changed.connect(self._on_changed)
        host.store_opened.connect(self._on_opened)
        host.store_closed.connect(self._on_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._listing.is_awaited or self._reload_soon.isActive() or self.details.is_waiting

    @property
    def can_undo(self) -> bool:
        """Whether the selected action can be undone now."""
        state = self.details.state
        is_free = self._host.is_open and not self._host.read_only and not self._is_undoing and not self._wants_newest
        return is_free and isinstance(state, ActionDetails) and state.seq == self.selected and state.can_undo

    def watch(self, is_watched: bool) -> None:
        """Somebody looks at the page: only then the journal is read as it grows.

        Programs that come and go leave nothing in it, so they are asked for.
        """
        if not is_watched:
            self._watch.stop()
            self._reload_soon.stop()
            return
        self._watch.start()
        self._wants_newest = not self._is_chosen  # what was newest when nobody looked is of no interest now
        if self._wants_newest or self._is_stale:
            self.reload()
        else:
            self._read_programs()

    def set_filter(self, wanted: ActivityFilter) -> None:
        """Shows what passes another filter."""
        if wanted != self.filter:
            self.filter = wanted
            self.filter_changed.emit()
            self.reload()

    def choose_writer(self, key: str) -> None:
        """Follows one program; the same one again, or the first line, follows everybody."""
        self.set_filter(self.filter.with_writer("" if key == self.filter.writer else key))

    def follow_client(self, name: str) -> None:
        """Shows only what a program wrote over MCP."""
        self.set_filter(ActivityFilter().with_writer(f"mcp{SEPARATOR}{name}"))

    def reload(self) -> None:
        """Reads what is loaded again. Without a store, opening one does it."""
        self._reload_soon.stop()
        if not self._host.is_open:
            return
        self._is_stale = False
        now_ns = self._clock.now_ns()
        limit = max(PAGE_ROWS, len(self.lines.lines))
        query = self.filter.query(now_ns)
        job = partial(_list, query, limit, now_ns)
        self._listing.take(self._host.read(job, self._on_listed, self._on_failed))

    def _on_listed(self, listing: _Listing) -> None:
        self.lines.set_lines(listing.lines, has_more=listing.has_more)
        self.writers.set_lines(listing.writers)
        self.agents, self.verbs = listing.agents, listing.verbs
        if listing.lines:
            self._set_state(Full(len(listing.lines)))
        else:
            self._set_state(self._empty(listing.entries))
        wants_newest, self._wants_newest = self._wants_newest, False
        if wants_newest or self.selected is None or not listing.lines:
            self.select(listing.lines[0].seq if listing.lines else None, by_person=False)
        else:
            self.details.refresh()
        self.filter_changed.emit()
        self.selection_changed.emit()  # what can be done may be another thing now

    def _empty(self, entries: int) -> Empty:
        if entries and self.filter.narrows:
            return Empty("filter", tr("Nothing passes these filters"), tr("Loosen a filter, or clear all of them."))
        return Empty(
            "none",
            tr("Nothing has happened yet"),
            tr("Everything that is written into this store appears here as it happens: by whom, through what, when."),
        )

    def _on_failed(self, error: GrayMatterError) -> None:
        self._wants_newest, self._is_stale = False, True
        self._set_state(Failed(sentence_for(error)))

    def _read_older(self) -> None:
        lines = self.lines.lines
        if not lines or self._older.is_awaited:
            return
        now_ns = self._clock.now_ns()
        before, query = lines[-1].seq, self.filter.query(now_ns)

        def job(memory: Memory) -> list[ActivityLine]:
            entries = memory.activity.list(query, before_seq=before, limit=2 * PAGE_ROWS)
            return [activity_line(entry, now_ns) for entry in entries]

        def done(older: list[ActivityLine]) -> None:
            if self.lines.lines and self.lines.lines[-1].seq == before:
                self.lines.append(older, has_more=len(older) == 2 * PAGE_ROWS)
                self._set_state(Full(len(self.lines.lines)))
            elif self.lines.canFetchMore(QModelIndex()):
                self._read_older()  # the list was read anew meanwhile

        self._older.take(self._host.read(job, done, self._on_failed))

    def _read_programs(self) -> None:
        if self._host.is_open:
            job = partial(writer_lines, now_ns=self._clock.now_ns())
            self._programs.take(self._host.read(job, self.writers.set_lines, lambda _error: None))

    # --- one action ------------------------------------------------------------------------------------------------

    def select(self, seq: int | None, *, by_person: bool = True) -> None:
        """Shows one action in full. What a person chose stays; while somebody looks, nothing else is shown either."""
        if seq != self.selected:
            self.selected = seq
            self._is_chosen = by_person and seq is not None
            self.details.show(seq)
            self.selection_changed.emit()

    def undo(self) -> None:
        """Undoes the selected action, whoever did it; a conflict is told in words and leads to what stands on top."""
        state = self.details.state
        if not self.can_undo or not isinstance(state, ActionDetails):
            return
        self._is_undoing = True
        seq = state.seq

        def done(answer: _Undone | Refusal) -> None:
            self._is_undoing = False
            if isinstance(answer, _Undone):
                self._undo.did(tr("Undid: {what}", what=answer.what), answer.seq)
                self.reload()
            else:
                on_top = answer.seq
                show = (tr("Show it"), lambda: self.reveal(on_top)) if on_top is not None else None
                self._notices.show(answer.sentence, level="warning", action=show)
            self.selection_changed.emit()

        def failed(error: GrayMatterError) -> None:
            self._is_undoing = False
            self._notices.show_failure(error)
            self.selection_changed.emit()

        self._host.write(partial(_undo, seq), done, failed)

    def reveal(self, seq: int) -> None:
        """Selects an action, and drops the filters when they hide it."""
        self.select(seq)
        if self.lines.row_of(seq) is None and self.filter.narrows:
            self.set_filter(ActivityFilter())

    # --- following -------------------------------------------------------------------------------------------------

    def _on_changed(self, changes: Changes) -> None:
        if changes:
            self._is_stale = True
            if self._watch.isActive() and not self._reload_soon.isActive():
                self._reload_soon.start()

    def _on_opened(self) -> None:
        self._is_stale = True
        if self._watch.isActive():
            self.watch(True)

    def _on_closed(self) -> None:
        self._listing.cancel()
        self._older.cancel()
        self._programs.cancel()
        self._reload_soon.stop()
        self.lines.set_lines([], has_more=False)
        self.writers.set_lines(())
        self.filter = ActivityFilter()
        self.select(None)
        self.filter_changed.emit()
        self._set_state(Loading())

    def _set_state(self, state: PageState) -> None:
        if state != self.state:
            self.state = state
            self.state_changed.emit()


def _list(query: ActivityQuery, limit: int, now_ns: int, memory: Memory) -> _Listing:
    entries = memory.activity.list(query, limit=limit)
    verbs = memory.activity.verbs()
    return _Listing(
        lines=[activity_line(entry, now_ns) for entry in entries],
        has_more=len(entries) == limit,
        writers=writer_lines(memory, now_ns=now_ns),
        agents=tuple((each.agent_id, agent_title(each.agent_id)) for each in memory.agents()),
        verbs=tuple(verbs.items()),
        entries=sum(verbs.values()),
    )


def _undo(seq: int, memory: Memory) -> _Undone | Refusal:
    entry = memory.activity.entry(seq)
    try:
        made = memory.undo(entry.group_id)
    except UndoConflict as conflict:
        return refusal(memory, conflict, seq)
    return _Undone(made.seq, entry_title(entry))
