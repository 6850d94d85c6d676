"""The knowledge graph in the ledger: entities, edges with their sources, and the facts that mention an entity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection

from gm_engine.records import Edge, Entity, JsonValue
from gm_engine.store.database import Ledger
from gm_engine.store.mentions import ENTITY_NAMES, fold, mentions_lag, refresh_mentions
from gm_engine.store.transaction import Transaction, canonical_json

EdgeKey = tuple[str, str, str]
_ASKED_AT_ONCE = 500
_ENTITY = "id, label, type, first_seen_ns, last_seen_ns, weight, made_by"
_EDGE = "from_id, to_id, relation, created_ns, weight, made_by"
_SAME_EDGE = "from_id = ? AND to_id = ? AND relation = ?"
_MENTIONS = (
    "SELECT m.fact_id, m.entity_id FROM mentions m"
    " JOIN facts f ON f.id = m.fact_id JOIN entities e ON e.id = m.entity_id"
    " WHERE f.superseded_by = '' AND f.kind <> 'alias' ORDER BY m.fact_id, m.entity_id"
)


class Graph:
    """The knowledge graph of a store; `memory.graph`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def entities(self) -> tuple[Entity, ...]:
        """Every entity, by id."""
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql(f"SELECT {_ENTITY} FROM entities ORDER BY id")
            return tuple(Entity(*row) for row in rows)

    def edges(self) -> tuple[Edge, ...]:
        """Every edge, by its ends and relation. An end may name an entity that does not exist."""
        with self._ledger.read() as connection:
            sources: dict[EdgeKey, list[str]] = defaultdict(list)
            for from_id, to_id, relation, fact_id in connection.exec_driver_sql(
                "SELECT from_id, to_id, relation, fact_id FROM edge_sources ORDER BY fact_id"
            ):
                sources[from_id, to_id, relation].append(fact_id)
            rows = connection.exec_driver_sql(f"SELECT {_EDGE} FROM edges ORDER BY from_id, to_id, relation")
            return tuple(_edge(row, sources.get((row[0], row[1], row[2]), ())) for row in rows)

    def mentions(self) -> dict[str, tuple[str, ...]]:
        """For each live content fact that mentions entities, their ids in order; a read-only store may lag behind."""
        if not self._ledger.read_only:
            refresh_mentions(self._ledger)
        found: dict[str, list[str]] = defaultdict(list)
        with self._ledger.read() as connection:
            for fact_id, entity_id in connection.exec_driver_sql(_MENTIONS):
                found[fact_id].append(entity_id)
        return {fact_id: tuple(entity_ids) for fact_id, entity_ids in found.items()}

    def all_names(self) -> dict[str, tuple[str, ...]]:
        """For each entity its label and its canonical names, in order."""
        found: dict[str, list[str]] = defaultdict(list)
        with self._ledger.read() as connection:
            for entity_id, name in connection.exec_driver_sql(ENTITY_NAMES):
                found[entity_id].append(name)
        return {entity_id: tuple(names) for entity_id, names in found.items()}

    def entities_of(self, fact_id: str) -> tuple[Entity, ...]:
        """The entities that a fact mentions, by label; a read-only store may lag behind."""
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql(
                f"SELECT {_ENTITY} FROM entities WHERE id IN (SELECT entity_id FROM mentions WHERE fact_id = ?)"
                " ORDER BY label, id",
                (fact_id,),
            )
            return tuple(Entity(*row) for row in rows)

    def mentions_lag(self) -> int:
        """How many journal entries `mentions` has not seen yet; only a read-only store stays behind."""
        with self._ledger.read() as connection:
            return mentions_lag(connection)


def name_key(label: str) -> str:
    """The canonical name that extraction and import look entities up by: NFKC, case-folded, trimmed."""
    return fold(label).strip()


def rows_in(connection: Connection, sql: str, values: Iterable[str]) -> Iterator[Sequence[Any]]:
    """The rows of `sql`, whose `{}` stands for the list of `values`. Names may hold NUL, which ends a JSON text."""
    wanted = list(values)
    for start in range(0, len(wanted), _ASKED_AT_ONCE):
        part = tuple(wanted[start : start + _ASKED_AT_ONCE])
        yield from connection.exec_driver_sql(sql.format(", ".join("?" for _ in part)), part)


def load_entities(connection: Connection, ids: Sequence[str]) -> dict[str, tuple[Entity, int]]:
    """Entities by id, each with its version."""
    rows = rows_in(connection, f"SELECT {_ENTITY}, version FROM entities WHERE id IN ({{}})", ids)
    return {row[0]: (Entity(*row[:7]), row[7]) for row in rows}


def load_edge(connection: Connection, key: EdgeKey) -> tuple[Edge, int] | None:
    """One edge with its version."""
    row = connection.exec_driver_sql(f"SELECT {_EDGE}, version FROM edges WHERE {_SAME_EDGE}", key).first()
    if row is None:
        return None
    sources = connection.exec_driver_sql(
        f"SELECT fact_id FROM edge_sources WHERE {_SAME_EDGE} ORDER BY fact_id", key
    ).scalars()
    return _edge(row, tuple(sources)), row[6]


