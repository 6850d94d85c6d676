"""The JSON export of mcp-memory-service: `{"export_metadata": {...}, "memories": [{"content": ...}]}`."""

from __future__ import annotations

from collections.abc import Iterator

from gm_engine.importing.found import Item, Left, Reader, Request, Start, Text, moment
from gm_engine.importing.text_files import json_members


def recognises(start: Start) -> bool:
    """Whether it is JSON with that program's names."""
    if start.is_folder or start.text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
        return False
    return start.holds("content_hash", "content") or start.holds("export_metadata", "memories")


def read(request: Request) -> Iterator[Item]:
    """Memories as facts. Tags and types have no counterpart here and are left out."""
    number = 0
    for name, value in json_members(request.path):
        if name not in ("", "memories"):
            continue
        number += 1
        place = f"memory {number}"
        if not isinstance(value, dict):
            yield Left("fact", place, "the record is not a JSON object")
            continue
        text, key = value.get("content"), value.get("content_hash")
        if not isinstance(text, str) or not text.strip():
            yield Left("fact", place, "content is not a text")
            continue
        created = moment(value.get("created_at")) or moment(value.get("created_at_iso"))
        yield Text(text, place, created_ns=created, key=key if isinstance(key, str) else "")


READER = Reader("mcp-memory-service", "mcp-memory-service export", "mcp-memory-service", recognises, read)
