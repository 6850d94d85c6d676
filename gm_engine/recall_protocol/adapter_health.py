"""How a store is as a source: the same figures that make a search of it partial."""

from __future__ import annotations

from gm_engine.recall_protocol.payloads import Health, Json
from gm_engine.recall_protocol.served_store import Check, ServedStore


def store_health(served: ServedStore, *, checked_at_ns: int, last_success_at_ns: int | None, check: Check) -> Health:
    """Counts what is served, what of it can be searched by meaning, and what cannot be read."""
    memory = served.memory
    seq = memory.last_seq()
    eligible = with_vector = 0
    for agent_id in served.namespaces(memory):
        check()
        coverage = memory.recall_explain(
            agent_id, "", preview=True, top_k=1, min_confidence=served.settings.min_confidence
        ).coverage
        eligible, with_vector = eligible + coverage.eligible, with_vector + coverage.with_vector
    checkpoints = [each for each in memory.checkpoints.list() if served.serves(each.agent_id)]
    damaged = sum(1 for each in checkpoints if each.message_count is None)
    shown = served.shown_entities(memory, None)
    entities = len(served.entities(memory)) if shown is None else len(shown)
    missing = eligible - with_vector if served.uses_vectors else 0
    diagnostics: Json = {}
    if missing:
        diagnostics["facts_without_vector"] = missing
    if damaged:
        diagnostics["checkpoints_unread"] = damaged
    is_partial = bool(diagnostics)
    if lag := memory.graph.mentions_lag():
        diagnostics["mentions_behind_by_entries"] = lag  # only a filter by entity misses something
    if (identity := served.identity) is not None:
        diagnostics["store_identity"] = identity
    total = eligible + len(checkpoints) + entities
    return Health(
        status="degraded" if is_partial else "healthy",
        checked_at_ns=checked_at_ns,
        coverage="partial" if is_partial else "complete",
        last_success_at_ns=last_success_at_ns,
        source_watermark=str(seq),
        index_watermark="" if missing else str(seq),
        index_model=memory.vector_status().answering if served.uses_vectors else "",
        record_count=total,
        indexed_count=total - missing - damaged,
        failed_count=damaged,
        diagnostics=diagnostics or None,
    )
