"""One suite for every way to search vectors: the exact scan, Chroma in this process, and the planner over both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gm_engine.embedding.embedder import quantise
from gm_engine.vectors.chroma import ChromaIndex
from gm_engine.vectors.exact import ExactIndex
from gm_engine.vectors.index import IndexUnavailable, VectorIndex
from gm_engine.vectors.planner import VectorPlanner
from gm_engine.vectors.prefix import MAX_BESIDE, PrefixIndex
from gm_engine.vectors.table import BLOCK_ROWS, VectorTable
from tests.contract.vector_tables import ListedNeighbours, brute_force, extend, key_of, table_of

DIMS = 24
MakeIndex = Callable[[NDArray[np.int16]], tuple[VectorTable, VectorIndex]]


def vectors(count: int, *, seed: int = 7) -> NDArray[np.int16]:
    """Codes around a few centres, so that neighbours are unevenly near, as those of real texts are."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((8, DIMS))
    points = centres[rng.integers(0, 8, count)] + 0.6 * rng.standard_normal((count, DIMS))
    return quantise((points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32))


@pytest.fixture(params=["exact", "chroma"])
def make_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeIndex]:
    opened: list[ChromaIndex] = []

    def make(codes: NDArray[np.int16]) -> tuple[VectorTable, VectorIndex]:
        table = table_of(codes)
        if request.param == "exact":
            return table, ExactIndex(table)
        chroma = ChromaIndex.open(tmp_path / "vectors" / str(len(opened)), model="test", dims=DIMS)
        opened.append(chroma)
        for start in range(0, len(codes), 500):
            stop = min(start + 500, len(codes))
            chroma.upsert([key_of(row) for row in range(start, stop)], codes[start:stop].astype(np.float32))
        chroma.applied_vec_seq = table.vec_seq
        return table, PrefixIndex(table, chroma)

    yield make
    for chroma in opened:
        chroma.close()


def hits(
    index: VectorIndex, query: NDArray[np.int16], rows: list[int], *, count: int, tie: list[int] | None = None
) -> list[tuple[int, int]]:
    found = index.search(
        query,
        np.array(rows, dtype=np.int32),
        tie=np.array(range(len(rows)) if tie is None else tie, dtype=np.int64),
        count=count,
    )
    assert found.path == index.path
    return list(zip(found.order.tolist(), found.similarity.tolist(), strict=True))


def test_the_nearest_come_in_the_order_of_their_integer_dot_products(make_index: MakeIndex) -> None:
    codes = vectors(700)
    _, index = make_index(codes)
    for query in vectors(20, seed=8):
        rows = list(range(700))
        assert hits(index, query, rows, count=16) == brute_force(codes, query, rows, tie=rows, count=16)


def test_equal_similarities_are_decided_by_the_tie(make_index: MakeIndex) -> None:
    codes = vectors(200)
    codes[50:90] = codes[50]
    _, index = make_index(codes)
    rows = list(range(200))
    tie = [(row * 71) % 200 for row in rows]
    assert hits(index, codes[50], rows, count=12, tie=tie) == brute_force(codes, codes[50], rows, tie=tie, count=12)


def test_facts_that_share_a_text_are_all_ranked(make_index: MakeIndex) -> None:
    codes = vectors(100)
    _, index = make_index(codes)
    rows = [*range(100), *([3] * 30)]
    tie = list(reversed(range(130)))
    assert hits(index, codes[3], rows, count=40, tie=tie) == brute_force(codes, codes[3], rows, tie=tie, count=40)


def test_facts_without_a_vector_never_come_back(make_index: MakeIndex) -> None:
    codes = vectors(60)
    _, index = make_index(codes)
    rows = [row if row % 2 else -1 for row in range(60)]
    found = hits(index, codes[0], rows, count=60)
    assert found == brute_force(codes, codes[0], rows, tie=list(range(60)), count=60)
    assert len(found) == 30


def test_only_eligible_rows_come_back_however_near_the_others_are(make_index: MakeIndex) -> None:
    codes = vectors(400)
    _, index = make_index(codes)
    query = vectors(1, seed=9)[0]
    nearest = [row for row, _ in brute_force(codes, query, range(400), tie=range(400), count=150)]
    rows = [row for row in range(400) if row not in nearest]
    assert hits(index, query, rows, count=16) == brute_force(codes, query, rows, tie=list(range(250)), count=16)


def test_asking_for_more_than_there_is_gives_all(make_index: MakeIndex) -> None:
    codes = vectors(5)
    _, index = make_index(codes)
    assert hits(index, codes[2], [4, 2, 0], count=50) == brute_force(
        codes, codes[2], [4, 2, 0], tie=[0, 1, 2], count=50
    )


def test_no_rows_and_no_count_give_nothing(make_index: MakeIndex) -> None:
    codes = vectors(5)
    _, index = make_index(codes)
    assert hits(index, codes[0], [], count=8) == []
    assert hits(index, codes[0], [0, 1], count=0) == []


