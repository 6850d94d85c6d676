"""The folders of the vector index, `vectors/<generation>/`: which one is current, made anew when it cannot be trusted.

An index is a projection: whenever something about it is in doubt, a new generation is begun and filled again from the
ledger, and the old folder is removed. Call these functions only while holding the indexer lock.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from gm_engine.store.database import Ledger
from gm_engine.store.vectors import IndexPointer, Model, index_pointer, set_index_pointer
from gm_engine.vectors.chroma import EF_SEARCH, ChromaIndex, library
from gm_engine.vectors.index import IndexUnavailable
from gm_engine.vectors.table import VectorTable

FOLDER = "vectors"
_OPEN_MARK = "in-use"
_PROBE_TIMEOUT_S = 60.0


def open_index(ledger: Ledger, table: VectorTable, model: Model) -> tuple[ChromaIndex, int]:
    """The model's index, ready for search and filling, and its generation. Raises `IndexUnavailable` or `OSError`."""
    with ledger.read() as connection:
        pointer = index_pointer(connection, model)
    index = None if pointer is None else _reopened(ledger, table, model, pointer)
    if pointer is not None and index is not None:
        generation = pointer.generation
    else:
        index, generation = _begun(ledger, model, 0 if pointer is None else pointer.generation)
    try:
        _mark(ledger, generation).touch()
        _remove_others(ledger, generation)
    except OSError:
        index.close()
        raise
    return index, generation


def close_index(ledger: Ledger, index: ChromaIndex, generation: int) -> None:
    """Closes the index and notes that it was closed in order."""
    index.close()
    with suppress(OSError):  # the mark only costs a probe next time
        _mark(ledger, generation).unlink(missing_ok=True)


def move_pointer(ledger: Ledger, model: Model, *, generation: int, applied_vec_seq: int) -> None:
    """Notes that the index of that generation has every vector up to `applied_vec_seq`."""
    with ledger.bookkeep() as connection:
        set_index_pointer(connection, model, IndexPointer(generation, applied_vec_seq, EF_SEARCH, library()))


def give_up(ledger: Ledger, model: Model, *, generation: int) -> None:
    """Makes the next `open_index` begin a new generation."""
    with ledger.bookkeep() as connection:
        set_index_pointer(connection, model, IndexPointer(generation, 0, EF_SEARCH, "given up"))


def _reopened(ledger: Ledger, table: VectorTable, model: Model, pointer: IndexPointer) -> ChromaIndex | None:
    """The index that `pointer` names, or None when it does not hold what the ledger says."""
    folder = _folder(ledger, pointer.generation)
    wanted = (library(), EF_SEARCH)
    if (pointer.library, pointer.ef_search) != wanted or pointer.applied_vec_seq > table.vec_seq or not folder.is_dir():
        return None
    if _mark(ledger, pointer.generation).exists() and not _survives_probe(folder, model):
        return None
    try:
        index = ChromaIndex.open(folder, model=model.name, dims=model.dims)
    except IndexUnavailable:
        return None
    if index.count() < table.rows_through(pointer.applied_vec_seq):
        index.close()
        return None
    index.applied_vec_seq = pointer.applied_vec_seq
    return index


def _begun(ledger: Ledger, model: Model, last_generation: int) -> tuple[ChromaIndex, int]:
    generation = last_generation + 1
    while _folder(ledger, generation).exists():
        generation += 1
    index = ChromaIndex.open(_folder(ledger, generation), model=model.name, dims=model.dims)
    try:
        move_pointer(ledger, model, generation=generation, applied_vec_seq=0)
    except BaseException:
        index.close()
        raise
    return index, generation


def _survives_probe(folder: Path, model: Model) -> bool:
    """Opens and queries the folder in a child process: a damaged index can end the process that touches it.

    A frozen program has no interpreter to start; there the folder counts as damaged.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        return False
    command = [sys.executable, "-m", "gm_engine.vectors.probe", str(folder), model.name, str(model.dims)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        ended = subprocess.run(  # noqa: S603 - our own interpreter and module
            command,
            env=environment,
            timeout=_PROBE_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0


def _remove_others(ledger: Ledger, generation: int) -> None:
    """Removes the folders of other generations; what cannot be removed now is tried again next time."""
    for entry in (ledger.data_dir / FOLDER).iterdir():
        if entry.name.partition(".")[0] not in ("", str(generation)):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _folder(ledger: Ledger, generation: int) -> Path:
    return ledger.data_dir / FOLDER / str(generation)


def _mark(ledger: Ledger, generation: int) -> Path:
    return ledger.data_dir / FOLDER / f"{generation}.{_OPEN_MARK}"
