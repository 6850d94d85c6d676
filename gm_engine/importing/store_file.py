"""Reads a GrayMatter store from a file: `gray.db` (bbolt) or the array of facts that its JSON export writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from gm_engine.errors import ImportRefused, NotFound
from gm_engine.importing.bolt import Entry, open_bolt
from gm_engine.importing.records import (
    Record,
    Unreadable,
    as_record,
    checkpoint_from,
    decode,
    edge_from,
    entity_from,
    fact_from,
)
from gm_engine.importing.text_files import after_space, json_elements, whole_text
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import Counts, Edge, Entity, Origin, Skipped, SourceRef
from gm_engine.store.checkpoints import NewCheckpoint
from gm_engine.store.facts import NewFact

_STEP = 256
_SNIFF_BYTES = 4096
_STORE_NAMES = ("gray.db", ".graymatter/gray.db")
_OTHER_BUCKETS = {
    "agents": "the list of agents, which the facts themselves name",
    "meta": "the Go program's notes about its own file",
    "pending_vector": "facts that wait for an embedding of another model",
    "kg_extracted": "marks of facts that were searched for entities",
    "reform_pending": "the consolidation queue",
    "reform_pairs": "the consolidation queue",
    "harness_sessions": "agent runs",
    "kg_audit": "the log of writes to the graph",
    "token_usage": "token counts per model and day",
}


@dataclass(slots=True)
class StoreFile:
    """What a file holds: readable records by identity, everything that was counted, and what could not be read."""

    source: Path
    facts: dict[str, NewFact] = field(default_factory=dict)
    checkpoints: dict[str, NewCheckpoint] = field(default_factory=dict)
    entities: dict[str, Entity] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], Edge] = field(default_factory=dict)
    found: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def counts(self) -> Counts:
        """All records of the four kinds, damaged ones included."""
        return Counts(*(self.found[kind] for kind in ("fact", "checkpoint", "entity", "edge")))

    def skip(self, kind: str, record_id: str, reason: str) -> None:
        """Notes a record that is left out."""
        self.skipped.append(Skipped(kind, record_id, reason))


def read_store(path: Path, *, origin: Origin, progress: Progress, cancel: CancelToken) -> StoreFile:
    """Everything in the file, or in the `gray.db` of a directory; the facts get `origin` with the file's name.

    Raises `NotFound` without a file and `ImportRefused` for one that is neither a bbolt store nor an array of facts.
    """
    source = _located(path)
    store = StoreFile(source)
    origin = replace(origin, sources=(SourceRef("file", source.name),))
    if _starts_like_json(source):
        _read_json(store, origin, progress, cancel)
        return store
    with open_bolt(source, progress=progress, cancel=cancel) as bolt:
        _read_bolt(store, bolt.walk(), origin, progress, cancel)
    return store


def _located(path: Path) -> Path:
    if path.is_dir():
        inside = [path / name for name in _STORE_NAMES if (path / name).is_file()]
        if not inside:
            raise NotFound(f"There is no gray.db in {path}.", path=str(path))
        return inside[0]
    return path


def _starts_like_json(source: Path) -> bool:
    try:
        with source.open("rb") as file:
            start = file.read(_SNIFF_BYTES)
    except OSError as error:
        raise ImportRefused(f"{source.name} cannot be read: {error.strerror}.", file=source.name) from error
    if not start:
        raise ImportRefused(f"{source.name} is empty.", file=source.name)
    return start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\n\r")[:1] in (b"[", b"{")


def _read_json(store: StoreFile, origin: Origin, progress: Progress, cancel: CancelToken) -> None:
    for n, value in enumerate(_elements(store.source)):
        if n % _STEP == 0:
            cancel.check()
            progress(n, None, f"Reading {store.source.name}")
        record_id = value.get("id") if isinstance(value, dict) else None
        shown = _shown(record_id) if isinstance(record_id, str) and record_id else f"#{n + 1}"
        _add_fact(store, shown, partial(_listed_fact, value, origin))


def _listed_fact(value: object, origin: Origin) -> NewFact:
    return fact_from(as_record(value), origin)


def _elements(source: Path) -> Iterator[object]:
    """The elements of a JSON array, one short decoding call each."""
    text = whole_text(source)
    at = after_space(text, 0)
    if text[at : at + 1] != "[":
        raise ImportRefused(f"{source.name} is no array of facts.", file=source.name)
    yield from json_elements(text, at, source.name)


def _read_bolt(
    store: StoreFile, entries: Iterator[Entry], origin: Origin, progress: Progress, cancel: CancelToken
) -> None:
    others: Counter[str] = Counter()
    for n, entry in enumerate(entries):
        if n % _STEP == 0:
            cancel.check()
            progress(n, None, f"Reading {store.source.name}")
        bucket = entry.path[0] if entry.path else b""
        if bucket == b"facts":
            _add_fact(store, _shown(entry.key), partial(_stored_fact, entry, origin))
        elif bucket == b"sessions":
            _add_checkpoint(store, entry)
        elif bucket == b"kg_nodes":
            _add_entity(store, entry)
        elif bucket == b"kg_edges":
            _add_edge(store, entry)
        else:
            others[_shown(bucket)] += 1
    for name, count in sorted(others.items()):
        what = _OTHER_BUCKETS.get(name, "a lookup index" if "index" in name or "idx" in name else "an unknown bucket")
        store.skip(name, "", f"{count} {'record' if count == 1 else 'records'} not imported: {what}")


def _shown(name: str | bytes) -> str:
    """A key as it can be printed and stored anywhere."""
    raw = name.encode("utf-8", "surrogatepass") if isinstance(name, str) else name
    return raw.decode("utf-8", "backslashreplace")


def _add_fact(store: StoreFile, shown: str, read: Callable[[], NewFact]) -> None:
    store.found["fact"] += 1
    try:
        fact = read()
    except Unreadable as error:
        store.skip("fact", shown, error.reason)
        return
    if fact.id in store.facts:
        store.skip("fact", shown, f"the file holds this id twice, first under {store.facts[fact.id].agent_id!r}")
    else:
        store.facts[fact.id] = fact


def _stored_fact(entry: Entry, origin: Origin) -> NewFact:
    record = decode(entry.value)
    _check_place(entry, depth=2, record_id=record.get("id"), agent_id=record.get("agent_id"))
    return fact_from(record, origin)


def _check_place(entry: Entry, *, depth: int, record_id: object, agent_id: object = None) -> None:
    """A record must say what its key says: otherwise one of the two is wrong."""
    if len(entry.path) != depth:
        raise Unreadable("the record is not where the format puts it")
    if isinstance(record_id, str) and record_id.encode("utf-8", "surrogatepass") != entry.key:
        raise Unreadable(f"its key is {_shown(entry.key)!r}, its id {_shown(record_id)!r}")
    if isinstance(agent_id, str) and agent_id.encode("utf-8", "surrogatepass") != entry.path[1]:
        raise Unreadable(f"it is stored under {_shown(entry.path[1])!r} and says {_shown(agent_id)!r}")


def _add_checkpoint(store: StoreFile, entry: Entry) -> None:
    store.found["checkpoint"] += 1
    shown = _shown(entry.key)
    try:
        new = checkpoint_from(entry.value)
        _check_place(entry, depth=2, record_id=new.checkpoint.id, agent_id=new.checkpoint.agent_id)
    except Unreadable as error:
        store.skip("checkpoint", shown, error.reason)
        return
    if new.checkpoint.id in store.checkpoints:
        store.skip("checkpoint", shown, "the file holds this id twice")
    else:
        store.checkpoints[new.checkpoint.id] = new


def _add_entity(store: StoreFile, entry: Entry) -> None:
    store.found["entity"] += 1
    try:
        record = decode(entry.value)
        _check_place(entry, depth=1, record_id=record.get("id"))
        entity = entity_from(record)
    except Unreadable as error:
        store.skip("entity", _shown(entry.key), error.reason)
        return
    store.entities[entity.id] = entity


def _add_edge(store: StoreFile, entry: Entry) -> None:
    store.found["edge"] += 1
    try:
        record = decode(entry.value)
        edge = edge_from(record)
        _check_place(entry, depth=1, record_id=_edge_key(record))
    except Unreadable as error:
        store.skip("edge", _shown(entry.key), error.reason)
        return
    store.edges[edge.from_id, edge.to_id, edge.relation] = edge


def _edge_key(record: Record) -> str:
    return f"{record['from']}|{record['to']}|{record['relation']}"
