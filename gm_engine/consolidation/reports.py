"""A cycle's report as the journal keeps it, read back from there; and the totals of all cycles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from gm_engine.proposals import ConsolidationCounters, CycleReport
from gm_engine.records import JsonValue
from gm_engine.store.consolidation import cycle_details, load_counters
from gm_engine.store.database import Ledger
from gm_engine.store.transaction import canonical_json


def report_detail(report: CycleReport) -> str:
    """The figures of a report as canonical JSON; proposals are in the inbox and the changes in the journal."""
    return canonical_json(
        {
            "agent_id": report.agent_id,
            "at_ns": report.at_ns,
            "facts": report.facts,
            "automatic": report.automatic,
            "decayed": report.decayed,
            "proposed": dict(report.proposed),
            "known": report.known,
            "applied": dict(report.applied),
            "consumed": report.consumed,
            "pruned": report.pruned,
            "held_back": report.held_back,
            "series": report.series,
            "errors": list(report.errors),
        }
    )


def read_report(detail: str, *, seq: int | None) -> CycleReport | None:
    """The report in a journal entry's detail; None where it holds none."""
    try:
        found = json.loads(detail)
        report = CycleReport(
            agent_id=str(found["agent_id"]),
            at_ns=int(found["at_ns"]),
            facts=int(found["facts"]),
            automatic=bool(found["automatic"]),
            decayed=int(found["decayed"]),
            proposed=_counts(found["proposed"]),
            known=int(found["known"]),
            applied=_counts(found["applied"]),
            consumed=int(found["consumed"]),
            pruned=int(found["pruned"]),
            held_back=int(found["held_back"]),
            series=int(found["series"]),
            errors=tuple(str(error) for error in found["errors"]),
        )
    except (ValueError, KeyError, TypeError):
        return None
    return replace(report, seq=seq)


def _counts(value: Mapping[str, JsonValue]) -> dict[str, int]:
    return {name: int(count) for name, count in value.items() if isinstance(count, int)}


def counters(ledger: Ledger) -> ConsolidationCounters:
    """The totals over the life of a store, and the newest report."""
    with ledger.read() as connection:
        totals = load_counters(connection)
    cycles, consumed, pruned = (
        value if isinstance(value := totals.get(name), int) else 0 for name in ("cycles", "consumed", "pruned")
    )
    last = totals.get("last")
    newest = read_report(last, seq=None) if isinstance(last, str) else None
    return ConsolidationCounters(cycles, consumed, pruned, newest)


def history(ledger: Ledger, *, agent_id: str | None, before_seq: int | None, limit: int) -> tuple[CycleReport, ...]:
    """The journalled reports of past cycles, newest first."""
    with ledger.read() as connection:
        found = cycle_details(connection, agent_id=agent_id, before_seq=before_seq, limit=limit)
    reports = (read_report(detail, seq=seq) for seq, detail in found)
    return tuple(report for report in reports if report is not None)
