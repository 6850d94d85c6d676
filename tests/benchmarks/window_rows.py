"""Speeds of the window: the first page, and the longest gap of the event loop while importing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from tests.benchmarks.engine_rows import FACTS
from tests.benchmarks.generator import Generator, build_store, write_export
from tests.benchmarks.table import ROOT, Row, best, process

_WINDOW = ROOT / "tests" / "benchmarks" / "window.py"
_EMPTY = """
from PySide6.QtWidgets import QApplication, QWidget
from PySide6.QtCore import QTimer
qt = QApplication([])
window = QWidget()
window.resize(1280, 800)
window.show()
QTimer.singleShot(0, qt.quit)
qt.exec()
"""


def first_page(folder: Path) -> Iterator[Row]:
    """From the start of the process to the painted fact table."""
    store = build_store(folder / "10k", FACTS)
    measured = min(_until_painted(store) for _ in range(3))
    base = best(lambda: process("-c", _EMPTY))
    yield Row("window usable, first page painted", measured, 2.0, "s", "an empty Qt window", base)


def _until_painted(store: Path) -> float:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = perf_counter()
    with subprocess.Popen(
        [sys.executable, str(_WINDOW), "paint", str(store)], stdout=subprocess.PIPE, text=True, env=env
    ) as child:
        line = "" if child.stdout is None else child.stdout.readline()
        elapsed = perf_counter() - start
    if line.split() != ["painted", "False"]:
        raise RuntimeError(f"the window did not paint, or chromadb was imported by then: {line!r}")
    return elapsed


def stalls(folder: Path) -> Iterator[Row]:
    """The GUI thread while 10,000 facts are imported into the store that is open."""
    store = build_store(folder / "open", 1_000)
    export = write_export(folder / "more.json", FACTS, generator=Generator(seed=11))
    idle, importing = (float(gap) for gap in process(_WINDOW, "stall", store, export).split())
    yield Row("longest GUI stall while importing", importing / 1000, 0.100, "ms", "the same window idle", idle / 1000)
