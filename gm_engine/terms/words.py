"""How a text becomes search terms: one set of rules for facts and queries.

Words are Unicode words (UAX #29) of the NFKC form, case-folded; stop words are dropped, then Snowball stems by
language. Scripts written without spaces (Chinese, Japanese, Korean and their neighbours) give overlapping pairs of
characters, one character alone gives itself. A change of any rule here needs a new `TERMS_RULES`: stored terms of other
rules are stale.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import regex

from gm_engine.errors import InvalidInput
from gm_engine.terms.stop_words import ENGLISH_CONTRACTIONS, stop_words

TERMS_RULES = 1
_MAX_WORD = 64  # characters; longer words are shortened with a hash, so that an index key stays small
_MAX_SURFACE = 64

_SPACELESS = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Yi}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30FC\U00016FF0"
)
_VARIATION = r"\uFE00-\uFE0F\U000E0100-\U000E01EF"
# A run of a script without spaces, or a word up to the next UAX #29 boundary (WORD gives `\b` that meaning).
_WORDS = regex.compile(
    rf"(?P<run>[{_SPACELESS}][{_SPACELESS}{_VARIATION}]*)|[\w--[{_SPACELESS}]](?:[^{_SPACELESS}])*?(?:\b|(?=[{_SPACELESS}]))",
    regex.V1 | regex.WORD | regex.DOTALL,
)
_CHUNKS = regex.compile(r"\S+")
_SPACES = re.compile("[ \t\r\n]+")
_CLUSTERS = regex.compile(r"\X")
_INVISIBLE = regex.compile(
    r"[\p{Cf}\uFE00-\uFE0F]"
)  # direction marks, soft hyphens, joiners: part of a word, never of its key
_ALPHANUMERIC = regex.compile(r"[\p{Alphabetic}\p{N}]")
_ELISION = {
    "french": regex.compile(r"(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)'(?=.)"),
    "italian": regex.compile(r"(?:[cdlmnstv]|un|all|dall|dell|nell|sull|quest|quell)'(?=.)"),
    "catalan": regex.compile(r"[dlmnst]'(?=.)"),
}
_NOT_LANGUAGES = frozenset(("dutch_porter", "porter"))


@dataclass(frozen=True, slots=True)
class Term:
    """One distinct term of a text: its key, the word as first written (at most 64 characters), how often it occurs."""

    term: str
    surface: str
    count: int


_Word = tuple[str, int, int]  # key, start and end in the original text; a tuple, because one is made per word


def text_key(text: str) -> bytes:
    """The first 16 bytes of SHA-256 of the NFC text: equal for texts that read the same."""
    return hashlib.sha256(unicodedata.normalize("NFC", text).encode()).digest()[:16]


@cache
def languages() -> frozenset[str]:
    """The languages that words can be stemmed in."""
    import Stemmer  # loaded with the first text: importing must stay cheap

    return frozenset(Stemmer.algorithms()) - _NOT_LANGUAGES


def check_language(language: str) -> str:
    """The language itself when words can be stemmed in it; else `InvalidInput`."""
    if language not in languages():
        raise InvalidInput(f"unknown language: {language!r}", field="language")
    return language


def text_terms(text: str, language: str) -> tuple[Term, ...]:
    """The distinct terms of a fact or a query, in order of first appearance.

    Raises `InvalidInput` for a language that is not in `languages()`.
    """
    places: dict[str, tuple[int, int]] = {}
    counts: dict[str, int] = {}
    for key, start, end in _words(text, check_language(language)):
        if key in counts:
            counts[key] += 1
        else:
            counts[key] = 1
            places[key] = (start, min(end, start + _MAX_SURFACE))
    return tuple(Term(key, text[slice(*places[key])], count) for key, count in counts.items())


def term_counts(text: str, language: str) -> dict[str, int]:
    """The same terms with their counts alone, in the same order: several times faster, for many texts at once.

    A word never crosses a space, and most of what stands between spaces was seen before.
    """
    counts: dict[str, int] = {}
    keys_of = _chunk_function(check_language(language))
    for chunk in _SPACES.split(text):
        for key in keys_of(chunk):
            counts[key] = counts.get(key, 0) + 1
    return counts


def match_spans(text: str, terms: frozenset[str], language: str) -> tuple[tuple[int, int], ...]:
    """The character spans of `text` whose words have a key in `terms`, in order; overlapping ones are joined."""
    if not terms:
        return ()
    spans: list[tuple[int, int]] = []
    for key, start, end in _words(text, check_language(language)):
        if key in terms:
            if spans and start < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(spans[-1][1], end))
            else:
                spans.append((start, end))
    return tuple(spans)


def _words(text: str, language: str) -> Iterator[_Word]:
    normal, starts, ends = _normalise(text)
    key_of = _key_function(language)
    for match in _WORDS.finditer(normal):
        word = match[0]
        begin, end = match.span()
        if match.lastgroup is None:
            pieces = [(key_of(word), begin, end)] if len(word) <= _MAX_WORD else [(_long_key(word), begin, end)]
        else:
            pieces = list(_pairs(word, begin))
        for key, start, stop in pieces:
            if not key:
                continue
            if starts is None or ends is None:
                yield key, start, stop
            else:
                yield key, starts[start], ends[stop - 1]


def _long_key(word: str) -> str:
    """A long word's key: its beginning and a hash, never stemmed; "" without a letter or digit."""
    key = unicodedata.normalize("NFKC", _INVISIBLE.sub("", word.casefold()))
    if not _ALPHANUMERIC.search(key):
        return ""
    return f"{key[:_MAX_WORD]}~{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _pairs(run: str, offset: int) -> Iterator[_Word]:
    """Overlapping pairs of a run's characters, variation selectors left out; a single character is its own term."""
    places = [n for n, char in enumerate(run) if not _is_variation(char)]
    if len(places) == 1:
        yield run[places[0]].casefold(), offset + places[0], offset + places[0] + 1
    for left, right in pairwise(places):
        yield (run[left] + run[right]).casefold(), offset + left, offset + right + 1


