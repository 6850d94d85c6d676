"""Bringing memories in: look first, choose for whom, then import, then say what arrived and what did not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import one_line
from gm_desktop.i18n import tr
from gm_desktop.models.fact_row import agent_title
from gm_desktop.notices import sentence_for
from gm_desktop.tasks import Task
from gm_desktop.undo_controller import UndoController
from gm_engine.errors import GrayMatterError, ImportRefused
from gm_engine.records import GRAYMATTER_FORMAT, ImportReport

if TYPE_CHECKING:
    from gm_engine import Memory
    from gm_engine.importing.door import ImportOptions

FILE_SUFFIXES = (".db", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".md", ".markdown")
_SAMPLE_CHARS = 160


@dataclass(frozen=True, slots=True)
class CountLine:
    """One kind of record: how many the file holds, how many of them are (or were) new here."""

    label: str
    found: int
    imported: int


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """One record that stays out."""

    kind: str
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """A report in words for the view.

    `format_title` says what the file is. `agents` is empty where a store brings its own namespaces; else texts go to
    whom the file names, or to the agent that was chosen.
    """

    counts: tuple[CountLine, ...]
    skipped: tuple[SkippedLine, ...]
    format_title: str = ""
    agents: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()

    @property
    def new(self) -> int:
        """How many records are new."""
        return sum(line.imported for line in self.counts)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The file is being read, or being imported."""

    path: Path
    is_import: bool
    task: Task


@dataclass(frozen=True, slots=True)
class Looked:
    """The file was read; nothing is written yet. `choices` are the agents that its texts can be given to.

    The first choice, "", leaves them to whom the file names; there is none where a store brings its own agents.
    """

    path: Path
    summary: ImportSummary
    choices: tuple[tuple[str, str], ...] = ()
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class ColumnWanted:
    """The file is a table, and nobody knows which column holds the text."""

    path: Path
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Imported:
    """The import is finished."""

    path: Path
    summary: ImportSummary


@dataclass(frozen=True, slots=True)
class Refused:
    """The file can't be imported, or the import stopped."""

    path: Path
    sentence: str


State = Waiting | Looked | ColumnWanted | Imported | Refused


