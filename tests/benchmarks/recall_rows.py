"""Recall against its bars: quality on judged queries, speed at 10,000 to 100,000 facts, memory.

Each query is asked several times after a first round that warms up, and its shortest time counts: what other programs
do to the machine is left out, what a query costs by itself is not. Percentiles are over the queries.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from gm_engine import Config, EmbeddingMode, FactQuery, Memory
from tests.benchmarks import quality
from tests.benchmarks.generator import Generator, build_store
from tests.benchmarks.table import Row, best, percentile, process, seconds

SIZES = (10_000, 30_000, 100_000)
QUERIES = 300
ROUNDS = 6
WORDS_ONLY = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
_VERIFIED_EVERY = 10

_MEMORY = """
import os, resource, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"
from gm_engine import Memory
with Memory.open(sys.argv[1], background=False) as memory:
    for query in sys.argv[2:]:
        answer = memory.recall("alpha", query, preview=True)
        assert answer.coverage.with_vector == answer.coverage.eligible > 90_000, answer.coverage
with open("/proc/self/statm") as statm:
    print(int(statm.read().split()[1]) * resource.getpagesize())
"""
_BARE = """
import resource, numpy, sqlalchemy, onnxruntime, tokenizers
with open("/proc/self/statm") as statm:
    print(int(statm.read().split()[1]) * resource.getpagesize())
"""


def store_of(folder: Path, facts: int) -> Path:
    """The generated store of so many facts, one tenth of them verified; made once per run."""
    store = build_store(folder / f"{facts // 1000}k", facts)
    if not (store / "labelled").exists():
        with Memory.open(store, background=False, config=WORDS_ONLY) as memory:
            ids = memory.fact_ids(FactQuery(agent_id="alpha"))
            memory.label("alpha", ids[::_VERIFIED_EVERY], "verified")
        (store / "labelled").touch()
    return store


def found(folder: Path) -> Iterator[Row]:
    """Quality on the judged queries, as far as they are at hand; prints the whole table."""
    if not (quality.DATA / "facts.jsonl").is_file():
        print(f"no judged queries in {quality.DATA}: quality is not measured", file=sys.stderr)
        return
    results = quality.measure_all(quality.DATA, folder / "eval")
    print(f"{quality.show(results)}\n")
    measured, single = results[quality.MEASURED], results["vector alone"]
    name = "the vector signal alone"
    yield Row("MRR, recency 0", measured["all"].mrr, quality.MIN_MRR, "score", name, single["all"].mrr, at_least=True)
    yield Row(
        "hit@8, recency 0", measured["all"].hits, quality.MIN_HITS, "score", name, single["all"].hits, at_least=True
    )
    for kind in quality.LEXICAL:
        if kind in measured:
            yield Row(f"hit@8 of {kind}", measured[kind].hits, 1.0, "score", name, single[kind].hits, at_least=True)


def speed(folder: Path) -> Iterator[Row]:
    """Previews with the query vector known, in one namespace of 10,000, 30,000 and 100,000 facts."""
    limits = {30_000: (0.005, 0.015), 100_000: (0.012, 0.035)}
    halves = {}
    for facts in SIZES:
        times = _times(store_of(folder, facts))
        scan = _scan_time(facts)
        halves[facts] = percentile(times, 0.5)
        p50, p99 = limits.get(facts, (None, None))
        name = f"numpy scan of {facts:,} vectors, best 16"
        yield Row(f"recall, {facts:,} facts, p50", halves[facts], p50, "ms", name, scan)
        yield Row(f"recall, {facts:,} facts, p99", percentile(times, 0.99), p99, "ms", name, scan)
    yield Row(
        "growth of p50 from 10,000 to 100,000 facts",
        halves[SIZES[-1]] / halves[SIZES[0]],
        SIZES[-1] / SIZES[0],
        "ratio",
        "linear growth",
        SIZES[-1] / SIZES[0],
    )


def words(folder: Path) -> Iterator[Row]:
    """The same by keyword and recency alone."""
    store = store_of(folder, 30_000)
    times = _times(store, config=WORDS_ONLY)
    index = _full_text_time(store)
    name = "FTS5 bm25() of SQLite, best 16"
    yield Row("words and recency, 30,000 facts, p50", percentile(times, 0.5), 0.002, "ms", name, index)
    yield Row("words and recency, 30,000 facts, p99", percentile(times, 0.99), 0.006, "ms", name, index)


def filtered(folder: Path) -> Iterator[Row]:
    """A filter that one fact in ten passes, against none; in turns, so that both meet the same machine."""
    queries = Generator().queries(QUERIES)
    with Memory.open(store_of(folder, 30_000), background=False) as memory:
        plain = partial(memory.recall, "alpha", preview=True)
        strict = partial(memory.recall, "alpha", preview=True, min_confidence="verified")
        rounds = [
            [(seconds(partial(strict, query)), seconds(partial(plain, query))) for query in queries]
            for _ in range(1 + ROUNDS)
        ]
    pairs = [tuple(map(min, zip(*same, strict=True))) for same in zip(*rounds[1:], strict=True)]
    for share, name in ((0.5, "p50"), (0.99, "p99")):
        with_filter, without = (percentile([pair[side] for pair in pairs], share) for side in (0, 1))
        yield Row(f"recall, verified only (10 %), {name}", with_filter, without, "ms", "the same unfiltered", without)


def memory_use(folder: Path) -> Iterator[Row]:
    """A process that has searched 100,000 facts with all their vectors; the bundled model included."""
    store = store_of(folder, 100_000)
    used = float(process("-c", _MEMORY, store, *Generator().queries(20)))
    bare = float(process("-c", _BARE))
    yield Row("memory with 100,000 facts loaded", used, 900e6, "MB", "its libraries imported", bare)


def _times(store: Path, *, config: Config | None = None) -> list[float]:
    queries = Generator().queries(QUERIES)
    with Memory.open(store, background=False, config=config) as memory:
        ask: Callable[[str], object] = partial(memory.recall, "alpha", preview=True)
        rounds = [[seconds(partial(ask, query)) for query in queries] for _ in range(1 + ROUNDS)]
    return [min(same) for same in zip(*rounds[1:], strict=True)]


def _scan_time(facts: int) -> float:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((facts, 384), dtype=np.float32)
    query = vectors[0]
    return best(lambda: np.argpartition(-(vectors @ query), 16)[:16], times=20)


def _full_text_time(store: Path) -> float:
    """The median of the same queries, any word of them, against a full-text index of the same texts."""
    with closing(sqlite3.connect(":memory:")) as raw:
        raw.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
        raw.execute("ATTACH ? AS store", (f"{store}/ledger.sqlite",))
        raw.execute("INSERT INTO texts(rowid, text) SELECT no, text FROM store.facts")
        sql = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 16"
        asked = [_any_word(query) for query in Generator().queries(QUERIES)]
        return percentile([seconds(partial(_all, raw, sql, query)) for query in asked], 0.5)


def _any_word(query: str) -> str:
    found = "".join(char if char.isalnum() else " " for char in query).split()
    return " OR ".join(f'"{word}"' for word in found) or '"x"'


def _all(raw: sqlite3.Connection, sql: str, query: str) -> Sequence[object]:
    return raw.execute(sql, (query,)).fetchall()
