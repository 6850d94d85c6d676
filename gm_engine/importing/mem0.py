"""mem0's memories as its `get_all` answers: `{"results": [...]}` or the list alone, with relations of a graph store."""

from __future__ import annotations

from collections.abc import Iterator

from gm_engine.importing.found import Item, Left, Link, Reader, Request, Start, Text, Thing, moment
from gm_engine.importing.text_files import json_members

_LISTS = ("", "results", "memories")


def recognises(start: Start) -> bool:
    """Whether it is one JSON document whose records hold a `memory`."""
    is_lines = start.path.suffix.casefold() in (".jsonl", ".ndjson")
    return start.text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") and not is_lines and start.holds("memory")


def read(request: Request) -> Iterator[Item]:
    """Memories as facts of their agent, else of their user; relations as links."""
    number = 0
    for name, value in json_members(request.path):
        if name in _LISTS:
            number += 1
            yield _memory(value, f"memory {number}")
        elif name == "relations":
            yield from _relation(value)


def _memory(value: object, place: str) -> Item:
    if not isinstance(value, dict):
        return Left("fact", place, "the record is not a JSON object")
    text = value.get("memory", value.get("text"))
    if not isinstance(text, str) or not text.strip():
        return Left("fact", place, "memory is not a text")
    owners = (value.get("agent_id"), value.get("user_id"), value.get("app_id"))
    owner = next((name for name in owners if isinstance(name, str) and name.strip()), "")
    key = value.get("id")
    return Text(
        text,
        place,
        agent_id=owner,
        created_ns=moment(value.get("created_at")),
        key=key if isinstance(key, str) else "",
    )


def _relation(value: object) -> Iterator[Item]:
    ends: list[str] = []
    if isinstance(value, dict):
        for names in (("source",), ("destination", "target"), ("relationship", "relation")):
            found = next((value[name] for name in names if isinstance(value.get(name), str)), "")
            ends.append(found.strip())
    if not ends or not all(ends):
        yield Left("edge", "relations", "source, target or relationship is missing")
        return
    source, target, relation = ends
    yield from (Thing(source, "", "relations"), Thing(target, "", "relations"))
    yield Link(source, target, relation, "relations")


READER = Reader("mem0", "mem0 export", "mem0", recognises, read, confidence="unverified")
