"""Backups by hand and on a schedule, restoring one to a copy, and removing a text for good. Without widgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import local_time, number, size
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.line_list import Line, LineList
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.plain_text import row_text
from gm_desktop.tasks import Task, TaskState
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.journalled import journalled
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_engine.clock import NS_PER_S, Clock
from gm_engine.errors import GrayMatterError
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import Backup, BackupSchedule, FactQuery, PurgeReport

if TYPE_CHECKING:
    from gm_engine import Memory

LOOK_MS = 10 * 60 * 1000
_LOOKED_THROUGH = 20_000
_NAMED = 4
_READ_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class PurgePreview:
    """What a purge would remove as far as the facts tell: how many, and a few of them with their agents."""

    text: str
    containing: bool
    count: int
    lines: tuple[Line, ...]


class KeepingSettings(QObject):
    """Copies of the open store, and what must not be kept."""

    changed = Signal()
    running_changed = Signal()
    preview_changed = Signal()
    purged = Signal(str, object)  # a sentence, and further lines
    open_wanted = Signal(object)  # Path of a restored copy

    def __init__(
        self,
        host: EngineHost,
        undo: UndoController,
        notices: Notices,
        *,
        clock: Clock,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._host, self._undo, self._notices, self._clock = host, undo, notices, clock
        self.state: PageState = Loading()
        self.lines = LineList(self)
        self.schedule = BackupSchedule()
        self.preview: PurgePreview | None = None
        self._paths: dict[str, Backup] = {}
        self._running: Task | None = None
        self._gave_up = False
        self._reading, self._previewing = Latest(), Latest()
        self._look = QTimer(self, interval=LOOK_MS)
        self._look.timeout.connect(self.reload)
        host.store_opened.connect(self._on_opened)
        host.store_closed.connect(self._on_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._reading.is_awaited or self._previewing.is_awaited or self._running is not None

    @property
    def is_running(self) -> bool:
        """Whether a backup, a restoring or a purge is at work."""
        return self._running is not None

    @property
    def can_back_up(self) -> bool:
        """Whether a backup can be made now; a store that is open for reading can be backed up, too."""
        return self._host.is_open and self._running is None

    @property
    def can_write(self) -> bool:
        """Whether the schedule can be changed, or a text purged."""
        return self.can_back_up and not self._host.read_only

    def reload(self) -> None:
        """Reads the store's own backups and the schedule again; a backup that is due is made."""
        if self._host.is_open:
            self._reading.take(self._host.read(_read, self._on_read, self._on_failed))

    # --- backups ---------------------------------------------------------------------------------------------------

    def back_up(self, folder: Path | None = None) -> None:
        """Makes a backup in a folder, or in the store's own."""
        if not self.can_back_up:
            return

        def job(memory: Memory, progress: Progress, cancel: CancelToken) -> Backup:
            return memory.backup(folder, progress=progress, cancel=cancel)

        def done(backup: Backup) -> None:
            text = tr("Backed up to {path} ({size})", path=backup.path, size=size(backup.size_bytes))
            self._notices.show(text, level="success")

        self._run(self._host.run_task(tr("Backing up"), job, done))

    def set_schedule(self, every_h: int, kept: int, folder: str | None = None) -> None:
        """How often a backup is made by itself (0: never), how many of those stay, and where.

        A folder "" is the store's own; None leaves it as it is.
        """
        wanted = BackupSchedule(every_h, kept, self.schedule.folder if folder is None else folder)
        if not self.can_write or wanted == self.schedule:
            return
        self.schedule = wanted
        self._gave_up = False

        def done(seq: int | None) -> None:
            if seq is not None:
                self._undo.did(tr("Changed when backups are made"), seq)
            self.reload()

        def failed(error: GrayMatterError) -> None:
            self._notices.show_failure(error)
            self.reload()

        self._host.write(lambda memory: journalled(lambda kept: kept.set_backup_schedule(wanted), memory), done, failed)

    def restore(self, key: str, target: Path) -> None:
        """Makes a new store in an empty folder from one of the listed backups, then offers to open it."""
        backup = self._paths.get(key)
        if backup is not None:
            self.restore_file(Path(backup.path), target)

    def restore_file(self, path: Path, target: Path) -> None:
        """Makes a new store in an empty folder from a backup file. The open store is not touched."""
        if self._running is not None:
            return

        def job(progress: Progress, cancel: CancelToken) -> Backup:
            from gm_engine import restore_backup

            return restore_backup(path, target, progress=progress, cancel=cancel)

        def done(_backup: Backup) -> None:
            text = tr("{file} was restored to {folder}.", file=path.name, folder=target)
            self._notices.show(text, level="success", action=(tr("Open it"), lambda: self.open_wanted.emit(target)))

        self._run(self._host.run_alone(tr("Restoring a backup"), job, done))

    def is_sound(self, key: str) -> bool:
        """Whether a listed backup can be read."""
        return key in self._paths and not self._paths[key].problem

    # --- purging ---------------------------------------------------------------------------------------------------

    def look_for(self, text: str, *, containing: bool) -> None:
        """Finds the facts that a purge of `text` would remove; nothing is changed."""
        if not text.strip():
            self._previewing.cancel()
            self.preview = None
            self.preview_changed.emit()
            return

        def job(memory: Memory) -> PurgePreview:
            return _preview(memory, text, containing=containing)

        self._previewing.take(self._host.read(job, self._on_preview))

    def purge(self, text: str, *, containing: bool, block: bool) -> None:
        """Removes a text for good. There is no undo."""
        if not self.can_write:
            return

        def job(memory: Memory, progress: Progress, cancel: CancelToken) -> PurgeReport:
            return memory.purge(text, containing=containing, block=block, progress=progress, cancel=cancel)

        def done(report: PurgeReport) -> None:
            sentence, lines = purge_words(report)
            self.purged.emit(sentence, lines)
            self._notices.show(sentence, level="warning" if report.incomplete or report.still_in else "success")

        self._run(self._host.run_task(tr("Removing a text for good"), job, done))

    # --- inside ----------------------------------------------------------------------------------------------------

    def _run(self, task: Task) -> None:
        self._running = task
        self.running_changed.emit()

        def ended() -> None:
            self._running = None
            self.running_changed.emit()
            self.reload()

        task.ended.connect(ended)

    def _on_preview(self, preview: PurgePreview) -> None:
        self.preview = preview
        self.preview_changed.emit()

    def _on_read(self, found: tuple[tuple[Backup, ...], BackupSchedule]) -> None:
        backups, self.schedule = found
        self._paths = {each.path: each for each in backups}
        self.lines.set_lines([_line(each) for each in backups])
        hint = tr("A backup is one file with everything but what can be made anew.")
        self.state = Full(len(backups)) if backups else Empty("none", tr("No backup in the store's folder yet"), hint)
        self.changed.emit()
        if self._is_due(backups):
            title = tr("Making the scheduled backup")
            task = self._host.run_task(title, _make_due, lambda _: None, self._on_due_failed)
            task.ended.connect(lambda: self._on_due_ended(task))
            self._run(task)

    def _on_due_ended(self, task: Task) -> None:
        if task.state is TaskState.CANCELLED:  # the next start, or a change of the schedule, tries again
            self._gave_up = True

    def _on_due_failed(self, error: GrayMatterError) -> None:
        if not self._gave_up:
            self._gave_up = True
            self._notices.show_failure(error)

    def _is_due(self, backups: tuple[Backup, ...]) -> bool:
        if self.schedule.every_h == 0 or not self.can_write or self._gave_up:
            return False
        newest = max((each.made_ns for each in backups if not each.problem), default=0)
        return self._clock.now_ns() >= newest + self.schedule.every_h * 3600 * NS_PER_S

    def _on_failed(self, error: GrayMatterError) -> None:
        self.state = Failed(sentence_for(error))
        self.changed.emit()

    def _on_opened(self) -> None:
        self._gave_up = False
        self._look.start()
        self.reload()

    def _on_closed(self) -> None:
        self._look.stop()
        self._reading.cancel()
        self._previewing.cancel()
        self._paths, self.preview, self.schedule, self.state = {}, None, BackupSchedule(), Loading()
        self.lines.set_lines(())
        self.changed.emit()
        self.preview_changed.emit()


