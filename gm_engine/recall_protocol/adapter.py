"""A GrayMatter store as one source of a Recall core: read-only, with honest coverage.

The store is opened with the first request after the handshake, so that a core learns within a moment what this is; a
store that cannot be opened is a source that is unavailable, not an adapter that fails.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from gm_engine.clock import Clock, SystemClock
from gm_engine.config import Config, EmbeddingMode
from gm_engine.errors import (
    AsOfUnsupported,
    Cancelled,
    EmbeddingFailed,
    GrayMatterError,
    InvalidInput,
)
from gm_engine.recall_protocol.adapter_settings import SETTINGS_SCHEMA, AdapterSettings, read_settings
from gm_engine.recall_protocol.errors import ErrorCode, ProtocolError
from gm_engine.recall_protocol.handler import RequestContext
from gm_engine.recall_protocol.locators import RECORD_TYPES
from gm_engine.recall_protocol.payloads import (
    ExpandParams,
    ExpandResult,
    Health,
    InitializeParams,
    Manifest,
    QueryMode,
    RefreshParams,
    SearchParams,
    SearchResult,
)
from gm_engine.recall_protocol.versions import negotiate_version

if TYPE_CHECKING:
    from gm_engine.embedding.embedder import Embedder
    from gm_engine.memory import Memory
    from gm_engine.recall_protocol.served_store import ServedStore

ADAPTER_ID = "graymatter"
DISPLAY_NAME = "GrayMatter memory"
MAX_CONCURRENCY = 8

_log = logging.getLogger(__name__)


class StoreAdapter:
    """Answers the protocol's requests from one store; a `Handler` for `serve`. `close` it once.

    `data_dir` is what is opened when the handshake names no location. Texts of failures name no path.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        config: Config | None = None,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        memory: Memory | None = None,
    ) -> None:
        """`memory` is an open store to answer from instead; it stays open."""
        self._data_dir = data_dir
        self._config = config or Config()
        self._clock = clock or SystemClock()
        self._embedder = embedder
        self._lent = memory
        self._settings = AdapterSettings()
        self._source_id = ADAPTER_ID
        self._served: ServedStore | None = None
        self._succeeded_ns: int | None = None
        self._lock = Lock()

    @property
    def _uses_vectors(self) -> bool:
        if self._lent is not None:
            return self._lent.vector_status().model != ""
        return self._embedder is not None or self._config.embedding_mode is not EmbeddingMode.KEYWORD_ONLY

    def initialize(self, params: InitializeParams, context: RequestContext) -> Manifest:  # noqa: ARG002
        """Agrees on the version and checks the settings: one that is unknown fails the handshake by its name."""
        version = negotiate_version(params.protocol_version_min, params.protocol_version_max)
        try:
            self._settings = read_settings(params.settings)
        except InvalidInput as error:
            raise ProtocolError(ErrorCode.INVALID_PARAMS, error.message) from error
        self._source_id = params.source_id
        if params.location:
            self._data_dir = Path(params.base_dir) / Path(params.location).expanduser()
        return manifest(self._settings, version=version, uses_vectors=self._uses_vectors)

    def search(self, params: SearchParams, context: RequestContext) -> SearchResult:
        """The best records of the store, or a listing of the newest where the query is empty."""
        from gm_engine.recall_protocol.adapter_search import search_store

        with self._reading() as served:
            result = search_store(
                served,
                params,
                source_id=self._source_id,
                check=context.check,
            )
        if result.outcome in ("success", "partial"):
            self._succeeded_ns = self._clock.now_ns()
        return result

    def expand(self, params: ExpandParams, context: RequestContext) -> ExpandResult:
        """One record, in the asked length."""
        from gm_engine.recall_protocol.adapter_expand import expand_record

        with self._reading() as served:
            return expand_record(served, params, source_id=self._source_id, check=context.check)

    def health(self, context: RequestContext) -> Health:
        """How complete the store can be searched now."""
        from gm_engine.recall_protocol.adapter_health import store_health

        try:
            with self._reading() as served:
                return store_health(
                    served,
                    checked_at_ns=self._clock.now_ns(),
                    last_success_at_ns=self._succeeded_ns,
                    check=context.check,
                )
        except ProtocolError as error:
            now_ns, last_ns = self._clock.now_ns(), self._succeeded_ns
            if error.number == ErrorCode.SOURCE_DENIED:
                return Health("denied", now_ns, "unknown", last_success_at_ns=last_ns)
            if error.number == ErrorCode.SOURCE_UNAVAILABLE:
                why = {"reason": error.message}
                return Health("unavailable", now_ns, "unknown", last_success_at_ns=last_ns, diagnostics=why)
            raise

    def refresh(self, params: RefreshParams, context: RequestContext) -> Health:  # noqa: ARG002
        """The health, unchanged: this program owns no index of its own."""
        return self.health(context)

    def shutdown(self) -> None:
        """Nothing is to be done: `close` comes after the requests in flight."""

    def close(self) -> None:
        """Lets go of the store. Safe to call twice."""
        with self._lock:
            if self._served is not None and self._lent is None:
                self._served.memory.close()
            self._served = None

    @contextmanager
    def _reading(self) -> Iterator[ServedStore]:
        """The open store; the engine's failures leave as the protocol's, without their words, which may hold paths."""
        try:
            yield self._opened()
        except (ProtocolError, Cancelled):
            raise
        except AsOfUnsupported as error:
            raise ProtocolError(ErrorCode.AS_OF_UNSUPPORTED) from error
        except InvalidInput as error:
            raise ProtocolError(ErrorCode.INVALID_PARAMS) from error
        except EmbeddingFailed as error:
            raise ProtocolError(ErrorCode.SOURCE_UNAVAILABLE, "the embedding model did not answer") from error
        except GrayMatterError as error:
            _log.warning("%s: %s", error.code, error.message)
            raise ProtocolError(ErrorCode.SOURCE_UNAVAILABLE, f"the store cannot be read: {error.code}") from error
        except PermissionError as error:
            raise ProtocolError(ErrorCode.SOURCE_DENIED) from error

    def _opened(self) -> ServedStore:
        with self._lock:
            if self._served is None:
                from gm_engine.recall_protocol.served_store import ServedStore

                self._served = ServedStore(self._lent or self._open(), self._settings)
            return self._served

    def _open(self) -> Memory:
        from gm_engine.memory import Memory

        ledger = self._data_dir / "ledger.sqlite"
        if ledger.is_file() and not os.access(ledger, os.R_OK):
            raise PermissionError
        return Memory.open(
            self._data_dir,
            config=self._config,
            read_only=True,
            background=False,
            clock=self._clock,
            embedder=self._embedder,
        )


def manifest(settings: AdapterSettings, *, version: int, uses_vectors: bool) -> Manifest:
    """What a store can do as a source."""
    modes: tuple[QueryMode, ...] = ("exact", "lexical", "semantic", "temporal")
    return Manifest(
        protocol_version=version,
        adapter_id=ADAPTER_ID,
        display_name=DISPLAY_NAME,
        record_types=RECORD_TYPES,
        query_modes=modes if uses_vectors else tuple(mode for mode in modes if mode != "semantic"),
        freshness_modes=("hybrid",),
        as_of_support="snapshot",
        relevance_basis="lexical_span",
        capabilities=("search", "expand", "enumerate", "context_expansion"),
        sensitivity=settings.sensitivity,
        max_concurrency=MAX_CONCURRENCY,
        freshness_policy="Words are searched as they are written; vectors follow within moments.",
        settings_schema=SETTINGS_SCHEMA,
    )
