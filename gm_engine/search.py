"""Searching one open store: options resolved once, the ranker asked, what was returned counted, indexing driven.

Ranking, vectors and the model are loaded with the first recall, so that a program which only writes starts at once.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, TypedDict, TypeVar

from gm_engine.config import (
    Config,
    check_confidence_weight,
    check_fraction,
    check_signal_weights,
)
from gm_engine.embedding.embedder import Embedder
from gm_engine.errors import DiskFull, GrayMatterError, ReadOnlyStore, StoreBusy
from gm_engine.hooks import tell
from gm_engine.progress import CancelToken, Progress
from gm_engine.records import (
    Confidence,
    Coverage,
    Fact,
    FactScope,
    IndexProgress,
    Origin,
    RecallExplainResult,
    RecallResult,
    SignalWeights,
    StoreSettings,
    VectorExam,
    VectorStatus,
)
from gm_engine.store.database import Ledger
from gm_engine.store.facts import check_agent_id, check_label
from gm_engine.store.recalls import record_recalls
from gm_engine.store.settings import load_settings

if TYPE_CHECKING:
    from gm_engine.indexing import Chores, Indexer
    from gm_engine.ranking.batch import BatchResult
    from gm_engine.ranking.missing import MissingReport
    from gm_engine.ranking.rank_table import RankTable
    from gm_engine.ranking.recall import Ranker, Ranking, RecallRequest
    from gm_engine.vectors.table import VectorTable

T = TypeVar("T")
_COUNTING_TIMEOUT_S = 0.05


class RecallOptions(TypedDict, total=False):
    """What one call asks for; what is left out comes from `Config`, then from the store's settings.

    `preview` counts nothing (the default counts); `as_of_ns` recalls from the store as it stood then and counts
    nothing either. `signal_weights`, `coverage_gate` and `min_relevance` are what-if options, meant for previews.
    `scope` leaves out facts before anything is ranked. `origin` says who asks, where one program asks for many; the
    day's recalls are counted by client.
    """

    top_k: int | None
    min_confidence: str | None
    confidence_weight: float | None
    preview: bool
    as_of_ns: int | None
    signal_weights: SignalWeights | None
    coverage_gate: float | None
    min_relevance: float | None
    scope: FactScope | None
    origin: Origin | None


class Search:
    """Recall and indexing of one open store; see the verbs of `Memory`."""

    def __init__(self, ledger: Ledger, *, config: Config, embedder: Embedder | None, origin: Origin) -> None:
        self._ledger = ledger
        self._origin = origin
        self._config = config
        self._embedder = embedder
        self._lock = RLock()
        self._ranker: Ranker | None = None
        self._indexer: Indexer | None = None
        self._known_settings: tuple[int, StoreSettings] | None = None
        self._chores: list[Chores] = []

    def recall(self, agent_id: str, query: str, options: RecallOptions) -> RecallResult:
        """See `Memory.recall`."""
        ranking = self._loaded_ranker().recall(self.request(agent_id, query, options))
        self._count(agent_id, [ranking.facts()], options)
        self._tell(agent_id, query, ranking.facts(), options)
        return RecallResult(ranking.facts(), ranking.coverage, ranking.feedback, ranking.retrieval, ranking.hints)

    def recall_explain(self, agent_id: str, query: str, options: RecallOptions) -> RecallExplainResult:
        """See `Memory.recall_explain`."""
        ranking = self._loaded_ranker().recall(self.request(agent_id, query, options))
        self._count(agent_id, [ranking.facts()], options)
        self._tell(agent_id, query, ranking.facts(), options)
        return RecallExplainResult(ranking.receipts(), ranking.coverage, ranking.feedback, ranking.retrieval)

    def recall_all(self, agent_id: str, query: str, options: RecallOptions) -> RecallResult:
        """See `Memory.recall_all`."""
        from gm_engine.ranking.recall import shared_request
        from gm_engine.ranking.shared import merge_namespaces

        request = replace(self.request(agent_id, query, options), graph_hints=False)
        own, shared = self._loaded_ranker().recall_both(request, shared_request(request))
        facts = merge_namespaces(own.facts(), shared.facts(), top_k=request.wanted)
        self._count(agent_id, [facts], options)
        self._tell(agent_id, query, facts, options)
        return RecallResult(facts, _both(own.coverage, shared.coverage), own.feedback, own.retrieval)

    def batch_recall(
        self,
        agent_id: str,
        queries: Sequence[str],
        options: RecallOptions,
        *,
        watch: Callable[[int], None] | None = None,
    ) -> tuple[BatchResult, ...]:
        """See `Memory.batch_recall`."""
        from gm_engine.ranking.batch import batch_recall

        first = self.request(agent_id, "", options)
        results = batch_recall(self._loaded_ranker(), [replace(first, query=query) for query in queries], watch=watch)
        self._count(agent_id, [result.facts for result in results if result.error is None], options)
        for result in results:
            if result.error is None:
                self._tell(agent_id, result.query, result.facts, options)
        return results

    def explain_missing(self, agent_id: str, query: str, fact_id: str, options: RecallOptions) -> MissingReport:
        """See `Memory.explain_missing`."""
        from gm_engine.ranking.missing import explain_missing

        return explain_missing(self._loaded_ranker(), self.request(agent_id, query, options), fact_id)

    def rank_table(self, agent_id: str, query: str, options: RecallOptions) -> RankTable:
        """See `Memory.rank_table`."""
        from gm_engine.ranking.rank_table import make_rank_table

        return make_rank_table(self._loaded_ranker(), self.request(agent_id, query, options))

    def previews(self, agent_id: str, query: str, asked: Sequence[RecallOptions]) -> tuple[Ranking, ...]:
        """One query under several settings, over one state of the store; nothing is counted."""
        requests = [self.request(agent_id, query, options) for options in asked]
        answers = self._loaded_ranker().recall_each(requests)
        for answer in answers:
            if isinstance(answer, GrayMatterError):
                raise answer
        return tuple(answer for answer in answers if not isinstance(answer, GrayMatterError))

    def request(self, agent_id: str, query: str, options: RecallOptions) -> RecallRequest:
        """The settled request: what the call says, else `Config`, else the store. `InvalidInput` names a bad option."""
        check_agent_id(agent_id)
        check_options(options)
        return resolve(agent_id, query, options, config=self._config, settings=self._settings(), now_ns=self._now_ns())

    def _settings(self) -> StoreSettings:
        """The store's settings, read again only when the journal has grown."""
        seq = self._ledger.last_seq()
        known = self._known_settings
        if known is None or known[0] != seq:
            with self._ledger.read() as connection:
                known = self._known_settings = seq, load_settings(connection)
        return known[1]

    def _now_ns(self) -> int:
        return self._ledger.clock.now_ns()

    def _count(self, agent_id: str, answers: Sequence[Sequence[Fact]], options: RecallOptions) -> None:
        """Counters are bookkeeping: they wait for the writer 50 ms at most and never fail a recall."""
        if not answers or self._ledger.read_only or options.get("preview") or options.get("as_of_ns") is not None:
            return
        asker = options.get("origin") or self._origin
        try:
            with self._ledger.bookkeep(timeout_s=_COUNTING_TIMEOUT_S) as connection:
                record_recalls(
                    connection,
                    Counter(fact.id for facts in answers for fact in facts),
                    agent_id=agent_id,
                    client=asker.client or asker.channel,
                    recalls=len(answers),
                    at_ns=self._now_ns(),
                )
        except (StoreBusy, DiskFull, ReadOnlyStore):
            return

    def _tell(self, agent_id: str, query: str, facts: Sequence[Fact], options: RecallOptions) -> None:
        if not options.get("preview") and options.get("as_of_ns") is None:
            tell(self._config.on_recall, agent_id, query, tuple(facts))

    def _loaded_ranker(self) -> Ranker:
        with self._lock:
            if self._ranker is None:
                from gm_engine.ranking.recall import Ranker

                indexer = self._loaded_indexer()
                self._ranker = Ranker(self._ledger, indexer.planner, indexer.queries, choice=indexer.choice)
            return self._ranker

    def _loaded_indexer(self) -> Indexer:
        with self._lock:
            if self._indexer is None:
                from gm_engine.embedding.providers import find_embedder, make_embedder
                from gm_engine.indexing import Indexer

                embedder = self._embedder or make_embedder(self._config, os.environ)
                self._indexer = Indexer(
                    self._ledger,
                    embedder,
                    config=self._config,
                    chores=_InTurn(self._chores),
                    find_embedder=lambda name: find_embedder(name, self._config, os.environ),
                )
            return self._indexer

    def add_chores(self, chores: Chores) -> None:
        """Work that is done in pieces after indexing, on the same thread or lane; what was added first comes first."""
        self._chores.append(chores)

    def vector_table(self) -> VectorTable | None:
        """The vectors of the model in use; None where there is no model."""
        planner = self._loaded_indexer().planner
        return None if planner is None else planner.table

    def start_indexing(self) -> None:
        """Starts the one background thread."""
        self._loaded_indexer().start()

    def wake(self) -> None:
        """Tells the background thread, where there is one, that a text may need a vector."""
        if self._indexer is not None:
            self._indexer.wake()

    def index_step(self, budget_s: float, *, is_calm: bool) -> bool:
        """See `Memory.index_step`."""
        return self._loaded_indexer().step(budget_s, is_calm=is_calm)

    def load_model(self) -> None:
        """See `Memory.load_model`."""
        self._loaded_indexer().load_model()

    def discard_indexes(self) -> bool:
        """See `Indexer.discard_indexes`."""
        return self._loaded_indexer().discard_indexes()

    def embed_pending(self, agent_id: str, *, limit: int) -> int:
        """See `Memory.embed_pending`."""
        return self._loaded_indexer().embed_now(check_agent_id(agent_id), limit)

    def wait_for_embeddings(self, timeout_s: float | None, *, progress: Progress, cancel: CancelToken | None) -> bool:
        """See `Memory.wait_for_embeddings`."""
        return self._loaded_indexer().wait(timeout_s, progress=progress, cancel=cancel or CancelToken())

    def vector_status(self) -> VectorStatus:
        """How far embedding and indexing are."""
        return self._loaded_indexer().status()

    def examine_vectors(self, *, progress: Progress, cancel: CancelToken) -> VectorExam:
        """See `Indexer.examine`."""
        return self._loaded_indexer().examine(progress=progress, cancel=cancel)

    def index_progress(self) -> IndexProgress:
        """See `Memory.index_progress`."""
        return self._loaded_indexer().progress()

    def close(self) -> None:
        """Stops the background thread and lets go of Chroma."""
        with self._lock:
            if self._indexer is not None:
                self._indexer.close()
                self._indexer = None
            self._ranker = None


