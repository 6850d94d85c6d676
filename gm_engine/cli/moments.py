"""Moments on the command line: how one is named, and `graymatter diff` between two of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from gm_engine.cli.payloads import difference_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, minute, shared_options, short
from gm_engine.clock import parse_rfc3339
from gm_engine.errors import InvalidInput
from gm_engine.records import FactDifference, JsonValue

if TYPE_CHECKING:
    from gm_engine.memory import Memory
    from gm_engine.moment import MemoryView

MOMENT_HELP = "a time (2026-11-30T09:14:00Z), a day (2026-11-30), or #N: before entry N of the journal"
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_ENTRY = re.compile(r"#(\d{1,18})")
_END_OF_TIME = (1 << 63) - 1


@contextmanager
def view_at(memory: Memory, named: str) -> Iterator[MemoryView]:
    """The store at the moment that a person named; `InvalidInput` for what is none."""
    entry = _ENTRY.fullmatch(named)
    if entry is not None:
        with memory.at(before_seq=int(entry[1])) as view:
            yield view
        return
    with memory.at(_instant(named)) as view:
        yield view


def _instant(named: str) -> int:
    if named == "now":
        return _END_OF_TIME
    at_ns = parse_rfc3339(f"{named}T00:00:00Z" if _DAY.fullmatch(named) else named)
    if at_ns is None:
        raise InvalidInput("That is Go's zero time, not a moment.", field="at")
    return at_ns


@click.command()
@click.argument("earlier", metavar="FROM")
@click.argument("later", metavar="[TO]", default="now")
@shared_options
def diff(earlier: str, later: str) -> None:
    """What became different in the facts between the moments FROM and TO; without TO until now.

    A moment is a time (2026-11-30T09:14:00Z), a day (2026-11-30), #N (before entry N of the journal), or `now`.
    """
    with current().reading() as memory, view_at(memory, earlier) as before, view_at(memory, later) as after:
        found = before.diff(after)
    payload: list[JsonValue] = [difference_payload(difference) for difference in found]
    current().answer(payload, [_line(difference) for difference in found] or ["nothing differs"])


def _line(difference: FactDifference) -> str:
    fact = difference.after or difference.before
    if fact is None:
        return plain(difference.fact_id)
    where = plain(fact.agent_id)
    if "moved" in difference.kinds and difference.before is not None:
        where = f"{plain(difference.before.agent_id)} → {where}"
    kinds = ", ".join(difference.kinds)
    return f"{kinds:>8}  {plain(difference.fact_id)}  {minute(fact.created_ns)}  {where}: {short(fact.text)}"
