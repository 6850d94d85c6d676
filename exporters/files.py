"""Exports into a few files of a folder: the same plan, preview and report for each format."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from exporters.plan import ExportPlan, PlanItem, PlanSummary, summary
from exporters.profiles import PublishOptions
from exporters.profiles import profile as load_profile
from gm_engine import CancelToken, DiskFull, InvalidInput, Memory, Progress, PublishRefused, no_progress

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
Content = Callable[[], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Source:
    """What is exported: a store, what of it, and the token that stops the export."""

    memory: Memory
    options: PublishOptions
    cancel: CancelToken


@dataclass(frozen=True, slots=True)
class FilesReport:
    """What an export did: files written and files that were right already."""

    target: str
    written: tuple[str, ...]
    unchanged: int


class FilesExporter:
    """A format that is a few files. Subclasses give `files`: content by path, made only when it is asked for."""

    name: ClassVar[str] = ""

    def files(self, source: Source) -> Mapping[str, Content]:
        """The files by path below the target, with `/`."""
        raise NotImplementedError

    def export(
        self,
        memory: Memory,
        target: Path | None,
        *,
        folder: str | None = None,
        profile: str | None = None,
        progress: Progress = no_progress,
        cancel: CancelToken | None = None,
    ) -> FilesReport:
        """Writes what is new or changed into `target`, each file whole or not at all.

        `folder` is a folder in it, `profile` names one of the store's, whose options hold. Raises `PublishRefused`,
        `DiskFull` or `Cancelled`.
        """
        token = cancel or CancelToken()
        root, options = _aim(memory, target, folder=folder, profile=profile)
        written: list[str] = []
        unchanged = 0
        contents = self.files(Source(memory, options, token))
        for number, (path, content) in enumerate(contents.items()):
            token.check()
            progress(number, len(contents), f"Writing {path}")
            if _replace(root / path, content):
                written.append(path)
            else:
                unchanged += 1
        return FilesReport(str(root), tuple(written), unchanged)

    def plan(
        self,
        memory: Memory,
        target: Path | None,
        *,
        folder: str | None = None,
        profile: str | None = None,
        progress: Progress = no_progress,
        cancel: CancelToken | None = None,
    ) -> ExportPlan:
        """What `export` would do, file by file; writes nothing."""
        token = cancel or CancelToken()
        root, options = _aim(memory, target, folder=folder, profile=profile)
        items: list[PlanItem] = []
        for path, content in self.files(Source(memory, options, token)).items():
            token.check()
            progress(len(items), None, f"Comparing {path}")
            data = b"".join(content())
            file = root / path
            if not file.exists():
                items.append(PlanItem("new", path, after=data))
            elif file.read_bytes() == data:
                items.append(PlanItem("unchanged", path, file=file))
            else:
                items.append(PlanItem("changed", path, file=file, after=data))
        return ExportPlan(str(root), tuple(items))

    def preview(
        self,
        memory: Memory,
        target: Path | None,
        *,
        folder: str | None = None,
        profile: str | None = None,
        progress: Progress = no_progress,
        cancel: CancelToken | None = None,
    ) -> PlanSummary:
        """`plan` in a few lists of paths."""
        return summary(self.plan(memory, target, folder=folder, profile=profile, progress=progress, cancel=cancel))


def _aim(
    memory: Memory, target: Path | None, *, folder: str | None, profile: str | None
) -> tuple[Path, PublishOptions]:
    """Where to write and what to show: what was asked for, then what the profile says."""
    wanted = None if profile is None else load_profile(memory, profile)
    root = target if target is not None or wanted is None else Path(wanted.vault)
    if root is None:
        raise InvalidInput("Say where to export to.", field="target")
    return root / folder if folder else root, PublishOptions() if wanted is None else wanted.options


def _replace(path: Path, content: Content) -> bool:
    """Writes a file in one step unless it holds just this; whether it was written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            for piece in content():
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        if path.is_file() and _same(path, temporary):
            temporary.unlink()
            return False
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if error.errno in _FULL:
            raise DiskFull(f"The disk is full; {path} was not written.", path=str(path)) from error
        raise PublishRefused(f"{path} cannot be written: {error.strerror or error}.", path=str(path)) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return True


def _same(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    return all(a == b for a, b in zip(_pieces(one), _pieces(other), strict=True))


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(1 << 16):
            yield piece
