"""Vocabulary facts read for search: which words stand for which others, and what that adds to a query.

A pair of single words works in both directions; anything longer only from the term to its equivalents. Only words of
the query itself are expanded: an alias never triggers another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gm_engine.terms import text_terms

_PREFIX = "alias:"


@dataclass(frozen=True, slots=True)
class Alias:
    """What an alias text says: a term and the words that mean the same."""

    term: str
    equivalents: tuple[str, ...]


def parse_alias(text: str) -> Alias | None:
    """Reads `alias: term = equivalent, equivalent`; None when the text has another form."""
    head, equals, tail = text.strip().partition("=")
    if not equals or not head.casefold().startswith(_PREFIX) or "=" in tail:
        return None
    term = head[len(_PREFIX) :].strip()
    equivalents = tuple(dict.fromkeys(part.strip() for part in tail.split(",")))
    if not term or not all(equivalents):
        return None
    return Alias(term, equivalents)


@dataclass(frozen=True, slots=True)
class Expansion:
    """Words that an alias adds: as written, their term keys, and the query's term keys that they stand for."""

    text: str
    terms: tuple[str, ...]
    covers: tuple[str, ...]


def expand(query_terms: Sequence[str], alias_texts: Iterable[str], *, language: str) -> tuple[Expansion, ...]:
    """What the live aliases add to a query with these term keys, in the order of the aliases, each pair once.

    A malformed alias, and one whose words are all stop words, adds nothing.
    """
    present = frozenset(query_terms)
    added: dict[tuple[str, tuple[str, ...]], Expansion] = {}
    for text in alias_texts:
        alias = parse_alias(text)
        if alias is None:
            continue
        for source, target in _directions(alias):
            covers = _keys(source, language)
            if not covers or not present.issuperset(covers):
                continue
            terms = _keys(target, language)
            if terms and not present.issuperset(terms):
                added.setdefault((target, covers), Expansion(target, terms, covers))
    return tuple(added.values())


def _directions(alias: Alias) -> Iterable[tuple[str, str]]:
    for equivalent in alias.equivalents:
        yield alias.term, equivalent
        if _is_one_word(alias.term) and _is_one_word(equivalent):
            yield equivalent, alias.term


def _is_one_word(text: str) -> bool:
    return len(text.split()) == 1


def _keys(text: str, language: str) -> tuple[str, ...]:
    return tuple(term.term for term in text_terms(text, language))
