"""Speeds of a published vault: 10,000 facts and 2,000 entities, there and back."""

from __future__ import annotations

import json
import resource
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from gm_engine import FactQuery, Memory
from gm_engine.clock import SystemClock
from gm_engine.records import Edge, Entity, Origin
from gm_engine.store.database import Ledger
from gm_engine.store.entities import upsert_edges, upsert_entities
from tests.benchmarks.engine_rows import FACTS
from tests.benchmarks.generator import build_store
from tests.benchmarks.table import Row, process, seconds

ENTITIES = 2_000
_WAIT_S = 60.0


def vault(folder: Path) -> Iterator[Row]:
    """Plan, first and second publish, one changed fact, and an edit until it waits in the inbox.

    Measured in a process of its own: the peak of building the store is no part of it.
    """
    store = build_store(folder / "vault-10k", FACTS)
    _grow_graph(store)
    place = folder / f"round-trip-{time.monotonic_ns()}"
    place.mkdir()
    found: dict[str, float] = json.loads(process("-m", "tests.benchmarks.vault_rows", store, place).splitlines()[-1])
    scan, layout = found["scan"], found["layout"]
    stats = "asking for the state of every file"
    yield Row("plan 10,000 facts and 2,000 entities", found["plan"], 5.0, "s", "laying out the graph, once", layout)
    yield Row("first publish of them", found["first"], 15.0, "s", "the plan", found["plan"])
    yield Row("publish again, nothing changed", found["second"], 3.0, "s", stats, scan)
    yield Row("files that it wrote", found["second_files"], 0.0, "count", "files of the vault", found["files"])
    yield Row("publish after one changed fact", found["changed"], 1.0, "s", stats, scan)
    yield Row("an edit until it waits in the inbox", found["edit"], 2.0, "s", "looking for edits", found["look"])
    yield Row("memory above the engine", found["grown"], 300e6, "MB", "peak before", found["before"])


def measure(store: Path, place: Path) -> dict[str, float]:
    """All of it on one store and an empty vault: seconds, bytes and counts by name."""
    from exporters.obsidian.publish import preview, publish

    found: dict[str, float] = {}
    with Memory.open(store, background=False) as memory:
        memory.graph.mentions()
        found["layout"] = seconds(memory.graph.positions)
        found["before"] = _peak_bytes()
        found["plan"] = seconds(lambda: preview(memory, place))
        found["first"] = seconds(lambda: publish(memory, place))
        found["scan"] = seconds(lambda: [path.stat() for path in place.rglob("*")])
        before = _files(place)
        found["second"] = seconds(lambda: publish(memory, place))
        after = _files(place)
        found["files"], found["second_files"] = len(after), len(after ^ before)
        fact = memory.get(memory.fact_ids(FactQuery())[0])
        memory.label(fact.agent_id, [fact.id], "verified")
        found["changed"] = seconds(lambda: publish(memory, place))
        found["grown"] = _peak_bytes() - found["before"]
        found["edit"], found["look"] = _edit(memory, place)
    return found


def _files(place: Path) -> set[tuple[str, int, int]]:
    """Path, modification time and inode of every file."""
    stats = ((str(path), path.stat()) for path in place.rglob("*") if path.is_file())
    return {(path, found.st_mtime_ns, found.st_ino) for path, found in stats}


def _peak_bytes() -> float:
    """The most memory this process has held; not what the one that started it held, as `getrusage` has it on Linux."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) * 1024.0 for line in status.read_text().splitlines() if "VmHWM" in line)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def _grow_graph(store: Path) -> None:
    """Entities, each linked to the next, with a fact as its receipt."""
    ledger = Ledger.open(store, clock=SystemClock())
    try:
        with Memory.open(store, background=False) as memory:
            ids = memory.fact_ids(FactQuery())
        now = ledger.clock.now_ns()
        entities = [Entity(f"e{n}", f"Entity {n}", "thing", now, now, 1.0, "import") for n in range(ENTITIES)]
        edges = [
            Edge(f"e{n // 2}", f"e{n}", "leads_to", now, 1.0, "import", (ids[n % len(ids)],))
            for n in range(1, ENTITIES)
        ]
        with ledger.write("import", origin=Origin("import")) as tx:
            upsert_entities(tx, entities)
            upsert_edges(tx, edges)
    finally:
        ledger.close()


def _edit(memory: Memory, place: Path) -> tuple[float, float]:
    """Seconds from closing an edited file to the proposal, and those of looking alone."""
    from exporters.obsidian.proposals import take_in
    from exporters.obsidian.round_trip import read_edits
    from exporters.obsidian.watching import VaultWatcher
    from exporters.profiles import PublishProfile

    done = threading.Event()
    aim = PublishProfile("", str(place))

    def on_changed() -> None:
        take_in(memory, read_edits(memory, place), aim)
        done.set()

    looked = seconds(lambda: read_edits(memory, place))
    watcher = VaultWatcher(place, "Memory", on_changed)
    try:
        path = next((place / "Memory" / "Facts").rglob("*.md"))
        text = path.read_text(encoding="utf-8")
        start = time.perf_counter()
        path.write_text(text.replace("\n> ", "\n> Edited: ", 1), encoding="utf-8")
        if not done.wait(_WAIT_S):
            raise TimeoutError("the edit was not noticed")
        took = time.perf_counter() - start
    finally:
        watcher.close()
    if not memory.inbox.list(source="vault"):
        raise AssertionError("the edit is not in the inbox")
    return took, looked


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), Path(sys.argv[2]))))
