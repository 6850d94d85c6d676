"""The facts of one namespace as columns in memory, following the journal by seq.

A snapshot is one state of the namespace and never changes; following the journal makes the next one. Tombstones and
aliases stay as rows: who may be recalled is a mask, so that a filter by confidence, a moment in the past and the
present are the same mechanism.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from gm_engine.ranking.fusion import contribution
from gm_engine.ranking.orders import Orders, extend_orders, make_orders
from gm_engine.ranking.postings import Postings, TermRows, build, decode
from gm_engine.records import FactScope
from gm_engine.store.rows import fetch

ALIAS = "alias"
_WEIGHTS_KEPT = 8
_RELOAD_AT = 4000  # changed facts; from there reading all rows is faster than looking each one up
_COLUMNS = (
    "f.no, f.id, f.text_key, f.created_ns, f.superseded_by = '',"
    " CASE f.confidence WHEN 'verified' THEN 2 WHEN 'inferred' THEN 1 WHEN '' THEN 1 ELSE 0 END,"
    " f.kind = 'alias', CASE f.kind WHEN 'alias' THEN f.text END, coalesce(t.length, 0), coalesce(t.data, x'')"
)
_FROM = " FROM facts f LEFT JOIN fact_terms t ON t.fact_no = f.no"
_LOAD = f"SELECT {_COLUMNS}{_FROM} WHERE f.agent_id = ?"  # in any order: sorting the blobs would cost as much again
_LOAD_SOME = (
    f"SELECT {_COLUMNS}{_FROM} WHERE f.id IN (SELECT value FROM json_each(?)) AND +f.agent_id = ? ORDER BY f.no"
)
_CHANGED = (
    "SELECT DISTINCT target FROM changes WHERE seq > ? AND +kind = 'fact'"
    " AND (+agent_id = ? OR json_extract(before, '$.agent_id') = ?)"
)  # + keeps SQLite on the primary key: what is new is at its end


@dataclass(frozen=True, slots=True)
class View:
    """The facts that may be recalled, and columns with one element for each of them.

    `mask` and `slot` have one element per position of the snapshot: who is in, and at which index of the columns.
    `recency_rank` is 1-based, newest first; `age_rank` and `id_rank` only order.
    """

    mask: NDArray[np.bool_]
    slot: NDArray[np.int64]
    positions: NDArray[np.int64]
    recency_rank: NDArray[np.int64]
    age_rank: NDArray[np.int64]
    id_rank: NDArray[np.int64]
    level: NDArray[np.int8]
    average_length: float
    _recency: dict[float, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many facts may be recalled."""
        return len(self.positions)

    def recency_scores(self, weight: float) -> NDArray[np.float64]:
        """What recency adds to each fact's base score; kept for the weights used last, not to be changed."""
        scores = self._recency.get(weight)
        if scores is None:
            if len(self._recency) >= _WEIGHTS_KEPT:
                self._recency.clear()
            scores = self._recency[weight] = contribution(weight, self.recency_rank)
        return scores


@dataclass(slots=True)
class VectorRows:
    """Where each fact's vector stands in the table of vectors, -1 without one; remembered from recall to recall."""

    rows: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    table: object = None
    vec_seq: int = -1
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One namespace at one journal seq. Positions count from 0 in the order in which facts were first seen.

    `ids` and `position_of` are shared with later snapshots and may hold more than `size` facts.
    """

    agent_id: str
    seq: int
    ids: list[str]
    position_of: dict[str, int]
    numbers: NDArray[np.int64]
    text_keys: NDArray[np.uint64]
    created: NDArray[np.int64]
    live: NDArray[np.bool_]
    level: NDArray[np.int8]
    content: NDArray[np.bool_]
    length: NDArray[np.int64]
    orders: Orders
    postings: Postings
    aliases: dict[int, str]
    vector_rows: VectorRows
    _views: dict[int, View] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many positions there are, tombstones and aliases included."""
        return len(self.numbers)

    def view(self, min_level: int, scope: FactScope | None = None) -> View:
        """The live content facts whose effective confidence level is at least `min_level` (0 = all), within `scope`."""
        if scope is not None:
            return self._make_view(min_level, self._within(scope))
        known = self._views.get(min_level)
        if known is None:
            known = self._views[min_level] = self._make_view(min_level)
        return known

    def _within(self, scope: FactScope) -> NDArray[np.bool_]:
        mask = np.ones(self.size, np.bool_)
        if scope.created_from_ns is not None:
            mask &= self.created >= scope.created_from_ns
        if scope.created_until_ns is not None:
            mask &= self.created < scope.created_until_ns
        if scope.ids is not None:
            named = np.zeros(self.size, np.bool_)
            places = (self.position_of.get(fact_id, self.size) for fact_id in scope.ids)
            named[[at for at in places if at < self.size]] = True
            mask &= named
        return mask

    def _make_view(self, min_level: int, within: NDArray[np.bool_] | None = None) -> View:
        mask = self.live & self.content & (self.level >= min_level)
        if within is not None:
            mask &= within
        positions = np.flatnonzero(mask)
        slot = np.cumsum(mask) - 1
        recency_rank = np.empty(len(positions), np.int64)
        recency_rank[slot[self.orders.newest[mask[self.orders.newest]]]] = np.arange(1, len(positions) + 1)
        return View(
            mask=mask,
            slot=slot,
            positions=positions,
            recency_rank=recency_rank,
            age_rank=self.orders.age_rank[positions],
            id_rank=self.orders.id_rank[positions],
            level=self.level[positions],
            average_length=int(self.length[positions].sum()) / len(positions) if len(positions) else 0.0,
        )

    def live_aliases(self) -> tuple[str, ...]:
        """The texts of the live aliases, oldest first."""
        places = [at for at in self.aliases if at < self.size and self.live[at]]
        return tuple(self.aliases[at] for at in sorted(places, key=lambda at: int(self.orders.age_rank[at])))

    def text_key(self, position: int) -> bytes:
        """The key of a fact's text."""
        key: bytes = self.text_keys[position].tobytes()
        return key