def _edge(row: Sequence[Any], sources: Sequence[str]) -> Edge:
    from_id, to_id, relation, created_ns, weight, made_by = row[:6]
    return Edge(from_id, to_id, relation, created_ns, weight, made_by, tuple(sources))


def upsert_entities(tx: Transaction, entities: Sequence[Entity]) -> int:
    """Writes and journals entities; how many were new.

    One that exists keeps its label, type and first sight, and takes the later last sight and the higher weight. A
    canonical name belongs to the first entity that had it.
    """
    known = load_entities(tx.connection, [entity.id for entity in entities])
    new = 0
    for entity in entities:
        if entity.id not in known:
            _insert_entity(tx, entity)
            known[entity.id] = (entity, tx.seq)
            new += 1
            continue
        old, version = known[entity.id]
        after: dict[str, JsonValue] = {}
        last_seen = max((ns for ns in (old.last_seen_ns, entity.last_seen_ns) if ns is not None), default=None)
        if last_seen != old.last_seen_ns:
            after["last_seen_ns"] = last_seen
        if entity.weight > old.weight:
            after["weight"] = entity.weight
        if after:
            before = {name: getattr(old, name) for name in after}
            _update(tx, "entities", "id = ?", key=(entity.id,), columns=after)
            tx.record("entity", entity.id, agent_id=None, version_before=version, before=before, after=after)
    return new


def _insert_entity(tx: Transaction, entity: Entity) -> None:
    image = entity_image(entity)
    tx.connection.exec_driver_sql(
        "INSERT INTO entities(id, label, type, first_seen_ns, last_seen_ns, weight, made_by, version)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (entity.id, *image.values(), tx.seq),
    )
    key = name_key(entity.label)
    is_new = tx.connection.exec_driver_sql(
        "INSERT OR IGNORE INTO entity_names(name_key, entity_id) VALUES (?, ?)", (key, entity.id)
    ).rowcount
    image["names"] = [key] if is_new else []
    tx.record("entity", entity.id, agent_id=None, version_before=0, before=None, after=image)


def entity_image(entity: Entity) -> dict[str, JsonValue]:
    """Every column of an entity but its id and version, in the order of the table."""
    return {
        "label": entity.label,
        "type": entity.type,
        "first_seen_ns": entity.first_seen_ns,
        "last_seen_ns": entity.last_seen_ns,
        "weight": entity.weight,
        "made_by": entity.made_by,
    }


def upsert_edges(tx: Transaction, edges: Sequence[Edge]) -> int:
    """Writes and journals edges; how many were new.

    One that exists keeps its time and takes the higher weight and the union of the sources. The journal names an edge
    by the JSON array of its ends and relation.
    """
    new = 0
    for edge in edges:
        key = (edge.from_id, edge.to_id, edge.relation)
        found = load_edge(tx.connection, key)
        if found is None:
            _insert_edge(tx, edge)
            new += 1
            continue
        old, version = found
        sources = tuple(sorted({*old.sources, *edge.sources}))
        columns: dict[str, Any] = {"weight": edge.weight} if edge.weight > old.weight else {}
        after: dict[str, JsonValue] = dict(columns)
        before: dict[str, JsonValue] = dict.fromkeys(columns, old.weight)
        if sources != old.sources:
            before["sources"], after["sources"] = list(old.sources), list(sources)
            _insert_sources(tx, key, sources)
        if after:
            _update(tx, "edges", _SAME_EDGE, key=key, columns=columns)
            target = canonical_json(list(key))
            tx.record("edge", target, agent_id=None, version_before=version, before=before, after=after)
    return new


def _insert_edge(tx: Transaction, edge: Edge) -> None:
    key = (edge.from_id, edge.to_id, edge.relation)
    values = (*key, edge.created_ns, edge.weight, edge.made_by, tx.seq)
    tx.connection.exec_driver_sql(f"INSERT INTO edges({_EDGE}, version) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    _insert_sources(tx, key, edge.sources)
    image: dict[str, JsonValue] = {
        "created_ns": edge.created_ns,
        "weight": edge.weight,
        "made_by": edge.made_by,
        "sources": [*sorted(set(edge.sources))],
    }
    tx.record("edge", canonical_json(list(key)), agent_id=None, version_before=0, before=None, after=image)


def _insert_sources(tx: Transaction, key: EdgeKey, sources: Sequence[str]) -> None:
    rows = [(*key, fact_id) for fact_id in sources]
    if rows:
        tx.connection.exec_driver_sql("INSERT OR IGNORE INTO edge_sources VALUES (?, ?, ?, ?)", rows)


def _update(tx: Transaction, table: str, where: str, *, key: tuple[str, ...], columns: dict[str, JsonValue]) -> None:
    assignments = "".join(f"{name} = ?, " for name in columns)
    tx.connection.exec_driver_sql(
        f"UPDATE {table} SET {assignments}version = ? WHERE {where}", (*columns.values(), tx.seq, *key)
    )