def _is_variation(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _normalise(text: str) -> tuple[str, list[int] | None, list[int] | None]:
    """NFKC, piece by piece, with the original start and end of every character; no maps when nothing moved."""
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text, None, None
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []

    def keep(begin: int, end: int) -> None:
        pieces.append(text[begin:end])
        starts.extend(range(begin, end))
        ends.extend(range(begin + 1, end + 1))

    done = 0
    for chunk in _CHUNKS.finditer(text):
        begin, end = chunk.span()
        if unicodedata.is_normalized("NFKC", chunk[0]):
            continue
        keep(done, begin)
        for cluster in _CLUSTERS.finditer(text, begin, end):
            composed = unicodedata.normalize("NFKC", cluster[0])
            pieces.append(composed)
            starts.extend([cluster.start()] * len(composed))
            ends.extend([cluster.end()] * len(composed))
        done = end
    keep(done, len(text))
    return "".join(pieces), starts, ends


@cache
def _chunk_function(language: str) -> Callable[[str], tuple[str, ...]]:
    """What stands between spaces → its keys; what is long hardly comes again and is not kept."""

    def keys(chunk: str) -> tuple[str, ...]:
        return tuple(key for key, _, _ in _words(chunk, language))

    kept = lru_cache(maxsize=1 << 15)(keys)
    return lambda chunk: (kept if len(chunk) <= _MAX_WORD else keys)(chunk)


@cache
def _key_function(language: str) -> Callable[[str], str]:
    """Word → term key, "" for stop words and for marks without a letter or digit."""
    stops = stop_words(language)
    english = language == "english"
    elision = _ELISION.get(language)

    @lru_cache(maxsize=1 << 16)
    def key_of(word: str) -> str:
        key = word.casefold()
        if not key.isascii():
            key = unicodedata.normalize("NFKC", _INVISIBLE.sub("", key)).replace("\u2019", "'")
        if key in stops or not _ALPHANUMERIC.search(key):
            return ""
        if "'" in key:
            if english and _is_english_contraction(key, stops):
                return ""
            if elision is not None:
                key = elision.sub("", key, count=1)
        return "" if key in stops else _stem(key, language)

    return key_of


def _is_english_contraction(word: str, stops: frozenset[str]) -> bool:
    """`what's`, `we'll`, `doesn't`: a stop word with a short ending, or a negated verb."""
    head, _, tail = word.rpartition("'")
    return (tail in ENGLISH_CONTRACTIONS and head in stops) or (tail == "t" and head.endswith("n"))


_stemmers = threading.local()


def _stem(word: str, language: str) -> str:
    """Snowball's stem. A stemmer keeps state between calls, so each thread has its own."""
    known: dict[str, Callable[[str], str]] | None = getattr(_stemmers, "known", None)
    if known is None:
        known = _stemmers.known = {}
    if language not in known:
        import Stemmer  # loaded with the first text: importing must stay cheap

        known[language] = Stemmer.Stemmer(language, 0).stemWord
    return known[language](word) or word
