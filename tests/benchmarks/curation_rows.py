"""Speeds of consolidation: looking for duplicates in large namespaces, merging many at once, single comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from gm_engine import Memory
from gm_engine.consolidation.candidates import read_text
from gm_engine.consolidation.comparison import compare
from tests.benchmarks.generator import GeneratedEmbedder, Generator, build_store
from tests.benchmarks.table import Row, seconds

SIZES = ((10_000, 20.0), (30_000, 90.0))
TWINS = 1_000
_AGENT = "alpha"


def consolidating(folder: Path) -> Iterator[Row]:
    """A dry cycle over whole namespaces, the longest it goes without a pause, and a thousand merges."""
    for count, limit in SIZES:
        store = build_store(folder / f"{count}-curation", count)
        with Memory.open(store, background=False, embedder=GeneratedEmbedder(Generator(), count)) as memory:
            gaps: list[float] = []
            last = perf_counter()

            def pausing(done: int, total: int | None, what: str, gaps: list[float] = gaps) -> None:
                nonlocal last
                now = perf_counter()
                gaps.append(now - last)
                last = now

            start = perf_counter()
            memory.consolidate(_AGENT, dry_run=True, progress=pausing)
            took = perf_counter() - start
            reading = _reading_s(count)
            yield Row(f"dry cycle over {count:,} facts", took, limit, "s", "reading their texts once", reading)
            yield Row("longest time without a pause", max(gaps), None, "ms", "the median", sorted(gaps)[len(gaps) // 2])
            if count == SIZES[0][0]:
                yield from _merging(memory)


def _reading_s(count: int) -> float:
    texts = [Generator().text(number) for number in range(0, count, 10)]
    return 10 * seconds(lambda: [read_text(text) for text in texts])


def _merging(memory: Memory) -> Iterator[Row]:
    texts = [Generator().text(number) for number in range(TWINS)]
    written = seconds(lambda: [memory.remember(_AGENT, text) for text in texts])
    memory.consolidate(_AGENT, prune=False)
    cards = [card.id for card in memory.inbox.list(kind="exact_duplicate", agent_id=_AGENT)]
    start = perf_counter()
    decision = memory.inbox.accept_many(cards)
    took = perf_counter() - start
    yield Row(f"merging {len(decision.accepted):,} duplicates", took, None, "s", "writing as many facts", written)
    undone = seconds(lambda: memory.undo(decision.seq or 0))
    yield Row("undoing all of them", undone, 1.0, "s", "merging them", took)


def comparing(folder: Path) -> Iterator[Row]:
    """Reading one text and comparing two, the inner loop of a cycle."""
    texts = [Generator().text(number) for number in range(2_000)]
    took = seconds(lambda: [read_text(text) for text in texts]) / len(texts)
    read = [read_text(text).tokens for text in texts]
    compared = seconds(lambda: [compare(one, other, 0.9) for one, other in pairwise(read)]) / len(read)
    yield Row("taking one text apart", took, None, "ms", "comparing two", compared)
