"""Checkpoints in the ledger: what agents saved to resume from.

The payload is the record's own JSON, kept byte for byte and never journalled; the other columns are what lists need.
An absent checkpoint is `NotFound`, one that cannot be read is `CheckpointDamaged`, a store that cannot be opened has
its own errors: three different answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from sqlalchemy import Connection

from gm_engine.errors import InvalidInput, NotFound
from gm_engine.records import (
    Checkpoint,
    CheckpointComparison,
    CheckpointSummary,
    JsonChange,
    JsonValue,
    Message,
    Origin,
    Verdict,
)
from gm_engine.store.checkpoint_file import write_checkpoint
from gm_engine.store.checkpoint_payload import check_content, make_payload, read_payload
from gm_engine.store.database import Ledger
from gm_engine.store.facts import check_agent_id
from gm_engine.store.json_changes import json_changes
from gm_engine.store.transaction import Transaction

_NEWEST_FIRST = "ORDER BY created_ns DESC, id DESC"
_SUMMARY = (
    "SELECT id, agent_id, created_ns, message_count, length(payload), restored_from, verdict, note, reviewed_ns,"
    " version FROM checkpoints WHERE deleted = 0"
)
# An undone save left its row behind with version 0, "does not exist": the payload is nowhere else.
_INSERT = (
    "INSERT OR REPLACE INTO checkpoints(id, agent_id, created_ns, payload, message_count, restored_from, version)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_MAX_NOTE = 10_000


@dataclass(frozen=True, slots=True)
class NewCheckpoint:
    """A checkpoint that is not in the ledger yet, with the record's JSON as it was read or made."""

    checkpoint: Checkpoint
    payload: bytes


