"""The parts of a note on disk: frontmatter, the block we manage between two comments, and what belongs to its owner."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from exporters.obsidian.frontmatter import FrontmatterError, parse

BEGIN = "%% graymatter:begin %%"
HEAD_BYTES = 32_768
_BOM = "\ufeff"
_FRONTMATTER = re.compile(r"---[ \t]*\r?\n(.*?)(?<=\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FENCE = re.compile(r"---[ \t]*(?:[\r\n]|\Z)")
_BLOCK = re.compile(
    r"^%% graymatter:begin %%[ \t]*\r?\n(.*?)(?<=\n)%% graymatter:end ([0-9a-f]{16}) %%(?=[ \t]*\r?$)",
    re.DOTALL | re.MULTILINE,
)
_MEM_ID = re.compile(r"^(?:mem_id|\"mem_id\"|'mem_id')[ \t]*:[ \t]*(.+?)[ \t]*\r?$", re.MULTILINE)
_SIMPLE = re.compile(r"\"([^\"\\]+)\"|'([^']+)'|([0-9A-Za-z]+)")


class NoteUnreadable(ValueError):
    """The file cannot be understood as a note; the message says why. It is left alone."""


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note taken apart. `frontmatter` and `block` have `\\n` line ends; `before` and `after` are as in the file.

    `block` is None when a marker is missing; `seal` is the hash that the end marker carries.
    """

    bom: bool
    newline: str
    frontmatter: str
    before: str
    block: str | None
    seal: str
    after: str

    def to_bytes(self) -> bytes:
        """The file again, with its own line ends and byte order mark."""
        block = "" if self.block is None else f"{BEGIN}\n{self.block}{end_marker(self.seal)}"
        head = f"---\n{self.frontmatter}---\n".replace("\n", self.newline)
        text = f"{head}{self.before}{block.replace(chr(10), self.newline)}{self.after}"
        return (_BOM if self.bom else "").encode() + text.encode()


def take_apart(data: bytes) -> NoteFile:
    """The parts of the note in `data`. Raises `NoteUnreadable`."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise NoteUnreadable("it is not UTF-8 text") from error
    bom = text.startswith(_BOM)
    text = text.removeprefix(_BOM)
    head = _FRONTMATTER.match(text)
    if head is None:
        raise NoteUnreadable("it has no frontmatter")
    newline = "\r\n" if text[: text.index("\n")].endswith("\r") else "\n"
    body = text[head.end() :]
    found = _BLOCK.search(body)
    if found is None:
        return NoteFile(bom, newline, _unix(head[1]), before=body, block=None, seal="", after="")
    return NoteFile(
        bom,
        newline,
        _unix(head[1]),
        before=body[: found.start()],
        block=_unix(found[1]),
        seal=found[2],
        after=body[found.end() :],
    )


def split_head(data: bytes) -> tuple[str, str]:
    """The frontmatter (empty when there is none) and the body of any note, with `\\n` line ends.

    Raises `NoteUnreadable`.
    """
    try:
        text = _unix(data.decode().removeprefix(_BOM))
    except UnicodeDecodeError as error:
        raise NoteUnreadable("it is not UTF-8 text") from error
    head = _FRONTMATTER.match(text)
    return ("", text) if head is None else (head[1], text[head.end() :])


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def end_marker(seal: str) -> str:
    """The comment that closes the managed block and carries its hash."""
    return f"%% graymatter:end {seal} %%"


def seal_of(values: Mapping[str, str | bool | float], block: str) -> str:
    """The hash of the part we manage: our properties' values and the block."""
    lines = [f"{key}={values[key]}" for key in sorted(values)]
    return short_hash("\n".join([*lines, block]))


def short_hash(text: str) -> str:
    """A hash that tells versions of one note apart."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def content_hash(data: bytes) -> str:
    """The hash of a whole file."""
    return hashlib.sha256(data).hexdigest()[:32]


def is_damaged(head: bytes) -> bool:
    """Whether nobody wrote a file that starts so: it is not UTF-8, holds NULs, or its frontmatter was cut off."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head).removeprefix(_BOM)
    except UnicodeDecodeError:
        return True
    is_cut = _FENCE.match(text) is not None and len(head) < HEAD_BYTES and _FRONTMATTER.match(text) is None
    return is_cut or "\0" in text


def note_id(head: bytes) -> str | None:
    """The `mem_id` of a note that starts with `head`, or None when it is somebody else's. Cheap in the usual case."""
    text = head.decode("utf-8", "replace").removeprefix(_BOM)
    if not text.startswith("---") or "mem_id" not in text:
        return None
    match = _FRONTMATTER.match(text)
    if match is None and len(head) < HEAD_BYTES:
        return None  # a longer frontmatter ends further down
    found = _MEM_ID.search(text if match is None else match[1])
    if found is None:
        return None
    simple = _SIMPLE.fullmatch(found[1])
    if simple is not None:
        return simple[simple.lastindex or 0]
    try:
        value = parse(f"mem_id: {found[1]}\n").get("mem_id")
    except FrontmatterError:
        return None
    return None if value is None else str(value)
