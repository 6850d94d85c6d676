"""Laws of what the desktop shows: sums add up, diffs give the texts back, offsets point at the same characters."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from gm_desktop.models.word_changes import Span, word_changes
from gm_desktop.plain_text import as_lines, excerpt, utf16_spans
from gm_desktop.viewmodels.arithmetic import arithmetic
from gm_engine.records import Confidence, ConfidenceRanking, Fact, Origin, Ranks, Receipt, SignalWeights

RANKS = st.integers(0, 40)
WEIGHTS = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0])
TEXTS = st.text(st.sampled_from("ab c.\n\r\tß\U0001d11e漢é\u200fא"), max_size=40)


def receipt(ranks: tuple[int, int, int], weights: SignalWeights, label: Confidence, weight: float) -> Receipt:
    places = zip((weights.vector, weights.keyword, weights.recency), ranks, strict=True)
    parts = [each / (60 + rank) if rank else 0.0 for each, rank in places]
    base = parts[0] + parts[1] + parts[2]
    factor = 1 + weight * {Confidence.VERIFIED: 1, Confidence.INFERRED: 0, Confidence.UNVERIFIED: -1}[label]
    fact = Fact("F", "a", "t", 0, None, 0, 1.0, "", label.value, "", "", False, None, Origin("library"), 1)
    return Receipt(
        fact=fact,
        age_days=1.0,
        ranks=Ranks(*ranks, base, 60, weights),
        final_score=base * factor,
        ranking=ConfidenceRanking(base, base * factor, factor, label, weight, "confidence-v1"),
        supersedes=(),
    )


@given(
    st.tuples(RANKS, RANKS, RANKS),
    st.builds(SignalWeights, WEIGHTS, WEIGHTS, WEIGHTS),
    st.sampled_from(Confidence),
    st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.5]),
)
def test_the_digits_shown_add_up_and_multiply(
    ranks: tuple[int, int, int], weights: SignalWeights, label: Confidence, weight: float
) -> None:
    shown = arithmetic(receipt(ranks, weights, label, weight))
    assert sum(Decimal(line.value) for line in shown.lines) == Decimal(shown.base)
    assert shown.factor is not None
    exponent = Decimal(shown.final).as_tuple().exponent
    assert isinstance(exponent, int)
    unit = Decimal(1).scaleb(exponent)
    assert (Decimal(shown.base) * Decimal(shown.factor.factor)).quantize(unit) == Decimal(shown.final)
    given_receipt = receipt(ranks, weights, label, weight)
    assert abs(Decimal(shown.final) - Decimal(given_receipt.final_score)) <= 2 * unit
    assert shown.reproduces


def test_a_receipt_that_does_not_reproduce_says_so() -> None:
    honest = receipt((1, 2, 3), SignalWeights(), Confidence.INFERRED, 0.0)
    wrong = Receipt(honest.fact, 1.0, honest.ranks, honest.final_score + 1e-9, honest.ranking, ())
    assert arithmetic(honest).reproduces
    assert not arithmetic(wrong).reproduces


def cut(text: str, spans: tuple[Span, ...]) -> str:
    kept, at = [], 0
    for span in spans:
        kept.append(text[at : span.start])
        at = span.end
    return "".join([*kept, text[at:]])


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(TEXTS, TEXTS)
def test_what_is_left_without_the_changes_is_the_same_in_both_texts(before: str, after: str) -> None:
    changes = word_changes(before, after)
    assert squeezed(cut(before, changes.removed)) == squeezed(cut(after, changes.added))
    assert changes.is_empty == (before == after)


def test_a_changed_word_is_marked_whole() -> None:
    changes = word_changes("paid 12 invoices", "paid 13 invoices")
    assert changes.removed == (Span(5, 7),)
    assert changes.added == (Span(5, 7),)


def test_a_megabyte_with_one_new_word_shows_that_word() -> None:
    before = "word " * 200_000
    after = before[:500_000] + "new " + before[500_000:]
    assert word_changes(before, after).added == (Span(500_000, 500_004),)


def test_two_texts_of_thousands_of_other_words_are_one_change() -> None:
    changes = word_changes(" ".join(f"a{n}" for n in range(9_000)), " ".join(f"b{n}" for n in range(9_000)))
    assert changes.exactness == "whole"
    assert len(changes.removed) == len(changes.added) == 1


@given(TEXTS, st.lists(st.integers(0, 40), max_size=6))
def test_utf16_spans_name_the_same_characters(text: str, cuts: list[int]) -> None:
    points = sorted({min(each, len(text)) for each in cuts})
    spans = tuple(zip(points[::2], points[1::2], strict=False))
    units = text.encode("utf-16-le")
    for (start, end), (first, last) in zip(spans, utf16_spans(text, spans), strict=True):
        assert units[2 * first : 2 * last].decode("utf-16-le") == text[start:end]


@given(TEXTS)
def test_lines_hold_no_other_line_end(text: str) -> None:
    assert "\r" not in as_lines(text)
    assert as_lines(as_lines(text)) == as_lines(text)


def test_an_excerpt_says_how_much_it_hides() -> None:
    part = excerpt("x" * 50_000, 20_000)
    assert (len(part.text), part.hidden) == (20_000, 30_000)
    assert excerpt("short").hidden == 0
