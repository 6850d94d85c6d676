"""A display, and the desktop over the demo on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end2end.driving import Window, a_display, a_window


@pytest.fixture
def display() -> Iterator[str]:
    """The name of an X server with a window manager."""
    with a_display() as name:
        yield name


@pytest.fixture
def window(display: str, tmp_path: Path) -> Iterator[Window]:
    """The desktop over a fresh demo, on its first page."""
    with a_window(display, tmp_path, tmp_path / "store", "--demo") as made:
        yield made
