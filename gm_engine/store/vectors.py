"""Stored vectors: the models, one row of integer codes per distinct text, and how far the vector index has got.

Everything here is bookkeeping: it can be computed again from the facts' texts, and is not journalled. A text is known
by its `text_key`, so that facts with equal text share one vector. Only live content facts are embedded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from gm_engine.errors import EmbeddingFailed

_ROWS_PER_READ = 2048
_PENDING_CHARS = 4_000_000  # bounds the memory of one list of pending texts, whatever their length

_LIVE = "f.superseded_by = '' AND f.kind <> 'alias'"
_HAS_VECTOR = "EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = ? AND v.text_key = f.text_key)"
_SINCE = (
    "SELECT vec_seq, text_key, data FROM vectors"
    " WHERE model_id = ? AND vec_seq > ? AND length(data) = ? AND length(text_key) = 16 ORDER BY vec_seq"
)
_SET_POINTER = (
    "INSERT INTO vector_index(model_id, generation, applied_vec_seq, ef_search, library) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT(model_id) DO UPDATE SET generation = excluded.generation,"
    " applied_vec_seq = excluded.applied_vec_seq, ef_search = excluded.ef_search, library = excluded.library"
)


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model that the store has vectors of."""

    id: int
    name: str
    dims: int


@dataclass(frozen=True, slots=True)
class PendingText:
    """A text that waits for its vector."""

    key: bytes
    text: str


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Some vectors in the order of their `vec_seq`; codes have the shape (rows, dims)."""

    vec_seqs: NDArray[np.int64]
    keys: tuple[bytes, ...]
    codes: NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class IndexPointer:
    """Which folder under `vectors/` is the index of a model, and the last vector that it holds."""

    generation: int
    applied_vec_seq: int
    ef_search: int
    library: str


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """Distinct texts of live content facts: with a vector, and without."""

    embedded: int
    pending: int


def find_model(connection: Connection, name: str) -> Model | None:
    """The model of that name, if the store ever had vectors of it."""
    row = connection.exec_driver_sql("SELECT id, name, dims FROM models WHERE name = ?", (name,)).first()
    return None if row is None else Model(row[0], row[1], row[2])


def ensure_model(connection: Connection, name: str, dims: int) -> Model:
    """The model of that name, made if it is new. Raises `EmbeddingFailed` when its vectors have another length."""
    model = find_model(connection, name)
    if model is None:
        insert = "INSERT INTO models(name, dims, state) VALUES (?, ?, 'active')"
        model = Model(int(connection.exec_driver_sql(insert, (name, dims)).lastrowid), name, dims)
    if model.dims != dims:
        raise EmbeddingFailed(
            f"The store's vectors of {name} have {model.dims} dimensions, the model now gives {dims}.", model=name
        )
    return model


def insert_vectors(connection: Connection, model: Model, keys: Sequence[bytes], codes: NDArray[np.int16]) -> None:
    """Adds vectors; a text that has one already keeps it, so that every process compares with the same codes."""
    rows = [(model.id, key, code.astype("<i2").tobytes()) for key, code in zip(keys, codes, strict=True)]
    if rows:
        connection.exec_driver_sql("INSERT OR IGNORE INTO vectors(model_id, text_key, data) VALUES (?, ?, ?)", rows)


def newest_vec_seq(connection: Connection) -> int:
    """The last vector of any model; 0 without one."""
    return int(connection.exec_driver_sql("SELECT coalesce(max(vec_seq), 0) FROM vectors").scalar_one())


def vectors_since(connection: Connection, model: Model, vec_seq: int) -> Iterator[VectorRows]:
    """The model's vectors after `vec_seq`, in their order, some thousand at a time."""
    result = connection.exec_driver_sql(_SINCE, (model.id, vec_seq, 2 * model.dims))
    while rows := result.fetchmany(_ROWS_PER_READ):
        seqs, keys, blobs = zip(*rows, strict=True)
        codes = np.frombuffer(b"".join(blobs), dtype="<i2").astype(np.int16, copy=False).reshape(-1, model.dims)
        yield VectorRows(np.array(seqs, dtype=np.int64), tuple(bytes(key) for key in keys), codes)


def pending_texts(
    connection: Connection,
    model_name: str,
    *,
    limit: int,
    agent_id: str | None = None,
    skip: Collection[bytes] = (),
) -> tuple[PendingText, ...]:
    """At most `limit` distinct texts of live facts without a vector, oldest row first, without the keys in `skip`."""
    model = find_model(connection, model_name)
    sql = f"SELECT f.text_key, f.text FROM facts f WHERE {_LIVE} AND NOT {_HAS_VECTOR}"
    parameters: list[object] = [-1 if model is None else model.id]
    if agent_id is not None:
        sql += " AND f.agent_id = ?"
        parameters.append(agent_id)
    found: dict[bytes, PendingText] = {}
    chars = 0
    result = connection.exec_driver_sql(f"{sql} ORDER BY f.no", tuple(parameters))
    try:
        for key, text in result:
            if key not in found and key not in skip:
                found[key] = PendingText(key, text)
                chars += len(text)
                if len(found) >= limit or chars >= _PENDING_CHARS:
                    break
    finally:
        result.close()
    return tuple(found.values())


def vector_counts(connection: Connection, model_name: str) -> VectorCounts:
    """How many distinct live texts have a vector of the model."""
    model = find_model(connection, model_name)
    sql = (
        f"SELECT count(*), coalesce(sum({_HAS_VECTOR}), 0) FROM (SELECT DISTINCT text_key FROM facts f WHERE {_LIVE}) f"
    )
    total, embedded = connection.exec_driver_sql(sql, (-1 if model is None else model.id,)).one()
    return VectorCounts(int(embedded), int(total) - int(embedded))


def index_pointer(connection: Connection, model: Model) -> IndexPointer | None:
    """Where the model's index stands, if it has one."""
    sql = "SELECT generation, applied_vec_seq, ef_search, library FROM vector_index WHERE model_id = ?"
    row = connection.exec_driver_sql(sql, (model.id,)).first()
    return None if row is None else IndexPointer(row[0], row[1], row[2], row[3])


def set_index_pointer(connection: Connection, model: Model, pointer: IndexPointer) -> None:
    """Remembers where the model's index stands; call it only after the index has the vectors."""
    values = (model.id, pointer.generation, pointer.applied_vec_seq, pointer.ef_search, pointer.library)
    connection.exec_driver_sql(_SET_POINTER, values)


def indexed_count(connection: Connection, model: Model) -> int:
    """How many vectors the model's index holds, by what the ledger knows."""
    pointer = index_pointer(connection, model)
    sql = "SELECT count(*) FROM vectors WHERE model_id = ? AND vec_seq <= ?"
    applied = 0 if pointer is None else pointer.applied_vec_seq
    return int(connection.exec_driver_sql(sql, (model.id, applied)).scalar_one()) if applied else 0
