"""Which notes of ours are in the vault, and where: by the manifest where it is right, else by their `mem_id`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exporters.obsidian.compare import Present
from exporters.obsidian.folder import Folder, Scan, first_bytes, notes_elsewhere
from exporters.obsidian.manifest import Manifest, Stamp
from exporters.obsidian.names import NOTE_SUFFIX, path_key
from exporters.obsidian.note_file import HEAD_BYTES, is_damaged, note_id
from gm_engine import CancelToken

_EVERY = 64


@dataclass(frozen=True, slots=True)
class Found:
    """The notes by `mem_id`, further files that carry an id found already (conflict copies): (path, id), and the notes
    in the folder that are nobody's but a person's."""

    notes: Mapping[str, Present]
    doubles: tuple[tuple[str, str], ...]
    strangers: tuple[str, ...] = ()


def find_notes(
    folder: Folder, scan: Scan, manifest: Manifest, stamps: Mapping[str, Stamp], *, cancel: CancelToken
) -> Found:
    """Finds the notes. A file whose stamp is the remembered one is not read. Raises `Cancelled`."""
    by_key: dict[str, str] = {}
    notes: dict[str, Present] = {}
    claimed: set[str] = set()
    for key, entry in manifest.notes.items():
        path: str | None = entry.path
        if entry.path not in scan.files:  # moved, or spelt otherwise by the file system
            by_key = by_key or {path_key(path): path for path in scan.files}
            path = by_key.get(path_key(entry.path))
        if path is None or path in claimed:
            continue
        stamp = scan.files[path]
        if stamp == stamps.get(path) or _carries(folder, path, stamp, key):
            notes[key] = Present(path, stamp, path in scan.read_only)
            claimed.add(path)
    doubles: list[tuple[str, str]] = []
    strangers: list[str] = []
    unknown = [path for path in scan.files if path not in claimed and path_key(path).endswith(NOTE_SUFFIX)]
    for number, path in enumerate(sorted(unknown, key=lambda path: (len(path), path))):
        if number % _EVERY == 0:
            cancel.check()
        found = note_id(folder.read(path, HEAD_BYTES) or b"")
        if found is None:
            strangers.append(path)
            continue
        if found in notes:
            doubles.append((path, found))
        else:
            notes[found] = Present(path, scan.files[path], path in scan.read_only)
    _find_moved_out(folder, manifest, notes, cancel=cancel)
    return Found(notes, tuple(doubles), tuple(strangers))


def _carries(folder: Folder, path: str, stamp: Stamp, key: str) -> bool:
    """Whether the file is still the note `key`. A damaged or empty one is: a crash leaves it so, nobody wrote that."""
    if stamp.size == 0:
        return True
    head = folder.read(path, HEAD_BYTES) or b""
    return note_id(head) == key or is_damaged(head)


def _find_moved_out(folder: Folder, manifest: Manifest, notes: dict[str, Present], *, cancel: CancelToken) -> None:
    """Adds notes that a person moved out of the folder: looked for only when a published note is missing."""
    missing = {key for key in manifest.notes if key not in notes}
    for key in sorted(missing):
        path = manifest.notes[key].path
        if path.startswith("/") and note_id(first_bytes(folder.vault / path[1:])) == key:
            notes[key] = Present(path, None)
            missing.discard(key)
    if not missing:
        return
    for number, (path, head) in enumerate(notes_elsewhere(folder)):
        if number % _EVERY == 0:
            cancel.check()
        found = note_id(head)
        if found in missing and found not in notes:
            notes[found] = Present(f"/{path}", None)
