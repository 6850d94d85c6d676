"""Changing the graph row by row, journalled: what the verbs on entities and links are made of.

An entity owns canonical names (`entity_names`); they belong to its journal image as `names`, as the receipts of an
edge belong to its image as `sources`. When an entity was last seen, and the weights, are bookkeeping: they are set
here too, but an undo leaves them alone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from gm_engine.errors import UndoConflict
from gm_engine.records import Edge, Entity, JsonValue
from gm_engine.store.entities import EdgeKey, entity_image, load_entities, rows_in
from gm_engine.store.transaction import Transaction, canonical_json

CO_MENTIONED = "co_mentioned"
_SAME_EDGE = "from_id = ? AND to_id = ? AND relation = ?"
_EDGES = "SELECT from_id, to_id, relation, created_ns, weight, made_by, version FROM edges"
_SOURCES = "SELECT from_id, to_id, relation, fact_id FROM edge_sources"


def edge_key(from_id: str, to_id: str, relation: str) -> EdgeKey:
    """The key of a link; one that has no direction (`co_mentioned`) names its ends in order."""
    if relation == CO_MENTIONED and to_id < from_id:
        from_id, to_id = to_id, from_id
    return from_id, to_id, relation


def present_key(connection: Connection, key: EdgeKey) -> EdgeKey:
    """The key under which a link without direction is kept: an import may have named its ends the other way round."""
    turned = (key[1], key[0], key[2])
    if key[2] != CO_MENTIONED or _exists(connection, key) or not _exists(connection, turned):
        return key
    return turned


def _exists(connection: Connection, key: EdgeKey) -> bool:
    return connection.exec_driver_sql(f"SELECT 1 FROM edges WHERE {_SAME_EDGE}", key).scalar() is not None


def name_owners(connection: Connection, keys: Iterable[str]) -> dict[str, str]:
    """Which entity owns each of these canonical names; names that nobody owns are left out."""
    rows = rows_in(connection, "SELECT name_key, entity_id FROM entity_names WHERE name_key IN ({})", keys)
    return {row[0]: row[1] for row in rows}


def names_of(connection: Connection, ids: Iterable[str]) -> dict[str, list[str]]:
    """The canonical names of each of these entities, in order."""
    found: dict[str, list[str]] = defaultdict(list)
    rows = rows_in(connection, "SELECT entity_id, name_key FROM entity_names WHERE entity_id IN ({})", ids)
    for entity_id, key in sorted(map(tuple, rows)):
        found[entity_id].append(key)
    return found


def edges_at(connection: Connection, ids: Iterable[str]) -> list[tuple[Edge, int]]:
    """Every edge that has one of these entities at an end, with its version, by key."""
    wanted = list(ids)
    sources: dict[EdgeKey, set[str]] = defaultdict(set)
    edges: dict[EdgeKey, Sequence[Any]] = {}
    for end in ("from_id", "to_id"):
        for row in rows_in(connection, f"{_EDGES} WHERE {end} IN ({{}})", wanted):
            edges[row[0], row[1], row[2]] = row
        for row in rows_in(connection, f"{_SOURCES} WHERE {end} IN ({{}})", wanted):
            sources[row[0], row[1], row[2]].add(row[3])
    found = []
    for key in sorted(edges):
        receipts = tuple(sorted(sources.get(key, ())))
        created_ns, weight, made_by, version = edges[key][3:]
        found.append((Edge(*key, created_ns, weight, made_by, receipts), version))
    return found


def create_entity(tx: Transaction, entity: Entity, names: Sequence[str]) -> None:
    """Writes a new entity that owns `names`, which nobody may own."""
    image = entity_image(entity)
    tx.connection.exec_driver_sql(
        "INSERT INTO entities(id, label, type, first_seen_ns, last_seen_ns, weight, made_by, version)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (entity.id, *image.values(), tx.seq),
    )
    owned = sorted(set(names))
    _write_names(tx.connection, entity.id, owned)
    tx.record("entity", entity.id, agent_id=None, version_before=0, before=None, after={**image, "names": [*owned]})


def change_entity(tx: Transaction, entity_id: str, columns: Mapping[str, JsonValue]) -> bool:
    """Sets columns of an entity, `names` among them, and journals what differs; whether anything did.

    `last_seen_ns` and `weight` are set without being journalled.
    """
    entity, version = load_entities(tx.connection, [entity_id])[entity_id]
    now: dict[str, JsonValue] = {
        **entity_image(entity),
        "names": [*names_of(tx.connection, [entity_id])[entity_id]],
    }
    differs = {name: value for name, value in columns.items() if now[name] != value}
    silent = {name: value for name, value in differs.items() if name in ("last_seen_ns", "weight")}
    loud = {name: value for name, value in differs.items() if name not in silent}
    stored = {name: value for name, value in differs.items() if name != "names"}
    if stored:
        _set(tx.connection, "entities", "id = ?", (entity_id,), stored)
    if not loud:
        return False
    _set(tx.connection, "entities", "id = ?", (entity_id,), {"version": tx.seq})
    names = loud.get("names")
    if isinstance(names, list):
        tx.connection.exec_driver_sql("DELETE FROM entity_names WHERE entity_id = ?", (entity_id,))
        _write_names(tx.connection, entity_id, [str(name) for name in names])
    before = {name: now[name] for name in loud}
    tx.record("entity", entity_id, agent_id=None, version_before=version, before=before, after=loud)
    return True


def remove_entity(tx: Transaction, entity_id: str) -> None:
    """Takes an entity and its names away; its edges are the caller's business."""
    entity, version = load_entities(tx.connection, [entity_id])[entity_id]
    names = names_of(tx.connection, [entity_id])[entity_id]
    for statement in (
        "DELETE FROM entities WHERE id = ?",
        "DELETE FROM entity_names WHERE entity_id = ?",
        "DELETE FROM mentions WHERE entity_id = ?",
    ):
        tx.connection.exec_driver_sql(statement, (entity_id,))
    image: dict[str, JsonValue] = {**entity_image(entity), "names": [*names]}
    tx.record("entity", entity_id, agent_id=None, version_before=version, version_after=0, before=image, after=None)


