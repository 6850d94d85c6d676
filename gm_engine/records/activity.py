"""The journal as a person reads it: one entry per user action, without the images of large groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gm_engine.records.facts import Channel, JsonValue, Origin


@dataclass(frozen=True, slots=True)
class ActivityQuery:
    """Which actions to list. None and empty mean any; times are half-open.

    `client` is the exact name that a program gave itself (empty for one that gave none) and asks for `channel`, too.
    `target` is a fact, checkpoint, entity or other id that the action changed.
    """

    channel: Channel | None = None
    client: str | None = None
    agent_id: str | None = None
    verbs: frozenset[str] = frozenset()
    from_ns: int | None = None
    until_ns: int | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class ActivityTarget:
    """One thing that an action changed. `text` is the start of a fact's text or an entity's name, then or now.

    `before` and `after` hold the other changed columns; `is_new` and `is_gone` say that the action made or removed it.
    """

    kind: str
    target: str
    agent_id: str | None
    text: str
    before: Mapping[str, JsonValue]
    after: Mapping[str, JsonValue]
    is_new: bool
    is_gone: bool


@dataclass(frozen=True, slots=True)
class ActivityEntry:
    """One user action: the journal entries of one group, named by the first of them.

    `changes` counts all of its changes, `targets` are the first few. `undone_verb` is what an undo took back, and
    `is_redo` says that it took back an undo. `is_undone` says that this action is not in effect any more.
    """

    seq: int
    last_seq: int
    at_ns: int
    verb: str
    agent_id: str | None
    group_id: str
    actor: Origin
    detail: str | None
    changes: int
    targets: tuple[ActivityTarget, ...]
    undoes: str | None = None
    undone_verb: str = ""
    is_redo: bool = False
    is_undone: bool = False


@dataclass(frozen=True, slots=True)
class Writer:
    """A program that wrote into the store: how many journal entries, and when the last one."""

    channel: Channel
    client: str
    entries: int
    last_ns: int
