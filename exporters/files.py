"""Exports into a few files of a folder: the same plan, preview and report for each format."""

from __future__ import annotations

import errno
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from exporters.exporting import Exporter, Request
from exporters.plan import ExportPlan, PlanItem
from gm_engine import DiskFull, PublishRefused

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a disk, or the share of a user, is full."""
Content = Callable[[], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class FilesReport:
    """What an export did: files written and files that were right already."""

    target: str
    written: tuple[str, ...]
    unchanged: int


class FilesExporter(Exporter[FilesReport]):
    """A format that is a few files."""

    @abstractmethod
    def files(self, request: Request) -> Mapping[str, Content]:
        """The files by path below the target, with `/`; content is made only when it is asked for."""

    def write(self, request: Request) -> FilesReport:
        """Replaces what is new or changed. Raises `PublishRefused`, `DiskFull` or `Cancelled`."""
        root = request.target / request.folder
        written: list[str] = []
        unchanged = 0
        contents = self.files(request)
        for number, (path, content) in enumerate(contents.items()):
            request.cancel.check()
            request.progress(number, len(contents), f"Writing {path}")
            if _replace(root / path, content):
                written.append(path)
            else:
                unchanged += 1
        return FilesReport(str(root), tuple(written), unchanged)

    def look(self, request: Request) -> ExportPlan:
        """Compares each file with what is there. Raises `PublishRefused` where that may not be read."""
        root = request.target / request.folder
        items: list[PlanItem] = []
        for path, content in self.files(request).items():
            request.cancel.check()
            request.progress(len(items), None, f"Comparing {path}")
            data = b"".join(content())
            file = root / path
            present = _read(file)
            if present is None:
                items.append(PlanItem("new", path, after=data))
            elif present == data:
                items.append(PlanItem("unchanged", path, file=file))
            else:
                items.append(PlanItem("changed", path, file=file, after=data))
        return ExportPlan(str(root), tuple(items))


def _read(path: Path) -> bytes | None:
    """What is there; None when there is nothing."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PublishRefused(f"{path} cannot be read: {error.strerror or error}.", path=str(path)) from error


def _replace(path: Path, content: Content) -> bool:
    """Writes a file in one step unless it holds just this; whether it was written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _write_whole(path, content)
    except OSError as error:
        if error.errno in FULL:
            raise DiskFull(f"The disk is full; {path} was not written.", path=str(path)) from error
        raise PublishRefused(f"{path} cannot be written: {error.strerror or error}.", path=str(path)) from error


def _write_whole(path: Path, content: Content) -> bool:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            for piece in content():
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        if path.is_file() and _same(path, temporary):
            return False
        temporary.replace(path)
        return True
    finally:
        temporary.unlink(missing_ok=True)


def _same(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    return all(a == b for a, b in zip(_pieces(one), _pieces(other), strict=True))


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(1 << 16):
            yield piece
