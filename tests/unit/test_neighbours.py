"""Which vectors lie close together: exact where there are few, nearly all pairs where there are many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gm_engine.consolidation.neighbours import EXACT_BELOW, GATHERED, FactVectors, Pairs, close_pairs, close_to
from gm_engine.consolidation.steps import Steps, run
from gm_engine.progress import no_progress
from gm_engine.store.vectors import VectorRows
from gm_engine.vectors.table import VectorTable

FLOOR = 0.95


def normalised(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    made: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return made


def crowd(count: int, *, twins: int) -> NDArray[np.float32]:
    """Vectors that have nothing to do with each other, the first `twins` of them with a near copy at the end."""
    random = np.random.default_rng(7)
    apart = random.standard_normal((count - twins, 64))
    return normalised(np.vstack([apart, apart[:twins] + random.standard_normal((twins, 64)) * 0.02]))


def pairs_of(steps: Steps[Pairs]) -> set[tuple[int, int]]:
    pairs = run(steps, progress=no_progress, cancel=None)
    return set(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True))


def found(vectors: NDArray[np.float32]) -> set[tuple[int, int]]:
    return pairs_of(close_pairs(vectors, floor=FLOOR))


def kept(vectors: NDArray[np.float32]) -> FactVectors:
    """The same in a table, in another order, with a text in front that has no vector."""
    codes = np.rint(vectors[::-1] * 32767).astype(np.int16)
    keys = tuple(number.to_bytes(16, "big") for number in range(len(vectors)))
    table = VectorTable("scripted", vectors.shape[1])
    table.append(VectorRows(np.arange(1, len(keys) + 1), keys, codes))
    return FactVectors(table, [b"none", *reversed(keys)])


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


def test_of_few_fresh_vectors_the_pairs_with_any_other_are_found() -> None:
    vectors = kept(crowd(GATHERED + 400, twins=20))
    last = GATHERED + 381
    steps = close_to(vectors, np.array([0, 4, last + 1]), floor=FLOOR)
    assert pairs_of(steps) == {(4, last + 3), (2, last + 1)}
    assert pairs_of(close_to(vectors, np.array([], np.int64), floor=FLOOR)) == set()


def test_of_a_fresh_vector_that_many_are_close_to_the_closest_are_kept() -> None:
    random = np.random.default_rng(3)
    near = np.ones((1, 64)) + random.standard_normal((GATHERED + 100, 64)) * 0.05
    vectors = kept(normalised(np.vstack([np.ones((1, 64)), near])))
    everything = np.arange(1, len(vectors))
    scores = (vectors.at(np.array([1])) @ vectors.at(everything).T)[0]
    best = everything[np.argsort(-scores)][1:9]
    assert pairs_of(close_to(vectors, np.array([1]), floor=FLOOR)) == {(1, other) for other in best.tolist()}


def test_a_text_without_a_vector_has_zeros_and_the_others_are_normalised() -> None:
    vectors = kept(crowd(30, twins=0))
    gathered = run(vectors.all(), progress=no_progress, cancel=None)
    assert np.allclose(np.linalg.norm(gathered, axis=1), [0.0, *[1.0] * 30])
    assert np.array_equal(gathered, vectors.at(np.arange(31)))
    assert not vectors.are_none
    assert FactVectors(VectorTable("scripted", 64), [b"none"]).are_none
