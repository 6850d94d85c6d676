"""The desktop in a process of its own, as the one who leads a soak sees it; `window.py` is the other side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from types import TracebackType
from typing import Any, Self

from tests.fakes.command_line import ROOT

WORDS = ("watching", "published", "minute", "rows", "problem")
START_S = 180.0  # until a large store is open and its first page is painted
END_S = 60.0


class DesktopGone(Exception):
    """The window ended, or did not answer in time."""


class Desktop:
    """A window on `store` that publishes into `vault`; it watches itself from the start."""

    def __init__(self, store: Path, vault: Path) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.window", str(store), str(vault)],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # an interrupt from the keyboard is for the one who leads
        )
        self._said: dict[str, Queue[Any]] = {word: Queue() for word in WORDS}
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.process.kill()
        self.close()

    def tell(self, *words: object) -> None:
        """One line to the window: `publish`, `minute`, or `finish ROWS`."""
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def hear(self, word: str, *, patience_s: float) -> Any:
        """The next thing that the window says about `word`. Raises `DesktopGone`."""
        try:
            said = self._said[word].get(timeout=patience_s)
        except Empty:
            raise DesktopGone(f"the window said nothing about {word!r} for {patience_s:g} s") from None
        if said is None:
            raise DesktopGone(f"the window ended before it said {word!r}")
        return said

    def heard(self, word: str) -> list[Any]:
        """What the window has said about `word` and nobody has heard yet."""
        found = []
        while not self._said[word].empty():
            found.append(self._said[word].get())
        return [said for said in found if said is not None]

    def close(self) -> int:
        """Hangs up; the exit code of the window."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
        code = self.process.wait()
        self._reader.join()
        self.process.stdout.close()
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            word, _, value = line.partition(" ")
            self._said[word].put(json.loads(value))
        for queue in self._said.values():
            queue.put(None)
