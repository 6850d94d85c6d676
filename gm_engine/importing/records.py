"""GrayMatter's JSON records as the ledger's: every field is checked, nothing is guessed.

Keys that newer versions of the Go program added may be missing or null. `embedding` belongs to another model and is
ignored. A record that breaks a rule is `Unreadable` with the reason in words.
"""

from __future__ import annotations

import json
import math

from gm_engine.clock import NS_PER_S, parse_rfc3339
from gm_engine.errors import CheckpointDamaged, InvalidInput
from gm_engine.records import Edge, Entity, Origin
from gm_engine.store.checkpoint_payload import read_payload
from gm_engine.store.checkpoints import NewCheckpoint
from gm_engine.store.facts import NewFact, check_agent_id, check_text

MADE_BY = "import"
_LARGEST = (1 << 63) - 1

Record = dict[str, object]


class Unreadable(Exception):
    """Why one record cannot be imported; caught where the report is made."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def decode(raw: bytes) -> Record:
    """The JSON object in a stored value."""
    try:
        value = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Unreadable(f"invalid UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise Unreadable("values are nested too deeply") from error
    except ValueError as error:
        raise Unreadable(f"invalid JSON: {error}") from error
    return as_record(value)


def as_record(value: object) -> Record:
    """The value itself when it is an object."""
    if not isinstance(value, dict):
        raise Unreadable("the record is not a JSON object")
    return value


def fact_from(record: Record, origin: Origin) -> NewFact:
    """A fact with its id, times, counters, weight, label, tombstone and pin exactly as recorded."""
    fact_id = _identity(record, "id")
    agent_id = _text(record, "agent_id")
    text = _text(record, "text")
    try:
        check_agent_id(agent_id)
        check_text(text)
    except InvalidInput as error:
        raise Unreadable(error.message.rstrip(".")) from error
    created_ns = _time(record, "created_at")
    if created_ns is None:
        raise Unreadable("created_at is missing")
    weight = _number(record, "weight")
    if not 0 <= weight <= 1:
        raise Unreadable(f"weight is {weight!r}, not between 0 and 1")
    return NewFact(
        id=fact_id,
        agent_id=agent_id,
        text=text,
        created_ns=created_ns,
        origin=origin,
        accessed_ns=_time(record, "accessed_at"),
        access_count=_count(record, "access_count"),
        weight=weight,
        superseded_by=_text(record, "superseded_by", default=""),
        confidence=_text(record, "confidence", default=""),
        kind=_text(record, "kind", default=""),
        alias_source=_text(record, "alias_source", default=""),
        pinned=_flag(record, "pinned"),
        pinned_ns=_time(record, "pinned_at"),
    )


def checkpoint_from(raw: bytes) -> NewCheckpoint:
    """A checkpoint with its record's bytes as they are."""
    try:
        checkpoint = read_payload(raw)
    except CheckpointDamaged as error:
        raise Unreadable(str(error.fields["reason"])) from error
    if checkpoint.agent_id.isspace():
        raise Unreadable("agent_id is blank")
    if "\0" in checkpoint.id:
        raise Unreadable("id holds a NUL character")
    return NewCheckpoint(checkpoint, raw)


def entity_from(record: Record) -> Entity:
    """A node of the graph; unknown types and ids are kept."""
    return Entity(
        id=_identity(record, "id"),
        label=_text(record, "label"),
        type=_text(record, "entity_type", default=""),
        first_seen_ns=_time(record, "first_seen"),
        last_seen_ns=_time(record, "last_seen"),
        weight=_graph_weight(record),
        made_by=MADE_BY,
    )


def edge_from(record: Record) -> Edge:
    """An edge of the graph; its ends need not exist."""
    sources = record.get("sources")
    if sources is None:
        sources = []
    if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
        raise Unreadable("sources is not a list of fact ids")
    for source in sources:
        _check_unicode("sources", source)
    return Edge(
        from_id=_identity(record, "from"),
        to_id=_identity(record, "to"),
        relation=_identity(record, "relation"),
        created_ns=_time(record, "created_at"),
        weight=_graph_weight(record),
        made_by=MADE_BY,
        sources=tuple(sources),
    )


def _text(record: Record, name: str, *, default: str | None = None) -> str:
    value = record.get(name)
    if value is None:
        if default is None:
            raise Unreadable(f"{name} is missing")
        return default
    if not isinstance(value, str):
        raise Unreadable(f"{name} is not a text")
    _check_unicode(name, value)
    return value


def _identity(record: Record, name: str) -> str:
    """A text that names something: SQLite's JSON functions, which look ids up, stop at a NUL."""
    value = _text(record, name)
    if not value:
        raise Unreadable(f"{name} is empty")
    if "\0" in value:
        raise Unreadable(f"{name} holds a NUL character")
    return value


def _check_unicode(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Unreadable(f"{name} holds a lone surrogate at character {error.start}") from error


def _time(record: Record, name: str) -> int | None:
    text = _text(record, name, default="0001-01-01T00:00:00Z")
    try:
        at_ns = parse_rfc3339(text)
    except InvalidInput as error:
        raise Unreadable(f"{name} is {error.message}") from error
    if at_ns is not None and abs(at_ns) > _LARGEST - NS_PER_S:
        raise Unreadable(f"{name} is outside the years 1678 to 2261: {text[:40]}")
    return at_ns


def _count(record: Record, name: str) -> int:
    value = record.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unreadable(f"{name} is not a whole number")
    if not 0 <= value <= _LARGEST:
        raise Unreadable(f"{name} is negative or too large")
    return value


def _number(record: Record, name: str) -> float:
    value = record.get(name)
    if value is None:
        return 1.0  # what a memory weighs when it is written
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable(f"{name} is not a number")
    try:
        return float(value)
    except OverflowError as error:
        raise Unreadable(f"{name} is too large") from error


def _graph_weight(record: Record) -> float:
    weight = _number(record, "weight")
    if not math.isfinite(weight) or weight < 0:
        raise Unreadable(f"weight is {weight!r}, not a finite number from 0")
    return weight


def _flag(record: Record, name: str) -> bool:
    value = record.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise Unreadable(f"{name} is neither true nor false")
    return value
