"""What was published last: the path of every note, and what it held when it was written.

`.graymatter/manifest.json` is the base of every later comparison. `.graymatter/files.json` beside it only saves work:
it remembers size, times and inode of files whose content is known, so that unchanged notes need not be read. Losing
either costs nothing but time: notes carry their id and the hash of their managed part.

Both are JSON with a line for each note or file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from gm_engine import PublishRefused

FOLDER = ".graymatter"
MANIFEST = f"{FOLDER}/manifest.json"
FILES = f"{FOLDER}/files.json"
_VERSION = 1
_ENCODER = json.JSONEncoder(ensure_ascii=False)


class Base(NamedTuple):
    """What a fact's note said when it was written: the hash of its text, label and pin, and a mark of 8 digits for each
    further line of the managed block."""

    text: str
    confidence: str
    pinned: bool
    lines: str


class Entry(NamedTuple):
    """One published note. Hashes are hexadecimal.

    `path` is relative to the folder; with a leading `/` it is relative to the vault: a person moved the note out.
    `wanted` is the path without number and extension that the title asked for; empty: a person chose the place. `seq`
    is the journal seq of the state shown (0 where a note shows many records). `content` is the hash of the whole file
    as last written or accepted, `managed` that of the part we own, `shown` that of all that we put into the note, the
    shared lists included. `alone` says that the file held nothing else: nobody had added anything. `base` is there for
    notes of facts.
    """

    path: str
    wanted: str
    seq: int
    content: str
    managed: str
    shown: str
    alone: bool
    base: Base | None = None


@dataclass(frozen=True, slots=True)
class AgentNames:
    """The folder name and the tag that an agent was given; they stay when other agents come and go."""

    folder: str
    tag: str


class Stamp(NamedTuple):
    """Size in bytes, modification and change time in nanoseconds, and inode of a file.

    The change time can't be set by a program: an edit that keeps size and modification time is noticed all the same.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, found: os.stat_result) -> Stamp:
        """The stamp in what the system says about a file."""
        return cls(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@dataclass(slots=True)
class Manifest:
    """The notes by `mem_id`, the names of agents by agent id.

    `complete` names the state of the store and the rendering that the notes show without exception: nothing was left
    alone, orphaned or broken. It is empty otherwise. `files` are hashes of the files beside the notes, by path.
    """

    notes: dict[str, Entry] = field(default_factory=dict)
    agents: dict[str, AgentNames] = field(default_factory=dict)
    complete: str = ""
    files: dict[str, str] = field(default_factory=dict)
    _lines: Mapping[str, tuple[Entry, str]] = field(default_factory=dict, compare=False, repr=False)

    def after(self, notes: dict[str, Entry], agents: dict[str, AgentNames]) -> Manifest:
        """A manifest of other notes, which writes those that stayed as they were read."""
        return Manifest(notes, agents, files=dict(self.files), _lines=self._lines)

    def dump(self, seq: int) -> bytes:
        """The manifest as JSON, one note a line, the same bytes for the same content. `seq` is the store's last."""
        notes = ",\n".join(self._line(key, entry) for key, entry in sorted(self.notes.items()))
        agents = {key: asdict(names) for key, names in sorted(self.agents.items())}
        record = {
            "version": _VERSION,
            "seq": seq,
            "complete": self.complete,
            "agents": agents,
            "files": dict(sorted(self.files.items())),
        }
        head = json.dumps(record, ensure_ascii=False)[:-1]
        return f'{head}, "notes": [\n{notes}\n]}}\n'.encode()

    def _line(self, key: str, entry: Entry) -> str:
        known = self._lines.get(key)
        return known[1] if known is not None and known[0] is entry else _ENCODER.encode(_entry_record(key, entry))


def load_manifest(data: bytes | None) -> Manifest:
    """The manifest in `data`; empty when there is none or it is damaged (notes are then recognised by themselves).

    Raises `PublishRefused` when a newer program wrote it.
    """
    record = _record(data)
    version = record.get("version", _VERSION)
    if not isinstance(version, int) or version > _VERSION:
        raise PublishRefused("The vault was published by a newer program. Update this one first.", version=version)
    try:
        notes = {note.pop("id"): _entry(note) for note in record.get("notes", [])}
        return Manifest(
            notes=notes,
            _lines=_lines_of(notes, data or b""),
            agents={key: AgentNames(**names) for key, names in record.get("agents", {}).items()},
            complete=str(record.get("complete", "")),
            files={str(path): str(content) for path, content in record.get("files", {}).items()},
        )
    except (TypeError, KeyError, AttributeError):
        return Manifest()


def _lines_of(notes: Mapping[str, Entry], data: bytes) -> dict[str, tuple[Entry, str]]:
    """The notes with the lines that they were read from, as far as these are as we write them."""
    lines = data.decode("utf-8", "replace").split("\n")[1:-2]
    if len(lines) != len(notes):
        return {}
    pairs = zip(notes.items(), lines, strict=True)
    return {key: (entry, line.rstrip(",")) for (key, entry), line in pairs if line.startswith(f'{{"id": "{key}", ')}


def _entry_record(key: str, entry: Entry) -> dict[str, object]:
    record: dict[str, object] = {
        "id": key,
        "path": entry.path,
        "wanted": entry.wanted,
        "seq": entry.seq,
        "content": entry.content,
        "managed": entry.managed,
        "shown": entry.shown,
        "alone": entry.alone,
    }
    base = entry.base
    if base is not None:
        record["base"] = base
    return record


def _entry(record: dict[str, Any]) -> Entry:
    base = record.pop("base", None)
    return Entry(**record, base=None if base is None else Base(*base))


def dump_files(stamps: Mapping[str, Stamp]) -> bytes:
    """The stamps by path as JSON, one file a line."""
    lines = (f"{json.dumps(path)}: {[*stamp]}" for path, stamp in sorted(stamps.items()))
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def load_files(data: bytes | None) -> dict[str, Stamp]:
    """The stamps in `data`; none when it is missing or damaged."""
    try:
        return {path: _stamp(values) for path, values in _record(data).items()}
    except (TypeError, ValueError):
        return {}


def _stamp(values: Sequence[int]) -> Stamp:
    stamp = Stamp(*values)
    if not all(isinstance(value, int) for value in values):
        raise TypeError("a stamp is four integers")
    return stamp


def _record(data: bytes | None) -> dict[str, Any]:
    if data is None:
        return {}
    try:
        record = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
