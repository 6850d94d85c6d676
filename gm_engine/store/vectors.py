"""Stored vectors: the models, one row of integer codes per distinct text, and how far the vector index has got.

Everything here is bookkeeping: it can be computed again from the facts' texts, and is not journalled. A text is known
by its `text_key`, so that facts with equal text share one vector. Only live content facts are embedded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row

from gm_engine.errors import EmbeddingFailed

_ROWS_PER_READ = 1024
_PENDING_CHARS = 4_000_000  # bounds the memory of one list of pending texts, whatever their length

_LIVE = "f.superseded_by = '' AND f.kind <> 'alias'"
_HAS_VECTOR = "EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = ? AND v.text_key = f.text_key)"
# `+model_id`: the rows are read in their order; by the index of `model_id` all of them would be sorted first
_SINCE = (
    "SELECT vec_seq, text_key, data FROM vectors"
    " WHERE +model_id = ? AND vec_seq > ? AND length(data) = ? AND length(text_key) = 16 ORDER BY vec_seq"
)
_INSERT = (  # a text that was purged while it was being embedded must not come back as a vector
    "INSERT OR IGNORE INTO vectors(model_id, text_key, data)"
    " SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM facts WHERE text_key = ?2)"
)
_STATE = (
    "SELECT (SELECT coalesce(max(vec_seq), 0) FROM vectors), (SELECT value FROM meta WHERE key = 'vectors_dropped')"
)
_COUNT_DROP = (
    "INSERT INTO meta(key, value) VALUES ('vectors_dropped', '1')"
    " ON CONFLICT(key) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)"
)
_PAGE = (
    "SELECT vec_seq, text_key, data FROM vectors WHERE +model_id = ? AND vec_seq > ? AND vec_seq <= ?"
    " AND length(data) = ? AND length(text_key) = 16 ORDER BY vec_seq LIMIT ?"
)
_SET_POINTER = (
    "INSERT INTO vector_index(model_id, generation, applied_vec_seq, ef_search, library) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT(model_id) DO UPDATE SET generation = excluded.generation,"
    " applied_vec_seq = excluded.applied_vec_seq, ef_search = excluded.ef_search, library = excluded.library"
)


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model that the store has vectors of.

    `state` is `active` for the model that answers, `filling` for one that takes over once it covers every live text,
    `old` for one that was replaced.
    """

    id: int
    name: str
    dims: int
    state: str = "active"


@dataclass(frozen=True, slots=True)
class VectorState:
    """What says whether a process is up to date: the last vector of any model, and how often vectors were dropped."""

    newest: int
    drops: int


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
    row = connection.exec_driver_sql("SELECT id, name, dims, state FROM models WHERE name = ?", (name,)).first()
    return None if row is None else Model(row[0], row[1], row[2], row[3])


def stored_models(connection: Connection) -> tuple[Model, ...]:
    """Every model that the store knows, the newest last."""
    rows = connection.exec_driver_sql("SELECT id, name, dims, state FROM models ORDER BY id")
    return tuple(Model(row[0], row[1], row[2], row[3]) for row in rows)


def ensure_model(connection: Connection, name: str, dims: int) -> Model:
    """The model of that name, made if it is new: `active` in a store without vectors, else `filling`.

    Raises `EmbeddingFailed` when its vectors have another length.
    """
    model = find_model(connection, name)
    if model is None:
        state = "filling" if has_vectors(connection) else "active"
        insert = "INSERT INTO models(name, dims, state) VALUES (?, ?, ?)"
        model = Model(int(connection.exec_driver_sql(insert, (name, dims, state)).lastrowid), name, dims, state)
    if model.dims != dims:
        raise EmbeddingFailed(
            f"The store's vectors of {name} have {model.dims} dimensions, the model now gives {dims}.", model=name
        )
    return model


def has_vectors(connection: Connection, *, model: Model | None = None) -> bool:
    """Whether there is any vector; of `model`, if given."""
    if model is None:
        found = connection.exec_driver_sql("SELECT 1 FROM vectors LIMIT 1")
    else:
        found = connection.exec_driver_sql("SELECT 1 FROM vectors WHERE model_id = ? LIMIT 1", (model.id,))
    return found.first() is not None


def promote(connection: Connection, model: Model) -> None:
    """Makes `model` the one that answers; the others are old from now on."""
    connection.exec_driver_sql("UPDATE models SET state = CASE WHEN id = ? THEN 'active' ELSE 'old' END", (model.id,))


def insert_vectors(connection: Connection, model: Model, keys: Sequence[bytes], codes: NDArray[np.int16]) -> None:
    """Adds vectors of texts that facts have; a text that has one already keeps it, so that all compare the same."""
    rows = [(model.id, key, code.astype("<i2").tobytes()) for key, code in zip(keys, codes, strict=True)]
    if rows:
        connection.exec_driver_sql(_INSERT, rows)


def drop_vectors(connection: Connection, keys: Sequence[bytes]) -> int:
    """Deletes the vectors of these texts, of every model, for good; returns how many there were.

    Every process forgets them with its next look at the ledger. The indexes on disk still hold them: their pointers
    are withdrawn, so that whoever owns them builds new ones without.
    """
    dropped = 0
    for key in keys:
        dropped += connection.exec_driver_sql("DELETE FROM vectors WHERE text_key = ?", (key,)).rowcount
    if dropped:
        count_drop(connection)
        connection.exec_driver_sql("UPDATE vector_index SET applied_vec_seq = 0, library = 'vectors dropped'")
    return dropped


