"""How numbers, times and stored text look."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gm_desktop.formatting import (
    age,
    duration,
    instants_in,
    isolate,
    local_date,
    local_time,
    number,
    one_line,
    size,
    undisguised,
    utc_time,
    visible,
    with_local_times,
)
from gm_desktop.i18n import tr, tr_count
from tests.fakes.clock import instant

NOON_NS = instant("2026-03-12T12:05:09Z")


def test_local_time_follows_the_zone_and_utc_does_not() -> None:
    assert local_time(NOON_NS, zone=UTC) == "12 Mar 2026, 12:05"
    assert local_time(NOON_NS, zone=timezone(timedelta(hours=14))) == "13 Mar 2026, 02:05"
    assert local_date(NOON_NS, zone=UTC) == "12 Mar 2026"
    assert utc_time(NOON_NS) == "2026-03-12 12:05:09 UTC"


def test_no_time_is_a_dash() -> None:
    assert (local_time(None), local_date(None), age(None, NOON_NS)) == ("–", "–", "–")
    assert utc_time(None) == "No time recorded"


@pytest.mark.parametrize(
    ("said", "shown", "instants"),
    [
        (
            "fact of ops, written 2026-03-12T12:05:09.123456789Z by library",
            "fact of ops, written 12 Mar 2026, 12:05 by library",
            ("2026-03-12T12:05:09.123456789Z",),
        ),
        (
            "2026-03-12T12:05:09+02:00, then (2026-03-13T00:00:00Z)",
            "12 Mar 2026, 10:05, then (13 Mar 2026, 00:00)",
            ("2026-03-12T12:05:09+02:00", "2026-03-13T00:00:00Z"),
        ),
        ("written 2026-13-45T99:00:00Z", "written 2026-13-45T99:00:00Z", ("2026-13-45T99:00:00Z",)),
        ("log-2026-03-12T12:05:09Z.txt, 2026-03-12", "log-2026-03-12T12:05:09Z.txt, 2026-03-12", ()),
        ("", "", ()),
    ],
)
def test_times_in_what_a_program_says_look_as_everywhere(said: str, shown: str, instants: tuple[str, ...]) -> None:
    assert with_local_times(said, zone=UTC) == shown
    assert instants_in(said) == instants


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_stored_time_can_be_shown(at_ns: int) -> None:
    assert local_time(at_ns, zone=UTC)
    assert utc_time(at_ns).endswith(" UTC")
    assert age(at_ns, NOON_NS)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "now"),
        (59, "now"),
        (60, "1 min"),
        (7_200, "2 h"),
        (172_800, "2 d"),
        (60 * 86_400 + 3_600, "60 d"),
        (61 * 86_400, "2 mo"),
        (8_000_000, "3 mo"),
        (70_000_000, "2 y"),
    ],
)
def test_age_is_told_in_one_unit(seconds: int, shown: str) -> None:
    assert age(NOON_NS - seconds * 1_000_000_000, NOON_NS) == shown


def test_a_time_in_the_future_is_now() -> None:
    assert age(NOON_NS + 10**15, NOON_NS) == "now"


def test_numbers_sizes_and_spans() -> None:
    assert number(1234567) == "1,234,567"
    assert [size(value) for value in (0, 999, 1500, 2_500_000)] == ["0 bytes", "999 bytes", "1.5 kB", "2.5 MB"]
    assert [duration(value) for value in (1, 42, 95, 600)] == ["a few seconds", "40 seconds", "2 minutes", "10 minutes"]


def test_a_row_is_one_line_and_hides_nothing() -> None:
    assert one_line("a\n\n  b\tc") == "a b c"
    assert one_line("x" * 500, 10) == "x" * 10 + "…"
    assert one_line("null \0 byte") == "null ␀ byte"
    assert visible("bell \a\nnext") == "bell ␇\nnext"


def test_a_text_is_read_in_the_order_in_which_an_agent_reads_it() -> None:
    assert undisguised("pay \u202elive\u202c now, \u2066\0\u2069 שלום") == "pay ␦live␦ now, ␦␀␦ שלום"


@given(st.text(max_size=400))
def test_an_isolated_text_is_balanced(text: str) -> None:
    shown = isolate(text)
    assert shown.count("\u2068") == 1
    assert shown.count("\u2069") == 1
    assert "\u202e" not in shown


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=2_000))
def test_one_line_is_one_line_of_bounded_length(text: str) -> None:
    line = one_line(text, 50)
    assert len(line) <= 51
    assert len(line.splitlines()) <= 1


def test_a_megabyte_is_cut_before_it_is_looked_at() -> None:
    assert one_line("word " * 200_000, 20) == "word word word word…"


def test_sentences_take_named_values() -> None:
    assert tr("Undo: {step}", step="{weird}") == "Undo: {weird}"
    assert tr("100 % {sure}") == "100 % {sure}"
    assert tr_count("{count} fact", "{count} facts", 1) == "1 fact"
    assert tr_count("{count} fact", "{count} facts", 12_000) == "12,000 facts"
