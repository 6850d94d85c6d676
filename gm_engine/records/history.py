"""The journal, what changed, and values that must not come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gm_engine.records.facts import Fact, JsonValue, Origin


@dataclass(frozen=True, slots=True)
class Change:
    """One target of a journal entry.

    `before` and `after` hold the changed columns, all of them when the target was created or removed.
    """

    kind: str
    target: str
    agent_id: str | None
    version_before: int
    version_after: int
    before: Mapping[str, JsonValue] | None
    after: Mapping[str, JsonValue] | None


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One committed verb. Entries of one user action share `group_id`; `undoes` is the group that this one undid."""

    seq: int
    at_ns: int
    verb: str
    agent_id: str | None
    group_id: str
    actor: Origin
    undoes: str | None
    detail: str | None
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed after one journal seq up to `seq`: the namespaces, the facts, and the kinds of record."""

    seq: int
    agent_ids: frozenset[str] = frozenset()
    fact_ids: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.kinds)


@dataclass(frozen=True, slots=True)
class Block:
    """A value that must never be stored again, by anybody or by one agent.

    `key` is the hash of its normal form in hexadecimal; `text` is None once the text was purged. `attempts` counts the
    refused writes.
    """

    key: str
    agent_id: str | None
    text: str | None
    created_ns: int
    version: int
    attempts: int


@dataclass(frozen=True, slots=True)
class BlockedAttempt:
    """How often a client tried to store a blocked value, and when it did last."""

    key: str
    client: str
    count: int
    last_ns: int


DifferenceKind = Literal["added", "removed", "retired", "restored", "moved", "changed"]


@dataclass(frozen=True, slots=True)
class FactDifference:
    """How one fact differs between two moments: what happened to it, and the fact at both (None: it did not exist).

    `changed` stands for anything else that the journal keeps: label, pin, what it was replaced by.
    """

    fact_id: str
    kinds: tuple[DifferenceKind, ...]
    before: Fact | None
    after: Fact | None