def drop_model(connection: Connection, model: Model) -> int:
    """Deletes a model and its vectors; returns how many there were. Facts stay as they are."""
    connection.exec_driver_sql("DELETE FROM vector_index WHERE model_id = ?", (model.id,))
    dropped = connection.exec_driver_sql("DELETE FROM vectors WHERE model_id = ?", (model.id,)).rowcount
    connection.exec_driver_sql("DELETE FROM models WHERE id = ?", (model.id,))
    count_drop(connection)
    return dropped


def count_drop(connection: Connection) -> None:
    """Tells every process that what it knows of vectors and facts may be wrong, and is to be read again."""
    connection.exec_driver_sql(_COUNT_DROP)


def vector_state(connection: Connection) -> VectorState:
    """Says in one look-up whether anything was added or dropped."""
    newest, drops = connection.exec_driver_sql(_STATE).one()
    return VectorState(int(newest), int(drops or 0))


def stored_keys(connection: Connection, model: Model) -> set[bytes]:
    """The texts that have a vector of the model."""
    return set(connection.exec_driver_sql("SELECT text_key FROM vectors WHERE model_id = ?", (model.id,)).scalars())


def vectors_since(connection: Connection, model: Model, vec_seq: int) -> Iterator[VectorRows]:
    """The model's vectors after `vec_seq`, in their order, a thousand at a time."""
    result = connection.exec_driver_sql(_SINCE, (model.id, vec_seq, 2 * model.dims))
    while rows := result.fetchmany(_ROWS_PER_READ):
        yield _vector_rows(rows, model)


def vectors_page(connection: Connection, model: Model, *, after: int, through: int, limit: int) -> VectorRows | None:
    """The next `limit` vectors after one `vec_seq` and up to another; None when there are none left."""
    rows = connection.exec_driver_sql(_PAGE, (model.id, after, through, 2 * model.dims, limit)).fetchall()
    return _vector_rows(rows, model) if rows else None


def keys_between(connection: Connection, model_id: int, after: int, through: int, *, limit: int) -> list[bytes]:
    """The texts that got a vector of the model after one `vec_seq` and up to another, at most so many."""
    sql = "SELECT text_key FROM vectors WHERE +model_id = ? AND vec_seq > ? AND vec_seq <= ? LIMIT ?"
    return [bytes(row[0]) for row in connection.exec_driver_sql(sql, (model_id, after, through, limit))]


def vectors_of(connection: Connection, model_id: int, keys: Sequence[bytes]) -> dict[bytes, int]:
    """The `vec_seq` of those of these texts that have a vector of the model."""
    sql = f"SELECT text_key, vec_seq FROM vectors WHERE model_id = ? AND text_key IN ({_marks(keys)})"
    return {bytes(row[0]): int(row[1]) for row in connection.exec_driver_sql(sql, (model_id, *keys))}


def live_facts_of(connection: Connection, keys: Sequence[bytes]) -> list[tuple[str, bytes]]:
    """The live content facts with these texts, as (id, text key)."""
    rows = connection.exec_driver_sql(
        f"SELECT f.id, f.text_key FROM facts f WHERE f.text_key IN ({_marks(keys)}) AND {_LIVE}", tuple(keys)
    )
    return [(row[0], bytes(row[1])) for row in rows]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def count_through(connection: Connection, model: Model, vec_seq: int) -> int:
    """How many vectors of the model there are up to `vec_seq`."""
    sql = "SELECT count(*) FROM vectors WHERE model_id = ? AND vec_seq <= ?"
    return int(connection.exec_driver_sql(sql, (model.id, vec_seq)).scalar_one())


def pending_texts(
    connection: Connection,
    model_name: str,
    *,
    limit: int,
    agent_id: str | None = None,
    changed_after: int | None = None,
    skip: Collection[bytes] = (),
) -> tuple[PendingText, ...]:
    """At most `limit` distinct texts of live facts without a vector, oldest row first, without the keys in `skip`.

    `changed_after` looks only at facts that changed after that journal seq.
    """
    model = find_model(connection, model_name)
    sql = f"SELECT f.text_key, f.text FROM facts f WHERE {_LIVE} AND NOT {_HAS_VECTOR}"
    parameters: list[object] = [-1 if model is None else model.id]
    if agent_id is not None:
        sql += " AND f.agent_id = ?"
        parameters.append(agent_id)
    if changed_after is not None:
        sql += " AND f.id IN (SELECT target FROM changes WHERE +kind = 'fact' AND seq > ?)"
        parameters.append(changed_after)
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


def _vector_rows(rows: Sequence[Row[tuple[int, bytes, bytes]]], model: Model) -> VectorRows:
    seqs, keys, blobs = zip(*rows, strict=True)
    codes = np.frombuffer(b"".join(blobs), dtype="<i2").astype(np.int16, copy=False).reshape(-1, model.dims)
    return VectorRows(np.array(seqs, dtype=np.int64), tuple(bytes(key) for key in keys), codes)
