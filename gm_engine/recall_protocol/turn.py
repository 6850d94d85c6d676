"""The turn to read: one thread at a time has it, and may do what is quick with it in hand."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Event, Lock, Thread, get_ident
from types import TracebackType
from typing import Self

PATIENCE_S = 0.005
"""How long work keeps the turn for sure; after twice as long it has lost it."""

_NOBODY = 0


class Turn:
    """A lock that its holder loses when it works too long with it. `close` it in the end.

    Entering waits for the turn; leaving gives it back unless it was lost. A watching thread takes it from whoever does
    the same piece of work at two looks; it sleeps while nobody works.
    """

    def __init__(self, *, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._free = Lock()
        self._lock = Lock()
        self._holder = _NOBODY
        self._pieces = 0  # of work that were begun
        self._is_working = False
        self._is_watched = False
        self._closed = Event()
        self._calls: SimpleQueue[None] = SimpleQueue()  # for the watcher
        self._watcher = Thread(target=self._watch, name="recall-watch", daemon=True)
        self._watcher.start()

    def __enter__(self) -> Self:
        self._free.acquire()
        self._holder = get_ident()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            if self.is_mine:
                self._give_back()

    @property
    def is_mine(self) -> bool:
        """Whether this thread has the turn."""
        return self._holder == get_ident()

    def give_back(self) -> None:
        """The holder wants to work for long: another one may have the turn."""
        with self._lock:
            self._give_back()

    def begin(self) -> None:
        """The holder begins a piece of work that may turn out to be quick."""
        with self._lock:
            self._pieces += 1
            self._is_working = True
            if not self._is_watched:
                self._is_watched = True
                self._calls.put(None)

    def end(self) -> None:
        """A piece of work is done, with the turn still in hand or without."""
        with self._lock:
            if self.is_mine:
                self._is_working = False

    def close(self) -> None:
        """Ends the watching."""
        self._closed.set()
        self._calls.put(None)
        self._watcher.join()

    def _give_back(self) -> None:
        self._holder = _NOBODY
        self._is_working = False
        self._free.release()

    def _watch(self) -> None:
        while not self._closed.is_set():
            self._calls.get()
            seen = self._pieces
            while self._is_watched and not self._closed.wait(self._patience_s):
                with self._lock:
                    if self._is_working and self._pieces == seen:
                        self._give_back()
                    seen = self._pieces
                    self._is_watched = self._is_working
