"""`graymatter checkpoint`: what agents saved to resume from, compared, reviewed and brought back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from gm_engine.cli.payloads import checkpoint_payload, checkpoint_summary_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, minute, shared_options, short
from gm_engine.records import (
    VERDICTS,
    Checkpoint,
    CheckpointComparison,
    CheckpointSummary,
    JsonChange,
    JsonValue,
    json_pointer,
)

_WORDS = {"approved": "approved", "rejected": "rejected", "needs_work": "needs work"}
_SIGNS = {"added": "+", "removed": "-", "changed": "~", "moved": ">"}


@click.group()
@shared_options
def checkpoint() -> None:
    """What agents saved to resume from: compare, review, restore."""


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
    verdict = f", {_WORDS.get(summary.verdict, plain(summary.verdict))}" if summary.verdict else ""
    note = f": {short(summary.note, width=80)}" if summary.note else ""
    return (
        f"{plain(summary.id)}  {minute(summary.created_ns)}  {plain(summary.agent_id)}  {count}, "
        f"{summary.size_bytes:,} bytes{verdict}{note}"
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


@checkpoint.command()
@click.argument("before_id", metavar="BEFORE")
@click.argument("after_id", metavar="AFTER")
@shared_options
def compare(before_id: str, after_id: str) -> None:
    """What became different from the checkpoint BEFORE to AFTER, by structure.

    + added, - removed, ~ changed, > moved. A path like /state/open/0 is in AFTER, that of a removed value in BEFORE.
    """
    with current().reading() as memory:
        found = memory.checkpoints.compare(before_id, after_id)
    current().answer(_comparison_payload(found), _comparison_lines(found))


def _comparison_payload(found: CheckpointComparison) -> dict[str, JsonValue]:
    return {
        "before": checkpoint_summary_payload(found.before),
        "after": checkpoint_summary_payload(found.after),
        "changes": [_change_payload(change) for change in found.changes],
    }


def _change_payload(change: JsonChange) -> dict[str, JsonValue]:
    payload: dict[str, JsonValue] = {"path": json_pointer(change.path), "kind": change.kind}
    if change.moved_from is not None:
        payload["from"] = json_pointer(change.moved_from)
    if change.kind != "added":
        payload["before"] = change.before
    if change.kind != "removed":
        payload["after"] = change.after
    return payload


def _comparison_lines(found: CheckpointComparison) -> Iterator[str]:
    if not found.changes:
        yield "nothing differs"
    for change in found.changes:
        yield f"{_SIGNS[change.kind]} {plain(json_pointer(change.path))}{_values(change)}"


def _values(change: JsonChange) -> str:
    before, after = _value(change.before), _value(change.after)
    match change.kind:
        case "added":
            return f": {after}"
        case "removed":
            return f": {before}"
        case "moved":
            return f"  from {plain(json_pointer(change.moved_from or ()))}: {after}"
        case _:
            return f": {before} → {after}"


def _value(value: JsonValue) -> str:
    return short(json.dumps(value, ensure_ascii=False), width=100)


@checkpoint.command()
@click.argument("checkpoint_id", metavar="ID")
@click.argument("verdict", type=click.Choice([*(each.replace("_", "-") for each in VERDICTS), "none"]))
@click.option("--note", default="", help="Why.")
@shared_options
def review(checkpoint_id: str, *, verdict: str, note: str) -> None:
    """Say what you think of the checkpoint ID; `none` takes a verdict back."""
    wanted = next((each for each in VERDICTS if each.replace("_", "-") == verdict), None)
    with current().writing() as memory:
        summary = memory.checkpoints.review(checkpoint_id, wanted, note=note)
    current().answer(checkpoint_summary_payload(summary), [_summary_line(summary)])


@checkpoint.command("make-current")
@click.argument("checkpoint_id", metavar="ID")
@shared_options
def make_current(checkpoint_id: str) -> None:
    """Save a copy of the checkpoint ID, which is its agent's newest then."""
    with current().writing() as memory:
        made = memory.checkpoints.make_current(checkpoint_id)
        summary = memory.checkpoints.summary(made.id)
    current().answer(checkpoint_summary_payload(summary), [f"saved {_summary_line(summary)}"])


@checkpoint.command()
@click.argument("checkpoint_id", metavar="ID")
@shared_options
def delete(checkpoint_id: str) -> None:
    """Take the checkpoint ID off the list; `graymatter undo` brings it back."""
    with current().writing() as memory:
        summary = memory.checkpoints.delete(checkpoint_id)
    line = f"deleted {_summary_line(summary)}; `graymatter undo {summary.version}` brings it back"
    current().answer({**checkpoint_summary_payload(summary), "undo": summary.version}, [line])


@checkpoint.command()
@click.argument("checkpoint_id", metavar="ID")
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--raw", is_flag=True, help="The stored bytes as they are, even of a damaged record.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@shared_options
def export(checkpoint_id: str, *, path: Path, raw: bool, force: bool) -> None:
    """Write the checkpoint ID to PATH as JSON."""
    with current().reading() as memory:
        size_bytes = memory.checkpoints.export(checkpoint_id, path, raw=raw, overwrite=force)
    payload: dict[str, JsonValue] = {"id": checkpoint_id, "path": str(path), "size_bytes": size_bytes}
    current().answer(payload, [f"{plain(str(path))}: {size_bytes:,} bytes"])
