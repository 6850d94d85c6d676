"""Wikilinks by path from the vault's root, and the check that they lead somewhere, by Obsidian's rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, unquote

from exporters.obsidian.names import NOTE_SUFFIX, path_key, title_of
from exporters.obsidian.text import visible

_SHOWN: dict[int, str | None] = {
    **{ord(char): safe for char, safe in zip("[]|`<>$\\#", "()¦'‹›＄＼＃", strict=True)},
    **dict.fromkeys(
        (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    ),  # they would turn the line around
}
_NOT_PLAIN = re.compile(r"[^ -~…]|[\[\]|`<>$\\#]|::|%%|  |^ | $")  # what is not shown as it is
_FIELD = re.compile(":{2,}")
_COMMENT = re.compile("%{2,}")
_LINK = re.compile(r"(?<!\\)\[\[([^\[\]\n]+)\]\]|(?<!\\)\[[^\[\]\n]*\]\(([^()<>\s]+)\)")
_IN_ADDRESS = re.compile(r"[\s()<>%\"\\]")


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link that was written into `note` (a path in the vault) and that leads nowhere."""

    note: str
    target: str


def shown(text: str, limit: int = 60) -> str:
    """`text` as the visible half of a link: one line, without characters that end a link or mean something in it."""
    if 0 < len(text) <= limit and not _NOT_PLAIN.search(text):
        return text
    title = title_of(visible(text[: 8 * limit]), limit)
    return _COMMENT.sub("%", _FIELD.sub(":", title)).translate(_SHOWN) or "…"


def markdown_link(path: str, text: str) -> str:
    """A Markdown link to the note at `path` (from the vault's root, with extension), shown as `text`."""
    return f"[{text}]({_IN_ADDRESS.sub(lambda match: quote(match[0]), path)})"


def wikilink(path: str, text: str) -> str:
    """A link to the note at `path` (from the vault's root, with extension), shown as `text` (already `shown`)."""
    return f"[[{path.removesuffix(NOTE_SUFFIX)}|{text}]]"


def link_targets(markdown: str) -> Iterator[str]:
    """The targets of the links and embeds in `markdown`, without what is shown and without headings or blocks.

    Markdown links count where they lead to a note.
    """
    for match in _LINK.finditer(markdown):
        if match[1] is not None:
            yield match[1].partition("|")[0].partition("#")[0].strip()
        elif match[2].lower().endswith(NOTE_SUFFIX):
            yield unquote(match[2])


class VaultIndex:
    """Resolves links by path from the vault's root: case-insensitive, a note's extension may be left out."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(map(path_key, self._paths))

    def resolves(self, target: str) -> bool:
        """Whether `target` is a file. An empty target is the note itself."""
        if not target or f"{target}{NOTE_SUFFIX}" in self._paths:  # nearly all of ours
            return True
        key = path_key(target.lstrip("/"))
        return key in self._keys or key + NOTE_SUFFIX in self._keys

    def broken(self, note: str, markdown: str) -> Iterator[BrokenLink]:
        """The links in `markdown`, the content of `note`, that lead nowhere."""
        for target in link_targets(markdown):
            if not self.resolves(target):
                yield BrokenLink(note, target)
