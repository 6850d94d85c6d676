"""How the desktop opens a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gm_engine.records import Origin

if TYPE_CHECKING:
    from gm_engine import Memory


class Opener(Protocol):
    """How a store is opened: `Memory.open` in the program, anything that quacks like it in a test."""

    def __call__(self, data_dir: Path, *, read_only: bool) -> Memory:
        """The open store; raises `GrayMatterError`."""


def open_memory(data_dir: Path, *, read_only: bool) -> Memory:
    """Opens the store at `data_dir` without its own indexer: the index lane drives it."""
    from gm_engine import Memory  # loaded in the lane, while the window paints

    return Memory.open(data_dir, read_only=read_only, background=False, origin=Origin("desktop"))
