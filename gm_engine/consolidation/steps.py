"""Long work in small pieces: a generator that yields after at most some tens of milliseconds.

The same work then runs to its end in one call, with progress and cancelling, or a little at a time beside other work.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from gm_engine.garbage import without_collecting
from gm_engine.progress import CancelToken, Progress

T = TypeVar("T")
Steps = Generator[tuple[int, int | None, str], None, T]
"""Yields (done, total, stage) and returns the result."""


def run(steps: Steps[T], *, progress: Progress, cancel: CancelToken | None) -> T:
    """Carries out all pieces. Raises `Cancelled` between two of them."""
    try:
        while True:
            if cancel is not None:
                cancel.check()
            try:
                done, total, what = next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            progress(done, total, what)
    finally:
        steps.close()


def uncollected(steps: Steps[T]) -> Steps[T]:
    """The same, with the collector at rest within each piece, for pieces that build many records."""
    try:
        while True:
            try:
                with without_collecting():
                    told = next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            yield told
    finally:
        steps.close()
