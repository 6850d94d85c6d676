"""Asking an embedding model once, to see whether it answers, before a store depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic

import numpy as np

from gm_engine.config import Config
from gm_engine.embedding.embedder import embed_checked
from gm_engine.embedding.providers import make_embedder
from gm_engine.embedding.remote import RemoteEmbedder
from gm_engine.errors import EmbeddingFailed

_ALIKE = ("The invoice is due on Friday", "Payment of the bill is expected by Friday")


@dataclass(frozen=True, slots=True)
class EmbeddingTrial:
    """What a model answered: its id (empty for words alone), the length of a vector, seconds for two short texts, and
    the similarity of two sentences that say the same, -1 to 1."""

    model: str
    dims: int
    took_s: float
    similarity: float


def try_embedding(config: Config, environ: Mapping[str, str]) -> EmbeddingTrial:
    """Embeds two sentences with the model that `config` asks for. Raises `EmbeddingFailed` with what to do about it."""
    embedder = make_embedder(config, environ)
    if embedder is None:
        return EmbeddingTrial("", 0, 0.0, 0.0)
    try:
        began_s = monotonic()
        if embedder.dims == 0:
            embedder.embed(_ALIKE[:1])  # a server says with its first answer how long its vectors are
            began_s = monotonic()
        one, other = embed_checked(embedder, _ALIKE)
        took_s = monotonic() - began_s
    finally:
        if isinstance(embedder, RemoteEmbedder):
            embedder.close()
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise EmbeddingFailed(f"{embedder.model} gave vectors that are not finite.", model=embedder.model)
    return EmbeddingTrial(embedder.model, embedder.dims, took_s, round(float(one @ other), 3))
