"""Programs that use the store over MCP, and what a person allows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gm_engine.records.facts import Origin

Access = Literal["read", "write", "review", "none"]
Transport = Literal["stdio", "http"]
ACCESSES: tuple[Access, ...] = get_args(Access)
DEFAULT_ACCESS: Access = "write"


@dataclass(frozen=True, slots=True)
class ClientOrigin(Origin):
    """A writer whose every write is held against what a person allows its client; `session` names the connection."""


@dataclass(frozen=True, slots=True)
class Client:
    """One live connection: name and version are what the program said when it connected.

    `reads` and `writes` count tool calls of this connection; they and `seen_ns` are written about once a second.
    `access` is what the client may do where nothing else is said for a namespace.
    """

    id: str
    name: str
    version: str
    pid: int
    transport: str
    since_ns: int
    seen_ns: int
    reads: int
    writes: int
    access: Access = DEFAULT_ACCESS


@dataclass(frozen=True, slots=True)
class Policy:
    """What a client may do in one namespace, or (`agent_id` None) in every one that has no policy of its own.

    `version` is the journal entry that said so: undo that to take it back.
    """

    client: str
    agent_id: str | None
    access: Access
    version: int


@dataclass(frozen=True, slots=True)
class WaitingClient:
    """A client whose writes wait for review, and how many of them do."""

    client: str
    count: int
