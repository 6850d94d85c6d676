"""The graph's rows as the journal knows them: without bookkeeping (weights, when an entity was last seen)."""

from __future__ import annotations

from gm_engine import Memory
from gm_engine.store.database import Ledger

_ROWS = {
    "entities": "SELECT id, label, type, first_seen_ns, made_by, version FROM entities ORDER BY id",
    "names": "SELECT name_key, entity_id FROM entity_names ORDER BY 1",
    "edges": "SELECT from_id, to_id, relation, created_ns, made_by, version FROM edges ORDER BY 1, 2, 3",
    "sources": "SELECT from_id, to_id, relation, fact_id FROM edge_sources ORDER BY 1, 2, 3, 4",
    "marks": "SELECT key, value, version FROM settings WHERE key LIKE 'graph.%' ORDER BY 1",
}


def graph_state(memory: Memory) -> dict[str, list[tuple[object, ...]]]:
    """Every row of the graph, by table."""
    ledger: Ledger = memory._ledger
    with ledger.read() as connection:
        return {name: [tuple(row) for row in connection.exec_driver_sql(sql)] for name, sql in _ROWS.items()}
