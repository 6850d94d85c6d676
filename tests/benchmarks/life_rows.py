"""Speeds of history at 100,000 facts: undo, a past moment, checkpoints, backup, purge, the doctor."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from gm_engine import Config, EmbeddingMode, FactQuery, Memory, restore_backup
from gm_engine.doctor import examine
from gm_engine.records import JsonValue, Origin
from gm_engine.store.consolidation import prune_facts
from gm_engine.store.database import LEDGER_NAME, Ledger
from gm_engine.store.vectors import ensure_model, insert_vectors
from tests.benchmarks.generator import Generator, build_store
from tests.benchmarks.table import Row, best, percentile, seconds
from tests.fakes.clock import FrozenClock

FACTS = 100_000
GROUP = 10_000
_DIMS = 384
_PRUNED_AT_ONCE = 500


def store_of(folder: Path) -> Path:
    """A store with 100,000 facts in one namespace, each text with a vector, and some history after the import."""
    store = folder / "100k-life"
    if not store.exists():
        build_store(store, FACTS, vectors=False)
        (store / "memories.json").unlink()
        _fill_vectors(store)
        with open_store(store) as memory:
            ids = memory.fact_ids(FactQuery(descending=False))
            for number in range(300):
                memory.pin("alpha", [ids[number * 7]])
            memory.retire("alpha", ids[1000:2000])
    return store


def _fill_vectors(store: Path) -> None:
    rng = np.random.default_rng(5)
    with Ledger.open(store, clock=FrozenClock()) as ledger, ledger.bookkeep() as connection:
        keys = connection.exec_driver_sql("SELECT DISTINCT text_key FROM facts").scalars().all()
        codes = rng.integers(-(1 << 12), 1 << 12, (len(keys), _DIMS)).astype(np.int16)
        insert_vectors(connection, ensure_model(connection, "benchmark", _DIMS), keys, codes)


def open_store(store: Path) -> Memory:
    """Without a model and without automatic cycles: only history is measured."""
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, async_consolidate=False)
    return Memory.open(store, background=False, config=config, origin=Origin("library"))


def undoing(folder: Path) -> Iterator[Row]:
    """Single steps, and a whole group."""
    store = store_of(folder)
    with open_store(store) as memory:
        ids = memory.fact_ids(FactQuery(descending=False))
        times = []
        for number in range(40):
            seq = memory.retire("alpha", [ids[5000 + number]])[0].version
            times.append(seconds(partial(memory.undo, seq)))
        some = ids[20_000 : 20_000 + GROUP]
        retired = memory.retire("alpha", some)[0].version
        whole = seconds(lambda: memory.undo(retired))
        copied = memory.copy("alpha", some, "beta")[0].version
        removed = seconds(lambda: memory.undo(copied))
        made = seconds(lambda: memory.redo(memory.last_seq()))
        memory.undo(memory.last_seq())
        pruned = _prune(memory, some)
        back = seconds(lambda: memory.undo(pruned))
    one = _commit_time(folder / "one.sqlite", 1)
    many = _commit_time(folder / "many.sqlite", GROUP)
    yield Row("undo of one step, p95", percentile(times, 0.95), 0.05, "ms", "one durable commit", one)
    yield Row("undo of 10,000 retirements", whole, 1.0, "s", "insert and update 10,000 rows", many)
    yield Row("undo of 10,000 copies", removed, 1.0, "s", "insert and update 10,000 rows", many)
    yield Row("redo of 10,000 copies, indexed again", made, 1.0, "s", "insert and update 10,000 rows", many)
    yield Row("undo of a prune of 10,000", back, 1.0, "s", "insert and update 10,000 rows", many)


def _prune(memory: Memory, ids: Sequence[str]) -> str:
    """Takes facts away in the pieces that a cycle takes; the group of its entries."""
    group_id = memory._ledger.clock.new_id(memory._ledger.clock.now_ns())
    for start in range(0, len(ids), _PRUNED_AT_ONCE):
        with memory._ledger.write("prune", origin=Origin("library"), agent_id="alpha", group_id=group_id) as tx:
            prune_facts(tx, ids[start : start + _PRUNED_AT_ONCE])
    return group_id


def _commit_time(path: Path, rows: int) -> float:
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT)")

        def act() -> None:
            raw.execute("BEGIN IMMEDIATE")
            raw.executemany("INSERT INTO t(a, b) VALUES (?, ?)", [("x" * 100, "y" * 100)] * rows)
            raw.execute("UPDATE t SET a = 'z'")
            raw.execute("COMMIT")
            raw.execute("DELETE FROM t")

        return best(act)


def past(folder: Path) -> Iterator[Row]:
    """Opening a moment, listing it, and recalling from it."""
    store = store_of(folder)
    query = Generator().queries(1)[0]
    with open_store(store) as memory:
        memory.recall("alpha", query, preview=True)
        now = best(lambda: memory.recall("alpha", query, preview=True), times=10)
        listing = best(lambda: memory.fact_ids(FactQuery()))
        middle = memory.get(memory.fact_ids(FactQuery(descending=False))[FACTS // 2]).created_ns
        for what, at in (
            ("ten entries ago", {"before_seq": memory.last_seq() - 9}),
            ("reconstructed, half of the facts", {"at_ns": middle}),
        ):
            start = perf_counter()
            with memory.at(**at) as view:
                opened = perf_counter() - start
                listed = best(partial(view.fact_ids, FactQuery()))
            yield Row(f"open a moment: {what}", opened, 2.0, "s", "list all ids now", listing)
            yield Row(f"list a moment: {what}", listed, None, "s", "list all ids now", listing)
        start = perf_counter()
        with memory.at(before_seq=memory.last_seq() - 9) as view:
            view.recall("alpha", query)
            first = perf_counter() - start
            recalled = best(lambda: view.recall("alpha", query), times=10)
        yield Row("open a moment and recall from it at once", first, 2.0, "s", "list all ids now", listing)
        yield Row("recall from a moment", recalled, 3 * now, "ms", "recall now", now)


def checkpoint(folder: Path) -> Iterator[Row]:
    """A checkpoint of five megabytes, against its bare JSON."""
    state: dict[str, JsonValue] = {
        f"step {number}": {"tool": "search", "arguments": [number, None, 0.5], "result": f"{number} " * 40}
        for number in range(26_000)
    }
    text = json.dumps(state)
    assert len(text) >= 5_000_000
    with open_store(folder / "checkpoint") as memory:
        saved = memory.checkpoints.save("alpha", state=state).id
        opened = best(lambda: memory.checkpoints.load(saved))
    yield Row("checkpoint of 5 MB opens", opened, 1.0, "s", "json.loads", best(lambda: json.loads(text)))


def keeping(folder: Path) -> Iterator[Row]:
    """Backup, restore, purge, doctor."""
    store = store_of(folder)
    size = (store / LEDGER_NAME).stat().st_size
    copy = best(lambda: shutil.copyfile(store / LEDGER_NAME, folder / "copy"), times=2)
    target = folder / "backup.zip"
    target.unlink(missing_ok=True)
    baseline = f"copy the file ({size / 1e6:,.0f} MB)"
    with open_store(store) as memory:
        yield Row("backup of 100,000 facts", seconds(lambda: memory.backup(target)), 15.0, "s", baseline, copy)
        shutil.rmtree(folder / "restored", ignore_errors=True)
        restored = seconds(lambda: restore_backup(target, folder / "restored"))
        yield Row("restore of 100,000 facts", restored, None, "s", baseline, copy)
        yield Row("doctor", seconds(lambda: examine(store)), None, "s", baseline, copy)
        text = memory.get(memory.fact_ids(FactQuery())[7]).text
        yield Row("purge of one text", seconds(lambda: memory.purge(text)), None, "s", baseline, copy)
