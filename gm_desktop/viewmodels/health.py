"""What the doctor finds in the open store, and its repairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import local_time
from gm_desktop.i18n import tr, tr_count
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.plain_text import row_text
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import Origin

if TYPE_CHECKING:
    from gm_engine.doctor import Finding

_TONES = {"sound": "success", "notice": "warning", "broken": "danger"}
_ORDER = ("broken", "notice", "sound")
_CHECKS = {  # of the doctor
    "file": "File",
    "schema": "Schema",
    "journal": "Journal",
    "keyword index": "Keyword index",
    "aliases": "Aliases",
    "lineage": "Lineage",
    "older models": "Older models",
    "references": "References",
    "receipts": "Receipts",
    "checkpoints": "Checkpoints",
    "secrets": "Secrets",
    "blocked values": "Blocked values",
    "purges": "Purges",
    "vectors": "Vectors",
    "backups": "Backups",
}


@dataclass(frozen=True, slots=True)
class HealthLine:
    """One finding: which check, what it found, the theme's colour for it, and what a repair would do (or nothing)."""

    check: str
    title: str
    text: str
    verdict: str
    tone: str
    repair: str


@dataclass(frozen=True, slots=True)
class NotExamined:
    """Nobody has looked yet."""


@dataclass(frozen=True, slots=True)
class Examining:
    """The doctor, or a repair, is at work."""


@dataclass(frozen=True, slots=True)
class ExamineFailed:
    """The doctor could not look: a sentence."""

    message: str


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found, worst first, and a sentence about it."""

    lines: tuple[HealthLine, ...]
    summary: str


HealthState = NotExamined | Examining | ExamineFailed | Examined
_Job = Callable[[Path, Progress], tuple[HealthLine, ...]]


class Health(QObject):
    """Examines the store beside the window; a repair is followed by another look."""

    changed = Signal()

    def __init__(self, host: EngineHost, notices: Notices, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._notices, self._clock = host, notices, clock
        self.state: HealthState = NotExamined()
        self._asked_for: Path | None = None
        host.store_closed.connect(lambda: self._take(NotExamined()))

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return isinstance(self.state, Examining)

    @property
    def can_repair(self) -> bool:
        """Whether a repair could run now."""
        return self._host.is_open and not self._host.read_only and not self.is_waiting

    def examine(self) -> None:
        """Runs every check as a task with progress."""

        def job(data_dir: Path, progress: Progress) -> tuple[HealthLine, ...]:
            from gm_engine.doctor import examine

            return tuple(_line(each) for each in examine(data_dir, progress=progress))

        self._run(tr("Examining the store"), job)

    def repair(self, check: str) -> None:
        """Does the repair that a finding offers; what it changes in the journal can be undone."""

        def job(data_dir: Path, progress: Progress) -> tuple[HealthLine, ...]:
            from gm_engine.doctor import repair

            findings = repair(data_dir, [check], origin=Origin("desktop"), progress=progress)
            return tuple(_line(each) for each in findings)

        if self.can_repair:
            self._run(tr("Repairing the store"), job, said=tr("Repaired: {check}", check=check_title(check)))

    def _run(self, title: str, job: _Job, *, said: str = "") -> None:
        data_dir = self._host.data_dir
        if data_dir is None or self.is_waiting:
            return
        self._asked_for = data_dir
        self._take(Examining())

        def work(progress: Progress, _cancel: CancelToken) -> tuple[HealthLine, ...]:
            return job(data_dir, progress)

        def done(lines: tuple[HealthLine, ...]) -> None:
            if self._host.data_dir == self._asked_for:
                self._take(Examined(tuple(sorted(lines, key=_badness)), self._summary(lines)))
                if said:
                    self._notices.show(said, level="success")

        def failed(error: GrayMatterError) -> None:
            if self._host.data_dir == self._asked_for:
                self._take(ExamineFailed(sentence_for(error)))

        self._host.run_alone(title, work, done, failed)

    def _summary(self, lines: tuple[HealthLine, ...]) -> str:
        worse = sum(line.verdict != "sound" for line in lines)
        when = local_time(self._clock.now_ns())
        if not worse:
            return tr("Everything is sound. Looked at on {when}", when=when)
        return tr_count(
            "{count} finding. Looked at on {when}", "{count} findings. Looked at on {when}", worse, when=when
        )

    def _take(self, state: HealthState) -> None:
        if state != self.state:
            self.state = state
            self.changed.emit()


def check_title(check: str) -> str:
    """The name of a check."""
    return tr(_CHECKS.get(check, check.capitalize()))


def _badness(line: HealthLine) -> int:
    return _ORDER.index(line.verdict)


def _line(finding: Finding) -> HealthLine:
    return HealthLine(
        check=finding.check,
        title=check_title(finding.check),
        text=row_text(finding.detail, 600),
        verdict=finding.verdict.value,
        tone=_TONES[finding.verdict.value],
        repair=row_text(finding.repair, 300),
    )
