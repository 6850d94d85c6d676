"""Texts that wait for their vectors: fetched from the ledger, embedded in small batches, stored at once."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from unicodedata import normalize

import numpy as np

from gm_engine.embedding.embedder import Embedder, embed_checked, quantise
from gm_engine.embedding.http import TextsRefused
from gm_engine.store.database import Ledger
from gm_engine.store.journal import newest_seq
from gm_engine.store.vectors import PendingText, ensure_model, insert_vectors, pending_texts, vector_state, vectors_of

MAX_BATCH = 32
_FIRST_BATCH = 4  # until the model's speed is known
_FETCHED = 512
_SPEED_KEPT = 0.8  # how much of the speed so far stays in the mean with each batch
_HARMLESS = "memory"  # a server that refuses this one, too, does not refuse the texts


class EmbeddingQueue:
    """Embeds live texts without a vector. `embed_until` belongs to one lane; `embed_agent` may run beside it."""

    def __init__(self, ledger: Ledger, embedder: Embedder, *, max_batch: int = MAX_BATCH) -> None:
        self._ledger = ledger
        self._embedder = embedder
        self._max_batch = max_batch
        self._waiting: list[PendingText] = []
        self._refused: set[bytes] = set()
        self._lost: set[bytes] = set()  # vectors that the ledger did not keep: purged meanwhile, or the file is damaged
        self._nothing_at: tuple[int, int] | None = None  # journal seq and drops of vectors, when nothing was waiting
        self._text_s = 0.0  # seconds that a text took in the last batch
        self._texts_per_s = 0.0
        self.embedded = 0
        """Texts that got a vector from this object."""

    @property
    def texts_per_s(self) -> float:
        """How many texts are embedded and stored in a second, mostly by the last few batches; 0 before the first."""
        return self._texts_per_s

    @property
    def refused(self) -> int:
        """Texts that the model refuses or gives no finite vector, and those whose vectors the ledger does not keep.

        They are not tried again by this process.
        """
        return len(self._refused)

    def look_again(self) -> None:
        """Texts may be pending although the journal has not moved: their vectors were dropped."""
        self._nothing_at = None

    def embed_until(self, deadline: float) -> bool:
        """Embeds batches until `deadline` (of `monotonic`), at least one; whether more texts may be waiting.

        Raises `EmbeddingFailed`, or what the ledger raises; the texts stay pending then.
        """
        while self._waiting or self._fetch():
            batch = self._waiting[: self._batch_size(deadline)]
            started = monotonic()
            self._embed(batch)
            self._text_s = (monotonic() - started) / len(batch)
            if self._text_s > 0:
                speed, kept = 1 / self._text_s, _SPEED_KEPT if self._texts_per_s else 0.0
                self._texts_per_s = kept * self._texts_per_s + (1 - kept) * speed
            del self._waiting[: len(batch)]
            if monotonic() >= deadline:
                return True
        return False

    def embed_agent(self, agent_id: str, limit: int) -> int:
        """Embeds up to `limit` pending texts of one namespace; returns how many. Raises as `embed_until` does."""
        with self._ledger.read() as connection:
            texts = pending_texts(
                connection, self._embedder.model, limit=limit, agent_id=agent_id, skip=frozenset(self._refused)
            )
        ordered = sorted(texts, key=_length)
        step = self._max_batch
        return sum(self._embed(ordered[start : start + step]) for start in range(0, len(ordered), step))

    def _fetch(self) -> bool:
        """Looks for pending texts, but only among the facts that changed since there were none."""
        known = self._nothing_at
        if known is not None and self._ledger.last_seq() == known[0]:
            return False
        with self._ledger.read() as connection:
            now = newest_seq(connection), vector_state(connection).drops
            after = known[0] if known is not None and known[1] == now[1] and known[0] <= now[0] else None
            texts = pending_texts(
                connection,
                self._embedder.model,
                limit=_FETCHED,
                changed_after=after,
                skip=frozenset(self._refused),
            )
        if not texts:
            self._nothing_at = now
        self._waiting = sorted(texts, key=_length)  # texts of similar length waste no padding
        return bool(texts)

    def _batch_size(self, deadline: float) -> int:
        if self._text_s == 0:
            return _FIRST_BATCH
        return max(1, min(self._max_batch, int((deadline - monotonic()) / self._text_s)))

    def _embed(self, texts: Sequence[PendingText]) -> int:
        try:
            vectors = embed_checked(self._embedder, [normalize("NFC", text.text) for text in texts])
        except TextsRefused:
            embed_checked(self._embedder, [_HARMLESS])  # raises where it is not about the texts
            self._refused.update(text.key for text in texts)
            return 0
        finite = np.flatnonzero(np.isfinite(vectors).all(axis=1)).tolist()
        keys = [texts[number].key for number in finite]
        self._refused.update({text.key for text in texts} - set(keys))
        with self._ledger.bookkeep() as connection:
            model = ensure_model(connection, self._embedder.model, self._embedder.dims)
            insert_vectors(connection, model, keys, quantise(vectors[finite]))
            kept = vectors_of(connection, model.id, keys)
        lost = {key for key in keys if key not in kept}
        self._refused |= lost & self._lost  # a second time: it would go on for ever
        self._lost = (self._lost | lost) - kept.keys()
        self.embedded += len(kept)
        return len(kept)


def _length(text: PendingText) -> int:
    return len(text.text)
