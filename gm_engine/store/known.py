"""What a process knows of the store, brought up to date from the facts that changed since, not by counting all again.

The journal says which facts changed, and how each was before. What is not journalled is not followed: counters and
weights of facts. Where vectors were dropped, where the doctor put facts right, where the journal's images lost a text,
and where very much changed, everything is counted anew. The answers are those of the full queries, in every snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from gm_engine.records import AgentSummary, FactListing, FactQuery
from gm_engine.store import listing, vectors
from gm_engine.store.journal import newest_seq
from gm_engine.store.purge_names import PURGED
from gm_engine.store.vectors import Model, VectorCounts
from gm_engine.terms import text_key

MOST_CHANGES = 256  # beyond that, a full query is about as fast
_CHANGED = (  # `+kind`: the index of kinds would lead through every change of a fact there ever was
    "SELECT target, before FROM changes WHERE +kind = 'fact' AND seq > ? AND seq <= ? ORDER BY seq DESC, n DESC LIMIT ?"
)
_NOW = (
    "SELECT id, agent_id, superseded_by, kind, pinned, text_key FROM facts WHERE id IN (SELECT value FROM json_each(?))"
)
_COUNT_BETWEEN = "SELECT count(*) FROM vectors WHERE +model_id = ? AND vec_seq > ? AND vec_seq <= ?"
_UNJOURNALLED_SORTS = ("weight", "accessed", "uses")
_NAMES = ("agent_id", "superseded_by", "kind", "pinned", "key")
_NOTHING = (0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class _Standing:
    """What is counted of a fact at one moment; `key` is None where its text was purged since."""

    agent_id: str
    is_live: bool
    is_alias: bool
    is_pinned: bool
    key: bytes | None

    @property
    def embeds(self) -> bool:
        return self.is_live and not self.is_alias

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """What the fact adds to the columns of `listing.agent_counts`."""
        live, alias = self.is_live, self.is_alias
        return (
            int(live and not alias),
            int(not live and not alias),
            int(live and not alias and self.is_pinned),
            int(live and alias),
            1,
        )


@dataclass(frozen=True, slots=True)
class _Changed:
    """A fact that changed, as it was and as it is; None: it did not exist."""

    then: _Standing | None
    now: _Standing | None


def _changed_facts(connection: Connection, after: int, until: int) -> dict[str, _Changed] | None:
    """The facts that changed in that part of the journal; None when there are very many changes."""
    rows = connection.exec_driver_sql(_CHANGED, (after, until, MOST_CHANGES + 1)).all()
    if len(rows) > MOST_CHANGES:
        return None
    targets = json.dumps(list({row[0] for row in rows}))
    now = {row[0]: dict(zip(_NAMES, row[1:], strict=True)) for row in connection.exec_driver_sql(_NOW, (targets,))}
    then: dict[str, dict[str, Any]] = {}
    for fact_id, image in rows:  # the newest change first, back to the oldest
        if image is None:
            then[fact_id] = {}
            continue
        before = json.loads(image)
        if PURGED in before:
            before["key"] = None
        elif "text" in before:
            before["key"] = text_key(before["text"])
        then[fact_id] = {**then.get(fact_id, now.get(fact_id, {})), **before}
    return {each: _Changed(_standing(was), _standing(now.get(each, {}))) for each, was in then.items()}


def _standing(columns: Mapping[str, Any]) -> _Standing | None:
    if not columns:
        return None
    return _Standing(
        columns["agent_id"],
        columns["superseded_by"] == "",
        columns["kind"] == "alias",
        bool(columns["pinned"]),
        columns.get("key"),
    )


@dataclass(frozen=True, slots=True)
class _KnownAgents:
    seq: int
    drops: int
    counts: Mapping[str, tuple[int, ...]]


class AgentCounts:
    """`listing.agents`, told from what is known. Safe to share between threads."""

    def __init__(self) -> None:
        self._known: _KnownAgents | None = None

    def read(self, connection: Connection) -> tuple[AgentSummary, ...]:
        """Every namespace that holds a fact or a checkpoint, by name."""
        seq, drops = newest_seq(connection), vectors.vector_state(connection).drops
        counts = self._followed(connection, seq, drops)
        if counts is None:
            counts = listing.agent_counts(connection)
        self._known = _KnownAgents(seq, drops, counts)
        return listing.summaries(connection, counts)

    def _followed(self, connection: Connection, seq: int, drops: int) -> Mapping[str, tuple[int, ...]] | None:
        known = self._known
        if known is None or known.seq > seq or known.drops != drops:
            return None
        if known.seq == seq:
            return known.counts
        changed = _changed_facts(connection, known.seq, seq)
        if changed is None:
            return None
        counts = dict(known.counts)
        for each in changed.values():
            for standing, sign in ((each.then, -1), (each.now, 1)):
                if standing is not None:
                    before = counts.get(standing.agent_id, _NOTHING)
                    counts[standing.agent_id] = tuple(
                        old + sign * more for old, more in zip(before, standing.counts, strict=True)
                    )
        return {agent_id: each for agent_id, each in counts.items() if each[-1]}


@dataclass(frozen=True, slots=True)
class _KnownCounts:
    seq: int
    newest: int
    drops: int
    model_id: int
    counts: VectorCounts


class KnownVectors:
    """How many vectors there are, told from what is known. Safe to share between threads."""

    def __init__(self) -> None:
        self._known: _KnownCounts | None = None
        self._indexed = (-1, -1, 0, 0)  # model, drops, up to which vector, how many

    def counts(self, connection: Connection, model_name: str) -> VectorCounts:
        """How many distinct live texts have a vector of the model."""
        model, state = vectors.find_model(connection, model_name), vectors.vector_state(connection)
        model_id, seq = -1 if model is None else model.id, newest_seq(connection)
        known, counts = self._known, None
        if known is not None and (known.model_id, known.drops) == (model_id, state.drops):
            counts = _followed_counts(connection, known, seq, state.newest)
        if counts is None:
            counts = vectors.vector_counts(connection, model_name)
        self._known = _KnownCounts(seq, state.newest, state.drops, model_id, counts)
        return counts

    def indexed(self, connection: Connection, model: Model) -> int:
        """How many vectors the model's index holds, by what the ledger knows."""
        pointer, drops = vectors.index_pointer(connection, model), vectors.vector_state(connection).drops
        applied = 0 if pointer is None else pointer.applied_vec_seq
        model_id, known_drops, through, count = self._indexed
        if (model_id, known_drops) != (model.id, drops) or applied < through:
            count = vectors.count_through(connection, model, applied)
        elif applied > through:
            count += connection.exec_driver_sql(_COUNT_BETWEEN, (model.id, through, applied)).scalar_one()
        self._indexed = (model.id, drops, applied, count)
        return count


