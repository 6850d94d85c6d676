"""Long work on a large vault in a process of its own: a window beside it keeps its interpreter and its memory.

Publishing a hundred thousand facts computes for half a minute and fills a gigabyte. In a thread of a window that holds
up whoever paints, and the memory stays with the window. A child process has an interpreter of its own, steps back for
others and gives everything back when it ends. What both say to each other are pickles: the request on the child's
standard input, whose end asks the child to stop, and its answers, each after its length, in a file that has no name
once both have opened it, in a folder that only this user may enter.
"""

from __future__ import annotations

import logging
import pickle
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, TypeVar

from exporters.files import FULL
from exporters.obsidian.jobs import Job
from gm_engine import CancelToken, DiskFull, GrayMatterError, Memory, Progress, PublishRefused, child
from gm_engine.errors import Cancelled

PROGRAM = "exporters.obsidian.apart_child"
LARGE_BYTES = 16 * 2**20
"""Size of a ledger from which on work is done apart: some 7,000 facts with vectors. To start a process
costs 0.7 s, so smaller stores are done sooner without."""
NO_ROOM = 73
"""Exit code of a child whose answers have no room on the disk."""
PIECE = 1_000
"""Items of a long answer that are sent at once: reading more in one call would hold the interpreter."""
_LENGTH = struct.Struct(">I")
_LOOK_S = 0.05
_PATIENCE_S = 8.0  # for a child that was asked to stop: it writes down what it wrote, 1.3 s of processor for 100,000
_TAIL_BYTES = 4_000
_log = logging.getLogger(__name__)
T = TypeVar("T")


class ChildEnded(GrayMatterError):
    """The process that did the work was ended before it was done. Every note is whole; doing it again goes on."""

    code = "child_ended"


class ChildCrashed(Exception):
    """The work raised what it does not promise: a bug. The message holds the traceback."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a child is asked to do with the store in `data_dir`."""

    data_dir: Path
    job: Job[object]


