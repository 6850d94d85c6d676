"""The knowledge graph of an open store: reading, questions about its shape, verbs that can be undone, extraction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from gm_engine.errors import GrayMatterError, InvalidInput, NotFound
from gm_engine.graph import analytics, dictionary, edit
from gm_engine.graph.decay import HALF_LIFE_H, fade
from gm_engine.graph.names import link_names
from gm_engine.graph.records import (
    DictionaryEntry,
    ExtractionReport,
    GraphChange,
    GraphOverview,
    GraphPart,
    GraphPath,
)
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import Entity, Origin
from gm_engine.store.database import Ledger
from gm_engine.store.entities import EdgeKey, Graph, load_entities, name_key
from gm_engine.store.graph_edits import name_owners
from gm_engine.store.mentions import fold, refresh_mentions
from gm_engine.store.transaction import Transaction

if TYPE_CHECKING:
    from gm_engine.graph.feeding import Feeder

NEAR_LIMIT = 300
_PAUSE_S = 5.0
_MOSTLY_KNOWN = 0.75
_log = logging.getLogger(__name__)
_RECEIPTS = "FROM edge_sources s{join} WHERE s.from_id = e.from_id AND s.to_id = e.to_id AND s.relation = e.relation"
_STALE = (
    "SELECT from_id, to_id, relation FROM edges e WHERE"
    f" (made_by = 'extraction' OR EXISTS (SELECT 1 {_RECEIPTS.format(join='')})) AND NOT EXISTS"
    f" (SELECT 1 {_RECEIPTS.format(join=' JOIN facts f ON f.id = s.fact_id')} AND f.superseded_by = '')"
)


class KnowledgeGraph(Graph):
    """`memory.graph`. Verbs are one journalled transaction each; the `seq` of what they return undoes them.

    Ids name entities (`NotFound` otherwise); texts are trimmed and refused when blank (`InvalidInput`).
    """

    def __init__(self, ledger: Ledger, *, origin: Origin) -> None:
        super().__init__(ledger)
        self._origin = origin
        self._loaded: Feeder | None = None
        self._loading = Lock()
        self._pause_until = 0.0

    @property
    def _feeder(self) -> Feeder:
        """Made when it is first needed: a program that only recalls need not learn to read."""
        with self._loading:
            if self._loaded is None:
                from gm_engine.graph.feeding import Feeder

                self._loaded = Feeder(self._ledger, origin=self._origin)
            return self._loaded

    # --- reading -------------------------------------------------------------------------------------------------

    def get(self, entity_id: str) -> Entity:
        """One entity; `NotFound` when there is none."""
        with self._ledger.read() as connection:
            found = load_entities(connection, [entity_id])
        if entity_id not in found:
            raise NotFound(f"There is no entity {entity_id!r}.", id=entity_id)
        return found[entity_id][0]

    def resolve(self, text: str) -> Entity:
        """The entity that a person means by an id or by any of its names; `NotFound` when there is none."""
        with self._ledger.read() as connection:
            found = load_entities(connection, [text])
            if not found:
                key = name_key(text)
                found = load_entities(connection, [name_owners(connection, [key]).get(key, key)])
        if not found:
            raise NotFound(f"There is no entity called {text!r}.", name=text[:200])
        return next(iter(found.values()))[0]

    def find(self, text: str, *, limit: int = 20) -> tuple[Entity, ...]:
        """Entities one of whose names contains `text`: those that begin with it first, then by weight and label."""
        wanted = fold(text).strip()
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql(
                "SELECT n.entity_id, n.name_key FROM entity_names n WHERE instr(n.name_key, ?) > 0", (wanted,)
            ).all()
            labels = connection.exec_driver_sql("SELECT id, label FROM entities").all()
            starts: dict[str, int] = {}
            for entity_id, name in (*rows, *((row[0], name_key(row[1])) for row in labels)):
                at = name.find(wanted)
                if at >= 0:
                    score = 0 if name == wanted else 1 if at == 0 else 2 if not name[at - 1].isalnum() else 3
                    starts[entity_id] = min(score, starts.get(entity_id, 9))
            found = load_entities(connection, list(starts))
        ranked = sorted(
            (entity for entity, _ in found.values()),
            key=lambda each: (starts[each.id], -each.weight, each.label, each.id),
        )
        return tuple(ranked[:limit])

    def names(self, entity_id: str) -> tuple[str, ...]:
        """The canonical names that lead to an entity, in order."""
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql(
                "SELECT name_key FROM entity_names WHERE entity_id = ? ORDER BY name_key", (entity_id,)
            )
            return tuple(row[0] for row in rows)

    def mentioned_in(self, entity_id: str, *, limit: int | None = 100) -> tuple[str, ...]:
        """Ids of live facts that mention an entity or are a receipt of one of its links, newest first; None: all."""
        if not self._ledger.read_only:
            refresh_mentions(self._ledger)
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql(
                "SELECT f.id FROM facts f WHERE f.superseded_by = '' AND f.kind <> 'alias' AND f.id IN"
                " (SELECT fact_id FROM mentions WHERE entity_id = ?1 UNION SELECT fact_id FROM edge_sources"
                " WHERE from_id = ?1 UNION SELECT fact_id FROM edge_sources WHERE to_id = ?1)"
                " ORDER BY f.created_ns DESC, f.id DESC LIMIT ?2",
                (entity_id, -1 if limit is None else limit),
            )
            return tuple(row[0] for row in rows)

    def stale(self) -> frozenset[EdgeKey]:
        """The links that no live fact stands behind any more. One that never had a receipt is never stale, unless
        extraction made it."""
        with self._ledger.read() as connection:
            return frozenset((row[0], row[1], row[2]) for row in connection.exec_driver_sql(_STALE))

    # --- the shape -----------------------------------------------------------------------------------------------

    def overview(self) -> GraphOverview:
        """Hubs, cut points, bridges, orphans and components of the whole graph."""
        return analytics.overview(self.entities(), self.edges(), self.stale())

    def path(self, from_id: str, to_id: str) -> GraphPath | None:
        """A shortest way between two entities over live links; None where there is none."""
        for end in (from_id, to_id):
            self.get(end)
        return analytics.shortest_path(self.entities(), self.edges(), self.stale(), ends=(from_id, to_id))

    def neighbourhood(self, entity_id: str, *, depth: int = 1, limit: int = NEAR_LIMIT) -> GraphPart:
        """What lies at most `depth` links away from an entity, the nearest first, at most `limit` entities."""
        self.get(entity_id)
        return analytics.neighbourhood(self.entities(), self.edges(), centre=entity_id, depth=depth, limit=limit)

    def positions(self, *, again: bool = False) -> dict[str, tuple[float, float]]:
        """Where every entity is drawn. Kept in the store: new entities are fitted in, `again` lays all out anew."""
        from gm_engine.graph.layout import layout

        entities, edges = self.entities(), self.edges()
        number = {entity.id: at for at, entity in enumerate(entities)}
        with self._ledger.read() as connection:
            rows = connection.exec_driver_sql("SELECT entity_id, x, y FROM positions").all()
        kept = {} if again else {row[0]: (row[1], row[2]) for row in rows if row[0] in number}
        if len(kept) < _MOSTLY_KNOWN * len(entities):
            kept = {}  # too much is new for it to find room around what is old
        if len(kept) < len(entities):
            links = [(number[e.from_id], number[e.to_id]) for e in edges if e.from_id in number and e.to_id in number]
            placed = layout(len(entities), links, known={number[each]: place for each, place in kept.items()})
            new = {
                each: (float(placed[at, 0]), float(placed[at, 1])) for each, at in number.items() if each not in kept
            }
            self._keep_positions(new)
            kept.update(new)
        return kept

    def _keep_positions(self, places: dict[str, tuple[float, float]]) -> None:
        if not self._ledger.read_only:
            with self._ledger.bookkeep() as connection:
                connection.exec_driver_sql(
                    "INSERT OR REPLACE INTO positions(entity_id, x, y) VALUES (?, ?, ?)",
                    [(entity_id, *place) for entity_id, place in places.items()],
                )

    def place(self, entity_id: str, x: float, y: float) -> None:
        """Keeps where a person put an entity."""
        self._keep_positions({entity_id: (x, y)})

    # --- verbs ---------------------------------------------------------------------------------------------------

    def _write(self, verb: str, act: Callable[[Transaction], GraphChange], *, detail: str | None = None) -> GraphChange:
        with self._ledger.write(verb, origin=self._origin, detail=detail) as tx:
            return act(tx)

    def add(self, label: str, type: str = "concept", *, names: Sequence[str] = ()) -> GraphChange:  # noqa: A002
        """A new entity. `InvalidInput` when another one has the name."""
        return self._write("entity-add", lambda tx: edit.add(tx, label, type, names=names))

    def rename(self, entity_id: str, label: str) -> GraphChange:
        """Another label; extraction still finds the entity by the old one."""
        return self._write("entity-rename", lambda tx: edit.rename(tx, entity_id, label))

    def retype(self, ids: str | Sequence[str], type: str) -> GraphChange:  # noqa: A002
        """Another type for one entity or several."""
        return self._write("entity-retype", lambda tx: edit.retype(tx, _several(ids), type))

    def merge(self, ids: str | Sequence[str], into: str) -> GraphChange:
        """Makes entities one: `into` takes over names, links and receipts of the others."""
        return self._write("entity-merge", lambda tx: edit.merge(tx, _several(ids), into))

    def split(
        self,
        entity_id: str,
        label: str,
        *,
        facts: Sequence[str],
        type: str | None = None,  # noqa: A002
    ) -> GraphChange:
        """Parts an entity: a new one takes over what these facts say. Returns the old entity, then the new one."""
        return self._write("entity-split", lambda tx: edit.split(tx, entity_id, label, type_name=type, facts=facts))

    def delete(self, ids: str | Sequence[str]) -> GraphChange:
        """Takes entities and their links away; extraction makes none of these names again."""
        return self._write("entity-delete", lambda tx: edit.delete(tx, _several(ids)))

    def link(
        self, from_id: str, to_id: str, relation: str = "related_to", *, sources: Sequence[str] = ()
    ) -> GraphChange:
        """Links two entities, with the facts that say so."""
        return self._write("link", lambda tx: edit.link(tx, from_id, to_id, relation, sources=sources))

    def link_names(self, agent_id: str, from_name: str, to_name: str, relation: str) -> GraphChange:
        """Links two entities by name, in lower case, for an agent; a name that nobody has becomes a concept."""
        with self._ledger.write("link", origin=self._origin, agent_id=agent_id) as tx:
            return link_names(tx, from_name, to_name, relation)

    def unlink(self, from_id: str, to_id: str, relation: str | None = None) -> GraphChange:
        """Takes the links between two entities away; extraction does not make them again."""
        return self._write("unlink", lambda tx: edit.unlink(tx, from_id, to_id, relation))

    # --- extraction ----------------------------------------------------------------------------------------------

    def extract(
        self, *, everything: bool = False, progress: Progress = no_progress, cancel: CancelToken | None = None
    ) -> ExtractionReport:
        """Reads the facts that changed since the last time, or `everything`, and feeds the graph."""
        return self._feeder.run(everything=everything, progress=progress, cancel=cancel)

    def extract_step(self, budget_s: float = 0.1) -> bool:
        """About `budget_s` seconds of extraction; whether there is more to do."""
        return self._feeder.step(budget_s)

    def step(self, budget_s: float) -> bool:
        """`extract_step` for a background thread: an expected failure is logged and tried again a while later."""
        if self._pause_until > monotonic():
            return False
        try:
            return self.extract_step(budget_s)
        except GrayMatterError as error:
            self._pause_until = monotonic() + _PAUSE_S
            _log.warning("extraction pauses: %s", error.message)
            return False

    def fade(self, *, half_life_h: float = HALF_LIFE_H) -> int:
        """Lowers weights to what the age of the last mention leaves; how many changed. Bookkeeping."""
        with self._ledger.bookkeep() as connection:
            return fade(connection, now_ns=self._ledger.clock.now_ns(), half_life_h=half_life_h)

    # --- the dictionary ------------------------------------------------------------------------------------------

    def dictionary(self) -> tuple[DictionaryEntry, ...]:
        """The user's own names for extraction, by canonical label."""
        with self._ledger.read() as connection:
            return dictionary.load_entries(connection)

    def define(
        self, entries: DictionaryEntry | Iterable[DictionaryEntry], *, instead_of: Sequence[str] = ()
    ) -> GraphChange:
        """Writes entries of the dictionary, in place of those labelled `instead_of`, and makes the graph agree."""
        several = (entries,) if isinstance(entries, DictionaryEntry) else tuple(entries)

        def act(tx: Transaction) -> GraphChange:
            removed = dictionary.remove(tx, instead_of)
            change = dictionary.put(tx, several)
            return replace(change, seq=tx.seq) if removed else change

        return self._write("dictionary", act)

    def undefine(self, labels: str | Sequence[str]) -> GraphChange:
        """Takes entries out of the dictionary; `NotFound` when there is none of these. Entities stay."""

        def act(tx: Transaction) -> GraphChange:
            if not dictionary.remove(tx, _several(labels)):
                raise NotFound(f"The dictionary has no entry {_several(labels)[0]!r}.")
            return GraphChange(tx.seq)

        return self._write("dictionary", act)

    def export_dictionary(self) -> str:
        """The dictionary as a file's text."""
        return dictionary.as_text(self.dictionary())

    def import_dictionary(self, text: str) -> GraphChange:
        """Takes in a file that `export_dictionary` or a person wrote: entries of the same label are replaced."""
        return self.define(dictionary.from_text(text))


def _several(ids: str | Sequence[str]) -> list[str]:
    wanted = [ids] if isinstance(ids, str) else list(ids)
    if not wanted:
        raise InvalidInput("Nothing was named.", field="ids")
    return wanted
