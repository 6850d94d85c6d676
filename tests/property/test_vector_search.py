"""Laws of vector search: every path gives the answer of the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gm_engine.vectors.planner import VectorPlanner
from tests.contract.vector_tables import ListedNeighbours, brute_force, table_of


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
@settings(deadline=None, max_examples=150)
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


@given(st.integers(1, 400), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
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
