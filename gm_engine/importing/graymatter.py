"""Imports a GrayMatter store: detect, preview, apply.

Records are known by their ids, so that importing again, or going on after a kill, adds only what is missing. Facts
change after an import (corrected, pinned, retired): that is no conflict. Another text, namespace, kind or time of
writing under the same id is one; it is listed and never overwritten.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection

from gm_engine.importing.dump import import_dump, is_dump, preview_dump
from gm_engine.importing.store_file import StoreFile, read_store
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import Counts, Edge, Entity, ImportReport, Origin
from gm_engine.store.blocked import blocked_keys, count_attempts
from gm_engine.store.checkpoints import NewCheckpoint, insert_checkpoints, stored_payloads
from gm_engine.store.database import Ledger
from gm_engine.store.entities import load_edge, load_entities, upsert_edges, upsert_entities
from gm_engine.store.facts import NewFact, insert_facts
from gm_engine.store.mentions import refresh_mentions
from gm_engine.store.settings import load_settings, save_settings
from gm_engine.store.transaction import Transaction

CHUNK = 500
T = TypeVar("T")


def preview_store(ledger: Ledger, path: Path, *, progress: Progress, cancel: CancelToken) -> ImportReport:
    """What `import_store` would report; nothing is written. Raises `NotFound` or `ImportRefused`."""
    if is_dump(path):
        return preview_dump(path)
    store = read_store(path, origin=Origin("import"), progress=progress, cancel=cancel)
    imported: Counter[str] = Counter()
    with ledger.read() as connection:
        for facts in _chunks(store.facts.values()):
            imported["fact"] += len(_storable(connection, _new_facts(connection, facts, store), store)[0])
        for checkpoints in _chunks(store.checkpoints.values()):
            imported["checkpoint"] += len(_new_checkpoints(connection, checkpoints, store))
        for entities in _chunks(store.entities.values()):
            known = load_entities(connection, [entity.id for entity in entities])
            imported["entity"] += len(entities) - len(known)
        imported["edge"] = sum(load_edge(connection, key) is None for key in store.edges)
    return _report(store, imported)


def import_store(
    ledger: Ledger, path: Path, *, origin: Origin, progress: Progress, cancel: CancelToken
) -> ImportReport:
    """Writes what the store does not have yet, in chunks of 500 that are undone together.

    Into an empty store it also switches the coverage gate off, as GrayMatter ranks; the settings of a store with a
    history stay. Raises `NotFound` or `ImportRefused` before anything is written, and `Cancelled` between two chunks.
    A lossless JSON file fills an empty store as it was, settings and history included.
    """
    if is_dump(path):
        return import_dump(ledger, path, progress=progress, cancel=cancel)
    store = read_store(path, origin=origin, progress=progress, cancel=cancel)
    apply = _Apply(ledger, store, origin=origin, progress=progress, cancel=cancel)
    apply.each(store.facts.values(), "fact", apply.facts)
    apply.each(store.checkpoints.values(), "checkpoint", apply.checkpoints)
    apply.each(store.entities.values(), "entity", apply.entities)
    apply.each(store.edges.values(), "edge", apply.edges)
    refresh_mentions(ledger, progress=progress, cancel=cancel)
    return _report(store, apply.imported)


class _Apply:
    """One run of an import: its group in the journal, its progress, and what it wrote."""

    def __init__(
        self, ledger: Ledger, store: StoreFile, *, origin: Origin, progress: Progress, cancel: CancelToken
    ) -> None:
        self._ledger = ledger
        self._store = store
        self._origin = origin
        self._progress = progress
        self._cancel = cancel
        self._group_id = ledger.clock.new_id(ledger.clock.now_ns())
        self._total = len(store.facts) + len(store.checkpoints) + len(store.entities) + len(store.edges)
        self._done = 0
        self.imported: Counter[str] = Counter()

    def each(self, records: Iterable[T], kind: str, write: Callable[[Transaction, Sequence[T]], int]) -> None:
        """Writes `records` chunk by chunk, one transaction each."""
        for chunk in _chunks(records):
            self._cancel.check()
            self._progress(self._done, self._total, f"Importing {self._store.source.name}")
            with self._ledger.write(
                "import", origin=self._origin, group_id=self._group_id, detail=self._store.source.name
            ) as tx:
                self.imported[kind] += write(tx, chunk)
            self._done += len(chunk)
        self._progress(self._done, self._total, f"Importing {self._store.source.name}")

    def facts(self, tx: Transaction, facts: Sequence[NewFact]) -> int:
        new = _new_facts(tx.connection, facts, self._store)
        new, refused = _storable(tx.connection, new, self._store)
        count_attempts(tx.connection, refused, self._origin, at_ns=tx.at_ns)
        if new:
            _rank_as_the_seed(tx)
            insert_facts(tx, new, language=load_settings(tx.connection).language)
        return len(new)

    def checkpoints(self, tx: Transaction, checkpoints: Sequence[NewCheckpoint]) -> int:
        new = _new_checkpoints(tx.connection, checkpoints, self._store)
        if new:
            _rank_as_the_seed(tx)
            insert_checkpoints(tx, new)
        return len(new)

    def entities(self, tx: Transaction, entities: Sequence[Entity]) -> int:
        _rank_as_the_seed(tx)
        return upsert_entities(tx, entities)

    def edges(self, tx: Transaction, edges: Sequence[Edge]) -> int:
        _rank_as_the_seed(tx)
        return upsert_edges(tx, edges)


def _chunks(records: Iterable[T]) -> Iterator[Sequence[T]]:
    waiting = iter(records)
    while chunk := list(islice(waiting, CHUNK)):
        yield chunk


_HAS_HISTORY = (
    "SELECT EXISTS(SELECT 1 FROM facts) OR EXISTS(SELECT 1 FROM journal WHERE verb NOT IN ('import', 'undo', 'redo'))"
)


def _rank_as_the_seed(tx: Transaction) -> None:
    """A store without history is made by this import: no coverage gate, as in the program that it comes from.

    An import that was undone is no history, so that importing again gives the same store.
    """
    if not tx.connection.exec_driver_sql(_HAS_HISTORY).scalar_one():
        save_settings(tx, replace(load_settings(tx.connection), coverage_gate=0.0))


def _new_facts(connection: Connection, facts: Sequence[NewFact], store: StoreFile) -> list[NewFact]:
    """The facts whose ids are new; those that contradict the store are noted as skipped."""
    rows = connection.exec_driver_sql(
        "SELECT id, agent_id, text, created_ns, kind FROM facts WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps([fact.id for fact in facts]),),
    )
    known = {row[0]: row[1:] for row in rows}
    for fact in facts:
        if fact.id in known and (reason := _contradiction(fact, *known[fact.id])):
            store.skip("fact", fact.id, reason)
    return [fact for fact in facts if fact.id not in known]


def _storable(
    connection: Connection, facts: Sequence[NewFact], store: StoreFile
) -> tuple[list[NewFact], tuple[str, ...]]:
    """The facts whose texts are not blocked, and the keys of the blocked values; those are noted as skipped."""
    keys = blocked_keys(connection, [(fact.agent_id, fact.text) for fact in facts])
    for fact, key in zip(facts, keys, strict=True):
        if key is not None:
            store.skip("fact", fact.id, "its text is blocked: somebody asked never to store it again")
    return (
        [fact for fact, key in zip(facts, keys, strict=True) if key is None],
        tuple(key.hex() for key in keys if key is not None),
    )


def _contradiction(fact: NewFact, agent_id: str, text: str, created_ns: int, kind: str) -> str:
    if fact.agent_id != agent_id:
        return f"the store has this id in another namespace, {agent_id!r}"
    differing = [
        name
        for name, differs in (
            ("text", fact.text != text),
            ("time of writing", fact.created_ns != created_ns),
            ("kind", fact.kind != kind),
        )
        if differs
    ]
    return f"the store has this id with another {' and '.join(differing)}" if differing else ""


def _new_checkpoints(
    connection: Connection, checkpoints: Sequence[NewCheckpoint], store: StoreFile
) -> list[NewCheckpoint]:
    known = stored_payloads(connection, [new.checkpoint.id for new in checkpoints])
    for new in checkpoints:
        if known.get(new.checkpoint.id, new.payload) != new.payload:
            store.skip("checkpoint", new.checkpoint.id, "the store has this id with other content")
    return [new for new in checkpoints if new.checkpoint.id not in known]


def _report(store: StoreFile, imported: Counter[str]) -> ImportReport:
    return ImportReport(
        source=str(store.source),
        found=store.counts,
        imported=Counts(*(imported[kind] for kind in ("fact", "checkpoint", "entity", "edge"))),
        skipped=tuple(store.skipped),
    )
