"""Versions, failures, diagnostics and payloads of the Recall protocol."""

from __future__ import annotations

import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest

from gm_engine.errors import Cancelled, NotFound
from gm_engine.recall_protocol import (
    Candidate,
    Diagnostics,
    ErrorCode,
    Health,
    Manifest,
    ProtocolError,
    RecallError,
    SchemaViolation,
    SearchFilters,
    SearchParams,
    SearchResult,
    VersionMismatch,
    as_protocol_error,
    check_negotiated,
    negotiate_version,
)
from gm_engine.recall_protocol.acceptance import acceptance
from gm_engine.recall_protocol.joint_answer import SourceAnswer, SourceOutcome, join
from gm_engine.recall_protocol.lexical_span import cut
from gm_engine.recall_protocol.turn import Turn


def test_the_highest_common_version_is_chosen() -> None:
    assert negotiate_version(1, 1) == negotiate_version(1, 9) == negotiate_version(0, 1) == 1


@pytest.mark.parametrize(("lowest", "highest"), [(2, 3), (0, 0), (2, 1)])
def test_a_range_without_a_common_version_is_refused(lowest: int, highest: int) -> None:
    with pytest.raises(VersionMismatch):
        negotiate_version(lowest, highest)


@pytest.mark.parametrize("offered", [0, 2, -1])
def test_an_adapter_must_name_a_version_that_was_asked_for(offered: int) -> None:
    check_negotiated(1, 1, offered=1)
    with pytest.raises(VersionMismatch):
        check_negotiated(1, 1, offered=offered)


def test_failures_of_a_handler_become_codes() -> None:
    expired = ProtocolError(ErrorCode.LOCATOR_EXPIRED, "gone", data={"now": "x:2"})
    assert as_protocol_error(expired) is expired
    assert as_protocol_error(Cancelled("x")).number == as_protocol_error(TimeoutError()).number == -32007
    assert as_protocol_error(VersionMismatch("1 to 1")).number == -32602
    for error in (KeyError("the secret"), NotFound("the secret")):
        assert as_protocol_error(error).number == -32603
        assert "secret" not in as_protocol_error(error).message


def test_whoever_works_long_loses_the_turn_and_whoever_is_quick_keeps_it() -> None:
    slow, quick = Turn(patience_s=0.001), Turn(patience_s=60.0)
    with ThreadPoolExecutor(1) as pool, slow:
        slow.begin()
        assert pool.submit(_loses, slow).result(60.0)  # the next one has it, and loses it as well
        assert not slow.is_mine
    with quick:
        for _ in range(100):
            quick.begin()
            quick.end()
        assert quick.is_mine
    for turn in (slow, quick):
        turn.close()


def test_work_that_ends_after_its_turn_is_no_end_of_anothers() -> None:
    turn = Turn(patience_s=0.001)
    with ThreadPoolExecutor(2) as pool, turn:
        turn.begin()
        second = pool.submit(_loses, turn)
        while turn.is_mine:
            sleep(0.001)
        turn.end()
        assert second.result(60.0)
    turn.close()


def _loses(turn: Turn) -> bool:
    """Takes the turn and works with it until it is lost."""
    with turn:
        turn.begin()
        while turn.is_mine:
            sleep(0.001)
        turn.end()
    return True


def test_stderr_is_kept_in_bounds() -> None:
    diagnostics = Diagnostics(max_lines=3, max_line_bytes=10)
    diagnostics.capture(io.BytesIO(b"one\n" * 5 + b"x" * 100_000 + b"\nlast").read1)
    report = diagnostics.report()
    assert report.lines == ("one", "x" * 10, "last")
    assert report.dropped_lines == 4
    assert report.violations == 0


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_lines_are_the_same_however_they_arrive(size: int) -> None:
    data = b"first\r\n\nsecond \xff\n" + b"y" * 25 + b"\nthird\n"
    stream = io.BytesIO(data)
    diagnostics = Diagnostics(max_lines=10, max_line_bytes=10)
    diagnostics.capture(lambda _: stream.read(size))
    assert diagnostics.report().lines == ("first", "", "second �", "y" * 10, "third")


