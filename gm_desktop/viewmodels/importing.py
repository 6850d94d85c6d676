"""Bringing another store in: look first, then import, then say what arrived and what did not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import one_line
from gm_desktop.i18n import tr
from gm_desktop.notices import sentence_for
from gm_desktop.tasks import Task
from gm_desktop.undo_controller import UndoController
from gm_engine.errors import GrayMatterError
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import ImportReport

if TYPE_CHECKING:
    from gm_engine import Memory

FILE_SUFFIXES = (".db", ".json")


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
    """A report in words for the view."""

    counts: tuple[CountLine, ...]
    skipped: tuple[SkippedLine, ...]

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
    """The file was read; nothing is written yet."""

    path: Path
    summary: ImportSummary


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


State = Waiting | Looked | Imported | Refused


class ImportViewModel(QObject):
    """One import. `changed` follows every step."""

    changed = Signal()
    imported = Signal()

    def __init__(self, host: EngineHost, undo: UndoController, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._undo = host, undo
        self.path = path
        self.state: State | None = None

    def look(self) -> None:
        """Reads the file and tells what would arrive."""
        path = self.path
        task = self._host.run_task(
            tr("Reading {name}", name=path.name),
            lambda memory, progress, cancel: memory.import_preview(path, progress=progress, cancel=cancel),
            lambda report: self._set(Looked(path, summary_of(report))),
            self._on_failed,
        )
        self._wait(task, is_import=False)

    def start(self) -> None:
        """Imports; what is committed stays even when it is cancelled."""
        path = self.path
        task = self._host.run_task(
            tr("Importing {name}", name=path.name),
            lambda memory, progress, cancel: _import(memory, path, progress, cancel),
            self._on_imported,
            self._on_failed,
        )
        self._wait(task, is_import=True)

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

    def _on_imported(self, done: tuple[ImportReport, str | None]) -> None:
        report, group_id = done
        if group_id is not None:
            self._undo.did(tr("Imported {name}", name=self.path.name), group_id)
        self._set(Imported(self.path, summary_of(report)))
        self.imported.emit()

    def _on_failed(self, error: GrayMatterError) -> None:
        self._set(Refused(self.path, sentence_for(error)))

    def _set(self, state: State) -> None:
        self.state = state
        self.changed.emit()


def _import(memory: Memory, path: Path, progress: Progress, cancel: CancelToken) -> tuple[ImportReport, str | None]:
    """The report, and the journal's group of what was written (None: nothing was)."""
    before = memory.last_seq()
    report = memory.import_store(path, progress=progress, cancel=cancel)
    entries = [entry for entry in memory.journal(limit=20) if entry.seq > before and entry.verb == "import"]
    return report, entries[0].group_id if entries else None


def summary_of(report: ImportReport) -> ImportSummary:
    """What an import report says, with labels for the person."""
    found, imported = report.found, report.imported
    counts = (
        CountLine(tr("Facts"), found.facts, imported.facts),
        CountLine(tr("Checkpoints"), found.checkpoints, imported.checkpoints),
        CountLine(tr("Entities"), found.entities, imported.entities),
        CountLine(tr("Links"), found.edges, imported.edges),
    )
    skipped = tuple(SkippedLine(item.kind, one_line(item.id, 60), one_line(item.reason)) for item in report.skipped)
    return ImportSummary(counts, skipped)


def can_import(path: Path) -> bool:
    """Whether a dropped file looks like a store."""
    return path.suffix.casefold() in FILE_SUFFIXES