def _followed_counts(connection: Connection, known: _KnownCounts, seq: int, newest: int) -> VectorCounts | None:
    if known.seq > seq or known.newest > newest:
        return None
    if (known.seq, known.newest) == (seq, newest):
        return known.counts
    changed = _changed_facts(connection, known.seq, seq)
    fresh = vectors.keys_between(connection, known.model_id, known.newest, newest, limit=MOST_CHANGES + 1)
    if changed is None or len(fresh) > MOST_CHANGES:
        return None
    standings = [each for one in changed.values() for each in (one.then, one.now) if each is not None]
    keys = {*fresh, *(each.key for each in standings)}
    if None in keys:
        return None  # a text that was purged: nobody can say any more whether it was the last of its kind
    known_keys = [key for key in keys if key is not None]
    live = vectors.live_facts_of(connection, known_keys)
    seqs = vectors.vectors_of(connection, known.model_id, known_keys)
    embedded, pending = known.counts.embedded, known.counts.pending
    for key, was, is_live in _turns(changed, live, known_keys):
        had, has = seqs.get(key, newest + 1) <= known.newest, key in seqs
        embedded += (is_live and has) - (was and had)
        pending += (is_live and not has) - (was and not had)
    return VectorCounts(embedded, pending)


def _turns(
    changed: Mapping[str, _Changed], live: Iterable[tuple[str, bytes]], keys: Iterable[bytes]
) -> Iterable[tuple[bytes, bool, bool]]:
    """For each text: whether a fact that is embedded had it then, and whether one has it now."""
    now, unchanged = set(), set()
    for fact_id, key in live:
        now.add(key)
        if fact_id not in changed:
            unchanged.add(key)
    then = {each.then.key for each in changed.values() if each.then is not None and each.then.embeds}
    return ((key, key in unchanged or key in then, key in now) for key in keys)


def follow_ids(connection: Connection, query: FactQuery, known: FactListing | None) -> FactListing:
    """`listing.fact_ids` of the query, from an earlier listing of the same query where that is quicker."""
    seq, drops = newest_seq(connection), vectors.vector_state(connection).drops
    same = (query, drops)
    if known is not None and (known.query, known.drops) == same and known.seq <= seq and _is_journalled(query):
        if known.seq == seq:
            return known
        changed = _changed_facts(connection, known.seq, seq)
        if changed is not None:
            return FactListing(query, seq, drops, _placed(connection, query, known.ids, changed))
    return FactListing(query, seq, drops, listing.fact_ids(connection, query))


def _is_journalled(query: FactQuery) -> bool:
    """Whether nothing but the journalled columns decides what passes, and in which order."""
    looks_at_counters = query.unused or query.without_vector
    looks_at_weights = query.weight_from is not None or query.weight_below is not None
    return query.sort not in _UNJOURNALLED_SORTS and not looks_at_counters and not looks_at_weights


def _placed(
    connection: Connection, query: FactQuery, known: Sequence[str], changed: Mapping[str, _Changed]
) -> list[str]:
    """The ids without the facts that changed, and these put where they belong, if they pass."""
    if not changed:
        return list(known)
    old = {fact_id for fact_id, each in changed.items() if each.then is not None}
    ids = [fact_id for fact_id in known if fact_id not in old] if old else list(known)
    for fact_id in listing.passing(connection, query, list(changed)):
        ids.insert(listing.place_of(connection, query, ids, fact_id), fact_id)
    return ids
