"""Tables: CSV with a header, and JSON objects one a line (or in one array), with a mapping of their columns to ours."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from gm_engine.errors import ImportRefused
from gm_engine.importing.found import MAX_TEXT_CHARS, Item, Left, Reader, Request, Start, Text, moment
from gm_engine.importing.records import Unreadable
from gm_engine.importing.text_files import json_lines, json_members, lines_of, start_of

FIELDS = ("text", "agent", "created", "confidence", "id")
_GUESSES = {
    "text": ("text", "memory", "fact", "content", "body", "note", "value"),
    "agent": ("agent", "agent_id", "namespace"),
    "created": ("created", "created_at", "date", "time", "timestamp"),
    "confidence": ("confidence",),
    "id": ("id", "uuid", "key"),
}
_SEPARATORS = ",;\t|"
_OLD_END = re.compile(r"(?<=\r)")
_END = "\0the table ends here\0"


def recognises_csv(start: Start) -> bool:
    """Whether the name says so."""
    return not start.is_folder and start.path.suffix.casefold() in (".csv", ".tsv")


def recognises_lines(start: Start) -> bool:
    """Whether the name says so."""
    return not start.is_folder and start.path.suffix.casefold() in (".jsonl", ".ndjson")


def column_names(path: Path, reader: str) -> tuple[str, ...]:
    """The columns of a table, or the names in the first object. Raises `ImportRefused`."""
    if reader == CSV.name:
        return _header(path)
    for _, value in _objects(path):
        if isinstance(value, dict):
            return tuple(_paths(value))
    return ()


def read_csv(request: Request) -> Iterator[Item]:
    """The rows as facts."""
    header = _header(request.path)
    columns = _chosen(request, header)
    for place, row in _csv_rows(request.path):
        if isinstance(row, Unreadable):
            yield Left("fact", place, row.reason)
        else:
            yield _fact(dict(zip(header, row, strict=False)), columns, place)


def read_lines(request: Request) -> Iterator[Item]:
    """The objects as facts; a column may be a path, like `message.content`."""
    columns: Mapping[str, str] | None = None
    for place, value in _objects(request.path):
        if not isinstance(value, dict):
            reason = value.reason if isinstance(value, Unreadable) else "it is not a JSON object"
            yield Left("fact", place, reason)
            continue
        columns = columns or _chosen(request, tuple(_paths(value)))
        yield _fact({name: _at(value, name) for name in columns.values()}, columns, place)


def _fact(row: Mapping[str, object], columns: Mapping[str, str], place: str) -> Item:
    values = {ours: row.get(theirs) for ours, theirs in columns.items()}
    text, agent_id, key = values["text"], values.get("agent"), values.get("id")
    if not isinstance(text, str) or not text.strip():
        return Left("fact", place, f"{columns['text']} holds no text")
    label = values.get("confidence")
    return Text(
        text,
        place,
        agent_id=agent_id if isinstance(agent_id, str) and agent_id.strip() else "",
        created_ns=moment(values.get("created")),
        confidence=label.strip() if isinstance(label, str) else "",
        key=str(key) if isinstance(key, str | int) else "",
    )


def _chosen(request: Request, names: tuple[str, ...]) -> Mapping[str, str]:
    """Our fields by the columns that hold them: as asked, else by their usual names."""
    listed = ", ".join(names[:30]) or "none"
    unknown = [theirs for theirs in request.columns.values() if theirs not in names]
    if unknown and request.path.suffix.casefold() in (".csv", ".tsv"):
        text = f"{request.path.name} has no column {unknown[0]!r}; its columns: {listed}."
        raise ImportRefused(text, file=request.path.name, columns=names)
    by_folded = {name.strip().casefold(): name for name in reversed(names)}
    chosen = dict(request.columns)
    for ours, guesses in _GUESSES.items():
        guess = next((by_folded[name] for name in guesses if name in by_folded), None)
        if guess is not None and guess not in chosen.values():
            chosen.setdefault(ours, guess)
    if "text" not in chosen:
        text = f"Say which column of {request.path.name} holds the text: --map text=COLUMN; its columns: {listed}."
        raise ImportRefused(text, file=request.path.name, columns=names)
    return chosen


def _separator(path: Path) -> str:
    if path.suffix.casefold() == ".tsv":
        return "\t"
    first = start_of(path).lstrip("\r\n").replace("\r", "\n").partition("\n")[0]
    return max(_SEPARATORS, key=first.count)


def _header(path: Path) -> tuple[str, ...]:
    try:
        row = next(filter(None, csv.reader(_decoded(path), delimiter=_separator(path))), None)
    except csv.Error as error:
        raise ImportRefused(f"{path.name} has no header that can be read ({error}).", file=path.name) from error
    if row is None:
        raise ImportRefused(f"{path.name} has no header.", file=path.name)
    return tuple(name.strip() for name in row)


def _csv_rows(path: Path) -> Iterator[tuple[str, list[str] | Unreadable]]:
    """The rows after the header. A quote that is never closed takes all that follows: none of it is a row."""
    csv.field_size_limit(4 * MAX_TEXT_CHARS)
    rows = csv.reader(chain(_decoded(path), [_END]), delimiter=_separator(path))
    has_header = False
    while True:
        first = rows.line_num + 1
        try:
            row = next(rows, [_END])
        except csv.Error as error:
            yield f"line {rows.line_num}", Unreadable(str(error))
            continue
        if row == [_END]:
            return
        if row and row[-1].endswith(_END):
            yield f"line {first}", Unreadable("a quote in it is never closed, so that all that follows belongs to it")
            return
        if row and has_header:
            yield f"line {rows.line_num}", row
        has_header = has_header or bool(row)


def _decoded(path: Path) -> Iterator[str]:
    """The lines with ends, as `csv` wants them. A table in another encoding would be wrong in every row."""
    for number, line in lines_of(path):
        if isinstance(line, Unreadable):
            text = f"{path.name} is no table in UTF-8 (line {number}: {line.reason}); save it as CSV UTF-8."
            raise ImportRefused(text, file=path.name)
        yield from _OLD_END.split(f"{line}\n")  # an old Mac's lines end with a carriage return alone


def _objects(path: Path) -> Iterator[tuple[str, object]]:
    if start_of(path).lstrip("\ufeff \t\r\n")[:1] == "[":
        for number, (_, value) in enumerate(json_members(path), start=1):
            yield f"element {number}", value
    else:
        for number, value in json_lines(path):
            yield f"line {number}", value


def _paths(value: Mapping[str, object], above: str = "") -> Iterator[str]:
    """The names of an object, and of the objects in it, two levels deep."""
    for name, inner in value.items():
        if isinstance(inner, dict) and not above:
            yield from _paths(inner, f"{name}.")
        else:
            yield f"{above}{name}"


def _at(value: Mapping[str, object], path: str) -> object:
    if path in value:
        return value[path]
    first, _, rest = path.partition(".")
    inner = value.get(first)
    return _at(inner, rest) if rest and isinstance(inner, dict) else None


CSV = Reader("csv", "CSV table", "imported", recognises_csv, read_csv, takes_columns=True)
LINES = Reader("jsonl", "JSON lines", "imported", recognises_lines, read_lines, takes_columns=True)
