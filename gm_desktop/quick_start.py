"""Where the garbage collector must not hold up the window.

Nothing that start-up makes is garbage, so nobody looks for any before the first paint. Later on only what is young is
looked through: going through everything holds the interpreter for 300 ms and more with 100,000 facts, and what grows
old here is no garbage but snapshots and notes, which go at once when nobody holds them any more. (Sixty writes of
others, six publishes, every page three times and twenty dialogs left 300 objects that only a full look would find.)
"""

from __future__ import annotations

import gc

_NEVER = 1_000_000_000


def begin() -> None:
    """First thing in the program: loading modules and building pages goes on without the garbage collector."""
    gc.disable()


def end() -> None:
    """The window was painted: what there is stays, what comes is looked at while it is young. May be called again."""
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], _NEVER)
    gc.enable()
