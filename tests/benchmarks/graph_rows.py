"""The graph: how well and how fast entities are found, how fast the graph is laid out, opened and panned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from gm_engine import Config, EmbeddingMode, Memory
from gm_engine.graph.extraction import Extractor, KnownNames
from gm_engine.graph.layout import layout
from gm_engine.records import Edge, Entity, Origin
from gm_engine.store.database import Ledger
from gm_engine.store.entities import upsert_edges, upsert_entities
from tests.benchmarks.generator import Generator, build_store
from tests.benchmarks.table import ROOT, Row, best, process
from tests.fakes.clock import FrozenClock
from tests.fakes.labelled_facts import score

FACTS = 10_000
_WINDOW = ROOT / "tests" / "benchmarks" / "graph_window.py"
_KINDS = ("person", "organization", "project", "place", "reference", "concept")


def quality(_: Path) -> Iterator[Row]:
    """The hundred labelled facts."""
    found = score()
    print(f"extraction: {found.hits} right, {found.extra} too many, {found.missed} missed of 100 labelled facts\n")
    typed = "with the right type"
    yield Row("precision of extraction", found.precision, 0.85, "score", typed, found.typed_precision, at_least=True)
    yield Row("recall of extraction", found.recall, 0.6, "score", typed, found.typed_recall, at_least=True)


def extracting(folder: Path) -> Iterator[Row]:
    """Facts per second, written to the ledger, against reading alone."""
    store = build_store(folder / "10k-graph", FACTS, vectors=False)
    texts = [Generator().text(number) for number in range(2_000)]
    extractor, names = Extractor(), KnownNames()
    reading = best(lambda: [extractor.read(text, names) for text in texts], times=2)
    with Memory.open(store, background=False, config=Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)) as memory:
        start, cpu = perf_counter(), process_time()
        report = memory.graph.extract()
        taken, cpu = perf_counter() - start, process_time() - cpu
    name = "rules alone, without the ledger"
    yield Row(
        "facts extracted per second", report.facts / taken, 1_000, "count", name, len(texts) / reading, at_least=True
    )
    yield Row(
        "the same per second of processor",
        report.facts / cpu,
        1_000,
        "count",
        name,
        len(texts) / reading,
        at_least=True,
    )


def laying_out(_: Path) -> Iterator[Row]:
    """5,000 nodes: CPU seconds, against one step over every pair of them."""
    links = random_links(5_000, 10_000)
    start = process_time()
    layout(5_000, links)
    taken = process_time() - start
    places = np.random.default_rng(1).normal(size=(5_000, 2))
    pairs = best(lambda: np.add.reduce((places[:, None, :] - places[None, :, :]) ** 2, axis=2), times=1)
    yield Row("layout of 5,000 nodes (CPU)", taken, 0.7, "s", "all distances once", pairs)


def page(folder: Path) -> Iterator[Row]:
    """The window's own page."""
    store = graph_store(folder / "graph-5000", 5_000)
    for what in ("graph page, 5,000 nodes, laid out", "graph page, 5,000 nodes, again"):
        wall, cpu, nodes = process(_WINDOW, "open", store).split()
        assert int(nodes) == 5_000
        yield Row(what, float(wall), 1.5, "s", "processor time of the same", float(cpu))
    small = graph_store(folder / "graph-2000", 2_000)
    rate, longest = process(_WINDOW, "pan", small).split()
    screen = 60.0
    yield Row("frames per second while panning", float(rate), 30, "count", "a screen", screen, at_least=True)
    yield Row("longest frame while panning", float(longest) / 1000, 0.1, "ms", "mean frame", 1 / float(rate))


def random_links(count: int, links: int) -> list[tuple[int, int]]:
    """Links as graphs have them: a few hubs, many leaves."""
    rng = np.random.default_rng(3)
    first = rng.integers(1, count, links)
    second = (first * rng.random(links) ** 2).astype(int)
    return list(zip(first.tolist(), second.tolist(), strict=True))


def graph_store(path: Path, count: int) -> Path:
    """A store that holds nothing but a graph, not laid out yet."""
    ids = [f"entity {number}" for number in range(count)]
    entities = [
        Entity(each, each.title(), _KINDS[at % len(_KINDS)], 1, 1, 1.0, "import") for at, each in enumerate(ids)
    ]
    edges = [
        Edge(ids[one], ids[other], "related_to", 1, 1.0, "import")
        for one, other in dict.fromkeys(random_links(count, 2 * count))
        if one != other
    ]
    with Ledger.open(path, clock=FrozenClock()) as ledger, ledger.write("import", origin=Origin("import")) as tx:
        upsert_entities(tx, entities)
        upsert_edges(tx, edges)
    return path