def test_vectors_that_came_after_the_index_are_found_beside_it(make_index: MakeIndex) -> None:
    codes = vectors(150)
    table, index = make_index(codes[:120])
    extend(table, codes[120:], first_vec_seq=500)
    rows = list(range(150))
    for query in codes[118:124]:
        assert hits(index, query, rows, count=10) == brute_force(codes, query, rows, tie=rows, count=10)


def test_extreme_codes_do_not_overflow(make_index: MakeIndex) -> None:
    codes = np.full((3, DIMS), 32767, dtype=np.int16)
    codes[1] = -32767
    codes[2] = 0
    _, index = make_index(codes)
    assert hits(index, codes[0], [0, 1, 2], count=3) == [(0, 32767**2 * DIMS), (2, 0), (1, -(32767**2) * DIMS)]


def test_an_index_that_lags_too_far_does_not_answer() -> None:
    codes = np.ones((MAX_BESIDE + 2, 2), dtype=np.int16)
    table = table_of(codes)
    index = PrefixIndex(table, ListedNeighbours(codes[:1], applied_vec_seq=1))
    with pytest.raises(IndexUnavailable):
        hits(index, codes[0], list(range(len(codes))), count=4)


def test_rows_are_found_across_blocks() -> None:
    codes = vectors(2 * BLOCK_ROWS + 10)
    table = table_of(codes)
    rows = [*range(BLOCK_ROWS - 3, BLOCK_ROWS + 3), 2 * BLOCK_ROWS + 5, 0]
    expected = brute_force(codes, codes[BLOCK_ROWS], rows, tie=range(8), count=8)
    assert hits(ExactIndex(table), codes[BLOCK_ROWS], rows, count=8) == expected
    everything = np.arange(len(codes), dtype=np.int32)
    found = ExactIndex(table).search(codes[BLOCK_ROWS], everything, tie=everything.astype(np.int64), count=1)
    assert found.order.tolist() == [BLOCK_ROWS]


def plan(
    planner: VectorPlanner, query: NDArray[np.int16], rows: list[int], *, filtered: bool = False
) -> tuple[str, list[int]]:
    found = planner.search(
        query, np.array(rows, dtype=np.int32), np.arange(len(rows), dtype=np.int64), 4, filtered=filtered
    )
    return found.path, found.order.tolist()


def test_the_planner_asks_the_index_only_for_broad_unfiltered_searches() -> None:
    codes = vectors(100)
    planner = VectorPlanner(table_of(codes))
    everything = list(range(100))
    expected = [position for position, _ in brute_force(codes, codes[9], everything, tie=everything, count=4)]
    assert plan(planner, codes[9], everything) == ("exact", expected)
    planner.attach(ListedNeighbours(codes, applied_vec_seq=100))
    assert plan(planner, codes[9], everything) == ("chroma", expected)
    assert plan(planner, codes[9], everything, filtered=True) == ("exact", expected)
    assert plan(planner, codes[9], everything[:24])[0] == "exact"
    assert plan(planner, codes[9], everything[:25])[0] == "chroma"
    planner.vector_path = "exact"
    assert plan(planner, codes[9], everything) == ("exact", expected)


def test_the_planner_answers_exactly_when_the_index_fails_and_says_why() -> None:
    codes = vectors(50)
    planner = VectorPlanner(table_of(codes))
    neighbours = ListedNeighbours(codes, applied_vec_seq=50)
    planner.attach(neighbours)
    neighbours.broken = True
    rows = np.arange(50, dtype=np.int32)
    found = planner.search(codes[1], rows, rows.astype(np.int64), 5, filtered=False)
    assert (found.path, found.reason) == ("exact", "broken on purpose")
    assert found.order[0] == 1


def test_the_planner_says_that_no_fact_has_a_vector() -> None:
    planner = VectorPlanner(VectorTable("test", DIMS))
    found = planner.search(
        vectors(1)[0], np.full(3, -1, dtype=np.int32), np.arange(3, dtype=np.int64), 5, filtered=False
    )
    assert (found.path, found.order.tolist(), found.reason) == ("none", [], "no fact has a vector yet")


def test_a_crowd_of_equal_vectors_makes_the_prefix_grow() -> None:
    codes = vectors(300)
    codes[:200] = codes[0]
    neighbours = ListedNeighbours(codes, applied_vec_seq=300)
    planner = VectorPlanner(table_of(codes))
    planner.attach(neighbours)
    rows = np.arange(300, dtype=np.int32)
    tie = np.arange(300, dtype=np.int64)[::-1].copy()
    found = planner.search(codes[0], rows, tie, 4, filtered=False)
    assert (found.path, found.order.tolist()) == ("chroma", [199, 198, 197, 196])
    assert neighbours.asked == [16, 32, 64, 128, 256]
