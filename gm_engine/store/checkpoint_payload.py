"""The JSON of a checkpoint's record: read with the reason where it cannot be, checked before it is written.

Integers stay exact. A large record is read piece by piece: one call of the C parser for all of it would hold the
interpreter, and with it the window, for as long as it takes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from json import JSONDecodeError
from typing import Any, NoReturn

from gm_engine.clock import format_ns, parse_rfc3339
from gm_engine.errors import CheckpointDamaged, InvalidInput
from gm_engine.garbage import without_collecting
from gm_engine.records import Checkpoint, JsonValue, Message

MAX_DEPTH = 200
_IN_PIECES_BYTES = 6_000_000
_PIECE_DEPTH = 4  # of what lies deeper, each value is read by one call
_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def make_payload(
    checkpoint_id: str,
    agent_id: str,
    created_ns: int,
    *,
    state: Mapping[str, JsonValue],
    messages: Sequence[Message],
    metadata: Mapping[str, str],
) -> bytes:
    """The record's JSON as it is stored."""
    record = {
        "id": checkpoint_id,
        "agent_id": agent_id,
        "created_at": format_ns(created_ns),
        "state": dict(state),
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "metadata": dict(metadata),
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def check_content(state: Mapping[str, JsonValue], messages: Sequence[Message], metadata: Mapping[str, str]) -> None:
    """Raises `InvalidInput` for what JSON cannot hold, for metadata that is no text, and for too deep a nesting."""
    _check_json("state", dict(state))
    _check_json("messages", [{"role": message.role, "content": message.content} for message in messages])
    _check_json("metadata", dict(metadata))
    if not all(isinstance(value, str) for value in metadata.values()):
        raise InvalidInput("The metadata of a checkpoint are texts only.", field="metadata")


def read_payload(payload: bytes, *, checkpoint_id: str = "") -> Checkpoint:
    """The checkpoint that a record's JSON holds; `CheckpointDamaged` with the reason when it holds none.

    Integers stay exact. A missing `state`, `messages` or `metadata` reads as empty.
    """
    try:
        value = parse_json(payload)
    except UnicodeDecodeError as error:
        _damaged(checkpoint_id, f"invalid UTF-8 at byte {error.start}")
    except UnicodeEncodeError:
        _damaged(checkpoint_id, "a text holds a lone surrogate")
    except RecursionError:
        _damaged(checkpoint_id, "values are nested too deeply")
    except ValueError as error:
        _damaged(checkpoint_id, f"invalid JSON: {error}")
    if not isinstance(value, dict):
        _damaged(checkpoint_id, "the record is not a JSON object")
    own_id, agent_id, created_at = (_text(value, name, checkpoint_id) for name in ("id", "agent_id", "created_at"))
    try:
        created_ns = parse_rfc3339(created_at)
    except InvalidInput as error:
        _damaged(checkpoint_id, f"created_at is {error.message}")
    if created_ns is None or abs(created_ns) >= 1 << 63:
        _damaged(checkpoint_id, "created_at is absent or outside the years 1678 to 2261")
    return Checkpoint(
        id=own_id,
        agent_id=agent_id,
        created_ns=created_ns,
        state=_object(value, "state", checkpoint_id),
        messages=_messages(value, checkpoint_id),
        metadata=_metadata(value, checkpoint_id),
    )


def parse_json(payload: bytes) -> Any:
    """The JSON value in `payload`; a number that is not finite is a `ValueError`, a lone surrogate a Unicode one.

    Raises `RecursionError` for what is nested deeper than the interpreter's limit.
    """
    text = payload.decode("utf-8")
    with without_collecting():
        if len(payload) < _IN_PIECES_BYTES:
            value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
        else:
            value = _in_pieces(text)
    if _SURROGATE.search(payload):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _in_pieces(text: str) -> Any:
    read = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite).raw_decode
    value, end = _piece(text, _skip(text, 0), 0, read)
    if (end := _skip(text, end)) != len(text):
        raise JSONDecodeError("Extra data", text, end)
    return value


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


_Read = Callable[[str, int], tuple[Any, int]]


