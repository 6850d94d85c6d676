"""JSON, with or without comments, as text that is changed in one place and stays as it is everywhere else.

A strict file is plain JSON. A lenient one may hold `//` and `/* */` comments and a comma after the last member, as
editors write their settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gm_engine.records import JsonValue

_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null')
_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_DEEPEST = 200


class NoJson(Exception):
    """Why a text is no JSON of the asked kind."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: its name, where the name begins, and its value."""

    name: str
    start: int
    value: Node


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands. `members` is None for anything but an object.

    `last` is where the last thing in an object ends, a comment or a comma after the members included.
    """

    start: int
    end: int
    value: JsonValue
    members: tuple[Member, ...] | None = None
    last: int = 0
    comma: int | None = None

    def member(self, name: str) -> Member | None:
        """The member with that name; `NoJson` when there are two."""
        found = [member for member in self.members or () if member.name == name]
        if len(found) > 1:
            raise NoJson(f"it names {name!r} twice")
        return found[0] if found else None


@dataclass(slots=True)
class _Scanner:
    """Reads one text from the left."""

    text: str
    is_lenient: bool
    at: int = 0
    depth: int = 0

    def document(self) -> Node:
        self._skip()
        node = self._value()
        self._skip()
        if self.at != len(self.text):
            raise NoJson(f"something follows the end in line {self._line()}")
        return node

    def _value(self) -> Node:
        first = self.text[self.at : self.at + 1]
        if first in ("{", "["):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise NoJson("values are nested too deeply")
            node = self._object() if first == "{" else self._array()
            self.depth -= 1
            return node
        found = _SCALAR.match(self.text, self.at)
        if found is None:
            raise NoJson(f"line {self._line()} holds no JSON value where one belongs")
        start, self.at = self.at, found.end()
        try:
            return Node(start, self.at, json.loads(found[0]))
        except ValueError as error:
            raise NoJson(f"line {self._line()}: {error}") from error

    def _object(self) -> Node:
        start = self.at
        members: list[Member] = []
        last, comma = self._open()
        while self.text[self.at : self.at + 1] != "}":
            name_at = self.at
            name = self._value().value
            if not isinstance(name, str):
                raise NoJson(f"line {self._line()} holds a name that is no text")
            self._skip()
            self._take(":")
            self._skip()
            members.append(Member(name, name_at, self._value()))
            last, comma = self._next("}")
        self.at += 1
        value: dict[str, JsonValue] = {member.name: member.value.value for member in members}
        return Node(start, self.at, value, tuple(members), last, comma)

    def _array(self) -> Node:
        start = self.at
        values: list[JsonValue] = []
        self._open()
        while self.text[self.at : self.at + 1] != "]":
            values.append(self._value().value)
            self._next("]")
        self.at += 1
        return Node(start, self.at, values)

    def _open(self) -> tuple[int, int | None]:
        self.at += 1
        return self._skip(), None

    def _next(self, closing: str) -> tuple[int, int | None]:
        """Passes a comma, unless the end follows; where the last thing ended, and where a last comma stands."""
        last = self._skip()
        if self.text[self.at : self.at + 1] == closing:
            return last, None
        comma = self.at
        self._take(",")
        last = self._skip()
        if self.text[self.at : self.at + 1] == closing and not self.is_lenient:
            raise NoJson(f"a comma stands before the end in line {self._line()}")
        return last, comma if self.text[self.at : self.at + 1] == closing else None

    def _take(self, char: str) -> None:
        if self.text[self.at : self.at + 1] != char:
            raise NoJson(f"line {self._line()} lacks a {char!r}")
        self.at += 1

    def _skip(self) -> int:
        """Passes white space and comments; returns where the last comment, or what stood before, ended."""
        last = self.at
        while True:
            found = _SPACE.match(self.text, self.at)
            self.at = found.end() if found else self.at
            comment = _COMMENT.match(self.text, self.at)
            if comment is None:
                return last
            if not self.is_lenient:
                raise NoJson(f"line {self._line()} holds a comment, which this program does not read")
            self.at = last = comment.end()

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1


def parse(text: str, *, is_lenient: bool) -> Node:
    """The document with the places of its parts. Raises `NoJson`, also for anything but an object."""
    node = _Scanner(text, is_lenient).document()
    if node.members is None:
        raise NoJson("it is no JSON object")
    return node


def with_entry(text: str, path: Sequence[str], entry: JsonValue, *, is_lenient: bool) -> str:
    """The text with `entry` at `path`; objects on the way are made. Nothing else changes. Raises `NoJson`."""
    if not text.strip():
        return json.dumps(_nested(path, entry), indent=2, ensure_ascii=False) + "\n"
    node = parse(text, is_lenient=is_lenient)
    for depth, name in enumerate(path):
        member = node.member(name)
        if member is None:
            return _inserted(text, node, name, _nested(path[depth + 1 :], entry))
        if depth == len(path) - 1:
            return text if member.value.value == entry else _replaced(text, member, entry)
        node = member.value
        if node.members is None:
            raise NoJson(f"{name!r} is no object")
    raise ValueError("the path is empty")


def without_entry(text: str, path: Sequence[str], *, is_lenient: bool) -> str:
    """The text without the member at `path`; the same text when there is none. Raises `NoJson`."""
    if not text.strip():
        return text
    node = parse(text, is_lenient=is_lenient)
    for name in path[:-1]:
        member = node.member(name)
        if member is None:
            return text
        node = member.value
    member = node.member(path[-1])
    return text if member is None else _removed(text, node, member)


def entry_at(text: str, path: Sequence[str], *, is_lenient: bool) -> JsonValue:
    """The value at `path`, None where there is none. Raises `NoJson`."""
    if not text.strip():
        return None
    node = parse(text, is_lenient=is_lenient)
    for depth, name in enumerate(path):
        if node.members is None:
            raise NoJson(f"{path[depth - 1]!r} is no object")
        member = node.member(name)
        if member is None:
            return None
        node = member.value
    return node.value


def _nested(path: Sequence[str], entry: JsonValue) -> JsonValue:
    for name in reversed(path):
        entry = {name: entry}
    return entry


def _inserted(text: str, node: Node, name: str, entry: JsonValue) -> str:
    members = node.members or ()
    newline = _newline(text)
    outer = _indent(text, node.start)
    is_on_one_line = bool(members) and "\n" not in text[node.start : node.end]
    if is_on_one_line:
        written = f" {json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}"
        end = members[-1].value.end
        return f"{text[:end]},{written}{text[end:]}" if node.comma is None else _at(text, node.comma + 1, written)
    inner = _indent(text, members[0].start) if members else outer + _unit(text)
    unit = inner.removeprefix(outer) or _unit(text)
    shown = json.dumps(entry, indent=unit, ensure_ascii=False).replace("\n", f"{newline}{inner}")
    written = f"{newline}{inner}{json.dumps(name)}: {shown}"
    if not members:
        rest = text[node.last : node.end - 1]
        closing = "" if "\n" in rest else f"{newline}{outer}"
        return f"{text[: node.last]}{written}{rest}{closing}{text[node.end - 1 :]}"
    last = max(node.last, members[-1].value.end)
    if node.comma is not None:
        return _at(text, last, f"{written},")
    end = members[-1].value.end
    return f"{text[:end]},{text[end:last]}{written}{text[last:]}"


def _at(text: str, place: int, written: str) -> str:
    return f"{text[:place]}{written}{text[place:]}"


def _replaced(text: str, member: Member, entry: JsonValue) -> str:
    inner = _indent(text, member.start)
    if "\n" in text[member.start : member.value.end] or inner:
        shown = json.dumps(entry, indent=_unit(text), ensure_ascii=False).replace("\n", f"{_newline(text)}{inner}")
    else:
        shown = json.dumps(entry, ensure_ascii=False)
    return f"{text[: member.value.start]}{shown}{text[member.value.end :]}"


def _removed(text: str, node: Node, member: Member) -> str:
    members = node.members or ()
    number = members.index(member)
    start = len(text[: member.start].rstrip(" \t\r\n"))
    if number < len(members) - 1:  # with the comma that follows it
        end = text.index(",", _after_comments(text, member.value.end)) + 1
        return f"{text[:start]}{text[end:]}"
    end = node.comma + 1 if node.comma is not None else member.value.end
    if number == 0:
        is_bare = not text[end : node.end - 1].strip() and text[start - 1] == "{"
        return f"{text[:start]}{text[node.end - 1 if is_bare else end :]}"
    if node.comma is not None:
        return f"{text[:start]}{text[end:]}"
    before = members[number - 1].value.end
    comma = text.index(",", _after_comments(text, before))
    return f"{text[:comma]}{text[comma + 1 : start]}{text[end:]}"


def _after_comments(text: str, at: int) -> int:
    """Where the next comma is looked for: behind comments, which may hold one."""
    while True:
        found = _SPACE.match(text, at)
        at = found.end() if found else at
        comment = _COMMENT.match(text, at)
        if comment is None:
            return at
        at = comment.end()


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str, at: int) -> str:
    """The white space at the beginning of the line that `at` stands in."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation as the text has it: that of the first indented line."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "
