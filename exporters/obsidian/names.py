"""File names and tags that every file system and Obsidian accept, and that never collide.

Two names are the same when they are equal after canonical composition and case folding: what case-insensitive and
normalising file systems compare.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property

MAX_NAME_BYTES = 240
MAX_PATH_CHARS = 160
TITLE_CHARS = 60
UNTITLED = "Untitled"
ELLIPSIS = "…"
NOTE_SUFFIX = ".md"

_SUFFIX_ROOM = 8  # for " 12345" before the extension
_MIN_TITLE_CHARS = 16
_SLASHES = re.compile(r"[/\\\u2044\u2215\u29f8\uff0f\uff3c]")
_DROPPED = re.compile(r'[?<>:*|"\[\]#^$\x00-\x08\x0e-\x1f\x7f-\x9f]')
_PERCENTS = re.compile("%{2,}")
_EDGES = ". \t\u00a0\u3000"
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])", re.IGNORECASE)
_TAG_ILLEGAL = re.compile(r"""[\u2000-\u206f\u2e00-\u2e7f'!"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\x00-\x1f\x7f-\x9f\s]""")
_DIGITS = re.compile(r"\d+")


def path_key(path: str) -> str:
    """What a path is compared by: equal keys may be one file on some file system."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def words_of(text: str, limit: int = TITLE_CHARS) -> str:
    """The first words of `text` on one line, at most `limit` characters, cut between words where there is room to."""
    return _cut(_one_line(text, limit), limit)


def title_of(text: str, limit: int = TITLE_CHARS) -> str:
    """`words_of` with an ellipsis where words were left out."""
    line = _one_line(text, limit)
    words = _cut(line, limit)
    return words if words == line else f"{words}{ELLIPSIS}"


def _one_line(text: str, limit: int) -> str:
    start = text.lstrip()[: 8 * limit]
    return " ".join((start if start.isascii() else unicodedata.normalize("NFC", start)).split())


def _cut(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    space = line[: limit + 1].rfind(" ")
    return line[: space if space >= limit // 3 else limit].rstrip()


def file_name(title: str, *, limit: int = TITLE_CHARS) -> str:
    """A file name without extension for `title`: legal everywhere, at most `limit` characters, never empty.

    Characters that Obsidian gives a meaning in links are dropped, and so are invisible ones, which some file systems
    ignore when they compare names.
    """
    if title.isascii() and title.isalnum() and len(title) <= limit and not _RESERVED.match(title):
        return title
    name = unicodedata.normalize("NFC", title)
    name = _SLASHES.sub("-", name).replace("`", "'")
    name = " ".join(_DROPPED.sub("", name).split())
    if not name.isascii():
        name = "".join(char for char in name if unicodedata.category(char) not in ("Cf", "Cs", "Co", "Cn"))
        name = unicodedata.normalize("NFC", " ".join(name.split()))
    name = _PERCENTS.sub("%", name)  # once nothing more is dropped between two of them
    name = _fit(words_of(name, limit).strip(_EDGES), MAX_NAME_BYTES - len(NOTE_SUFFIX) - _SUFFIX_ROOM)
    if path_key(name).endswith(NOTE_SUFFIX):  # `[[x.md]]` would mean the note x
        name = f"{name[: -len(NOTE_SUFFIX)]}-md"
    if _RESERVED.fullmatch(name.partition(".")[0].rstrip()):
        name = f"_{name}"
    return name or UNTITLED


def _fit(name: str, size: int) -> str:
    """`name` cut to `size` UTF-8 bytes at a code point, between words where there is room to."""
    data = name.encode("utf-8", "ignore")
    if len(data) <= size:
        return name
    cut = data[:size].decode("utf-8", "ignore")
    space = cut.rfind(" ")
    return (cut[:space] if space >= len(cut) // 3 else cut).rstrip(_EDGES)


class PathBook:
    """The paths in use inside the published folder; hands out free ones.

    `room` is the number of characters of a path in the vault that the folder leaves.
    """

    def __init__(self, taken: Iterable[str] = (), *, room: int = MAX_PATH_CHARS) -> None:
        self._paths = tuple(taken)
        self._next: dict[str, int] = {}
        self._room = room

    @cached_property
    def _taken(self) -> set[str]:
        """The keys in use: made when the first path is asked for, which is never where no note is new."""
        return {path_key(path) for path in self._paths}

    def __contains__(self, path: str) -> bool:
        return path_key(path) in self._taken

    def wanted(self, directory: str, title: str) -> str:
        """The path without extension that a note of this title should have if nothing stood in the way."""
        prefix = f"{directory}/" if directory else ""
        room = self._room - len(prefix) - len(NOTE_SUFFIX) - _SUFFIX_ROOM
        return prefix + file_name(title, limit=max(_MIN_TITLE_CHARS, min(TITLE_CHARS, room)))

    def take(self, wanted: str) -> str:
        """Reserves and returns `wanted` with the note extension, numbered when the plain path is in use."""
        base = path_key(wanted)
        number = self._next.get(base, 0)
        while True:
            path = f"{wanted} {number}{NOTE_SUFFIX}" if number else f"{wanted}{NOTE_SUFFIX}"
            number += 1
            key = path_key(path)
            if key not in self._taken:
                self._taken.add(key)
                self._next[base] = number
                return path

    def release(self, path: str) -> None:
        """Gives a reserved path back."""
        self._taken.discard(path_key(path))
        self._next.clear()


def tag_part(name: str) -> str:
    """A legal tag made of `name`, without `#`: `/` nests, a part of digits only gets a letter, never empty."""
    parts = []
    for part in unicodedata.normalize("NFC", name).split("/"):
        legal = _TAG_ILLEGAL.sub("", "-".join(part.split())).strip("-")
        if legal:
            parts.append(f"n{legal}" if _DIGITS.fullmatch(legal) else legal)
    return "/".join(parts) or "untitled"


def free_name(name: str, taken: Iterable[str], *, separator: str) -> str:
    """`name`, with a number after `separator` when it is already in `taken` (compared like paths)."""
    keys = {path_key(other) for other in taken}
    number, candidate = 0, name
    while path_key(candidate) in keys:
        number += 1
        candidate = f"{name}{separator}{number}"
    return candidate
