"""Removing the names that are a purged text, or that only a purged fact knew: entities, links, dictionary, history.

An entity is named by its label, so its id goes too: everywhere in the journal a marker of its own takes its place.
Replaying the journal still gives the graph, and undoing toward such an image is refused.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from gm_engine.store.entities import load_entities, name_key
from gm_engine.store.graph_edits import change_entity, edges_at, names_of, remove_edge, remove_entity
from gm_engine.store.graph_marks import DICTIONARY
from gm_engine.store.mentions import ENTITY_NAMES, LabelMatcher, fold
from gm_engine.store.settings import remove_setting, settings_under
from gm_engine.store.transaction import Transaction, canonical_json
from gm_engine.terms import text_key

PURGED = "purged"
MARKER = "[purged]"
_EXTRACTED = f"SELECT * FROM ({ENTITY_NAMES}) WHERE id IN (SELECT id FROM entities WHERE made_by = 'extraction')"


def names_known_by(connection: Connection, texts: Iterable[str]) -> set[str]:
    """The entities that extraction found in these texts and that no fact of the store names; asked when those are gone.

    What stands in the dictionary is a person's own.
    """
    names: dict[str, set[str]] = defaultdict(set)
    rows = connection.exec_driver_sql(_EXTRACTED).all()
    matcher = LabelMatcher([(row[0], row[1]) for row in rows])
    candidates = {entity for text in texts for entity in matcher.entities_in(text)}
    candidates -= settings_under(connection, DICTIONARY).keys()
    for entity, name in rows:
        if entity in candidates:
            names[entity].add(fold(name))
    if names:
        for (text,) in connection.exec_driver_sql("SELECT text FROM facts"):
            folded = fold(text)
            for entity in [entity for entity, known in names.items() if any(name in folded for name in known)]:
                del names[entity]
            if not names:
                break
    return set(names)


def remove_names(
    tx: Transaction, keys: Iterable[bytes], texts: Iterable[str], *, orphans: set[str], fact_ids: Iterable[str]
) -> dict[str, str]:
    """Removes what has one of the texts (or of their keys) as a name, and `orphans`; the labels that went, by id."""
    folded, hashes = {name_key(text) for text in texts}, set(keys)

    def is_one(name: str) -> bool:
        return name_key(name) in folded or text_key(name) in hashes

    connection = tx.connection
    labels = {row[0]: str(row[1]) for row in connection.exec_driver_sql("SELECT id, label FROM entities")}
    gone = {entity for entity, label in labels.items() if entity in orphans or is_one(label) or is_one(entity)}
    for edge, version in edges_at(connection, sorted(gone)):
        remove_edge(tx, edge, version)
    for entity in sorted(gone):
        remove_entity(tx, entity)
        connection.exec_driver_sql("DELETE FROM positions WHERE entity_id = ?", (entity,))
    _drop_other_names(tx, is_one)
    gone |= _once_named(connection, is_one)
    settings = _settings_to_go(connection, gone, set(fact_ids), is_one)
    for key in settings:
        remove_setting(tx, key)
    tx.flush()
    _rewrite(tx, {entity: f"{MARKER} {tx.clock.new_id(tx.at_ns)}" for entity in sorted(gone)}, settings, is_one)
    return {entity: labels.get(entity, entity) for entity in gone}


def _drop_other_names(tx: Transaction, is_one: Callable[[str], bool]) -> None:
    """An entity that goes by another label only loses the name."""
    rows = tx.connection.exec_driver_sql("SELECT name_key, entity_id FROM entity_names").all()
    holders = {row[1] for row in rows if is_one(row[0])}
    known = load_entities(tx.connection, sorted(holders))
    for entity, names in names_of(tx.connection, sorted(known)).items():
        change_entity(tx, entity, {"names": [name for name in names if not is_one(name)]})


def _once_named(connection: Connection, is_one: Callable[[str], bool]) -> set[str]:
    """Entities that only the journal remembers, by an id that is one of the texts."""
    targets = connection.exec_driver_sql("SELECT DISTINCT target FROM changes WHERE kind = 'entity'").scalars()
    return {target for target in targets if is_one(target)}


def _settings_to_go(
    connection: Connection, gone: set[str], fact_ids: set[str], is_one: Callable[[str], bool]
) -> dict[str, None]:
    """Keys of the graph's settings, present or past, that name what is gone."""
    rows = connection.exec_driver_sql(
        "SELECT target, before, after FROM changes WHERE kind = 'setting' AND target LIKE 'graph.%'"
    )
    found: dict[str, None] = {}
    for key, before, after in rows:
        group, _, name = key.partition("/")
        if group == "graph.unlinked":
            named = not gone.isdisjoint(json.loads(name)[:2])
        else:
            named = is_one(name) or name in gone or name in fact_ids
        if group == "graph.meaning":
            named = named or not gone.isdisjoint([*_meanings(before), *_meanings(after)])
        if named:
            found[key] = None
    return found


def _meanings(image: str | None) -> Iterator[str]:
    """The entities that a split's mark names, by the journal's image of it."""
    value = json.loads(json.loads(image).get("value", "null")) if image else None
    for named, meant in value.items() if isinstance(value, dict) else ():
        yield from (str(named), str(meant))


def _rewrite(
    tx: Transaction, markers: Mapping[str, str], settings: Mapping[str, None], is_one: Callable[[str], bool]
) -> None:
    """Puts markers for the names into the journal, and takes them out of its images."""
    updates: list[tuple[Any, ...]] = []
    for seq, n, kind, target, before, after in tx.connection.exec_driver_sql(
        "SELECT seq, n, kind, target, before, after FROM changes WHERE kind IN ('entity', 'edge', 'setting')"
    ).all():
        images: Sequence[str | None] = (before, after)
        new = target
        if kind == "entity":
            new = markers.get(target, target)
            images = [_entity_image(image, is_one, whole=new != target) for image in images]
        elif kind == "edge":
            ends = json.loads(target)
            if ends[0] in markers or ends[1] in markers:
                new = canonical_json([*(markers.get(end, end) for end in ends[:2]), *ends[2:]])
        elif target in settings:
            new = f"{target.partition('/')[0]}/{MARKER} {seq} {n}"
            images = [None if image is None else canonical_json({"value": "null", PURGED: True}) for image in images]
        if (new, *images) != (target, before, after):
            updates.append((new, *images, seq, n))
    if updates:
        tx.connection.exec_driver_sql(
            "UPDATE changes SET target = ?, before = ?, after = ? WHERE seq = ? AND n = ?", updates
        )


def _entity_image(image: str | None, is_one: Callable[[str], bool], *, whole: bool) -> str | None:
    """The image of an entity without its label and names, or without those that are one of the texts."""
    columns: dict[str, Any] = {} if image is None else json.loads(image)
    names = [name for name in columns.get("names", []) if not (whole or is_one(name))]
    hides = "label" in columns and (whole or is_one(columns["label"]))
    if not hides and names == columns.get("names", []):
        return image
    told = {"label": MARKER} if hides else {}
    held = {"names": names} if "names" in columns else {}
    return canonical_json({**columns, **told, **held, PURGED: True})
