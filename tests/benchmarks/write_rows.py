"""Writing against its bars: one durable fact, its way to another process, a bulk import, and the vector index."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from time import monotonic
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from gm_engine import Config, EmbeddingMode, Memory
from gm_engine.embedding.embedder import Embedder
from gm_engine.embedding.minilm import MiniLM
from gm_engine.vectors.exact import ExactIndex
from gm_engine.vectors.planner import VectorPlanner
from tests.benchmarks.generator import NOISE, GeneratedEmbedder, Generator, build_store, write_export
from tests.benchmarks.recall_rows import store_of
from tests.benchmarks.table import ROOT, Row, percentile, seconds

FACTS = 30_000
WRITES = 100
SEARCHES = 1000
NEAREST = 16
_WORDS_ONLY = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
_WATCHER = """
import sys, time
from gm_engine import Config, EmbeddingMode, Memory
with Memory.open(sys.argv[1], background=False, config=Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)) as memory:
    memory.recall("alpha", "warm", preview=True)
    print("ready", flush=True)
    for marker in sys.stdin:
        while marker.strip() not in memory.recall("alpha", marker, preview=True, top_k=1).texts[0]:
            pass
        print(time.monotonic(), flush=True)
"""


def remembering(folder: Path) -> Iterator[Row]:
    """One durable fact beside 30,000 others, against the same statements sent by `sqlite3`, in turns.

    The statements are recorded while our write is measured, which makes it look a little slower than it is.
    """
    ours, theirs = folder / "remember", folder / "remember.sqlite"
    if not ours.exists():
        shutil.copytree(store_of(folder, FACTS), ours)
    with Memory.open(ours, background=False, config=_WORDS_ONLY) as memory:
        texts = [f"Durable note {n}: {Generator(seed=5).text(n)}" for n in range(WRITES + 10)]
        for text in texts[WRITES:]:
            memory.remember("alpha", text)
        _copy(ours / "ledger.sqlite", theirs)
        with closing(sqlite3.connect(theirs, isolation_level=None)) as plain:
            plain.execute("PRAGMA journal_mode=WAL")
            plain.execute("PRAGMA synchronous=FULL")
            pairs = [_pair(memory, plain, text) for text in texts[:WRITES]]
    measured, raw = ([pair[side] for pair in pairs] for side in (0, 1))
    base = percentile(raw, 0.5)
    disk = _fsync_time(folder / "fsync")
    yield Row("remember, 30,000 facts, p50", percentile(measured, 0.5), 3 * base, "ms", "the same statements", base)
    yield Row(
        "the same, where an fsync takes ≤ 0.5 ms",
        percentile(measured, 0.5),
        0.004 if disk <= 0.0005 else None,
        "ms",
        "one write and fsync of 4 KB",
        disk,
    )
    yield from _visibility(ours)


def _visibility(store: Path) -> Iterator[Row]:
    """From the start of a remember until another process has recalled it."""
    with subprocess.Popen(
        [sys.executable, "-c", _WATCHER, str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as watcher:
        if watcher.stdin is None or watcher.stdout is None or watcher.stdout.readline() != "ready\n":
            raise RuntimeError("the watching process did not start")
        delays = []
        writes = []
        with Memory.open(store, background=False, config=_WORDS_ONLY) as memory:
            for number in range(20):
                marker = f"zebramarker{number}"
                watcher.stdin.write(f"{marker}\n")
                watcher.stdin.flush()
                start = monotonic()
                memory.remember("alpha", f"{marker} {marker}")
                writes.append(monotonic() - start)
                delays.append(float(watcher.stdout.readline()) - start)
        watcher.stdin.close()
        watcher.wait()
    yield Row("until another process recalls it, worst of 20", max(delays), 1.0, "ms", "the write alone", max(writes))


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


def _pair(memory: Memory, plain: sqlite3.Connection, text: str) -> tuple[float, float]:
    """How long remembering `text` takes, and sending the same statements to a copy of the store."""
    sent: list[str] = []
    with memory._ledger.bookkeep() as connection:
        raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    raw.set_trace_callback(sent.append)
    ours = seconds(lambda: memory.remember("alpha", text))
    raw.set_trace_callback(None)
    return ours, seconds(lambda: _send(plain, sent))


def _send(raw: sqlite3.Connection, statements: Sequence[str]) -> None:
    for statement in statements:
        raw.execute(statement).fetchall()


def _fsync_time(path: Path) -> float:
    with path.open("wb") as file:
        return percentile([seconds(partial(_write_through, file.fileno())) for _ in range(50)], 0.5)


def _write_through(descriptor: int) -> None:
    os.write(descriptor, b"x" * 4096)
    os.fsync(descriptor)


class GivenVectors:
    """An embedder that was handed every vector before; other texts go to the real model."""

    def __init__(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._real = MiniLM()
        self.model = self._real.model
        self.dims = self._real.dims
        self._rows = dict(zip((normalize("NFC", text) for text in texts), vectors, strict=True))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One normalised row per text."""
        if all(text in self._rows for text in texts):
            return np.stack([self._rows[text] for text in texts])
        return self._real.embed(texts)