class _InTurn:
    """Several chores as one: a later one has its turn when those before it have nothing to do."""

    def __init__(self, chores: Sequence[Chores]) -> None:
        self._chores = chores

    def step(self, budget_s: float) -> bool:
        return any(each.step(budget_s) for each in self._chores)


def check_options(options: RecallOptions) -> None:
    """Refuses a bad option before any effect, naming it."""
    if (label := options.get("min_confidence")) is not None:
        check_label(label)
    if (confidence_weight := options.get("confidence_weight")) is not None:
        check_confidence_weight(confidence_weight)
    if (signal_weights := options.get("signal_weights")) is not None:
        check_signal_weights(signal_weights)
    if (gate := options.get("coverage_gate")) is not None:
        check_fraction("coverage_gate", gate)
    if (floor := options.get("min_relevance")) is not None:
        check_fraction("min_relevance", floor)


def resolve(
    agent_id: str, query: str, options: RecallOptions, *, config: Config, settings: StoreSettings, now_ns: int
) -> RecallRequest:
    """See `Search.request`; `options` were checked."""
    from gm_engine.ranking.recall import RecallRequest

    label, weight, top_k = options.get("min_confidence"), options.get("confidence_weight"), options.get("top_k")
    return RecallRequest(
        agent_id=agent_id,
        query=query,
        top_k=config.top_k if top_k is None else top_k,
        min_confidence=None if label is None else Confidence(label),
        confidence_weight=_first(weight, config.confidence_weight, settings.confidence_weight),
        signal_weights=_first(options.get("signal_weights"), config.signal_weights, settings.signal_weights),
        coverage_gate=_first(options.get("coverage_gate"), config.coverage_gate, settings.coverage_gate),
        min_relevance=_first(options.get("min_relevance"), config.min_relevance, settings.min_relevance),
        as_of_ns=options.get("as_of_ns"),
        now_ns=now_ns,
        language=settings.language,
        confidence_given=label is not None or weight is not None,
        graph_hints=config.graph_hints,
        scope=options.get("scope"),
    )


def _both(own: Coverage, shared: Coverage) -> Coverage:
    """What two namespaces could look at; the weaker path names the reason."""
    weaker = shared if own.vector_path != "none" and shared.vector_path == "none" and shared.eligible else own
    return Coverage(
        own.eligible + shared.eligible,
        own.with_vector + shared.with_vector,
        weaker.vector_path,
        weaker.reason,
    )


def _first(call: T | None, config: T | None, store: T) -> T:
    if call is not None:
        return call
    return store if config is None else config
