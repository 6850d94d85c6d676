"""Notices when the GUI thread was held up: a heartbeat whose late beats are written down."""

from __future__ import annotations

from time import perf_counter

from PySide6.QtCore import QObject, Qt, QTimer, Signal

BEAT_MS = 10
STALL_MS = 100.0
KEPT = 1_000


class StallWatch(QObject):
    """Records every gap of the event loop above `stall_ms`, in milliseconds."""

    stalled = Signal(float)

    def __init__(self, *, stall_ms: float = STALL_MS, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.stalls_ms: list[float] = []
        self.longest_ms = 0.0
        self._stall_ms = stall_ms
        self._last_s = perf_counter()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(BEAT_MS)
        self._timer.timeout.connect(self._on_beat)

    def start(self) -> None:
        """Forgets what was and begins to watch."""
        self.stalls_ms.clear()
        self.longest_ms = 0.0
        self._last_s = perf_counter()
        self._timer.start()

    def stop(self) -> None:
        """Ends watching; the record stays."""
        self._timer.stop()

    def _on_beat(self) -> None:
        now_s = perf_counter()
        gap_ms = (now_s - self._last_s) * 1000 - BEAT_MS
        self._last_s = now_s
        self.longest_ms = max(self.longest_ms, gap_ms)
        if gap_ms > self._stall_ms and len(self.stalls_ms) < KEPT:
            self.stalls_ms.append(gap_ms)
            self.stalled.emit(gap_ms)
