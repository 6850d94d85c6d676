"""What agents saved to resume from, what a person thought of it, and how two of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gm_engine.records.facts import JsonValue

Verdict = Literal["approved", "rejected", "needs_work"]
VERDICTS: tuple[Verdict, ...] = ("approved", "needs_work", "rejected")
JsonPath = tuple[str | int, ...]
JsonChangeKind = Literal["added", "removed", "changed", "moved"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a checkpoint's conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class CheckpointSummary:
    """One line of a checkpoint list. `message_count` is None when the record is damaged.

    `verdict` is empty until somebody reviewed it; `restored_from` names the checkpoint that it is a copy of.
    """

    id: str
    agent_id: str
    created_ns: int
    message_count: int | None
    size_bytes: int
    restored_from: str | None = None
    verdict: str = ""
    note: str = ""
    reviewed_ns: int | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What an agent saved to resume from."""

    id: str
    agent_id: str
    created_ns: int
    state: Mapping[str, JsonValue]
    messages: tuple[Message, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JsonChange:
    """One difference between two JSON documents.

    `path` leads to it: in the newer document, but for a removed value, which only the older one has. `before` is None
    for an added value, `after` for a removed one. A moved list item is the same value in another place: `moved_from`
    is where it was.
    """

    path: JsonPath
    kind: JsonChangeKind
    before: JsonValue = None
    after: JsonValue = None
    moved_from: JsonPath | None = None


@dataclass(frozen=True, slots=True)
class CheckpointComparison:
    """What became different from one checkpoint to another, in the order of the documents.

    Paths begin with `state`, `messages` or `metadata`.
    """

    before: CheckpointSummary
    after: CheckpointSummary
    changes: tuple[JsonChange, ...]

    def count(self, kind: JsonChangeKind) -> int:
        """How many changes are of one kind."""
        return sum(change.kind == kind for change in self.changes)


def json_pointer(path: JsonPath) -> str:
    """A path as RFC 6901 writes it: `/state/open/0`."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
