"""Finding names in a text: whole words, any spacing between them, the longest name first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gm_engine.store.mentions import fold

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKENS = re.compile(rf"[{CJK}]|[^\W{CJK}]+|[^\w\s]")
_GLUE = "-._"  # joins digits and letters to one word: 8.2 is not in 8.2.1


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a character of a script without spaces, or a mark, with its place in the text."""

    start: int
    end: int
    key: str


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name in a text: its span and the keys that were given with it."""

    start: int
    end: int
    owners: tuple[str, ...]


@dataclass(slots=True)
class _Node:
    children: dict[str, _Node] = field(default_factory=dict)
    owners: list[str] = field(default_factory=list)


def tokens(text: str) -> list[Token]:
    """The tokens of a text; `text` should be in NFC."""
    return [Token(match.start(), match.end(), _key(match.group())) for match in _TOKENS.finditer(text)]


def _key(word: str) -> str:
    return word.lower() if word.isascii() else fold(word)


class NameTrie:
    """Names by their words. The time for a text grows with its length, not with the number of names."""

    def __init__(self) -> None:
        self._root = _Node()
        self.size = 0

    def add(self, name: str, owner: str) -> None:
        """Adds a name; one without any word or mark is left out."""
        node = self._root
        for token in tokens(name):
            node = node.children.setdefault(token.key, _Node())
        if node is not self._root and owner not in node.owners:
            node.owners.append(owner)
            self.size += 1

    def matches(self, text: str, words: list[Token]) -> Iterator[NameMatch]:
        """Every place of a name in `text`, whose tokens are `words`; names inside longer ones are left out."""
        at, begins = 0, self._root.children
        while at < len(words):
            found = self._longest(text, words, at) if words[at].key in begins else None
            if found is None:
                at += 1
            else:
                yield NameMatch(words[at].start, words[found[0]].end, tuple(found[1]))
                at = found[0] + 1

    def _longest(self, text: str, words: list[Token], at: int) -> tuple[int, list[str]] | None:
        node = self._root.children.get(words[at].key)
        best: tuple[int, list[str]] | None = None
        end = at
        while node is not None:
            if node.owners and not _is_glued(text, words[at].start, words[end].end):
                best = end, node.owners
            end += 1
            node = node.children.get(words[end].key) if end < len(words) else None
        return best


def _is_glued(text: str, start: int, end: int) -> bool:
    """Whether a letter or digit continues the word beyond the span, across a mark that joins."""
    before = start >= 2 and text[start - 1] in _GLUE and text[start - 2].isalnum()
    after = end + 1 < len(text) and text[end] in _GLUE and text[end + 1].isalnum()
    return before or after
