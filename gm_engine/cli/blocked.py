"""`graymatter blocked`: values that must never be stored again."""

from __future__ import annotations

import click

from gm_engine.cli.payloads import block_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, minute, shared_options, short
from gm_engine.records import Block, JsonValue

_agent = click.option("--agent", metavar="AGENT", help="Only for this agent; otherwise for every agent.")


@click.group()
@shared_options
def blocked() -> None:
    """Values that must never be stored again.

    Whoever writes one is refused, by whatever path. Two texts are the same value up to white space and Unicode
    composition, never up to case or digits.
    """


@blocked.command()
@click.argument("text")
@_agent
@shared_options
def add(text: str, *, agent: str | None) -> None:
    """Refuse TEXT from now on. Facts that hold it now stay as they are."""
    with current().writing() as memory:
        block = memory.blocked.add(text, agent)
    current().answer(block_payload(block), [f"blocked {_line(block)}"])


@blocked.command()
@click.argument("value")
@_agent
@shared_options
def remove(value: str, *, agent: str | None) -> None:
    """Allow VALUE (a text, or a key shown by `blocked list`) again."""
    with current().writing() as memory:
        block = memory.blocked.remove(value, agent)
    current().answer(block_payload(block), [f"allowed again {_line(block)}"])


@blocked.command("list")
@shared_options
def list_() -> None:
    """The blocked values, newest first, and how often somebody tried to store them."""
    with current().reading() as memory:
        blocks = memory.blocked.list()
        tried = memory.blocked.attempts()
    by_key: dict[str, list[str]] = {}
    for attempt in tried:
        by_key.setdefault(attempt.key, []).append(f"{plain(attempt.client)} {attempt.count:,} times")
    payload: list[JsonValue] = [block_payload(block, tried) for block in blocks]
    lines = [_line(block) + "".join(f"\n        {who}" for who in by_key.get(block.key, [])) for block in blocks]
    current().answer(payload, lines)


def _line(block: Block) -> str:
    whose = "" if block.agent_id is None else f" for {plain(block.agent_id)}"
    text = "(purged)" if block.text is None else short(block.text)
    return f"{block.key}  {minute(block.created_ns)}{whose}  {block.attempts:,} attempts  {text}"
