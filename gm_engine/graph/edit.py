"""The verbs on entities and links. Each runs inside one journalled transaction and is undone by its seq.

What a person did stays done: extraction finds renamed and merged entities by all of their names, makes no deleted
entity and no severed link again, and keeps apart what was split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gm_engine.errors import InvalidInput, NotFound
from gm_engine.graph.records import DictionaryEntry, GraphChange
from gm_engine.records import Edge, Entity
from gm_engine.store.entities import EdgeKey, load_edge, load_entities, name_key
from gm_engine.store.facts import existing_ids
from gm_engine.store.graph_edits import (
    CO_MENTIONED,
    change_edge,
    change_entity,
    create_edge,
    create_entity,
    edge_key,
    edges_at,
    name_owners,
    names_of,
    present_key,
    remove_edge,
    remove_entity,
)
from gm_engine.store.graph_marks import DICTIONARY, allow_link, mark_meaning, mark_unlinked
from gm_engine.store.settings import remove_setting, write_setting
from gm_engine.store.transaction import Transaction

MAX_LABEL = 500
MAX_TYPE = 60


def check_label(text: str, *, field: str = "label", limit: int = MAX_LABEL) -> str:
    """The text without white space around it; `InvalidInput` when it is blank, too long or no Unicode text."""
    trimmed = text.strip()
    if not trimmed:
        raise InvalidInput(f"The {field} is empty.", field=field)
    if len(trimmed) > limit:
        raise InvalidInput(f"The {field} has {len(trimmed):,} characters; {limit:,} are the most.", field=field)
    try:
        trimmed.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"The {field} holds a lone surrogate at character {error.start}.", field=field) from error
    return trimmed


def check_type(name: str) -> str:
    """A type: one of the known ones, or any other short word."""
    return check_label(name, field="type", limit=MAX_TYPE)


def require(tx: Transaction, ids: Iterable[str]) -> dict[str, Entity]:
    """The entities with these ids, in order, each once; `NotFound` names the first that does not exist."""
    wanted = tuple(dict.fromkeys(ids))
    found = load_entities(tx.connection, wanted)
    for entity_id in wanted:
        if entity_id not in found:
            raise NotFound(f"There is no entity {entity_id!r}.", id=entity_id)
    return {entity_id: found[entity_id][0] for entity_id in wanted}


def _free(tx: Transaction, keys: Sequence[str], *, owner: str = "") -> None:
    for key, taken_by in name_owners(tx.connection, keys).items():
        if taken_by != owner:
            raise InvalidInput(
                f"{key!r} is already a name of the entity {taken_by!r}. Merge the two instead.",
                field="label",
                entity=taken_by,
            )


def _changed(tx: Transaction, ids: Sequence[str], *, did: bool, edges: Sequence[Edge] = ()) -> GraphChange:
    found = load_entities(tx.connection, ids)
    return GraphChange(tx.seq if did else None, tuple(found[each][0] for each in ids if each in found), tuple(edges))


def add(
    tx: Transaction, label: str, type_name: str, *, names: Sequence[str] = (), made_by: str = "person"
) -> GraphChange:
    """A new entity. `InvalidInput` when one of its names is taken."""
    label, type_name = check_label(label), check_type(type_name)
    keys = [name_key(label), *(name_key(check_label(name, field="name")) for name in names)]
    _free(tx, keys)
    entity = Entity(new_id(tx, keys[0]), label, type_name, tx.at_ns, tx.at_ns, 1.0, made_by)
    create_entity(tx, entity, keys)
    for key in keys:
        allow_name(tx, key)
    return _changed(tx, [entity.id], did=True)


def new_id(tx: Transaction, key: str) -> str:
    """The id of a new entity: its canonical name, or a ULID where an entity has that id already."""
    taken = tx.connection.exec_driver_sql("SELECT EXISTS(SELECT 1 FROM entities WHERE id = ?)", (key,)).scalar_one()
    return tx.clock.new_id(tx.at_ns) if taken else key


def allow_name(tx: Transaction, key: str) -> None:
    """Takes a name off the list of those that extraction ignores."""
    row = tx.connection.exec_driver_sql(
        "SELECT json_extract(value, '$.ignore') FROM settings WHERE key = ?", (DICTIONARY + key,)
    ).scalar()
    if row:
        remove_setting(tx, DICTIONARY + key)


def rename(tx: Transaction, entity_id: str, label: str) -> GraphChange:
    """Another label. The old one stays a name of the entity. `InvalidInput` when another entity has the new one."""
    label = check_label(label)
    require(tx, [entity_id])
    _free(tx, [name_key(label)], owner=entity_id)
    names = sorted({*names_of(tx.connection, [entity_id])[entity_id], name_key(label)})
    return _changed(tx, [entity_id], did=change_entity(tx, entity_id, {"label": label, "names": [*names]}))


def retype(tx: Transaction, ids: Sequence[str], type_name: str) -> GraphChange:
    """Another type for entities."""
    type_name = check_type(type_name)
    found = require(tx, ids)
    did = [change_entity(tx, entity_id, {"type": type_name}) for entity_id in found]
    return _changed(tx, list(found), did=any(did))


def merge(tx: Transaction, ids: Sequence[str], into: str) -> GraphChange:
    """Makes several entities one: `into` takes over names, edges and receipts, and the others are gone.

    Edges that become the same are united, edges between the merged ones vanish.
    """
    found = require(tx, [into, *ids])
    others = [found[entity_id] for entity_id in found if entity_id != into]
    if not others:
        raise InvalidInput("Two different entities are needed.", field="ids")
    gone = {other.id for other in others}
    _rewire(tx, edges_at(tx.connection, sorted(gone)), dict.fromkeys(gone, into))
    names = set(names_of(tx.connection, [into])[into])
    for owned in names_of(tx.connection, sorted(gone)).values():
        names.update(owned)
    for other in others:
        remove_entity(tx, other.id)
    everybody = [found[into], *others]
    change_entity(
        tx,
        into,
        {
            "names": [*sorted(names)],
            "first_seen_ns": min((each.first_seen_ns for each in everybody if each.first_seen_ns), default=None),
            "last_seen_ns": max((each.last_seen_ns for each in everybody if each.last_seen_ns), default=None),
            "weight": max(each.weight for each in everybody),
        },
    )
    return _changed(tx, [into], did=True)


@dataclass(slots=True)
class _Draft:
    """What an edge is going to be, put together from those that become one."""

    edge: Edge
    sources: set[str]

    def add(self, other: Edge) -> None:
        times = [ns for ns in (self.edge.created_ns, other.created_ns) if ns is not None]
        maker = self.edge.made_by if other.made_by == "extraction" else other.made_by
        self.edge = replace(
            self.edge,
            created_ns=min(times, default=None),
            weight=max(self.edge.weight, other.weight),
            made_by=maker,
        )
        self.sources.update(other.sources)

    def done(self) -> Edge:
        return replace(self.edge, sources=tuple(sorted(self.sources)))


def _rewire(tx: Transaction, edges: Sequence[tuple[Edge, int]], becomes: dict[str, str]) -> None:
    """Moves edges to other ends; one that would end where it begins vanishes."""
    drafts: dict[EdgeKey, _Draft] = {}
    for edge, version in edges:
        remove_edge(tx, edge, version)
        key = edge_key(becomes.get(edge.from_id, edge.from_id), becomes.get(edge.to_id, edge.to_id), edge.relation)
        if key[0] == key[1]:
            continue
        moved = replace(edge, from_id=key[0], to_id=key[1])
        if key in drafts:
            drafts[key].add(moved)
        else:
            drafts[key] = _Draft(moved, set(edge.sources))
    for key, draft in drafts.items():
        put_edge(tx, draft.done(), key)


def put_edge(tx: Transaction, edge: Edge, key: EdgeKey) -> bool:
    """Creates an edge, or unites it with the one that is there; whether anything changed that the journal keeps."""
    present = load_edge(tx.connection, key)
    if present is None:
        create_edge(tx, edge)
        return True
    old, version = present
    draft = _Draft(old, set(old.sources))
    draft.add(edge)
    return change_edge(tx, old, version, replace(draft.done(), made_by=old.made_by))


def split(
    tx: Transaction, entity_id: str, label: str, *, type_name: str | None = None, facts: Sequence[str] = ()
) -> GraphChange:
    """Parts an entity in two: a new one, called `label`, takes over what these facts say.

    The facts' receipts move with them; edges that keep no receipt move whole. In these facts extraction takes the
    old names for the new entity from now on. Returns the old entity and the new one.
    """
    found = require(tx, [entity_id])
    if not facts:
        raise InvalidInput("No fact was named.", field="facts")
    label = check_label(label)
    _free(tx, [name_key(label)])
    moved = set(facts)
    old = found[entity_id]
    unknown = sorted(moved - existing_ids(tx.connection, sorted(moved)))
    if unknown:
        raise NotFound(f"There is no fact {unknown[0]}.", ids=unknown)
    kind = old.type if type_name is None else check_type(type_name)
    new = Entity(new_id(tx, name_key(label)), label, kind, tx.at_ns, old.last_seen_ns, old.weight, "person")
    create_entity(tx, new, [name_key(label)])
    allow_name(tx, name_key(label))
    for edge, version in edges_at(tx.connection, [entity_id]):
        taken = tuple(sorted(moved.intersection(edge.sources)))
        if not taken:
            continue
        kept = tuple(source for source in edge.sources if source not in moved)
        if kept:
            change_edge(tx, edge, version, replace(edge, sources=kept))
        else:
            remove_edge(tx, edge, version)
        ends = {entity_id: new.id}
        key = edge_key(ends.get(edge.from_id, edge.from_id), ends.get(edge.to_id, edge.to_id), edge.relation)
        put_edge(tx, replace(edge, from_id=key[0], to_id=key[1], sources=taken), key)
    mark_meaning(tx, sorted(moved), named=entity_id, meant=new.id)
    return _changed(tx, [entity_id, new.id], did=True)


def link(tx: Transaction, from_id: str, to_id: str, relation: str, *, sources: Sequence[str] = ()) -> GraphChange:
    """Links two entities; receipts are united with those of a link that is there already."""
    relation = check_label(relation, field="relation", limit=MAX_TYPE)
    require(tx, [from_id, to_id])
    if from_id == to_id:
        raise InvalidInput("An entity is not linked to itself.", field="to_id")
    unknown = sorted(set(sources) - existing_ids(tx.connection, list(sources)))
    if unknown:
        raise NotFound(f"There is no fact {unknown[0]}.", ids=unknown)
    named = edge_key(from_id, to_id, relation)
    key = present_key(tx.connection, named)
    receipts = tuple(sorted(set(sources)))
    did = put_edge(tx, Edge(*key, tx.at_ns, 1.0, "person", receipts), key)
    allow_link(tx, named)
    present = load_edge(tx.connection, key)
    return _changed(tx, [from_id, to_id], did=did, edges=() if present is None else (present[0],))


def unlink(tx: Transaction, from_id: str, to_id: str, relation: str | None) -> GraphChange:
    """Takes the links between two entities away, in either direction, of one relation or all of them.

    `NotFound` when there is none. Extraction does not make them again.
    """
    gone = []
    for edge, version in edges_at(tx.connection, [from_id]):
        if {edge.from_id, edge.to_id} == {from_id, to_id} and relation in (None, edge.relation):
            remove_edge(tx, edge, version)
            gone.append(edge)
            if edge.made_by == "extraction" or edge.relation == CO_MENTIONED:
                mark_unlinked(tx, edge_key(edge.from_id, edge.to_id, edge.relation))
    if not gone:
        raise NotFound(f"There is no such link between {from_id!r} and {to_id!r}.", from_id=from_id, to_id=to_id)
    return _changed(tx, [from_id, to_id], did=True, edges=gone)


def delete(tx: Transaction, ids: Sequence[str]) -> GraphChange:
    """Takes entities away with all of their links. Extraction ignores their names from now on."""
    found = require(tx, ids)
    if not found:
        raise InvalidInput("No entity was named.", field="ids")
    names = names_of(tx.connection, found)
    for edge, version in edges_at(tx.connection, found):
        remove_edge(tx, edge, version)
    for entity in found.values():
        remove_entity(tx, entity.id)
        for name in names[entity.id]:
            write_setting(tx, DICTIONARY + name, entry_value(DictionaryEntry(name, entity.type, ignore=True)))
    return GraphChange(tx.seq, tuple(found.values()))


def entry_value(entry: DictionaryEntry) -> dict[str, object]:
    """An entry as its setting holds it."""
    return {"label": entry.label, "type": entry.type, "names": list(entry.names), "ignore": entry.ignore}
