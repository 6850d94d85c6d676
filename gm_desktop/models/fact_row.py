"""What one line of a fact table needs, cut down from a fact that may hold a megabyte of text."""

from __future__ import annotations

from dataclasses import dataclass

from gm_desktop.i18n import tr
from gm_desktop.plain_text import row_text
from gm_engine.records import SHARED_AGENT_ID, SUPERSEDED_BY_AGENT, Fact


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact as a table shows it. `status` is `live`, `retired` or `replaced`; `confidence` the effective label."""

    id: str
    agent_id: str
    text: str
    confidence: str
    label: str
    pinned: bool
    weight: float
    created_ns: int
    accessed_ns: int | None
    uses: int
    channel: str
    client: str
    status: str
    is_alias: bool
    version: int


def fact_row(fact: Fact) -> FactRow:
    """The row of a fact; its text is one isolated line of bounded length."""
    return FactRow(
        id=fact.id,
        agent_id=fact.agent_id,
        text=row_text(fact.text),
        confidence=fact.effective_confidence.value,
        label=fact.confidence,
        pinned=fact.pinned,
        weight=fact.weight,
        created_ns=fact.created_ns,
        accessed_ns=fact.accessed_ns,
        uses=fact.access_count,
        channel=fact.origin.channel,
        client=fact.origin.client,
        status=fact_status(fact),
        is_alias=fact.kind == "alias",
        version=fact.version,
    )


def fact_status(fact: Fact) -> str:
    """`live`, `retired` (nothing in its place) or `replaced`."""
    if not fact.is_superseded:
        return "live"
    return "retired" if fact.superseded_by == SUPERSEDED_BY_AGENT else "replaced"


def agent_title(agent_id: str) -> str:
    """The name a person reads for a namespace."""
    return tr("Shared") if agent_id == SHARED_AGENT_ID else row_text(agent_id, 80)
