"""Speeds of a published vault: 10,000 facts and 2,000 entities, there and back."""

from __future__ import annotations

import resource
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
from tests.benchmarks.table import Row, seconds

ENTITIES = 2_000
_WAIT_S = 60.0


def vault(folder: Path) -> Iterator[Row]:
    """Plan, first and second publish, one changed fact, and an edit until it waits in the inbox."""
    from exporters.obsidian.publish import preview, publish

    store = build_store(folder / "vault-10k", FACTS)
    _grow_graph(store)
    place = folder / f"round-trip-{time.monotonic_ns()}"
    place.mkdir()
    with Memory.open(store, background=False) as memory:
        memory.graph.mentions()
        layout = seconds(memory.graph.positions)
        before_bytes = _peak_bytes()
        planned = seconds(lambda: preview(memory, place))
        first = seconds(lambda: publish(memory, place))
        scan = seconds(lambda: [path.stat() for path in place.rglob("*")])
        second = seconds(lambda: publish(memory, place))
        fact = memory.get(memory.fact_ids(FactQuery())[0])
        memory.label(fact.agent_id, [fact.id], "verified")
        changed = seconds(lambda: publish(memory, place))
        grown_bytes = _peak_bytes() - before_bytes
        edited, looked = _edit(memory, place)
    yield Row("plan 10,000 facts and 2,000 entities", planned, 5.0, "s", "laying out the graph, once per store", layout)
    yield Row("first publish of them", first, 15.0, "s", "the plan", planned)
    yield Row("publish again, nothing changed", second, 3.0, "s", "asking for the state of every file", scan)
    yield Row("publish after one changed fact", changed, 1.0, "s", "asking for the state of every file", scan)
    yield Row("an edit until it waits in the inbox", edited, 2.0, "s", "looking for edits alone", looked)
    yield Row("memory above the engine", grown_bytes, 300e6, "MB", "peak before", before_bytes)


def _peak_bytes() -> float:
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
