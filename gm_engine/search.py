"""Searching one open store: options resolved once, the ranker asked, what was returned counted, indexing driven.

Ranking, vectors and the model are loaded with the first recall, so that a program which only writes starts at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from gm_engine.config import (
    Config,
    EmbeddingMode,
    check_confidence_weight,
    check_fraction,
    check_signal_weights,
)
from gm_engine.embedding.embedder import Embedder
from gm_engine.errors import DiskFull, StoreBusy
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import (
    Confidence,
    RecallExplainResult,
    RecallResult,
    SignalWeights,
    StoreSettings,
    VectorStatus,
)
from gm_engine.store.database import Ledger
from gm_engine.store.facts import check_agent_id, check_label, touch
from gm_engine.store.settings import load_settings

if TYPE_CHECKING:
    from gm_engine.indexing import Indexer
    from gm_engine.ranking.recall import Ranker, Ranking, RecallRequest

T = TypeVar("T")
DEFAULT_TOP_K = 8
_COUNTING_TIMEOUT_S = 0.05


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """What one call asks for; None leaves the choice to `Config`, then to the store's settings."""

    top_k: int | None = None
    min_confidence: str | None = None
    confidence_weight: float | None = None
    as_of_ns: int | None = None
    signal_weights: SignalWeights | None = None
    coverage_gate: float | None = None
    min_relevance: float | None = None


class Search:
    """Recall and indexing of one open store; see the verbs of `Memory`."""

    def __init__(self, ledger: Ledger, *, config: Config, embedder: Embedder | None) -> None:
        self._ledger = ledger
        self._config = config
        self._embedder = embedder
        self._lock = RLock()
        self._ranker: Ranker | None = None
        self._indexer: Indexer | None = None

    def recall(self, agent_id: str, query: str, options: RecallOptions, *, preview: bool) -> RecallResult:
        """See `Memory.recall`."""
        ranking = self._rank(agent_id, query, options)
        if not preview:
            self._count(ranking)
        return RecallResult(ranking.facts(), ranking.coverage, ranking.feedback, ranking.retrieval)

    def recall_explain(
        self, agent_id: str, query: str, options: RecallOptions, *, preview: bool
    ) -> RecallExplainResult:
        """See `Memory.recall_explain`."""
        ranking = self._rank(agent_id, query, options)
        receipts = ranking.receipts()
        if not preview:
            self._count(ranking)
        return RecallExplainResult(receipts, ranking.coverage, ranking.feedback, ranking.retrieval)

    def _rank(self, agent_id: str, query: str, options: RecallOptions) -> Ranking:
        check_agent_id(agent_id)
        check_options(options)
        with self._ledger.read() as connection:
            settings = load_settings(connection)
        request = resolve(agent_id, query, options, config=self._config, settings=settings, now_ns=self._now_ns())
        return self._loaded_ranker().recall(request)

    def _now_ns(self) -> int:
        return self._ledger.clock.now_ns()

    def _count(self, ranking: Ranking) -> None:
        """Counters are bookkeeping: they wait for the writer 50 ms at most and never fail a recall."""
        ids = [fact.id for fact in ranking.facts()]
        if not ids or self._ledger.read_only:
            return
        try:
            with self._ledger.bookkeep(timeout_s=_COUNTING_TIMEOUT_S) as connection:
                touch(connection, ids, at_ns=self._now_ns())
        except (StoreBusy, DiskFull):
            return

    def _loaded_ranker(self) -> Ranker:
        with self._lock:
            if self._ranker is None:
                from gm_engine.ranking.recall import Ranker

                indexer = self._loaded_indexer()
                self._ranker = Ranker(self._ledger, indexer.planner, indexer.queries)
            return self._ranker

    def _loaded_indexer(self) -> Indexer:
        with self._lock:
            if self._indexer is None:
                from gm_engine.embedding.minilm import MiniLM
                from gm_engine.indexing import Indexer

                embedder = self._embedder
                if embedder is None and self._config.embedding_mode is EmbeddingMode.BUNDLED:
                    embedder = MiniLM()
                self._indexer = Indexer(self._ledger, embedder, config=self._config)
            return self._indexer

    def start_indexing(self) -> None:
        """Starts the one background thread."""
        self._loaded_indexer().start()

    def wake(self) -> None:
        """Tells the background thread, where there is one, that a text may need a vector."""
        if self._indexer is not None:
            self._indexer.wake()

    def index_step(self, budget_s: float) -> bool:
        """See `Memory.index_step`."""
        return self._loaded_indexer().step(budget_s)

    def embed_pending(self, agent_id: str, *, limit: int) -> int:
        """See `Memory.embed_pending`."""
        return self._loaded_indexer().embed_now(check_agent_id(agent_id), limit)

    def wait_for_embeddings(self, timeout_s: float | None, *, progress: Progress, cancel: CancelToken | None) -> bool:
        """See `Memory.wait_for_embeddings`."""
        return self._loaded_indexer().wait(timeout_s, progress=progress, cancel=cancel or CancelToken())

    def vector_status(self) -> VectorStatus:
        """How far embedding and indexing are."""
        return self._loaded_indexer().status()

    def close(self) -> None:
        """Stops the background thread and lets go of Chroma."""
        with self._lock:
            if self._indexer is not None:
                self._indexer.close()
                self._indexer = None
            self._ranker = None


def check_options(options: RecallOptions) -> None:
    """Refuses a bad option before any effect, naming it."""
    if options.min_confidence is not None:
        check_label(options.min_confidence)
    if options.confidence_weight is not None:
        check_confidence_weight(options.confidence_weight)
    if options.signal_weights is not None:
        check_signal_weights(options.signal_weights)
    if options.coverage_gate is not None:
        check_fraction("coverage_gate", options.coverage_gate)
    if options.min_relevance is not None:
        check_fraction("min_relevance", options.min_relevance)


def resolve(
    agent_id: str, query: str, options: RecallOptions, *, config: Config, settings: StoreSettings, now_ns: int
) -> RecallRequest:
    """The settled request: what the call says, else `config`, else the store."""
    from gm_engine.ranking.recall import RecallRequest

    top_k = config.top_k if options.top_k is None else options.top_k
    return RecallRequest(
        agent_id=agent_id,
        query=query,
        top_k=top_k if top_k > 0 else DEFAULT_TOP_K,
        min_confidence=None if options.min_confidence is None else Confidence(options.min_confidence),
        confidence_weight=_first(options.confidence_weight, config.confidence_weight, settings.confidence_weight),
        signal_weights=_first(options.signal_weights, config.signal_weights, settings.signal_weights),
        coverage_gate=_first(options.coverage_gate, config.coverage_gate, settings.coverage_gate),
        min_relevance=_first(options.min_relevance, config.min_relevance, settings.min_relevance),
        as_of_ns=options.as_of_ns,
        now_ns=now_ns,
    )


def _first(call: T | None, config: T | None, store: T) -> T:
    if call is not None:
        return call
    return store if config is None else config
