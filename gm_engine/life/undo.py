"""Undo: a compensating entry that brings every target of a user action back to its version before it.

A target's effective version must still be the one that the action produced; the version is restored with the columns,
so that after undoing the second of two edits the first can be undone too. The changes of a group are first walked
through, newest first, then applied together: ten thousand facts cost a handful of statements.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gm_engine.errors import InvalidInput, UndoConflict
from gm_engine.garbage import without_collecting
from gm_engine.life.rows import KINDS, apply_nets
from gm_engine.records import Change, JournalEntry, JsonValue
from gm_engine.store import facts as fact_rows
from gm_engine.store.blocked import anything_blocked
from gm_engine.store.graph_edits import refuse_loose_ends
from gm_engine.store.transaction import Transaction

_FACT = "fact"


@dataclass(slots=True)
class Net:
    """What the reversal of a group comes to for one target.

    `columns` are written over the row, or make up the whole row where `whole`; a final version of 0 removes it.
    """

    version_found: int
    version: int
    columns: dict[str, JsonValue] = field(default_factory=dict)
    whole: bool = False

    def reverse(self, change: Change) -> None:
        """Takes one change back. `UndoConflict` when it is not the one that the target's version came from."""
        if self.version != change.version_after:
            raise UndoConflict(
                f"{change.kind.capitalize()} {change.target} has changed since; undo the later change first.",
                kind=change.kind,
                ids=[change.target],
            )
        self.version = change.version_before
        if change.version_before == 0:
            self.columns, self.whole = {}, False
        elif change.version_after == 0:
            self.columns, self.whole = dict(_image(change)), True
        else:
            self.columns.update(_image(change))


def _image(change: Change) -> Mapping[str, JsonValue]:
    if change.before is None or "purged" in change.before:
        raise UndoConflict(
            f"What {change.kind} {change.target} was is gone from the journal for good: a purge removed it.",
            kind=change.kind,
            ids=[change.target],
        )
    return change.before


@without_collecting()
def undo_group(tx: Transaction, entries: Sequence[JournalEntry], *, language: str) -> tuple[Change, ...]:
    """Reverses the changes of one group, newest first, journals the reversal, and returns its changes.

    Raises `UndoConflict` when a target has changed since or a link would lose an end, and `BlockedValue` when a fact
    would come back to life with a blocked text; the caller's transaction then leaves nothing behind.
    """
    if any(entry.verb == "purge" for entry in entries):
        raise UndoConflict("A purge cannot be undone: what it removed is nowhere any more.", ids=[])
    nets: dict[str, dict[str, Net]] = {}
    for kind, targets in _targets(entries).items():
        found = _versions(tx, kind, targets)
        nets[kind] = {target: Net(found.get(target, 0), found.get(target, 0)) for target in targets}
    reversal = []
    moved: dict[int, str] = {}
    for place, change in enumerate(_newest_first(entries)):
        nets[change.kind][change.target].reverse(change)
        turned = _turned(change)
        if turned.agent_id is not None and turned.agent_id != change.agent_id:
            moved[place] = turned.agent_id
        reversal.append(turned)
    tx.record_reversal([entry.seq for entry in entries], moved)
    for kind, of_kind in nets.items():
        if kind != _FACT:
            apply_nets(tx.connection, kind, of_kind)
    refuse_loose_ends(
        tx.connection,
        [entry.seq for entry in entries],
        gone=[target for target, net in nets.get("entity", {}).items() if net.version == 0],
        restored=[
            json.loads(target) for target, net in nets.get("edge", {}).items() if net.version and net.version_found == 0
        ],
    )
    _apply_facts(tx, nets.get(_FACT, {}), language)
    return tuple(reversal)


def _newest_first(entries: Sequence[JournalEntry]) -> Iterator[Change]:
    for entry in reversed(entries):
        yield from reversed(entry.changes)


def _targets(entries: Sequence[JournalEntry]) -> dict[str, dict[str, None]]:
    targets: dict[str, dict[str, None]] = {}
    for change in _newest_first(entries):
        targets.setdefault(change.kind, {})[change.target] = None
    return targets


def _versions(tx: Transaction, kind: str, targets: Mapping[str, None]) -> dict[str, int]:
    if kind == _FACT:
        return fact_rows.load_versions(tx.connection, list(targets))
    if kind not in KINDS:
        raise InvalidInput(f"A change of kind {kind!r} cannot be undone.", kind=kind)
    return KINDS[kind].versions(tx.connection, list(targets))


def _turned(change: Change) -> Change:
    """The change that takes `change` back, in the namespace that the target is in afterwards."""
    before = change.before or {}
    return Change(
        kind=change.kind,
        target=change.target,
        agent_id=str(before["agent_id"]) if "agent_id" in before else change.agent_id,
        version_before=change.version_after,
        version_after=change.version_before,
        before=change.after,
        after=change.before,
    )


def _apply_facts(tx: Transaction, nets: Mapping[str, Net], language: str) -> None:
    """Facts have terms and sources beside their row; what comes back to life must not be blocked."""
    gone = [target for target, net in nets.items() if net.version_found and (net.whole or net.version == 0)]
    if gone:
        fact_rows.remove_facts(tx.connection, gone)
    patched: dict[tuple[str, ...], list[tuple[JsonValue, ...]]] = {}
    revived: list[str] = []
    for target, net in nets.items():
        if net.columns and not net.whole:
            row = (*net.columns.values(), net.version, target)
            patched.setdefault((*net.columns, "version"), []).append(row)
            if not net.columns.keys().isdisjoint(fact_rows.REVIVING):
                revived.append(target)
    for names, rows in patched.items():
        fact_rows.write_columns(tx.connection, names, rows)
    made = {target: (net.columns, net.version) for target, net in nets.items() if net.whole and net.version}
    alive = list(fact_rows.recreate_facts(tx, made, language=language)) if made else []
    if anything_blocked(tx.connection):
        alive.extend(fact_rows.load_facts(tx.connection, revived).values())
        fact_rows.refuse_revived(tx.connection, alive)
