"""Whether the vector index gives the answers of the exact scan; this check puts right what it finds."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from gm_engine.clock import Clock
from gm_engine.config import Config
from gm_engine.doctor.findings import Finding, Outcome, Verdict, judge
from gm_engine.embedding.embedder import Embedder
from gm_engine.errors import StoreBusy, VectorIndexFailed
from gm_engine.memory import Memory
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import Origin, VectorExam
from gm_engine.store.database import BUSY_TIMEOUT_S, Ledger
from gm_engine.store.vectors import drop_model, stored_models

CHECK = "vector paths"
_OLDER = (
    "SELECT m.name, count(v.vec_seq), coalesce(sum(length(v.data)), 0) FROM models m"
    " JOIN vectors v ON v.model_id = m.id WHERE m.state = 'old' GROUP BY m.id ORDER BY m.id"
)


def check_older_models(connection: Connection) -> Outcome:
    """Vectors of models that were replaced: kept for whoever goes back, and of no other use."""
    kept = (
        f"{count:,} vectors of {name}, which was replaced, take {size / 1e6:,.1f} MB"
        for name, count, size in connection.exec_driver_sql(_OLDER)
    )
    return judge(kept, sound="every vector is of the model in use", verdict=Verdict.NOTICE)


def drop_older_models(ledger: Ledger, origin: Origin, progress: Progress) -> None:
    """Deletes models that were replaced, with their vectors."""
    del origin  # vectors are bookkeeping: the journal does not know them
    with ledger.bookkeep(timeout_s=BUSY_TIMEOUT_S) as connection:
        older = [model for model in stored_models(connection) if model.state == "old"]
        for done, model in enumerate(older):
            progress(done, len(older), "Dropping vectors of older models")
            drop_model(connection, model)


def examine_vector_paths(
    data_dir: Path,
    *,
    config: Config | None = None,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    origin: Origin | None = None,
    progress: Progress = no_progress,
    cancel: CancelToken | None = None,
) -> Finding:
    """Samples queries and compares both paths; see `Memory.examine_vectors`. Raises what opening the store raises.

    An index that another process has open, or that cannot be used here, is a notice: answers are exact then.
    """
    with Memory.open(
        data_dir, config=config, background=False, embedder=embedder, clock=clock, origin=origin
    ) as memory:
        try:
            exam = memory.examine_vectors(progress=progress, cancel=cancel)
        except (StoreBusy, VectorIndexFailed) as error:
            return Finding(CHECK, Verdict.NOTICE, f"not compared: {error.message}")
    return Finding(CHECK, Verdict.NOTICE if exam.rebuilt else Verdict.SOUND, _sentence(exam))


def _sentence(exam: VectorExam) -> str:
    if exam.reason:
        return f"not compared: {exam.reason}"
    figures = (
        f"{exam.queries:,} searches over {exam.vectors:,} vectors, {exam.different:,} with another order of the first"
        f" {exam.depth}, {exam.unsure:,} left to the exact scan; recall@{exam.depth} {exam.recall:.4f}"
        f" at ef_search {exam.ef_search:,}"
    )
    if exam.is_exact_now:
        return f"the index was built anew and still differs: the store asks for exact searches from now on; {figures}"
    return f"the index was wrong and was built anew; now {figures}" if exam.rebuilt else figures
