"""How the desktop opens a store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gm_desktop.engine_choices import EngineChoices, config_of
from gm_engine.records import Origin

if TYPE_CHECKING:
    from gm_engine import Memory


class Opener(Protocol):
    """How a store is opened: `Memory.open` in the program, anything that quacks like it in a test."""

    def __call__(self, data_dir: Path, *, read_only: bool) -> Memory:
        """The open store; raises `GrayMatterError`."""


class StoreOpener:
    """Opens a store with the models that the person chose. `choices` is set on the GUI thread, read in the lane."""

    def __init__(self, choices: EngineChoices | None = None) -> None:
        self.choices = choices or EngineChoices()

    def __call__(self, data_dir: Path, *, read_only: bool) -> Memory:
        """The store at `data_dir`, without its own indexer: the index lane drives it."""
        from gm_engine import Memory  # loaded in the lane, while the window paints

        config = config_of(self.choices, os.environ)
        return Memory.open(data_dir, config=config, read_only=read_only, background=False, origin=Origin("desktop"))


def open_memory(data_dir: Path, *, read_only: bool) -> Memory:
    """Opens a store with the bundled model, or with the models that the environment names."""
    return StoreOpener()(data_dir, read_only=read_only)
