"""Entities and links in one text, by rules: deterministic, offline, the same on every platform.

The rules read English best. What they find: names by capitals, by the lexicon and by names that the store knows
already; dates; references that can be looked up; decisions and preferences that the text states in as many words. A
text in which capitals say nothing (German, all capitals) is read by lexicon and known names alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from gm_engine.graph.capitals import capitalised
from gm_engine.graph.lexicon import Lexicon, load_lexicon
from gm_engine.graph.name_trie import NameTrie, tokens
from gm_engine.graph.patterns import dates, handles, references, statements, wikilinks
from gm_engine.graph.spans import Found, Rank
from gm_engine.store.entities import name_key

EXTRACTION_RULES = 1
"""Raised whenever the rules find something else: every fact is then looked at again."""
MAX_TEXT = 20_000
MAX_LINKED = 16
CO_MENTIONED = "co_mentioned"
_RELATIONS = re.compile(
    r"(?:,? who)?,? (?:now |also |currently |still )?"
    r"(works at|works for|joined|left|leads|manages|owns|maintains|founded|lives in|moved to|is based in|is located in|"
    r"belongs to|is part of|depends on|uses|replaces|runs on|is married to|reports to|wrote)(?: the| a| an)? ",
)


@dataclass(frozen=True, slots=True)
class Mention:
    """Something that a text names. `owner` is the entity that the store knows by that name, if it does.

    `names` are further spellings that the dictionary gives it.
    """

    label: str
    type: str
    owner: str | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What one text says: what it names, in order of appearance, and which of them it links (by position)."""

    mentions: tuple[Mention, ...]
    links: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True)
class KnownName:
    """What a name of the store stands for. `exact_case`: it is meant only where its capital is written."""

    entity_id: str | None
    label: str
    type: str
    exact_case: bool = False
    ignore: bool = False
    names: tuple[str, ...] = ()


class KnownNames:
    """The names that the store and the user's dictionary know; later ones do not replace earlier ones."""

    def __init__(self) -> None:
        self.trie = NameTrie()
        self._by_key: dict[str, KnownName] = {}

    def add(self, name: str, known: KnownName) -> None:
        """Adds a name unless it is known."""
        key = name_key(name)
        if key and key not in self._by_key:
            self._by_key[key] = known
            self.trie.add(name, key)

    def get(self, key: str) -> KnownName | None:
        """What a canonical name stands for."""
        return self._by_key.get(key)


class Extractor:
    """Reads texts. Made once, used for many; `language` is the store's."""

    def __init__(self, *, language: str = "english", lexicon: Lexicon | None = None) -> None:
        self._lexicon = lexicon or load_lexicon()
        self._capitals = language not in ("german", "none")

    def read(self, text: str, known: KnownNames) -> Reading:
        """What `text` says; `known` adds names and overrules every rule."""
        body = unicodedata.normalize("NFC", text[:MAX_TEXT])
        chosen = _choose([*self._candidates(body, known)], known)
        mentions: dict[str, tuple[Found, Mention]] = {}
        for found in chosen:
            key = name_key(found.label)
            name = known.get(key)
            mention = Mention(found.label, found.type) if name is None else _known_mention(name)
            mentions.setdefault(mention.owner or name_key(mention.label), (found, mention))
        spans = [found for found, _ in mentions.values()]
        return Reading(tuple(mention for _, mention in mentions.values()), tuple(_links(body, spans)))

    def _candidates(self, text: str, known: KnownNames) -> Iterator[Found]:
        words = tokens(text)
        for match in known.trie.matches(text, words):
            name = known.get(match.owners[0])
            if name is not None and (not name.exact_case or text[match.start].isupper()):
                rank = Rank.IGNORED if name.ignore else Rank.KNOWN
                yield Found(match.start, match.end, match.owners[0], name.type, rank)
        yield from (link for link in wikilinks(text) if link.label.lower() not in self._lexicon.ordinary)
        yield from references(text)
        yield from dates(text)
        yield from handles(text)
        yield from statements(text)
        yield from capitalised(text, words, self._lexicon, by_capitals=self._capitals)


def _known_mention(name: KnownName) -> Mention:
    return Mention(name.label, name.type, name.entity_id, name.names)


def _choose(candidates: list[Found], known: KnownNames) -> list[Found]:
    """Of overlapping candidates the strongest, then the longest; statements stand above what they contain."""
    taken: list[Found] = []
    for found in sorted(candidates, key=lambda each: (each.rank, each.start - each.end, each.start)):
        if found.rank is Rank.STATEMENT or not any(
            found.start < other.end and other.start < found.end for other in taken if other.rank is not Rank.STATEMENT
        ):
            taken.append(found)
    kept = (each for each in taken if each.rank is not Rank.IGNORED)
    allowed = (each for each in kept if not ((name := known.get(name_key(each.label))) and name.ignore))
    return sorted(allowed, key=lambda each: (each.start, each.end))


def _links(text: str, spans: list[Found]) -> Iterator[tuple[int, int, str]]:
    """Relations that the words between two neighbours state; everything else that stands together is co-mentioned."""
    stated: dict[tuple[int, int], str] = {}
    for at, found in enumerate(spans):
        if found.rank is Rank.STATEMENT:
            subject = _subject(spans, at)
            if subject is not None:
                stated[subject, at] = "prefers" if found.type == "preference" else "decided"
        elif at:
            before = spans[at - 1]
            match = _RELATIONS.fullmatch(text[before.end : found.start])
            if match:
                stated[at - 1, at] = match[1]
    for first, second in combinations(range(min(len(spans), MAX_LINKED)), 2):
        relation = stated.get((first, second))
        yield first, second, CO_MENTIONED if relation is None else relation


def _subject(spans: list[Found], at: int) -> int | None:
    """The person before a statement, nearest first."""
    for before in range(at - 1, -1, -1):
        if spans[before].type == "person" and spans[before].end <= spans[at].start:
            return before
    return None
