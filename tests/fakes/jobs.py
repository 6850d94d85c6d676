"""Jobs for a process of their own: they fail, die, wait and chatter as no real one would on demand."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from gm_engine import CancelToken, Memory, Progress, PublishRefused


@dataclass(frozen=True, slots=True)
class Listing:
    """What a job answers: a few values and a long list."""

    pid: int
    niceness: int
    numbers: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Counting:
    """Answers numbers, tells progress at each, and prints where it should not."""

    count: int

    def run(self, memory: Memory, progress: Progress, cancel: CancelToken) -> Listing:
        for number in range(self.count):
            progress(number, self.count, "Counting")
        progress(self.count, self.count, "Counted")
        print("a library talks")
        names = tuple(agent.agent_id for agent in memory.agents())
        return Listing(os.getpid(), 0 if sys.platform == "win32" else os.nice(0), tuple(range(self.count)), names)


@dataclass(frozen=True, slots=True)
class Refusing:
    """Fails as expected."""

    def run(self, memory: Memory, progress: Progress, cancel: CancelToken) -> int:
        raise PublishRefused("The folder is a river.", folder="Memory", ids=("a", "b"))


@dataclass(frozen=True, slots=True)
class Crashing:
    """Has a bug, which is told with a text of `length` characters."""

    length: int = 0

    def run(self, memory: Memory, progress: Progress, cancel: CancelToken) -> int:
        if self.length:
            raise ValueError("x" * self.length)
        return len(memory.agents()) // 0


@dataclass(frozen=True, slots=True)
class Dying:
    """Is killed from outside."""

    def run(self, memory: Memory, progress: Progress, cancel: CancelToken) -> int:
        os.write(2, b"the last words")
        os.kill(os.getpid(), signal.SIGKILL)
        return 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """Works until it is cancelled; says in `place` that it began, and that it ended. A deaf one is never told."""

    place: Path
    is_deaf: bool = False

    def run(self, memory: Memory, progress: Progress, cancel: CancelToken) -> int:
        (self.place / "began").write_text(str(os.getpid()))
        progress(1, 2, "Waiting")
        while self.is_deaf or not cancel.is_cancelled:
            Event().wait(0.01)
        (self.place / "ended").write_text("")
        cancel.check()
        return 0
