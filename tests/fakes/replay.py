"""A second, independent reading of the journal: states from changes alone."""

from __future__ import annotations

from collections.abc import Iterable

from gm_engine.records import JournalEntry, JsonValue


def replay(
    entries: Iterable[JournalEntry], *, kind: str, bookkeeping: frozenset[str] = frozenset()
) -> dict[str, tuple[int, dict[str, JsonValue]]]:
    """Version and columns of every target of `kind`, from entries oldest first.

    Columns of `bookkeeping` may change between entries without a word.
    """
    states: dict[str, tuple[int, dict[str, JsonValue]]] = {}
    for entry in entries:
        for change in entry.changes:
            if change.kind != kind:
                continue
            version, columns = states.pop(change.target, (0, {}))
            assert version == change.version_before, f"entry {entry.seq} does not follow the one before it"
            said = {name: value for name, value in (change.before or {}).items() if name not in bookkeeping}
            assert all(columns.get(name) == value for name, value in said.items())
            if change.version_after != 0:
                states[change.target] = (change.version_after, {**columns, **(change.after or {})})
    return states
