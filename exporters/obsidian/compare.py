"""What to do with one note: the store's version against the file, with what was written last as their common base."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from exporters.obsidian.folder import Folder
from exporters.obsidian.frontmatter import FrontmatterError, items_of, merge, our_values, parse, write
from exporters.obsidian.manifest import Entry, Stamp
from exporters.obsidian.names import tag_part
from exporters.obsidian.note_file import NoteFile, NoteUnreadable, content_hash, seal_of, take_apart
from exporters.obsidian.notes import OUR_KEYS, TAG, Note

Status = Literal["new", "changed", "unchanged", "edited", "conflict", "unreadable", "elsewhere", "read-only"]
LEFT_ALONE: tuple[Status, ...] = ("edited", "conflict", "unreadable", "elsewhere", "read-only")


@dataclass(frozen=True, slots=True)
class Present:
    """A note found in the vault: its path (as in `Entry`), its stamp, whether it may not be written."""

    path: str
    stamp: Stamp | None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What happens to one note.

    `data` is what to write, None to leave the file. `content` is the hash of the file afterwards, `alone` says that
    nothing in it is a person's; both are for the manifest. `reason` says in words why a note is left alone.
    """

    status: Status
    note: Note
    present: Present | None
    data: bytes | None
    content: str
    alone: bool
    reason: str = ""

    @property
    def is_moved(self) -> bool:
        """Whether the file follows its note's new title."""
        return self.present is not None and self.present.path != self.note.place.path


def compare(note: Note, folder: Folder, present: Present | None, *, known: Stamp | None, entry: Entry | None) -> Step:
    """The step for one note. `known` is the stamp of the file when its content was `entry.content`."""
    if present is None:
        alone = note.to_text().encode()
        return Step("new", note, None, alone, content_hash(alone), alone=True)
    if present.path.startswith("/"):
        reason = "it was moved out of the folder"
        return Step("elsewhere", note, present, None, "", alone=False, reason=reason)
    if entry is not None and present.stamp == known and entry.shown == note.shown:
        return Step("unchanged", note, present, None, entry.content, alone=entry.alone)
    data = folder.read(present.path) or b""
    step = _with_content(note, present, data, entry)
    if step.data is not None and present.read_only:
        return replace(step, status="read-only", data=None, reason="the file is read-only")
    return step


def _with_content(note: Note, present: Present, data: bytes, entry: Entry | None) -> Step:
    content = content_hash(data)
    as_written = entry if entry is not None and entry.content == content else None
    if as_written is not None and as_written.shown == note.shown:
        return Step("unchanged", note, present, None, content, alone=as_written.alone)
    alone = note.to_text().encode()
    if data == alone:
        return Step("unchanged", note, present, None, content, alone=True)
    if not data or (as_written is not None and as_written.alone):  # all ours, or emptied by a crash
        return Step("changed", note, present, alone, content_hash(alone), alone=True)
    try:
        file = take_apart(data)
        status, reason, merged = _three_way(note, file, entry)
    except (NoteUnreadable, FrontmatterError) as error:
        return Step("unreadable", note, present, None, content, alone=False, reason=str(error))
    if merged is None or merged == data:
        status = "unchanged" if merged == data else status
        return Step(status, note, present, None, content, alone=False, reason=reason)
    return Step(status, note, present, merged, content_hash(merged), alone=merged == alone)


def _three_way(note: Note, file: NoteFile, entry: Entry | None) -> tuple[Status, str, bytes | None]:
    """The status, the reason if the file is left alone, and the new content (None: leave it)."""
    mapping = parse(file.frontmatter)
    ours = note.seal
    theirs = "no block" if file.block is None else seal_of(our_values(mapping, OUR_KEYS), file.block)
    written = {seal for seal in (file.seal, entry.managed if entry is not None else "") if seal}
    if theirs not in {*written, ours}:
        if ours in written:
            return "edited", "its managed part was edited in the vault", None
        return "conflict", "it was edited in the vault and changed in the store", None
    tags = items_of(mapping, "tags")
    complete = {*note.properties.aliases} <= {*items_of(mapping, "aliases")} and {*note.properties.tags} <= {*tags}
    if theirs == ours == file.seal and (complete or (entry is not None and entry.shown == note.shown)):
        return "unchanged", "", None
    frontmatter = file.frontmatter
    if frontmatter != write(note.properties):
        former = f"{TAG}/{tag_part(str(mapping.get('mem_agent', '')))}"
        frontmatter = merge(frontmatter, note.properties, stale_tags=(former,))
    return "changed", "", replace(file, frontmatter=frontmatter, block=note.block, seal=ours).to_bytes()