@dataclass(frozen=True, slots=True)
class Progressed:
    """A call of `Progress`."""

    done: int
    total: int | None
    what: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Items of a long field of the answer, in order; `Done` comes after them, without these fields."""

    field: str
    items: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """The answer."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """What the work raised."""

    error: GrayMatterError


@dataclass(frozen=True, slots=True)
class Crashed:
    """The traceback of a bug in the work."""

    traceback: str


Message = Progressed | Piece | Done | Failed | Crashed


def run_job(job: Job[T], memory: Memory, *, progress: Progress, cancel: CancelToken) -> T:
    """Does `job` on an open store: a large one in a process of its own. Raises as the job does, and `ChildEnded`."""
    if memory.size_bytes >= LARGE_BYTES:
        return run_apart(job, memory.data_dir, progress=progress, cancel=cancel)
    return job.run(memory, progress, cancel)


def run_apart(job: Job[T], data_dir: Path, *, progress: Progress, cancel: CancelToken) -> T:
    """Does `job` in a child process, which opens the store in `data_dir` for reading.

    Raises what the job raises, `ChildEnded` when the process was ended from outside or cannot be started, `DiskFull` or
    `PublishRefused` where there is no room for what both say to each other. Once cancelled it is ended by force where
    it does not stop by itself; no process is left behind in any case.
    """
    cancel.check()
    with _private_folder() as scratch:
        said, errors = Path(scratch) / "said", Path(scratch) / "errors"
        try:
            process = _start(said, errors)
        except OSError as error:
            if error.errno in FULL:
                raise _no_room(str(said.parent.parent)) from error
            raise ChildEnded(f"The process for the work could not be started: {error}") from error
        with said.open("rb") as heard, errors.open("rb") as complaints:
            _hide(said, errors)
            try:
                _ask(process, Request(data_dir.absolute(), job))
                value: T = _answer(process, heard, complaints, progress=progress, cancel=cancel)
            finally:
                _end(process)
            if rest := _tail(complaints):
                _log.warning("the process for %s said: %s", type(job).__name__, rest)
            return value


def _private_folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="graymatter-", ignore_cleanup_errors=True)
    except OSError as error:
        place = tempfile.tempdir or "the temporary folder"
        if error.errno in FULL:
            raise _no_room(place) from error
        raise PublishRefused(f"{place} cannot be written: {error.strerror or error}.", path=place) from error


def _no_room(place: str) -> DiskFull:
    return DiskFull(f"The disk is full; {place} has no room for what long work answers.", path=place)


def _start(said: Path, errors: Path) -> subprocess.Popen[bytes]:
    with said.open("wb") as output, errors.open("wb") as complaints:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and module
            child.command(PROGRAM),
            env=child.environment(),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=complaints,
            creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),
        )


def _ask(process: subprocess.Popen[bytes], request: Request) -> None:
    if process.stdin is not None:
        with suppress(OSError):  # it ended already: its end is told
            process.stdin.write(pickle.dumps(request))
            process.stdin.flush()


def _hide(*files: Path) -> None:
    """Takes the names of open files away, where a system allows that: whoever is killed leaves no text behind."""
    if sys.platform != "win32":
        for file in files:
            file.unlink()


def _answer(
    process: subprocess.Popen[bytes], heard: BinaryIO, complaints: BinaryIO, *, progress: Progress, cancel: CancelToken
) -> Any:
    """What the child answers, however long that takes."""
    pieces: dict[str, list[object]] = {}
    stop_s: float | None = None
    while True:
        has_ended = _has_ended(process, _LOOK_S)
        for message in read_messages(heard):
            match message:
                case Progressed():
                    progress(message.done, message.total, message.what)
                case Piece():
                    pieces.setdefault(message.field, []).extend(message.items)
                case Failed():
                    raise message.error
                case Crashed():
                    raise ChildCrashed(message.traceback)
                case Done():
                    whole: dict[str, Any] = {name: tuple(items) for name, items in pieces.items()}
                    return replace(message.value, **whole) if whole else message.value
        if has_ended:
            raise _why(process, complaints, cancel=cancel)
        if cancel.is_cancelled and stop_s is None:
            _hang_up(process)
            stop_s = monotonic() + _PATIENCE_S
        if stop_s is not None and monotonic() > stop_s:
            process.kill()


def _has_ended(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout_s)
    return process.returncode is not None


def _why(process: subprocess.Popen[bytes], complaints: BinaryIO, *, cancel: CancelToken) -> Exception:
    """Why there is no answer of a process that has ended."""
    tail = _tail(complaints)
    if cancel.is_cancelled:
        return Cancelled("Cancelled; what was finished before is kept.")
    if process.returncode == NO_ROOM:
        return _no_room(tempfile.gettempdir())
    if process.returncode == 1:  # what an exception ends an interpreter with: not even the work was begun
        return ChildCrashed(tail)
    if tail:
        _log.error("the process for long work ended with %s: %s", process.returncode, tail)
    return ChildEnded(
        f"The process that did the work ended too early (exit code {process.returncode}). Every note is whole.",
        exit_code=process.returncode,
        said=tail,
    )


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asks the child to stop where it still works, and waits; ends it by force when it takes too long."""
    _hang_up(process)
    if not _has_ended(process, _PATIENCE_S):
        process.kill()
        process.wait()


def _tail(complaints: BinaryIO) -> str:
    """The end of what the child complained about."""
    complaints.seek(0)
    return complaints.read()[-_TAIL_BYTES:].decode("utf-8", "replace").strip()


def write_message(sink: BinaryIO, message: Message) -> None:
    """One message, at once."""
    data = pickle.dumps(message)
    sink.write(_LENGTH.pack(len(data)) + data)
    sink.flush()


def read_messages(heard: BinaryIO) -> Iterator[Message]:
    """The messages that are there as a whole; another call goes on after them."""
    while True:
        start = heard.tell()
        head = heard.read(_LENGTH.size)
        size = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
        data = heard.read(size)
        if not data or len(data) < size:
            heard.seek(start)
            return
        yield pickle.loads(data)  # noqa: S301 - written by our own child, where nobody else can write
