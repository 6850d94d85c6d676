"""The examination of a vector index: compared, built anew to search wider if it is wrong, given up if that fails."""

from __future__ import annotations

from time import monotonic

from gm_engine.progress import CancelToken, Progress
from gm_engine.records import VectorExam
from gm_engine.store.database import Ledger
from gm_engine.store.vectors import find_model
from gm_engine.vectors.comparison import DEPTH, compare_paths
from gm_engine.vectors.feed import ChromaFeed
from gm_engine.vectors.index import IndexUnavailable
from gm_engine.vectors.table import VectorTable

WIDER = 2
"""How much wider an index searches that was built anew."""

_STEP_S = 0.1


def nothing_to_examine(reason: str) -> VectorExam:
    """The exam of a store whose searches are all exact."""
    return VectorExam(0, 0, DEPTH, 0, 0, 1.0, 0, reason=reason)


def examine_index(
    ledger: Ledger, feed: ChromaFeed, table: VectorTable, *, progress: Progress, cancel: CancelToken
) -> VectorExam:
    """Examines the index of `table`, which must be up to date. Only while holding the indexer lock.

    Raises `IndexUnavailable` when there is no index to be had, `Cancelled`, or what the ledger raises.
    """
    if table.remembered(table.size) == 0:
        return nothing_to_examine("no text has a vector yet")
    exam = _examined(feed, table, progress=progress, cancel=cancel)
    if exam.different == 0:
        return exam
    with ledger.read() as connection:
        model = find_model(connection, table.model)
    if model is None:
        raise IndexUnavailable("the store has no vectors of its model any more")
    feed.begin_anew(model, ef_search=WIDER * exam.ef_search)
    again = _examined(feed, table, progress=progress, cancel=cancel)
    return VectorExam(
        again.vectors,
        again.queries,
        again.depth,
        again.different,
        again.unsure,
        again.recall,
        again.ef_search,
        rebuilt=True,
        is_exact_now=again.different > 0,
    )


def _examined(feed: ChromaFeed, table: VectorTable, *, progress: Progress, cancel: CancelToken) -> VectorExam:
    while feed.fill_until(monotonic() + _STEP_S):
        state = feed.progress()
        progress(state.done, state.total, "building the vector index" if state.is_building else "indexing")
        cancel.check()
    folder = feed.folder()
    if folder is None:
        raise IndexUnavailable(feed.error or "it cannot be opened")
    found = compare_paths(table, folder.index, progress=progress, cancel=cancel)
    return VectorExam(
        folder.index.count(),
        found.queries,
        found.depth,
        found.different,
        found.unsure,
        found.recall,
        folder.ef_search,
    )