def bulk(folder: Path) -> Iterator[Row]:
    """30,000 facts whose vectors are given: until they can be found, and until Chroma has them all."""
    generator = Generator()
    export = write_export(folder / "bulk.json", FACTS, generator=generator)
    texts = [generator.text(number) for number in range(FACTS)]
    embedder: Embedder = GivenVectors(texts, GeneratedEmbedder(generator, FACTS).embed(texts))
    plain = seconds(lambda: _insert_plainly(folder / "plain.sqlite", texts))
    with Memory.open(folder / "bulk", background=False, embedder=embedder) as memory:
        start = monotonic()
        memory.import_store(export)
        memory.wait_for_embeddings()
        answer = memory.recall("alpha", texts[7], preview=True)
        assert answer.coverage.with_vector == answer.coverage.eligible == FACTS
        searchable = monotonic() - start
        while memory.index_step(0.5) or memory.status().vectors.chroma < FACTS:
            assert monotonic() - start < 600
        indexed = monotonic() - start
    name = "the texts alone, inserted plainly"
    yield Row("import 30,000 facts, vectors given: searchable", searchable, 15.0, "s", name, plain)
    yield Row("the same: indexed in Chroma", indexed, 60.0, "s", name, plain)


def _insert_plainly(path: Path, texts: Sequence[str]) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE texts(no INTEGER PRIMARY KEY, text TEXT)")
        for start in range(0, len(texts), 500):
            raw.executemany("INSERT INTO texts(text) VALUES (?)", [(text,) for text in texts[start : start + 500]])
            raw.commit()


def same_answers(folder: Path) -> Iterator[Row]:
    """Chroma against the exact scan, 1,000 searches each on the judged facts and on 30,000 generated ones."""
    stores = [("the judged facts", folder / "eval"), ("30,000 generated facts", build_store(folder / "bulk", FACTS))]
    for name, store in stores:
        if (store / "ledger.sqlite").exists():
            yield from _compared(name, store)


def _compared(name: str, store: Path) -> Iterator[Row]:
    with Memory.open(store, background=False) as memory:
        start = monotonic()
        while memory.index_step(0.5) or memory.status().vectors.chroma < memory.status().vectors.embedded:
            assert monotonic() - start < 600
        planner = memory._search._loaded_indexer().planner
        assert planner is not None
        different, unsure, times, scans = _searched(planner)
    label = f"1,000 searches of {name}"
    yield Row(f"{label}: answers that differ", different, 0, "count", "searches", SEARCHES)
    yield Row(f"{label}: not sure, scanned instead", unsure, None, "count", "searches", SEARCHES)
    yield Row(f"{label}: p50", percentile(times, 0.5), None, "ms", "the exact scan", percentile(scans, 0.5))


def _searched(planner: VectorPlanner) -> tuple[int, int, list[float], list[float]]:
    """Searches for real vectors with noise: how many answers differ, how many were exact, and both times."""
    table = planner.table
    exact = ExactIndex(table)
    rng = np.random.default_rng(11)
    rows = np.arange(table.size, dtype=np.int32)
    tie = rng.permutation(table.size).astype(np.int64)
    different = unsure = 0
    times, scans = [], []
    for row in rng.integers(0, table.size, SEARCHES).tolist():
        noise = rng.standard_normal(table.dims)
        vector = table.codes(rows[row : row + 1])[0] / 32767 + NOISE * noise / np.linalg.norm(noise)
        query = np.round(vector / np.linalg.norm(vector) * 32767).astype(np.int16)
        start = monotonic()
        hits = planner.search(query, rows, tie, NEAREST, filtered=False)
        middle = monotonic()
        expected = exact.search(query, rows, tie=tie, count=NEAREST)
        scans.append(monotonic() - middle)
        times.append(middle - start)
        unsure += hits.path == "exact"
        different += not (
            np.array_equal(hits.order, expected.order) and np.array_equal(hits.similarity, expected.similarity)
        )
    return different, unsure, times, scans
