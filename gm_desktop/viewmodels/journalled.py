"""The journal entry behind a verb that returns none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gm_engine import Memory


def journalled(job: Callable[[Memory], object], memory: Memory, verb: str = "settings") -> int | None:
    """Runs a job that writes one entry of this program; the seq of that entry, None where nothing changed."""
    before = memory.last_seq()
    job(memory)
    for entry in memory.journal(limit=50):
        if entry.seq <= before:
            break
        if entry.verb == verb and entry.actor.channel == "desktop":
            return entry.seq
    return None
