"""A cycle's report as the journal keeps it, and read back from there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from gm_engine.proposals import CycleReport
from gm_engine.records import JsonValue
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
