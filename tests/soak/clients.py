"""Clients of MCP servers in a soak: what they were told is kept, and whether the store still holds it."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from gm_engine.records import Fact
from tests.fakes.mcp_peer import RawServer

PATIENCE_S = 30.0


@dataclass
class Worker:
    """One client with one server at a time; what was acknowledged, what was cut off, what went wrong.

    `strikes` are the kills of its servers, `deaths` those that it met: more deaths than strikes mean that a server
    ended by itself. `slowest_s` is the longest that an answer took since somebody set it back.
    """

    store: Path
    number: int
    pause_s: float
    stop: Event
    agent: str
    writes: int
    kept: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    searches: int = 0
    strikes: int = 0
    deaths: int = 0
    slowest_s: float = 0.0
    failures: list[str] = field(default_factory=list)
    server: RawServer | None = None

    def run(self) -> None:
        """Writes and searches until told to stop; a dead server is replaced, an unanswered write is not sent again."""
        sent = 0
        while not self.stop.is_set() and sent < self.writes:
            try:
                if self.server is None:
                    self.server = RawServer(self.store)
                    self.server.initialize(f"soak {self.number}")
                sent += 1
                self._step(self.server, f"Crane {self.number} lifted load {sent} at the quay.")
                self.stop.wait(self.pause_s)
            except (OSError, AssertionError, ValueError):  # killed in the middle of something
                self._bury()
        if self.server is not None:
            self.server.close()

    def strike(self) -> bool:
        """Kills the server, whatever it is doing; False when there is none at the moment."""
        server = self.server
        if server is None or server.process.poll() is not None:
            return False
        self.strikes += 1
        server.process.kill()
        return True

    def _step(self, server: RawServer, text: str) -> None:
        self.unsure.append(text)
        start = time.monotonic()
        answer = server.call("memory_add", agent_id=self.agent, text=text)
        self.slowest_s = max(self.slowest_s, time.monotonic() - start)
        if answer["isError"]:
            self.failures.append(answer["content"][0]["text"])
            return
        self.unsure.remove(text)
        self.kept.append(text)
        start = time.monotonic()
        found = server.call("memory_search", agent_id=self.agent, query=f"crane {self.number} load")
        self.slowest_s = max(self.slowest_s, time.monotonic() - start)
        self.searches += 1
        if found["isError"] or not found["structuredContent"]["count"]:
            self.failures.append(found["content"][0]["text"])

    def _bury(self) -> None:
        self.deaths += 1
        if self.server is not None:
            self.server.kill()
        self.server = None


@dataclass(frozen=True, slots=True)
class Account:
    """What the store holds against what the workers were told; all of it texts, but for `failures`."""

    kept: int
    lost: tuple[str, ...]
    doubled: tuple[str, ...]
    foreign: tuple[str, ...]
    failures: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        """Whether something was acknowledged, and nothing is wrong."""
        return bool(self.kept) and not (self.lost or self.doubled or self.foreign or self.failures)


def settle(facts: Sequence[Fact], workers: Sequence[Worker], *, before: Counter[str] | None = None) -> Account:
    """Compares the live `facts` of a store with what was acknowledged; `before` are texts that it held already."""
    was = before or Counter()
    texts = Counter(fact.text for fact in facts)
    kept = [text for worker in workers for text in worker.kept]
    unsure = {text for worker in workers for text in worker.unsure}
    failures = [failure for worker in workers for failure in worker.failures]
    failures += [
        f"server {worker.number} ended by itself {worker.deaths - worker.strikes} times"
        for worker in workers
        if worker.deaths > worker.strikes
    ]
    return Account(
        kept=len(kept),
        lost=tuple(text for text in (*kept, *was) if texts[text] < max(1, was[text])),
        doubled=tuple(text for text, times in texts.items() if times > max(1, was[text])),
        foreign=tuple(sorted(set(texts) - set(kept) - unsure - set(was))),
        failures=tuple(failures),
    )


def shown_after(facts: Sequence[Fact], rows: Sequence[Sequence[int]], *, before: int = 0) -> list[float]:
    """How many seconds after it was written the window showed each of `facts`, oldest first.

    `rows` are (time in ns, rows of the table from then on), the table's growth; `before` rows were there already. A
    fact that was not shown counts as `PATIENCE_S`.
    """
    counts = [count for _, count in rows]
    return [
        (rows[at][0] - fact.created_ns) / 1e9 if (at := bisect_left(counts, place)) < len(rows) else PATIENCE_S
        for place, fact in enumerate(sorted(facts, key=lambda fact: fact.version), before + 1)
    ]


def median(values: Sequence[float]) -> float:
    """The value in the middle; 0 when there is none."""
    return sorted(values)[len(values) // 2] if values else 0.0
