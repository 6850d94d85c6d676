"""What a person can do to a checkpoint: one write, one step to undo, one sentence about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import size
from gm_desktop.i18n import tr
from gm_desktop.notices import Notices
from gm_desktop.undo_controller import UndoController
from gm_engine.clock import format_ns
from gm_engine.records import VERDICTS, CheckpointSummary, Verdict

if TYPE_CHECKING:
    from gm_engine import Memory


_SAID: dict[Verdict | None, str] = {
    "approved": "Approved a checkpoint",
    "needs_work": "Marked a checkpoint: needs work",
    "rejected": "Rejected a checkpoint",
    None: "Took a verdict back",
}


class CheckpointVerbs(QObject):
    """The verbs. `made` carries the id of a checkpoint that came to be."""

    made = Signal(str)

    def __init__(self, host: EngineHost, undo: UndoController, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._undo, self._notices = host, undo, notices

    @property
    def can_write(self) -> bool:
        """Whether a store is open for writing."""
        return self._host.is_open and not self._host.read_only

    def review(self, checkpoint_id: str, verdict: str, note: str) -> None:
        """Gives a verdict with a note; an empty verdict takes it back."""
        wanted: Verdict | None = next((each for each in VERDICTS if each == verdict), None)

        def done(answer: tuple[int, CheckpointSummary]) -> None:
            version, summary = answer
            if summary.version == version:
                return  # nothing changed
            self._undo.did(tr(_SAID[wanted]), summary.version)

        def job(memory: Memory) -> tuple[int, CheckpointSummary]:
            version = memory.checkpoints.summary(checkpoint_id).version
            return version, memory.checkpoints.review(checkpoint_id, wanted, note=note)

        self._host.write(job, done)

    def make_current(self, checkpoint_id: str) -> None:
        """Saves a copy, which is the newest one then."""

        def job(memory: Memory) -> CheckpointSummary:
            return memory.checkpoints.summary(memory.checkpoints.make_current(checkpoint_id).id)

        self._host.write(job, self._on_made(tr("Made a checkpoint current")))

    def _on_made(self, text: str) -> Callable[[CheckpointSummary], None]:
        def done(summary: CheckpointSummary) -> None:
            self._undo.did(text, summary.version)
            self.made.emit(summary.id)

        return done

    def delete(self, checkpoint_id: str) -> None:
        """Takes a checkpoint off the list."""
        self._host.write(
            lambda memory: memory.checkpoints.delete(checkpoint_id),
            lambda summary: self._undo.did(tr("Deleted a checkpoint"), summary.version),
        )

    def export(self, checkpoint_id: str, path: Path, *, raw: bool) -> None:
        """Writes a checkpoint to a file that the person named; the dialog asked before replacing one."""

        def done(size_bytes: int) -> None:
            text = tr("Saved {name} ({size})", name=path.name, size=size(size_bytes))
            self._notices.show(text, level="success")

        self._host.read(
            lambda memory: memory.checkpoints.export(checkpoint_id, path, raw=raw, overwrite=True),
            done,
            self._notices.show_failure,
        )

    def read_json(self, checkpoint_id: str, on_text: Callable[[str], None]) -> None:
        """Hands over the checkpoint as indented JSON."""

        def done(text: str) -> None:
            on_text(text)
            self._notices.show(tr("Copied the checkpoint as JSON"))

        self._host.read(lambda memory: _as_json(memory, checkpoint_id), done, self._notices.show_failure)


def _as_json(memory: Memory, checkpoint_id: str) -> str:
    found = memory.checkpoints.load(checkpoint_id)
    record = {
        "id": found.id,
        "agent_id": found.agent_id,
        "created_at": format_ns(found.created_ns),
        "state": dict(found.state),
        "messages": [asdict(message) for message in found.messages],
        "metadata": dict(found.metadata),
    }
    return json.dumps(record, ensure_ascii=False, indent=2)
