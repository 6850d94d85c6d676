"""What the commands about sources print as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gm_engine.records.facts import JsonValue

if TYPE_CHECKING:
    from gm_engine.recall_protocol.joint_answer import JointAnswer, JointHit, SourceOutcome
    from gm_engine.recall_protocol.payloads import ExpandResult
    from gm_engine.recall_protocol.source_config import SourceConfig
    from gm_engine.recall_protocol.sources import SourceHealth


def config_payload(config: SourceConfig) -> dict[str, JsonValue]:
    """A configured source; settings as the adapter gets them."""
    return {
        "id": config.id,
        "uid": config.uid,
        "command": config.command,
        "args": list(config.args),
        "location": config.location,
        "settings": config.settings,
        "ceiling": config.ceiling,
        "prior": config.prior,
        "deadline_s": config.deadline_s,
        "enabled": config.enabled,
    }


def answer_payload(answer: JointAnswer) -> dict[str, JsonValue]:
    """Hits and the outcome of every source; `coverage` says at one glance whether all have looked."""
    return {
        "query": answer.query,
        "coverage": "complete" if answer.is_complete else "degraded",
        "found_nothing": answer.found_nothing,
        "hits": [_hit(hit) for hit in answer.hits],
        "sources": [_outcome(outcome) for outcome in answer.outcomes],
    }


def _hit(hit: JointHit) -> dict[str, JsonValue]:
    return {**hit.candidate.to_wire(), "source_id": hit.source_id, "score": hit.score, "also_in": list(hit.also_in)}


def _outcome(outcome: SourceOutcome) -> dict[str, JsonValue]:
    payload: dict[str, JsonValue] = {
        "source_id": outcome.source_id,
        "state": outcome.state,
        "found": outcome.found,
        "dropped": outcome.dropped,
        "took_ms": round(outcome.took_s * 1000),
    }
    if outcome.reason:
        payload["reason"] = outcome.reason
    if outcome.diagnostics:
        payload["diagnostics"] = outcome.diagnostics
    return payload


def health_payload(found: SourceHealth) -> dict[str, JsonValue]:
    """How a source is, with what it said it can do; null where it could not be asked."""
    status = found.status
    return {
        "source_id": found.source_id,
        "error": found.error,
        "health": None if found.health is None else found.health.to_wire(),
        "manifest": None if found.manifest is None else found.manifest.to_wire(),
        "starts": 0 if status is None else status.starts,
        "violations": 0 if status is None else status.diagnostics.violations,
        "stderr": [] if status is None else list(status.diagnostics.lines),
    }


def expand_payload(locator: str, found: ExpandResult) -> dict[str, JsonValue]:
    """What a locator names."""
    return {"locator": locator, **found.to_wire()}
