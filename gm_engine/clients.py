"""The clients of a store: who is connected over MCP, what each may do, and what a server tells about them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from gm_engine.consolidation.inbox import BulkDecision, Inbox
from gm_engine.errors import DiskFull, InvalidInput, StoreBusy
from gm_engine.records import ACCESSES, Access, Client, ClientOrigin, Origin, Policy, Transport, WaitingClient
from gm_engine.store import clients as rows
from gm_engine.store import policies
from gm_engine.store.database import Ledger
from gm_engine.store.facts import check_agent_id
from gm_engine.store.policies import access_of, denied
from gm_engine.store.proposals import waiting_clients

MAX_NAME = 200


class Clients:
    """`memory.clients`. A client is known by the name it gave when it connected.

    What it may do is said per client and namespace: `write` (the default), `review` (reads at once, writes wait in the
    inbox), `read`, or `none`. Running servers look it up in the transaction of each call, so a change holds at once.
    """

    def __init__(self, ledger: Ledger, *, origin: Origin, inbox: Inbox) -> None:
        self._ledger = ledger
        self._origin = origin
        self._inbox = inbox

    # --- for a person ----------------------------------------------------------------------------------------------

    def list(self) -> tuple[Client, ...]:
        """The live connections, oldest first, with their counts; those of servers that died are not among them."""
        with self._ledger.read() as connection:
            return rows.live_clients(connection)

    def access(self, client: str, agent_id: str | None = None) -> Access:
        """What a client may do in a namespace; without one, where nothing else is said."""
        with self._ledger.read() as connection:
            return access_of(connection, client, agent_id)

    def policies(self) -> tuple[Policy, ...]:
        """Everything that was said about clients, connected or not, by client; the rule for everywhere first."""
        with self._ledger.read() as connection:
            return policies.policies(connection)

    def set_access(self, client: str, agent_id: str | None, access: Access | None) -> int | None:
        """Says what a client may do in a namespace, or (None) in every one without a rule of its own.

        None as `access` takes the rule away. Returns the journal seq to undo, None when it was so already. Raises
        `InvalidInput` for a blank client or namespace or another word.
        """
        _check(client, agent_id, access)
        with self._ledger.write("access", origin=self._origin, agent_id=agent_id, detail=client) as tx:
            return tx.seq if policies.set_policy(tx, client, agent_id, access) else None

    def waiting(self) -> tuple[WaitingClient, ...]:
        """The clients whose writes wait for review (open or put off), and how many; by name."""
        with self._ledger.read() as connection:
            return waiting_clients(connection)

    def always_accept(self, client: str, agent_id: str | None = None) -> BulkDecision:
        """Lets a client write at once from now on, and accepts what waits from it: one user action, one undo.

        With a namespace only there; without one its rules that ask for review are taken away, too. What cannot be
        carried out is left and named.
        """
        _check(client, agent_id, "write")
        with self._ledger.write("access", origin=self._origin, agent_id=agent_id, detail=client) as tx:
            held = [each for each in policies.policies(tx.connection) if each.client == client]
            did = [policies.set_policy(tx, client, agent_id, "write")]
            if agent_id is None:
                did += [
                    policies.set_policy(tx, client, p.agent_id, None)
                    for p in held
                    if p.agent_id and p.access == "review"
                ]
            seq = tx.seq if any(did) else None
            group_id = None if seq is None else tx.group_id
        waiting = self._inbox.list("waiting", source="review", client=client, agent_id=agent_id)
        done = self._inbox.accept_many([each.id for each in waiting], group_id=group_id)
        return BulkDecision(done.accepted, done.left, done.seq if seq is None else seq)

    # --- for a server ----------------------------------------------------------------------------------------------

    def connect(self, name: str, version: str, transport: Transport) -> ClientOrigin:
        """Registers a connection of this process and returns the origin of what it writes.

        Name and version are kept as far as they are printable, at most 200 characters; a client without a name is
        called `unnamed`. The connection's id is the second part of the origin's session: `stdio 01K…`.
        """
        now = self._ledger.clock.now_ns()
        client_id = self._ledger.clock.new_id(now)
        name, version = printable_name(name) or "unnamed", printable_name(version)
        client = Client(client_id, name, version, os.getpid(), transport, now, now, 0, 0)
        # being listed is a courtesy: a busy or full disk must not keep a client out
        with suppress(StoreBusy, DiskFull), self._ledger.bookkeep() as connection:
            rows.register_client(connection, client)
        return ClientOrigin("mcp", client=name, client_version=version, session=f"{transport} {client_id}")

    def disconnect(self, origin: ClientOrigin) -> None:
        """Takes a connection off the list."""
        with self._ledger.bookkeep() as connection:
            rows.unregister(connection, connection_id(origin))

    def count(self, calls: Mapping[ClientOrigin, tuple[int, int]]) -> None:
        """Adds (reads, writes) to connections."""
        with self._ledger.bookkeep() as connection:
            counted = {connection_id(origin): both for origin, both in calls.items()}
            rows.count_calls(connection, counted, at_ns=self._ledger.clock.now_ns())

    def check_read(self, origin: ClientOrigin, agent_id: str) -> None:
        """Raises `AccessDenied` when the client may not read a namespace."""
        if self.access(origin.client, agent_id) == "none":
            raise denied(origin.client, agent_id, "read")


def printable_name(name: str) -> str:
    """A name from outside, on one line: what cannot be printed is left out."""
    return " ".join("".join(c if c.isprintable() else " " for c in name[: 4 * MAX_NAME]).split())[:MAX_NAME]


def connection_id(origin: ClientOrigin) -> str:
    """The id of the connection that an origin belongs to."""
    return origin.session.rpartition(" ")[2]


def _check(client: str, agent_id: str | None, access: Access | None) -> None:
    if not client.strip():
        raise InvalidInput("The client has no name.", field="client")
    if agent_id is not None:
        check_agent_id(agent_id)
    if access is not None and access not in ACCESSES:
        raise InvalidInput(f"What a client may do is one of {', '.join(ACCESSES)}.", field="access")
