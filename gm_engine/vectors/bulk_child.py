"""Run as a child process: fills a new index folder with the ledger's vectors.

python -m gm_engine.vectors.bulk_child DATA_DIR GENERATION TOKEN MODEL THROUGH EF_SEARCH

Chroma holds the interpreter lock while it writes, and a bulk build takes all of a processor: neither belongs into a
process with a window. Progress and outcome are lines of JSON on standard output. It ends early once whoever started it
is gone, which the lock beside the folder tells on every platform.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

import filelock

from gm_engine.clock import SystemClock
from gm_engine.errors import GrayMatterError
from gm_engine.store.database import Ledger
from gm_engine.store.vectors import Model, count_through, find_model, vectors_page
from gm_engine.vectors.chroma import ChromaIndex
from gm_engine.vectors.index import IndexUnavailable
from gm_engine.vectors.places import folder_of, lock_of

BATCH = 1000
SYNC_EVERY = 5000
"""Vectors after which Chroma writes its whole graph to disk; measured: 18 s for 30,000 instead of 30."""


def main(arguments: list[str]) -> int:
    """0 when the folder holds every vector, 1 when it says why it does not."""
    data_dir, generation, token, model_name, through, ef_search = arguments
    starter = filelock.FileLock(lock_of(Path(data_dir), int(generation), token), timeout=0)
    try:
        with Ledger.open(Path(data_dir), clock=SystemClock(), read_only=True) as ledger:
            folder = folder_of(ledger.data_dir, int(generation))
            built = _build(ledger, folder, starter, name=model_name, through=int(through), ef_search=int(ef_search))
    except (GrayMatterError, OSError) as error:
        _say(failed=str(error))
        return 1
    _say(built=built)
    return 0


def _build(
    ledger: Ledger, folder: Path, starter: filelock.BaseFileLock, *, name: str, through: int, ef_search: int
) -> int:
    with ledger.read() as connection:
        model = find_model(connection, name)
        if model is None:
            raise IndexUnavailable(f"the store has no vectors of {name}")
        total = count_through(connection, model, through)
    _check_starter(starter)
    if not folder.is_dir():
        raise IndexUnavailable(f"the folder {folder.name} is gone")
    index = ChromaIndex.open(folder, model=model.name, dims=model.dims, ef_search=ef_search, sync_every=SYNC_EVERY)
    try:
        _fill(ledger, model, index, starter=starter, through=through, total=total)
        return index.recount()
    finally:
        index.close()


def _fill(
    ledger: Ledger, model: Model, index: ChromaIndex, *, starter: filelock.BaseFileLock, through: int, total: int
) -> None:
    after = done = 0
    while True:
        with ledger.read() as connection:  # short reads: a long one would keep the write-ahead log from shrinking
            rows = vectors_page(connection, model, after=after, through=through, limit=BATCH)
        if rows is None:
            return
        _check_starter(starter)
        index.add(rows.keys, rows.codes.astype("float32"))
        after = int(rows.vec_seqs[-1])
        done += len(rows.keys)
        _say(done=done, total=total)


def _check_starter(starter: filelock.BaseFileLock) -> None:
    """Whoever started this process holds the lock for as long as it lives."""
    with suppress(filelock.Timeout), starter:
        raise IndexUnavailable("whoever asked for the build is gone")


def _say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
