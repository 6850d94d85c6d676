"""Extraction over a store: which facts are to be read, and how what they say is written to the graph.

A fact is read again when its text's key or the rules differ from what `extractions` remembers, or when the dictionary
has a new word for it. New entities and links are journalled; what more facts say of known ones (receipts, when an
entity was last seen, weights) is bookkeeping: a background run never stands between a person and an undo.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from time import monotonic

from sqlalchemy import Connection

from gm_engine.graph.dictionary import load_entries
from gm_engine.graph.edit import new_id
from gm_engine.graph.extraction import EXTRACTION_RULES, Extractor, KnownName, KnownNames, Mention, Reading
from gm_engine.graph.name_trie import tokens
from gm_engine.graph.records import ExtractionReport
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import Edge, Entity, Origin
from gm_engine.store import journal
from gm_engine.store.database import BUSY_TIMEOUT_S, Ledger
from gm_engine.store.entities import EdgeKey, load_entities, name_key
from gm_engine.store.graph_edits import CO_MENTIONED, create_edge, create_entity, edge_key, name_owners, remove_edge
from gm_engine.store.graph_marks import dictionary_seq, meanings, names_state, unlinked
from gm_engine.store.settings import load_settings
from gm_engine.store.transaction import Transaction

CHUNK = 500
_MOST_NAMED = 5_000
_ASKED_AT_ONCE = 300
_NARROW = frozenset({"fact"})  # after any other change, an undo may have marked facts to be read again
_LIVE = "f.kind <> 'alias' AND f.superseded_by = ''"
_PENDING = (
    f"FROM facts f LEFT JOIN extractions x ON x.fact_id = f.id WHERE {_LIVE}"
    " AND (x.fact_id IS NULL OR x.text_key <> f.text_key OR x.rules <> ?)"
)
_FIRST_WEIGHT, _MORE_WEIGHT = 0.4, 0.2  # of a co-mention: one fact, and each further one, up to 1


@dataclass(frozen=True, slots=True)
class _Fact:
    no: int
    id: str
    text: str
    text_key: bytes
    created_ns: int
    is_known: bool


@dataclass(slots=True)
class _Pass:
    """One walk over the facts by row number; `only` narrows it to some ids (a JSON array).

    `with_imported`: imported facts are read too. They come with the graph that their own program made of them, which
    stays as it is until somebody asks for more.
    """

    seq: int
    with_imported: bool
    only: str | None
    after: int = 0


class Feeder:
    """Reads the facts of one ledger. `step` from an indexer's lane, `run` for all at once; safe from any thread."""

    def __init__(self, ledger: Ledger, *, origin: Origin) -> None:
        self._ledger = ledger
        self._origin = origin
        self._lock = Lock()
        self._extractor: tuple[str, Extractor] | None = None
        self._names: tuple[tuple[int, ...], KnownNames] | None = None
        self._done_seq = -1  # up to here, nothing waits
        self._pass: _Pass | None = None

    def step(self, budget_s: float) -> bool:
        """About `budget_s` seconds of reading facts that were written here; whether some are left.

        Nothing on a read-only store.
        """
        if self._ledger.read_only or (self._pass is None and self._ledger.last_seq() == self._done_seq):
            return False
        until = monotonic() + budget_s
        with self._lock:
            while self._chunk(None, with_imported=False) is not None:
                if monotonic() >= until:
                    return True
        return False

    def run(
        self,
        *,
        everything: bool = False,
        progress: Progress = no_progress,
        cancel: CancelToken | None = None,
    ) -> ExtractionReport:
        """Reads every fact that waits, imported ones too, or really all. What was written before a cancel stays."""
        with self._lock:
            self._pass, self._done_seq = None, -1
            if everything:
                with self._ledger.bookkeep(timeout_s=BUSY_TIMEOUT_S) as connection:
                    connection.exec_driver_sql("UPDATE extractions SET rules = -1")
            with self._ledger.read() as connection:
                total = int(connection.exec_driver_sql(f"SELECT count(*) {_PENDING}", (EXTRACTION_RULES,)).scalar_one())
            facts = entities = edges = 0
            try:
                while (done := self._chunk(cancel, with_imported=True)) is not None:
                    facts, entities, edges = facts + done[0], entities + done[1], edges + done[2]
                    progress(facts, max(facts, total), "Extracting entities")
            finally:
                self._pass = None  # one that was cancelled is not gone on with in the background
            return ExtractionReport(facts, entities, edges)

    def _chunk(self, cancel: CancelToken | None, *, with_imported: bool) -> tuple[int, int, int] | None:
        """Reads one chunk of facts and writes what they say: facts, new entities, new edges. None: nothing waits."""
        if cancel is not None:
            cancel.check()
        if self._pass is None:
            self._follow_dictionary()
            self._pass = self._begin(with_imported=with_imported)
        now = self._pass
        with self._ledger.read() as connection:
            facts = _pending(connection, now)
            names = self._known_names(connection)
            extractor = self._loaded_extractor(load_settings(connection).language)
        if not facts:
            self._done_seq, self._pass = now.seq, None
            return None
        readings = []
        for fact in facts:
            if cancel is not None:
                cancel.check()
            readings.append((fact, extractor.read(fact.text, names)))
        with self._ledger.write("extract", origin=self._origin) as tx:
            writer = _Writer(tx)
            is_same = self._names is not None and names_state(tx.connection) == self._names[0]
            writer.write(readings)
            if is_same:
                self._names = _with_new(names, writer.new, tx.connection)
        now.after = facts[-1].no
        if self._ledger.last_seq() == now.seq + 1:
            now.seq += 1  # our own entry: nobody else has written meanwhile
        return len(facts), len(writer.new), writer.edges

    def _begin(self, *, with_imported: bool) -> _Pass:
        """A new pass over the facts that changed since the last one, or over all of them."""
        with self._ledger.read() as connection:
            changes = journal.changes_since(connection, self._done_seq)
        is_narrow = self._done_seq >= 0 and changes.kinds <= _NARROW and len(changes.fact_ids) <= _MOST_NAMED
        return _Pass(changes.seq, with_imported, only=json.dumps(sorted(changes.fact_ids)) if is_narrow else None)

    def _loaded_extractor(self, language: str) -> Extractor:
        if self._extractor is None or self._extractor[0] != language:
            self._extractor = language, Extractor(language=language)
        return self._extractor[1]

    def _known_names(self, connection: Connection) -> KnownNames:
        """The names of dictionary and graph, made anew where one of them changed."""
        state = names_state(connection)
        if self._names is None or self._names[0] != state:
            self._names = state, known_names(connection)
        return self._names[1]

    def _follow_dictionary(self) -> None:
        """Marks the facts that say a word which the dictionary learnt since the last time."""
        with self._ledger.read() as connection:
            seen = connection.exec_driver_sql("SELECT value FROM meta WHERE key = 'extraction'").scalar()
            newest = dictionary_seq(connection)
            if int(seen or 0) >= newest:
                return
            words = KnownNames()
            for entry in load_entries(connection):
                for name in (entry.label, *entry.names):
                    words.add(name, KnownName(None, entry.label, entry.type))
            again = [(fact_id,) for fact_id in _facts_that_say(connection, words)]
        with self._ledger.bookkeep(timeout_s=BUSY_TIMEOUT_S) as connection:
            if again:
                connection.exec_driver_sql("UPDATE extractions SET rules = -1 WHERE fact_id = ?", again)
                self._done_seq = -1
            connection.exec_driver_sql(
                "INSERT OR REPLACE INTO meta(key, value) VALUES ('extraction', ?)", (str(newest),)
            )


