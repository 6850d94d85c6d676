"""Values that agents must never store again: adding, removing, listing."""

from __future__ import annotations

from sqlalchemy import Connection

from gm_engine.errors import NotFound
from gm_engine.records import Block, BlockedAttempt, Origin
from gm_engine.store import blocked
from gm_engine.store.database import Ledger
from gm_engine.store.facts import check_agent_id, check_text

_KEY_DIGITS = 32


class Blocked:
    """The blocked values of a store; `memory.blocked`.

    A value is a text up to NFC normalisation and white space, never up to case or digits. A block holds for every
    agent unless one is named. Whoever writes a blocked value, by whatever path, gets `BlockedValue`, and is counted.
    """

    def __init__(self, ledger: Ledger, origin: Origin) -> None:
        self._ledger = ledger
        self._origin = origin

    def add(self, text: str, agent_id: str | None = None) -> Block:
        """Blocks a value; one that is blocked already stays as it is. Facts that hold it now are left alone.

        Undoing the entry unblocks. Raises `InvalidInput` for a blank text or agent.
        """
        check_text(text)
        if agent_id is not None:
            check_agent_id(agent_id)
        with self._ledger.write("block", origin=self._origin, agent_id=agent_id) as tx:
            blocked.insert_block(tx, text, agent_id)
            return _found(tx.connection, text, agent_id)

    def change(self, value: str, text: str, *, agent_id: str | None = None, to_agent: str | None = None) -> Block:
        """Blocks `text` for `to_agent` in place of a blocked text or key (of `agent_id`), in one step.

        `NotFound` when that is not blocked, `InvalidInput` for a blank text or agent.
        """
        check_text(text)
        if to_agent is not None:
            check_agent_id(to_agent)
        with self._ledger.write("block", origin=self._origin, agent_id=to_agent) as tx:
            old = _found(tx.connection, value, agent_id)
            if (old.key, old.agent_id) == (blocked.block_key(text).hex(), to_agent) and old.text == text:
                return old
            blocked.delete_block(tx, old)
            blocked.insert_block(tx, text, to_agent)
            return _found(tx.connection, text, to_agent)

    def remove(self, value: str, agent_id: str | None = None) -> Block:
        """Unblocks a text, or the value with that key; returns what was removed.

        `agent_id` names the block of one agent; without it the one for everybody. `NotFound` when there is none.
        """
        with self._ledger.write("unblock", origin=self._origin, agent_id=agent_id) as tx:
            found = _found(tx.connection, value, agent_id)
            blocked.delete_block(tx, found)
        return found

    def list(self) -> tuple[Block, ...]:
        """Every blocked value with the number of attempts to store it, newest first."""
        with self._ledger.read() as connection:
            return blocked.blocks(connection)

    def attempts(self) -> tuple[BlockedAttempt, ...]:
        """Refused attempts by value and client, latest first; also of values that are no longer blocked."""
        with self._ledger.read() as connection:
            return blocked.attempts(connection)


def _found(connection: Connection, value: str, agent_id: str | None) -> Block:
    """The block of a text or of a key."""
    found = blocked.find_block(connection, blocked.block_key(value), agent_id)
    if found is None and (key := _as_key(value)) is not None:
        found = blocked.find_block(connection, key, agent_id)
    if found is None:
        where = "" if agent_id is None else f" for {agent_id!r}"
        raise NotFound(f"That value is not blocked{where}.", value=value[:200], agent_id=agent_id)
    return found


def _as_key(value: str) -> bytes | None:
    if len(value) != _KEY_DIGITS:
        return None
    try:
        return bytes.fromhex(value)
    except ValueError:
        return None
