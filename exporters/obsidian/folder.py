"""The one folder of a vault that we own: checked before anything is written, scanned once, written atomically."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path, PurePosixPath

from exporters.files import FULL
from exporters.obsidian.manifest import FOLDER, Stamp
from exporters.obsidian.names import NOTE_SUFFIX, file_name, path_key
from exporters.obsidian.note_file import HEAD_BYTES, content_hash
from gm_engine import DiskFull, PublishRefused

if sys.platform != "win32":
    import fcntl

CONFIG_FOLDER = ".obsidian"
TRASH = ".trash"
_TEMPORARY = ".graymatter-write-"
_SYNC_ALL_ABOVE = 64
_TICK_NS = 20_000_000  # clocks of file systems step by up to 10 ms
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Scan:
    """What lies in the folder: every visible file and directory by its path relative to the folder, with `/`.

    `occupied` are the names of whatever is no file: directories, links, pipes. `leftovers` are temporary files of a
    publish that was killed.
    """

    files: Mapping[str, Stamp]
    occupied: frozenset[str]
    read_only: frozenset[str]
    leftovers: tuple[str, ...]


class Folder:
    """A folder inside a vault. Paths given to methods are relative to the folder and use `/`."""

    def __init__(self, vault: Path, name: str) -> None:
        self.vault = vault
        self.name = name
        self.root = vault / name
        self._written: list[Path] = []
        self.bytes_written = 0

    # --- reading ---------------------------------------------------------------------------------------------------

    def scan(self) -> Scan:
        """Every file in the folder; hidden ones are left out.

        Raises `PublishRefused` for a vault inside the folder, for links that leave it and for what may not be read.
        """
        files: dict[str, Stamp] = {}
        occupied: set[str] = set()
        read_only: set[str] = set()
        leftovers = [f"{FOLDER}/{e.name}" for e in self._entries(FOLDER) if e.name.startswith(_TEMPORARY)]
        pending = [""]
        while pending:
            directory = pending.pop()
            for entry in self._entries(directory):
                path = f"{directory}/{entry.name}" if directory else entry.name
                if entry.is_symlink():
                    self._check_link(path)
                    occupied.add(path)
                elif entry.name == CONFIG_FOLDER:
                    raise PublishRefused(f"{self.name}/{path} belongs to another vault.", path=path)
                elif entry.name.startswith("."):
                    leftovers += [path] if entry.name.startswith(_TEMPORARY) else []
                elif entry.is_dir(follow_symlinks=False):
                    pending.append(path)
                    occupied.add(path)
                else:
                    try:
                        found = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # gone since the directory was listed
                    if not stat.S_ISREG(found.st_mode):  # reading a pipe would wait for whoever writes into it
                        occupied.add(path)
                        continue
                    files[path] = Stamp.of(found)
                    if not found.st_mode & stat.S_IWUSR:
                        read_only.add(path)
        return Scan(files, frozenset(occupied), frozenset(read_only), tuple(leftovers))

    def _entries(self, directory: str) -> list[os.DirEntry[str]]:
        try:
            return _entries(self.root / directory)
        except OSError as error:
            raise unreadable(f"{self.name}/{directory}" if directory else self.name, error) from error

    def _check_link(self, path: str) -> None:
        if not _leads_into(self.root / path, self.root):
            raise PublishRefused(f"{self.name}/{path} is a link that leads out of the folder.", path=path)

    def read(self, path: str, size: int = -1) -> bytes | None:
        """The content of a file, or its first `size` bytes; None when it is missing. Raises `PublishRefused`."""
        try:
            with (self.root / path).open("rb") as file:
                return file.read(size)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unreadable(f"{self.name}/{path}", error) from error

    def stamp(self, path: str) -> Stamp | None:
        """The present stamp of a file; None when it is missing."""
        try:
            found = (self.root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Stamp.of(found)

    def remove_leftovers(self, scan: Scan) -> None:
        """Removes the temporary files that a killed publish left behind."""
        for path in scan.leftovers:
            (self.root / path).unlink(missing_ok=True)

    # --- writing ---------------------------------------------------------------------------------------------------

    def settled(self, path: str, content: str, now: Stamp) -> Stamp | None:
        """The stamp by which a file with the hash `content` is known from now on; None when it can't be known by one.

        That is so when it holds something else by now, or when it is so young at `now` (the stamp of the newest file)
        that an edit could leave all of its stamp as it is.
        """
        stamp = self.stamp(path)
        if stamp is None or max(stamp.mtime_ns, stamp.ctime_ns) > now.ctime_ns - _TICK_NS:
            return None
        return stamp if content_hash(self.read(path) or b"") == content else None

    def write(self, path: str, data: bytes) -> Stamp:
        """Replaces a file by `data` in one step: a reader sees the old or the new content, whatever happens.

        Returns the stamp of the new file. Raises `DiskFull` or `PublishRefused`; the old file is then untouched.
        """
        return self._write(self.root / path, data, f"{self.name}/{path}")

    def write_setting(self, path: str, data: bytes) -> Stamp:
        """Replaces a file of the vault's own settings; only with the person's consent. `path` is from the root."""
        return self._write(self.vault / path, data, path)

    def _write(self, target: Path, data: bytes, shown: str) -> Stamp:
        temporary = target.parent / f"{_TEMPORARY}{os.getpid()}"
        with _clear_errors(shown):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                _write_new(temporary, data, mode=_mode_of(target))
                temporary.replace(target)
                found = target.lstat()
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
        self._written.append(target)
        self.bytes_written += len(data)
        return Stamp.of(found)

    def rename(self, old: str, new: str) -> None:
        """Moves a file inside the folder to a free path."""
        with _clear_errors(f"{self.name}/{new}"):
            (self.root / new).parent.mkdir(parents=True, exist_ok=True)
            (self.root / old).rename(self.root / new)

    def discard(self, path: str) -> None:
        """Moves a file to the vault's `.trash`, under a free name there; nothing is deleted."""
        target = self._free_in_trash(path)
        with _clear_errors(str(target.relative_to(self.vault))):
            target.parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).rename(target)

    def delete(self, path: str) -> None:
        """Deletes a file that we wrote and that nobody may keep."""
        with _clear_errors(f"{self.name}/{path}"):
            (self.root / path).unlink(missing_ok=True)

    def keep_copy(self, path: str) -> None:
        """Puts a copy of a file into the vault's `.trash`, under a free name there."""
        target = self._free_in_trash(path)
        data = self.read(path)
        with _clear_errors(str(target.relative_to(self.vault))):
            target.parent.mkdir(parents=True, exist_ok=True)
            _write_new(target, data or b"", mode=None)
        self._written.append(target)

    def _free_in_trash(self, path: str) -> Path:
        relative = PurePosixPath(self.name, path)
        target = self.vault / TRASH / relative
        if not _leads_into(target.parent, self.vault):
            raise PublishRefused(f"{TRASH} is a link that leads out of the vault.", path=TRASH)
        number = 0
        while os.path.lexists(target):
            number += 1
            target = (self.vault / TRASH / relative).with_name(f"{relative.stem} {number}{relative.suffix}")
        return target

    def sync(self) -> None:
        """Brings everything written so far to the disk. Raises `DiskFull`."""
        if len(self._written) > _SYNC_ALL_ABOVE and sys.platform != "win32":
            os.sync()
        else:
            with _clear_errors(self.name):
                for path in (*self._written, *{path.parent for path in self._written}):
                    _sync(path)
        self._written.clear()


