"""The JSON shapes of the command line. Facts look as the Go program's export writes them, plus `origin`."""

from __future__ import annotations

from collections.abc import Sequence

from gm_engine.clock import GO_ZERO_TIME, format_ns
from gm_engine.proposals import ConsolidationCounters, CycleReport, Proposal
from gm_engine.records import (
    AgentSummary,
    Backup,
    Block,
    BlockedAttempt,
    Change,
    Checkpoint,
    CheckpointSummary,
    Counts,
    Fact,
    FactDifference,
    ImportReport,
    JournalEntry,
    JsonValue,
    Origin,
    StoreSettings,
    StoreStatus,
)


def time_payload(at_ns: int | None) -> str:
    """RFC 3339 with nanoseconds; Go's zero time where a time is absent."""
    return GO_ZERO_TIME if at_ns is None else format_ns(at_ns)


def _present(**values: str) -> dict[str, JsonValue]:
    return {key: value for key, value in values.items() if value}


def fact_payload(fact: Fact) -> dict[str, JsonValue]:
    """A fact with the keys of `memories.json`, empty optional ones left out, and `origin`."""
    payload: dict[str, JsonValue] = {
        "id": fact.id,
        "agent_id": fact.agent_id,
        "text": fact.text,
        "created_at": format_ns(fact.created_ns),
        "accessed_at": time_payload(fact.accessed_ns),
        "access_count": fact.access_count,
        "weight": fact.weight,
    }
    payload |= _present(
        superseded_by=fact.superseded_by, confidence=fact.confidence, kind=fact.kind, alias_source=fact.alias_source
    )
    if fact.pinned:
        payload["pinned"] = True
    if fact.pinned_ns is not None:
        payload["pinned_at"] = format_ns(fact.pinned_ns)
    payload["origin"] = origin_payload(fact.origin)
    return payload


def origin_payload(origin: Origin) -> dict[str, JsonValue]:
    """Channel, and whatever else is known of the writer."""
    payload: dict[str, JsonValue] = {"channel": origin.channel}
    payload |= _present(client=origin.client, client_version=origin.client_version, session=origin.session)
    if origin.sources:
        payload["sources"] = [{"kind": source.kind, "ref": source.ref} for source in origin.sources]
    return payload


def agent_payload(agent: AgentSummary) -> dict[str, JsonValue]:
    """One namespace with its counts."""
    return {
        "agent_id": agent.agent_id,
        "live": agent.live,
        "retired": agent.retired,
        "pinned": agent.pinned,
        "aliases": agent.aliases,
    }


def status_payload(status: StoreStatus, counters: ConsolidationCounters) -> dict[str, JsonValue]:
    """The figures of a store; `consolidations` counts cycles and the facts that they consumed."""
    return {
        "data_dir": status.data_dir,
        "agents": [agent_payload(agent) for agent in status.agents],
        "checkpoints": status.checkpoints,
        "entities": status.entities,
        "edges": status.edges,
        "vectors": {
            "model": status.vectors.model,
            "embedded": status.vectors.embedded,
            "pending": status.vectors.pending,
            "chroma": status.vectors.chroma,
            "path": status.vectors.path,
            "answering": status.vectors.answering,
            "error": status.vectors.error,
        },
        "consolidations": {"cycles": counters.cycles, "facts": counters.consumed},
    }


def counts_payload(counts: Counts) -> dict[str, JsonValue]:
    """How many records of each kind."""
    return {
        "facts": counts.facts,
        "checkpoints": counts.checkpoints,
        "entities": counts.entities,
        "edges": counts.edges,
    }


def import_payload(report: ImportReport) -> dict[str, JsonValue]:
    """What an import found, wrote and left out."""
    return {
        "source": report.source,
        "format": report.format,
        "agents": [*report.agents],
        "found": counts_payload(report.found),
        "imported": counts_payload(report.imported),
        "skipped": [{"kind": skip.kind, "id": skip.id, "reason": skip.reason} for skip in report.skipped],
    }


def settings_payload(settings: StoreSettings) -> dict[str, JsonValue]:
    """The settings that belong to a store."""
    weights = settings.signal_weights
    return {
        "signal_weights": {"vector": weights.vector, "keyword": weights.keyword, "recency": weights.recency},
        "coverage_gate": settings.coverage_gate,
        "min_relevance": settings.min_relevance,
        "confidence_weight": settings.confidence_weight,
        "language": settings.language,
        "vector_path": settings.vector_path,
    }


def entry_payload(entry: JournalEntry) -> dict[str, JsonValue]:
    """One journal entry with its changes."""
    return {
        "seq": entry.seq,
        "at": format_ns(entry.at_ns),
        "verb": entry.verb,
        "agent_id": entry.agent_id,
        "group_id": entry.group_id,
        "actor": origin_payload(entry.actor),
        "undoes": entry.undoes,
        "detail": entry.detail,
        "changes": [_change_payload(change) for change in entry.changes],
    }


