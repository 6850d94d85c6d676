"""Building many records at once without the collector, which would look through all of them again and again.

And giving back what they took: the C library of Linux keeps what was freed for itself unless it is told.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_MANY = 20_000  # objects: looking through so many takes some milliseconds, and holds the interpreter


@contextmanager
def without_collecting() -> Iterator[None]:
    """Parsed documents and rows are trees, there is no garbage in them: looking for it costs half as much again.

    Where many are left in the end, they are not looked through then, either: they go when nobody holds them.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > _MANY:
            gc.freeze()
        gc.enable()


def give_back() -> None:
    """Gives memory that long work has freed back to the system, where that has to be asked for (glibc).

    Takes some tens of milliseconds, without the interpreter.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