def open_folder(vault: Path, name: str, *, create: bool = True, store: Path | None = None) -> Folder:
    """The folder `name` of `vault`, both created if missing unless `create` is False.

    Raises `PublishRefused` when it cannot be published to, and when the directory `store` lies in it.
    """
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or any(
        part in ("..", "/") or part.startswith(".") or file_name(part, limit=200) != part for part in parts
    ):
        raise PublishRefused(f"{name!r} is no folder name inside a vault.", folder=name)
    with _clear_errors(str(vault)):
        if create:
            vault.mkdir(parents=True, exist_ok=True)
        folder = Folder(_resolved(vault), "/".join(parts))
        _check_surroundings(folder)
        if store is not None and _leads_into(store, folder.root):
            raise PublishRefused(f"{folder.root} holds the store itself: choose another folder.", path=str(folder.root))
        if not folder.root.is_dir():
            _check_writable(next(path for path in folder.root.parents if path.exists()))
            if not create:
                return folder
            folder.root.mkdir(parents=True, exist_ok=True)
        folder.root = folder.root.resolve()
        _check_writable(folder.root)
    return folder


def uses_markdown_links(vault: Path) -> bool:
    """Whether the vault's own settings ask for Markdown links instead of wikilinks. Only reads."""
    for config in sorted(vault.glob(".*/app.json")):
        if config.parent.name in (TRASH, FOLDER):
            continue
        try:
            settings = json.loads(config.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(settings, dict):
            return settings.get("useMarkdownLinks") is True
    return False


def _check_surroundings(folder: Folder) -> None:
    """Refuses a vault inside another, a folder that is a vault itself, and links that lead out."""
    for outer in folder.vault.parents:
        if (outer / CONFIG_FOLDER).is_dir():
            raise PublishRefused(f"{folder.vault} lies inside the vault {outer}: choose that one.", vault=str(outer))
    target = folder.vault
    for part in (*PurePosixPath(folder.name).parts, FOLDER):
        target /= part
        if target.is_symlink() and (part == FOLDER or not _leads_into(target, folder.vault)):
            raise PublishRefused(f"{target} is a link that leads out of the folder.", path=str(target))
        if (target / CONFIG_FOLDER).exists():
            raise PublishRefused(f"{target} is another vault.", path=str(target))


def _leads_into(link: Path, root: Path) -> bool:
    """Whether a link ends inside `root`; one that goes in a circle ends nowhere."""
    try:
        return _resolved(link).is_relative_to(root)
    except OSError:
        return False


def _resolved(path: Path) -> Path:
    """Where a path leads. Raises `OSError` for links that go in a circle."""
    try:
        return path.resolve()
    except RuntimeError as error:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error


def _check_writable(path: Path) -> None:
    if not os.access(path, os.W_OK) or not path.stat().st_mode & 0o222:
        raise PublishRefused(f"{path} is read-only.", path=str(path))


@contextmanager
def locked(folder: Folder) -> Iterator[None]:
    """Holds the folder against other publishes of this machine. Raises `PublishRefused` when one is running."""
    if sys.platform == "win32":  # pragma: no cover — there, replacing an open file fails by itself
        yield
        return
    handle = os.open(folder.root, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):  # else the file system has no locks
            os.close(handle)
            raise PublishRefused(
                "Another program is publishing to this folder.", folder=folder.name, is_busy=True
            ) from error
    try:
        yield
    finally:
        os.close(handle)


def is_locked(folder: Folder) -> bool:
    """Whether a publish of this machine is under way."""
    try:
        with locked(folder):
            return False
    except PublishRefused:
        return True


def notes_elsewhere(folder: Folder) -> Iterator[tuple[str, bytes]]:
    """Notes of the vault outside the folder, as (path from the vault's root, first bytes).

    What may not be read is passed over: the root of a disk holds such folders.
    """
    own = path_key(folder.name)
    pending = [""]
    while pending:
        directory = pending.pop()
        try:
            entries = _entries(folder.vault / directory)
        except OSError:
            continue
        for entry in entries:
            path = f"{directory}/{entry.name}" if directory else entry.name
            if entry.name.startswith(".") or entry.is_symlink() or path_key(path) == own:
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif path_key(path).endswith(NOTE_SUFFIX) and entry.is_file(follow_symlinks=False):
                yield path, first_bytes(Path(entry.path))


def first_bytes(path: Path) -> bytes:
    """The start of a note outside the folder; empty when it is gone or may not be read."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError:
        return b""


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return sorted(found, key=attrgetter("name"))
    except FileNotFoundError:
        return []


def _mode_of(path: Path) -> int | None:
    """The permissions of a file that is there."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _write_new(path: Path, data: bytes, *, mode: int | None) -> None:
    """Writes a file of ours, never through a link. `mode` None: as for any new file."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINKS | _BINARY, 0o666)
    try:
        if mode is not None and sys.platform != "win32":
            os.fchmod(handle, mode)
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
    finally:
        os.close(handle)


def _sync(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return  # directories cannot be opened everywhere
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno in FULL:
            raise
    finally:
        os.close(handle)


def unreadable(path: str, error: OSError) -> PublishRefused:
    """What the system says of something that may not be read, as an error that a person can act on."""
    return PublishRefused(f"{path} cannot be read: {error.strerror or error}.", path=path)


@contextmanager
def _clear_errors(path: str) -> Iterator[None]:
    """Turns what the system says into errors that a person can act on."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise DiskFull(
                f"The disk is full; {path} was not written. What was written before is kept.", path=path
            ) from error
        raise PublishRefused(f"{path} cannot be written: {error.strerror or error}.", path=path) from error