def _with_new(names: KnownNames, new: Sequence[Entity], connection: Connection) -> tuple[tuple[int, ...], KnownNames]:
    for entity in new:
        names.add(entity.label, _known(entity.id, entity.label, entity.type, entity.made_by))
    return names_state(connection), names


def _known(entity_id: str, label: str, kind: str, made_by: str) -> KnownName:
    """What extraction found itself is meant only where its capital is written: Will is not will."""
    return KnownName(entity_id, label, kind, exact_case=made_by == "extraction" and label[:1].isupper())


def known_names(connection: Connection) -> KnownNames:
    """What names stand for: the dictionary's first, then those of entities."""
    names = KnownNames()
    entries = load_entries(connection)
    owners = name_owners(connection, [name_key(name) for entry in entries for name in (entry.label, *entry.names)])
    for entry in entries:
        spellings = (entry.label, *entry.names)
        owner = next((owners[key] for name in spellings if (key := name_key(name)) in owners), None)
        for name in spellings:
            names.add(name, KnownName(owner, entry.label, entry.type, ignore=entry.ignore, names=entry.names))
    rows = connection.exec_driver_sql(
        "SELECT e.id, e.label, e.type, e.made_by, n.name_key FROM entities e"
        " LEFT JOIN entity_names n ON n.entity_id = e.id ORDER BY e.made_by = 'extraction', e.id, n.name_key"
    )
    for entity_id, label, kind, made_by, key in rows:
        for name in (key, label) if key is not None else (label,):
            names.add(name, _known(entity_id, label, kind, made_by))
    return names


