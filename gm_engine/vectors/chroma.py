"""Vector search in ChromaDB, inside this process. The only module that imports chromadb, and only inside functions.

One collection holds one vector per distinct text: id = the text key in hexadecimal, nothing else. Everything in it can
be rebuilt from the ledger. Only the process that holds the indexer lock may open a folder, and only once per folder:
Chroma caches by path, so a folder that was given up is never opened again, a new one is made instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gm_engine.vectors.index import IndexUnavailable, VectorPath

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.config import Settings

# Measured over 30,000 perturbed real vectors, 1,000 searches for 16 neighbours each, searches that missed one: Chroma's
# own 16, 100 and 400: 5 to 7; 32, 200 and 400: 0 to 2, at 2.1 ms a search; with 800: none, at 2.9 ms. Among crowds of
# texts that are nearly alike even 800 miss some. So every search is proven beside the graph, and 400 are enough.
EF_SEARCH = 400
MAX_NEIGHBOURS = 32
EF_CONSTRUCTION = 200
BATCH = 8
"""Vectors added at once: Chroma holds the interpreter lock while it writes, 10 ms and more."""

_CODE_SCALE = np.float32(32767)


class ChromaIndex:
    """`Neighbours` over one open folder. Safe to use from any thread; `close` it once."""

    path: VectorPath = "chroma"

    def __init__(self, client: Client, collection: Any, *, count: int) -> None:
        self.applied_vec_seq = 0
        self._client = client
        self._collection = collection
        self._count = count
        self._closed = False
        self._lock = Lock()

    @classmethod
    def open(
        cls, folder: Path, *, model: str, dims: int, ef_search: int = EF_SEARCH, sync_every: int = 1000
    ) -> ChromaIndex:
        """Opens or creates the collection of `model` in `folder`.

        Only a new collection heeds `ef_search` and `sync_every`, the number of vectors after which Chroma writes the
        whole graph to disk; what came since is added again at the next opening. Raises `IndexUnavailable`.
        """
        client = None
        try:
            from chromadb.api.client import Client

            folder.mkdir(parents=True, exist_ok=True)
            client = Client(settings=_settings(folder))
            collection: Any = client.get_or_create_collection(
                collection_name(model, dims),
                embedding_function=None,
                configuration={
                    "hnsw": {
                        "space": "ip",
                        "ef_search": ef_search,
                        "ef_construction": EF_CONSTRUCTION,
                        "max_neighbors": MAX_NEIGHBOURS,
                        "sync_threshold": sync_every,
                    }
                },
            )
            # A query loads the graph without holding the interpreter lock; `count` would hold it for all of the load.
            collection.query(query_embeddings=[np.zeros(dims, dtype=np.float32)], n_results=1, include=[])
            return cls(client, collection, count=collection.count())
        except Exception as error:  # from its imports to its Rust core, anything can fail, with any exception
            if client is not None:
                with suppress(Exception):
                    client.close()
            raise IndexUnavailable(f"ChromaDB cannot be used: {error}") from error

    def add(self, keys: Sequence[bytes], codes: NDArray[np.float32]) -> None:
        """Like `upsert`, for keys that a new index cannot have yet: ten times quicker. Raises `IndexUnavailable`."""
        with self._lock:
            try:
                self._collection.add(ids=[key.hex() for key in keys], embeddings=codes / _CODE_SCALE)
                self._count += len(keys)
            except Exception as error:  # see open
                raise IndexUnavailable(f"ChromaDB cannot add vectors: {error}") from error

    def recount(self) -> int:
        """Asks the collection how many vectors it holds. Raises `IndexUnavailable`."""
        with self._lock:
            try:
                self._count = self._collection.count()
            except Exception as error:  # see open
                raise IndexUnavailable(f"ChromaDB cannot count: {error}") from error
            return self._count

    def upsert(self, keys: Sequence[bytes], codes: NDArray[np.float32]) -> None:
        """Adds vectors, given as integer codes of shape (len(keys), dims). Raises `IndexUnavailable`."""
        with self._lock:
            try:
                self._collection.upsert(ids=[key.hex() for key in keys], embeddings=codes / _CODE_SCALE)
                self._count = self._collection.count()
            except Exception as error:  # see open
                raise IndexUnavailable(f"ChromaDB cannot add vectors: {error}") from error

    def nearest(self, query: NDArray[np.int16], count: int) -> list[bytes]:
        """The keys of about the `count` nearest vectors, nearest first.

        Raises `IndexUnavailable`, also while vectors are being added: an exact scan is quicker than waiting.
        """
        if not self._lock.acquire(blocking=False):
            raise IndexUnavailable("the vector index is being written")
        try:
            if self._closed:
                raise IndexUnavailable("the vector index is closed")
            vector = query.astype(np.float32) / _CODE_SCALE
            answer = self._collection.query(query_embeddings=[vector], n_results=count, include=[])
            return [bytes.fromhex(key) for key in answer["ids"][0]]
        except IndexUnavailable:
            raise
        except Exception as error:  # see open
            raise IndexUnavailable(f"ChromaDB cannot answer: {error}") from error
        finally:
            self._lock.release()

    def count(self) -> int:
        """How many vectors the collection holds."""
        return self._count

    def close(self) -> None:
        """Waits for a running call and lets go of the folder's files."""
        with self._lock:
            if not self._closed:
                self._closed = True
                with suppress(Exception):  # nothing is lost: every batch was written when it was added
                    self._client.close()


def library() -> str:
    """What makes the folders, and how; a folder that was made differently is built again.

    Raises `IndexUnavailable` when chromadb is not installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"chromadb {version('chromadb')}, {MAX_NEIGHBOURS} neighbours, {EF_CONSTRUCTION} at construction"
    except PackageNotFoundError as error:
        raise IndexUnavailable("ChromaDB is not installed") from error


def collection_name(model: str, dims: int) -> str:
    """A name that Chroma accepts, different for different models: 3 to 512 of `a-zA-Z0-9._-`."""
    return f"gm-{re.sub('[^a-zA-Z0-9]+', '-', model)[:80].strip('-')}-{dims}"


def _settings(folder: Path) -> Settings:
    """Chroma's settings for one folder.

    Constructed without `__init__`, which would also read environment variables and the `.env` file of the working
    directory: they belong to the person's projects and must not change our store.
    """
    from chromadb.config import Settings as ChromaSettings

    return ChromaSettings.model_construct(
        is_persistent=True, persist_directory=str(folder), anonymized_telemetry=False, allow_reset=False
    )
