"""Reading other programs' text files: encodings, long lines, JSON taken apart in short steps."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gm_engine.errors import ImportRefused
from gm_engine.importing.records import Unreadable

START_BYTES = 1 << 16
MAX_LINE_BYTES = 16 << 20
MAX_DOCUMENT_BYTES = 2 << 30
_SPACE = re.compile(r"[ \t\n\r]*")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def start_of(path: Path) -> str:
    """The first 64 KiB as text, whatever they are; "" for a folder. Raises `ImportRefused` when it can't be read."""
    if path.is_dir():
        return ""
    with _readable(path) as file:
        start = file.read(START_BYTES)
    encoding = "utf-16" if start.startswith(_UTF16) else "utf-8-sig"
    return start.decode(encoding, errors="replace")


def whole_text(path: Path, *, at_most: int = MAX_DOCUMENT_BYTES) -> str:
    """The text of a file in UTF-8, or in UTF-16 with a byte order mark. Raises `ImportRefused`."""
    name = path.name
    with _readable(path) as file:
        raw = file.read(at_most + 1)
    if len(raw) > at_most:
        raise ImportRefused(f"{name} is larger than {at_most >> 20} MiB, too large for this format.", file=name)
    try:
        return raw.decode("utf-16" if raw.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        text = f"{name} is not UTF-8: byte {error.start} cannot be decoded."
        raise ImportRefused(text, file=name, offset=error.start) from error


def lines_of(path: Path) -> Iterator[tuple[int, str | Unreadable]]:
    """The lines of a file by number, without their ends; a line that cannot be read is the reason why.

    Only one line is in memory at a time. Raises `ImportRefused`.
    """
    with _readable(path) as file:
        if file.read(2) in _UTF16:
            lines = whole_text(path).removesuffix("\n").split("\n")
            yield from ((number, line.rstrip("\r")) for number, line in enumerate(lines, start=1))
            return
        file.seek(0)
        number, is_rest = 0, False
        while raw := file.readline(MAX_LINE_BYTES):
            is_whole = raw.endswith(b"\n") or len(raw) < MAX_LINE_BYTES
            if not is_rest:
                number += 1
                yield number, _line(raw, number) if is_whole else Unreadable(f"longer than {MAX_LINE_BYTES >> 20} MiB")
            is_rest = not is_whole


def _line(raw: bytes, number: int) -> str | Unreadable:
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        return Unreadable(f"invalid UTF-8 at byte {error.start}")


def json_lines(path: Path) -> Iterator[tuple[int, object]]:
    """The values of a file with one JSON value a line; a line that is none is the `Unreadable` reason."""
    for number, line in lines_of(path):
        if isinstance(line, Unreadable):
            yield number, line
        elif line.strip():
            yield number, _value(line)


def _value(line: str) -> object:
    try:
        return json.loads(line)
    except RecursionError:
        return Unreadable("values are nested too deeply")
    except ValueError as error:
        return Unreadable(f"invalid JSON: {error}")


def json_members(path: Path) -> Iterator[tuple[str, object]]:
    """A JSON document taken apart: the elements of the top array under "", or the members of the top object.

    A member that is an array comes element by element under the same name. Every decoding call is short. Raises
    `ImportRefused` for a document that is not whole.
    """
    text, name = whole_text(path), path.name
    at = after_space(text, 0)
    if text[at : at + 1] == "[":
        for value in json_elements(text, at, name):
            yield "", value
        return
    if text[at : at + 1] != "{":
        raise ImportRefused(f"{name} is neither a JSON array nor an object.", file=name)
    yield from _object_members(text, at, name)


def _object_members(text: str, at: int, name: str) -> Iterator[tuple[str, object]]:
    at = after_space(text, at + 1)
    while text[at : at + 1] != "}":
        key, at = decode_at(text, at, name)
        at = after_space(text, at)
        if not isinstance(key, str) or text[at : at + 1] != ":":
            raise ImportRefused(f"{name} is no complete JSON object: no name at character {at}.", file=name, offset=at)
        at = after_space(text, at + 1)
        if text[at : at + 1] == "[":
            at = yield from _named(key, json_elements(text, at, name, is_last=False))
        else:
            value, at = decode_at(text, at, name)
            yield key, value
        at = after_space(text, at)
        if text[at : at + 1] == ",":
            at = after_space(text, at + 1)
        elif text[at : at + 1] != "}":
            raise ImportRefused(f"{name} is no complete JSON object: it breaks off at character {at}.", file=name)
    _check_end(text, at, name)


def _named(key: str, elements: Generator[object, None, int]) -> Generator[tuple[str, object], None, int]:
    while True:
        try:
            value = next(elements)
        except StopIteration as end:
            return int(end.value)
        yield key, value


def json_elements(text: str, at: int, name: str, *, is_last: bool = True) -> Generator[object, None, int]:
    """The elements of the array that begins at `at`, one short decoding call each; returns where it ends.

    With `is_last` nothing but white space may follow.
    """
    at = after_space(text, at + 1)
    while text[at : at + 1] != "]":
        value, at = decode_at(text, at, name)
        yield value
        at = after_space(text, at)
        if text[at : at + 1] == ",":
            at = after_space(text, at + 1)
            if text[at : at + 1] == "]":
                raise ImportRefused(f"{name} is no complete JSON array: a comma ends it.", file=name, offset=at)
        elif text[at : at + 1] != "]":
            raise ImportRefused(f"{name} is no complete JSON array: no comma at character {at}.", file=name, offset=at)
    if is_last:
        _check_end(text, at, name)
    return at + 1


def decode_at(text: str, at: int, name: str) -> tuple[object, int]:
    """The JSON value at a place, and where it ends. Raises `ImportRefused`."""
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError as error:
        raise ImportRefused(f"{name} nests values too deeply at character {at}.", file=name) from error
    except json.JSONDecodeError as error:
        raise ImportRefused(f"{name} is no complete JSON document: {error}.", file=name, offset=at) from error
    except ValueError as error:  # Python's limit
        raise ImportRefused(f"{name} holds a number of too many digits after character {at}.", file=name) from error


_DECODER = json.JSONDecoder()


def after_space(text: str, at: int) -> int:
    """The place of the next character that is no white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _check_end(text: str, at: int, name: str) -> None:
    if after_space(text, at + 1) != len(text):
        raise ImportRefused(f"{name} goes on after the array, at character {at + 1}.", file=name, offset=at + 1)


@contextmanager
def _readable(path: Path) -> Iterator[BinaryIO]:
    if not path.is_file():
        raise ImportRefused(f"{path.name} is not a regular file.", file=path.name)
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise ImportRefused(f"{path.name} cannot be read: {error.strerror}.", file=path.name) from error
