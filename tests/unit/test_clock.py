"""Times exact to the nanosecond and ids that sort."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gm_engine.clock import GO_ZERO_TIME, SystemClock, encode_ulid, format_ns, parse_rfc3339
from gm_engine.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("2026-06-01T23:00:00.27824732Z", 1_780_354_800_278_247_320),
        ("2026-06-02T01:00:00.27824732+02:00", 1_780_354_800_278_247_320),
        (GO_ZERO_TIME, None),
    ],
)
def test_an_instant_is_read_exactly(text: str, expected: int | None) -> None:
    assert parse_rfc3339(text) == expected


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00", "²026-01-01T00:00:00Z"]
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="RFC 3339"):
        parse_rfc3339(text)


@given(st.integers(-62_135_596_799 * 10**9, 253_402_300_799 * 10**9))
def test_formatting_and_reading_an_instant_gives_it_back(at_ns: int) -> None:
    assert parse_rfc3339(format_ns(at_ns)) == at_ns


def test_ids_of_one_instant_are_ordered_and_distinct() -> None:
    clock = SystemClock()
    ids = [clock.new_id(1_780_000_000_000_000_000) for _ in range(1000)]
    assert ids == sorted(set(ids))
    assert all(len(ulid) == 26 for ulid in ids)


def test_the_time_part_of_a_known_ulid() -> None:
    assert encode_ulid(1_469_918_176_385, 0).startswith("01ARYZ6S41")
