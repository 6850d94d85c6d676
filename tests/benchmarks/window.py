"""Runs inside a process of its own: the window until its first page is painted, or while an import runs.

`python tests/benchmarks/window.py paint STORE` prints `painted` once rows of the fact table were painted.
`python tests/benchmarks/window.py stall STORE EXPORT` prints the longest gaps of the event loop in ms: idle, importing.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program does

from gm_desktop import quick_start  # noqa: E402 — the project's root comes first

quick_start.begin()  # as the program does

from PySide6.QtCore import QEvent, QObject, QTimer  # noqa: E402 — the platform comes first
from PySide6.QtWidgets import QAbstractItemView, QApplication  # noqa: E402

from gm_desktop.__main__ import SWITCH_INTERVAL_S  # noqa: E402
from gm_desktop.app import App, Places  # noqa: E402
from gm_engine.clock import SystemClock  # noqa: E402

SETTLE_MS = 5_000  # by then the vector index is loaded and filled
IDLE_MS = 2_000
GIVE_UP_MS = 60_000


class PaintWatch(QObject):
    """Ends the event loop after the first paint of an item view that has rows."""

    def __init__(self, qt: QApplication) -> None:
        super().__init__()
        self._qt = qt
        self.is_painted = False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Looks at every paint event."""
        view = watched.parent() if event.type() == QEvent.Type.Paint and not self.is_painted else None
        if isinstance(view, QAbstractItemView) and view.model().rowCount() > 200:
            self.is_painted = True
            QTimer.singleShot(0, self._qt.quit)
        return False


def paint(qt: QApplication, app: App, store: Path) -> None:
    """Until the first page of the fact table is painted."""
    watch = PaintWatch(qt)
    qt.installEventFilter(watch)
    app.start(store)
    qt.exec()
    qt.removeEventFilter(watch)
    assert watch.is_painted
    print("painted", "chromadb" in sys.modules, flush=True)


def stall(qt: QApplication, app: App, store: Path, export: Path) -> None:
    """The longest gap while idle, then while the export is imported beside the open store."""
    from gm_desktop.stall_watch import StallWatch

    watch = StallWatch(parent=app)
    gaps: list[float] = []

    def begin() -> None:
        gaps.append(watch.longest_ms)
        watch.start()
        app.host.run_task(
            "Import",
            lambda memory, progress, cancel: memory.import_store(export, progress=progress, cancel=cancel),
            lambda _: qt.quit(),
        )

    app.host.store_opened.connect(lambda: QTimer.singleShot(SETTLE_MS, watch.start))
    app.host.store_opened.connect(lambda: QTimer.singleShot(SETTLE_MS + IDLE_MS, begin))
    app.start(store)
    qt.exec()
    watch.stop()
    gaps.append(watch.longest_ms)
    print(*gaps, flush=True)


def main(mode: str, *paths: str) -> int:
    """One window with throw-away preferences."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    qt = QApplication(["window"])
    QTimer.singleShot(GIVE_UP_MS, qt.quit)
    with tempfile.TemporaryDirectory() as scratch:
        app = App(qt, places=Places(Path(scratch) / "preferences", Path(scratch) / "logs"), clock=SystemClock())
        app.window.resize(1280, 800)
        app.window.first_painted.connect(quick_start.end)
        app.window.show()
        if mode == "paint":
            paint(qt, app, Path(paths[0]))
        else:
            stall(qt, app, Path(paths[0]), Path(paths[1]))
        app.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
