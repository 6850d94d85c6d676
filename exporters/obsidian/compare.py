"""What to do with one note: the store's version against the file, with what was written last as their common base."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from exporters.obsidian.edits import Entities, foreign_lines, lines_of, note_edits, said
from exporters.obsidian.folder import Folder
from exporters.obsidian.frontmatter import FrontmatterError, Properties, items_of, merge, our_values, parse, write
from exporters.obsidian.manifest import Entry, Stamp
from exporters.obsidian.names import tag_part
from exporters.obsidian.note_file import (
    NoteFile,
    NoteUnreadable,
    content_hash,
    is_damaged,
    note_id,
    seal_of,
    split_head,
    take_apart,
)
from exporters.obsidian.notes import OUR_KEYS, TAG, Note
from exporters.obsidian.text import take_quotation
from gm_engine import Fact

Status = Literal["new", "changed", "unchanged", "edited", "conflict", "unreadable", "elsewhere", "read-only"]
LEFT_ALONE: tuple[Status, ...] = ("edited", "conflict", "unreadable", "elsewhere", "read-only")


class Present(NamedTuple):
    """A note found in the vault: its path (as in `Entry`), its stamp, whether it may not be written."""

    path: str
    stamp: Stamp | None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What happens to one note.

    `data` is what to write, None to leave the file. `content` is the hash of the file afterwards, `alone` says that
    nothing in it is a person's; both are for the manifest. `reason` says in words why a note is left alone.
    `keeps_copy` puts the present file into the vault's trash first: a person's edit in it was turned down.
    """

    status: Status
    note: Note
    present: Present | None
    data: bytes | None
    content: str
    alone: bool
    reason: str = ""
    keeps_copy: bool = False

    @property
    def is_moved(self) -> bool:
        """Whether the file follows its note's new title."""
        return self.present is not None and self.present.path != self.note.place.path


@dataclass(frozen=True, slots=True)
class Decisions:
    """What decides on edits: all facts by id, the keys of edits that were turned down, the entities that links name."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    rejected: frozenset[str] = frozenset()
    entities: Callable[[], Entities] = Entities


def compare(
    note: Note,
    folder: Folder,
    present: Present | None,
    *,
    known: Stamp | None,
    entry: Entry | None,
    decisions: Decisions,
) -> Step:
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
    step = _with_content(note, present, data, entry, decisions)
    if step.data is not None and present.read_only:
        return replace(step, status="read-only", data=None, reason="the file is read-only")
    return step


def _with_content(note: Note, present: Present, data: bytes, entry: Entry | None, decisions: Decisions) -> Step:
    content = content_hash(data)
    as_written = entry if entry is not None and entry.content == content else None
    if as_written is not None and as_written.shown == note.shown:
        return Step("unchanged", note, present, None, content, alone=as_written.alone)
    alone = note.to_text().encode()
    if data == alone:
        return Step("unchanged", note, present, None, content, alone=True)
    if not data or (as_written is not None and as_written.alone and not _was_renamed(note, data)):
        # emptied by a crash, or all ours but for a title that stays as an alias
        return Step("changed", note, present, alone, content_hash(alone), alone=True)
    answer: _Answer | None = None
    try:
        if note.fact is not None and note_id(data) is None and not is_damaged(data):
            merged: bytes | None = _adopted(note, data)
            status: Status = "changed" if merged is not None else "conflict"
            reason = "" if merged is not None else "it was changed while publishing"
        else:
            file = take_apart(data)
            mapping = parse(file.frontmatter)
            answer = _decided(note, file, mapping, entry, decisions)
            status, reason, merged = _three_way(note, file, mapping, entry, answer)
    except (NoteUnreadable, FrontmatterError) as error:
        return Step("unreadable", note, present, None, content, alone=False, reason=str(error))
    if merged is None or merged == data:
        status = "unchanged" if merged == data else status
        return Step(status, note, present, None, content, alone=False, reason=reason)
    keeps_copy = answer is not None and answer.was_rejected and status == "changed"
    return Step(status, note, present, merged, content_hash(merged), alone=merged == alone, keeps_copy=keeps_copy)


def _was_renamed(note: Note, data: bytes) -> bool:
    """Whether a file that holds only our words names its note otherwise than now; no YAML is read for that."""
    return bool(note.properties.aliases) and write(Properties({}, note.properties.aliases, ())).encode() not in data


@dataclass(frozen=True, slots=True)
class _Answer:
    """Every edit of a note is settled: the store says it too, or it was turned down. `lines` go below the block."""

    lines: tuple[str, ...]
    was_rejected: bool


def _decided(
    note: Note, file: NoteFile, mapping: Mapping[str, Any], entry: Entry | None, decisions: Decisions
) -> _Answer | None:
    """Whether nothing in an edited note waits for a decision any more; None when something does."""
    if note.fact is None or file.block is None:
        return None
    ours = lines_of(take_quotation(note.block)[1])
    now = said(file, mapping)
    edits, problems = note_edits(
        now,
        note.fact,
        note="",
        entry=entry,
        facts=decisions.facts,
        shown_confidence=str(note.properties.values.get("mem_confidence", "")),
        entities=decisions.entities() if any("[[" in line for line in now.lines) else Entities(),
        ours=ours,
    )
    if problems or any(edit.key not in decisions.rejected for edit in edits):
        return None
    base = None if entry is None else entry.base
    return _Answer(foreign_lines(now, base, ours), was_rejected=bool(edits))


def _adopted(note: Note, data: bytes) -> bytes | None:
    """A person's note that became the note of its fact; None when it says something else by now."""
    head, body = split_head(data)
    if note.fact is None or body.strip() != note.fact.text:
        return None
    text = data.decode()
    newline = "\r\n" if "\r\n" in text else "\n"
    frontmatter = merge(head, note.properties) if head.strip() else write(note.properties)
    bom = text.startswith("\ufeff")
    return NoteFile(bom, newline, frontmatter, before="", block=note.block, seal=note.seal, after=newline).to_bytes()


def _three_way(
    note: Note, file: NoteFile, mapping: Mapping[str, Any], entry: Entry | None, answer: _Answer | None
) -> tuple[Status, str, bytes | None]:
    """The status, the reason if the file is left alone, and the new content (None: leave it)."""
    ours = note.seal
    theirs = "no block" if file.block is None else seal_of(our_values(mapping, OUR_KEYS), file.block)
    written = {seal for seal in (file.seal, entry.managed if entry is not None else "") if seal}
    added: Sequence[str] = ()
    if theirs not in {*written, ours}:
        if answer is None:
            if ours in written:
                return "edited", "its managed part was edited in the vault", None
            return "conflict", "it was edited in the vault and changed in the store", None
        added = answer.lines
    tags = items_of(mapping, "tags")
    complete = {*note.properties.aliases} <= {*items_of(mapping, "aliases")} and {*note.properties.tags} <= {*tags}
    if theirs == ours == file.seal and (complete or (entry is not None and entry.shown == note.shown)):
        return "unchanged", "", None
    frontmatter = file.frontmatter
    if frontmatter != write(note.properties):
        former = f"{TAG}/{tag_part(str(mapping.get('mem_agent', '')))}"
        frontmatter = merge(frontmatter, note.properties, stale_tags=(former,))
    after = file.after
    if added:
        kept = file.newline.join(added)
        after = f"{file.newline}{file.newline}{kept}{after if after.strip() else file.newline}"
    return "changed", "", replace(file, frontmatter=frontmatter, block=note.block, seal=ours, after=after).to_bytes()
