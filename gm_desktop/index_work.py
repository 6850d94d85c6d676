"""What the index lane does: short steps with pauses, so that the window always gets the interpreter back."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from gm_engine.records import VectorStatus

if TYPE_CHECKING:
    from gm_engine import Memory

BUDGET_S = 0.05
PAUSE_S = 0.03
BUSY_PAUSE_S = 0.25
TELL_EVERY_S = 1.0


def index_all(
    memory: Memory,
    *,
    may_go_on: Callable[[], bool],
    is_busy: Callable[[], bool],
    is_calm: Callable[[], bool],
    pause: Callable[[float], object],
    told: Callable[[VectorStatus], None],
    tell: bool,
) -> bool:
    """Embeds and indexes until nothing is left or `may_go_on` says no; waits while `is_busy`.

    What would hold the interpreter lock is left until it `is_calm`; returns whether it was at last.
    `told` hears the state about once a second, and at the end if `tell` or anything was done, be it in the last step.
    """
    if not may_go_on():
        return False
    told_s, was_calm, before = monotonic(), False, memory.index_progress()
    while may_go_on():
        if is_busy():
            pause(BUSY_PAUSE_S)
            continue
        was_calm = is_calm()
        if not memory.index_step(BUDGET_S, is_calm=was_calm):
            break
        tell = True
        pause(PAUSE_S)
        if monotonic() - told_s >= TELL_EVERY_S and may_go_on():
            told_s = monotonic()
            told(memory.vector_status())
    if may_go_on() and (tell or memory.index_progress() != before):
        told(memory.vector_status())
    if was_calm and may_go_on():
        memory.load_model()  # its libraries hold the interpreter lock while they load
    return was_calm
