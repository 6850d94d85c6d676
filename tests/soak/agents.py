"""Eight MCP servers write and search for two minutes beside an open window, and one is killed every five seconds.

    python -m tests.soak.agents [SECONDS [SERVERS]]

Prints a table; exit code 1 when an acknowledged fact is lost or there twice, a call fails, a server ends by itself, the
window shows a fact more than a second after it was written, or the window was held up for more than 100 ms.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread

from gm_engine import FactQuery, Memory
from tests.soak.clients import PATIENCE_S, Worker, median, settle, shown_after
from tests.soak.desktop import START_S, Desktop

SECONDS, SERVERS, WRITES = 120.0, 8, 500
KILL_EVERY_S = 5.0  # from when every server has answered once
REFRESH_S, STALL_MS = 1.0, 100.0
AGENT = "soak"


def main(arguments: list[str]) -> int:
    """Runs the soak."""
    seconds = float(arguments[0]) if arguments else SECONDS
    servers = int(arguments[1]) if len(arguments) > 1 else SERVERS
    with tempfile.TemporaryDirectory(prefix="graymatter-soak-") as folder:
        return soak(Path(folder), seconds, servers)


def soak(folder: Path, seconds: float, servers: int) -> int:
    """0 when everything holds."""
    store, stop = folder / "store", Event()
    with Memory.open(store, background=False):
        pass
    with Desktop(store, folder / "vault") as desktop:
        desktop.hear("watching", patience_s=START_S)
        workers = [Worker(store, number, seconds / WRITES, stop, AGENT, WRITES) for number in range(servers)]
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
        desktop.tell("finish", _count(store))
        seen = desktop.hear("rows", patience_s=2 * PATIENCE_S)
    return _report(store, workers, rows=seen["rows"], stall_ms=seen["longest_ms"], stalls=seen["stalls"])


def _kill_now_and_then(workers: list[Worker], threads: list[Thread], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and any(thread.is_alive() for thread in threads):
        time.sleep(min(KILL_EVERY_S, max(0.0, until - time.monotonic())))
        if time.monotonic() < until:
            random.choice(workers).strike()


def _count(store: Path) -> int:
    with Memory.open(store, background=False) as memory:
        return len(memory.fact_ids(FactQuery()))


def _report(
    store: Path,
    workers: list[Worker],
    *,
    rows: list[list[int]],
    stall_ms: float,
    stalls: list[tuple[float, float, str]],
) -> int:
    with Memory.open(store, background=False) as memory:
        facts = memory.facts(memory.fact_ids(FactQuery()))
        left = memory.clients.list()
    found, waits = settle(facts, workers), shown_after(facts, rows)
    print("| server | acknowledged | cut off | searches | deaths | failures |\n|---|---:|---:|---:|---:|---:|")
    for worker in workers:
        row = (len(worker.kept), len(worker.unsure), worker.searches, worker.deaths, len(worker.failures))
        print(f"| {worker.number} | {' | '.join(map(str, row))} |")
    print(
        f"\nfacts {len(facts):,}, lost {len(found.lost)}, doubled {len(found.doubled)}, from nowhere"
        f" {len(found.foreign)}, still listed as connected {len(left)}\n"
        f"the window shows a fact after {max(waits, default=0.0):.2f} s at most, {median(waits):.2f} s in the middle;"
        f" it was held up for {stall_ms:.0f} ms at most"
    )
    for text in (*found.lost, *found.doubled, *found.foreign, *found.failures):
        print(text, file=sys.stderr)
    for at_s, gap_ms, what in stalls:
        if gap_ms > STALL_MS:
            print(f"after {at_s:.0f} s held up for {gap_ms:.0f} ms while doing {what}", file=sys.stderr)
    return 0 if found.is_good and not left and max(waits) <= REFRESH_S and stall_ms <= STALL_MS else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
