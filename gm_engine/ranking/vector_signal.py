"""The vector signal: which facts are nearest to the query, and how many could be looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gm_engine.embedding.embedder import QueryVectors
from gm_engine.errors import EmbeddingFailed
from gm_engine.ranking.snapshot import Snapshot, View
from gm_engine.vectors.planner import VectorPlanner
from gm_engine.vectors.table import VectorTable


@dataclass(frozen=True, slots=True)
class VectorSignal:
    """`ranks` has one element per fact of the view; `dots` the integer similarity of those that have a rank."""

    ranks: NDArray[np.int64]
    with_vector: int
    path: Literal["exact", "chroma", "none"]
    reason: str
    dots: dict[int, int] = field(default_factory=dict)


def no_vectors(view: View, reason: str, *, with_vector: int = 0) -> VectorSignal:
    """The signal when nothing can be searched."""
    return VectorSignal(np.zeros(view.count, np.int64), with_vector, "none", reason)


def rows_of(snapshot: Snapshot, table: VectorTable) -> NDArray[np.int32]:
    """The table's row of every position, -1 without a vector; only what is new or was missing is looked up.

    Not safe to call twice at once on snapshots of one namespace.
    """
    known = snapshot.vector_rows
    vec_seq = table.vec_seq
    if known.table is not table or known.forgotten != table.forgotten:
        known.table, known.forgotten, known.rows = table, table.forgotten, np.zeros(0, np.int32)
    done = len(known.rows)
    if known.vec_seq != vec_seq and done:
        missing = np.flatnonzero(known.rows[: snapshot.size] < 0)
        found = known.rows.copy()
        found[missing] = table.rows([snapshot.text_key(int(at)) for at in missing])
        known.rows = found
    if done < snapshot.size:
        fresh = snapshot.text_keys[done : snapshot.size].tobytes()
        keys = [fresh[at : at + 16] for at in range(0, len(fresh), 16)]
        known.rows = np.concatenate([known.rows, table.rows(keys)])
    known.vec_seq = vec_seq
    return known.rows[: snapshot.size]


def search_vectors(
    planner: VectorPlanner,
    queries: QueryVectors,
    view: View,
    *,
    rows: NDArray[np.int32],
    text: str,
    count: int,
    filtered: bool,
) -> VectorSignal:
    """Ranks the `count` nearest facts of `view`; `rows` is the table's row of each of them.

    An embedder that fails is said in `reason`; with a filter it is an error, `EmbeddingFailed`, because a filtered
    answer must be complete.
    """
    with_vector = int(np.count_nonzero(rows >= 0))
    try:
        codes = queries.codes(text)
    except EmbeddingFailed as error:
        if filtered:
            raise
        return no_vectors(view, error.message, with_vector=with_vector)
    if planner.table.dims and len(codes) != planner.table.dims:
        reason = f"the model now gives {len(codes)} dimensions, the store's vectors have {planner.table.dims}"
        if filtered:
            raise EmbeddingFailed(f"Vectors cannot be compared: {reason}.", model=planner.table.model)
        return no_vectors(view, reason, with_vector=with_vector)
    hits = planner.search(codes, rows, view.id_rank, count, filtered=filtered)
    ranks = np.zeros(view.count, np.int64)
    ranks[hits.order] = np.arange(1, len(hits.order) + 1)
    dots = dict(zip(hits.order.tolist(), hits.similarity.tolist(), strict=True))
    return VectorSignal(ranks, with_vector, hits.path, hits.reason, dots)
