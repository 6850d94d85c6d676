"""Models behind an OpenAI-style `/v1/embeddings`, which Voyage speaks as well."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gm_engine.embedding.http import HttpServer, TextsRefused
from gm_engine.errors import EmbeddingFailed

MAX_CHARS = 24_000
"""Text beyond it is not sent: about 6,000 tokens of English, where servers take 8,000 and more."""

_SHORT_CHARS = 2_000
_PATH = "embeddings"


class RemoteEmbedder:
    """An `Embedder` behind a server. `dims` is 0 until the first answer says how long its vectors are."""

    def __init__(self, server: HttpServer, *, kind: str, model: str, batch_size: int) -> None:
        self.model = f"{kind}/{model}"
        self.dims = 0
        self.batch_size = batch_size
        self._server = server
        self._asked_model = model
        self._lock = Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row per text; not-a-number in the row of a text that the server refuses.

        Raises `EmbeddingFailed` when the server does not answer, or answers something else than one vector of the
        usual length per text.
        """
        if not texts:
            return np.zeros((0, self.dims), dtype=np.float32)
        cut = [text[:MAX_CHARS] for text in texts]
        parts = [self._embed(cut[start : start + self.batch_size]) for start in range(0, len(cut), self.batch_size)]
        return _normalised(np.vstack(parts))

    def close(self) -> None:
        """Closes the connections to the server."""
        self._server.close()

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            return self._asked(texts)
        except TextsRefused as refused:
            if len(texts) == 1 and len(texts[0]) <= _SHORT_CHARS:
                raise
            rows = [self._one(text) for text in texts]
            found = next((row for row in rows if row is not None), None)
            if found is None:
                raise refused  # it is not about one of the texts
            missing = np.full_like(found, np.nan)
            return np.vstack([missing if row is None else row for row in rows])

    def _one(self, text: str) -> NDArray[np.float32] | None:
        """The row of a text, of its beginning if it is too long; None when the server takes neither."""
        for part in dict.fromkeys((text, text[:_SHORT_CHARS])):
            try:
                return self._asked([part])
            except TextsRefused:
                continue
        return None

    def _asked(self, texts: Sequence[str]) -> NDArray[np.float32]:
        answer = self._server.post(_PATH, {"model": self._asked_model, "input": list(texts)})
        vectors = self._read(answer, len(texts))
        with self._lock:
            if self.dims == 0:
                self.dims = vectors.shape[1]
        if vectors.shape[1] != self.dims:
            raise self._failed(f"answered with {vectors.shape[1]} dimensions instead of {self.dims}")
        return vectors

    def _read(self, answer: Any, count: int) -> NDArray[np.float32]:
        """The vectors of an answer, in the order of the texts."""
        try:
            items = answer["data"]
            if not isinstance(items, list):
                raise TypeError("no list of vectors")
            if len(items) != count:
                raise self._failed(f"answered {count} texts with {len(items)} vectors")
            numbers = [item.get("index", place) for place, item in enumerate(items)]
            if sorted(numbers) != list(range(count)):
                raise self._failed("numbered its vectors in a way that fits no text")
            lists = [items[numbers.index(place)]["embedding"] for place in range(count)]
            with np.errstate(over="ignore"):
                vectors = np.array(lists, dtype=np.float64).astype(np.float32)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise self._failed("answered in a form that is not known") from error
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise self._failed("answered in a form that is not known")
        return vectors

    def _failed(self, what: str) -> EmbeddingFailed:
        return EmbeddingFailed(f"{self._server.address.name} {what}.", model=self.model)


def _normalised(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1; a row that is all zeros or not finite becomes not-a-number, and is refused by whoever asked."""
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        unit = vectors / norms
    unit[~np.isfinite(unit).all(axis=1)] = np.nan
    rows: NDArray[np.float32] = unit.astype(np.float32)
    return rows
