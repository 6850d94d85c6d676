"""The fixed orders of a namespace's facts: by id, by age, and newest first; kept as positions, extended in place."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_INSERT_AT_MOST = 256  # more new facts than this are sorted with all the others

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Orders:
    """Permutations of positions, and the place of each position in them.

    `by_id` ascending by id · `by_age` by creation, then id · `newest` by creation descending, then id ascending.
    """

    by_id: Positions
    by_age: Positions
    newest: Positions
    id_rank: Positions
    age_rank: Positions


def make_orders(ids: Sequence[str], created: NDArray[np.int64]) -> Orders:
    """The orders of facts with these ids and creation times."""
    by_id = np.array(sorted(range(len(created)), key=ids.__getitem__), np.int64)
    id_rank = _inverse(by_id)
    by_age = np.lexsort((id_rank, created)).astype(np.int64)
    return _complete(by_id, id_rank, by_age, created)


def extend_orders(orders: Orders, ids: Sequence[str], created: NDArray[np.int64]) -> Orders:
    """The orders after facts were appended; `ids` and `created` hold all of them."""
    old, size = len(orders.by_id), len(created)
    if size - old > _INSERT_AT_MOST:
        return make_orders(ids, created)
    fresh = range(old, size)
    by_id = _inserted(orders.by_id, fresh, lambda at: (0, ids[at]))
    by_age = _inserted(orders.by_age, fresh, lambda at: (int(created[at]), ids[at]))
    return _complete(by_id, _inverse(by_id), by_age, created)


def _inserted(order: Positions, fresh: range, key: Callable[[int], tuple[int, str]]) -> Positions:
    """`order` with fresh positions put where they belong; the indexes all refer to `order` as it was."""
    ranked = sorted(fresh, key=key)
    places = [bisect_left(range(len(order)), key(at), key=lambda place: key(int(order[place]))) for at in ranked]
    return np.insert(order, places, ranked)


def _complete(by_id: Positions, id_rank: Positions, by_age: Positions, created: NDArray[np.int64]) -> Orders:
    """Newest first is the reverse of by age, except that facts of one instant keep their order by id."""
    size = len(by_age)
    times = created[by_age]
    starts = np.flatnonzero(np.concatenate([[True], times[1:] != times[:-1]])) if size else np.zeros(0, np.int64)
    ends = np.concatenate([starts[1:], [size]])[: len(starts)]
    shift = np.repeat(size - ends - starts, ends - starts)
    newest = np.empty(size, np.int64)
    newest[np.arange(size) + shift] = by_age
    return Orders(by_id, by_age, newest, id_rank, _inverse(by_age))


def _inverse(order: Positions) -> Positions:
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
