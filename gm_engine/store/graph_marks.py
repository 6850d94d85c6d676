"""What a person told extraction, kept among the store's settings: journalled, undone with the verb that wrote it.

* `graph.dictionary/<canonical name>` — a `DictionaryEntry` by the canonical form of its label.
* `graph.unlinked/<edge>` — a link that extraction must not make again.
* `graph.meaning/<fact>` — in this fact, what names one entity means another: what a split said.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from sqlalchemy import Connection

from gm_engine.store.entities import EdgeKey
from gm_engine.store.settings import remove_setting, settings_under, write_setting
from gm_engine.store.transaction import Transaction, canonical_json

DICTIONARY = "graph.dictionary/"
_UNLINKED = "graph.unlinked/"
_MEANING = "graph.meaning/"


def dictionary_seq(connection: Connection) -> int:
    """The journal seq of the newest change to the dictionary."""
    newest = connection.exec_driver_sql(
        "SELECT coalesce(max(seq), 0) FROM changes WHERE kind = 'setting' AND target >= ? AND target < ?",
        _under(DICTIONARY),
    ).scalar_one()
    return int(newest)


def names_state(connection: Connection) -> tuple[int, ...]:
    """Figures that differ whenever an entity, one of its names or an entry of the dictionary does."""
    row = connection.exec_driver_sql(
        "SELECT (SELECT count(*) FROM entities), (SELECT coalesce(sum(version), 0) FROM entities),"
        " (SELECT count(*) FROM settings WHERE key >= ?1 AND key < ?2),"
        " (SELECT coalesce(sum(version), 0) FROM settings WHERE key >= ?1 AND key < ?2)",
        _under(DICTIONARY),
    ).one()
    return tuple(row)


def _under(prefix: str) -> tuple[str, str]:
    """The range of keys that begin with `prefix`."""
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


def unlinked(connection: Connection) -> set[EdgeKey]:
    """The links that a person took away from extraction."""
    keys = (json.loads(key) for key in settings_under(connection, _UNLINKED))
    return {(key[0], key[1], key[2]) for key in keys}


def mark_unlinked(tx: Transaction, key: EdgeKey) -> None:
    """Keeps extraction from making this link again."""
    write_setting(tx, _UNLINKED + canonical_json(list(key)), value=True)


def allow_link(tx: Transaction, key: EdgeKey) -> None:
    """Takes the mark of `mark_unlinked` away, where there is one."""
    remove_setting(tx, _UNLINKED + canonical_json(list(key)))


def meanings(connection: Connection) -> dict[str, dict[str, str]]:
    """By fact: which entity is meant where another one is named."""
    return settings_under(connection, _MEANING)


def mark_meaning(tx: Transaction, fact_ids: Iterable[str], *, named: str, meant: str) -> None:
    """Says that in these facts the entity `meant` is meant where `named` is named."""
    known = meanings(tx.connection)
    for fact_id in fact_ids:
        write_setting(tx, _MEANING + fact_id, {**known.get(fact_id, {}), named: meant})
