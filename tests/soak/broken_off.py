"""A publish from the command line that is killed before it is done."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from time import monotonic

from tests.fakes.command_line import ROOT, command, environment

SHORTEST_S, LONGEST_S = 1.0, 30.0
WRITING_SHARE = 0.7


class BrokenOff:
    """`graymatter export obsidian` into a vault that was published to, killed at a random moment.

    In most cases it is killed as soon as it writes, which is the moment when notes and manifest disagree.
    """

    def __init__(self, store: Path, vault: Path, rng: random.Random) -> None:
        notes = [folder for folder in (vault / "Memory" / "Facts").iterdir() if folder.is_dir()]
        self._folders = [vault / "Memory", vault / "Memory" / ".graymatter", *notes]
        self._before = self._changed()
        self._until = monotonic() + rng.uniform(SHORTEST_S, LONGEST_S)
        self._waits_for_writing = rng.random() < WRITING_SHARE
        self._process = subprocess.Popen(
            command("--data-dir", store, "export", "obsidian", "--vault", vault),
            cwd=ROOT,
            env=environment({"OPENBLAS_NUM_THREADS": "1"}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def runs_on(self) -> bool:
        """Whether it still runs; kills it when its time has come."""
        if self._process.poll() is not None:
            return False
        is_writing = self._waits_for_writing and self._changed() != self._before
        if is_writing or monotonic() > self._until:
            self._process.kill()
            self._process.wait()
            return False
        return True

    def close(self) -> str:
        """Ends it; how it ended, in words: `killed`, `killed while writing`, `done`, or what it complained of."""
        self._process.kill()
        _, errors = self._process.communicate()
        if self._process.returncode == 0:
            return "done"
        if self._process.returncode > 0:
            return errors.decode("utf-8", "replace").strip()
        return "killed" if self._changed() == self._before else "killed while writing"

    def _changed(self) -> list[int]:
        return [folder.stat().st_mtime_ns for folder in self._folders]
