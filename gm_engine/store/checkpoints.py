"""Checkpoints in the ledger: what agents saved to resume from.

The payload is the record's own JSON, kept byte for byte and never journalled; the other columns are what lists need.
An absent checkpoint is `NotFound`, one that cannot be read is `CheckpointDamaged`, a store that cannot be opened has
its own errors: three different answers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from sqlalchemy import Connection

from gm_engine.clock import format_ns, parse_rfc3339
from gm_engine.errors import CheckpointDamaged, InvalidInput, NotFound
from gm_engine.records import Checkpoint, CheckpointSummary, JsonValue, Message, Origin
from gm_engine.store.database import Ledger
from gm_engine.store.facts import check_agent_id
from gm_engine.store.transaction import Transaction

_MAX_DEPTH = 200
_NEWEST_FIRST = "ORDER BY created_ns DESC, id DESC"
_SUMMARY = "SELECT id, agent_id, created_ns, message_count, length(payload) FROM checkpoints WHERE deleted = 0"
# An undone save left its row behind with version 0, "does not exist": the payload is nowhere else.
_INSERT = (
    "INSERT OR REPLACE INTO checkpoints(id, agent_id, created_ns, payload, message_count, restored_from, version)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True, slots=True)
class NewCheckpoint:
    """A checkpoint that is not in the ledger yet, with the record's JSON as it was read or made."""

    checkpoint: Checkpoint
    payload: bytes


class Checkpoints:
    """The checkpoints of a store; `memory.checkpoints`."""

    def __init__(self, ledger: Ledger, origin: Origin) -> None:
        self._ledger = ledger
        self._origin = origin

    def save(
        self,
        agent_id: str,
        *,
        state: Mapping[str, JsonValue],
        messages: Sequence[Message] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> Checkpoint:
        """Commits a new checkpoint and returns it as it will be read back.

        Integers of any size are kept exactly. Raises `InvalidInput` for a blank agent, for what JSON cannot hold (NaN,
        infinities, keys that are no text, lone surrogates) and for values nested more than 200 deep.
        """
        check_agent_id(agent_id)
        for name, value in (
            ("state", dict(state)),
            ("messages", [{"role": m.role, "content": m.content} for m in messages]),
            ("metadata", dict(metadata or {})),
        ):
            _check_json(name, value)
        if not all(isinstance(value, str) for value in (metadata or {}).values()):
            raise InvalidInput("The metadata of a checkpoint are texts only.", field="metadata")
        with self._ledger.write("checkpoint", origin=self._origin, agent_id=agent_id) as tx:
            checkpoint_id = tx.clock.new_id(tx.at_ns)
            record: dict[str, object] = {"id": checkpoint_id, "agent_id": agent_id, "created_at": format_ns(tx.at_ns)}
            record["state"] = state
            record["messages"] = [{"role": m.role, "content": m.content} for m in messages]
            record["metadata"] = dict(metadata or {})
            payload = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
            new = NewCheckpoint(read_payload(payload), payload)
            insert_checkpoints(tx, (new,))
        return new.checkpoint

    def list(self, agent_id: str | None = None) -> tuple[CheckpointSummary, ...]:
        """One agent's checkpoints, or everybody's, newest first."""
        only, values = ("", ()) if agent_id is None else (" AND agent_id = ?", (agent_id,))
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql(f"{_SUMMARY}{only} {_NEWEST_FIRST}", values)
            return tuple(CheckpointSummary(*row) for row in rows)

    def load(self, checkpoint_id: str) -> Checkpoint:
        """The whole checkpoint. Raises `NotFound` or `CheckpointDamaged`."""
        with self._ledger.read() as connection:
            row = connection.exec_driver_sql(
                "SELECT payload FROM checkpoints WHERE id = ? AND deleted = 0", (checkpoint_id,)
            ).first()
        if row is None:
            raise NotFound(f"There is no checkpoint {checkpoint_id}.", checkpoint_id=checkpoint_id)
        return read_payload(row[0], checkpoint_id=checkpoint_id)

    def latest(self, agent_id: str) -> Checkpoint:
        """The agent's newest checkpoint. Raises `NotFound` when it has none, `CheckpointDamaged` when it is damaged."""
        newest = self.list(agent_id)[:1]
        if not newest:
            raise NotFound(f"{agent_id!r} has no checkpoint.", agent_id=agent_id)
        return self.load(newest[0].id)

    def agents(self) -> tuple[str, ...]:
        """The agents that have a checkpoint, in order of their names' code points."""
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql("SELECT DISTINCT agent_id FROM checkpoints WHERE deleted = 0")
            return tuple(sorted(row[0] for row in rows))


def insert_checkpoints(tx: Transaction, new: Sequence[NewCheckpoint]) -> None:
    """Writes checkpoints whose ids are new in the store, and journals them without their payload."""
    for item in new:
        made = item.checkpoint
        after: dict[str, JsonValue] = {
            "agent_id": made.agent_id,
            "created_ns": made.created_ns,
            "message_count": len(made.messages),
            "restored_from": made.metadata.get("restored_from") or None,
        }
        values = (made.id, made.agent_id, made.created_ns, item.payload, len(made.messages), after["restored_from"])
        tx.connection.exec_driver_sql(_INSERT, (*values, tx.seq))
        tx.record("checkpoint", made.id, agent_id=made.agent_id, version_before=0, before=None, after=after)


def stored_payloads(connection: Connection, ids: Sequence[str]) -> dict[str, bytes]:
    """The payloads of those of `ids` that the store has, deleted ones included, but not undone ones."""
    rows = connection.exec_driver_sql(
        "SELECT id, payload FROM checkpoints WHERE version > 0 AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {row[0]: bytes(row[1]) for row in rows}


def read_payload(payload: bytes, *, checkpoint_id: str = "") -> Checkpoint:
    """The checkpoint that a record's JSON holds; `CheckpointDamaged` with the reason when it holds none.

    Integers stay exact. A missing `state`, `messages` or `metadata` reads as empty.
    """
    try:
        value = json.loads(payload.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()
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
        if depth > _MAX_DEPTH:
            raise InvalidInput(f"The {name} of a checkpoint is nested more than {_MAX_DEPTH} deep.", field=name)
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
