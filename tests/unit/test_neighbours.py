"""Which vectors lie close together: exact where there are few, nearly all pairs where there are many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gm_engine.consolidation.neighbours import EXACT_BELOW, Pairs, close_pairs
from gm_engine.consolidation.steps import run
from gm_engine.progress import no_progress

FLOOR = 0.95


def normalised(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    made: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return made


def crowd(count: int, *, twins: int) -> NDArray[np.float32]:
    """Vectors that have nothing to do with each other, the first `twins` of them with a near copy at the end."""
    random = np.random.default_rng(7)
    apart = random.standard_normal((count - twins, 64))
    return normalised(np.vstack([apart, apart[:twins] + random.standard_normal((twins, 64)) * 0.02]))


def found(vectors: NDArray[np.float32], fresh: NDArray[np.bool_] | None = None) -> set[tuple[int, int]]:
    pairs: Pairs = run(close_pairs(vectors, floor=FLOOR, fresh=fresh), progress=no_progress, cancel=None)
    return set(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True))


def test_few_vectors_are_all_compared() -> None:
    vectors = crowd(300, twins=20)
    assert found(vectors) == {(number, 280 + number) for number in range(20)}
    assert found(vectors[:1]) == set()
    assert found(vectors[:0]) == set()


def test_of_many_vectors_hardly_a_close_pair_is_missed_and_none_is_made_up() -> None:
    count, twins = EXACT_BELOW + 500, 200
    wanted = {(number, count - twins + number) for number in range(twins)}
    pairs = found(crowd(count, twins=twins))
    assert pairs <= wanted
    assert len(pairs) >= 0.9 * twins


def test_with_few_fresh_vectors_only_their_pairs_are_looked_for() -> None:
    vectors = crowd(400, twins=20)
    fresh = np.zeros(400, np.bool_)
    fresh[[3, 381]] = True
    assert found(vectors, fresh) == {(3, 383), (1, 381)}
