"""Imports what other programs remember: every text becomes a fact with a fingerprint for its id.

The fingerprint is made of the agent and the text alone, so that importing again, or the same memory through another
format, adds nothing, whatever became of the fact meanwhile. A source is read twice: first to see that all of it can be
read, then to write, so that a file that breaks off in the middle leaves no trace. Memory is bounded by one chunk.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from gm_engine.clock import encode_ulid
from gm_engine.errors import InvalidInput
from gm_engine.importing.columns import FIELDS, column_names
from gm_engine.importing.found import MAX_TEXT_CHARS, Item, Left, Link, Reader, Request, Text, Thing
from gm_engine.importing.records import MADE_BY
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import Counts, Edge, Entity, ImportReport, Origin, Skipped, SourceRef
from gm_engine.store.blocked import blocked_keys, count_attempts
from gm_engine.store.database import Ledger
from gm_engine.store.entities import load_edge, load_entities, name_key, upsert_edges, upsert_entities
from gm_engine.store.facts import NewFact, check_agent_id, insert_facts
from gm_engine.store.mentions import refresh_mentions
from gm_engine.store.settings import load_settings
from gm_engine.store.transaction import Transaction
from gm_engine.terms import text_key

CHUNK = 500
_CHUNK_CHARS = 4 << 20
_LISTED = 1000
_SAMPLES = 5
_SHOWN_AGENTS = 20


@dataclass(slots=True)
class _Chunk:
    """Some records of a source, of each kind."""

    facts: list[NewFact] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    chars: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it is large enough for a transaction of its own."""
        return len(self.facts) + len(self.entities) + len(self.edges) >= CHUNK or self.chars >= _CHUNK_CHARS


