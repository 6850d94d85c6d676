"""Speeds of the engine: opening, recall, import, paging."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from gm_engine import FactQuery, Memory
from tests.benchmarks.generator import GeneratedEmbedder, Generator, build_store, write_export
from tests.benchmarks.table import Row, best, percentile, process, seconds

FACTS = 10_000
MANY = 100_000
QUERIES = 300
_INSERT = "INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?)"

_FIRST_RECALL = """
import sys, time
start = time.perf_counter()
from gm_engine import Config, EmbeddingMode, Memory
with Memory.open(sys.argv[1], background=False, config=Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)) as memory:
    found = memory.recall("alpha", "confirmed the revised quote", preview=True)
    assert found.facts
    print(time.perf_counter() - start)
"""
_READ_ALL = """
import sys, time
start = time.perf_counter()
import sqlite3, numpy
rows = sqlite3.connect(sys.argv[1] + "/ledger.sqlite").execute("SELECT data FROM fact_terms").fetchall()
numpy.frombuffer(b"".join(row[0] for row in rows), dtype=numpy.uint16)
print(time.perf_counter() - start)
"""


def first_recall(folder: Path) -> Iterator[Row]:
    """A fresh process opens the store and answers without a query vector."""
    store = build_store(folder / "10k", FACTS)
    measured = min(float(process("-c", _FIRST_RECALL, store)) for _ in range(3))
    base = min(float(process("-c", _READ_ALL, store)) for _ in range(3))
    yield Row(
        "open + first recall, no embedding", measured, 0.6, "s", "import numpy, read the terms with sqlite3", base
    )


def previewed_recall(folder: Path) -> Iterator[Row]:
    """Previews with the query vector known, over one namespace with every fact."""
    store = build_store(folder / "10k", FACTS)
    generator = Generator()
    queries = generator.queries(QUERIES)
    with Memory.open(store, background=False) as memory:
        for query in queries:
            memory.recall("alpha", query, preview=True)
        times = [seconds(partial(memory.recall, "alpha", query, preview=True)) for query in queries]
    base = _scan_time()
    yield Row("previewed recall, p50", percentile(times, 0.5), 0.004, "ms", "numpy scan of all vectors, best 16", base)
    yield Row("previewed recall, p99", percentile(times, 0.99), 0.015, "ms", "numpy scan of all vectors, best 16", base)


def _scan_time() -> float:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((FACTS, 384)).astype(np.float32)
    query = vectors[0]
    return best(lambda: np.argpartition(-(vectors @ query), 16)[:16], times=20)


def importing(folder: Path) -> Iterator[Row]:
    """`memories.json` with 10,000 facts, vectors left for later."""
    export = write_export(folder / "memories.json", FACTS, generator=Generator())
    target = folder / "imported"
    with Memory.open(target, background=False) as memory:
        measured = seconds(lambda: memory.import_store(export))
        assert len(memory.fact_ids(FactQuery(status="all"))) == FACTS
    base = seconds(lambda: _insert_raw(export, folder / "raw.sqlite"))
    yield Row("import 10,000 facts", measured, 10.0, "s", "json.load + sqlite3 inserts by 500", base)


def _insert_raw(export: Path, path: Path) -> None:
    rows = [tuple(fact.values()) for fact in json.loads(export.read_text(encoding="utf-8"))]
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("CREATE TABLE facts(id TEXT PRIMARY KEY, agent, text, created, accessed, uses, weight)")
        for start in range(0, len(rows), 500):
            raw.executemany(_INSERT, rows[start : start + 500])
            raw.commit()


def last_page(folder: Path) -> Iterator[Row]:
    """256 bodies from the end of a list of 100,000."""
    store = build_store(folder / "100k", MANY, vectors=False)
    with Memory.open(store, background=False, read_only=True) as memory:
        ids = memory.fact_ids(FactQuery())
        assert len(ids) == MANY
        measured = best(lambda: memory.facts(ids[-256:]), times=20)
        listing = best(lambda: memory.fact_ids(FactQuery()))
    with closing(sqlite3.connect(store / "ledger.sqlite")) as raw:
        marks = ",".join("?" * 256)
        base = best(lambda: raw.execute(f"SELECT * FROM facts WHERE id IN ({marks})", ids[-256:]).fetchall(), times=20)
        list_base = best(lambda: raw.execute("SELECT id FROM facts ORDER BY created_ns DESC, id").fetchall())
    yield Row("page of 256 at the end of 100,000", measured, 0.010, "ms", "the same rows with sqlite3", base)
    yield Row("all ids of 100,000 in order", listing, None, "ms", "the same with sqlite3", list_base)


def embedding(folder: Path) -> Iterator[Row]:
    """What the one-off work of a vector costs, for scale; no limit."""
    texts = [Generator().text(number) for number in range(64)]
    embedder = GeneratedEmbedder(Generator(), 0)
    measured = best(lambda: embedder.embed(texts), times=2) / len(texts)
    one = best(lambda: embedder.embed(texts[:1]), times=5)
    yield Row("embed one text, in batches of 64", measured, None, "ms", "embed one text alone", one)
