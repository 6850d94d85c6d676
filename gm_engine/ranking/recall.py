"""One pipeline for recall, explain, preview, batch and what-if: a request in, a ranking out, nothing changed.

A call reads one state of the store: aliases, eligibility, ranks, bodies and lineage all come from one journal seq.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
from sqlalchemy import Connection

from gm_engine.embedding.embedder import QueryVectors, similarity_of
from gm_engine.errors import GrayMatterError
from gm_engine.ranking.feedback import weak_match_feedback
from gm_engine.ranking.fusion import POLICY, RRF_K
from gm_engine.ranking.hints import GraphHints
from gm_engine.ranking.history import Past, past_of
from gm_engine.ranking.keyword import KeywordMatch, match_keywords
from gm_engine.ranking.query import Query, read_query
from gm_engine.ranking.ranked import Ranked
from gm_engine.ranking.receipts import age_days, lineages
from gm_engine.ranking.snapshot import Snapshot, View, follow, load_snapshot
from gm_engine.ranking.vector_signal import VectorSignal, no_vectors, rows_of, search_vectors
from gm_engine.records import (
    SHARED_AGENT_ID,
    Confidence,
    ConfidenceRanking,
    Coverage,
    Fact,
    FactScope,
    Ranks,
    Receipt,
    Retrieval,
    SignalWeights,
)
from gm_engine.store.database import Ledger
from gm_engine.store.facts import load_facts_by_no
from gm_engine.store.rows import fetch
from gm_engine.store.vectors import vector_state
from gm_engine.terms import match_spans
from gm_engine.vectors.choice import ModelChoice, Searcher
from gm_engine.vectors.planner import VectorPlanner

DEFAULT_TOP_K = 8
_NAMESPACES_KEPT = 64
_PASTS_KEPT = 4
_MARKED_CHARS = 100_000  # how far into a text a receipt looks for the words that matched
_NEWEST_SEQ = "SELECT coalesce(max(seq), 0) FROM journal"


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A settled request. `top_k` ≤ 0 means 8; `confidence_given`: the caller named a confidence option.

    `as_of_ns` asks for the store as it stood then; ages in receipts count from there, else from `now_ns`. Only facts in
    `scope`, where there is one, are searched. `graph_hints` adds neighbours from the knowledge graph, which never rank;
    there are none for the past.
    """

    agent_id: str
    query: str
    top_k: int
    min_confidence: Confidence | None
    confidence_weight: float
    signal_weights: SignalWeights
    coverage_gate: float
    min_relevance: float
    now_ns: int
    as_of_ns: int | None = None
    language: str = "english"
    confidence_given: bool = False
    graph_hints: bool = False
    scope: FactScope | None = None

    @property
    def wanted(self) -> int:
        """How many facts are asked for."""
        return self.top_k if self.top_k > 0 else DEFAULT_TOP_K

    @property
    def retrieval(self) -> Retrieval | None:
        """The policy to report; None for a call without any confidence option, given or configured."""
        if not (self.confidence_given or self.min_confidence is not None or self.confidence_weight > 0):
            return None
        hints = "hints_without_confidence_receipts" if self.min_confidence is None else "suppressed_min_confidence"
        return Retrieval(self.min_confidence, self.confidence_weight, POLICY, hints)