def _facts_that_say(connection: Connection, words: KnownNames) -> Iterator[str]:
    if words.trie.size:
        for fact_id, text in connection.exec_driver_sql(f"SELECT f.id, f.text FROM facts f WHERE {_LIVE}"):
            if next(words.trie.matches(text, tokens(text)), None) is not None:
                yield fact_id


def _pending(connection: Connection, now: _Pass) -> list[_Fact]:
    only = "" if now.only is None else " AND f.id IN (SELECT value FROM json_each(?))"
    own = "" if now.with_imported else " AND f.actor_id NOT IN (SELECT id FROM actors WHERE channel = 'import')"
    rows = connection.exec_driver_sql(
        f"SELECT f.no, f.id, f.text, f.text_key, f.created_ns, x.fact_id {_PENDING} AND f.no > ?{only}{own}"
        f" ORDER BY f.no LIMIT {CHUNK}",
        (EXTRACTION_RULES, now.after, *(() if now.only is None else (now.only,))),
    )
    return [_Fact(row[0], row[1], row[2], row[3], row[4], is_known=row[5] is not None) for row in rows]


class _Writer:
    """Writes the readings of one chunk inside one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._connection = tx.connection
        self._meant = meanings(tx.connection)
        self._severed = unlinked(tx.connection)
        self.new: list[Entity] = []
        self.edges = 0

    def write(self, readings: Sequence[tuple[_Fact, Reading]]) -> None:
        """Writes all of them; `new` and `edges` say what is new."""
        readings = self._still_live(readings)
        owners = self._owners(readings)
        wanted: dict[EdgeKey, set[str]] = defaultdict(set)
        seen: dict[str, list[int]] = defaultdict(list)
        created: dict[str, int] = {}
        for fact, reading in readings:
            created[fact.id] = fact.created_ns
            ids = [self._entity(mention, owners, fact) for mention in reading.mentions]
            meant = self._meant.get(fact.id, {})
            ids = [meant.get(entity_id, entity_id) for entity_id in ids]
            for entity_id in ids:
                seen[entity_id].append(fact.created_ns)
            for first, second, relation in reading.links:
                key = edge_key(ids[first], ids[second], relation)
                if key[0] != key[1] and key not in self._severed:
                    wanted[key].add(fact.id)
        wanted = self._as_present(wanted)
        self._touch(seen)
        self._take_back([fact.id for fact, _ in readings if fact.is_known], wanted)
        self._link(wanted, created)
        if readings:
            self._connection.exec_driver_sql(
                "INSERT OR REPLACE INTO extractions(fact_id, text_key, rules) VALUES (?, ?, ?)",
                [(fact.id, fact.text_key, EXTRACTION_RULES) for fact, _ in readings],
            )

    def _still_live(self, readings: Sequence[tuple[_Fact, Reading]]) -> list[tuple[_Fact, Reading]]:
        """Without facts that were retired or removed between reading and writing."""
        rows = self._connection.exec_driver_sql(
            f"SELECT f.id FROM facts f WHERE {_LIVE} AND f.id IN (SELECT value FROM json_each(?))",
            (json.dumps([fact.id for fact, _ in readings]),),
        )
        live = {row[0] for row in rows}
        return [(fact, reading) for fact, reading in readings if fact.id in live]

    def _owners(self, readings: Iterable[tuple[_Fact, Reading]]) -> dict[str, str]:
        """Who owns each name that was read, in the state of this transaction."""
        return name_owners(
            self._connection, {name_key(mention.label) for _, reading in readings for mention in reading.mentions}
        )

    def _entity(self, mention: Mention, owners: dict[str, str], fact: _Fact) -> str:
        key = name_key(mention.label)
        owner = owners.get(key)
        if owner is None and mention.owner is not None:
            present = load_entities(self._connection, [mention.owner])
            owner = mention.owner if present else None
        if owner is None:
            owner = new_id(self._tx, key)
            entity = Entity(owner, mention.label, mention.type, fact.created_ns, fact.created_ns, 1.0, "extraction")
            keys = [key, *map(name_key, mention.names)]
            taken = name_owners(self._connection, keys) if mention.names else {}
            create_entity(self._tx, entity, [each for each in keys if each not in taken])
            self.new.append(entity)
        owners[key] = owner
        return owner

    def _touch(self, seen: dict[str, list[int]]) -> None:
        """Bookkeeping: a newer mention makes an entity's last sight later and its weight whole."""
        rows = [(max(times), max(times), entity_id) for entity_id, times in seen.items()]
        if rows:
            self._connection.exec_driver_sql(
                "UPDATE entities SET last_seen_ns = ?, weight = 1.0"
                " WHERE coalesce(last_seen_ns, -9223372036854775808) < ? AND id = ?",
                rows,
            )

    def _take_back(self, fact_ids: Sequence[str], wanted: dict[EdgeKey, set[str]]) -> None:
        """What extraction made of these facts before and does not find any more."""
        rows = self._connection.exec_driver_sql(
            "SELECT s.from_id, s.to_id, s.relation, s.fact_id FROM edge_sources s JOIN edges e ON e.from_id = s.from_id"
            " AND e.to_id = s.to_id AND e.relation = s.relation WHERE e.made_by = 'extraction'"
            " AND s.fact_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(fact_ids)),),
        ).all()
        gone = [tuple(row) for row in rows if row[3] not in wanted.get((row[0], row[1], row[2]), ())]
        if not gone:
            return
        self._connection.exec_driver_sql(
            "DELETE FROM edge_sources WHERE from_id = ? AND to_id = ? AND relation = ? AND fact_id = ?", gone
        )
        for key in sorted({(str(row[0]), str(row[1]), str(row[2])) for row in gone}):
            left = self._connection.exec_driver_sql(
                "SELECT 1 FROM edge_sources WHERE from_id = ? AND to_id = ? AND relation = ? LIMIT 1", key
            ).scalar()
            if left is None and key not in wanted:
                edge, version = self._edges([key])[key]
                lost = tuple(str(row[3]) for row in gone if tuple(row[:3]) == key)
                remove_edge(self._tx, replace(edge, sources=lost), version)

    def _edges(self, keys: Iterable[EdgeKey]) -> dict[EdgeKey, tuple[Edge, int]]:
        """Those of these edges that exist, without their receipts."""
        wanted = list(keys)
        found: dict[EdgeKey, tuple[Edge, int]] = {}
        for start in range(0, len(wanted), _ASKED_AT_ONCE):
            part = wanted[start : start + _ASKED_AT_ONCE]
            rows = self._connection.exec_driver_sql(
                "SELECT from_id, to_id, relation, created_ns, weight, made_by, version FROM edges"
                f" WHERE (from_id, to_id, relation) IN (VALUES {', '.join('(?, ?, ?)' for _ in part)})",
                tuple(each for key in part for each in key),
            )
            for from_id, to_id, relation, created_ns, weight, made_by, version in rows:
                key = (from_id, to_id, relation)
                found[key] = Edge(*key, created_ns, weight, made_by), version
        return found

    def _as_present(self, wanted: dict[EdgeKey, set[str]]) -> dict[EdgeKey, set[str]]:
        """Links without direction under the key that they are kept by: an import may name their ends either way."""
        plain = [key for key in wanted if key[2] == CO_MENTIONED]
        present = self._edges([*plain, *((key[1], key[0], key[2]) for key in plain)])
        found: dict[EdgeKey, set[str]] = defaultdict(set)
        for key, facts in wanted.items():
            turned = (key[1], key[0], key[2])
            is_turned = key[2] == CO_MENTIONED and key not in present and turned in present
            found[turned if is_turned else key].update(facts)
        return found

    def _link(self, wanted: dict[EdgeKey, set[str]], created: dict[str, int]) -> None:
        present = self._edges(wanted)
        receipts: list[tuple[str, str, str, str]] = []
        for key in sorted(wanted):
            facts = sorted(wanted[key])
            if key in present:
                receipts.extend((*key, fact_id) for fact_id in facts)
                continue
            weight = min(1.0, _FIRST_WEIGHT + _MORE_WEIGHT * len(facts)) if key[2] == CO_MENTIONED else 1.0
            born = min(created[fact_id] for fact_id in facts)
            create_edge(self._tx, Edge(*key, born, weight, "extraction", tuple(facts)))
            self.edges += 1
        if receipts:
            self._connection.exec_driver_sql("INSERT OR IGNORE INTO edge_sources VALUES (?, ?, ?, ?)", receipts)
        strengthened = [key for key in sorted(wanted) if key in present and key[2] == CO_MENTIONED]
        if strengthened:
            self._connection.exec_driver_sql(
                f"UPDATE edges SET weight = max(weight, min(1.0, {_FIRST_WEIGHT} + {_MORE_WEIGHT} * (SELECT count(*)"
                " FROM edge_sources s WHERE s.from_id = edges.from_id AND s.to_id = edges.to_id"
                " AND s.relation = edges.relation))) WHERE from_id = ? AND to_id = ? AND relation = ?"
                " AND made_by = 'extraction'",
                strengthened,
            )
