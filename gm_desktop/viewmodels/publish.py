"""The Vault page without widgets: where to publish, a run of it, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr, tr_count
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.preferences import Preferences
from gm_desktop.tasks import Task
from gm_engine.errors import GrayMatterError
from gm_engine.progress import CancelToken, Progress

if TYPE_CHECKING:
    from exporters.obsidian.publish import PublishReport
    from gm_engine import Memory

SHOWN = 200


@dataclass(frozen=True, slots=True)
class Ready:
    """Nothing was published in this session."""


@dataclass(frozen=True, slots=True)
class Publishing:
    """A run is on its way."""

    task: Task


@dataclass(frozen=True, slots=True)
class NoteLines:
    """Notes that deserve a look: why, and one line for each."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """What a run did: `figures` are (count, label); `notes` is empty when all is well."""

    vault: Path
    folder: str
    figures: tuple[tuple[int, str], ...]
    notes: tuple[NoteLines, ...]
    has_changed: bool
    broken_links: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run failed or was cancelled: why, as a sentence."""

    sentence: str


State = Ready | Publishing | Published | Stopped


class PublishViewModel(QObject):
    """Publishes the open store into one folder of a vault."""

    changed = Signal()

    def __init__(
        self, host: EngineHost, notices: Notices, preferences: Preferences, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._host, self._notices, self._preferences = host, notices, preferences
        self.vault = preferences.vault
        self.folder = preferences.vault_folder
        self.state: State = Ready()
        host.store_opened.connect(self.changed)
        host.store_closed.connect(self._on_store_closed)

    @property
    def is_publishing(self) -> bool:
        """Whether a run is on its way."""
        return isinstance(self.state, Publishing)

    @property
    def can_publish(self) -> bool:
        """Whether a vault and a folder are named and nothing runs."""
        return bool(self.vault.strip() and self.folder.strip()) and not self.is_publishing and self._host.is_open

    def choose(self, *, vault: str | None = None, folder: str | None = None) -> None:
        """Names the vault or the folder inside it; remembered."""
        if vault is not None:
            self.vault = self._preferences.vault = vault
        if folder is not None:
            self.folder = self._preferences.vault_folder = folder
        self.changed.emit()

    def publish(self) -> None:
        """Writes what is new or changed. Nothing outside the folder is touched."""
        if not self.can_publish:
            return
        vault, folder = Path(self.vault.strip()).expanduser(), self.folder.strip()

        def job(memory: Memory, progress: Progress, cancel: CancelToken) -> PublishReport:
            from exporters.obsidian.publish import publish  # loaded when the first run starts, in its thread

            return publish(memory, vault, folder=folder, progress=progress, cancel=cancel)

        task = self._host.run_task(
            tr("Publishing to {vault}", vault=vault.name or str(vault)),
            job,
            lambda report: self._on_published(report, vault, folder),
            self._on_failed,
        )
        task.ended.connect(self._on_ended)
        self._set(Publishing(task))

    def cancel(self) -> None:
        """Stops the run; notes already written stay."""
        if isinstance(self.state, Publishing):
            self.state.task.cancel()

    def _on_ended(self) -> None:
        if isinstance(self.state, Publishing) and self.state.task.token.is_cancelled:
            self._set(Stopped(tr("Cancelled. Publishing again writes only the rest.")))

    def _on_published(self, report: PublishReport, vault: Path, folder: str) -> None:
        self._set(published(report, vault, folder))
        said = tr_count("{count} note written to the vault", "{count} notes written to the vault", report.written)
        self._notices.show(said if report.written else tr("The vault is up to date"), level="success")

    def _on_failed(self, error: GrayMatterError) -> None:
        self._set(Stopped(sentence_for(error)))

    def _on_store_closed(self) -> None:
        self._set(Ready())

    def _set(self, state: State) -> None:
        self.state = state
        self.changed.emit()


def published(report: PublishReport, vault: Path, folder: str) -> Published:
    """What a report says, with labels for the person."""
    figures = [(report.written, tr("written")), (report.unchanged, tr("unchanged"))]
    figures += [(report.moved, tr("renamed"))] if report.moved else []
    figures += [(report.removed, tr("removed"))] if report.removed else []
    broken, left, orphaned = report.broken_links, report.left, report.orphaned
    notes = (
        NoteLines(
            tr_count("{count} link leads nowhere", "{count} links lead nowhere", len(broken)),
            tuple(f"{link.note}  →  {link.target}" for link in broken[:SHOWN]),
        ),
        NoteLines(
            tr_count("{count} note was left as it is", "{count} notes were left as they are", len(left)),
            tuple(f"{note.note}: {note.reason}" for note in left[:SHOWN]),
        ),
        NoteLines(
            tr_count(
                "{count} note stayed although its fact is retired",
                "{count} notes stayed although their facts are retired",
                len(orphaned),
            ),
            orphaned[:SHOWN],
        ),
    )
    return Published(
        vault,
        folder,
        tuple(figures),
        tuple(note for note in notes if note.lines),
        has_changed=bool(report.written or report.moved or report.removed),
        broken_links=len(broken),
    )
