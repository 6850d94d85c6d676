"""Values that must never be stored again: their keys, the check that every writer goes through, counted attempts.

Two texts are the same value when they are equal after NFC normalisation and with every run of white space folded to
one space. Case, digits and superscripts are never folded: `x²` is not `x2`.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from gm_engine.errors import BlockedValue
from gm_engine.records import Block, BlockedAttempt, JsonValue, Origin
from gm_engine.store.transaction import Transaction, canonical_json

EVERY_AGENT = ""
_KEY_BYTES = 16
_ASKED_AT_ONCE = 500
_BLOCK = (
    "SELECT b.block_key, b.agent_id, b.text, b.created_ns, b.version,"
    " (SELECT coalesce(sum(a.count), 0) FROM blocked_attempts a WHERE a.block_key = b.block_key) FROM blocked b"
)
_ROW = "block_key = ? AND agent_id = ?"


def folded(text: str) -> str:
    """The normal form that decides whether two texts are the same value."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def block_key(text: str) -> bytes:
    """The first 16 bytes of the SHA-256 of the normal form."""
    return hashlib.sha256(folded(text).encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]


def anything_blocked(connection: Connection) -> bool:
    """Whether there is any block at all: most stores have none."""
    return bool(connection.exec_driver_sql("SELECT EXISTS(SELECT 1 FROM blocked)").scalar_one())


def blocked_keys(connection: Connection, texts: Sequence[tuple[str, str]]) -> list[bytes | None]:
    """For each (agent, text) the key of the block that forbids it, None where nothing does."""
    if not anything_blocked(connection):
        return [None] * len(texts)
    keys = [block_key(text) for _, text in texts]
    blocks = _blocks_of(connection, keys)
    return [
        key if (key, EVERY_AGENT) in blocks or (key, agent_id) in blocks else None
        for key, (agent_id, _) in zip(keys, texts, strict=True)
    ]


def _blocks_of(connection: Connection, keys: Sequence[bytes]) -> set[tuple[bytes, str]]:
    found: set[tuple[bytes, str]] = set()
    distinct = list(dict.fromkeys(keys))
    for start in range(0, len(distinct), _ASKED_AT_ONCE):
        part = distinct[start : start + _ASKED_AT_ONCE]
        marks = ", ".join("?" for _ in part)
        rows = connection.exec_driver_sql(
            f"SELECT block_key, agent_id FROM blocked WHERE block_key IN ({marks})", tuple(part)
        )
        found.update((bytes(row[0]), row[1]) for row in rows)
    return found


def refuse_blocked(connection: Connection, texts: Sequence[tuple[str, str]]) -> None:
    """Raises `BlockedValue` when one of the (agent, text) pairs must not be stored."""
    refused = [key for key in blocked_keys(connection, texts) if key is not None]
    if refused:
        raise BlockedValue(
            "This text is blocked: somebody asked never to store it again.", keys=tuple(key.hex() for key in refused)
        )


def count_attempts(connection: Connection, keys: Iterable[str], origin: Origin, *, at_ns: int) -> None:
    """Counts refused writes of blocked values (their keys in hexadecimal) for the client that tried."""
    client = origin.client or origin.channel
    rows = [(bytes.fromhex(key), client, count, at_ns) for key, count in Counter(keys).items()]
    if rows:
        connection.exec_driver_sql(
            "INSERT INTO blocked_attempts(block_key, client, count, last_ns) VALUES (?, ?, ?, ?)"
            " ON CONFLICT(block_key, client) DO UPDATE SET count = count + excluded.count, last_ns = excluded.last_ns",
            rows,
        )


def blocks(connection: Connection) -> tuple[Block, ...]:
    """Every blocked value, newest first."""
    rows = connection.exec_driver_sql(f"{_BLOCK} ORDER BY b.created_ns DESC, b.block_key, b.agent_id")
    return tuple(_block(row) for row in rows)


def find_block(connection: Connection, key: bytes, agent_id: str | None) -> Block | None:
    """The block with that key for everybody, or for one agent."""
    row = connection.exec_driver_sql(
        f"{_BLOCK} WHERE b.block_key = ? AND b.agent_id = ?", (key, agent_id or EVERY_AGENT)
    ).first()
    return None if row is None else _block(row)


def _block(row: Sequence[object]) -> Block:
    key, agent_id, text, created_ns, version, attempts = row
    return Block(
        key=bytes(key).hex() if isinstance(key, bytes) else str(key),
        agent_id=str(agent_id) or None,
        text=None if text is None else str(text),
        created_ns=int(str(created_ns)),
        version=int(str(version)),
        attempts=int(str(attempts)),
    )


def attempts(connection: Connection) -> tuple[BlockedAttempt, ...]:
    """Who tried to store blocked values, latest first."""
    rows = connection.exec_driver_sql(
        "SELECT block_key, client, count, last_ns FROM blocked_attempts ORDER BY last_ns DESC, client, block_key"
    )
    return tuple(BlockedAttempt(bytes(row[0]).hex(), row[1], row[2], row[3]) for row in rows)


def insert_block(tx: Transaction, text: str, agent_id: str | None) -> None:
    """Blocks a value and journals it; a value that is blocked already stays as it is."""
    _insert(tx, block_key(text), text, agent_id)


def block_without_text(tx: Transaction, key: bytes) -> None:
    """Blocks a value for everybody by its key alone, and journals it: what a purge leaves."""
    _insert(tx, key, None, None)


def _insert(tx: Transaction, key: bytes, text: str | None, agent_id: str | None) -> None:
    if find_block(tx.connection, key, agent_id) is not None:
        return
    tx.connection.exec_driver_sql(
        "INSERT INTO blocked(block_key, agent_id, text, created_ns, version) VALUES (?, ?, ?, ?, ?)",
        (key, agent_id or EVERY_AGENT, text, tx.at_ns, tx.seq),
    )
    image: dict[str, JsonValue] = {"text": text, "created_ns": tx.at_ns}
    tx.record("blocked", block_target(key, agent_id), agent_id=agent_id, version_before=0, before=None, after=image)


def delete_block(tx: Transaction, block: Block) -> None:
    """Unblocks a value and journals it."""
    key = bytes.fromhex(block.key)
    tx.connection.exec_driver_sql(f"DELETE FROM blocked WHERE {_ROW}", (key, block.agent_id or EVERY_AGENT))
    tx.record(
        "blocked",
        block_target(key, block.agent_id),
        agent_id=block.agent_id,
        version_before=block.version,
        version_after=0,
        before={"text": block.text, "created_ns": block.created_ns},
        after=None,
    )


def block_target(key: bytes, agent_id: str | None) -> str:
    """How the journal names a block: the JSON array of its key in hexadecimal and its agent."""
    return canonical_json([key.hex(), agent_id or EVERY_AGENT])