@dataclass(frozen=True, slots=True)
class Hit:
    """One fact of an answer with everything that put it there; ranks are 1-based, 0 = not ranked."""

    fact: Fact
    vector_rank: int
    keyword_rank: int
    recency_rank: int
    base_score: float
    final_score: float
    factor: float
    similarity: float | None
    keyword_score: float | None
    supersedes: tuple[str, ...]
    kg_links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to one request, in order."""

    request: RecallRequest
    hits: tuple[Hit, ...]
    coverage: Coverage
    feedback: str
    query_terms: frozenset[str]
    hints: tuple[str, ...] = ()

    @property
    def retrieval(self) -> Retrieval | None:
        """The policy that was applied, where it is to be reported."""
        return self.request.retrieval

    def facts(self) -> tuple[Fact, ...]:
        """The facts in final order."""
        return tuple(hit.fact for hit in self.hits)

    def receipts(self) -> tuple[Receipt, ...]:
        """One receipt per fact, in the same order."""
        return tuple(self._receipt(hit) for hit in self.hits)

    def _receipt(self, hit: Hit) -> Receipt:
        request = self.request
        now_ns = request.now_ns if request.as_of_ns is None else request.as_of_ns
        spans = match_spans(hit.fact.text[:_MARKED_CHARS], self.query_terms, request.language)
        return Receipt(
            fact=hit.fact,
            age_days=age_days(hit.fact.created_ns, now_ns),
            ranks=Ranks(
                hit.vector_rank, hit.keyword_rank, hit.recency_rank, hit.base_score, RRF_K, request.signal_weights
            ),
            final_score=hit.final_score,
            ranking=None
            if request.retrieval is None
            else ConfidenceRanking(
                hit.base_score,
                hit.final_score,
                hit.factor,
                hit.fact.effective_confidence,
                request.confidence_weight,
                POLICY,
            ),
            supersedes=hit.supersedes,
            matched_terms=tuple(dict.fromkeys(hit.fact.text[start:end] for start, end in spans)),
            similarity=hit.similarity,
            keyword_score=hit.keyword_score,
            kg_links=hit.kg_links,
        )


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything known about one request before facts are taken from it."""

    connection: Connection
    request: RecallRequest
    snapshot: Snapshot
    past: Past | None
    view: View
    query: Query
    match: KeywordMatch
    vector: VectorSignal

    def ranked(self, weights: SignalWeights | None = None, confidence_weight: float | None = None) -> Ranked:
        """The fused ranking, with other weights if given."""
        return Ranked(
            self.snapshot,
            self.view,
            vector=self.vector.ranks,
            match=self.match,
            weights=self.request.signal_weights if weights is None else weights,
            confidence_weight=self.request.confidence_weight if confidence_weight is None else confidence_weight,
        )

    def bodies(self, indexes: Sequence[int]) -> list[Fact]:
        """The facts at these indexes of the view, as they were at the asked moment."""
        positions = [int(self.view.positions[index]) for index in indexes]
        if self.past is not None:
            ids = [self.snapshot.ids[at] for at in positions]
            earlier = self.past.facts(self.connection, ids)
            return [earlier[fact_id] for fact_id in ids]
        numbers = [int(self.snapshot.numbers[at]) for at in positions]
        present = load_facts_by_no(self.connection, numbers)
        return [present[number] for number in numbers]

    def coverage(self) -> Coverage:
        """What could be looked at."""
        return Coverage(self.view.count, self.vector.with_vector, self.vector.path, self.vector.reason)


