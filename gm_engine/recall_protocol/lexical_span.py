"""How much of a query a text answers, word by word: the relevance that Recall calls `lexical_span`.

relevance = coverage x concentration; coverage = distinct query terms matched / distinct query terms; concentration =
d / (d + 0.02), where d = matched occurrences / length of the text in terms. Source: the Recall contract.
"""

from __future__ import annotations

from dataclasses import dataclass

from gm_engine.terms import match_spans, text_terms

_HALF = 0.02
_EXCERPT = 280
_BEFORE = 80
_LOOKED_AT = 100_000  # how far into a text an excerpt is looked for


@dataclass(frozen=True, slots=True)
class WordCounts:
    """The terms of a text with how often each occurs, and how many they are in all."""

    counts: dict[str, int]
    length: int


@dataclass(frozen=True, slots=True)
class Span:
    """What a text has of a query's terms."""

    matched: frozenset[str]
    relevance: float


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The distinct terms of a query; none for one that is only stop words or marks."""

    terms: frozenset[str]
    language: str

    def span(self, words: WordCounts) -> Span:
        """The matched terms and the relevance of a text; 0 where nothing matches."""
        matched = frozenset(term for term in self.terms if term in words.counts)
        if not matched or not words.length:
            return Span(matched, 0.0)
        density = sum(words.counts[term] for term in matched) / words.length
        return Span(matched, len(matched) / len(self.terms) * density / (density + _HALF))

    def excerpt(self, text: str) -> tuple[str, bool]:
        """A piece of `text` around its first match, and whether there is one; the beginning where there is none."""
        spans = match_spans(text[:_LOOKED_AT], self.terms, self.language)
        start = max(0, spans[0][0] - _BEFORE) if spans else 0
        return cut(text, start), bool(spans)


def query_words(query: str, language: str) -> QueryWords:
    """The terms that a text is measured by."""
    return QueryWords(frozenset(term.term for term in text_terms(query, language)), language)


def count_words(text: str, language: str) -> WordCounts:
    """The terms of a text."""
    counts = {term.term: term.count for term in text_terms(text, language)}
    return WordCounts(counts, sum(counts.values()))


def cut(text: str, start: int = 0, *, length: int = _EXCERPT) -> str:
    """At most `length` characters of a text on one line, with an ellipsis where something is left out."""
    if start > 0 and text[start - 1] != " " and (space := text.find(" ", start, start + _BEFORE // 2)) >= 0:
        start = space + 1  # no half of a word at the beginning
    piece = " ".join(text[start : start + length].split())
    return f"{'…' if start > 0 else ''}{piece}{'…' if start + length < len(text) else ''}"
