"""One write to the ledger: the journal row, its changes, and the moment they share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from gm_engine.clock import Clock
from gm_engine.records import JsonValue, Origin

_ACTOR = "SELECT id FROM actors WHERE channel = ? AND client = ? AND client_version = ? AND session = ?"
_NEW_ACTOR = "INSERT INTO actors(channel, client, client_version, session) VALUES (?, ?, ?, ?)"
_NEW_ENTRY = (
    "INSERT INTO journal(at_ns, verb, agent_id, group_id, actor_id, undoes, detail) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_NEW_CHANGE = (
    "INSERT INTO changes(seq, n, kind, target, agent_id, version_before, version_after, before, after)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_REVERSAL = (
    "INSERT INTO changes(seq, n, kind, target, agent_id, version_before, version_after, before, after)"
    " SELECT ?, ? - 1 + row_number() OVER (ORDER BY seq DESC, n DESC),"
    " kind, target, agent_id, version_after, version_before, after, before"
    " FROM changes WHERE seq IN (SELECT value FROM json_each(?))"
)
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def canonical_json(value: object) -> str:
    """JSON with sorted keys, no white space and every character as itself: equal values give equal bytes."""
    return _ENCODER.encode(value)


class Transaction:
    """What a verb writes through. The journal row appears with the first `seq` or `record`."""

    def __init__(
        self,
        connection: Connection,
        *,
        clock: Clock,
        verb: str,
        origin: Origin,
        agent_id: str | None,
        group_id: str | None,
        undoes: str | None,
        detail: str | None,
    ) -> None:
        self.connection = connection
        self.clock = clock
        self.origin = origin
        newest = connection.exec_driver_sql("SELECT at_ns FROM journal ORDER BY seq DESC LIMIT 1").scalar()
        self.at_ns: int = max(clock.now_ns(), newest or 0)
        self.group_id = group_id or clock.new_id(self.at_ns)
        self._header = (verb, agent_id, self.group_id, undoes, detail)
        self._seq: int | None = None
        self._actor_id: int | None = None
        self._changes: list[tuple[object, ...]] = []
        self._count = 0

    @property
    def actor_id(self) -> int:
        """The row of this transaction's origin in `actors`."""
        if self._actor_id is None:
            self._actor_id = actor_id(self.connection, self.origin)
        return self._actor_id

    @property
    def seq(self) -> int:
        """The journal seq of this transaction; asking for it writes the journal row."""
        if self._seq is None:
            verb, agent_id, group_id, undoes, detail = self._header
            row = (self.at_ns, verb, agent_id, group_id, self.actor_id, undoes, detail)
            self._seq = int(self.connection.exec_driver_sql(_NEW_ENTRY, row).lastrowid)
        return self._seq

    def record(
        self,
        kind: str,
        target: str,
        *,
        agent_id: str | None,
        version_before: int,
        version_after: int | None = None,
        before: Mapping[str, JsonValue] | None,
        after: Mapping[str, JsonValue] | None,
    ) -> None:
        """Adds one change; `version_after` defaults to this transaction's seq, images hold the changed columns."""
        version = self.seq if version_after is None else version_after
        images = tuple(None if image is None else canonical_json(image) for image in (before, after))
        self._changes.append((self.seq, self._count, kind, target, agent_id, version_before, version, *images))
        self._count += 1

    def record_reversal(self, seqs: Sequence[int], agent_ids: Mapping[int, str]) -> None:
        """Adds the changes of entries with before and after exchanged, newest first.

        `agent_ids` names the namespace of a change, by its place, where that is another one than the old change names.
        """
        self.flush()
        first, journal_seq = self._count, self.seq
        self._count += self.connection.exec_driver_sql(_REVERSAL, (journal_seq, first, json.dumps(list(seqs)))).rowcount
        moved = [(agent_id, journal_seq, first + place) for place, agent_id in agent_ids.items()]
        if moved:
            self.connection.exec_driver_sql("UPDATE changes SET agent_id = ? WHERE seq = ? AND n = ?", moved)

    def flush(self) -> None:
        """Writes the collected changes; called once more before the commit."""
        if self._changes:
            self.connection.exec_driver_sql(_NEW_CHANGE, self._changes)
            self._changes = []


def actor_id(connection: Connection, origin: Origin) -> int:
    """The row of `origin` in `actors`, made when it is new."""
    key = (origin.channel, origin.client, origin.client_version, origin.session)
    found = connection.exec_driver_sql(_ACTOR, key).scalar()
    return int(connection.exec_driver_sql(_NEW_ACTOR, key).lastrowid if found is None else found)
