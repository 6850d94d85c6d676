"""`memory.jsonl` of the official MCP memory server: one entity with its observations, or one relation, a line.

An observation seldom names whom it is about, so the fact says so: `entity: observation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gm_engine.importing.found import Item, Left, Link, Reader, Request, Start, Text, Thing
from gm_engine.importing.records import Unreadable
from gm_engine.importing.text_files import json_lines


def recognises(start: Start) -> bool:
    """Whether the first line is an entity or a relation."""
    if start.is_folder:
        return False
    first = start.text.lstrip("\ufeff \t\r\n").split("\n", 1)[0]
    line = Start(start.path, first)
    return line.holds("type", "entityType", "observations") or line.holds("type", "relationType", "from")


def read(request: Request) -> Iterator[Item]:
    """Entities, their observations as facts, and relations as links."""
    for number, value in json_lines(request.path):
        place = f"line {number}"
        if isinstance(value, Unreadable):
            yield Left("line", place, value.reason)
        elif not isinstance(value, dict):
            yield Left("line", place, "the line is not a JSON object")
        elif value.get("type") == "entity":
            yield from _entity(value, place)
        elif value.get("type") == "relation":
            yield _relation(value, place)
        else:
            yield Left("line", place, "its type is neither entity nor relation")


def _entity(value: dict[str, Any], place: str) -> Iterator[Item]:
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        yield Left("entity", place, "it has no name")
        return
    kind = value.get("entityType")
    yield Thing(name, kind if isinstance(kind, str) else "", place)
    observations = value.get("observations", [])
    if not isinstance(observations, list):
        yield Left("fact", place, "observations is not a list")
        return
    for number, text in enumerate(observations, start=1):
        where = f"{place}, observation {number}"
        if isinstance(text, str) and text.strip():
            yield Text(f"{name}: {text}", where)
        else:
            yield Left("fact", where, "the observation is not a text")


def _relation(value: dict[str, Any], place: str) -> Item:
    ends = value.get("from"), value.get("to"), value.get("relationType")
    source, target, relation = (end if isinstance(end, str) and end.strip() else "" for end in ends)
    if not (source and target and relation):
        return Left("edge", place, "from, to or relationType is missing")
    return Link(source, target, relation, place)


READER = Reader("mcp-memory", "MCP memory server (memory.jsonl)", "mcp-memory", recognises, read)
