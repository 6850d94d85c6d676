"""Watching a published folder: one call after every burst of changes, from the watcher's own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from exporters.obsidian.manifest import FOLDER

SETTLE_S = 0.4
_READING = ("opened", "closed_no_write")


class VaultWatcher:
    """Calls `on_changed` when files in the folder of a vault have changed and `settle_s` seconds brought nothing new.

    Hidden files and the folder's own records do not count. The call comes from a thread of the watcher, never two at
    once. `close()` ends the threads; no call comes afterwards.
    """

    def __init__(self, vault: Path, folder: str, on_changed: Callable[[], None], *, settle_s: float = SETTLE_S) -> None:
        self._root = (vault / folder).resolve()
        self._on_changed = on_changed
        self._settle_s = settle_s
        self._lock = threading.Lock()
        self._calling = threading.Lock()
        self._timer: threading.Timer | None = None
        self._is_closed = False
        self._observer = Observer()
        self._observer.schedule(_Handler(self._note), str(self._root), recursive=True)
        self._observer.start()

    def _note(self, path: str) -> None:
        try:
            parts = Path(path).relative_to(self._root).parts
        except ValueError:
            parts = ()
        if any(part.startswith(".") or part == FOLDER for part in parts):
            return
        with self._lock:
            if self._is_closed:
                return
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._settle_s, self._call)
            self._timer.daemon = True
            self._timer.start()

    def _call(self) -> None:
        with self._calling:
            if not self._is_closed:
                self._on_changed()

    def close(self) -> None:
        """Stops watching. Safe to call twice; not from `on_changed`."""
        with self._lock:
            self._is_closed = True
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join()
        if timer is not None and timer.is_alive():
            timer.join()


class _Handler(FileSystemEventHandler):
    """Passes on the paths of everything that changes content or place."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Called by the observer."""
        if event.event_type in _READING or (event.is_directory and event.event_type == "modified"):
            return
        for path in (event.src_path, event.dest_path):
            if path:
                self._note(path.decode("utf-8", "replace") if isinstance(path, bytes) else str(path))
