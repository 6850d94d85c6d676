"""Cycles of consolidation: a dry run, a run, what it did, and those of the past. Without widgets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import local_time, utc_time
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.proposal_cards import CardLine
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.plain_text import row_text
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.card_words import card_line, cycle_sentence
from gm_engine import Changes, CycleReport
from gm_engine.errors import GrayMatterError
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import JournalEntry

if TYPE_CHECKING:
    from gm_engine import Memory

SHOWN_CYCLES = 100
FOLLOW_MS = 120
_SHOWN_CARDS = 12


@dataclass(frozen=True, slots=True)
class ReportView:
    """What a run said: a sentence and lines below it; `agents` are what a real run would go over, `seqs` it wrote."""

    title: str
    lines: tuple[str, ...]
    is_dry: bool
    agents: tuple[str, ...]
    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CycleLine:
    """One past cycle."""

    seq: int
    text: str
    note: str
    hover: str
    is_undone: bool


@dataclass(frozen=True, slots=True)
class _Ran:
    """The reports of a run, and what its first cards are about."""

    reports: tuple[CycleReport, ...]
    cards: tuple[CardLine, ...]


class CyclesViewModel(QObject):
    """Runs cycles as tasks and lists those of the past."""

    report_changed = Signal()
    history_changed = Signal()
    running_changed = Signal()
    failed = Signal(str)

    def __init__(self, host: EngineHost, undo: UndoController, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._undo, self._notices = host, undo, notices
        self.report: ReportView | None = None
        self.history: tuple[CycleLine, ...] = ()
        self.chosen: CycleLine | None = None
        self.is_running = False
        self._reading = Latest()
        self._reload_soon = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._reload_soon.timeout.connect(self.reload)
        undo.changed.connect(self._reload_soon.start)
        host.changed.connect(self._on_changed)
        host.store_opened.connect(self._on_opened)
        host.store_closed.connect(self._on_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self.is_running or self._reading.is_awaited or self._reload_soon.isActive()

    @property
    def can_run(self) -> bool:
        """Whether a cycle may run now; a dry run also on a store that is open for reading."""
        return self._host.is_open and not self.is_running

    @property
    def can_take_back(self) -> bool:
        """Whether the chosen cycle is still in effect, and may be undone."""
        return self.can_write and self.chosen is not None and not self.chosen.is_undone

    @property
    def can_write(self) -> bool:
        """Whether a cycle may write."""
        return self.can_run and not self._host.read_only

    def run(self, agent_id: str | None, *, dry_run: bool) -> None:
        """Goes over one agent, or over all that have facts (None), beside the window."""
        if not (self.can_run if dry_run else self.can_write):
            return
        self.is_running = True
        self.running_changed.emit()
        title = tr("Looking what a cycle would do") if dry_run else tr("Consolidating")
        task = self._host.run_task(title, partial(_run, agent_id, dry_run), self._on_done, self._on_failed)
        task.ended.connect(self._on_ended)

    def run_as_shown(self) -> None:
        """Runs for real what the dry run on screen was about."""
        if self.report is not None and self.report.is_dry:
            agents = self.report.agents
            self.run(agents[0] if len(agents) == 1 else None, dry_run=False)

    def close_report(self) -> None:
        """Takes the report off the screen."""
        self.report = None
        self.report_changed.emit()

    def _on_ended(self) -> None:
        self.is_running = False
        self.running_changed.emit()
        self.reload()

    def _on_done(self, ran: _Ran) -> None:
        self.report = _report_view(ran)
        self.report_changed.emit()
        if self.report.seqs:
            self._undo.did(tr("Ran a cycle of consolidation"), self.report.seqs[0])

    def _on_failed(self, error: GrayMatterError) -> None:
        self._notices.show_failure(error)

    # --- history ---------------------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Reads the past cycles again."""
        self._reload_soon.stop()
        if self._host.is_open:
            self._reading.take(
                self._host.read(_history, self._on_history, lambda error: self.failed.emit(sentence_for(error)))
            )

    def _on_history(self, lines: tuple[CycleLine, ...]) -> None:
        if lines != self.history:
            self.history = lines
            if self.report is not None and any(line.is_undone and line.seq in self.report.seqs for line in lines):
                self.close_report()  # it tells of cards that are there no more
            chosen = self.chosen
            self.chosen = next((line for line in lines if chosen is not None and line.seq == chosen.seq), None)
            self.history_changed.emit()

    def choose(self, seq: int) -> None:
        """Picks a past cycle."""
        self.chosen = next((line for line in self.history if line.seq == seq), None)
        self.history_changed.emit()

    def undo_chosen(self) -> None:
        """Takes a whole past cycle back: its cards, what it merged, what it pruned; not the fading."""
        line = self.chosen
        if line is None or not self.can_take_back:
            return

        def done(entry: JournalEntry) -> None:
            self._undo.did(tr("Took a cycle back"), entry.seq)
            self.reload()

        self._host.write(lambda memory: memory.undo(line.seq), done, self._notices.show_failure)

    def _on_changed(self, changes: Changes) -> None:
        if "proposal" in changes.kinds:
            self._reload_soon.start()

    def _on_opened(self) -> None:
        self.running_changed.emit()
        self.reload()

    def _on_closed(self) -> None:
        self._reload_soon.stop()
        self._reading.cancel()
        self.report, self.history, self.chosen, self.is_running = None, (), None, False
        self.report_changed.emit()
        self.history_changed.emit()
        self.running_changed.emit()


