"""Eight MCP servers write and search for two minutes beside an open window, and one is killed every five seconds.

    python -m tests.soak.agents [SECONDS [SERVERS]]

Prints a table; exit code 1 when an acknowledged fact is lost or there twice, a call fails, the window shows a fact more
than a second after it was written, or the window was held up for more than 100 ms.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Event, Thread

from gm_engine import FactQuery, Memory
from tests.fakes.command_line import ROOT
from tests.fakes.mcp_peer import RawServer

SECONDS, SERVERS, WRITES = 120.0, 8, 500
KILL_EVERY_S = 5.0  # from when every server has answered once
REFRESH_S, STALL_MS = 1.0, 100.0
PATIENCE_S = 30.0
AGENT = "soak"


@dataclass
class Worker:
    """One client with one server at a time; what was acknowledged, what was cut off, what went wrong."""

    store: Path
    number: int
    pause_s: float
    stop: Event
    kept: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    searches: int = 0
    kills: int = 0
    failures: list[str] = field(default_factory=list)
    server: RawServer | None = None

    def run(self) -> None:
        """Writes and searches until told to stop; a dead server is replaced, an unanswered write is not sent again."""
        sent = 0
        while not self.stop.is_set() and sent < WRITES:
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

    def _step(self, server: RawServer, text: str) -> None:
        self.unsure.append(text)
        answer = server.call("memory_add", agent_id=AGENT, text=text)
        if answer["isError"]:
            self.failures.append(answer["content"][0]["text"])
            return
        self.unsure.remove(text)
        self.kept.append(text)
        found = server.call("memory_search", agent_id=AGENT, query=f"crane {self.number} load")
        self.searches += 1
        if found["isError"] or not found["structuredContent"]["count"]:
            self.failures.append(found["content"][0]["text"])

    def _bury(self) -> None:
        self.kills += 1
        if self.server is not None:
            self.server.kill()
        self.server = None


def main(arguments: list[str]) -> int:
    """Runs the soak, or, with `window STORE STOP`, is the window."""
    if arguments[:1] == ["window"]:
        return window(Path(arguments[1]), Path(arguments[2]))
    seconds = float(arguments[0]) if arguments else SECONDS
    servers = int(arguments[1]) if len(arguments) > 1 else SERVERS
    with tempfile.TemporaryDirectory(prefix="graymatter-soak-") as folder:
        return soak(Path(folder), seconds, servers)


def soak(folder: Path, seconds: float, servers: int) -> int:
    """0 when everything holds."""
    store, stop_file, stop = folder / "store", folder / "stop", Event()
    with Memory.open(store, background=False):
        pass
    env = {**os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.soak.agents", "window", str(store), str(stop_file)]
    with Popen(command, cwd=ROOT, env=env, stdout=PIPE, text=True) as desktop:
        assert desktop.stdout is not None
        assert desktop.stdout.readline() == "watching\n"
        workers = [Worker(store, number, seconds / WRITES, stop) for number in range(servers)]
        threads = [Thread(target=worker.run) for worker in workers]
        for thread in threads:
            thread.start()
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and not all(worker.searches for worker in workers):
            time.sleep(0.1)
        _kill_now_and_then(workers, threads, seconds)
        stop.set()
        for thread in threads:
            thread.join()
        stop_file.write_text(str(_count(store)))
        seen = json.loads(desktop.stdout.readline())
    return _report(store, workers, seen)


def _kill_now_and_then(workers: list[Worker], threads: list[Thread], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and any(thread.is_alive() for thread in threads):
        time.sleep(min(KILL_EVERY_S, max(0.0, until - time.monotonic())))
        victim = random.choice(workers).server
        if victim is not None and time.monotonic() < until:
            victim.process.kill()


def _count(store: Path) -> int:
    with Memory.open(store, background=False) as memory:
        return len(memory.fact_ids(FactQuery()))


def _report(store: Path, workers: list[Worker], seen: dict[str, list[list[int]] | float]) -> int:
    with Memory.open(store, background=False) as memory:
        facts = memory.facts(memory.fact_ids(FactQuery(sort="created", descending=False)))
        left = memory.clients.list()
    texts = Counter(fact.text for fact in facts)
    kept = [text for worker in workers for text in worker.kept]
    lost = [text for text in kept if text not in texts]
    doubled = [text for text, times in texts.items() if times > 1]
    foreign = set(texts) - set(kept) - {text for worker in workers for text in worker.unsure}
    failures = [failure for worker in workers for failure in worker.failures]
    samples = seen["rows"]
    assert isinstance(samples, list)
    shown = [rows for _, rows in samples]
    waits = [
        (samples[at][0] - fact.created_ns) / 1e9 if (at := bisect_left(shown, place)) < len(shown) else PATIENCE_S
        for place, fact in enumerate(sorted(facts, key=lambda fact: fact.version), 1)
    ]
    stall = seen["longest_ms"]
    assert isinstance(stall, float)
    print("| server | acknowledged | cut off | searches | deaths | failures |\n|---|---:|---:|---:|---:|---:|")
    for worker in workers:
        row = (len(worker.kept), len(worker.unsure), worker.searches, worker.kills, len(worker.failures))
        print(f"| {worker.number} | {' | '.join(map(str, row))} |")
    print(
        f"\nfacts {len(facts):,}, lost {len(lost)}, doubled {len(doubled)}, from nowhere {len(foreign)},"
        f" still listed as connected {len(left)}\n"
        f"the window shows a fact after {max(waits, default=0.0):.2f} s at most, {_median(waits):.2f} s in the middle;"
        f" it was held up for {stall:.0f} ms at most"
    )
    for text in (*lost, *doubled, *sorted(foreign), *failures):
        print(text, file=sys.stderr)
    is_good = not (lost or doubled or foreign or failures or left) and bool(kept)
    return 0 if is_good and max(waits) <= REFRESH_S and stall <= STALL_MS else 1


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


def window(store: Path, stop_file: Path) -> int:
    """The desktop on the store: says when it watches, and in the end how many rows it showed when, and its stalls."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from gm_desktop.__main__ import SWITCH_INTERVAL_S
    from gm_desktop.app import App, Places
    from gm_desktop.stall_watch import StallWatch
    from gm_engine.clock import SystemClock

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    qt = QApplication(["window"])
    clock = SystemClock()
    rows: list[tuple[int, int]] = []
    with tempfile.TemporaryDirectory() as scratch:
        app = App(qt, places=Places(Path(scratch) / "preferences", Path(scratch) / "logs"), clock=clock)
        app.window.resize(1280, 800)
        app.window.show()
        watch = StallWatch(parent=app)
        until = [float("inf")]

        def look() -> None:
            count = app.remembering.table.rowCount()
            if not rows or rows[-1][1] < count:
                rows.append((clock.now_ns(), count))
            if stop_file.exists():
                until[0] = min(until[0], time.monotonic() + PATIENCE_S)
                if count >= int(stop_file.read_text() or "0") or time.monotonic() > until[0]:
                    qt.quit()

        def begin() -> None:
            app.show_page("memory")
            QTimer.singleShot(1_000, watch.start)
            QTimer.singleShot(1_000, lambda: print("watching", flush=True))

        looking = QTimer(app)
        looking.setInterval(20)
        looking.timeout.connect(look)
        app.host.store_opened.connect(lambda: (QTimer.singleShot(4_000, begin), looking.start()))
        app.start(store)
        qt.exec()
        looking.stop()
        watch.stop()
        print(json.dumps({"rows": rows, "longest_ms": watch.longest_ms}), flush=True)
        app.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
