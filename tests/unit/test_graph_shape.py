"""Hubs, bridges, ways and neighbourhoods on graphs one can see at a glance; and where things are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gm_engine import Config, EmbeddingMode, Memory, NotFound
from gm_engine.graph.layout import layout
from tests.fakes.clock import FrozenClock


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as opened:
        yield opened


@pytest.fixture
def barbell(memory: Memory) -> Memory:
    """Two triangles a-b-c and d-e-f, joined by c-d; x alone; y-z apart."""
    for name in "abcdefxyz":
        memory.graph.add(name)
    for first, second in ("ab", "bc", "ca", "de", "ef", "fd", "cd", "yz"):
        memory.graph.link(first, second)
    return memory


def test_the_overview_names_what_holds_the_graph_together(barbell: Memory) -> None:
    barbell.graph.retype(["x"], "person")
    shape = barbell.graph.overview()
    assert (shape.entities, shape.edges, shape.stale) == (9, 8, 0)
    assert shape.types == (("concept", 8), ("person", 1))
    assert shape.hubs[:2] == (("c", 3), ("d", 3))
    assert shape.cut_points == ("c", "d")
    assert shape.bridges == (("c", "d"), ("y", "z"))
    assert shape.orphans == ("x",)
    assert shape.components == (6, 2)


def test_an_empty_graph_has_an_overview(memory: Memory) -> None:
    shape = memory.graph.overview()
    assert (shape.entities, shape.hubs, shape.components) == (0, (), ())
    assert memory.graph.positions() == {}


def test_the_shortest_way_is_found_and_is_the_same_every_time(barbell: Memory) -> None:
    way = barbell.graph.path("a", "f")
    assert way is not None
    assert [entity.id for entity in way.entities] == ["a", "c", "d", "f"]
    assert [{edge.from_id, edge.to_id} for edge in way.edges] == [{"a", "c"}, {"c", "d"}, {"d", "f"}]
    assert barbell.graph.path("a", "f") == way
    alone = barbell.graph.path("a", "a")
    assert alone is not None
    assert alone.edges == ()


def test_no_way_leads_to_another_component_or_over_stale_links(barbell: Memory) -> None:
    assert barbell.graph.path("a", "y") is None
    with pytest.raises(NotFound):
        barbell.graph.path("a", "nobody")
    fact = barbell.remember("ops", "c and d belong together")
    barbell.graph.unlink("c", "d")
    barbell.graph.link("c", "d", "belongs", sources=[fact.id])
    assert barbell.graph.path("a", "f") is not None
    barbell.retire("ops", [fact.id])
    assert barbell.graph.stale() == {("c", "d", "belongs")}
    assert barbell.graph.path("a", "f") is None
    assert barbell.graph.overview().components == (3, 3, 2)


def test_a_neighbourhood_grows_link_by_link(barbell: Memory) -> None:
    near = barbell.graph.neighbourhood("a")
    assert [entity.id for entity in near.entities] == ["a", "c", "b"]
    assert len(near.edges) == 3
    assert {entity.id for entity in barbell.graph.neighbourhood("a", depth=2).entities} == set("abcd")
    few = barbell.graph.neighbourhood("c", depth=9, limit=4)
    assert ([entity.id for entity in few.entities], few.left_out) == (["c", "d", "a", "b"], 2)
    with pytest.raises(NotFound):
        barbell.graph.neighbourhood("nobody")


def test_missing_ends_are_named(barbell: Memory) -> None:
    with barbell._ledger.bookkeep() as connection:
        connection.exec_driver_sql("INSERT INTO edges VALUES ('x', 'ghost', 'r', NULL, 1.0, 'import', 1)")
    near = barbell.graph.neighbourhood("x")
    assert (near.missing, len(near.edges)) == (("ghost",), 1)
    assert barbell.graph.overview().orphans == ("x",)
    assert "x" in barbell.graph.positions()


def test_positions_are_kept_and_new_entities_are_fitted_in(barbell: Memory) -> None:
    first = barbell.graph.positions()
    assert set(first) == set("abcdefxyz")
    assert barbell.graph.positions() == first
    barbell.graph.add("new")
    barbell.graph.link("new", "a")
    second = barbell.graph.positions()
    assert {key: place for key, place in second.items() if key != "new"} == first
    assert np.hypot(*np.subtract(second["new"], first["a"])) < 6
    barbell.graph.place("a", 3.0, 4.0)
    assert barbell.graph.positions()["a"] == (3.0, 4.0)
    assert set(barbell.graph.positions(again=True)) == set(second)


def ring(count: int) -> list[tuple[int, int]]:
    return [(node, (node + 1) % count) for node in range(count)]


@pytest.mark.parametrize("count", [3, 40, 500, 3_000])
def test_a_layout_is_the_same_every_time_and_keeps_neighbours_close(count: int) -> None:
    places = layout(count, ring(count))
    assert (places == layout(count, ring(count))).all()
    assert np.isfinite(places).all()
    steps = np.linalg.norm(places - np.roll(places, -1, axis=0), axis=1)
    rng = np.random.default_rng(1)
    apart = np.linalg.norm(places - places[rng.permutation(count)], axis=1)
    assert count < 10 or np.median(steps) < 0.5 * np.median(apart)


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(0, 30),
    links=st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=60),
    known=st.dictionaries(st.integers(0, 35), st.tuples(st.floats(-50, 50), st.floats(-50, 50)), max_size=12),
)
def test_any_graph_is_laid_out_and_known_places_stay(
    count: int, links: list[tuple[int, int]], known: dict[int, tuple[float, float]]
) -> None:
    inside = [(a, b) for a, b in links if a < count and b < count]
    places = layout(count, inside, known=known)
    assert places.shape == (count, 2)
    assert np.isfinite(places).all()
    assert all(tuple(places[node]) == place for node, place in known.items() if node < count)


def test_of_several_links_between_two_the_heaviest_is_the_way(barbell: Memory) -> None:
    for relation in ("amends", "zips"):
        barbell.graph.link("a", "b", relation)
    with barbell._ledger.bookkeep() as connection:
        connection.exec_driver_sql("UPDATE edges SET weight = 0.5 WHERE relation <> 'amends'")
    way = barbell.graph.path("a", "b")
    assert way is not None
    assert [edge.relation for edge in way.edges] == ["amends"]


def test_a_store_that_is_only_read_is_laid_out_without_a_trace(barbell: Memory) -> None:
    with Memory.open(barbell.data_dir, read_only=True, background=False) as reader:
        placed = reader.graph.positions()
    assert set(placed) == set("abcdefxyz")
    with barbell._ledger.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM positions").scalar() == 0


def test_very_many_small_components_lie_in_rings_around_the_largest() -> None:
    pairs = [(number, number + 1) for number in range(3, 123, 2)]
    distances = np.hypot(*layout(123, [(0, 1), (1, 2), (0, 2), *pairs]).T)
    assert distances[3:].min() > distances[:3].max()
    assert distances[3:].max() > 2 * distances[3:].min()
