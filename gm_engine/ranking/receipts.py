"""Why a fact came back: receipts, their lineage, and their shape on the wire."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection

from gm_engine.clock import format_ns
from gm_engine.records import JsonValue, Receipt, SignalWeights
from gm_engine.store.rows import fetch

DAY_NS = 86_400 * 1_000_000_000
_REPLACED = (
    "SELECT superseded_by, id FROM facts WHERE superseded_by IN (SELECT value FROM json_each(?))"
    " AND length(superseded_by) > 0 ORDER BY version DESC, id"
)


def lineages(connection: Connection, fact_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What each fact replaced, directly and through others: breadth first, within a step the latest replacement first.

    So the oldest edge comes last. A cycle ends where it meets a fact again; a fact never replaces itself.
    """
    replaced: dict[str, list[str]] = {}
    asked: set[str] = set()
    open_ids = set(fact_ids)
    while open_ids:
        asked |= open_ids
        found = fetch(connection, _REPLACED, (json.dumps(sorted(open_ids)),))
        for newer, older in found:
            replaced.setdefault(newer, []).append(older)
        open_ids = {older for _, older in found} - asked
    return {fact_id: _walk(fact_id, replaced) for fact_id in fact_ids}


def _walk(fact_id: str, replaced: dict[str, list[str]]) -> tuple[str, ...]:
    seen = {fact_id: None}
    step = [fact_id]
    while step:
        older = [old for newer in step for old in replaced.get(newer, ())]
        step = [old for old in dict.fromkeys(older) if old not in seen]
        seen.update(dict.fromkeys(step))
    del seen[fact_id]
    return tuple(seen)


def age_days(created_ns: int, now_ns: int) -> float:
    """Days between a fact's creation and the moment of the recall."""
    return (now_ns - created_ns) / DAY_NS


def receipt_payload(receipt: Receipt) -> dict[str, JsonValue]:
    """The receipt as the wire contract has it; optional keys are absent where they say nothing."""
    fact, ranks = receipt.fact, receipt.ranks
    provenance: dict[str, JsonValue] = {"fact_id": fact.id, "written_at": format_ns(fact.created_ns)}
    if fact.superseded_by:
        provenance["superseded_by"] = fact.superseded_by
    if fact.confidence:
        provenance["confidence"] = fact.confidence
    if fact.pinned:
        provenance["pinned"] = True
    if receipt.supersedes:
        provenance["supersedes"] = list(receipt.supersedes)
    wire_ranks: dict[str, JsonValue] = {
        "vector_rank": ranks.vector_rank,
        "keyword_rank": ranks.keyword_rank,
        "recency_rank": ranks.recency_rank,
        "fused_score": ranks.fused_score,
        "k": ranks.k,
    }
    if ranks.weights != SignalWeights():
        weights = ranks.weights
        wire_ranks["weights"] = {"vector": weights.vector, "keyword": weights.keyword, "recency": weights.recency}
    payload: dict[str, JsonValue] = {
        "text": fact.text,
        "weight": fact.weight,
        "age_days": round(receipt.age_days, 2),
        "ranks": wire_ranks,
        "provenance": provenance,
    }
    if receipt.kg_links:
        payload["kg_links"] = list(receipt.kg_links)
    if receipt.ranking is not None:
        ranking = receipt.ranking
        payload["ranking"] = {
            "base_score": ranking.base_score,
            "final_score": ranking.final_score,
            "factor": ranking.factor,
            "effective_confidence": ranking.effective_confidence.value,
            "confidence_weight": ranking.confidence_weight,
            "policy": ranking.policy,
        }
    return payload
