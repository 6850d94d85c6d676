"""Which facts a fact replaced, and by which it was replaced; safe where stored pointers form a circle."""

from __future__ import annotations

from sqlalchemy import Connection

from gm_engine.records import Fact, Lineage
from gm_engine.store.facts import load_facts


def ancestors(connection: Connection, fact_id: str) -> tuple[str, ...]:
    """Every fact that this one replaced, transitively, nearest first, within a step the latest replacement first."""
    seen: dict[str, None] = {}
    frontier = [fact_id]
    while frontier:
        marks = ", ".join("?" for _ in frontier)
        rows = connection.exec_driver_sql(
            f"SELECT id FROM facts WHERE superseded_by IN ({marks}) AND length(superseded_by) > 0"
            " ORDER BY version DESC, id",
            tuple(frontier),
        )
        frontier = [row[0] for row in rows if row[0] not in seen and row[0] != fact_id]
        seen.update(dict.fromkeys(frontier))
    return tuple(seen)


def lineage(connection: Connection, fact: Fact) -> Lineage:
    """Both directions with bodies; a pointer to a fact that is gone ends the chain."""
    older = ancestors(connection, fact.id)
    bodies = load_facts(connection, older)
    newer: dict[str, Fact] = {}
    current = fact
    while current.superseded_by and current.superseded_by != fact.id and current.superseded_by not in newer:
        found = load_facts(connection, [current.superseded_by]).get(current.superseded_by)
        if found is None:
            break
        newer[found.id] = current = found
    return Lineage(tuple(bodies[fact_id] for fact_id in older), tuple(newer.values()))
