"""Runs inside a process of its own: the Graph page of a window without a screen.

`python tests/benchmarks/graph_window.py open STORE` prints the seconds until the page's sharp picture stood, by the
clock and of the processor, and how many nodes there are.
`python tests/benchmarks/graph_window.py pan STORE` prints frames per second while panning, and the longest frame in ms.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program does

from PySide6.QtCore import QTimer  # noqa: E402 — the platform comes first
from PySide6.QtWidgets import QApplication  # noqa: E402

from gm_desktop.__main__ import SWITCH_INTERVAL_S  # noqa: E402
from gm_desktop.app import App, Places  # noqa: E402
from gm_desktop.views.graph import GraphPage  # noqa: E402
from gm_engine.clock import SystemClock  # noqa: E402

FRAMES = 300
STEP_PX = 7.0
POLL_MS = 5
QUIET_S = 6.0  # the index lane has loaded its libraries by then


def when(condition: Callable[[], bool], then: Callable[[], None]) -> None:
    """Calls `then` once the condition holds."""
    timer = QTimer()

    def look() -> None:
        if condition():
            timer.stop()
            then()

    timer.timeout.connect(look)
    timer.start(POLL_MS)
    _WAITING.append(timer)


_WAITING: list[QTimer] = []


def opening(qt: QApplication, app: App, page: GraphPage) -> None:
    """From the moment the person chose the page until its picture is sharp."""
    start, cpu = perf_counter(), process_time()
    app.show_page("graph")
    canvas = page.stage.canvas

    def done() -> None:
        print(perf_counter() - start, process_time() - cpu, len(canvas.picture.nodes), flush=True)
        qt.quit()

    when(lambda: bool(canvas.picture.nodes) and canvas.is_at_rest, done)


def panning(qt: QApplication, app: App, page: GraphPage) -> None:
    """Frames while the picture is dragged around, beyond its cached margins too."""
    app.show_page("graph")

    def drag() -> None:
        canvas, frames = page.stage.canvas, []
        canvas.zoom(3.0)
        for frame in range(FRAMES):
            start = perf_counter()
            canvas.pan(STEP_PX if frame % 200 < 100 else -STEP_PX, STEP_PX / 3)
            canvas.repaint()
            frames.append(perf_counter() - start)
        print(FRAMES / sum(frames), max(frames) * 1000, flush=True)
        qt.quit()

    when(lambda: bool(page.stage.canvas.picture.nodes) and page.is_settled(), drag)


def main(mode: str, store: str) -> int:
    """One window with throw-away preferences."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    qt = QApplication(["window"])
    QTimer.singleShot(60_000, qt.quit)
    with tempfile.TemporaryDirectory() as scratch:
        app = App(qt, places=Places(Path(scratch) / "preferences", Path(scratch) / "logs"), clock=SystemClock())
        app.window.resize(1280, 800)
        app.window.show()
        page = app.window.pages["graph"]
        assert isinstance(page, GraphPage)
        act = opening if mode == "open" else panning
        app.start(Path(store))
        quiet_from = perf_counter() + QUIET_S
        when(lambda: app.host.is_open and perf_counter() > quiet_from, lambda: act(qt, app, page))
        qt.exec()
        app.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
