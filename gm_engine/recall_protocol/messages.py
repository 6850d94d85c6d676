"""JSON-RPC 2.0 messages: what one line says, with ids kept as the exact text they were written in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple, NewType

from gm_engine.recall_protocol.errors import FrameError, ProtocolError

JSONRPC = "2.0"
INITIALIZE = "recall/initialize"
SEARCH = "recall/search"
EXPAND = "recall/expand"
HEALTH = "recall/health"
REFRESH = "recall/refresh"
CANCEL = "recall/cancel"
SHUTDOWN = "recall/shutdown"

RawId = NewType("RawId", str)
"""An id as its JSON text, quotes of a string included: `1`, `1.0` and `"1"` are three ids."""


@dataclass(frozen=True, slots=True)
class Request:
    """Asks for an answer. `params` is any JSON value; None when absent or null."""

    id: RawId
    method: str
    params: object = None


@dataclass(frozen=True, slots=True)
class Notification:
    """Expects no answer. `params_text` is the exact JSON text of its parameters, empty when there are none."""

    method: str
    params_text: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The successful response to the request `id`."""

    id: RawId
    result: object


@dataclass(frozen=True, slots=True)
class Failure:
    """The response to the request `id` that says why there is no result."""

    id: RawId
    error: ProtocolError


Message = Request | Notification | Answer | Failure

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?").match
_USUAL = re.compile(
    r'\{"jsonrpc":"2\.0","id":([1-9][0-9]*|"[\w-]+"),(?:"method":"([\w/-]+)","params"|"result"):', re.ASCII
).match
_SPACE = re.compile(r"[ \t\r\n]*").match
_OPEN = re.compile(r"[ \t\r\n]*\{[ \t\r\n]*").match
_PLAIN_NAME = re.compile(r'"([a-z]+)"[ \t\r\n]*:[ \t\r\n]*').match
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*").match
_SEPARATOR = re.compile(r"[ \t\r\n]*([,}])[ \t\r\n]*").match
_NO_JSON = "it is not JSON"


class _NotAMessage(Exception):
    """Why a text is no message, in words that quote nothing."""


def _no_constant(_: str) -> object:
    raise _NotAMessage(_NO_JSON)  # NaN and Infinity are Python's, not JSON's


_scan = json.JSONDecoder(parse_constant=_no_constant).scan_once  # type: ignore[attr-defined]
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_ascii = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def parse_message(line: bytes) -> Message:
    """The message of one line (with or without its newline). Raises `FrameError` when it is none.

    Members that JSON-RPC does not know are ignored; a member that occurs twice makes the line ambiguous and unusable.
    """
    try:
        text = line.decode("utf-8")
        return _usual(text) or _message(text, _members(text))
    except UnicodeDecodeError:
        why = "it is not UTF-8"
    except _NotAMessage as found:
        why = str(found)
    except (ValueError, StopIteration, RecursionError):
        why = _NO_JSON
    raise FrameError(why, size_bytes=len(line))


def encode_message(message: Message) -> bytes:
    """The line of a message, newline included. Raises `ValueError` or `TypeError` when a payload is no JSON value."""
    try:
        return _line(message, _encode).encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair has no UTF-8 form; escaped it may travel
        return _line(message, _encode_ascii).encode("utf-8")


def _line(message: Message, text_of: Callable[[object], str]) -> str:
    head = '{"jsonrpc":"2.0"'
    match message:
        case Request():
            rest = "" if message.params is None else f',"params":{text_of(message.params)}'
            return f'{head},"id":{message.id},"method":{text_of(message.method)}{rest}}}\n'
        case Notification():
            rest = f',"params":{message.params_text}' if message.params_text else ""
            return f'{head},"method":{text_of(message.method)}{rest}}}\n'
        case Answer():
            return f'{head},"id":{message.id},"result":{text_of(message.result)}}}\n'
        case Failure():
            return f'{head},"id":{message.id},"error":{text_of(_error_object(message.error))}}}\n'


def cancel_of(identity: RawId) -> Notification:
    """The notification that asks the peer to abandon the request `identity`."""
    return Notification(CANCEL, f'{{"id":{identity}}}')