def _piece(text: str, at: int, depth: int, read: _Read) -> tuple[Any, int]:
    first = text[at : at + 1]
    if depth >= _PIECE_DEPTH or first not in ("{", "["):
        return read(text, at)
    return _members(text, at + 1, depth, read) if first == "{" else _items(text, at + 1, depth, read)


def _members(text: str, at: int, depth: int, read: _Read) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _skip(text, at)
    if text[at : at + 1] == "}":
        return found, at + 1
    while True:
        if text[at : at + 1] != '"':
            raise JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
        key, at = read(text, at)
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise JSONDecodeError("Expecting ':' delimiter", text, at)
        found[key], at = _piece(text, _skip(text, at + 1), depth + 1, read)
        at = _skip(text, at)
        end = text[at : at + 1]
        if end == "}":
            return found, at + 1
        if end != ",":
            raise JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _skip(text, at + 1)


def _items(text: str, at: int, depth: int, read: _Read) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _skip(text, at)
    if text[at : at + 1] == "]":
        return found, at + 1
    while True:
        value, at = _piece(text, at, depth + 1, read)
        found.append(value)
        at = _skip(text, at)
        end = text[at : at + 1]
        if end == "]":
            return found, at + 1
        if end != ",":
            raise JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _skip(text, at + 1)


def _text(record: dict[str, JsonValue], name: str, checkpoint_id: str) -> str:
    value = record.get(name)
    if not isinstance(value, str) or not value:
        _damaged(checkpoint_id, f"{name} is missing" if value in (None, "") else f"{name} is not a text")
    return value


def _object(record: dict[str, JsonValue], name: str, checkpoint_id: str) -> dict[str, JsonValue]:
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        _damaged(checkpoint_id, f"{name} is not an object")
    return value


def _messages(record: dict[str, JsonValue], checkpoint_id: str) -> tuple[Message, ...]:
    value = record.get("messages")
    if value is None:
        return ()
    if not isinstance(value, list):
        _damaged(checkpoint_id, "messages is not a list")
    messages = []
    for item in value:
        role, content = (item.get("role", ""), item.get("content", "")) if isinstance(item, dict) else (None, None)
        if not isinstance(role, str) or not isinstance(content, str):
            _damaged(checkpoint_id, "a message is not an object with the texts role and content")
        messages.append(Message(role, content))
    return tuple(messages)


def _metadata(record: dict[str, JsonValue], checkpoint_id: str) -> dict[str, str]:
    metadata: dict[str, str] = {}
    for key, value in _object(record, "metadata", checkpoint_id).items():
        if not isinstance(value, str):
            _damaged(checkpoint_id, f"metadata {key!r} is not a text")
        metadata[key] = value
    return metadata


def _damaged(checkpoint_id: str, reason: str) -> NoReturn:
    message = f"Checkpoint {checkpoint_id} is damaged: {reason}." if checkpoint_id else f"Damaged checkpoint: {reason}."
    raise CheckpointDamaged(message, checkpoint_id=checkpoint_id, reason=reason)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


def _check_json(name: str, value: object) -> None:
    """Walks a value without recursion; the first thing that JSON would change or refuse is `InvalidInput`."""
    waiting: list[tuple[object, int]] = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise InvalidInput(f"The {name} of a checkpoint is nested more than {MAX_DEPTH} deep.", field=name)
        if isinstance(item, dict):
            waiting.extend((key if isinstance(key, str) else object(), depth) for key in item)
            waiting.extend((child, depth + 1) for child in item.values())
        elif isinstance(item, list):
            waiting.extend((child, depth + 1) for child in item)
        elif isinstance(item, str):
            _check_unicode(name, item)
        elif isinstance(item, float) and not math.isfinite(item):
            raise InvalidInput(f"The {name} of a checkpoint holds {item}, which JSON cannot.", field=name)
        elif item is not None and not isinstance(item, bool | int | float):
            text = f"The {name} of a checkpoint holds something that JSON cannot keep ({type(item).__name__})."
            raise InvalidInput(text, field=name)


def _check_unicode(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"The {name} of a checkpoint holds a lone surrogate.", field=name) from error