class ImportViewModel(QObject):
    """One import. `changed` follows every step."""

    changed = Signal()
    imported = Signal()

    def __init__(self, host: EngineHost, undo: UndoController, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._undo = host, undo
        self.path = path
        self.state: State | None = None
        self._agent_id, self._column = "", ""

    def look(self) -> None:
        """Reads the file and tells what would arrive."""
        path, options = self.path, self._options()
        task = self._host.run_task(
            tr("Reading {name}", name=path.name),
            lambda memory, progress, cancel: _look(memory, path, {**options, "progress": progress, "cancel": cancel}),
            self._on_looked,
            self._on_failed,
        )
        self._wait(task, is_import=False)

    def choose_agent(self, agent_id: str) -> None:
        """Gives the texts to one agent, or with "" to whom the file names, and looks again."""
        if agent_id != self._agent_id:
            self._agent_id = agent_id if agent_id.strip() else ""
            self.look()

    def choose_column(self, name: str) -> None:
        """Says which column of a table holds the text, and looks again."""
        self._column = name
        self.look()

    def start(self, agent_id: str = "") -> None:
        """Imports, to `agent_id` where one is named; what is committed stays even when it is cancelled."""
        self._agent_id = agent_id if agent_id.strip() else ""
        path, options = self.path, self._options()
        task = self._host.run_task(
            tr("Importing {name}", name=path.name),
            lambda memory, progress, cancel: _import(memory, path, {**options, "progress": progress, "cancel": cancel}),
            self._on_imported,
            self._on_failed,
        )
        self._wait(task, is_import=True)

    def _options(self) -> ImportOptions:
        return {"agent_id": self._agent_id or None, "columns": {"text": self._column} if self._column else {}}

    def cancel(self) -> None:
        """Stops reading or importing."""
        if isinstance(self.state, Waiting):
            self.state.task.cancel()

    def _wait(self, task: Task, *, is_import: bool) -> None:
        task.ended.connect(self._on_task_ended)
        self._set(Waiting(self.path, is_import, task))

    def _on_task_ended(self) -> None:
        state = self.state
        if isinstance(state, Waiting) and state.task.token.is_cancelled:
            kept = tr("Cancelled. What had arrived by then is kept; importing again adds only the rest.")
            self._set(Refused(self.path, kept if state.is_import else tr("Cancelled. Nothing was imported.")))

    def _on_looked(self, found: tuple[ImportReport, tuple[str, ...]]) -> None:
        report, known = found
        summary = summary_of(report)
        choices: tuple[tuple[str, str], ...] = ()
        if report.format != GRAYMATTER_FORMAT:
            named = ", ".join(one_line(agent_title(name), 40) for name in report.agents[:3]) or tr("nobody")
            own = tr("As the file says") if self._agent_id else tr("As the file says: {agents}", agents=named)
            choices = (("", own), *((name, agent_title(name)) for name in known))
        self._set(Looked(self.path, summary, choices, self._agent_id))

    def _on_imported(self, done: tuple[ImportReport, str | None]) -> None:
        report, group_id = done
        if group_id is not None:
            self._undo.did(tr("Imported {name}", name=self.path.name), group_id)
        self._set(Imported(self.path, summary_of(report)))
        self.imported.emit()

    def _on_failed(self, error: GrayMatterError) -> None:
        columns = error.fields.get("columns")
        if isinstance(error, ImportRefused) and isinstance(columns, tuple) and columns and not self._column:
            self._set(ColumnWanted(self.path, tuple(map(str, columns))))
            return
        self._set(Refused(self.path, sentence_for(error)))

    def _set(self, state: State) -> None:
        self.state = state
        self.changed.emit()


def _look(memory: Memory, path: Path, options: ImportOptions) -> tuple[ImportReport, tuple[str, ...]]:
    """What would arrive, and the agents that are here."""
    return memory.import_preview(path, **options), tuple(agent.agent_id for agent in memory.agents())


def _import(memory: Memory, path: Path, options: ImportOptions) -> tuple[ImportReport, str | None]:
    """The report, and the journal's group of what was written (None: nothing was)."""
    before = memory.last_seq()
    report = memory.import_store(path, **options)
    entries = [entry for entry in memory.journal(limit=20) if entry.seq > before and entry.verb == "import"]
    return report, entries[0].group_id if entries else None


def summary_of(report: ImportReport) -> ImportSummary:
    """What an import report says, with labels for the person."""
    found, imported = report.found, report.imported
    counts: tuple[CountLine, ...] = (
        CountLine(tr("Facts"), found.facts, imported.facts),
        CountLine(tr("Checkpoints"), found.checkpoints, imported.checkpoints),
        CountLine(tr("Entities"), found.entities, imported.entities),
        CountLine(tr("Links"), found.edges, imported.edges),
    )
    skipped = tuple(SkippedLine(item.kind, one_line(item.id, 60), one_line(item.reason)) for item in report.skipped)
    if report.format != GRAYMATTER_FORMAT:
        counts = tuple(line for line in counts if line.found or line is counts[0])
    samples = tuple(one_line(text, _SAMPLE_CHARS) for text in report.samples)
    return ImportSummary(counts, skipped, _format_title(report.format), report.agents, samples)


def _format_title(name: str) -> str:
    """What a file of that format is, for the person."""
    titles = {
        GRAYMATTER_FORMAT: tr("A GrayMatter store"),
        "mcp-memory": tr("Memory of the MCP memory server"),
        "mem0": tr("Memories of mem0"),
        "mcp-memory-service": tr("Memories of mcp-memory-service"),
        "claude-mem": tr("Observations of claude-mem"),
        "memory-list": tr("A list of memories"),
        "agent-instructions": tr("Instructions for agents"),
        "markdown": tr("Markdown notes"),
        "csv": tr("A table"),
        "jsonl": tr("JSON lines"),
    }
    return titles.get(name, name)


def can_import(path: Path) -> bool:
    """Whether a dropped file or folder may hold memories."""
    return path.is_dir() or path.suffix.casefold() in FILE_SUFFIXES
