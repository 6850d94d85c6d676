"""Sees what every thread is at while the window is held up, so that a stall can be told with its cause."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from types import FrameType

from tests.fakes.command_line import ROOT

LOOK_S, LATE_S, COLLECTION_S = 0.02, 0.1, 0.03


class Witness(threading.Thread):
    """Looks at all threads while the last beat of the window is long ago, and listens to the garbage collector.

    A thread that keeps the interpreter for itself keeps it from the witness, too, who then comes late and sees where
    that thread went on.
    """

    def __init__(self, last_beat_s: Callable[[], float]) -> None:
        super().__init__(name="witness", daemon=True)
        self._last_beat_s = last_beat_s
        self._ended = threading.Event()
        self._seen = ""
        self._collection_s = 0.0
        self._collections: list[str] = []

    def run(self) -> None:
        """Until `end`."""
        gc.callbacks.append(self._on_collection)
        looked_s = perf_counter()
        while not self._ended.wait(LOOK_S):
            now_s = perf_counter()
            if now_s - min(looked_s, self._last_beat_s()) > LATE_S:
                self._seen = "; ".join(filter(None, map(self._at, threading.enumerate())))
            looked_s = now_s
        gc.callbacks.remove(self._on_collection)

    def end(self) -> None:
        """Looks no longer."""
        self._ended.set()
        self.join()

    def take(self) -> str:
        """What was seen last, once: for each thread that did something of ours, where it was."""
        seen = "; ".join([self._seen, *self._collections])
        self._seen = ""
        self._collections.clear()
        return seen

    def _on_collection(self, phase: str, _info: object) -> None:
        now_s = perf_counter()
        if phase == "start":
            self._collection_s = now_s
        elif now_s - self._collection_s > COLLECTION_S:
            took_ms = (now_s - self._collection_s) * 1000
            self._collections.append(f"garbage collected for {took_ms:.0f} ms in {threading.current_thread().name}")

    def _at(self, thread: threading.Thread) -> str:
        frame = sys._current_frames().get(thread.ident or 0)
        if thread is self or frame is None or frame.f_code.co_filename == threading.__file__:
            return ""  # it waits
        if (Path(frame.f_code.co_filename).name, frame.f_code.co_name) == ("engine_host.py", "_run"):
            return ""  # a lane that waits for a job
        inner = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        ours = _ours(frame)
        return "" if ours is None else f"{thread.name} in {ours} ({inner})"


def _ours(frame: FrameType | None) -> str | None:
    """The innermost function of the project that a frame was called by."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT) and "site-packages" not in path.parts:
            return f"{path.relative_to(ROOT)}:{frame.f_lineno} {frame.f_code.co_name}"
        frame = frame.f_back
    return None