def test_violations_are_counted_apart() -> None:
    diagnostics = Diagnostics()
    diagnostics.record(b"log")
    diagnostics.record_violation(RecallError("The adapter did something."))
    report = diagnostics.report()
    assert (report.lines, report.violations, report.last_violation) == (("log",), 1, "The adapter did something.")


def test_payloads_keep_everything_on_the_way() -> None:
    wire = {
        "candidates": [
            {
                "candidate_id": "c",
                "source_record_id": "r",
                "locator": "s:l",
                "record_type": "fact",
                "title": "",
                "local_rank": 1,
                "sensitivity": "public",
                "derived_from": ["a:b"],
                "local_score": 0.0,
                "relevance": 0,
                "match_signals": ["lexical", "semantic"],
                "event_time": "2026-06-01T10:00:00.000000001Z",
                "metadata": {"deep": [{"x": None}]},
            }
        ],
        "outcome": "partial",
        "diagnostics": {},
        "source_watermark": "12",
    }
    result = SearchResult.from_wire(wire)
    assert result.candidates[0].event_time_ns == 1_780_308_000_000_000_001
    assert result.to_wire() == wire


def test_null_and_absent_arrays_are_empty() -> None:
    assert SearchResult.from_wire({"candidates": None, "outcome": "success"}) == SearchResult((), "success")
    assert SearchResult((), "success").to_wire() == {"candidates": [], "outcome": "success"}
    assert SearchFilters.from_wire({"record_types": None}) == SearchFilters()


def test_a_whole_number_with_a_point_is_a_whole_number() -> None:
    instant = "1970-01-01T00:00:05Z"
    params = SearchParams.from_wire({"query": "q", "filters": {}, "limit": 3.0, "deadline": instant})
    health = Health.from_wire({"status": "healthy", "checked_at": instant, "coverage": "complete", "record_count": 7.0})
    assert [(number, type(number)) for number in (params.limit, health.record_count)] == [(3, int), (7, int)]


def test_instants_are_nanoseconds_here_and_texts_there() -> None:
    params = SearchParams("q", SearchFilters(since_ns=0), 3, 1_000_000_001, as_of_ns=5_000_000_000)
    assert params.to_wire() == {
        "query": "q",
        "filters": {"since": "1970-01-01T00:00:00Z"},
        "limit": 3,
        "deadline": "1970-01-01T00:00:01.000000001Z",
        "as_of": "1970-01-01T00:00:05Z",
    }
    health = Health("healthy", None, "complete", cold_start_ns=12)
    assert health.to_wire()["checked_at"] == "0001-01-01T00:00:00Z"
    assert Health.from_wire(health.to_wire()) == health


def test_a_candidate_of_an_adapter_has_no_name_of_the_core() -> None:
    candidate = Candidate("c", "r", "s:l", "fact", "t", 1, "public")
    assert not {"source_uid", "source_id"} & candidate.to_wire().keys()


def test_the_engines_door_does_not_load_the_protocol() -> None:
    code = (
        "import sys, gm_engine, gm_engine.recall_protocol\n"
        "print(sorted({'jsonschema', 'subprocess'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert Manifest.__name__ == "Manifest"
    assert issubclass(SchemaViolation, RecallError)


def test_an_excerpt_begins_with_a_whole_word_where_one_is_near() -> None:
    assert cut("the harbour lease ends", 6, length=5) == "…lease…"
    assert cut("the harbour lease ends", 4, length=7) == "…harbour…"
    assert cut("x" * 300, 6, length=5) == "…xxxxx…"


def test_a_record_that_a_source_names_twice_is_one_hit_in_one_place() -> None:
    twice = [Candidate("n", "n", "s:n", "note", "n", rank, "internal", content_fingerprint="f") for rank in (1, 2)]
    outcome = SourceOutcome("s", "answered", found=2)
    (hit,) = join("q", [SourceAnswer(outcome, tuple(twice), 1.0)], limit=10).hits
    assert (hit.candidate.locator, hit.also_in) == ("s:n", ())


def test_a_schema_that_says_more_than_the_quick_check_knows_is_refused_when_it_is_read() -> None:
    with pytest.raises(ValueError, match=r"without a quick check: \['oneOf'\]"):
        acceptance({"oneOf": [{"type": "string"}]}, schemas={}, is_instant=lambda _: True)
