"""The adapter's end as a core sees it: a real process with our `serve`, driven with lines."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import InvalidInput
from gm_engine.clock import SystemClock, format_ns
from gm_engine.recall_protocol import standard_streams
from tests.fakes.recall_peers import scripted
from tests.fakes.recall_peers.wire import FAR, Wire


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    with Wire(scripted(), tmp_path) as wire:
        yield wire


@pytest.fixture
def greeted(wire: Wire) -> Wire:
    wire.greet()
    return wire


@pytest.fixture
def quick(greeted: Wire) -> Wire:
    """An adapter that takes a search for something quick: it does not let another thread read meanwhile."""
    for number in range(5):
        greeted.search("quick", str(number))
        greeted.answer()
    return greeted


def code_of(wire: Wire) -> int:
    code = wire.answer()["error"]["code"]
    assert isinstance(code, int)
    return code


def test_stray_prints_never_reach_the_stream(wire: Wire) -> None:
    answer = wire.greet()
    assert answer["id"] == "hello"
    assert answer["result"]["protocol_version"] == 1
    assert "a library says hello" in (wire.folder / "stderr").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["1", "1.0", '"1"', "9223372036854775808", "1e2", '"\\u0031 "', "-0.0"])
def test_an_id_comes_back_as_it_was_written(greeted: Wire, text: str) -> None:
    greeted.search("x", text)
    assert f'"id":{text},'.encode() in greeted.line()


def test_unusable_lines_are_not_answered(greeted: Wire) -> None:
    for line in (
        b"hello",
        b"[]",
        b'{"jsonrpc":"2.0","id":1,"method":5}',
        b'{"jsonrpc":"1.0","id":1,"method":"recall/health"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b"x" * (9 * 2**20),
        b"",
        b'{"jsonrpc":"2.0","method":"recall/unheard","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","method":"recall/cancel","params":{"id":[1]}}',
        b'{"jsonrpc":"2.0","method":"recall/cancel","params":{"id":"unknown"}}',
    ):
        greeted.send(line)
    greeted.search("x", "2")
    assert greeted.answer()["id"] == 2


def test_two_requests_on_one_line_are_none(greeted: Wire) -> None:
    request = '{"jsonrpc":"2.0","id":1,"method":"recall/health","params":{"deadline":"' + FAR + '"}}'
    greeted.send(request + request)
    greeted.send(request.replace('"id":1', '"id":2'))
    assert greeted.answer()["id"] == 2


def test_nothing_comes_before_the_handshake_and_no_second_one(wire: Wire) -> None:
    wire.search("x")
    assert code_of(wire) == -32600
    wire.greet()
    assert wire.greet()["error"]["code"] == -32600


def test_a_version_range_without_ours_is_refused_and_another_handshake_may_follow(wire: Wire) -> None:
    wire.ask(
        "recall/initialize",
        {"protocol_version_min": 2, "protocol_version_max": 5, "workdir": "/", "source_id": "s"},
    )
    assert code_of(wire) == -32602
    assert wire.greet()["result"]["protocol_version"] == 1


def test_an_unknown_method_is_not_found(greeted: Wire) -> None:
    greeted.ask("recall/dance", {})
    assert code_of(greeted) == -32601
    greeted.ask("recall/cancel", {"id": 1})  # a notification's name with an id
    assert code_of(greeted) == -32601


@pytest.mark.parametrize(
    "change",
    [
        {"surprise": "hush"},
        {"limit": -1},
        {"deadline": "hush"},
        {"deadline": "2026-06-01T10:00:00"},
        {"deadline": "2026-06-01T10:00:00Z\n"},
        {"filters": None},
        {"deadline": "0001-01-01T00:00:00Z"},
        {"deadline": "0001-01-01T02:00:00.000+02:00"},
    ],
)
def test_parameters_that_break_the_contract_are_refused_without_their_values(
    greeted: Wire, change: dict[str, object]
) -> None:
    params = {"query": "x", "filters": {}, "limit": 5, "deadline": FAR, **change}
    greeted.ask("recall/search", params)
    error = greeted.answer()["error"]
    assert error["code"] == -32602
    assert next(iter(change)) in error["message"]
    assert "hush" not in error["message"]


def test_what_a_handler_raises_becomes_a_code(greeted: Wire) -> None:
    codes = {}
    for query in ("refuse -32000", "refuse -32001", "fail", "timeout", "wrong", "strange", "large"):
        greeted.search(query)
        error = greeted.answer()["error"]
        codes[query] = error["code"]
        assert "secret" not in json.dumps(error)
        assert "splendid" not in json.dumps(error)
        assert (error.get("data"), error["message"]) != ({"more": 1}, "because") or query == "refuse -32000"
    assert codes == {
        "refuse -32000": -32000,
        "refuse -32001": -32001,
        "fail": -32603,
        "timeout": -32007,
        "wrong": -32603,
        "strange": -32603,
        "large": -32603,
    }


def test_half_of_a_surrogate_pair_travels(greeted: Wire) -> None:
    greeted.search("surrogate")
    assert greeted.answer()["result"]["diagnostics"] == {"value": "\ud800é"}


def test_detail_of_a_refusal_survives(greeted: Wire) -> None:
    greeted.ask("recall/expand", {"locator": "s:x", "detail": "full", "budget_bytes": 10, "deadline": FAR})
    assert greeted.answer()["error"] == {"code": -32003, "message": "gone", "data": {"replacement": "x:1"}}


def test_a_failed_refresh_is_told_by_health(greeted: Wire) -> None:
    greeted.ask("recall/refresh", {"deadline": FAR, "full": True})
    assert greeted.answer()["result"]["status"] == "degraded"


def test_a_cancel_stops_the_request_it_names_and_no_other(greeted: Wire) -> None:
    greeted.search("wait 60", '"1"')
    greeted.search("wait 60", "1")
    greeted.search("wait 60", "1.0")
    greeted.send('{"jsonrpc":"2.0","method":"recall/cancel","params":{"id": 1.0}}')
    stopped = greeted.line()
    assert b'"id":1.0,' in stopped
    assert json.loads(stopped)["error"]["code"] == -32007
    greeted.send('{"jsonrpc":"2.0","method":"recall/cancel","params":{"id":"1"}}')
    assert b'"id":"1",' in greeted.line()
    greeted.send('{"jsonrpc":"2.0","method":"recall/cancel","params":{"id":1}}')
    assert b'"id":1,' in greeted.line()


def test_a_cancel_is_heard_when_everybody_is_busy(greeted: Wire) -> None:
    for number in range(30):  # more than the adapter runs at once
        greeted.search("wait 60", str(number))
    for number in range(30):
        greeted.send(f'{{"jsonrpc":"2.0","method":"recall/cancel","params":{{"id":{number}}}}}')
    answers = [greeted.answer() for _ in range(30)]
    assert sorted(answer["id"] for answer in answers) == list(range(30))
    assert {answer["error"]["code"] for answer in answers} == {-32007}


def test_a_deadline_stops_the_request(greeted: Wire) -> None:
    greeted.search("wait 600", deadline="2026-06-01T10:00:00Z")  # long ago
    assert code_of(greeted) == -32007
    greeted.search("wait 600", deadline=format_ns(SystemClock().now_ns() + 100_000_000))
    assert code_of(greeted) == -32007


def test_an_answer_after_the_deadline_is_none(greeted: Wire) -> None:
    greeted.search("deaf 0.2", deadline=format_ns(SystemClock().now_ns() + 50_000_000))
    assert code_of(greeted) == -32007


def test_a_slow_search_does_not_hold_the_others(greeted: Wire) -> None:
    greeted.search("wait 60", '"slow"')
    for number in range(20):
        greeted.search("quick", str(number))
    assert sorted(greeted.answer()["id"] for _ in range(20)) == list(range(20))


def test_a_search_that_is_slow_after_quick_ones_holds_neither_a_cancel_nor_the_others(quick: Wire) -> None:
    for _ in range(3):
        quick.search("wait 600", '"slow"')
        for number in range(20):
            quick.search("quick", str(number))
        assert sorted(quick.answer()["id"] for _ in range(20)) == list(range(20))
        quick.send('{"jsonrpc":"2.0","method":"recall/cancel","params":{"id":"slow"}}')
        stopped = quick.answer()
        assert (stopped["id"], stopped["error"]["code"]) == ("slow", -32007)


def test_slow_searches_after_quick_ones_run_at_once(quick: Wire) -> None:
    for number in range(30):  # more than the adapter runs at once
        quick.search("wait 600", str(number))
    quick.send('{"jsonrpc":"2.0","method":"recall/cancel","params":{"id":3}}')
    assert quick.answer()["id"] == 3
    quick.close()
    answers = [quick.answer() for _ in range(29)]
    assert sorted(answer["id"] for answer in answers) == [number for number in range(30) if number != 3]
    assert quick.ended() == 0


def test_shutdown_is_heard_beside_a_search_that_is_slow_after_quick_ones(quick: Wire) -> None:
    quick.search("linger", '"work"')
    quick.ask("recall/shutdown", None, '"end"')
    assert [quick.answer()["id"] for _ in range(2)] == ["end", "work"]
    assert quick.ended() == 0


def test_sixty_four_searches_at_once_each_get_their_answer(greeted: Wire) -> None:
    for number in range(64):
        greeted.search(f"query {number}", str(number))
    answers = {
        answer["id"]: answer["result"]["diagnostics"]["query"] for answer in (greeted.answer() for _ in range(64))
    }
    assert answers == {number: f"query {number}" for number in range(64)}


def test_shutdown_answers_and_lets_the_work_in_flight_finish(greeted: Wire) -> None:
    greeted.search("linger", '"work"')
    greeted.ask("recall/shutdown", None, '"end"')
    assert [greeted.answer()["id"] for _ in range(2)] == ["end", "work"]
    assert greeted.line() == b""
    assert greeted.ended() == 0


def test_a_shutdown_with_strange_parameters_ends_nothing(greeted: Wire) -> None:
    greeted.ask("recall/shutdown", {"now": True})
    assert code_of(greeted) == -32602
    greeted.ask("recall/shutdown", {})
    assert greeted.answer()["result"] == {}
    assert greeted.ended() == 0


def test_the_end_of_the_stream_cancels_the_work_in_flight(greeted: Wire) -> None:
    greeted.search("wait 600")
    greeted.close()
    assert code_of(greeted) == -32007
    assert greeted.ended() == 0


def test_a_last_request_without_a_newline_is_one(greeted: Wire) -> None:
    assert greeted.process.stdin is not None
    greeted.process.stdin.write(b'{"jsonrpc":"2.0","id":9,"method":"recall/shutdown"}')
    greeted.close()
    assert greeted.answer() == {"jsonrpc": "2.0", "id": 9, "result": {}}


def test_an_adapter_whose_reader_is_gone_ends(greeted: Wire) -> None:
    assert greeted.process.stdout is not None
    greeted.process.stdout.close()
    greeted.search("x")
    greeted.close()
    assert greeted.ended() == 0


def test_whoever_starts_an_adapter_without_pipes_is_told_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_: int) -> int:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(os, "dup", closed)
    with pytest.raises(InvalidInput, match="standard input and output"):
        standard_streams()
