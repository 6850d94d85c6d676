"""An embedder without a model: similar words give similar vectors, every call is counted."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class ScriptedEmbedder:
    """Sums one pseudo-random direction per word; deterministic on every platform."""

    def __init__(self, *, dims: int = 32, model: str = "scripted") -> None:
        self.model = model
        self.dims = dims
        self.calls: list[tuple[str, ...]] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(tuple(texts))
        out = np.zeros((len(texts), self.dims), np.float32)
        for row, text in enumerate(texts):
            for word in text.casefold().split() or [""]:
                out[row] += self._direction(word)
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        normed: NDArray[np.float32] = (out / np.maximum(norms, 1e-9)).astype(np.float32)
        return normed

    def _direction(self, word: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "little")
        return np.random.default_rng(seed).standard_normal(self.dims).astype(np.float32)
