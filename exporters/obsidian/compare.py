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

    `data` is what to write, None to leave the file. `content` and `rendered` are hashes for the manifest: of the file
    afterwards, and of the note as we would write it alone. `reason` says in words why a note is left alone.
    """

    status: Status
    note: Note
    present: Present | None
    data: bytes | None
    content: str
    rendered: str
    reason: str = ""

    @property
    def is_moved(self) -> bool:
        """Whether the file follows its note's new title."""
        return self.present is not None and self.present.path != self.note.place.path


def compare(note: Note, folder: Folder, present: Present | None, *, known: Stamp | None, entry: Entry | None) -> Step:
    """The step for one note. `known` is the stamp of the file when its content was `entry.content`."""
    alone = note.to_text().encode()
    rendered = content_hash(alone)
    if present is None:
        return Step("new", note, None, alone, rendered, rendered)
    if present.path.startswith("/"):
        reason = "it was moved out of the folder"
        return Step("elsewhere", note, present, None, entry.content if entry else "", rendered, reason)
    if entry is not None and present.stamp == known and entry.rendered == rendered:
        return Step("unchanged", note, present, None, entry.content, rendered)
    data = folder.read(present.path) or b""
    step = _with_content(note, present, data, alone=alone, entry=entry)
    if step.data is not None and present.read_only:
        return replace(step, status="read-only", data=None, content=content_hash(data), reason="the file is read-only")
    return step


def _with_content(note: Note, present: Present, data: bytes, *, alone: bytes, entry: Entry | None) -> Step:
    content, rendered = content_hash(data), content_hash(alone)
    as_written = entry is not None and content == entry.content
    if content == rendered or (as_written and entry is not None and entry.rendered == rendered):
        return Step("unchanged", note, present, None, content, rendered)
    if not data or (as_written and entry is not None and entry.content == entry.rendered):
        return Step("changed", note, present, alone, rendered, rendered)  # all ours, or emptied by a crash
    try:
        file = take_apart(data)
        status, reason, merged = _three_way(note, file, entry)
    except (NoteUnreadable, FrontmatterError) as error:
        return Step("unreadable", note, present, None, content, rendered, str(error))
    if merged is None or merged == data:
        return Step("unchanged" if merged == data else status, note, present, None, content, rendered, reason)
    return Step(status, note, present, merged, content_hash(merged), rendered)


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
    if theirs == ours == file.seal and complete:
        return "unchanged", "", None
    frontmatter = file.frontmatter
    if frontmatter != write(note.properties):
        former = f"{TAG}/{tag_part(str(mapping.get('mem_agent', '')))}"
        frontmatter = merge(frontmatter, note.properties, stale_tags=(former,))
    return "changed", "", replace(file, frontmatter=frontmatter, block=note.block, seal=ours).to_bytes()
