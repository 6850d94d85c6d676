"""`graymatter checkpoint`: list and show what agents saved to resume from."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from gm_engine.cli.payloads import checkpoint_payload, checkpoint_summary_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, minute, shared_options
from gm_engine.records import Checkpoint, CheckpointSummary, JsonValue


@click.group()
@shared_options
def checkpoint() -> None:
    """List and show saved checkpoints."""


@checkpoint.command("list")
@click.argument("agent", required=False)
@shared_options
def list_(agent: str | None) -> None:
    """The checkpoints of AGENT, or of all, newest first."""
    with current().reading() as memory:
        summaries = memory.checkpoints.list(agent)
    payload: list[JsonValue] = [checkpoint_summary_payload(summary) for summary in summaries]
    current().answer(payload, map(_summary_line, summaries))


def _summary_line(summary: CheckpointSummary) -> str:
    count = "damaged" if summary.message_count is None else f"{summary.message_count} messages"
    return (
        f"{plain(summary.id)}  {minute(summary.created_ns)}  {plain(summary.agent_id)}  {count}, "
        f"{summary.size_bytes:,} bytes"
    )


@checkpoint.command()
@click.argument("checkpoint_id", metavar="ID")
@shared_options
def show(checkpoint_id: str) -> None:
    """The checkpoint ID: state, messages, metadata."""
    with current().reading() as memory:
        found = memory.checkpoints.load(checkpoint_id)
    current().answer(checkpoint_payload(found), _lines(found))


def _lines(found: Checkpoint) -> Iterator[str]:
    yield f"{plain(found.id)}  {minute(found.created_ns)}  {plain(found.agent_id)}"
    state = json.dumps(dict(found.state), ensure_ascii=False, indent=2)
    yield from (plain(line) for line in state.splitlines())
    yield from (f"{plain(message.role)}: {plain(message.content)}" for message in found.messages)
    yield from (f"{plain(key)} = {plain(value)}" for key, value in found.metadata.items())