def _run(agent_id: str | None, dry_run: bool, memory: Memory, progress: Progress, cancel: CancelToken) -> _Ran:
    """Goes over the agents as one action of the journal. A task's thread."""
    agents = [agent_id] if agent_id is not None else [each.agent_id for each in memory.agents() if each.live]
    reports: list[CycleReport] = []
    group_id: str | None = None
    for each in agents:
        report = memory.consolidate(each, dry_run=dry_run, group_id=group_id, progress=progress, cancel=cancel)
        if group_id is None and report.seq is not None:
            group_id = memory.entry(report.seq).group_id
        reports.append(report)
    first = [proposal for report in reports for proposal in report.proposals][:_SHOWN_CARDS]
    facts = {fact.id: fact for fact in memory.facts([fact_id for each in first for fact_id in each.facts[:1]])}
    return _Ran(tuple(reports), tuple(card_line(proposal, facts) for proposal in first))


def _report_view(ran: _Ran) -> ReportView:
    reports = ran.reports
    is_dry = any(report.dry_run for report in reports)
    cards = sum(sum(report.proposed.values()) for report in reports)
    if not cards:
        title = tr("A cycle would add no card") if is_dry else tr("The cycle added no card")
    elif is_dry:
        title = tr_count("A cycle would add {count} card", "A cycle would add {count} cards", cards)
    else:
        title = tr_count("The cycle added {count} card", "The cycle added {count} cards", cards)
    busy = [report for report in reports if report.proposed or report.consumed or report.pruned or report.held_back]
    lines = [f"{agent_title(report.agent_id)}: {cycle_sentence(report)}." for report in busy or reports]
    if busy and len(busy) < len(reports):
        idle = len(reports) - len(busy)
        lines.append(tr_count("Nothing new in {count} other agent.", "Nothing new in {count} other agents.", idle))
    lines += [row_text(error, 300) for report in reports for error in report.errors]
    if is_dry:
        lines += [f"{line.kind_title}: {line.text}" for line in ran.cards]
        if cards > len(ran.cards):
            lines.append(tr("… and {count} more", count=cards - len(ran.cards)))
    seqs = tuple(report.seq for report in reports if report.seq is not None)
    return ReportView(title, tuple(lines), is_dry, tuple(report.agent_id for report in reports), seqs)


def _history(memory: Memory) -> tuple[CycleLine, ...]:
    reports = memory.cycles(limit=SHOWN_CYCLES)
    undone = memory.activity.undone([report.seq for report in reports if report.seq is not None])
    return tuple(_cycle_line(report, is_undone=report.seq in undone) for report in reports)


def _cycle_line(report: CycleReport, *, is_undone: bool) -> CycleLine:
    remarks = [*([tr("by itself")] if report.automatic else []), *([tr("taken back")] if is_undone else [])]
    return CycleLine(
        seq=report.seq or 0,
        text=f"{agent_title(report.agent_id)}: {cycle_sentence(report)}",
        note="  ·  ".join((local_time(report.at_ns), *remarks)),
        hover="\n".join((utc_time(report.at_ns), *report.errors)),
        is_undone=is_undone,
    )
