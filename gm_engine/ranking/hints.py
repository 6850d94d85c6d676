"""What the knowledge graph adds to an answer: entities that a fact mentions, and neighbours of the best fact's.

Neighbours are hints in the text alone: they never rank, never displace a fact and have no receipt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection

from gm_engine.store.mentions import ENTITY_NAMES, LabelMatcher, fold
from gm_engine.store.rows import fetch
from gm_engine.terms import text_key

MAX_HINTS = 3
_STATE = "SELECT count(*), coalesce(sum(version), 0) FROM entities"
_LABELS = "SELECT id, label FROM entities"
_SOURCES = "FROM edge_sources s{join} WHERE s.from_id = e.from_id AND s.to_id = e.to_id AND s.relation = e.relation"
_ALIVE = (  # an edge that lost its last live source says nothing any more; an imported one may never have had any
    f"(NOT EXISTS (SELECT 1 {_SOURCES.format(join='')}) OR EXISTS"
    f" (SELECT 1 {_SOURCES.format(join=' JOIN facts f ON f.id = s.fact_id')} AND f.superseded_by = ''))"
)
_NEIGHBOURS = " UNION ALL ".join(
    "SELECT n.label, e.weight FROM json_each(?1) m"
    f" JOIN edges e ON e.{here} = m.value JOIN entities n ON n.id = e.{there} WHERE {_ALIVE}"
    for here, there in (("from_id", "to_id"), ("to_id", "from_id"))
)
_IS_LIVE = "SELECT max(superseded_by = '') FROM facts WHERE text_key = ?"


class GraphHints:
    """Reads the graph of one ledger; keeps the matcher of its labels until a label changes."""

    def __init__(self) -> None:
        self._known: tuple[tuple[int, int], LabelMatcher] | None = None

    def links(self, connection: Connection, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """For each text the ids of the entities whose label it mentions, in order."""
        matcher = self._matcher(connection)
        return [tuple(sorted(matcher.entities_in(text))) for text in texts]

    def hints(self, connection: Connection, entity_ids: Sequence[str], shown: Sequence[str]) -> tuple[str, ...]:
        """At most three labels next to these entities: the heaviest edge first, then by name.

        None that a shown text already says in full, none twice, and none that is the text of a retired fact.
        """
        if not entity_ids:
            return ()
        rows = fetch(connection, _NEIGHBOURS, (json.dumps(list(entity_ids)),))
        weights: dict[str, float] = {}
        for label, weight in rows:
            weights[label] = max(weight, weights.get(label, weight))
        seen = {fold(text).strip() for text in shown} | self._names(connection, entity_ids)
        found: list[str] = []
        for label in sorted(weights, key=lambda name: (-weights[name], name)):
            key = fold(label).strip()
            if key and key not in seen and not _is_retired(connection, label):
                seen.add(key)
                found.append(label)
                if len(found) == MAX_HINTS:
                    break
        return tuple(found)

    def _matcher(self, connection: Connection) -> LabelMatcher:
        count, version = fetch(connection, _STATE)[0]
        if self._known is None or self._known[0] != (count, version):
            names = [(row[0], row[1]) for row in fetch(connection, ENTITY_NAMES)]
            self._known = (count, version), LabelMatcher(names)
        return self._known[1]

    def _names(self, connection: Connection, entity_ids: Sequence[str]) -> set[str]:
        """What the best fact itself mentions."""
        sql = f"{_LABELS} WHERE id IN (SELECT value FROM json_each(?))"
        return {fold(row[1]).strip() for row in fetch(connection, sql, (json.dumps(list(entity_ids)),))}


def _is_retired(connection: Connection, label: str) -> bool:
    """Whether only retired facts say exactly this."""
    return bool(fetch(connection, _IS_LIVE, (text_key(label),))[0][0] == 0)
