"""MCP servers against their bars: how soon one says hello, and what a search costs over its pipes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

from gm_engine import Memory
from tests.benchmarks.generator import Generator, build_store
from tests.benchmarks.table import Row, best, percentile, process, seconds
from tests.fakes.mcp_peer import raw_server

FACTS = 30_000
QUERIES = 100
AGENT = "alpha"


def hello(folder: Path) -> Iterator[Row]:
    """From the start of the process to the answer to `initialize`."""
    store = build_store(folder / "30k", FACTS)

    def first_answer() -> float:
        start = perf_counter()
        with raw_server(store) as server:
            server.initialize()
            return perf_counter() - start

    measured = min(first_answer() for _ in range(3))
    imports = best(lambda: process("-c", "import mcp.server.lowlevel"))
    yield Row("`initialize` answered after the start", measured, 2.0, "s", "importing the SDK", imports)


def searches(folder: Path) -> Iterator[Row]:
    """`memory_search` in one namespace of 30,000 facts, each query new: embedding, ranking, counting, JSON, pipes."""
    store = build_store(folder / "30k", FACTS)
    queries = [f"{text} {number}" for number, text in enumerate(Generator().queries(QUERIES))]
    with Memory.open(store, background=False) as memory:
        memory.recall(AGENT, "warm up", preview=True)
        direct = [seconds(partial(memory.recall, AGENT, query, preview=True)) for query in queries]
    taken: list[float] = []
    with raw_server(store) as server:
        server.initialize()
        for _ in range(5):
            server.call("memory_search", agent_id=AGENT, query="warm up")
        for query in queries:
            start = perf_counter()
            answer = server.call("memory_search", agent_id=AGENT, query=query)
            taken.append(perf_counter() - start)
            assert answer["structuredContent"]["count"] == 8
    p50, base = percentile(taken, 0.5), percentile(direct, 0.5)
    yield Row(f"memory_search, {FACTS:,} facts, p50", p50, 0.060, "s", "the same recall without MCP", base)
    yield Row(f"memory_search, {FACTS:,} facts, p95", percentile(taken, 0.95), None, "s", "p50", p50)
