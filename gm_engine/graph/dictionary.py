"""The user's own dictionary: how names are written, what they name, and what must never become an entity.

Entries are settings of the store, journalled and undoable. Writing one takes effect at once on the entities that have
its names; facts that mention it are looked at again by the next extraction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection

from gm_engine.errors import InvalidInput
from gm_engine.graph.edit import check_label, check_type, entry_value, merge, rename, retype
from gm_engine.graph.records import DictionaryEntry, GraphChange
from gm_engine.store.entities import load_entities, name_key
from gm_engine.store.graph_edits import change_entity, edges_at, name_owners, names_of, remove_edge, remove_entity
from gm_engine.store.graph_marks import DICTIONARY
from gm_engine.store.settings import remove_setting, settings_under, write_setting
from gm_engine.store.transaction import Transaction

FORMAT = "graymatter dictionary 1"
MAX_ENTRIES = 100_000


def load_entries(connection: Connection) -> tuple[DictionaryEntry, ...]:
    """Every entry, by canonical label."""
    return tuple(_entry(value) for value in settings_under(connection, DICTIONARY).values())


def _entry(value: dict[str, Any]) -> DictionaryEntry:
    return DictionaryEntry(value["label"], value["type"], tuple(value["names"]), bool(value["ignore"]))


def checked(entry: DictionaryEntry) -> DictionaryEntry:
    """The entry with trimmed texts; `InvalidInput` names what is wrong with it."""
    names = tuple(dict.fromkeys(check_label(name, field="name") for name in entry.names))
    return DictionaryEntry(check_label(entry.label), check_type(entry.type), names, entry.ignore)


def put(tx: Transaction, entries: Sequence[DictionaryEntry]) -> GraphChange:
    """Writes entries, replacing those of the same label, and makes the graph agree.

    An entity that has one of the names takes the entry's label and type; several are merged. What extraction made of
    an ignored name is removed; what a person or an import made of it stays.
    """
    known = settings_under(tx.connection, DICTIONARY)
    touched: list[str] = []
    did = False
    for entry in map(checked, entries):
        key, value = name_key(entry.label), entry_value(entry)
        if known.get(key) != value:
            write_setting(tx, DICTIONARY + key, value)
            did = True
        touched.extend(_ignore(tx, entry) if entry.ignore else _apply(tx, entry))
    found = load_entities(tx.connection, touched)
    entities = tuple(found[entity_id][0] for entity_id in dict.fromkeys(touched) if entity_id in found)
    return GraphChange(tx.seq if did or touched else None, entities)


def _keys(entry: DictionaryEntry) -> list[str]:
    return [name_key(name) for name in (entry.label, *entry.names)]


def _apply(tx: Transaction, entry: DictionaryEntry) -> list[str]:
    """Makes the entities that have the entry's names one, with its label and type. Ids of what changed."""
    keys = _keys(entry)
    owners = name_owners(tx.connection, keys)
    ids = list(dict.fromkeys(owners[key] for key in keys if key in owners))
    if not ids:
        return []
    changes = [merge(tx, ids[1:], ids[0])] if len(ids) > 1 else []
    changes += [rename(tx, ids[0], entry.label), retype(tx, ids[:1], entry.type)]
    names: list[str] = sorted({*names_of(tx.connection, ids[:1])[ids[0]], *keys})
    is_new = change_entity(tx, ids[0], {"names": [*names]})
    return ids[:1] if is_new or any(change.seq is not None for change in changes) else []


def _ignore(tx: Transaction, entry: DictionaryEntry) -> list[str]:
    """Removes what extraction made of these names. Ids of what is gone."""
    ids = sorted(set(name_owners(tx.connection, _keys(entry)).values()))
    found = load_entities(tx.connection, ids)
    gone = [entity_id for entity_id in ids if entity_id in found and found[entity_id][0].made_by == "extraction"]
    for edge, version in edges_at(tx.connection, gone):
        remove_edge(tx, edge, version)
    for entity_id in gone:
        remove_entity(tx, entity_id)
    return gone


def remove(tx: Transaction, labels: Iterable[str]) -> int:
    """Takes entries out of the dictionary, by label; entities stay as they are. Returns how many there were."""
    return sum(remove_setting(tx, DICTIONARY + name_key(label)) for label in labels)


def as_text(entries: Iterable[DictionaryEntry]) -> str:
    """The dictionary as a file: JSON with one entry per line, made to be edited and compared."""
    lines = ",\n".join(f"  {json.dumps(entry_value(entry), ensure_ascii=False)}" for entry in entries)
    return f'{{"format": {json.dumps(FORMAT)}, "entries": [\n{lines}\n]}}\n'


def from_text(text: str) -> tuple[DictionaryEntry, ...]:
    """The entries of a file. `InvalidInput` says what is wrong and with which entry; nothing is half taken."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The dictionary is no JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("entries"), list):
        raise InvalidInput(f'The file is no dictionary: it must hold "format": "{FORMAT}" and "entries".')
    if len(data["entries"]) > MAX_ENTRIES:
        raise InvalidInput(f"The dictionary has {len(data['entries']):,} entries; {MAX_ENTRIES:,} are the most.")
    return tuple(_read_entry(value, number) for number, value in enumerate(data["entries"], 1))


def _read_entry(value: object, number: int) -> DictionaryEntry:
    where = f"Entry {number} of the dictionary"
    if not isinstance(value, dict):
        raise InvalidInput(f"{where} is no object.", entry=number)
    label, kind, names = value.get("label"), value.get("type", "concept"), value.get("names", [])
    if not isinstance(label, str) or not isinstance(kind, str):
        raise InvalidInput(f"{where} needs a label and a type that are texts.", entry=number)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"{where} has names that are no list of texts.", entry=number)
    try:
        return checked(DictionaryEntry(label, kind, tuple(names), value.get("ignore") is True))
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error.message}", entry=number) from error
