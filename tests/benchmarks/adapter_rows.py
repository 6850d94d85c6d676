"""Speeds of a store as a source: the handshake of its process, and searches through the pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from gm_engine import Memory
from gm_engine.clock import NS_PER_S, SystemClock
from gm_engine.recall_protocol import SearchFilters, SearchParams
from gm_engine.recall_protocol.process import AdapterSpec
from gm_engine.recall_protocol.supervisor import Supervisor
from tests.benchmarks.generator import Generator
from tests.benchmarks.recall_rows import store_of
from tests.benchmarks.table import ROOT, Row, best, percentile, process, seconds

_FACTS = 30_000
_QUERIES = 100
_ROUNDS = 4
_START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from gm_engine.cli.main import main; sys.exit(main())"


def store_source(folder: Path) -> Iterator[Row]:
    """The adapter as a child process over a store of 30,000 facts; query vectors are known after the first round."""
    store = store_of(folder, _FACTS)
    spec = AdapterSpec(
        "uid", "mem", (sys.executable, "-c", _START, "recall-adapter"), folder / "work", location=str(store)
    )
    starts = []
    for _ in range(3):
        supervisor = Supervisor([spec])
        supervisor.manifest("mem", timeout_s=20.0)
        starts.append((supervisor.status("mem").cold_start_ns or 0) / NS_PER_S)
        supervisor.close()
    bare = best(lambda: process("-c", "import jsonschema, click"))
    yield Row("handshake of the adapter's process", min(starts), 1.5, "ms", "python, jsonschema, click", bare)
    queries = Generator().queries(_QUERIES)
    supervisor = Supervisor([spec])
    try:
        times = [min(_search_time(supervisor, query) for _ in range(_ROUNDS)) for query in queries]
    finally:
        supervisor.close()
    with Memory.open(store, background=False, read_only=True) as memory:
        plain = [
            min(seconds(partial(memory.recall_explain, "alpha", query, preview=True)) for _ in range(_ROUNDS))
            for query in queries
        ]
    name = "the same recalls in this process"
    base = percentile(plain, 0.5)
    yield Row(f"adapter search, {_FACTS:,} facts, p50", percentile(times, 0.5), 0.015, "ms", name, base)
    yield Row(f"adapter search, {_FACTS:,} facts, p99", percentile(times, 0.99), None, "ms", name, base)


def _search_time(supervisor: Supervisor, query: str) -> float:
    params = SearchParams(query, SearchFilters(), 8, SystemClock().now_ns() + 30 * NS_PER_S)
    return seconds(lambda: supervisor.search("mem", params))
