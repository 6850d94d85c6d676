"""The port to embedding models, and the integer form in which vectors are stored and compared."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Protocol
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from gm_engine.errors import EmbeddingFailed

CODE_SCALE = 32767
_QUERIES_KEPT = 512


class Embedder(Protocol):
    """Turns texts into vectors. Safe to call from any thread."""

    model: str
    """The model's id: part of every stored vector, so that vectors of two models never meet."""
    dims: int
    """The length of a vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row per text, in order: shape (len(texts), dims). Raises `EmbeddingFailed`."""


def quantise(vectors: NDArray[np.float32]) -> NDArray[np.int16]:
    """Vectors with elements in [-1, 1] as integer codes, `round(v * 32767)`.

    Similarity of two texts is the integer dot product of their codes: equal on every platform, and therefore what
    defines the order of an answer.
    """
    scaled = np.rint(vectors * np.float32(CODE_SCALE))
    codes: NDArray[np.int16] = np.clip(scaled, -CODE_SCALE, CODE_SCALE).astype(np.int16)
    return codes


def similarity_of(dot: int) -> float:
    """An integer dot product of codes as a cosine, about -1 to 1, for people."""
    return dot / (CODE_SCALE * CODE_SCALE)


def embed_checked(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """What `embedder` returns, once its shape was checked; rows may hold values that are not finite.

    Raises `EmbeddingFailed` when the number or the length of the vectors is not what was asked for.
    """
    vectors = np.asarray(embedder.embed(texts), dtype=np.float32)
    expected = (len(texts), embedder.dims)
    if vectors.shape != expected:
        raise EmbeddingFailed(
            f"{embedder.model} answered {len(texts)} texts with vectors of shape {vectors.shape}, not {expected}.",
            model=embedder.model,
        )
    return vectors


class QueryVectors:
    """The codes of search texts, kept for the most recent ones, so that repeating a search embeds nothing."""

    def __init__(self, embedder: Embedder, *, kept: int = _QUERIES_KEPT) -> None:
        self._embedder = embedder
        self._kept = kept
        self._codes: OrderedDict[str, NDArray[np.int16]] = OrderedDict()
        self._lock = Lock()

    @property
    def model(self) -> str:
        """The model's id."""
        return self._embedder.model

    def codes(self, query: str) -> NDArray[np.int16]:
        """The codes of `query`, shape (dims,), read-only. Raises `EmbeddingFailed`."""
        text = normalize("NFC", query)
        with self._lock:
            known = self._codes.get(text)
            if known is not None:
                self._codes.move_to_end(text)
                return known
        vector = embed_checked(self._embedder, [text])[0]
        if not np.isfinite(vector).all():
            raise EmbeddingFailed(f"{self.model} gave a query a vector that is not finite.", model=self.model)
        codes = quantise(vector)
        codes.flags.writeable = False
        with self._lock:
            self._codes[text] = codes
            while len(self._codes) > self._kept:
                self._codes.popitem(last=False)
        return codes