def load_snapshot(connection: Connection, agent_id: str, seq: int) -> Snapshot:
    """Reads a whole namespace as it stands in `connection`'s view of the store, which is at journal `seq`."""
    rows = fetch(connection, _LOAD, (agent_id,))
    columns = read_columns(rows, 0)
    return Snapshot(
        agent_id=agent_id,
        seq=seq,
        ids=columns.ids,
        position_of={fact_id: at for at, fact_id in enumerate(columns.ids)},
        numbers=columns.numbers,
        text_keys=columns.text_keys,
        created=columns.created,
        live=columns.live,
        level=columns.level,
        content=columns.content,
        length=columns.length,
        orders=make_orders(columns.ids, columns.created),
        postings=build(columns.terms),
        aliases=columns.aliases,
        vector_rows=VectorRows(),
    )


def follow(connection: Connection, snapshot: Snapshot, seq: int) -> Snapshot:
    """The namespace at journal `seq`, from an earlier snapshot and what the journal says has changed since."""
    agent_id = snapshot.agent_id
    changed = [row[0] for row in fetch(connection, _CHANGED, (snapshot.seq, agent_id, agent_id))]
    if not changed:
        return replace(snapshot, seq=seq)
    if len(changed) > _RELOAD_AT:
        return load_snapshot(connection, agent_id, seq)
    rows = fetch(connection, _LOAD_SOME, (json.dumps(changed), agent_id))
    return _apply(snapshot, changed, rows, seq)


def _apply(snapshot: Snapshot, changed: Sequence[str], rows: Sequence[Any], seq: int) -> Snapshot:
    live, level, content = snapshot.live.copy(), snapshot.level.copy(), snapshot.content.copy()
    found = {row[1]: row for row in rows}
    fresh = []
    for fact_id in changed:
        at = snapshot.position_of.get(fact_id)
        row = found.get(fact_id)
        known = at is not None and at < snapshot.size
        if known and at is not None:
            if row is not None and int(snapshot.numbers[at]) == row[0]:
                live[at], level[at] = bool(row[4]), row[5]
                content[at] = not row[6]
                continue
            live[at] = content[at] = False  # removed, moved away, or made again under another row number
        if row is not None:
            fresh.append(row)
    fresh.sort(key=lambda row: int(row[0]))
    patched = replace(snapshot, seq=seq, live=live, level=level, content=content, _views={})
    return append(patched, read_columns(fresh, snapshot.size)) if fresh else patched


@dataclass(frozen=True, slots=True)
class Columns:
    """Facts to append to a snapshot, as columns."""

    ids: list[str]
    numbers: NDArray[np.int64]
    text_keys: NDArray[np.uint64]
    created: NDArray[np.int64]
    live: NDArray[np.bool_]
    level: NDArray[np.int8]
    content: NDArray[np.bool_]
    length: NDArray[np.int64]
    terms: TermRows
    aliases: dict[int, str]


def read_columns(rows: Sequence[Any], first: int) -> Columns:
    """Columns of ledger rows whose positions start at `first`."""
    numbers, ids, keys, created, live, level, alias, alias_text, length, data = (
        zip(*rows, strict=True) if rows else ((),) * 10
    )
    return Columns(
        ids=list(ids),
        numbers=np.array(numbers, np.int64),
        text_keys=np.frombuffer(b"".join(keys), np.uint64).reshape(-1, 2),
        created=np.array(created, np.int64),
        live=np.array(live, np.bool_),
        level=np.array(level, np.int8),
        content=~np.array(alias, np.bool_),
        length=np.array(length, np.int64),
        terms=decode(data, first),
        aliases={first + n: text for n, text in enumerate(alias_text) if text is not None},
    )


def append(snapshot: Snapshot, columns: Columns) -> Snapshot:
    """The snapshot with more facts at its end."""
    size = snapshot.size
    if len(snapshot.ids) != size:  # another snapshot already grew from this one
        snapshot = detached(snapshot)
    snapshot.ids.extend(columns.ids)
    snapshot.position_of.update((fact_id, size + n) for n, fact_id in enumerate(columns.ids))
    snapshot.aliases.update(columns.aliases)
    created = np.concatenate([snapshot.created, columns.created])
    return replace(
        snapshot,
        numbers=np.concatenate([snapshot.numbers, columns.numbers]),
        text_keys=np.concatenate([snapshot.text_keys, columns.text_keys]),
        created=created,
        live=np.concatenate([snapshot.live, columns.live]),
        level=np.concatenate([snapshot.level, columns.level]),
        content=np.concatenate([snapshot.content, columns.content]),
        length=np.concatenate([snapshot.length, columns.length]),
        orders=extend_orders(snapshot.orders, snapshot.ids, created),
        postings=snapshot.postings.with_rows(columns.terms, added=len(columns.ids)),
        _views={},
    )


def detached(snapshot: Snapshot) -> Snapshot:
    """The same state on lists of its own, so that it can grow apart from its successors."""
    ids = snapshot.ids[: snapshot.size]
    return replace(
        snapshot,
        ids=ids,
        position_of={fact_id: at for at, fact_id in enumerate(ids)},
        aliases={at: text for at, text in snapshot.aliases.items() if at < snapshot.size},
        postings=snapshot.postings.detached(snapshot.size),
        vector_rows=VectorRows(),
        _views={},
    )
