"""How the desktop opens a store."""

from __future__ import annotations

import os
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
    from gm_engine import Config, Memory, language_model_from  # loaded in the lane, while the window paints

    config = Config(language_model=language_model_from(os.environ))
    return Memory.open(data_dir, config=config, read_only=read_only, background=False, origin=Origin("desktop"))
