"""Removing a text from one ledger for good: facts, journal images, terms, vectors, and whatever quotes it.

This is the only place where history is rewritten. An image of a purged fact keeps everything but its text and says
`purged`; replaying the journal still gives the facts, and undoing toward such an image is refused.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection

from gm_engine.progress import CancelToken
from gm_engine.records import SUPERSEDED_BY_AGENT, Edge
from gm_engine.store import facts as fact_rows
from gm_engine.store.blocked import block_key, block_without_text
from gm_engine.store.entities import load_edge
from gm_engine.store.graph_edits import change_edge
from gm_engine.store.purge_names import MARKER, PURGED, names_known_by, remove_names
from gm_engine.store.transaction import Transaction, canonical_json
from gm_engine.store.vectors import drop_vectors
from gm_engine.terms import text_key, text_terms

_PENDING = "purge_pending"
_STEP = 2000
_NAMED = 20  # places that a report names; the rest is a number
_WHOLE = (
    "SELECT target, coalesce(after, before) FROM changes"
    " WHERE +kind = 'fact' AND (version_before = 0 OR version_after = 0)"
)
_VECTOR_BYTES = "SELECT coalesce(sum(length(data) + length(text_key)), 0) FROM vectors WHERE text_key = ?"
_SHORTEST_QUOTE = 8
"""Shorter texts are replaced only where they are a whole string: inside others they are hardly quotations."""
_REFERENCES = ("facts", "keep")  # ids, never a text


@dataclass(frozen=True, slots=True)
class Needle:
    """What is to go: texts with one of `keys`, and with `containing`, texts that hold `text` anywhere."""

    keys: frozenset[bytes]
    text: str = ""
    containing: bool = False

    def matches(self, text: str) -> bool:
        """Whether a fact with this text is to go."""
        if text_key(text) in self.keys:
            return True
        return self.containing and unicodedata.normalize("NFC", self.text) in unicodedata.normalize("NFC", text)


@dataclass(slots=True)
class Removed:
    """What went from one ledger, as it is counted."""

    facts: int = 0
    images: int = 0
    vectors: int = 0
    proposals: int = 0
    entities: int = 0
    checkpoints: int = 0
    size_bytes: int = 0
    texts: set[str] = field(default_factory=set)
    keys: set[bytes] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.facts or self.images or self.vectors or self.proposals or self.entities or self.checkpoints)


def purge_rows(
    tx: Transaction, needle: Needle, *, language: str, block: bool, cancel: CancelToken, checkpoints: bool = False
) -> Removed:
    """Removes everything that `needle` finds from the rows of a ledger, in this transaction.

    With `block` the texts stay blocked by their hashes, with `checkpoints` whole checkpoints go that hold the text.
    What is left in free pages and in the log goes when the ledger is compacted; `purge_pending` says that this is still
    to come.
    """
    removed = Removed()
    ids = _targets(tx.connection, needle, removed, cancel)
    if not ids and not needle.keys:
        return removed
    _remove_facts(tx, ids, removed)
    _release_tombstones(tx, ids)
    _release_receipts(tx, ids)
    tx.flush()  # the images of this entry are rewritten with the others
    _rewrite_images(tx.connection, ids, removed)
    removed.keys |= needle.keys
    _forget_vectors(tx.connection, removed)
    _forget_terms(tx.connection, removed, language)
    _forget_blocked(tx, needle, removed, block=block)
    texts = {*removed.texts, *([needle.text] if needle.text else [])}
    orphans = names_known_by(tx.connection, removed.texts)
    labels = remove_names(tx, removed.keys, texts, orphans=orphans, fact_ids=ids)
    removed.entities = len(labels)
    removed.size_bytes += sum(len(label.encode()) for label in labels.values())
    if checkpoints and needle.text:
        _remove_checkpoints(tx, needle.text, removed)
    quoted = sorted({*texts, *labels.values()}, key=len, reverse=True)
    if quoted:
        _forget_quotes(tx.connection, quoted, removed)
    if removed:
        _set_pending(tx, removed)
    return removed


def _targets(connection: Connection, needle: Needle, removed: Removed, cancel: CancelToken) -> list[str]:
    """The facts to go, those that only the journal remembers included; notes their texts."""
    ids: dict[str, None] = {}

    def look(fact_id: str, text: str) -> None:
        if needle.matches(text):
            ids[fact_id] = None
            removed.texts.add(text)
            removed.keys.add(text_key(text))

    for number, (fact_id, text) in enumerate(connection.exec_driver_sql("SELECT id, text FROM facts").all()):
        if number % _STEP == 0:
            cancel.check()
        look(fact_id, text)
    for number, (fact_id, image) in enumerate(connection.exec_driver_sql(_WHOLE).all()):
        if number % _STEP == 0:
            cancel.check()
        text = json.loads(image).get("text") if image else None
        if isinstance(text, str):
            look(fact_id, text)
    return list(ids)


def _remove_facts(tx: Transaction, ids: Sequence[str], removed: Removed) -> None:
    present = fact_rows.load_facts(tx.connection, ids)
    for fact in present.values():
        removed.size_bytes += len(fact.text.encode())
        tx.record(
            "fact",
            fact.id,
            agent_id=fact.agent_id,
            version_before=fact.version,
            version_after=0,
            before=fact_rows.fact_image(fact),
            after=None,
        )
    if present:
        fact_rows.remove_facts(tx.connection, list(present))
    tx.connection.exec_driver_sql(
        "DELETE FROM extractions WHERE fact_id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    )
    removed.facts = len(present)


def _release_tombstones(tx: Transaction, ids: Sequence[str]) -> None:
    """Facts that were replaced by a purged one stay retired, by nobody in particular."""
    rows = tx.connection.exec_driver_sql(
        "SELECT id FROM facts WHERE length(superseded_by) > 0 AND superseded_by IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    orphans = fact_rows.load_facts(tx.connection, [row[0] for row in rows])
    if orphans:
        fact_rows.patch_facts(tx, orphans.values(), {"superseded_by": SUPERSEDED_BY_AGENT})


def _release_receipts(tx: Transaction, ids: Sequence[str]) -> None:
    """Links forget the purged facts that they were found in."""
    gone = set(ids)
    rows = tx.connection.exec_driver_sql(
        "SELECT DISTINCT from_id, to_id, relation FROM edge_sources WHERE fact_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    ).all()
    for from_id, to_id, relation in rows:
        found = load_edge(tx.connection, (from_id, to_id, relation))
        if found is not None:
            old, version = found
            sources = tuple(source for source in old.sources if source not in gone)
            new = Edge(old.from_id, old.to_id, old.relation, old.created_ns, old.weight, old.made_by, sources)
            change_edge(tx, old, version, new)


def _rewrite_images(connection: Connection, ids: Sequence[str], removed: Removed) -> None:
    """Takes the text out of every journal image of these facts."""
    rows = connection.exec_driver_sql(
        "SELECT seq, n, before, after FROM changes WHERE kind = 'fact'"
        " AND target IN (SELECT value FROM json_each(?)) ORDER BY seq, n",
        (json.dumps(list(ids)),),
    ).all()
    updates = []
    for seq, n, before, after in rows:
        images = [_without_text(image, removed) for image in (before, after)]
        if images != [before, after]:
            updates.append((*images, seq, n))
    _update_changes(connection, updates)


def _without_text(image: str | None, removed: Removed) -> str | None:
    columns = {} if image is None else json.loads(image)
    text = columns.pop("text", None)
    if text is None:
        return image
    removed.images += 1
    removed.size_bytes += len(_escaped(text).encode())
    return canonical_json({**columns, PURGED: True})


def _shrunk(old: Iterable[str | None], new: Iterable[str | None]) -> int:
    return max(0, sum(len((text or "").encode()) for text in old) - sum(len((text or "").encode()) for text in new))


def _update_changes(connection: Connection, updates: Sequence[tuple[Any, ...]]) -> None:
    if updates:
        connection.exec_driver_sql("UPDATE changes SET before = ?, after = ? WHERE seq = ? AND n = ?", list(updates))


def _forget_vectors(connection: Connection, removed: Removed) -> None:
    keys = sorted(removed.keys)
    removed.size_bytes += sum(int(connection.exec_driver_sql(_VECTOR_BYTES, (key,)).scalar_one()) for key in keys)
    removed.vectors = drop_vectors(connection, keys)


def _forget_terms(connection: Connection, removed: Removed, language: str) -> None:
    """Drops terms that only purged texts had, and word forms that are a purged text as a whole."""
    terms = {term.term for text in removed.texts for term in text_terms(text, language)}
    found = connection.exec_driver_sql(
        "SELECT id, term, surface FROM terms WHERE term IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(terms)),),
    ).all()
    used = _used(connection, [row[0] for row in found])
    orphans = [row for row in found if row[0] not in used]
    if orphans:
        connection.exec_driver_sql("DELETE FROM terms WHERE id = ?", [(row[0],) for row in orphans])
        removed.size_bytes += sum(len(row[1].encode()) + len(row[2].encode()) for row in orphans)
    telling = [(row[1], row[0]) for row in found if row[0] in used and any(t in row[2] for t in removed.texts)]
    if telling:
        connection.exec_driver_sql("UPDATE terms SET surface = ? WHERE id = ?", telling)


def _used(connection: Connection, term_ids: Sequence[int]) -> set[int]:
    """Which of these terms some fact still has."""
    if not term_ids:
        return set()
    wanted = np.array(sorted(term_ids), np.uint32)
    used: set[int] = set()
    result = connection.exec_driver_sql("SELECT data FROM fact_terms")
    while rows := result.fetchmany(_STEP):
        packed = b"".join(data[: len(data) // 6 * 4] for (data,) in rows)
        present = np.frombuffer(packed, "<u4")
        used.update(wanted[np.isin(wanted, present)].tolist())
    return used


def _forget_blocked(tx: Transaction, needle: Needle, removed: Removed, *, block: bool) -> None:
    """A purged value stays blocked, by its hash only."""
    connection = tx.connection
    rows = connection.exec_driver_sql("SELECT block_key, agent_id, text FROM blocked WHERE text IS NOT NULL").all()
    folded = {block_key(text) for text in removed.texts}
    told = [row for row in rows if bytes(row[0]) in folded or needle.matches(row[2])]
    for key, agent_id, text in told:
        connection.exec_driver_sql(
            "UPDATE blocked SET text = NULL WHERE block_key = ? AND agent_id = ?", (key, agent_id)
        )
        removed.size_bytes += len(text.encode())
        removed.texts.add(text)
    if block:
        for key in sorted(folded):
            block_without_text(tx, key)
        tx.flush()
    updates = []
    for seq, n, before, after in connection.exec_driver_sql(
        "SELECT seq, n, before, after FROM changes WHERE kind = 'blocked'"
    ).all():
        images = [_blocked_image(image, needle, removed) for image in (before, after)]
        if images != [before, after]:
            updates.append((*images, seq, n))
    _update_changes(connection, updates)


def _blocked_image(image: str | None, needle: Needle, removed: Removed) -> str | None:
    columns = {} if image is None else json.loads(image)
    text = columns.get("text")
    if text is None or not (needle.matches(text) or text in removed.texts):
        return image
    removed.images += 1
    removed.size_bytes += len(_escaped(text).encode())
    return canonical_json({**columns, "text": None})


def _forget_quotes(connection: Connection, texts: Sequence[str], removed: Removed) -> None:
    """Replaces the texts where proposals, settings or remarks of the journal quote them, rows and images alike."""
    for table, key, column, scrub in (
        ("proposals", "id", "payload", _scrubbed_json),
        ("settings", "key", "value", _scrubbed_json),
        ("journal", "seq", "detail", _clean),
    ):
        updates = []
        for row_key, old in connection.exec_driver_sql(
            f"SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL"
        ).all():
            new = scrub(old, texts)
            if new != old:
                updates.append((new, row_key))
                removed.size_bytes += _shrunk([old], [new])
        if updates:
            connection.exec_driver_sql(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", updates)
            removed.proposals += len(updates) if table == "proposals" else 0
    changes = []
    for seq, n, before, after in connection.exec_driver_sql(
        "SELECT seq, n, before, after FROM changes WHERE kind = 'setting'"
    ).all():
        images = [_scrubbed_setting(image, texts) for image in (before, after)]
        if images != [before, after]:
            changes.append((*images, seq, n))
            removed.images += sum(old != new for old, new in zip((before, after), images, strict=True))
            removed.size_bytes += _shrunk((before, after), images)
    _update_changes(connection, changes)


def _scrubbed_setting(image: str | None, texts: Sequence[str]) -> str | None:
    """The image of a setting holds its value as JSON within JSON."""
    columns = {} if image is None else json.loads(image)
    value = columns.get("value")
    if not isinstance(value, str) or (new := _scrubbed_json(value, texts)) == value:
        return image
    return canonical_json({**columns, "value": new})


def _scrubbed_json(value: str, texts: Sequence[str]) -> str:
    """The same JSON with the texts replaced in its strings, never in its keys; itself where there is none."""
    old = json.loads(value)
    new = _walked(old, texts)
    return value if new == old else canonical_json(new)


def _walked(value: Any, texts: Sequence[str]) -> Any:
    if isinstance(value, str):
        return _clean(value, texts)
    if isinstance(value, list):
        return [_walked(item, texts) for item in value]
    if isinstance(value, dict):
        return {key: item if key in _REFERENCES else _walked(item, texts) for key, item in value.items()}
    return value


def _clean(value: str, texts: Sequence[str]) -> str:
    for text in texts:
        if value == text:
            return MARKER
        if len(text) >= _SHORTEST_QUOTE:
            value = value.replace(text, MARKER)
    return value


def _remove_checkpoints(tx: Transaction, text: str, removed: Removed) -> None:
    rows = tx.connection.exec_driver_sql(
        f"SELECT id, agent_id, version, length(payload) FROM checkpoints WHERE {_HOLDS}", (text, _escaped(text))
    ).all()
    for checkpoint_id, agent_id, version, size in rows:
        tx.connection.exec_driver_sql("DELETE FROM checkpoints WHERE id = ?", (checkpoint_id,))
        image = {PURGED: True}
        tx.record(
            "checkpoint",
            checkpoint_id,
            agent_id=agent_id,
            version_before=version,
            version_after=0,
            before=image,
            after=None,
        )
        removed.size_bytes += size
    removed.checkpoints = len(rows)


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _set_pending(tx: Transaction, removed: Removed) -> None:
    keys = sorted({*pending(tx.connection), *removed.keys})
    tx.connection.exec_driver_sql(
        "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (_PENDING, canonical_json([key.hex() for key in keys])),
    )


def pending(connection: Connection) -> tuple[bytes, ...]:
    """The keys of texts that were purged from the rows, and may be left in free pages, the log or backups."""
    value = connection.exec_driver_sql("SELECT value FROM meta WHERE key = ?", (_PENDING,)).scalar()
    return tuple(bytes.fromhex(key) for key in json.loads(value)) if value else ()


def clear_pending(connection: Connection) -> None:
    """Notes that nothing of a purge is left to do."""
    connection.exec_driver_sql("DELETE FROM meta WHERE key = ?", (_PENDING,))


_HOLDS = "(instr(payload, CAST(?1 AS BLOB)) > 0 OR instr(payload, CAST(?2 AS BLOB)) > 0 OR instr(note, ?1) > 0)"
_PLACES: Mapping[str, str] = {
    "fact {}": "SELECT id FROM facts WHERE instr(text, ?1) > 0 ORDER BY id",
    "checkpoint {}": f"SELECT id FROM checkpoints WHERE {_HOLDS} ORDER BY id",
    "proposal {}": "SELECT id FROM proposals WHERE instr(payload, ?2) > 0 ORDER BY id",
    "entity {}": "SELECT id FROM entities WHERE instr(label, ?1) > 0 OR instr(id, ?1) > 0 ORDER BY id",
    "link {}": "SELECT DISTINCT relation FROM edges WHERE instr(relation, ?1) > 0 ORDER BY 1",
    "agent {}": "SELECT DISTINCT agent_id FROM facts WHERE instr(agent_id, ?1) > 0 ORDER BY 1",
    "source {}": "SELECT DISTINCT ref FROM fact_refs WHERE instr(ref, ?1) > 0 ORDER BY 1",
}


def still_in(connection: Connection, text: str) -> Iterator[str]:
    """Other places that hold the text within something longer, in words; at most some of each kind are named."""
    for words, sql in _PLACES.items():
        forms = (text, _escaped(text)) if "?2" in sql else (text,)
        found = [str(row[0]) for row in connection.exec_driver_sql(sql, forms)]
        yield from (words.format(name) for name in found[:_NAMED])
        if len(found) > _NAMED:
            yield f"{len(found) - _NAMED:,} more of {words.partition(' ')[0]}"
