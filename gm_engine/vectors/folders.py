"""The folders of the vector index, `vectors/<generation>/`: which one is current, made anew when it cannot be trusted.

An index is a projection: whenever something about it is in doubt, a new generation is begun and filled again from the
ledger, and the old folder is removed. Which generation counts is said by the ledger's pointer, and by nothing else.
Call these functions only while holding the indexer lock.
"""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gm_engine import child
from gm_engine.store.database import Ledger
from gm_engine.store.vectors import IndexPointer, Model, index_pointer, set_index_pointer, vector_state
from gm_engine.vectors.chroma import EF_SEARCH, ChromaIndex, library
from gm_engine.vectors.index import IndexUnavailable, VectorsDropped
from gm_engine.vectors.places import FOLDER, folder_of, mark_of
from gm_engine.vectors.table import VectorTable

DROPPED = "vectors were dropped from the store"
_PROBE_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """An index that this process has open."""

    index: ChromaIndex
    generation: int
    ef_search: int


def reopen(ledger: Ledger, table: VectorTable, model: Model) -> OpenFolder | None:
    """The index that the ledger's pointer names; None when there is none, or when it is not what the ledger says.

    Raises `OSError`.
    """
    with ledger.read() as connection:
        pointer = index_pointer(connection, model)
    if pointer is None:
        return None
    index = _reopened(ledger, table, model, pointer)
    if index is None:
        return None
    return _taken(ledger, OpenFolder(index, pointer.generation, pointer.ef_search))


def begin(ledger: Ledger, table: VectorTable, model: Model) -> OpenFolder:
    """A new, empty index. Raises `IndexUnavailable` or `OSError`."""
    generation, ef_search = next_generation(ledger, model)
    folder = folder_of(ledger.data_dir, generation)
    index = ChromaIndex.open(folder, model=model.name, dims=model.dims, ef_search=ef_search)
    return _named(ledger, table, model, folder=OpenFolder(index, generation, ef_search))


def adopt(
    ledger: Ledger, table: VectorTable, model: Model, *, generation: int, ef_search: int, through: int, count: int
) -> OpenFolder:
    """The index that a child process built, once it holds the `count` vectors up to `through`; the pointer moves to it.

    Raises `VectorsDropped`, `IndexUnavailable` or `OSError`. The old folder is still there: see `remove_others`.
    """
    _check_drops(ledger, table)
    index = ChromaIndex.open(folder_of(ledger.data_dir, generation), model=model.name, dims=model.dims)
    index.applied_vec_seq = through
    if index.count() != count or count < table.remembered(table.rows_through(through)):
        held = index.count()
        index.close()
        raise IndexUnavailable(f"the vector index that was built holds {held:,} vectors instead of {count:,}")
    return _named(ledger, table, model, folder=OpenFolder(index, generation, ef_search))


def next_generation(ledger: Ledger, model: Model) -> tuple[int, int]:
    """A generation that has no folder, and the `ef_search` of its index: a raised one is kept."""
    with ledger.read() as connection:
        pointer = index_pointer(connection, model)
    generation = 1 if pointer is None else pointer.generation + 1
    while folder_of(ledger.data_dir, generation).exists():
        generation += 1
    return generation, EF_SEARCH if pointer is None else max(EF_SEARCH, pointer.ef_search)


def close_folder(ledger: Ledger, folder: OpenFolder) -> None:
    """Closes the index and notes that it was closed in order."""
    folder.index.close()
    with suppress(OSError):  # the mark only costs a probe next time
        mark_of(ledger.data_dir, folder.generation).unlink(missing_ok=True)


def move_pointer(ledger: Ledger, table: VectorTable, model: Model, *, folder: OpenFolder, through: int) -> None:
    """Notes that the index has every vector up to `through`.

    Raises `VectorsDropped` when vectors were dropped from the ledger that this process has not forgotten yet.
    """
    pointer = IndexPointer(folder.generation, through, folder.ef_search, library())
    with ledger.bookkeep() as connection:
        if vector_state(connection).drops != table.drops:
            raise VectorsDropped(DROPPED)
        set_index_pointer(connection, model, pointer)


def give_up(ledger: Ledger, model: Model, *, generation: int, ef_search: int) -> None:
    """Makes the next index a new generation."""
    with ledger.bookkeep() as connection:
        set_index_pointer(connection, model, IndexPointer(generation, 0, ef_search, "given up"))


def remove_others(data_dir: Path, generation: int) -> None:
    """Removes the folders of other generations; what cannot be removed now is tried again next time."""
    for entry in (data_dir / FOLDER).iterdir():
        if entry.name.partition(".")[0] not in ("", str(generation)):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def remove_all(data_dir: Path) -> bool:
    """Removes every index of a store that nobody has open; whether nothing is left."""
    shutil.rmtree(data_dir / FOLDER, ignore_errors=True)
    return not (data_dir / FOLDER).exists()


def _check_drops(ledger: Ledger, table: VectorTable) -> None:
    with ledger.read() as connection:
        if vector_state(connection).drops != table.drops:
            raise VectorsDropped(DROPPED)


def _named(ledger: Ledger, table: VectorTable, model: Model, *, folder: OpenFolder) -> OpenFolder:
    """The pointer moves to `folder`, from one moment to the next."""
    try:
        move_pointer(ledger, table, model, folder=folder, through=folder.index.applied_vec_seq)
    except BaseException:
        folder.index.close()
        raise
    return _taken(ledger, folder)


def _taken(ledger: Ledger, folder: OpenFolder) -> OpenFolder:
    try:
        mark_of(ledger.data_dir, folder.generation).touch()
    except OSError:
        folder.index.close()
        raise
    return folder


def _reopened(ledger: Ledger, table: VectorTable, model: Model, pointer: IndexPointer) -> ChromaIndex | None:
    folder = folder_of(ledger.data_dir, pointer.generation)
    is_ours = pointer.library == library() and pointer.ef_search >= EF_SEARCH
    if not is_ours or pointer.applied_vec_seq > table.vec_seq or not folder.is_dir():
        return None
    if mark_of(ledger.data_dir, pointer.generation).exists() and not _survives_probe(folder, model):
        return None
    try:
        index = ChromaIndex.open(folder, model=model.name, dims=model.dims)
    except IndexUnavailable:
        return None
    if index.count() < table.remembered(table.rows_through(pointer.applied_vec_seq)):
        index.close()
        return None
    index.applied_vec_seq = pointer.applied_vec_seq
    return index


def _survives_probe(folder: Path, model: Model) -> bool:
    """Opens and queries the folder in a child process: a damaged index can end the process that touches it."""
    try:
        ended = subprocess.run(  # noqa: S603 - our own interpreter and module
            child.command(child.PROBE, str(folder), model.name, str(model.dims)),
            env=child.environment(),
            timeout=_PROBE_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0