def _change_payload(change: Change) -> dict[str, JsonValue]:
    return {
        "kind": change.kind,
        "target": change.target,
        "agent_id": change.agent_id,
        "version_before": change.version_before,
        "version_after": change.version_after,
        "before": None if change.before is None else dict(change.before),
        "after": None if change.after is None else dict(change.after),
    }


def checkpoint_summary_payload(summary: CheckpointSummary) -> dict[str, JsonValue]:
    """One line of a checkpoint list; `message_count` is null for a damaged record, a verdict is there once given."""
    payload: dict[str, JsonValue] = {
        "id": summary.id,
        "agent_id": summary.agent_id,
        "created_at": format_ns(summary.created_ns),
        "message_count": summary.message_count,
        "size_bytes": summary.size_bytes,
    }
    payload |= _present(restored_from=summary.restored_from or "", verdict=summary.verdict, note=summary.note)
    if summary.reviewed_ns is not None:
        payload["reviewed_at"] = format_ns(summary.reviewed_ns)
    return payload


def checkpoint_payload(checkpoint: Checkpoint) -> dict[str, JsonValue]:
    """A checkpoint with the keys that the Go program stores; empty ones left out."""
    payload: dict[str, JsonValue] = {
        "id": checkpoint.id,
        "agent_id": checkpoint.agent_id,
        "created_at": format_ns(checkpoint.created_ns),
    }
    if checkpoint.state:
        payload["state"] = dict(checkpoint.state)
    if checkpoint.messages:
        payload["messages"] = [{"role": message.role, "content": message.content} for message in checkpoint.messages]
    if checkpoint.metadata:
        payload["metadata"] = dict(checkpoint.metadata)
    return payload


def block_payload(block: Block, tried: Sequence[BlockedAttempt] = ()) -> dict[str, JsonValue]:
    """A blocked value; `text` is null once the text was purged, `agent_id` null where it holds for every agent."""
    return {
        "key": block.key,
        "agent_id": block.agent_id,
        "text": block.text,
        "created_at": format_ns(block.created_ns),
        "attempts": block.attempts,
        "by_client": [
            {"client": attempt.client, "count": attempt.count, "last_at": format_ns(attempt.last_ns)}
            for attempt in tried
            if attempt.key == block.key
        ],
    }


def difference_payload(difference: FactDifference) -> dict[str, JsonValue]:
    """How a fact differs between two moments; null where it did not exist."""
    return {
        "fact_id": difference.fact_id,
        "kinds": [*difference.kinds],
        "before": None if difference.before is None else fact_payload(difference.before),
        "after": None if difference.after is None else fact_payload(difference.after),
    }


def backup_payload(backup: Backup) -> dict[str, JsonValue]:
    """A backup file; `problem` only where it cannot be read."""
    payload: dict[str, JsonValue] = {
        "path": backup.path,
        "made_at": format_ns(backup.made_ns),
        "size_bytes": backup.size_bytes,
        "seq": backup.seq,
        "scheduled": backup.scheduled,
        "counts": counts_payload(backup.counts),
    }
    return payload | _present(problem=backup.problem)


def proposal_payload(proposal: Proposal) -> dict[str, JsonValue]:
    """One card of the inbox; empty parts left out."""
    payload: dict[str, JsonValue] = {
        "id": proposal.id,
        "kind": proposal.kind,
        "source": proposal.source,
        "agent_id": proposal.agent_id,
        "created_at": format_ns(proposal.created_ns),
        "state": proposal.state,
        "stale": proposal.stale,
        "facts": list(proposal.facts),
    }
    payload |= _present(keep=proposal.keep, text=proposal.text, reason=proposal.reason)
    if proposal.findings:
        payload["findings"] = [
            {"kind": finding.kind, "text": finding.text, "fact_id": finding.fact_id} for finding in proposal.findings
        ]
    payload["score"] = proposal.score
    return payload


def cycle_payload(report: CycleReport) -> dict[str, JsonValue]:
    """What a cycle did, or would do, with the cards it made."""
    return {
        "agent_id": report.agent_id,
        "at": format_ns(report.at_ns),
        "dry_run": report.dry_run,
        "automatic": report.automatic,
        "facts": report.facts,
        "decayed": report.decayed,
        "proposed": dict(report.proposed),
        "known": report.known,
        "applied": dict(report.applied),
        "consumed": report.consumed,
        "pruned": report.pruned,
        "held_back": report.held_back,
        "series": report.series,
        "errors": list(report.errors),
        "entry": report.seq,
        "proposals": [proposal_payload(proposal) for proposal in report.proposals],
    }