def _read(memory: Memory) -> tuple[tuple[Backup, ...], BackupSchedule]:
    return memory.backups(), memory.backup_schedule


def _make_due(memory: Memory, progress: Progress, cancel: CancelToken) -> Backup | None:
    return memory.backup_if_due(progress=progress, cancel=cancel)


def _preview(memory: Memory, text: str, *, containing: bool) -> PurgePreview:
    """Read lane: candidates by the listing's filter, then the exact comparison that a purge makes."""
    wanted = normalize("NFC", text)
    ids = memory.fact_ids(FactQuery(status="all", text=text))[:_LOOKED_THROUGH]
    hits: list[Line] = []
    count = 0
    for start in range(0, len(ids), _READ_AT_ONCE):
        for fact in memory.facts(ids[start : start + _READ_AT_ONCE]):
            held = normalize("NFC", fact.text)
            if wanted in held if containing else wanted == held:
                count += 1
                if len(hits) < _NAMED:
                    hits.append(Line(fact.id, row_text(fact.text, 160), agent_title(fact.agent_id)))
    return PurgePreview(text, containing, count, tuple(hits))


def _line(backup: Backup) -> Line:
    name = Path(backup.path).name
    if backup.problem:
        return Line(backup.path, name, row_text(backup.problem, 200), tr("damaged"), "danger")
    facts = tr_count("{count} fact", "{count} facts", backup.counts.facts)
    parts = (facts, size(backup.size_bytes), name)
    mark = tr("scheduled") if backup.scheduled else ""
    return Line(backup.path, local_time(backup.made_ns), " · ".join(parts), mark)


def purge_words(report: PurgeReport) -> tuple[str, tuple[str, ...]]:
    """What a purge did: a sentence, and a line for each kind of thing and for what is left."""
    facts = tr_count("{count} fact", "{count} facts", report.facts)
    sentence = tr("{bytes} bytes of {facts} are gone for good.", bytes=number(report.removed_bytes), facts=facts)
    counted: tuple[tuple[int, Callable[[int], str]], ...] = (
        (report.journal_images, lambda n: tr_count("{count} image in the journal", "{count} images in the journal", n)),
        (report.vectors, lambda n: tr_count("{count} vector", "{count} vectors", n)),
        (report.proposals, lambda n: tr_count("{count} card in the inbox", "{count} cards in the inbox", n)),
        (len(report.backups), lambda n: tr_count("{count} backup written anew", "{count} backups written anew", n)),
    )
    lines = [said(count) for count, said in counted if count]
    lines += [
        tr("Still there, inside something longer: {place}", place=row_text(each, 200)) for each in report.still_in
    ]
    lines += [row_text(each, 300) for each in report.incomplete]
    return sentence, tuple(lines)
