"""Frames and messages of the Recall protocol: lines, limits, ids."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest

from gm_engine.recall_protocol import (
    MAX_FRAME_BYTES,
    Answer,
    Decoder,
    Encoder,
    ErrorCode,
    Failure,
    FrameError,
    FrameTooLarge,
    Message,
    Notification,
    ProtocolError,
    RawId,
    Request,
)
from gm_engine.recall_protocol.messages import cancel_of, cancelled_id

PLAIN = b'{"jsonrpc":"2.0","id":7,"result":{}}\n'


def read_all(data: bytes, max_frame_bytes: int = MAX_FRAME_BYTES) -> list[Message | FrameError]:
    decoder = Decoder(io.BufferedReader(io.BytesIO(data)), max_frame_bytes=max_frame_bytes)
    found: list[Message | FrameError] = []
    while True:
        try:
            message = decoder.read()
        except FrameError as error:
            found.append(error)
        else:
            if message is None:
                return found
            found.append(message)


def only(data: bytes) -> Message | FrameError:
    [found] = read_all(data)
    return found


def written(message: Message) -> bytes:
    out = io.BytesIO()
    Encoder(out).write(message)
    return out.getvalue()


def frame_of(size: int) -> bytes:
    head, tail = b'{"jsonrpc":"2.0","id":1,"result":"', b'"}\n'
    return head + b"x" * (size - len(head) - len(tail)) + tail


def test_a_message_is_what_its_members_say() -> None:
    assert only(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}}') == Request(RawId("1"), "m", {"a": [1]})
    assert only(b'{"method":"m","id":1,"jsonrpc":"2.0"}') == Request(RawId("1"), "m")
    assert only(b'{"jsonrpc":"2.0","method":"m"}') == Notification("m")
    assert only(b'{"jsonrpc":"2.0","method":"m","id":null,"params":[ 1.0]}') == Notification("m", "[ 1.0]")
    assert only(b'{"jsonrpc":"2.0","id":"a","result":null}') == Answer(RawId('"a"'), None)
    assert only(b'{"jsonrpc":"2.0","id":1,"result":2,"error":null,"extra":{}}') == Answer(RawId("1"), 2)
    failure = only(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32003,"message":"gone","data":{"x":1}}}')
    assert isinstance(failure, Failure)
    assert (failure.error.number, failure.error.message, failure.error.data) == (-32003, "gone", {"x": 1})


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b"{",
        b"[]",
        b"1",
        b'{"jsonrpc":"2.0","id":1,"result":{}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":NaN}',
        b'{"jsonrpc":"2.0","id":1,"result":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":1,"result":1,"result":2}',
        b'{"jsonrpc":"2.0","id":1,"\\u0069d":2,"result":2}',
        b'{"jsonrpc":"1.0","id":1,"result":1}',
        b'{"jsonrpc":2.0,"id":1,"result":1}',
        b'{"id":1,"result":1}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","result":1}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","result":1}',
        b'{"jsonrpc":"2.0","id":1,"method":""}',
        b'{"jsonrpc":"2.0","id":1,"method":5}',
        b'{"jsonrpc":"2.0","id":true,"method":"m"}',
        b'{"jsonrpc":"2.0","id":{},"method":"m"}',
        b'{"jsonrpc":"2.0","id":01,"method":"m"}',
        b'{"jsonrpc":"2.0","id":+1,"method":"m"}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"y"}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}',
        b'{"jsonrpc":"2.0","id":1,"error":"broken"}',
        b"{'jsonrpc':'2.0'}",
        b'{"jsonrpc":"2.0",}',
        b'{"jsonrpc" "2.0"}',
    ],
)
def test_a_line_that_is_no_message_is_skipped_and_never_kept(line: bytes) -> None:
    error, after = read_all(line + b"\n" + PLAIN)
    assert isinstance(error, FrameError)
    assert not isinstance(error, FrameTooLarge)
    assert error.size_bytes == len(line) + 1
    assert after == Answer(RawId("7"), {})
    assert "jsonrpc is not" in error.message or "jsonrpc" not in error.message


@pytest.mark.parametrize(
    "text",
    ["1", "1.0", '"1"', "9223372036854775808", "9007199254740993", "-0", "1e400", "1" * 400, '"\\u0031"', '"é \\n"'],
)
def test_an_id_is_echoed_exactly_as_it_was_written(text: str) -> None:
    request = only(f'{{"jsonrpc":"2.0","id" : {text} ,"method":"m"}}'.encode())
    assert isinstance(request, Request)
    assert request.id == text
    assert f'"id":{text},'.encode() in written(Answer(request.id, {}))
    notification = only(f'{{"jsonrpc":"2.0","method":"recall/cancel","params":{{"id": {text}}}}}'.encode())
    assert isinstance(notification, Notification)
    assert cancelled_id(notification) == text
    assert only(written(cancel_of(request.id))) == Notification("recall/cancel", f'{{"id":{text}}}')


@pytest.mark.parametrize("params", ["", "{}", "[]", '{"id":null}', '{"id":[1]}', '{"id":1,"why":2}', "5"])
def test_a_cancel_that_names_no_id_names_none(params: str) -> None:
    assert cancelled_id(Notification("recall/cancel", params)) is None


def test_blank_lines_are_skipped_and_a_last_line_needs_no_newline() -> None:
    assert read_all(b"\n  \r\n\t\n" + PLAIN + b"\n" + PLAIN.rstrip()) == [Answer(RawId("7"), {})] * 2
    assert read_all(b"") == []


def test_the_limit_counts_the_newline() -> None:
    full, longer = frame_of(100), frame_of(101)
    assert isinstance(read_all(full, 100)[0], Answer)
    assert isinstance(read_all(longer.rstrip(), 100)[0], Answer)  # the last line, without a newline: 100 bytes
    error, after = read_all(longer + full, 100)
    assert isinstance(error, FrameTooLarge)
    assert error.size_bytes == 101
    assert isinstance(after, Answer)
    [error] = read_all(frame_of(102).rstrip(), 100)
    assert isinstance(error, FrameTooLarge)


def test_the_limit_is_eight_mebibytes() -> None:
    error, after = read_all(frame_of(9 * 2**20) + frame_of(8 * 2**20))
    assert isinstance(error, FrameTooLarge)
    assert error.size_bytes == 9 * 2**20
    assert isinstance(after, Answer)


def test_what_the_other_end_would_refuse_is_not_written() -> None:
    out = io.BytesIO()
    encoder = Encoder(out, max_frame_bytes=100)
    with pytest.raises(FrameTooLarge):
        encoder.write(Answer(RawId("1"), "x" * 100))
    encoder.write(Answer(RawId("1"), "x"))
    assert out.getvalue() == b'{"jsonrpc":"2.0","id":1,"result":"x"}\n'


@pytest.mark.parametrize("text", ["a\nb\r\u2028", "\ud800", "日本", "\x00"])
def test_a_frame_is_one_line_of_utf8_whatever_is_in_it(text: str) -> None:
    line = written(Request(RawId("1"), "m", {"q": text}))
    assert line.count(b"\n") == 1
    assert only(line) == Request(RawId("1"), "m", {"q": text})
    assert json.loads(line)["params"] == {"q": text}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_is_no_json_is_not_written(value: object) -> None:
    out = io.BytesIO()
    with pytest.raises((TypeError, ValueError)):
        Encoder(out).write(Answer(RawId("1"), value))
    assert out.getvalue() == b""


def test_errors_compare_by_code() -> None:
    assert ProtocolError(-32003, "a", data=1) == ProtocolError(ErrorCode.LOCATOR_EXPIRED, "b")
    assert ProtocolError(-32003) != ProtocolError(-32002)
    assert len({ProtocolError(5, "a"), ProtocolError(5, "b")}) == 1
    assert (ProtocolError(-32003).name, ProtocolError(-32050).name) == ("locator_expired", "error -32050")


def test_a_denial_goes_out_bare() -> None:
    line = written(Failure(RawId("1"), ProtocolError(ErrorCode.SOURCE_DENIED, "fact 7 is secret", data={"id": 7})))
    assert json.loads(line)["error"] == {"code": -32001, "message": "permission was refused"}


@pytest.mark.parametrize("build", [lambda: Request(RawId("1"), "m"), lambda: Notification("m")])
def test_absent_parameters_are_not_written(build: Callable[[], Message]) -> None:
    assert b"params" not in written(build())
