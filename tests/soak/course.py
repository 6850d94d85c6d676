"""The course of a soak over everything: minute after minute of writing, publishing and killing, and what was seen."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

from gm_engine import FactQuery, Memory
from gm_engine.records import Fact
from tests.soak.broken_off import BrokenOff
from tests.soak.clients import PATIENCE_S, Worker, median, shown_after
from tests.soak.desktop import START_S, Desktop
from tests.soak.vitals import resident_bytes

AGENT = "alpha"  # the generator's
SERVERS, PAUSE_S, WRITES = 3, 2.0, 100_000
KILL_EVERY_S = 20.0  # on average, one of the servers
BREAK_EVERY, BREAK_FIRST = 3, 2  # minutes in which a publish from the command line is killed
TICK_S, SAMPLE_S = 0.02, 2.0
PUBLISH_S = 900.0  # the patience with one publish
CYCLE_S = 300.0  # and with a first cycle
STALL_MS = 100.0
_HEAD = (
    "minute",
    "facts",
    "window MB",
    "servers MB",
    "stall ms",
    "machine ms",
    "publish s",
    "notes",
    "shown after s",
    "answer s",
    "killed",
)


class Course:
    """One run. `begin`, some `run_minute`, `finish`, then read what it saw; `close` in any case."""

    def __init__(self, store: Path, vault: Path, rng: random.Random) -> None:
        self.store, self.vault = store, vault
        self.before = Counter(fact.text for fact in self._facts(0))
        self.window_bytes: list[int] = []
        self.server_bytes: list[int] = []
        self.stalls: list[tuple[float, str]] = []
        self.machine_ms = self.stall_ms = self.first_stall_ms = 0.0
        self.waits: list[float] = []
        self.publishes: list[tuple[float, int]] = []
        self.complaints: list[str] = []
        self.broken_off: list[str] = []
        self._rng, self._stop = rng, Event()
        self._rows: list[Sequence[int]] = []
        self._shown = self._known = self.before.total()
        self._asked = False
        self._breaking: BrokenOff | None = None
        self.workers = [Worker(store, number, PAUSE_S, self._stop, AGENT, WRITES) for number in range(SERVERS)]
        self._threads = [Thread(target=worker.run, daemon=True) for worker in self.workers]
        self.desktop = Desktop(store, vault)

    # --- the course ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Until the window shows the store, has published it once, and every server has answered.

        The first server is alone until its first cycle is over, which of a large namespace takes the most memory it
        will ever need: what is watched from then on should stay as it is.
        """
        self.desktop.hear("watching", patience_s=START_S)
        self.desktop.tell("publish")
        seconds, written = self._heard_published(self.desktop.hear("published", patience_s=PUBLISH_S))
        self.desktop.tell("minute")
        seen = self.desktop.hear("minute", patience_s=PATIENCE_S)
        stall_ms = self.first_stall_ms = seen["longest_ms"]
        print(f"first publish: {written:,} notes in {seconds:.0f} s, longest stall {stall_ms:.0f} ms", flush=True)
        for _, gap_ms, what in sorted(seen["stalls"], key=lambda stall: -stall[1])[:3]:
            print(f"  {gap_ms:.0f} ms while doing {what}", file=sys.stderr, flush=True)
        self._threads[0].start()
        self._wait_for(self._has_cycled, CYCLE_S)
        for thread in self._threads[1:]:
            thread.start()
        self._wait_for(lambda: all(worker.searches for worker in self.workers), 2 * PATIENCE_S)
        self.desktop.tell("minute")
        self._rows += self.desktop.hear("minute", patience_s=PATIENCE_S)["rows"]
        print(f"| {' | '.join(_HEAD)} |\n|{'---:|' * len(_HEAD)}", flush=True)

    def run_minute(self, number: int, length_s: float) -> None:
        """Publishes once, kills now and then, looks at memory, and prints a line at the end."""
        start = time.monotonic()
        wants_publish, wants_break = True, number % BREAK_EVERY == BREAK_FIRST
        next_kill, next_sample = start + self._rng.expovariate(1 / KILL_EVERY_S), start
        first, killed, machine_ms = len(self.publishes), 0, 0.0
        while (now := time.monotonic()) < start + length_s:
            self._look_at_publishes()
            if not self._asked and wants_break:
                self._breaking, wants_break = BrokenOff(self.store, self.vault, self._rng), False
            if wants_publish and not self._asked and self._breaking is None:
                self.desktop.tell("publish")
                self._asked, wants_publish = True, False
            if now >= next_kill:
                next_kill = now + self._rng.expovariate(1 / KILL_EVERY_S)
                killed += self._rng.choice(self.workers[1:]).strike()
            if now >= next_sample:
                next_sample += SAMPLE_S
                self._sample()
            before = time.monotonic()
            time.sleep(TICK_S)
            machine_ms = max(machine_ms, (time.monotonic() - before - TICK_S) * 1000)
        self.machine_ms = max(self.machine_ms, machine_ms)
        self._end_minute(number, self.publishes[first:], killed=killed, machine_ms=machine_ms)

    def finish(self) -> None:
        """The writers end, the window publishes once more, shows all there is, and ends."""
        self._end_workers()
        self._end_break()
        if self._asked:
            self._heard_published(self.desktop.hear("published", patience_s=PUBLISH_S))
        self.desktop.tell("publish")
        self._heard_published(self.desktop.hear("published", patience_s=PUBLISH_S))
        with Memory.open(self.store, read_only=True, background=False) as memory:
            count = len(memory.fact_ids(FactQuery()))
        self.desktop.tell("finish", count)
        self._take(self.desktop.hear("rows", patience_s=2 * PATIENCE_S), "the end")
        if self._rows[-1][1] != count:
            self.complaints.append(f"the window shows {self._rows[-1][1]} of {count} facts")
        code = self.desktop.close()
        self.complaints += [f"the window ended with {code}"] if code else []
        self.complaints += self.desktop.heard("problem")

    def close(self) -> None:
        """Ends every process that is left."""
        self._stop.set()
        self._end_break()
        self._end_workers()
        self.desktop.process.kill()
        self.desktop.close()

    # --- inside --------------------------------------------------------------------------------------------------

    @staticmethod
    def _wait_for(condition: Callable[[], bool], patience_s: float) -> None:
        until = time.monotonic() + patience_s
        while time.monotonic() < until and not condition():
            time.sleep(0.5)

    def _has_cycled(self) -> bool:
        with Memory.open(self.store, read_only=True, background=False) as memory:
            return memory.consolidation_counters().cycles > 0

    def _look_at_publishes(self) -> None:
        """Hears what the window has published, and ends the other publish when its time has come."""
        for said in self.desktop.heard("published"):
            self._heard_published(said)
        if self._breaking is not None and not self._breaking.runs_on():
            self._end_break()

    def _end_break(self) -> None:
        if self._breaking is not None:
            self.broken_off.append(self._breaking.close())
            self._breaking = None

    def _heard_published(self, said: dict[str, object]) -> tuple[float, int]:
        seconds, written, error = said["seconds"], said["written"], said["error"]
        assert isinstance(seconds, float)
        assert isinstance(written, int)
        self._asked = False
        self.publishes.append((seconds, written))
        if error:
            self.complaints.append(f"publish {len(self.publishes)}: {error}")
        return seconds, written

    def _sample(self) -> None:
        self.window_bytes.append(resident_bytes(self.desktop.process.pid))
        server = self.workers[0].server
        if server is not None:
            self.server_bytes.append(resident_bytes(server.process.pid))

    def _end_minute(
        self, number: int, publishes: Sequence[tuple[float, int]], *, killed: int, machine_ms: float
    ) -> None:
        self.desktop.tell("minute")
        seen = self.desktop.hear("minute", patience_s=PATIENCE_S)
        self._take(seen, f"minute {number}")
        waits = self._look_at_new()
        servers = [worker.server for worker in self.workers]
        held = [resident_bytes(server.process.pid) for server in servers if server is not None]
        slowest_s = max(worker.slowest_s for worker in self.workers)
        for worker in self.workers:
            worker.slowest_s = 0.0
        cells = (
            str(number),
            f"{self._known:,}",
            f"{self.window_bytes[-1] / 1e6:,.0f}",
            " ".join(f"{size / 1e6:,.0f}" for size in held),
            f"{seen['longest_ms']:.0f}",
            f"{machine_ms:.0f}",
            " ".join(f"{seconds:.1f}" for seconds, _ in publishes) or "–",
            " ".join(f"{written:,}" for _, written in publishes) or "–",
            f"{median(waits):.2f} ≤ {max(waits, default=0.0):.2f}",
            f"{slowest_s:.2f}",
            str(killed),
        )
        print(f"| {' | '.join(cells)} |", flush=True)

    def _take(self, seen: dict[str, Any], when: str) -> None:
        """What the window saw since it was last asked."""
        self._rows += seen["rows"]
        self.stall_ms = max(self.stall_ms, seen["longest_ms"])
        self.stalls += [
            (gap_ms, f"{when}, second {at_s:.0f}: {gap_ms:.0f} ms while doing {what}")
            for at_s, gap_ms, what in seen["stalls"]
        ]

    def _look_at_new(self) -> list[float]:
        """How long the facts that the window has shown since the last look waited for that."""
        facts = self._facts(self._shown)
        self._known = self._shown + len(facts)
        shown = facts[: self._rows[-1][1] - self._shown]
        waits = shown_after(shown, self._rows, before=self._shown)
        self._shown += len(shown)
        self.waits += waits
        return waits

    def _facts(self, after: int) -> list[Fact]:
        """The live facts from the one with that number on, oldest first."""
        with Memory.open(self.store, read_only=True, background=False) as memory:
            ids = memory.fact_ids(FactQuery(descending=False))
            return sorted(memory.facts(ids[after:]), key=lambda fact: fact.version)

    def _end_workers(self) -> None:
        self._stop.set()
        for worker, thread in zip(self.workers, self._threads, strict=True):
            if thread.ident is not None:
                thread.join(PATIENCE_S)
            if thread.is_alive():
                worker.failures.append(f"server {worker.number} did not end")
                worker.strike()
                thread.join()
