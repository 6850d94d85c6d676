"""What every format has in common: where to export to, and a plan before anything is written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, TypedDict, TypeVar, Unpack

from exporters.plan import ExportPlan, PlanSummary, summary
from exporters.profiles import PublishOptions
from exporters.profiles import profile as load_profile
from gm_engine import CancelToken, InvalidInput, Memory, Progress, no_progress

ReportT = TypeVar("ReportT")


class Asked(TypedDict, total=False):
    """What may be said beside store and target: a folder in the target, the name of a profile of the store."""

    folder: str | None
    profile: str | None
    progress: Progress
    cancel: CancelToken | None


@dataclass(frozen=True, slots=True)
class Request:
    """One export: of what, where to, what to show.

    `folder` is the folder in the target that was asked for, `vault_folder` that or the profile's; empty: there is none.
    """

    memory: Memory
    target: Path
    options: PublishOptions
    folder: str = ""
    vault_folder: str = ""
    progress: Progress = no_progress
    cancel: CancelToken = field(default_factory=CancelToken)


class Exporter(ABC, Generic[ReportT]):
    """A format of the entry point group `graymatter.exporters`; subclasses say how to carry an export out."""

    name: ClassVar[str]

    @abstractmethod
    def write(self, request: Request) -> ReportT:
        """Writes what is new or changed, each file whole or not at all."""

    @abstractmethod
    def look(self, request: Request) -> ExportPlan:
        """What `write` would do, file by file; writes nothing."""

    def export(self, memory: Memory, target: Path | None, **asked: Unpack[Asked]) -> ReportT:
        """Exports the store to `target`, or where and how a profile says.

        Raises `InvalidInput`, `NotFound`, `PublishRefused`, `DiskFull` or `Cancelled`.
        """
        return self.write(_request(memory, target, asked))

    def plan(self, memory: Memory, target: Path | None, **asked: Unpack[Asked]) -> ExportPlan:
        """What `export` would do."""
        return self.look(_request(memory, target, asked))

    def preview(self, memory: Memory, target: Path | None, **asked: Unpack[Asked]) -> PlanSummary:
        """`plan` in a few lists of paths."""
        return summary(self.plan(memory, target, **asked))


def _request(memory: Memory, target: Path | None, asked: Asked) -> Request:
    """What was asked for, then what the profile says."""
    name, folder = asked.get("profile"), asked.get("folder") or ""
    wanted = None if name is None else load_profile(memory, name)
    place = target if target is not None or wanted is None else Path(wanted.vault)
    if place is None:
        raise InvalidInput("Say where to export to: a folder or a profile.", field="target")
    return Request(
        memory,
        place,
        PublishOptions() if wanted is None else wanted.options,
        folder=folder,
        vault_folder=folder or ("" if wanted is None else wanted.folder),
        progress=asked.get("progress") or no_progress,
        cancel=asked.get("cancel") or CancelToken(),
    )
