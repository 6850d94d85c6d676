"""Keeps the inbox in step with the vault, without widgets: a watcher, a look at what was edited, proposals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr_count
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.publish import PublishViewModel
from gm_engine.errors import GrayMatterError
from gm_engine.progress import CancelToken, no_progress

if TYPE_CHECKING:
    from exporters.obsidian.edits import VaultEdits
    from exporters.obsidian.watching import VaultWatcher
    from exporters.profiles import PublishProfile
    from gm_engine import BulkDecision, Memory

AGAIN_MS = 1_000
START_MS = 300
CHECK_MS = 5_000
REFUSED_MS = 60_000  # to begin takes a look at every folder


@dataclass(frozen=True, slots=True)
class Watched:
    """Whether a folder was published to, whether its changes are noticed by themselves, and whether that is new."""

    is_published: bool
    is_watching: bool
    is_new: bool


class VaultWatch(QObject):
    """Watches the vault that is published to while a store is open for writing. `close()` ends the watcher.

    A folder that is not there yet, that went or that the system would not watch is tried again now and then.
    """

    changed = Signal()
    _touched = Signal()

    def __init__(
        self, host: EngineHost, publishing: PublishViewModel, undo: UndoController, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._host, self._publishing, self._undo = host, publishing, undo
        self.problems: tuple[str, ...] = ()
        self.moved = 0
        self.is_watching = False
        """Whether changes in the vault are noticed by themselves."""
        self._watcher: VaultWatcher | None = None  # of the asking lane: a watcher looks at every folder when it begins
        self._watched: tuple[str, str] | None = None
        self._beginning, self._checking, self._looking, self._writing = Latest(), Latest(), Latest(), Latest()
        self._token = CancelToken()
        self._again = QTimer(self, singleShot=True, interval=AGAIN_MS)
        self._again.timeout.connect(self.look)
        self._begin = QTimer(self, singleShot=True, interval=START_MS)
        self._begin.timeout.connect(self._follow)
        self._check = QTimer(self, interval=CHECK_MS)
        self._check.timeout.connect(self.check)
        self._touched.connect(self.look, Qt.ConnectionType.QueuedConnection)
        host.store_opened.connect(self._begin.start)
        host.store_closed.connect(self.close)
        publishing.changed.connect(self._on_publishing)

    @property
    def is_beginning(self) -> bool:
        """Whether the watcher still takes its first look at the folders; nothing waits for that."""
        return self._beginning.is_awaited and not self.is_watching

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._looking.is_awaited or self._writing.is_awaited

    def look(self) -> None:
        """Finds out what was edited in the vault and proposes it. A large vault takes seconds: nobody waits for it."""
        if not self._can_look() or self.is_waiting:
            self._again.start(AGAIN_MS) if self.is_waiting else None
            return
        aim = self._publishing.profile()
        token = self._token = CancelToken()

        def job(memory: Memory) -> VaultEdits:
            from exporters.obsidian.apart import run_job
            from exporters.obsidian.jobs import ReadingEdits

            edits = ReadingEdits(Path(aim.vault), aim.folder)
            return run_job(edits, memory, progress=no_progress, cancel=token)

        self._looking.take(self._host.ask(job, lambda edits: self._on_edits(edits, aim), self._on_failed))

    def check(self) -> None:
        """Sees whether the chosen folder is still watched, and begins again where it is not."""
        wanted = self._watched
        if wanted is None or self._beginning.is_awaited or self._checking.is_awaited or not self._can_look():
            return
        self._checking.take(self._host.ask(lambda _memory: self._keep(*wanted), self._on_kept, lambda _error: None))

    def close(self) -> None:
        """Stops watching."""
        for timer in (self._again, self._begin, self._check):
            timer.stop()
        self._give_up()
        self._writing.cancel()
        self._watch(None)
        self.problems, self.moved = (), 0
        self.changed.emit()

    def _can_look(self) -> bool:
        publishing = self._publishing
        is_open = self._host.is_open and not self._host.read_only and not publishing.is_publishing
        return is_open and bool(publishing.vault.strip() and publishing.folder.strip())

    def _give_up(self) -> None:
        self._token.cancel()
        self._looking.cancel()

    def _on_publishing(self) -> None:
        if self._publishing.is_publishing:
            self._give_up()
        elif self._host.is_open:
            self._begin.start()

    def _follow(self) -> None:
        """Watches the folder that is chosen now, if it was published to."""
        if not self._can_look():
            return
        aim = self._publishing.profile()
        self._watch((aim.vault, aim.folder))
        self.changed.emit()

    def _watch(self, wanted: tuple[str, str] | None) -> None:
        """Watches this folder of a vault, or none, instead of the former one."""
        self._checking.cancel()
        if wanted != self._watched:
            self._watched, self.is_watching = wanted, False
            self._beginning.cancel()
            self._host.end_asking(self._end)
        if wanted is not None:
            begin = self._host.ask(lambda _memory: self._keep(*wanted), self._on_begun, self._on_failed)
            self._beginning.take(begin)

    def _end(self) -> None:
        """Asking lane: lets go of the watcher."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close()

    def _keep(self, vault: str, folder: str) -> Watched:
        """Asking lane: keeps the watcher that still notices changes, else begins another one where that is possible."""
        from exporters.obsidian.watching import VaultWatcher

        if self._watcher is not None and self._watcher.is_whole:
            return Watched(is_published=True, is_watching=True, is_new=False)
        self._end()
        try:
            if not (Path(vault) / folder / ".graymatter").is_dir():
                return Watched(is_published=False, is_watching=False, is_new=False)
            self._watcher = VaultWatcher(Path(vault), folder, self._touched.emit)
        except OSError:  # no more watches to be had, or not to be read: looking by hand still works
            return Watched(is_published=True, is_watching=False, is_new=False)
        return Watched(is_published=True, is_watching=True, is_new=True)

    def _on_begun(self, found: Watched) -> None:
        self._on_kept(found)
        if found.is_published and not found.is_new:
            self.look()

    def _on_kept(self, found: Watched) -> None:
        self._check.start(REFUSED_MS if found.is_published and not found.is_watching else CHECK_MS)
        if found.is_new:
            self.look()
        self.is_watching = found.is_watching
        self.changed.emit()

    def _on_edits(self, edits: VaultEdits, aim: PublishProfile) -> None:
        from exporters.obsidian.proposals import take_in

        self.problems = tuple(f"{problem.note}: {problem.reason}" for problem in edits.problems)
        self.moved = len(edits.moved)
        self.changed.emit()
        self._writing.take(
            self._host.write(lambda memory: take_in(memory, edits, aim), self._on_taken, self._on_failed)
        )

    def _on_taken(self, decision: BulkDecision | None) -> None:
        if decision is not None and decision.seq is not None:
            said = tr_count(
                "Took {count} edit from the vault", "Took {count} edits from the vault", len(decision.accepted)
            )
            self._undo.did(said, decision.seq)
        self.changed.emit()

    def _on_failed(self, error: GrayMatterError) -> None:
        """The folder is being written by another program, then look once more, or gone: then the next change does."""
        if self._publishing.is_publishing:
            return
        if error.fields.get("is_busy"):
            self._again.start(CHECK_MS)
        self.changed.emit()
