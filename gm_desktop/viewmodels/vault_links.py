"""Checking every link of the published notes, without widgets: whenever a person asks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.notices import sentence_for
from gm_desktop.viewmodels.publish import PublishViewModel
from gm_desktop.viewmodels.states import Failed, Loading
from gm_engine.errors import GrayMatterError
from gm_engine.progress import CancelToken, Progress

if TYPE_CHECKING:
    from exporters.obsidian.checking import LinkCheck
    from gm_engine import Memory

SHOWN = 500


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Nobody asked yet."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found: a sentence, and a line for each link that leads nowhere."""

    sentence: str
    lines: tuple[str, ...]


LinkState = Unchecked | Loading | Failed | Checked


class VaultLinks(QObject):
    """Reads the published notes and follows their links."""

    changed = Signal()

    def __init__(self, host: EngineHost, publishing: PublishViewModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._publishing = host, publishing
        self.state: LinkState = Unchecked()
        self._checked_place = self._place()
        host.store_closed.connect(lambda: self._set(Unchecked()))
        publishing.changed.connect(self._on_publishing)

    @property
    def can_check(self) -> bool:
        """Whether there is a vault to look into and nothing is on its way."""
        return self._publishing.can_publish and not isinstance(self.state, Loading)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return isinstance(self.state, Loading)

    def _place(self) -> tuple[str, str]:
        return self._publishing.vault, self._publishing.folder

    def _on_publishing(self) -> None:
        """What was found in one vault is not said of another, nor after new notes were written."""
        is_old = self._checked_place != self._place() or self._publishing.is_publishing
        if is_old and isinstance(self.state, Checked | Failed):
            self._set(Unchecked())

    def check(self) -> None:
        """Follows every link that was published; changes nothing."""
        if not self.can_check:
            return
        aim = self._publishing.profile()

        def job(memory: Memory, progress: Progress, cancel: CancelToken) -> LinkCheck:
            from exporters.obsidian.apart import run_job  # loaded when it is first needed, in its thread
            from exporters.obsidian.jobs import CheckingLinks

            checking = CheckingLinks(Path(aim.vault), aim.folder)
            return run_job(checking, memory, progress=progress, cancel=cancel)

        self._checked_place = self._place()
        self._set(Loading())
        task = self._host.run_task(tr("Checking links"), job, self._on_checked, self._on_failed)
        task.ended.connect(self._on_ended)

    def _on_checked(self, found: LinkCheck) -> None:
        self._set(checked(found))

    def _on_failed(self, error: GrayMatterError) -> None:
        self._set(Failed(sentence_for(error)))

    def _on_ended(self) -> None:
        if self.is_waiting:  # cancelled: nobody else says so
            self._set(Unchecked())

    def _set(self, state: LinkState) -> None:
        self.state = state
        self.changed.emit()


def checked(found: LinkCheck) -> Checked:
    """What a check found, in words."""
    if not found.notes:
        return Checked(tr("Nothing was published to this folder yet"), ())
    if not found.broken:
        counted = tr_count("{count} link was followed", "{count} links were followed", found.links)
        return Checked(tr("{counted}, and each leads to a note", counted=counted), ())
    lines = [f"{link.note}  →  {link.target}" for link in found.broken[:SHOWN]]
    if len(found.broken) > SHOWN:
        lines.append(tr("… and {count} more", count=number(len(found.broken) - SHOWN)))
    title = tr_count("{count} link leads nowhere", "{count} links lead nowhere", len(found.broken))
    return Checked(title, tuple(lines))
