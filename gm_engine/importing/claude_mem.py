"""claude-mem's export: observations with their facts, what sessions learnt, and what was asked.

An observation's `facts` are sentences already (a list, or the same as JSON in a text); one without any is kept as its
title and narrative. Of a session's summary only what was learnt is knowledge; prompts and sessions are none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from gm_engine.importing.found import Item, Left, Reader, Request, Start, Text, moment
from gm_engine.importing.text_files import json_members

_ONE = {"observations": "observation", "summaries": "summary"}
_NO_KNOWLEDGE = {
    "prompts": "what somebody asked is nothing to remember",
    "sessions": "a session is nothing to remember",
}


def recognises(start: Start) -> bool:
    """Whether it is JSON with that program's names."""
    if start.is_folder:
        return False
    return start.holds("exportedAt", "totalObservations") or start.holds("observations", "summaries", "prompts")


def read(request: Request) -> Iterator[Item]:
    """Facts of observations and summaries, under the project that they belong to."""
    numbers: Counter[str] = Counter()
    for name, value in json_members(request.path):
        numbers[name] += 1
        if name not in _ONE:
            continue
        place = f"{_ONE[name]} {numbers[name]}"
        if not isinstance(value, dict):
            yield Left("fact", place, "the record is not a JSON object")
        elif name == "observations":
            yield from _observation(value, place)
        else:
            yield from _summary(value, place)
    for name, reason in _NO_KNOWLEDGE.items():
        if numbers[name]:
            yield Left(name, "", f"{numbers[name]} not imported: {reason}")


def _observation(value: dict[str, Any], place: str) -> Iterator[Item]:
    facts = _list(value.get("facts"))
    if not facts:
        parts = [part for name in ("title", "narrative") if (part := _words(value.get(name)))]
        facts = [": ".join(parts)] if parts else [_words(value.get("text"))]
    for number, text in enumerate(facts, start=1):
        where = place if len(facts) == 1 else f"{place}, fact {number}"
        if isinstance(text, str) and text.strip():
            yield _text(text, where, value)
        else:
            yield Left("fact", where, "it holds no text")


def _summary(value: dict[str, Any], place: str) -> Iterator[Item]:
    learnt = _words(value.get("learned"))
    yield _text(learnt, place, value) if learnt else Left("fact", place, "nothing was learnt")


def _text(text: str, place: str, value: dict[str, Any]) -> Text:
    created = moment(value.get("created_at_epoch")) or moment(value.get("created_at"))
    return Text(text, place, agent_id=_words(value.get("project")), created_ns=created)


def _list(value: object) -> list[object]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    return value if isinstance(value, list) else []


def _words(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


READER = Reader("claude-mem", "claude-mem export", "claude-mem", recognises, read, confidence="unverified")
