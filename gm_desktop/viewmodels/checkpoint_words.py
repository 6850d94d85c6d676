"""Checkpoints in words: verdicts, sizes, and one line of the timeline."""

from __future__ import annotations

from gm_desktop.formatting import age, local_time, utc_time
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.checkpoint_list import CheckpointLine
from gm_desktop.models.fact_row import agent_title
from gm_desktop.plain_text import row_text
from gm_engine.records import CheckpointSummary, JsonPath

_VERDICTS = {"approved": "Approved", "needs_work": "Needs work", "rejected": "Rejected"}
_PARTS = {"state": "State", "messages": "Messages", "metadata": "Metadata"}


def verdict_title(verdict: str) -> str:
    """The name of a verdict; empty where there is none."""
    return tr(_VERDICTS.get(verdict, verdict)) if verdict else ""


def checkpoint_line(summary: CheckpointSummary, now_ns: int) -> CheckpointLine:
    """One line of the timeline."""
    messages = tr_count("{count} message", "{count} messages", summary.message_count or 0)
    return CheckpointLine(
        id=summary.id,
        agent_id=summary.agent_id,
        agent=agent_title(summary.agent_id),
        when=local_time(summary.created_ns),
        when_utc=utc_time(summary.created_ns),
        age=age(summary.created_ns, now_ns),
        summary=tr("Damaged") if summary.message_count is None else messages,
        is_damaged=summary.message_count is None,
        verdict=summary.verdict,
        verdict_title=verdict_title(summary.verdict),
        is_restored=summary.restored_from is not None,
    )


def path_text(path: JsonPath) -> str:
    """Where in a checkpoint: `State › open › 2`."""
    first = [tr(_PARTS.get(str(path[0]), str(path[0])))] if path else []
    return " › ".join([*first, *(row_text(str(step), 60) for step in path[1:])])