def create_edge(tx: Transaction, edge: Edge) -> None:
    """Writes a new edge."""
    key = (edge.from_id, edge.to_id, edge.relation)
    image = edge_image(edge)
    tx.connection.exec_driver_sql(
        "INSERT INTO edges(from_id, to_id, relation, created_ns, weight, made_by, version)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*key, edge.created_ns, edge.weight, edge.made_by, tx.seq),
    )
    _write_sources(tx.connection, key, edge.sources)
    tx.record("edge", canonical_json(list(key)), agent_id=None, version_before=0, before=None, after=image)


def change_edge(tx: Transaction, old: Edge, version: int, new: Edge) -> bool:
    """Gives an edge the time, receipts and weight of `new` and journals what differs; whether anything did.

    The weight is set without being journalled.
    """
    key = (old.from_id, old.to_id, old.relation)
    was, becomes = edge_image(old), edge_image(new)
    loud = {name: becomes[name] for name in ("created_ns", "sources") if was[name] != becomes[name]}
    if old.weight != new.weight:
        _set(tx.connection, "edges", _SAME_EDGE, key, {"weight": new.weight})
    if not loud:
        return False
    _set(tx.connection, "edges", _SAME_EDGE, key, {"created_ns": new.created_ns, "version": tx.seq})
    if "sources" in loud:
        tx.connection.exec_driver_sql(f"DELETE FROM edge_sources WHERE {_SAME_EDGE}", key)
        _write_sources(tx.connection, key, new.sources)
    # the receipts are named by every change, so that the newest one says what the journal knows of them
    before: dict[str, JsonValue] = {"sources": was["sources"], **{name: was[name] for name in loud}}
    after: dict[str, JsonValue] = {"sources": becomes["sources"], **loud}
    target = canonical_json(list(key))
    tx.record("edge", target, agent_id=None, version_before=version, before=before, after=after)
    return True


def remove_edge(tx: Transaction, edge: Edge, version: int) -> None:
    """Takes an edge and its receipts away."""
    key = (edge.from_id, edge.to_id, edge.relation)
    tx.connection.exec_driver_sql(f"DELETE FROM edges WHERE {_SAME_EDGE}", key)
    tx.connection.exec_driver_sql(f"DELETE FROM edge_sources WHERE {_SAME_EDGE}", key)
    target, image = canonical_json(list(key)), edge_image(edge)
    tx.record("edge", target, agent_id=None, version_before=version, version_after=0, before=image, after=None)


