"""Words, stems, pairs of characters, and their places in the text as written."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gm_engine.errors import InvalidInput
from gm_engine.terms import languages, match_spans, term_counts, text_key, text_terms


def keys(text: str, language: str = "english") -> list[str]:
    return [term.term for term in text_terms(text, language)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Maria's pull requests", ["maria", "pull", "request"]),
        ("What's the answer? We'll see; it doesn't matter.", ["answer", "see", "matter"]),
        ("ADR-014, v1.2.3 and 5,000", ["adr", "014", "v1.2.3", "5,000"]),
        ("x² is not x2 here: ½", ["x2", "1⁄2"]),
        ("ＡＢＣ ﬁne CAFÉ cafe\u0301", ["abc", "fine", "café"]),
        ("微信接口 证书", ["微信", "信接", "接口", "证书"]),
        ("一 cat", ["一", "cat"]),
        ("SK하이닉스", ["sk", "하이", "이닉", "닉스"]),
        ("ﾊﾞﾅﾅ", ["バナ", "ナナ"]),
        ("🎉 👩‍👩‍👧 — … [[]] ---", []),
        ("a\x00needle\x00", ["needl"]),
        ("\u202eעברית\u202c", ["עברית"]),
        ("co\u00adoperate", ["cooper"]),
        ("", []),
    ],
)
def test_a_text_becomes_these_terms(text: str, expected: list[str]) -> None:
    assert keys(text) == expected


def test_terms_are_counted_and_keep_the_first_surface() -> None:
    terms = text_terms("Running runs; RUNNING water", "english")
    assert [(t.term, t.surface, t.count) for t in terms] == [("run", "Running", 3), ("water", "water", 1)]


def test_stop_words_are_matched_before_stemming_and_by_language() -> None:
    assert keys("Die Läufer und das Haus", "german") == ["lauf", "haus"]
    assert keys("l'homme qu'elle voit", "french") == ["homm", "voit"]
    assert "und" in keys("Haus und Hof", "english")


def test_a_very_long_word_gets_a_short_key_that_only_equal_words_share() -> None:
    long, other = "x" * 1_000_000, "x" * 999_999 + "y"
    (term,) = text_terms(long, "english")
    assert len(term.term) < 100
    assert len(term.surface) == 64
    assert keys(long) != keys(other)
    assert keys(long.upper()) == keys(long)


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(InvalidInput):
        text_terms("text", "klingon")
    assert {"english", "german", "spanish", "french"} <= languages()


def test_spans_name_the_words_as_written() -> None:
    text = "The ﬁne CAFÉ, 微信接口 — x²"
    spans = match_spans(text, frozenset(["fine", "café", "微信", "信接", "x2"]), "english")
    assert [text[a:b] for a, b in spans] == ["ﬁne", "CAFÉ", "微信接", "x²"]
    assert match_spans(text, frozenset(), "english") == ()


def test_the_text_key_ignores_composition_and_nothing_else() -> None:
    assert text_key("café") == text_key("cafe\u0301")
    assert text_key("x²") != text_key("x2")
    assert len(text_key("")) == 16


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=60), st.sampled_from(["english", "german", "french", "turkish"]))
def test_every_term_has_a_place_and_terms_do_not_depend_on_composition(text: str, language: str) -> None:
    terms = text_terms(text, language)
    assert len({term.term for term in terms}) == len(terms)
    spans = match_spans(text, frozenset(term.term for term in terms), language)
    assert bool(spans) == bool(terms)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert keys(unicodedata.normalize("NFC", text), language) == [term.term for term in terms]


_PIECES = (
    *(
        "it's",
        "a.b",
        "x_1",
        "5,000",
        "Run",
        " ",
        "  ",
        "\n",
        "\t",
        '"',
        "l'eau",
        "-",
        "é",
        "e\u0301",
        "\u0301",
        "\u200d",
    ),
    *(
        "\u200b",
        "\u00ad",
        "\u202f",
        "\u00a0",
        "\u2028",
        "\u00a8",
        "…",
        "½",
        "微信",
        "接",
        "ｱ",
        "\ufe00",
        "ー",
        "한",
        "🎉",
        "\x1c",
    ),
    *("\r\n", "א", "״", "ไทย", "_", ":", "·", "’", "٣", "🇩🇪"),
)
_MIXED = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)


@settings(deadline=None)
@given(st.one_of(_MIXED, st.text(max_size=60)), st.sampled_from(["english", "french", "turkish"]))
def test_counting_terms_gives_the_terms_in_their_order(text: str, language: str) -> None:
    assert list(term_counts(text, language).items()) == [(t.term, t.count) for t in text_terms(text, language)]