def cancelled_id(notification: Notification) -> RawId | None:
    """The id that a `recall/cancel` names, exactly as written; None when its parameters break the contract."""
    try:
        members = _members(notification.params_text)
        return _identity(notification.params_text, members["id"]) if set(members) == {"id"} else None
    except (_NotAMessage, ValueError, StopIteration, RecursionError):
        return None


class _Member(NamedTuple):
    """One member of an object: its value, and from where to where its text stands."""

    value: Any
    start: int
    end: int


def _usual(text: str) -> Request | Answer | None:
    """The message of a line as both our ends write it: recognised at a glance. None for any other line."""
    head = _USUAL(text)
    if head is None:
        return None
    value, end = _scan(text, head.end())
    if text[end:] not in {"}\n", "}"}:
        return None
    identity, method = head.groups()
    return Answer(RawId(identity), value) if method is None else Request(RawId(identity), method, value)


def _members(text: str) -> dict[str, _Member]:
    """The members of the object that `text` is."""
    opened = _OPEN(text)
    if opened is None:
        _scan(text, _SPACE(text).end())  # type: ignore[union-attr]  # not JSON at all is told from JSON of another shape
        raise _NotAMessage("it is no JSON object")
    members: dict[str, _Member] = {}
    at, mark = opened.end(), "{"
    if text[at : at + 1] == "}":
        at, mark = at + 1, "}"
    while mark != "}":
        name, start = _name(text, at)
        value, end = _value(text, start, keep_text=name == "id")
        if name in members:
            raise _NotAMessage("a member occurs twice")
        members[name] = _Member(value, start, end)
        separator = _SEPARATOR(text, end)
        if separator is None:
            raise _NotAMessage(_NO_JSON)
        at, mark = separator.end(), separator[1]
    if text[at:].strip(" \t\r\n"):
        raise _NotAMessage(_NO_JSON)
    return members


def _name(text: str, at: int) -> tuple[str, int]:
    """The name of the member at `at`, and where its value starts."""
    if plain := _PLAIN_NAME(text, at):
        return plain[1], plain.end()
    if text[at : at + 1] == '"':
        name, at = scanstring(text, at + 1, True)
        if colon := _COLON(text, at):
            return name, colon.end()
    raise _NotAMessage(_NO_JSON)


def _value(text: str, start: int, *, keep_text: bool) -> tuple[object, int]:
    """The value at `start` and where it ends. The number of an id stays text: it may have any number of digits."""
    number = _NUMBER(text, start) if keep_text else None
    return (number, number.end()) if number is not None else _scan(text, start)


def _message(text: str, members: dict[str, _Member]) -> Message:
    if "jsonrpc" not in members or members["jsonrpc"].value != JSONRPC:
        raise _NotAMessage("jsonrpc is not 2.0")
    identity = None if "id" not in members or members["id"].value is None else _identity(text, members["id"])
    error = members["error"].value if "error" in members else None
    answers = ("result" in members) + (error is not None)
    if "method" in members:
        method = members["method"].value
        if not isinstance(method, str) or not method:
            raise _NotAMessage("its method is no name")
        if answers:
            raise _NotAMessage("it is a request and a response")
        params = members.get("params")
        if identity is None:
            return Notification(method, text[params.start : params.end] if params is not None else "")
        return Request(identity, method, params.value if params is not None else None)
    if identity is None:
        raise _NotAMessage("it has neither a method nor an id")
    if answers != 1:
        raise _NotAMessage("a response has exactly one of result and error")
    return Failure(identity, _error(error)) if error is not None else Answer(identity, members["result"].value)


def _identity(text: str, member: _Member) -> RawId:
    if not isinstance(member.value, str | re.Match):
        raise _NotAMessage("its id is neither a string nor a number")
    return RawId(text[member.start : member.end])


def _error(value: object) -> ProtocolError:
    if isinstance(value, dict):
        number, words = value.get("code"), value.get("message")
        if isinstance(number, int) and not isinstance(number, bool) and isinstance(words, str):
            return ProtocolError(number, words, data=value.get("data"))
    raise _NotAMessage("its error has no code or no message")


def _error_object(error: ProtocolError) -> dict[str, object]:
    found: dict[str, object] = {"code": int(error.number), "message": error.message}
    if error.data is not None:
        found["data"] = error.data
    return found
