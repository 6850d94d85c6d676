"""What keeps the way to the first paint short: nothing that start-up makes is garbage, so nobody looks for any."""

from __future__ import annotations

import gc


def begin() -> None:
    """First thing in the program: loading modules and building pages goes on without the garbage collector."""
    gc.disable()


def end() -> None:
    """The window was painted: what there is stays, what comes is looked at as usual. May be called again."""
    gc.freeze()
    gc.enable()