class Ranker:
    """Ranks the facts of a ledger. Safe to use from any thread; keeps the namespaces used last in memory."""

    def __init__(
        self,
        ledger: Ledger,
        vectors: VectorPlanner | None,
        queries: QueryVectors | None,
        *,
        choice: ModelChoice | None = None,
    ) -> None:
        """`choice` says which model answers while a store changes from one to another; else `vectors` always does."""
        self._ledger = ledger
        self._searcher = None if vectors is None or queries is None else Searcher(vectors, queries)
        self._choice = choice
        self._snapshots: OrderedDict[str, Snapshot] = OrderedDict()
        self._pasts: OrderedDict[tuple[str, int, str], tuple[int, Past]] = OrderedDict()
        self._drops = -1
        self._lock = Lock()
        self._graph = GraphHints()

    def recall(self, request: RecallRequest) -> Ranking:
        """The ranking of one request. Raises `AsOfUnsupported`, `InvalidInput`, and `EmbeddingFailed` with a filter."""
        with self._ledger.read() as connection:
            return self._answer(connection, request)

    def recall_both(self, request: RecallRequest, shared: RecallRequest) -> tuple[Ranking, Ranking]:
        """Two rankings of one state of the store."""
        with self._ledger.read() as connection:
            return self._answer(connection, request), self._answer(connection, shared)

    def recall_each(
        self, requests: Sequence[RecallRequest], *, watch: Callable[[int], None] | None = None
    ) -> tuple[Ranking | GrayMatterError, ...]:
        """Rankings of one state of the store, input order kept; one failure does not fail the rest.

        `watch` is called before each with the number of those that are done; what it raises ends the work.
        """
        answers: list[Ranking | GrayMatterError] = []
        with self._ledger.read() as connection:
            for request in requests:
                if watch is not None:
                    watch(len(answers))
                try:
                    answers.append(self._answer(connection, request))
                except GrayMatterError as error:
                    answers.append(error)
        return tuple(answers)

    @contextmanager
    def evaluate(self, request: RecallRequest) -> Iterator[Evaluation]:
        """A request evaluated, for whoever wants more than the answer; valid inside the block."""
        with self._ledger.read() as connection:
            yield self.evaluate_in(connection, request)

    def _answer(self, connection: Connection, request: RecallRequest) -> Ranking:
        evaluation = self.evaluate_in(connection, request)
        ranked = evaluation.ranked()
        chosen = ranked.take(request.wanted, request.min_relevance)
        hits = _hits(evaluation, ranked, chosen)
        hints: tuple[str, ...] = ()
        if request.graph_hints and request.as_of_ns is None:
            hits, hints = self._with_graph(connection, hits, filtered=request.min_confidence is not None)
        return Ranking(
            request=request,
            hits=hits,
            hints=hints,
            coverage=evaluation.coverage(),
            feedback=weak_match_feedback(
                connection,
                evaluation.snapshot,
                evaluation.view,
                query=evaluation.query,
                match=evaluation.match,
            ),
            query_terms=frozenset(evaluation.query.keys),
        )

    def _with_graph(
        self, connection: Connection, hits: tuple[Hit, ...], *, filtered: bool
    ) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        """Each hit with the entities it mentions, and the hints; labels carry no confidence, so a filter has none."""
        links = self._graph.links(connection, [hit.fact.text for hit in hits])
        linked = tuple(replace(hit, kg_links=ids) for hit, ids in zip(hits, links, strict=True))
        if filtered or not hits:
            return linked, ()
        return linked, self._graph.hints(connection, links[0], [hit.fact.text for hit in hits])

    def evaluate_in(self, connection: Connection, request: RecallRequest) -> Evaluation:
        """The same inside a read that is already open."""
        snapshot = self._snapshot(connection, request.agent_id)
        past = None
        if request.as_of_ns is not None:
            past = self._past(connection, snapshot, request.as_of_ns, request.language)
            snapshot = past.snapshot
        view = snapshot.view(0 if request.min_confidence is None else request.min_confidence.level, request.scope)
        query = read_query(connection, request.query, snapshot.live_aliases(), language=request.language)
        match = match_keywords(snapshot, view, query, gate=request.coverage_gate)
        vector = self._vector_signal(connection, request, snapshot=snapshot, view=view, text=query.text)
        return Evaluation(connection, request, snapshot, past, view, query, match, vector)

    def _snapshot(self, connection: Connection, agent_id: str) -> Snapshot:
        """The namespace at the seq that `connection` sees; the newest one is kept."""
        seq, drops = int(fetch(connection, _NEWEST_SEQ)[0][0]), vector_state(connection).drops
        with self._lock:
            if drops != self._drops:  # rows were put right without an entry: what is known can be followed no further
                self._snapshots.clear()
                self._pasts.clear()
                self._drops = drops
            known = self._snapshots.get(agent_id)
            if known is not None and known.seq == seq:
                self._snapshots.move_to_end(agent_id)
                return known
            if known is None or known.seq > seq:
                fresh = load_snapshot(connection, agent_id, seq)
            else:
                fresh = follow(connection, known, seq)
            if known is None or known.seq < seq:
                self._snapshots[agent_id] = fresh
                self._snapshots.move_to_end(agent_id)
                while len(self._snapshots) > _NAMESPACES_KEPT:
                    self._snapshots.popitem(last=False)
            return fresh

    def _past(self, connection: Connection, snapshot: Snapshot, as_of_ns: int, language: str) -> Past:
        """The namespace at a past moment; the ones asked for last are kept while nothing is written."""
        key = (snapshot.agent_id, as_of_ns, language)
        with self._lock:
            known = self._pasts.get(key)
        if known is not None and known[0] == snapshot.seq:
            return known[1]
        past = past_of(connection, snapshot, as_of_ns, language=language)
        with self._lock:
            self._pasts[key] = (snapshot.seq, past)
            self._pasts.move_to_end(key)
            while len(self._pasts) > _PASTS_KEPT:
                self._pasts.popitem(last=False)
        return past

    def _vector_signal(
        self, connection: Connection, request: RecallRequest, *, snapshot: Snapshot, view: View, text: str
    ) -> VectorSignal:
        searcher = self._searcher if self._choice is None else self._choice.current(connection)
        if searcher is None:
            return no_vectors(view, "no embedding model is configured")
        table = searcher.planner.table
        with self._lock:
            table.refresh(connection)
            rows = rows_of(snapshot, table)[view.positions]
        if request.signal_weights.vector <= 0 or not text.strip():
            reason = "the query is empty" if request.signal_weights.vector > 0 else "the vector weight is 0"
            return no_vectors(view, reason, with_vector=int(np.count_nonzero(rows >= 0)))
        return search_vectors(
            searcher.planner,
            searcher.queries,
            view,
            rows=rows,
            text=text,
            count=2 * request.wanted,
            filtered=request.min_confidence is not None,
        )


def _hits(evaluation: Evaluation, ranked: Ranked, chosen: Sequence[int]) -> tuple[Hit, ...]:
    facts = evaluation.bodies(chosen)
    supersedes = lineages(evaluation.connection, [fact.id for fact in facts])
    scores, dots = evaluation.match.scores, evaluation.vector.dots
    hits = []
    for index, fact in zip(chosen, facts, strict=True):
        vector_rank, keyword_rank, recency_rank = ranked.ranks.at(index)
        score = float(scores[evaluation.view.positions[index]])
        hits.append(
            Hit(
                fact=fact,
                vector_rank=vector_rank,
                keyword_rank=keyword_rank,
                recency_rank=recency_rank,
                base_score=float(ranked.base[index]),
                final_score=float(ranked.final[index]),
                factor=float(ranked.factors[index]),
                similarity=similarity_of(dots[index]) if index in dots else None,
                keyword_score=score if score > 0 else None,
                supersedes=supersedes[fact.id],
            )
        )
    return tuple(hits)


def shared_request(request: RecallRequest) -> RecallRequest:
    """The same request put to the shared namespace."""
    return replace(request, agent_id=SHARED_AGENT_ID)
