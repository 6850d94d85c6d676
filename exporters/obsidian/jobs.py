"""The long work on a vault as values: what is asked can be handed to another process as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from exporters.obsidian.checking import LinkCheck, check_links
from exporters.obsidian.edits import VaultEdits
from exporters.obsidian.publish import PublishReport, preview, publish
from exporters.obsidian.round_trip import read_edits
from exporters.plan import PlanExcerpt
from exporters.profiles import PublishOptions
from gm_engine import CancelToken, Memory, Progress

T_co = TypeVar("T_co", covariant=True)


class Job(Protocol[T_co]):
    """Work on an open store. Job and answer are plain values."""

    def run(self, memory: Memory, progress: Progress, cancel: CancelToken) -> T_co:
        """Does it. Raises `GrayMatterError`s, `Cancelled` among them."""


@dataclass(frozen=True, slots=True)
class Publishing:
    """`publish` into `folder` of `vault`."""

    vault: Path
    folder: str
    options: PublishOptions
    remove_orphans: bool = False

    def run(self, memory: Memory, progress: Progress, cancel: CancelToken) -> PublishReport:
        """Publishes."""
        return publish(
            memory,
            self.vault,
            folder=self.folder,
            options=self.options,
            progress=progress,
            cancel=cancel,
            remove_orphans=self.remove_orphans,
        )


@dataclass(frozen=True, slots=True)
class Comparing:
    """`preview` of a publish, as far as it is shown: `shown` notes of each status."""

    vault: Path
    folder: str
    options: PublishOptions
    shown: int

    def run(self, memory: Memory, progress: Progress, cancel: CancelToken) -> PlanExcerpt:
        """Compares; writes nothing."""
        plan = preview(memory, self.vault, folder=self.folder, options=self.options, progress=progress, cancel=cancel)
        return plan.excerpt(self.shown)


@dataclass(frozen=True, slots=True)
class ReadingEdits:
    """`read_edits` of `folder` in `vault`."""

    vault: Path
    folder: str

    def run(self, memory: Memory, progress: Progress, cancel: CancelToken) -> VaultEdits:
        """Reads what a person changed; writes nothing."""
        return read_edits(memory, self.vault, folder=self.folder, progress=progress, cancel=cancel)


@dataclass(frozen=True, slots=True)
class CheckingLinks:
    """`check_links` of `folder` in `vault`."""

    vault: Path
    folder: str

    def run(self, _memory: Memory, progress: Progress, cancel: CancelToken) -> LinkCheck:
        """Follows every link; writes nothing."""
        return check_links(self.vault, folder=self.folder, progress=progress, cancel=cancel)
