"""What clients may do: one row per client and namespace, journalled; and the check that every write of theirs passes.

The empty namespace stands for every one without a row of its own. Without any row a client may read and write.
"""

from __future__ import annotations

from sqlalchemy import Connection

from gm_engine.errors import AccessDenied, ReviewRequired
from gm_engine.records import DEFAULT_ACCESS, Access, ClientOrigin, Policy
from gm_engine.store.rows import fetch
from gm_engine.store.transaction import Transaction, canonical_json

CHANGE_KIND = "policy"
_EVERYWHERE = ""
_HELD = frozenset(("remember", "revise", "retire", "pin", "unpin", "alias", "link"))
_NEVER_HELD = frozenset(("checkpoint", "propose"))
_FIND = "SELECT access FROM policies WHERE client = ? AND agent_id IN (?, '') ORDER BY length(agent_id) = 0 LIMIT 1"


def access_of(connection: Connection, client: str, agent_id: str | None) -> Access:
    """What a client may do in a namespace, or where no namespace is named."""
    rows = fetch(connection, _FIND, (client, agent_id or _EVERYWHERE))
    return rows[0][0] if rows else DEFAULT_ACCESS


def check_write(connection: Connection, origin: ClientOrigin, verb: str, agent_id: str | None) -> None:
    """Raises `AccessDenied` or `ReviewRequired` unless the client may do this at once.

    A client can do no verb but those that are named here; deciding on proposals is none of them.
    """
    access = access_of(connection, origin.client, agent_id)
    if verb not in _HELD | _NEVER_HELD or access in ("none", "read"):
        raise denied(origin.client, agent_id, "write")
    if access == "review" and verb in _HELD:
        raise ReviewRequired("This write waits for a person's review.", client=origin.client, agent_id=agent_id)


def denied(client: str, agent_id: str | None, deed: str) -> AccessDenied:
    """The refusal of a read or write."""
    where = "" if agent_id is None else f" in {agent_id[:200]!r}"
    return AccessDenied(
        f"The person who keeps this memory does not let {client[:100]!r} {deed}{where}.",
        client=client,
        agent_id=agent_id,
    )


def policies(connection: Connection) -> tuple[Policy, ...]:
    """Every stored policy, by client and namespace; the one for everywhere comes first."""
    rows = connection.exec_driver_sql(
        "SELECT client, agent_id, access, version FROM policies ORDER BY client, agent_id"
    )
    return tuple(Policy(row[0], row[1] or None, row[2], row[3]) for row in rows)


def set_policy(tx: Transaction, client: str, agent_id: str | None, access: Access | None) -> bool:
    """Stores and journals a policy, None removes it; whether that changed anything."""
    key = (client, agent_id or _EVERYWHERE)
    row = tx.connection.exec_driver_sql(
        "SELECT access, version FROM policies WHERE client = ? AND agent_id = ?", key
    ).first()
    if (None if row is None else row[0]) == access:
        return False
    if access is None:
        tx.connection.exec_driver_sql("DELETE FROM policies WHERE client = ? AND agent_id = ?", key)
    else:
        tx.connection.exec_driver_sql(
            "INSERT INTO policies(client, agent_id, access, version) VALUES (?, ?, ?, ?)"
            " ON CONFLICT(client, agent_id) DO UPDATE SET access = excluded.access, version = excluded.version",
            (*key, access, tx.seq),
        )
    tx.record(
        CHANGE_KIND,
        canonical_json(list(key)),
        agent_id=agent_id,
        version_before=0 if row is None else row[1],
        version_after=0 if access is None else None,
        before=None if row is None else {"access": row[0]},
        after=None if access is None else {"access": access},
    )
    return True
