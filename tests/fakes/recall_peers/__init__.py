"""Adapters that are real child processes: one that misbehaves as it is told, one that serves with our own `serve`."""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).parent


def misbehaving(how: str) -> tuple[str, ...]:
    """The command of an adapter, written without our classes, that does `how` instead of answering a search."""
    return (sys.executable, "-S", str(_HERE / "misbehaving.py"), how)


def scripted() -> tuple[str, ...]:
    """The command of an adapter that serves with our own `serve` and does what the query of a search says."""
    return (sys.executable, str(_HERE / "scripted.py"))
