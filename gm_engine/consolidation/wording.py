"""What a sentence is made of, as far as two sentences may be called the same: a text as tokens of known weight.

Nothing is folded that can carry meaning: no NFKC, no digits, no case inside a sentence. Only punctuation, articles and
English plurals are looked through. Everything that could turn a statement into another one (numbers, names and
identifiers, negations, directions, modality, symbols) is guarded: it must be equal, in order.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import regex

from gm_engine.consolidation.vocabulary import (
    DATE_WORDS,
    GUARDED_WORDS,
    LEMMAS,
    LIGHT_WORDS,
    NEGATIONS,
    NUMBER_WORDS,
    OPPOSITES,
    UNKNOWN_CONTRACTIONS,
)

MAX_CHARS = 20_000
"""Longer texts are compared as a whole only."""


class Kind(IntEnum):
    """What a token is; everything but `WORD` is guarded."""

    WORD = 0
    NUMBER = 1
    NAME = 2
    NEGATION = 3
    GUARD = 4
    OPPOSITE = 5
    SCRIPT = 6
    SYMBOL = 7


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its kind, the key that equal tokens share, the text as written.

    `initial` says that it begins a sentence: a capital there may be a name's or the sentence's.
    """

    kind: Kind
    key: str
    surface: str
    initial: bool = False


_SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Yi}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30FC"
_ADDRESSES = r"""(?P<code>`[^`\n]+`)
    | (?P<address>\p{L}[\w+.\-]*://[^\s<>"'`]+ | [\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+) |"""
_SCRIPTS = rf"""(?P<spaceless_not>ない|なかった|ません|なく|不|没|沒|未|无|無|非|别|않|못|없)
    | (?P<spaceless_number>[〇零一二两兩三四五六七八九十百千万萬億亿]+)
    | (?P<script>[{_SPACELESS}]\p{{M}}*) |"""
_LETTER = rf"[\p{{L}}--[{_SPACELESS}]]"
_CHAR = rf"[[\p{{L}}\p{{N}}\p{{M}}_]--[{_SPACELESS}]]"
_REST = rf"""(?P<number>(?:(?<![\w.\-])[+\-−±])?(?>\p{{Nd}}(?:[.,:/\-–'’]?\p{{Nd}}|\ \p{{Nd}}{{3}}(?!\p{{Nd}}))*)
        (?:\ ?[%‰°][CFK]?|(?>{_LETTER}{{1,4}}))?(?!{_CHAR}))
    | (?P<chunk>[@\#]?{_CHAR}(?:{_CHAR}|[.'’:/\\@+\#](?={_CHAR})|\+\+|\#(?!{_CHAR}))*)
    | (?P<end>[.!…。！]+|\n+)
    | (?P<question>[?？])
    | (?P<symbol>[\p{{S}}&*/\\%‰@\#§†^~|_]+)"""
_TOKENS = regex.compile(_SCRIPTS + _REST, regex.VERBOSE | regex.V1)
_TOKENS_AND_ADDRESSES = regex.compile(_ADDRESSES + _SCRIPTS + _REST, regex.VERBOSE | regex.V1)
_SPACED_NUMBER = regex.compile(r"\p{Nd}\ [\p{Nd}%‰°]")
_OFTEN_CHARS = 40
_GROUPED = regex.compile(r"[+\-−±]?\p{Nd}{1,3}(?:[,'’ ]\p{Nd}{3})+(?:\.\p{Nd}+)?")
_PLAIN_WORD = regex.compile(r"[\p{L}\p{M}'’]+")
_NOT_CONTRACTED = regex.compile(r"(?i)n['’]t$")
_ELISION = regex.compile(r"(?i)([nld])'(?=\p{L}{2})")
_APOSTROPHE_S = regex.compile(r"(?i)['’]s?$")
_AMBIGUOUS_MONTHS = frozenset(("may", "march", "august", "sun", "sat", "mon"))


