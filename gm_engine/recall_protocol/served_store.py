"""A store as one adapter instance shows it: which namespaces it serves, and what is known about it as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from gm_engine.errors import AsOfUnsupported, CheckpointDamaged, NotFound
from gm_engine.memory import Memory
from gm_engine.moment import MemoryView
from gm_engine.recall_protocol.adapter_settings import AdapterSettings
from gm_engine.recall_protocol.lexical_span import WordCounts, count_words
from gm_engine.records import (
    SHARED_AGENT_ID,
    Checkpoint,
    CheckpointSummary,
    Entity,
    FactQuery,
    JsonValue,
    StoreSettings,
)

Reader = Memory | MemoryView
Check = Callable[[], None]
LEDGER_NAME = "ledger.sqlite"
MAX_CHECKPOINTS = 2_000
MAX_CHECKPOINT_BYTES = 4_000_000
_MENTIONING = 1_000
_ALL_MENTIONS = 1_000_000


@dataclass(frozen=True, slots=True)
class Named:
    """An entity and the terms of each of its names."""

    entity: Entity
    names: tuple[tuple[str, WordCounts], ...]


class ServedStore:
    """An open store and what is kept of it between requests. Safe from any thread.

    `uses_vectors` tells whether an embedding model is configured: where none is, no vector is missing.
    """

    def __init__(self, memory: Memory, settings: AdapterSettings) -> None:
        self.memory = memory
        self.settings = settings
        self.uses_vectors = memory.vector_status().model != ""
        self._lock = Lock()
        self._store_settings: tuple[int, StoreSettings] | None = None
        self._namespaces: tuple[int, tuple[str, ...]] | None = None
        self._entities: tuple[int, tuple[Named, ...]] | None = None
        self._checkpoints: dict[str, WordCounts] = {}

    @property
    def store_settings(self) -> StoreSettings:
        """The store's own settings, read again only when the journal has grown."""
        seq, known = self.memory.last_seq(), self._store_settings
        if known is None or known[0] != seq:
            known = self._store_settings = seq, self.memory.settings
        return known[1]

    @property
    def language(self) -> str:
        """The language that the store's words are stemmed in."""
        return self.store_settings.language

    @property
    def identity(self) -> str | None:
        """A hash that names the ledger that is open; None where part of it is left out: no claim to it alone."""
        return None if self.settings.is_narrowed else store_identity(self.memory)

    @contextmanager
    def reading(self, as_of_ns: int | None) -> Iterator[Reader]:
        """The store now or as it stood; `AsOfUnsupported` where the journal does not reach that far back."""
        if as_of_ns is None:
            yield self.memory
            return
        with self.memory.at(as_of_ns) as view:
            if not view.can_recall:
                raise AsOfUnsupported("The journal does not reach that far back.", as_of_ns=as_of_ns)
            yield view

    def serves(self, agent_id: str) -> bool:
        """Whether this instance shows records of a namespace."""
        if agent_id == SHARED_AGENT_ID:
            return self.settings.include_shared
        return self.settings.agents is None or agent_id in self.settings.agents

    def namespaces(self, reader: Reader) -> tuple[str, ...]:
        """The served namespaces that there are, by name."""
        if isinstance(reader, MemoryView):
            return tuple(each.agent_id for each in reader.agents() if self.serves(each.agent_id))
        seq = reader.last_seq()
        with self._lock:
            known = self._namespaces
        if known is None or known[0] != seq:
            known = seq, tuple(each.agent_id for each in reader.agents() if self.serves(each.agent_id))
            with self._lock:
                self._namespaces = known
        return known[1]

    def entities(self, reader: Reader) -> tuple[Named, ...]:
        """Every entity of the graph with its names; kept until an entity changes."""
        if isinstance(reader, MemoryView):
            return self._named(reader)
        seq = reader.last_seq()
        with self._lock:
            known = self._entities
        if known is None or (known[0] != seq and "entity" in reader.changes_since(known[0]).kinds):
            known = seq, self._named(reader)
        with self._lock:
            self._entities = seq, known[1]
        return known[1]

    def _named(self, reader: Reader) -> tuple[Named, ...]:
        language, names = self.language, reader.graph.all_names()
        return tuple(
            Named(
                entity,
                tuple((name, count_words(name, language)) for name in names.get(entity.id, (entity.label,))),
            )
            for entity in reader.graph.entities()
        )

    def facts_about(self, reader: Reader, entity_ids: tuple[str, ...]) -> frozenset[str]:
        """The live facts that mention one of these entities or stand behind a link of it."""
        found: set[str] = set()
        for entity_id in entity_ids:
            found.update(reader.graph.mentioned_in(entity_id, limit=_ALL_MENTIONS))
        return frozenset(found)

    def entity_is_served(self, reader: Reader, entity_id: str, project: str | None) -> bool:
        """Whether an entity may be shown: where part of the store is left out, only if a served fact mentions it."""
        if project is None and not self.settings.is_narrowed:
            return True
        facts = reader.facts(reader.graph.mentioned_in(entity_id, limit=_MENTIONING))
        return any(self.serves(fact.agent_id) and project in (None, fact.agent_id) for fact in facts)

    def shown_entities(self, reader: Reader, project: str | None) -> frozenset[str] | None:
        """The entities that served facts mention, where part of the store is left out; None: all are shown."""
        if project is None and not self.settings.is_narrowed:
            return None
        namespaces = self.namespaces(reader) if project is None else (project,)
        mentions = reader.graph.mentions()
        facts = (fact_id for agent in namespaces for fact_id in reader.fact_ids(FactQuery(agent_id=agent)))
        return frozenset(entity_id for fact_id in facts for entity_id in mentions.get(fact_id, ()))

    def checkpoint_words(self, reader: Reader, summary: CheckpointSummary) -> WordCounts | None:
        """The terms of a checkpoint, whose record never changes; None where it cannot be read."""
        with self._lock:
            known = self._checkpoints.get(summary.id)
        if known is not None:
            return known
        if summary.message_count is None or summary.size_bytes > MAX_CHECKPOINT_BYTES:
            return None
        try:
            words = count_words(checkpoint_text(reader.checkpoints.load(summary.id)), self.language)
        except (CheckpointDamaged, NotFound):
            return None
        with self._lock:
            if len(self._checkpoints) >= 2 * MAX_CHECKPOINTS:
                self._checkpoints.clear()
            self._checkpoints[summary.id] = words
        return words


def store_identity(memory: Memory) -> str:
    """A hash that names the ledger file that was opened, whatever path led to it."""
    found = (memory.data_dir / LEDGER_NAME).stat()
    return hashlib.sha256(f"graymatter ledger {found.st_dev} {found.st_ino}".encode()).hexdigest()


def checkpoint_text(checkpoint: Checkpoint) -> str:
    """What a checkpoint says, as lines: its state by path, its conversation, its metadata."""
    lines = [*_lines(dict(checkpoint.state), "")]
    lines += [f"{message.role}: {message.content}" for message in checkpoint.messages]
    lines += [f"{name}: {value}" for name, value in checkpoint.metadata.items()]
    return "\n".join(lines)


def _lines(value: JsonValue, path: str) -> Iterator[str]:
    match value:
        case dict():
            for name, member in value.items():
                yield from _lines(member, f"{path}.{name}" if path else name)
        case list():
            for item in value:
                yield from _lines(item, path)
        case _:
            yield f"{path}: {value}"