class Checkpoints:
    """The checkpoints of a store; `memory.checkpoints`.

    Every verb that takes an id raises `NotFound` for one that is absent or deleted. A saved payload never changes:
    what makes something new of a checkpoint saves another one.
    """

    def __init__(self, ledger: Ledger, origin: Origin) -> None:
        self._ledger = ledger
        self._origin = origin

    # --- reading ---------------------------------------------------------------------------------------------------

    def list(self, agent_id: str | None = None) -> tuple[CheckpointSummary, ...]:
        """One agent's checkpoints, or everybody's, newest first."""
        only, values = ("", ()) if agent_id is None else (" AND agent_id = ?", (agent_id,))
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql(f"{_SUMMARY}{only} {_NEWEST_FIRST}", values)
            return tuple(CheckpointSummary(*row) for row in rows)

    def summary(self, checkpoint_id: str) -> CheckpointSummary:
        """One line of the list, readable even where the record is damaged."""
        with self._ledger.read() as connection:
            return _summary(connection, checkpoint_id)

    def load(self, checkpoint_id: str) -> Checkpoint:
        """The whole checkpoint. Raises `NotFound` or `CheckpointDamaged`."""
        return read_payload(self._payload(checkpoint_id), checkpoint_id=checkpoint_id)

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

    def compare(self, before_id: str, after_id: str) -> CheckpointComparison:
        """What became different from one checkpoint to another: state, messages and metadata.

        Raises `NotFound` or, naming the one that cannot be read, `CheckpointDamaged`.
        """
        with self._ledger.read() as connection:
            before, after = _summary(connection, before_id), _summary(connection, after_id)
            payloads = [_payload(connection, each) for each in (before_id, after_id)]
        if payloads[0] == payloads[1]:
            return CheckpointComparison(before, after, ())
        old, new = read_payload(payloads[0], checkpoint_id=before_id), read_payload(payloads[1], checkpoint_id=after_id)
        return CheckpointComparison(before, after, json_changes(_document(old), _document(new)))

    def preview_edit(
        self,
        checkpoint_id: str,
        *,
        state: Mapping[str, JsonValue] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> tuple[JsonChange, ...]:
        """What `edit` with the same arguments would change; nothing is written."""
        found = self.load(checkpoint_id)
        edited = _edited(found, state, metadata)
        check_content(edited.state, edited.messages, edited.metadata)
        return json_changes(_document(found), _document(edited))

    def export(self, checkpoint_id: str, path: Path | str, *, raw: bool = False, overwrite: bool = False) -> int:
        """Writes a checkpoint to a file as indented JSON and returns its size in bytes.

        `raw` writes the stored bytes as they are, so that a damaged record can be rescued. The file appears whole or
        not at all; one that is there is replaced only with `overwrite`. Raises `InvalidInput` where it cannot be
        written, `DiskFull`, and without `raw` `CheckpointDamaged`.
        """
        payload = self._payload(checkpoint_id)
        if not raw:
            read_payload(payload, checkpoint_id=checkpoint_id)
        return write_checkpoint(payload, Path(path), raw=raw, overwrite=overwrite)

    def _payload(self, checkpoint_id: str) -> bytes:
        with self._ledger.read() as connection:
            return _payload(connection, checkpoint_id)

    # --- writing ---------------------------------------------------------------------------------------------------

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
        check_content(state, messages, metadata or {})
        with self._ledger.write("checkpoint", origin=self._origin, agent_id=agent_id) as tx:
            return _insert(tx, agent_id, state=state, messages=messages, metadata=metadata or {})

    def make_current(self, checkpoint_id: str) -> Checkpoint:
        """Saves a copy, which is the agent's newest then and names its origin as `restored_from` in its metadata.

        Raises `CheckpointDamaged` where there is nothing to copy.
        """
        found = self.load(checkpoint_id)
        metadata = {**found.metadata, "restored_from": checkpoint_id}
        return self._derive(found, found.state, metadata, verb="make_current", source=checkpoint_id)

    def edit(
        self,
        checkpoint_id: str,
        *,
        state: Mapping[str, JsonValue] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Checkpoint:
        """Saves a new checkpoint with another state or other metadata; the old one stays as it was.

        What is not given is taken over; `edited_from` in the new metadata names the old one, and a `restored_from`
        that was taken over is dropped. Raises `CheckpointDamaged`, and `InvalidInput` as `save` does, or when nothing
        differs.
        """
        found = self.load(checkpoint_id)
        edited = _edited(found, state, metadata)
        check_content(edited.state, edited.messages, edited.metadata)
        if not json_changes(_document(found), _document(edited)):
            raise InvalidInput("The edited checkpoint is the same as the old one.", field="state")
        kept = {name: value for name, value in edited.metadata.items() if name != "restored_from"}
        kept["edited_from"] = checkpoint_id
        return self._derive(found, edited.state, kept, verb="edit_checkpoint", source=checkpoint_id)

    def _derive(
        self, found: Checkpoint, state: Mapping[str, JsonValue], metadata: Mapping[str, str], *, verb: str, source: str
    ) -> Checkpoint:
        with self._ledger.write(verb, origin=self._origin, agent_id=found.agent_id, detail=source) as tx:
            _summary(tx.connection, source)  # it may have been deleted meanwhile
            return _insert(tx, found.agent_id, state=state, messages=found.messages, metadata=metadata)

    def review(self, checkpoint_id: str, verdict: Verdict | None, *, note: str = "") -> CheckpointSummary:
        """Says what a person thinks of a checkpoint; None takes the verdict back, and with it the note.

        The same verdict and note again change nothing. A damaged checkpoint can be reviewed, too. Raises
        `InvalidInput` for another verdict, or a note that is too long or no text.
        """
        if verdict is not None and verdict not in get_args(Verdict):
            raise InvalidInput(f"A verdict is one of {', '.join(get_args(Verdict))}.", field="verdict")
        _check_note(note)
        agent_id = self.summary(checkpoint_id).agent_id
        with self._ledger.write("review_checkpoint", origin=self._origin, agent_id=agent_id, detail=verdict) as tx:
            found = _summary(tx.connection, checkpoint_id)
            before: dict[str, JsonValue] = {
                "verdict": found.verdict,
                "note": found.note,
                "reviewed_ns": found.reviewed_ns,
            }
            after: dict[str, JsonValue] = {
                "verdict": verdict or "",
                "note": note if verdict else "",
                "reviewed_ns": tx.at_ns if verdict else None,
            }
            if (after["verdict"], after["note"]) == (found.verdict, found.note):
                return found
            _patch(tx, found, before, after)
            return _summary(tx.connection, checkpoint_id)

    def delete(self, checkpoint_id: str) -> CheckpointSummary:
        """Takes a checkpoint off the list, a damaged one too; undoing the entry brings it back.

        Returns its last summary; its `version` is the entry to undo.
        """
        agent_id = self.summary(checkpoint_id).agent_id
        with self._ledger.write("delete_checkpoint", origin=self._origin, agent_id=agent_id) as tx:
            found = _summary(tx.connection, checkpoint_id)
            _patch(tx, found, {"deleted": 0}, {"deleted": 1})
            return replace(found, version=tx.seq)


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


def _absent(checkpoint_id: str) -> NotFound:
    return NotFound(f"There is no checkpoint {checkpoint_id}.", checkpoint_id=checkpoint_id)


def _summary(connection: Connection, checkpoint_id: str) -> CheckpointSummary:
    row = connection.exec_driver_sql(f"{_SUMMARY} AND id = ?", (checkpoint_id,)).first()
    if row is None:
        raise _absent(checkpoint_id)
    return CheckpointSummary(*row)


def _payload(connection: Connection, checkpoint_id: str) -> bytes:
    row = connection.exec_driver_sql(
        "SELECT payload FROM checkpoints WHERE id = ? AND deleted = 0", (checkpoint_id,)
    ).first()
    if row is None:
        raise _absent(checkpoint_id)
    return bytes(row[0])


def _insert(
    tx: Transaction,
    agent_id: str,
    *,
    state: Mapping[str, JsonValue],
    messages: Sequence[Message],
    metadata: Mapping[str, str],
) -> Checkpoint:
    """Makes one checkpoint of this moment and returns it as it will be read back."""
    checkpoint_id = tx.clock.new_id(tx.at_ns)
    payload = make_payload(checkpoint_id, agent_id, tx.at_ns, state=state, messages=messages, metadata=metadata)
    new = NewCheckpoint(read_payload(payload), payload)
    insert_checkpoints(tx, (new,))
    return new.checkpoint


def _patch(
    tx: Transaction, found: CheckpointSummary, before: dict[str, JsonValue], after: dict[str, JsonValue]
) -> None:
    """Changes columns of one row and journals it."""
    settings = ", ".join(f"{name} = ?" for name in after)
    tx.connection.exec_driver_sql(
        f"UPDATE checkpoints SET {settings}, version = ? WHERE id = ?", (*after.values(), tx.seq, found.id)
    )
    tx.record("checkpoint", found.id, agent_id=found.agent_id, version_before=found.version, before=before, after=after)


def _document(checkpoint: Checkpoint) -> dict[str, JsonValue]:
    """What two checkpoints are compared by."""
    return {
        "state": dict(checkpoint.state),
        "messages": [{"role": message.role, "content": message.content} for message in checkpoint.messages],
        "metadata": dict(checkpoint.metadata),
    }


def _edited(found: Checkpoint, state: Mapping[str, JsonValue] | None, metadata: Mapping[str, str] | None) -> Checkpoint:
    return replace(
        found,
        state=found.state if state is None else state,
        metadata=found.metadata if metadata is None else metadata,
    )


def _check_note(note: str) -> None:
    if len(note) > _MAX_NOTE:
        raise InvalidInput(f"A note has at most {_MAX_NOTE:,} characters.", field="note")
    try:
        note.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("The note holds a lone surrogate.", field="note") from error