def edge_image(edge: Edge) -> dict[str, JsonValue]:
    """Every column of an edge but its key and version."""
    return {
        "created_ns": edge.created_ns,
        "weight": edge.weight,
        "made_by": edge.made_by,
        "sources": [*sorted(set(edge.sources))],
    }


def restore_names(connection: Connection, wanted: Mapping[str, Sequence[str]]) -> None:
    """Gives entities exactly these names; not journalled here.

    Raises `UndoConflict` when another entity has taken one of them since.
    """
    if wanted:
        connection.exec_driver_sql(
            "DELETE FROM entity_names WHERE entity_id = ?", [(entity_id,) for entity_id in wanted]
        )
    for entity_id, names in wanted.items():
        taken = name_owners(connection, names)
        if taken:
            name, owner = next(iter(taken.items()))
            raise UndoConflict(
                f"{name!r} has become a name of the entity {owner}; undo that first.", kind="entity", ids=[entity_id]
            )
        _write_names(connection, entity_id, names)


def refuse_loose_ends(
    connection: Connection, seqs: Sequence[int], *, gone: Iterable[str], restored: Iterable[EdgeKey]
) -> None:
    """Raises `UndoConflict` when taking back the entries `seqs` has left a link without an end that it had.

    That is a link made since then to one of the entities that are `gone` now, or a `restored` one whose end was removed
    since then. What led nowhere before, as an import may bring it, does so again.
    """
    for edge, _ in edges_at(connection, gone):
        target = canonical_json([edge.from_id, edge.to_id, edge.relation])
        made = connection.exec_driver_sql(
            "SELECT 1 FROM changes WHERE kind = 'edge' AND target = ? AND version_before = 0 AND seq > ?",
            (target, min(seqs)),
        ).first()
        if made is not None:
            raise UndoConflict(
                f"The link {edge.from_id} – {edge.relation} – {edge.to_id} was made since then; undo that first.",
                kind="edge",
                ids=[target],
            )
    ends = list(dict.fromkeys(end for key in restored for end in key[:2]))
    present = load_entities(connection, ends)
    for end in ends:
        was_there = (
            end not in present
            and connection.exec_driver_sql(
                "SELECT version_after FROM changes WHERE kind = 'entity' AND target = ? AND seq <= ?"
                " ORDER BY seq DESC, n DESC LIMIT 1",
                (end, max(seqs)),
            ).scalar()
        )
        if was_there:
            raise UndoConflict(
                f"The entity {end}, at an end of a link, was removed since then; undo that first.",
                kind="entity",
                ids=[end],
            )


def extract_again(connection: Connection, keys: Iterable[EdgeKey]) -> None:
    """Marks the facts that extraction added to these edges behind the journal's back to be looked at once more.

    Called before an undo sets the receipts to what the journal knows.
    """
    for key in keys:
        known = connection.exec_driver_sql(
            "SELECT c.after FROM changes c JOIN edges e ON e.version = c.version_after"
            f" WHERE {_SAME_EDGE} AND c.kind = 'edge' AND c.target = ?"
            " AND c.after IS NOT NULL ORDER BY c.seq DESC LIMIT 1",
            (*key, canonical_json(list(key))),
        ).scalar()
        if known is None or "sources" not in (image := json.loads(known)):
            continue
        connection.exec_driver_sql(
            "DELETE FROM extractions WHERE fact_id IN"
            f" (SELECT fact_id FROM edge_sources WHERE {_SAME_EDGE}"
            " AND fact_id NOT IN (SELECT value FROM json_each(?)))",
            (*key, json.dumps(image["sources"])),
        )


def _write_names(connection: Connection, entity_id: str, names: Sequence[str]) -> None:
    if names:
        rows = [(name, entity_id) for name in names]
        connection.exec_driver_sql("INSERT INTO entity_names(name_key, entity_id) VALUES (?, ?)", rows)


def _write_sources(connection: Connection, key: EdgeKey, sources: Sequence[str]) -> None:
    rows = [(*key, fact_id) for fact_id in sorted(set(sources))]
    if rows:
        connection.exec_driver_sql("INSERT INTO edge_sources VALUES (?, ?, ?, ?)", rows)


def _set(connection: Connection, table: str, where: str, key: tuple[str, ...], columns: Mapping[str, Any]) -> None:
    assignments = ", ".join(f"{name} = ?" for name in columns)
    connection.exec_driver_sql(f"UPDATE {table} SET {assignments} WHERE {where}", (*columns.values(), *key))
