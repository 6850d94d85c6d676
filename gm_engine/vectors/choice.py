"""Which embedding model answers while a store changes from one to another: one of them, never a mixture.

The wanted model answers once it has had a vector for every live text; the ledger keeps that it had. Until then an older
model answers, if this process can embed a query with it, else the wanted one with the vectors that it has, and the
coverage of each answer says how many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from sqlalchemy import Connection

from gm_engine.embedding.embedder import Embedder, QueryVectors
from gm_engine.embedding.remote import RemoteEmbedder
from gm_engine.store.vectors import Model, ensure_model, find_model, has_vectors, promote, stored_models
from gm_engine.vectors.planner import VectorPlanner
from gm_engine.vectors.table import VectorTable

FindEmbedder = Callable[[str], Embedder | None]
"""Gives an embedder for the name of a stored model, or None where this process has none."""


@dataclass(frozen=True, slots=True)
class Searcher:
    """A model that answers: its vectors, and what embeds queries for them."""

    planner: VectorPlanner
    queries: QueryVectors


class ModelChoice:
    """Safe to use from any thread."""

    def __init__(self, wanted: Embedder, find_embedder: FindEmbedder) -> None:
        self.wanted = Searcher(VectorPlanner(VectorTable(wanted.model, wanted.dims)), QueryVectors(wanted))
        self._embedder = wanted
        self._find_embedder = find_embedder
        self._is_settled = False
        self._older: dict[str, Searcher | None] = {}
        self._found: list[Embedder] = [wanted]
        self._lock = Lock()

    @property
    def is_settled(self) -> bool:
        """Whether the wanted model answers, by what the last look at the ledger said."""
        return self._is_settled

    def current(self, connection: Connection) -> Searcher:
        """The model that answers now. Costs a look at the ledger only while a change is under way."""
        if self._is_settled:
            return self.wanted
        name = self._embedder.model
        model = find_model(connection, name)
        if model is not None and model.state == "active":
            self._is_settled = True
            return self.wanted
        others = [other for other in stored_models(connection) if other.name != name]
        for other in sorted(others, key=_preference, reverse=True):
            searcher = self._searcher(other)
            if searcher is not None and has_vectors(connection, model=other):
                return searcher
        return self.wanted

    def look(self, connection: Connection) -> bool:
        """`is_settled`, by a new look at the ledger."""
        self.current(connection)
        return self._is_settled

    def promote(self, connection: Connection) -> None:
        """Notes for every process that the wanted model has a vector for every live text."""
        model = find_model(connection, self._embedder.model)
        if model is None and self._embedder.dims:
            model = ensure_model(connection, self._embedder.model, self._embedder.dims)
        if model is not None and model.state != "active":
            promote(connection, model)

    def close(self) -> None:
        """Lets go of servers. Their models can be used again afterwards."""
        for embedder in self._found:
            if isinstance(embedder, RemoteEmbedder):
                embedder.close()

    def _searcher(self, model: Model) -> Searcher | None:
        with self._lock:
            if model.name not in self._older:
                self._older[model.name] = self._made(model)
            return self._older[model.name]

    def _made(self, model: Model) -> Searcher | None:
        embedder = self._find_embedder(model.name)
        if embedder is None:
            return None
        self._found.append(embedder)
        planner = VectorPlanner(VectorTable(model.name, model.dims), vector_path="exact")
        return Searcher(planner, QueryVectors(embedder))


def _preference(model: Model) -> tuple[bool, int]:
    """The model that answered last, then the newest."""
    return model.state == "active", model.id
