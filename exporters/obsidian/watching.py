"""Watching a published folder: one call after every burst of changes, from the watcher's own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

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
        self._place = vault / folder
        self._root = self._place.resolve()
        self._identity = _identity(self._place)
        self._on_changed = on_changed
        self._settle_s = settle_s
        self._lock = threading.Lock()
        self._calling = threading.Lock()
        self._noted_s = 0.0
        self._burst: threading.Thread | None = None  # waits until nothing new comes
        self._threads: set[threading.Thread] = set()
        self._closed = threading.Event()
        self._observer = Observer()
        self._observer.schedule(_Handler(self._note), str(self._root), recursive=True)
        self._observer.start()

    @property
    def is_whole(self) -> bool:
        """Whether changes are still noticed: nobody took the folder away or put another one into its place."""
        threads = (self._observer, *self._observer.emitters)
        return all(thread.is_alive() for thread in threads) and _identity(self._place) == self._identity

    def _note(self, path: str) -> None:
        try:
            parts = Path(path).relative_to(self._root).parts
        except ValueError:
            parts = ()
        if any(part.startswith(".") or part == FOLDER for part in parts):
            return
        with self._lock:
            self._noted_s = monotonic()
            if self._burst is None and not self._closed.is_set():
                self._burst = threading.Thread(target=self._settle, name="gm-vault-burst", daemon=True)
                self._threads.add(self._burst)
                self._burst.start()

    def _settle(self) -> None:
        """One thread a burst, however many changes it has: a thread for each would hold up everybody else."""
        left_s = self._settle_s
        while left_s > 0:
            if self._closed.wait(left_s):
                return
            with self._lock:
                left_s = self._noted_s + self._settle_s - monotonic()
                self._burst = self._burst if left_s > 0 else None
        with self._calling:
            if not self._closed.is_set():
                self._on_changed()
        with self._lock:
            self._threads.discard(threading.current_thread())

    def close(self) -> None:
        """Stops watching. Safe to call twice; not from `on_changed`."""
        with self._lock:
            self._closed.set()
            threads = (*self._threads,)
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join()
        for thread in threads:
            thread.join()


def _identity(place: Path) -> tuple[int, int] | None:
    """What tells a folder from another one at the same path; None where there is none."""
    try:
        found = place.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


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
