"""Which facts mention which entities: a projection of labels and texts, never journalled, rebuilt at any time.

A label is mentioned where its words stand in the text as whole words (UAX #29 boundaries, and at apostrophes, so that
a possessive still names its owner), after NFKC and case folding.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import regex
from sqlalchemy import Connection

from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.store import journal
from gm_engine.store.database import BUSY_TIMEOUT_S, Ledger

MENTION_RULES = 2  # 2: every name of an entity, not its label alone
_PIECES = regex.compile(r".+?(?:\b|(?=['’])|(?<=['’])|\Z)", regex.V1 | regex.WORD | regex.DOTALL)
_STEP = 1000
_MOST_SOUGHT = 60  # of more names, looking at the words of every text takes no longer
ENTITY_NAMES = (
    "SELECT id, label FROM entities UNION SELECT n.entity_id, n.name_key FROM entity_names n"
    " JOIN entities e ON e.id = n.entity_id ORDER BY 1, 2"
)
_CONTENT = "SELECT id, text FROM facts WHERE kind <> 'alias'"


def fold(text: str) -> str:
    """NFKC and case folding, in a form that doing it again does not change."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@dataclass(slots=True)
class _Node:
    """One step of a label: what may follow, and the entities whose label ends here."""

    children: dict[str, _Node] = field(default_factory=dict)
    entity_ids: list[str] = field(default_factory=list)


class LabelMatcher:
    """Finds labels in texts. The time for a text grows with its length, not with the number of labels."""

    def __init__(self, labels: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
        """`labels` maps entity ids to labels, or names several by (id, label); blank ones match nothing."""
        self._root = _Node()
        for entity_id, label in labels.items() if isinstance(labels, Mapping) else labels:
            pieces = _pieces(label.strip())
            if not pieces:
                continue
            node = self._root
            for piece in pieces:
                node = node.children.setdefault(piece, _Node())
            if entity_id not in node.entity_ids:
                node.entity_ids.append(entity_id)

    def entities_in(self, text: str) -> set[str]:
        """The ids of the entities that `text` mentions."""
        found: set[str] = set()
        pieces = _pieces(text)
        for start, piece in enumerate(pieces):
            node = self._root.children.get(piece)
            end = start + 1
            while node is not None:
                found.update(node.entity_ids)
                node = node.children.get(pieces[end]) if end < len(pieces) else None
                end += 1
        return found


def _pieces(text: str) -> list[str]:
    pieces: list[str] = _PIECES.findall(fold(text))
    return pieces


@dataclass(frozen=True, slots=True)
class _Part:
    """Of which mentions: those in some facts, or those of some entities, as JSON arrays of ids; else of all."""

    fact_ids: str | None = None
    entity_ids: str | None = None


def refresh_mentions(ledger: Ledger, *, progress: Progress = no_progress, cancel: CancelToken | None = None) -> None:
    """Brings the projection up to date with every label and every content fact, retired ones included.

    Looks only at the facts that changed since the last time, and for the entities that did at the facts that contain
    one of their names. Safe to stop at any time and to run again; writes only what differs.
    """
    with ledger.read() as connection:
        since = _followed(connection)
        upto = journal.changes_since(connection, -1 if since is None else since)
        if since == upto.seq:
            return
        wanted: set[tuple[str, str]] = set()
        present: dict[tuple[str, str], int] = {}
        for part in _parts(connection, since, upto.fact_ids):
            wanted.update(_wanted(connection, part, progress, cancel))
            rows = _select(connection, "SELECT fact_id, entity_id, rules FROM mentions", part, "fact_id", "entity_id")
            present.update({(row[0], row[1]): row[2] for row in rows})
    missing = sorted(pair for pair in wanted if present.get(pair) != MENTION_RULES)
    stale = sorted(present.keys() - wanted)
    with ledger.bookkeep(timeout_s=BUSY_TIMEOUT_S) as connection:
        if stale:
            connection.exec_driver_sql("DELETE FROM mentions WHERE fact_id = ? AND entity_id = ?", stale)
        if missing:
            connection.exec_driver_sql(
                f"INSERT OR REPLACE INTO mentions(fact_id, entity_id, rules) VALUES (?, ?, {MENTION_RULES})", missing
            )
        connection.exec_driver_sql(
            "INSERT OR REPLACE INTO meta(key, value) VALUES ('mentions', ?)", (f"{MENTION_RULES}:{upto.seq}",)
        )


def mentions_lag(connection: Connection) -> int:
    """How many journal entries the projection has not seen yet; all of them where it was never made."""
    newest = int(connection.exec_driver_sql("SELECT coalesce(max(seq), 0) FROM journal").scalar_one())
    return newest - (_followed(connection) or 0)


def _followed(connection: Connection) -> int | None:
    """The journal seq that the projection has seen; None where it must be made anew."""
    value = connection.exec_driver_sql("SELECT value FROM meta WHERE key = 'mentions'").scalar()
    rules, _, seq = str(value or "").partition(":")
    return int(seq) if rules == str(MENTION_RULES) else None


def _parts(connection: Connection, since: int | None, fact_ids: frozenset[str]) -> list[_Part]:
    """What is to be looked at again after `since`: what changed, or everything where so many names did."""
    if since is None:
        return [_Part()]
    rows = connection.exec_driver_sql("SELECT DISTINCT target FROM changes WHERE kind = 'entity' AND seq > ?", (since,))
    named = _Part(entity_ids=json.dumps(sorted(row[0] for row in rows)))
    if len(_labels(connection, named)) > _MOST_SOUGHT:
        return [_Part()]
    return [named, *([_Part(fact_ids=json.dumps(sorted(fact_ids)))] if fact_ids else ())]


def _labels(connection: Connection, part: _Part) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in _select(connection, f"SELECT * FROM ({ENTITY_NAMES})", part, "", "id")]


def _select(connection: Connection, sql: str, part: _Part, fact: str, entity: str = "") -> Iterable[Sequence[Any]]:
    """The rows of `sql` in a part; `fact` and `entity` name the columns that hold their ids, where there is one."""
    for column, ids in ((fact, part.fact_ids), (entity, part.entity_ids)):
        if column and ids is not None:
            where = "AND" if "WHERE" in sql else "WHERE"
            return connection.exec_driver_sql(f"{sql} {where} {column} IN (SELECT value FROM json_each(?))", (ids,))
    return connection.exec_driver_sql(sql)


def _wanted(
    connection: Connection, part: _Part, progress: Progress, cancel: CancelToken | None
) -> Iterator[tuple[str, str]]:
    labels = _labels(connection, part)
    if not labels:
        return
    matcher = LabelMatcher(labels)
    sought = None if part.entity_ids is None else {fold(label.strip()) for _, label in labels} - {""}
    total = int(connection.exec_driver_sql("SELECT count(*) FROM facts").scalar_one())
    for done, (fact_id, text) in enumerate(_select(connection, _CONTENT, part, "id")):
        if done % _STEP == 0:
            if cancel is not None:
                cancel.check()
            progress(done, total, "Finding mentions")
        if sought is not None and not _contains(text, sought):
            continue
        for entity_id in matcher.entities_in(text):
            yield fact_id, entity_id


def _contains(text: str, sought: Iterable[str]) -> bool:
    """Whether a folded text contains one of some folded names: far quicker than to look at its words."""
    folded = fold(text)
    return any(name in folded for name in sought)
