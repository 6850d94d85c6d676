"""What Claude and ChatGPT remember of a person, as they hand it out.

Claude's data export holds `memories.json` with texts in Markdown; both programs also list their memories as text, one
a line, with a date in brackets where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gm_engine.importing.found import Item, Left, Reader, Request, Start, Text, moment
from gm_engine.importing.markdown_blocks import blocks, plain_links
from gm_engine.importing.records import Unreadable
from gm_engine.importing.text_files import json_members, lines_of

_DATED = re.compile(r"\[(?P<date>[^\]\n]{4,40})\]\s*[-–—:]\s*(?P<text>.+)")
_BULLET = re.compile(r"\A(?:[-*+•–]|\d{1,4}[.)])\s+")
_NO_DATES = ("unknown", "no date", "n/a", "date unknown", "undated")
_FROM_EXPORT = ("conversations_memory", "project_memories")


def recognises(start: Start) -> bool:
    """Whether it is Claude's JSON, or a text of which most lines begin with a date in brackets."""
    if start.is_folder:
        return False
    if any(start.holds(name) for name in _FROM_EXPORT):
        return True
    lines = [line.strip() for line in start.text.splitlines() if line.strip()]
    dated = sum(_DATED.match(_BULLET.sub("", line, count=1)) is not None for line in lines)
    return dated * 2 > len(lines) or start.path.suffix.casefold() == ".txt"


def read(request: Request) -> Iterator[Item]:
    """One fact for each memory."""
    with_json = next((line for _, line in lines_of(request.path) if not isinstance(line, str) or line.strip()), "")
    if isinstance(with_json, str) and with_json.lstrip()[:1] in ("{", "[") and not _DATED.match(with_json.strip()):
        yield from _from_export(request)
    else:
        yield from _from_list(request)


def _from_export(request: Request) -> Iterator[Item]:
    for number, (name, value) in enumerate(json_members(request.path), start=1):
        if isinstance(value, str) and name in ("", *_FROM_EXPORT):
            yield from _prose(value, f"memory {number}")
        elif isinstance(value, dict):
            yield from _account(value if not name else {name: value}, f"memory {number}")
        elif name in ("", *_FROM_EXPORT):
            yield Left("fact", f"memory {number}", "it is neither a text nor an object")


def _account(value: dict[str, object], place: str) -> Iterator[Item]:
    for name in _FROM_EXPORT:
        found = value.get(name)
        texts = found.values() if isinstance(found, dict) else found if isinstance(found, list) else [found]
        for text in texts:
            if isinstance(text, str):
                yield from _prose(text, place)
    if not any(name in value for name in _FROM_EXPORT):
        text = next((value[name] for name in ("memory", "content", "text") if isinstance(value.get(name), str)), None)
        created = moment(value.get("created_at"))
        if isinstance(text, str) and text.strip():
            yield Text(text, place, created_ns=created)
        else:
            yield Left("fact", place, "it holds no memory")


def _prose(text: str, place: str) -> Iterator[Item]:
    for block in blocks(text):
        words = plain_links(block.text)
        if block.kind == "left" or not words:
            yield Left("block", f"{place}, line {block.line}", f"{block.text} is no memory")
        elif not _is_title(words):
            yield Text(words, f"{place}, line {block.line}")


def _is_title(words: str) -> bool:
    """Whether a paragraph is nothing but a bold title."""
    return words.startswith("**") and words.endswith("**") and words.count("**") == 2


def _from_list(request: Request) -> Iterator[Item]:
    for number, line in lines_of(request.path):
        if isinstance(line, Unreadable):
            yield Left("fact", f"line {number}", line.reason)
            continue
        words = _BULLET.sub("", line.strip(), count=1)
        if not words or words.startswith(("#", "```", "---", "***")) or (words.endswith(":") and len(words) < 80):
            continue  # a heading or a fence around the list
        dated = _DATED.fullmatch(words)
        date = moment(dated["date"]) if dated else None
        if dated and (date is not None or dated["date"].casefold() in _NO_DATES):
            yield Text(dated["text"], f"line {number}", created_ns=date)
        else:
            yield Text(words, f"line {number}")


READER = Reader("memory-list", "Claude or ChatGPT memories", "assistant", recognises, read, confidence="unverified")
