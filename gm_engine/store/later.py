"""What happened to records after a journal entry, walked back to how each of them was then."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection

from gm_engine.garbage import without_collecting
from gm_engine.store.rows import fetch

_IMPORTS = "SELECT seq FROM journal WHERE verb = 'import' AND seq > ?"
_LATER = (
    "SELECT kind, target, seq, n, version_before, before IS NULL, after IS NULL FROM changes"
    " WHERE seq > ? AND {which} ORDER BY seq, n"
)
_OF_KINDS = "+kind IN (SELECT value FROM json_each(?))"
_OF_TARGETS = "kind = ? AND target IN (SELECT value FROM json_each(?))"
_BEFORE = (
    "SELECT seq, n, before FROM changes WHERE before IS NOT NULL"
    " AND seq IN (SELECT value FROM json_each(?)) ORDER BY seq, n"
)
_SHORT = 100  # characters of an image that may well come again


@dataclass(slots=True)
class State:
    """What later changes say about a target: columns that differ from the present row, or make up the whole row."""

    columns: dict[str, Any] = field(default_factory=dict)
    version: int = 0
    whole: bool = False
    exists: bool = True


@dataclass(slots=True)
class Later:
    """The targets of one kind that changed otherwise than by an import, and those that an import brought."""

    states: dict[str, State] = field(default_factory=dict)
    imported: list[str] = field(default_factory=list)


@without_collecting()
def later_changes(
    connection: Connection, seq: int, kinds: Sequence[str], *, targets: Sequence[str] | None = None
) -> dict[str, Later]:
    """By kind, what changed after the entry `seq`; with `targets`, of a single kind, only these.

    Oldest first: what a change says of a column holds against all later ones, and the change that made or removed a
    target has the last word. So most images of a long history need not be read.
    """
    found = {kind: Later() for kind in kinds}
    imports = frozenset(connection.exec_driver_sql(_IMPORTS, (seq,)).scalars())
    if targets is None:
        rows = fetch(connection, _LATER.format(which=_OF_KINDS), (seq, json.dumps(list(kinds))))
    else:
        named = (seq, *kinds, json.dumps(list(targets)))
        rows = fetch(connection, _LATER.format(which=_OF_TARGETS), named)
    settled: set[tuple[str, str]] = set()
    to_read: dict[int, dict[int, State]] = defaultdict(dict)
    for kind, target, at, n, old, is_made, is_removed in rows:
        if (kind, target) in settled:
            continue
        later = found[kind]
        if is_made and old == 0:
            if at in imports:
                later.imported.append(target)
                continue
            later.states.setdefault(target, State()).exists = False
            settled.add((kind, target))
            continue
        state = later.states.get(target)
        if state is None:
            state = later.states[target] = State(version=old)
        to_read[at][n] = state
        if is_removed:
            state.whole = True
            settled.add((kind, target))
    _read_images(connection, to_read)
    return found


def _read_images(connection: Connection, to_read: dict[int, dict[int, State]]) -> None:
    for seq, n, before in fetch(connection, _BEFORE, (json.dumps(list(to_read)),)):
        state = to_read[seq].get(n)
        if state is not None:
            image = _short_image(before) if len(before) <= _SHORT else _image(before)
            state.columns = {**image, **state.columns}


def _image(text: str) -> dict[str, Any]:
    image: dict[str, Any] = json.loads(text)
    return image


_short_image = lru_cache(maxsize=4096)(_image)  # of ten thousand retired facts one image is read
