"""A process that writes on a store and runs its automatic cycles, a step with each line that it is told.

    python -m tests.fakes.cycle_process STORE

`write AGENT TEXT` writes a fact, `step` runs a piece of the queued work, `advance SECONDS` moves its clock. Each is
answered by one: `began` while a cycle of this process runs, `waits` while one is queued, `idle` otherwise. The clock
stands still between two lines, at the time that the environment variable `CYCLE_CLOCK_NS` names.
"""

from __future__ import annotations

import os
import sys

from gm_engine import Config, EmbeddingMode, Memory
from gm_engine.clock import NS_PER_S, SystemClock


class _StandingClock(SystemClock):
    """Ids that no other process gives, at a time that is told."""

    def __init__(self, at_ns: int) -> None:
        super().__init__()
        self.at_ns = at_ns

    def now_ns(self) -> int:
        return self.at_ns


def main(store: str) -> None:
    """Answers line by line until the input ends."""
    clock = _StandingClock(int(os.environ["CYCLE_CLOCK_NS"]))
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, extract_entities=False)
    with Memory.open(store, clock=clock, config=config, background=False) as memory:
        _say("ready")
        for line in sys.stdin:
            word, *rest = line.split(maxsplit=2)
            if word == "write":
                memory.remember(rest[0], rest[1].strip())
            elif word == "advance":
                clock.at_ns += round(float(rest[0]) * NS_PER_S)
            else:
                memory._automatic.step(0.0)
            _say(_state(memory))


def _state(memory: Memory) -> str:
    if memory._automatic._running is not None:
        return "began"
    return "idle" if memory._automatic.is_idle else "waits"


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
