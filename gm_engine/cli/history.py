"""Subcommands on the journal: show it, undo, redo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from gm_engine.cli.payloads import entry_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, minute, shared_options, short
from gm_engine.records import JournalEntry, JsonValue

if TYPE_CHECKING:
    from gm_engine.memory import Memory


@click.command()
@click.option("--agent", help="Only entries that touched this agent.")
@click.option("--target", metavar="ID", help="Only entries that changed this fact, checkpoint or entity.")
@click.option("--before", "before_seq", type=int, help="Only entries older than this number.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many at most.")
@shared_options
def journal(*, agent: str | None, target: str | None, before_seq: int | None, limit: int) -> None:
    """What was written, by whom, newest first."""
    with current().reading() as memory:
        entries = memory.journal(before_seq=before_seq, limit=limit, agent_id=agent, target=target)
    payload: list[JsonValue] = [entry_payload(entry) for entry in entries]
    current().answer(payload, [line for entry in entries for line in _entry_lines(entry)])


def _entry_lines(entry: JournalEntry) -> Iterator[str]:
    writer = plain(f"{entry.actor.channel}/{entry.actor.client}" if entry.actor.client else entry.actor.channel)
    where = f" in {plain(entry.agent_id)}" if entry.agent_id is not None else ""
    undoes = f" (undoes {plain(entry.undoes)})" if entry.undoes else ""
    many = f" · {len(entry.changes):,} changes" if len(entry.changes) > 1 else ""
    yield f"{entry.seq:>6}  {minute(entry.at_ns)}  {plain(entry.verb)}{where} by {writer}{undoes}{many}"
    for change in entry.changes[:3]:
        text = (change.after or change.before or {}).get("text")
        tail = f"  {short(text)}" if isinstance(text, str) else ""
        yield f"        {plain(change.kind)} {plain(change.target)}{tail}"


def _seq_or_group(value: str) -> int | str:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else value


def _apply(verb: Callable[[Memory], JournalEntry], done: str) -> None:
    session = current()
    with session.writing() as memory:
        entry = verb(memory)
    session.answer(entry_payload(entry), [done, *_entry_lines(entry)])


@click.command()
@click.argument("entry")
@shared_options
def undo(entry: str) -> None:
    """Undo ENTRY: a number shown by `graymatter journal`, or a group's id."""
    _apply(lambda memory: memory.undo(_seq_or_group(entry)), "undone:")


@click.command()
@click.argument("entry")
@shared_options
def redo(entry: str) -> None:
    """Undo the undo ENTRY."""
    _apply(lambda memory: memory.redo(_seq_or_group(entry)), "done again:")