class _Pass:
    """One reading of a source: records in chunks, what was found, what stays out."""

    def __init__(self, reader: Reader, request: Request, *, agent_id: str | None, origin: Origin, now_ns: int) -> None:
        self._reader, self._request = reader, request
        self._agent_id, self._origin, self._now_ns = agent_id, origin, now_ns
        self._file_ns = min(int(request.path.stat().st_mtime_ns), now_ns)
        self._seen: set[str] = set()
        self._keys: dict[str, str] = {}
        self._unlisted: Counter[tuple[str, str]] = Counter()
        self._skipped: list[Skipped] = []
        self.found: Counter[str] = Counter()
        self.agents: dict[str, None] = {}
        self.samples: list[str] = []

    def chunks(self) -> Iterator[_Chunk]:
        """The records in the order of the source, every one once."""
        chunk = _Chunk()
        for item in self._reader.read(self._request):
            self._sort(item, chunk)
            if chunk.is_full:
                yield chunk
                chunk = _Chunk()
        yield chunk

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What stays out; after the first thousand by reason only."""
        rest = (Skipped(kind, "", f"{count} more: {reason}") for (kind, reason), count in self._unlisted.items())
        return (*self._skipped, *rest)

    def skip(self, kind: str, place: str, reason: str) -> None:
        """Notes a record that stays out."""
        if len(self._skipped) < _LISTED:
            self._skipped.append(Skipped(kind, place, reason))
        else:
            self._unlisted[kind, reason] += 1

    def _sort(self, item: Item, chunk: _Chunk) -> None:
        match item:
            case Text():
                self.found["fact"] += 1
                self._add_text(item, chunk)
            case Thing() if self._is_new(f"entity {name_key(item.label)}"):
                self.found["entity"] += 1
                if problem := _name_problem(item.label):
                    self.skip("entity", item.place, problem)
                else:
                    chunk.entities.append(_entity(item))
            case Link() if self._is_new(f"edge {json.dumps([item.source, item.relation, item.target])}"):
                self.found["edge"] += 1
                if problem := _name_problem(item.source, item.target, item.relation):
                    self.skip("edge", item.place, problem)
                else:
                    chunk.edges.append(_edge(item))
            case Left():
                if item.kind in ("fact", "entity", "edge"):
                    self.found[item.kind] += 1
                self.skip(item.kind, item.place, item.reason)

    def _is_new(self, what: str) -> bool:
        is_new = what not in self._seen
        self._seen.add(what)
        return is_new

    def _add_text(self, item: Text, chunk: _Chunk) -> None:
        agent_id = self._agent_id or item.agent_id or self._reader.agent_id
        problem = _text_problem(item, agent_id)
        fact_id = "" if problem else fingerprint(agent_id, item.text)
        if not problem and item.key and self._keys.setdefault(item.key, fact_id) != fact_id:
            problem = f"the file holds the id {item.key[:60]!r} twice, with another text"
        if not problem and not self._is_new(fact_id):
            problem = "the same text stands before"
        if problem:
            self.skip("fact", item.place, problem)
            return
        if len(self.agents) < _SHOWN_AGENTS:
            self.agents[agent_id] = None
        chunk.facts.append(self._fact(item, fact_id, agent_id))
        chunk.chars += len(item.text)

    def _fact(self, item: Text, fact_id: str, agent_id: str) -> NewFact:
        """A fact whose use begins with the import: it fades from then on, however old it is."""
        source = self._request.path.name
        ref = f"{source}/{item.file}" if item.file and item.file != source else source
        return NewFact(
            id=fact_id,
            agent_id=agent_id,
            text=item.text,
            created_ns=min(self._file_ns if item.created_ns is None else item.created_ns, self._now_ns),
            origin=replace(self._origin, sources=(SourceRef("file", ref),)),
            accessed_ns=self._now_ns,
            confidence=item.confidence or self._reader.confidence,
        )


def fingerprint(agent_id: str, text: str) -> str:
    """The id of an imported text: the same for the same agent and text, in the shape of a ULID."""
    digest = hashlib.sha256(json.dumps([agent_id, text]).encode()).digest()
    return encode_ulid(int.from_bytes(digest[:6]), int.from_bytes(digest[6:16]))


def _text_problem(item: Text, agent_id: str) -> str:
    if len(item.text) > MAX_TEXT_CHARS:
        return f"the text has {len(item.text):,} characters, more than {MAX_TEXT_CHARS:,}"
    if "\0" in item.text or "\0" in agent_id:
        return "the text holds a NUL character: it is no text"
    try:
        f"{item.text}{agent_id}{item.confidence}".encode()
    except UnicodeEncodeError:
        return "the text holds a lone surrogate, which no file can carry"
    return ""


def _name_problem(*names: str) -> str:
    for name in names:
        if not name.strip() or "\0" in name or len(name) > 1000:
            return "a name is blank, holds a NUL character or more than 1,000 characters"
        try:
            name.encode()
        except UnicodeEncodeError:
            return "a name holds a lone surrogate"
    return ""


def _entity(item: Thing) -> Entity:
    kind = item.type.encode("utf-8", "replace").decode().replace("\0", "")
    return Entity(name_key(item.label), item.label, kind, None, None, 1.0, MADE_BY)


def _edge(item: Link) -> Edge:
    return Edge(name_key(item.source), name_key(item.target), item.relation, None, 1.0, MADE_BY, ())


def _check(reader: Reader, agent_id: str | None, request: Request) -> None:
    if agent_id is not None:
        check_agent_id(agent_id)
    if request.columns and not reader.takes_columns:
        raise InvalidInput(f"{reader.title} has no columns to map.", field="columns")
    for ours in request.columns:
        if ours not in FIELDS:
            raise InvalidInput(f"Unknown field {ours[:60]!r}; known: {', '.join(FIELDS)}.", field="columns")


def preview_foreign(
    ledger: Ledger,
    reader: Reader,
    request: Request,
    *,
    agent_id: str | None,
    progress: Progress,
    cancel: CancelToken,
) -> ImportReport:
    """What `import_foreign` would report; nothing is written. Raises `ImportRefused` or `InvalidInput`."""
    _check(reader, agent_id, request)
    now_ns = ledger.clock.now_ns()
    source = _Pass(reader, request, agent_id=agent_id, origin=Origin("import"), now_ns=now_ns)
    imported: Counter[str] = Counter()
    with ledger.read() as connection:
        for chunk in source.chunks():
            cancel.check()
            progress(sum(source.found.values()), None, f"Reading {request.path.name}")
            facts, _ = _new_facts(connection, chunk.facts, source)
            imported["fact"] += len(facts)
            source.samples += [fact.text for fact in facts[: _SAMPLES - len(source.samples)]]
            known = load_entities(connection, [entity.id for entity in chunk.entities])
            imported["entity"] += sum(entity.id not in known for entity in chunk.entities)
            keys = [(edge.from_id, edge.to_id, edge.relation) for edge in chunk.edges]
            imported["edge"] += sum(load_edge(connection, key) is None for key in keys)
    return _report(source, reader, request, imported)


def import_foreign(
    ledger: Ledger,
    reader: Reader,
    request: Request,
    *,
    agent_id: str | None,
    origin: Origin,
    progress: Progress,
    cancel: CancelToken,
) -> ImportReport:
    """Writes what the store does not have yet, in chunks that are undone together.

    Raises `ImportRefused` or `InvalidInput` before anything is written, and `Cancelled` between two chunks.
    """
    looked = preview_foreign(ledger, reader, request, agent_id=agent_id, progress=progress, cancel=cancel)
    total = sum((looked.found.facts, looked.found.entities, looked.found.edges))
    source = _Pass(reader, request, agent_id=agent_id, origin=origin, now_ns=ledger.clock.now_ns())
    imported: Counter[str] = Counter()
    group_id = ledger.clock.new_id(ledger.clock.now_ns())
    for chunk in source.chunks():
        cancel.check()
        progress(min(sum(source.found.values()), total), total, f"Importing {request.path.name}")
        if not (chunk.facts or chunk.entities or chunk.edges):
            continue
        with ledger.write("import", origin=origin, group_id=group_id, detail=request.path.name) as tx:
            imported["fact"] += _write_facts(tx, chunk.facts, source, origin)
            imported["entity"] += upsert_entities(tx, chunk.entities)
            imported["edge"] += upsert_edges(tx, chunk.edges)
    progress(total, total, f"Importing {request.path.name}")
    refresh_mentions(ledger, progress=progress, cancel=cancel)
    return replace(_report(source, reader, request, imported), samples=looked.samples)


def _write_facts(tx: Transaction, facts: Sequence[NewFact], source: _Pass, origin: Origin) -> int:
    new, refused = _new_facts(tx.connection, facts, source)
    count_attempts(tx.connection, refused, origin, at_ns=tx.at_ns)
    if new:
        insert_facts(tx, new, language=load_settings(tx.connection).language)
    return len(new)


def _new_facts(
    connection: Connection, facts: Sequence[NewFact], source: _Pass
) -> tuple[list[NewFact], tuple[str, ...]]:
    """The facts to write, and the keys of blocked values among the others.

    A fact that came by an earlier import is passed over in silence; a text that the agent has by other means, and one
    that is blocked, are noted as skipped.
    """
    ids = (json.dumps([fact.id for fact in facts]),)
    rows = connection.exec_driver_sql("SELECT id FROM facts WHERE id IN (SELECT value FROM json_each(?))", ids)
    known = {row[0] for row in rows}
    unknown = [fact for fact in facts if fact.id not in known]
    held = _held_texts(connection, unknown)
    keys = blocked_keys(connection, [(fact.agent_id, fact.text) for fact in unknown])
    new = []
    for fact, key in zip(unknown, keys, strict=True):
        if key is not None:
            source.skip("fact", fact.text[:60], "its text is blocked: somebody asked never to store it again")
        elif (fact.agent_id, fact.text) in held:
            source.skip("fact", fact.text[:60], f"{fact.agent_id!r} remembers this text already")
        else:
            new.append(fact)
    return new, tuple(key.hex() for key in keys if key is not None)


def _held_texts(connection: Connection, facts: Sequence[NewFact]) -> set[tuple[str, str]]:
    """Which of these agents remember these texts already, live."""
    if not facts:
        return set()
    keys = tuple({text_key(fact.text) for fact in facts})
    marks = ", ".join("?" for _ in keys)
    rows = connection.exec_driver_sql(
        f"SELECT agent_id, text FROM facts WHERE text_key IN ({marks}) AND superseded_by = ''", keys
    )
    return {(row[0], row[1]) for row in rows}


def _report(source: _Pass, reader: Reader, request: Request, imported: Counter[str]) -> ImportReport:
    return ImportReport(
        source=str(request.path),
        found=Counts(source.found["fact"], 0, source.found["entity"], source.found["edge"]),
        imported=Counts(imported["fact"], 0, imported["entity"], imported["edge"]),
        skipped=source.skipped,
        format=reader.name,
        agents=tuple(source.agents),
        samples=tuple(source.samples),
        columns=column_names(request.path, reader.name) if reader.takes_columns else (),
    )
