"""Laws of vector search: every path gives the answer of the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gm_engine.vectors.exact import ExactIndex
from gm_engine.vectors.outline import Outline
from gm_engine.vectors.planner import VectorPlanner
from tests.contract.vector_tables import ListedNeighbours, brute_force, extend, table_of


@st.composite
def searches(draw: st.DrawFn) -> tuple[NDArray[np.int16], NDArray[np.int16], list[int], list[int], int, int]:
    """Codes with many ties, a query, eligible rows with gaps and repeats, their ties, a count, and the index's lag."""
    size = draw(st.integers(1, 60))
    dims = draw(st.integers(1, 6))
    code = st.sampled_from([-32767, -20000, -1, 0, 1, 2, 20000, 32766, 32767])
    pool = draw(st.lists(st.lists(code, min_size=dims, max_size=dims), min_size=1, max_size=12))
    codes = np.array([pool[draw(st.integers(0, len(pool) - 1))] for _ in range(size)], dtype=np.int16)
    query = np.array(draw(st.lists(code, min_size=dims, max_size=dims)), dtype=np.int16)
    rows = draw(st.lists(st.integers(-1, size - 1), max_size=80))
    tie = draw(st.permutations(range(len(rows))))
    return codes, query, rows, list(tie), draw(st.integers(0, 30)), draw(st.integers(0, size))


@given(searches(), st.booleans())
@settings(max_examples=max(150, settings().max_examples))
def test_the_planner_gives_what_brute_force_gives(
    search: tuple[NDArray[np.int16], NDArray[np.int16], list[int], list[int], int, int], filtered: bool
) -> None:
    codes, query, rows, tie, count, lag = search
    planner = VectorPlanner(table_of(codes))
    held = len(codes) - lag
    expected = brute_force(codes, query, rows, tie=tie, count=count)
    for with_index in (False, True):
        if with_index:
            planner.attach(ListedNeighbours(codes[:held], applied_vec_seq=held))
        found = planner.search(
            query, np.array(rows, dtype=np.int32), np.array(tie, dtype=np.int64), count, filtered=filtered
        )
        assert list(zip(found.order.tolist(), found.similarity.tolist(), strict=True)) == expected


@given(searches(), st.sets(st.integers(0, 59), max_size=20))
@settings(max_examples=max(150, settings().max_examples))
def test_a_graph_that_misses_neighbours_still_gives_the_whole_answer(
    search: tuple[NDArray[np.int16], NDArray[np.int16], list[int], list[int], int, int], hidden: set[int]
) -> None:
    codes, query, rows, tie, count, lag = search
    held = len(codes) - lag
    planner = VectorPlanner(table_of(codes))
    planner.attach(ListedNeighbours(codes[:held], applied_vec_seq=held, hidden=hidden))
    found = planner.search(query, np.array(rows, dtype=np.int32), np.array(tie, dtype=np.int64), count, filtered=False)
    event(f"{found.path}, {'some' if hidden else 'nothing'} hidden")
    assert list(zip(found.order.tolist(), found.similarity.tolist(), strict=True)) == brute_force(
        codes, query, rows, tie=tie, count=count
    )


@given(st.integers(1, 400), st.integers(0, 2**32 - 1))
@settings(max_examples=max(60, settings().max_examples))
def test_the_float_prefilter_never_loses_a_hit(dims: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.integers(-32767, 32768, dims)
    # nearly equal vectors: their float32 scores cannot tell them apart
    codes = np.clip(base + rng.integers(-1, 2, (64, dims)), -32767, 32767).astype(np.int16)
    query = np.clip(base + rng.integers(-3, 4, dims), -32767, 32767).astype(np.int16)
    table = table_of(codes)
    exact = codes.astype(np.int64) @ query.astype(np.int64)
    rows = np.arange(64, dtype=np.int32)
    assert table.dot(query, rows).tolist() == exact.tolist()
    for count in (1, 5, 16):
        needed = np.flatnonzero(exact >= np.sort(exact)[-count])
        assert set(needed.tolist()) <= set(table.candidates(query, rows, count).tolist())


@given(
    st.integers(20, 60),
    st.integers(2, 40),
    st.integers(1, 12),
    st.sampled_from([0.0, 0.05, 0.5, 5.0]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=max(150, settings().max_examples))
def test_outlines_never_lose_a_hit(dims: int, clusters: int, count: int, noise: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((clusters, dims))
    vectors = centres[rng.integers(0, clusters, 300)] + noise * rng.standard_normal((300, dims))
    codes = np.round(vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * 32767).astype(np.int16)
    codes[rng.integers(0, 300, 40)] = codes[0]
    table = table_of(codes)
    rows = rng.permutation(np.concatenate([np.arange(300), np.full(20, -1), np.arange(50)])).astype(np.int32)
    tie = rng.permutation(len(rows)).astype(np.int64)
    outline = Outline(table, min_rows=10, directions=dims // 2)
    looked = 0
    for query in codes[:6]:
        found = outline.candidates(query, rows, count)
        expected = ExactIndex(table).search(query, rows, tie=tie, count=count)
        looked += found is not None
        if found is not None:
            assert set(expected.order.tolist()) <= set(found.tolist())
            assert -1 not in rows[found]
        hits = ExactIndex(table, outline=outline).search(query, rows, tie=tie, count=count)
        assert hits.order.tolist() == expected.order.tolist()
        assert hits.similarity.tolist() == expected.similarity.tolist()
    event(f"searches that outlines answered: {looked}")


def test_outlines_of_a_growing_table_rule_out_most_rows_and_wipe_what_is_forgotten() -> None:
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((40, 64)) * np.linspace(3, 0.2, 64)
    vectors = centres[rng.integers(0, 40, 6000)] + 0.3 * rng.standard_normal((6000, 64))
    codes = np.round(vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * 32767).astype(np.int16)
    table = table_of(codes[:5000])
    outline = Outline(table, min_rows=1000, directions=24)
    rows = np.arange(5000, dtype=np.int32)
    searched = [outline.candidates(codes[n], rows, 16) for n in range(8)]
    assert [found is None for found in searched] == [True] * 2 + [False] * 6
    for found, query in zip(searched[2:], codes[2:8], strict=True):
        assert found is not None
        exact = codes[:5000].astype(np.int64) @ query.astype(np.int64)
        assert set(np.flatnonzero(exact > np.sort(exact)[-16]).tolist()) <= set(found.tolist())
        assert len(found) < 600
    extend(table, codes[5000:], first_vec_seq=5001)
    rows = np.arange(6000, dtype=np.int32)
    assert outline.candidates(codes[5500], rows, 16) is not None
    table._forget([table.keys(7, 8)[0]])
    assert outline.candidates(codes[5500], rows, 16) is None
    while (found := outline.candidates(codes[5500], rows, 16)) is None:
        assert outline._state.size < 6000
    assert 5500 in found.tolist()
    assert not outline._state.heads[0][7].any()