def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a text in order, light words and punctuation left out; () for one longer than `MAX_CHARS`."""
    if len(text) > MAX_CHARS:
        return ()
    text = unicodedata.normalize("NFC", text)
    if "`" in text or _SPACED_NUMBER.search(text):
        return _read(text, True)[0]
    found: list[Token] = []
    initial = True
    for piece in text.split(" "):
        some, initial = (_read_often if len(piece) <= _OFTEN_CHARS else _read)(piece, initial)
        found += some
    return tuple(found)


def _read(text: str, initial: bool) -> tuple[tuple[Token, ...], bool]:
    """The tokens of a text in NFC that begins a sentence where `initial`, and whether it ends one."""
    found: list[Token] = []
    has_address = "://" in text or "@" in text or "`" in text  # looking for one at every word takes its time
    pattern = _TOKENS_AND_ADDRESSES if has_address else _TOKENS
    for match in pattern.finditer(text):
        surface = match[0]
        group = match.lastgroup
        if group == "end":
            initial = True
            continue
        if group == "chunk":
            found.extend(_chunk(surface, initial=initial))
        elif group == "number":
            found.append(Token(Kind.NUMBER, _number_key(surface), surface))
        else:
            found.append(Token(_KIND_OF_GROUP[group or ""], surface, surface))
        initial = False
    return tuple(found), initial


# texts are made of the same words: no token but code and a spaced number goes over a space
_read_often = lru_cache(maxsize=1 << 15)(_read)


_KIND_OF_GROUP = {
    "code": Kind.NAME,
    "address": Kind.NAME,
    "spaceless_not": Kind.NEGATION,
    "spaceless_number": Kind.NUMBER,
    "script": Kind.SCRIPT,
    "question": Kind.GUARD,
    "symbol": Kind.SYMBOL,
}


def _number_key(surface: str) -> str:
    """A number without thousands separators: `1,000` and `1000` are one, `1.000` is not."""
    if _GROUPED.fullmatch(surface):
        return "".join(char for char in surface if char not in ",'’ ")
    return surface


def _chunk(surface: str, *, initial: bool) -> tuple[Token, ...]:
    if _PLAIN_WORD.fullmatch(surface) is None or _is_mixed(surface):
        return (Token(Kind.NAME, surface, surface, initial),)
    return _word(surface, initial)


def _is_mixed(surface: str) -> bool:
    """Capitals anywhere but in front, as in `userId`, `API`, `OpenSSH`: case is part of what it names."""
    return any(char.isupper() for char in surface[1:]) and surface != "I"


@lru_cache(maxsize=1 << 16)
def _word(surface: str, initial: bool) -> tuple[Token, ...]:
    folded = surface.casefold().replace("’", "'")
    if folded in UNKNOWN_CONTRACTIONS:
        head = UNKNOWN_CONTRACTIONS[folded]
        return (*_simple(head, head, initial), Token(Kind.NEGATION, "not", surface))
    if _NOT_CONTRACTED.search(folded) and len(folded) > 3:
        head = folded[:-3]
        return (*_simple(head, head, initial), Token(Kind.NEGATION, "not", surface))
    if elided := _ELISION.match(folded):  # French and Italian: `n'accepte`, `l'accès`
        rest = _simple(folded[2:], surface[2:], initial and surface[:1].islower())
        return (Token(Kind.NEGATION, "ne", surface), *rest) if elided[1] == "n" else rest
    return _simple(folded, surface, initial)


def forget_words() -> None:
    """Lets go of the words that were kept while many texts were read."""
    _read_often.cache_clear()
    _word.cache_clear()


def _simple(folded: str, surface: str, initial: bool) -> tuple[Token, ...]:
    capital = surface[:1].isupper() and surface != "I"
    key = LEMMAS.get(folded, folded)
    if folded in NEGATIONS:
        found = Token(Kind.NEGATION, "not" if folded in ("not", "no") else folded, surface)
    elif folded in NUMBER_WORDS:
        found = Token(Kind.NUMBER, NUMBER_WORDS[folded], surface)
    elif folded in DATE_WORDS and (capital or folded not in _AMBIGUOUS_MONTHS):
        found = Token(Kind.NUMBER, DATE_WORDS[folded], surface)
    elif capital and not initial:
        found = Token(Kind.NAME, _APOSTROPHE_S.sub("", surface), surface)
    elif key in LIGHT_WORDS:
        return ()
    elif key in OPPOSITES:
        found = Token(Kind.OPPOSITE, key, surface)
    elif key in GUARDED_WORDS:
        found = Token(Kind.GUARD, key, surface)
    else:
        found = Token(Kind.WORD, _singular(_APOSTROPHE_S.sub("", key)), surface, initial and capital)
    return (found,)


def _singular(word: str) -> str:
    """An English word without the ending of a plural or a third person; other words are left alone."""
    if len(word) < 4 or not word.isascii() or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    return word[:-1]
