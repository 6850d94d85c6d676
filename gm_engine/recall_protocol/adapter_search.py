"""A search of a store as a source: what is refused before looking, what was found, and what could not be looked at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gm_engine.errors import NotFound
from gm_engine.moment import MemoryView
from gm_engine.ranking.recall import DEFAULT_TOP_K
from gm_engine.recall_protocol.fact_search import FactQuestion, VectorCoverage, list_facts, search_facts
from gm_engine.recall_protocol.found_records import Found, in_order, newest_first
from gm_engine.recall_protocol.lexical_span import query_words
from gm_engine.recall_protocol.locators import RECORD_TYPES
from gm_engine.recall_protocol.payloads import Candidate, SearchParams, SearchResult, Sensitivity, SkipReason
from gm_engine.recall_protocol.record_search import RecordQuestion, search_checkpoints, search_entities
from gm_engine.recall_protocol.served_store import Check, Reader, ServedStore
from gm_engine.records import FactScope, JsonValue

_AGAIN = 3
_LARGEST_NS = (1 << 63) - 1  # what a store can hold; nothing in it is older or newer


@dataclass(frozen=True, slots=True)
class _Skip:
    """Why nothing is looked at, and which filters say so."""

    reason: SkipReason
    filters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is searched: record types, namespaces, and the entities that a filter names."""

    types: frozenset[str]
    namespaces: tuple[str, ...]
    about: frozenset[str] | None = None


def search_store(served: ServedStore, params: SearchParams, *, source_id: str, check: Check) -> SearchResult:
    """The answer to one search, from one state of the store. `AsOfUnsupported` before the journal's horizon."""
    params = _within_range(params)
    for attempt in range(_AGAIN):
        with served.reading(params.as_of_ns) as reader:
            seq = reader.seq if isinstance(reader, MemoryView) else reader.last_seq()
            search = _Search(served, reader, params, seq=seq, check=check)
            result = search.answer(source_id)
        is_one_state = params.as_of_ns is not None or served.memory.last_seq() == seq
        if is_one_state or attempt == _AGAIN - 1:
            return result
    raise AssertionError("the last attempt returns")


def _within_range(params: SearchParams) -> SearchParams:
    """The same question with instants that a store can compare: the wire's years go from 1 to 9999."""
    filters = params.filters
    near = replace(filters, since_ns=_storable(filters.since_ns), until_ns=_storable(filters.until_ns))
    return replace(params, filters=near, as_of_ns=_storable(params.as_of_ns))


def _storable(at_ns: int | None) -> int | None:
    return None if at_ns is None else max(-_LARGEST_NS, min(at_ns, _LARGEST_NS))


@dataclass(slots=True)
class _Search:
    """One search under way. Anything in `gaps` makes the answer partial; `notes` only tell."""

    served: ServedStore
    reader: Reader
    params: SearchParams
    seq: int
    check: Check
    gaps: dict[str, JsonValue] = field(default_factory=dict)
    notes: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def limit(self) -> int:
        """How many candidates are given at most; 0 asks for the usual number."""
        return min(self.params.limit or DEFAULT_TOP_K, self.served.settings.top_k_cap)

    @property
    def is_listing(self) -> bool:
        """Whether nothing is asked, so that the newest records are listed."""
        return not self.params.query.strip()

    @property
    def pinned_seq(self) -> int | None:
        """The moment that locators of the past carry."""
        return None if self.params.as_of_ns is None else self.seq

    def answer(self, source_id: str) -> SearchResult:
        """Everything, from what is asked to what goes over the wire."""
        plan = self._plan()
        if isinstance(plan, _Skip):
            names: list[JsonValue] = [*plan.filters]
            return SearchResult((), "skipped", {"filters": names}, str(self.seq), plan.reason)
        kinds, total = self._search(plan)
        ordered = newest_first(kinds) if self.is_listing else in_order(kinds)
        self._note_cut(total)
        if plan.about is not None and (lag := self.reader.graph.mentions_lag()):
            self.gaps["mentions_behind_by_entries"] = lag
        sensitivity = self.served.settings.sensitivity
        return SearchResult(
            candidates=tuple(
                _candidate(found, score, rank=rank, source_id=source_id, sensitivity=sensitivity)
                for rank, (found, score) in enumerate(ordered[: self.limit], 1)
            ),
            outcome="partial" if self.gaps else "success",
            diagnostics={**self.notes, **self.gaps} or None,
            source_watermark=str(self.seq),
        )

    def _plan(self) -> _Plan | _Skip:
        filters = self.params.filters
        types = frozenset(filters.record_types or RECORD_TYPES) & frozenset(RECORD_TYPES)
        if not types:
            return _Skip("record_type_mismatch", ("record_types",))
        namespaces = self.served.namespaces(self.reader)
        if filters.project:
            if filters.project not in namespaces:
                return _Skip("not_applicable", ("project",))
            namespaces = (filters.project,)
        if not filters.entities:
            return _Plan(types, namespaces)
        if types == {"checkpoint"}:
            return _Skip("filter_unsupported", ("entities",))
        about = self._about()
        if not about:
            return _Skip("not_applicable", ("entities",))
        if "checkpoint" in filters.record_types:
            self.notes["record_types_left_out"] = ["checkpoint"]  # nothing says which entities one is about
        return _Plan(types - {"checkpoint"}, namespaces, about)

    def _about(self) -> frozenset[str]:
        """The ids of the served entities that the filter names; names that are not known are counted."""
        known: set[str] = set()
        unknown = 0
        project = self.params.filters.project or None
        for name in self.params.filters.entities:
            try:
                entity_id = self.reader.graph.resolve(name).id
            except NotFound:
                unknown += 1
                continue
            if self.served.entity_is_served(self.reader, entity_id, project):
                known.add(entity_id)
            else:
                unknown += 1
        if unknown:
            self.notes["entities_unknown"] = unknown
        return frozenset(known)

    def _search(self, plan: _Plan) -> tuple[list[list[Found]], int]:
        """What was found of each kind, in order, and how many records there were to choose from."""
        kinds: list[list[Found]] = []
        total = 0
        words = query_words(self.params.query, self.served.language)
        if "fact" in plan.types:
            ask = list_facts if self.is_listing else search_facts
            query, scope = self.params.query, self._scope(plan)
            question = FactQuestion(query, words, plan.namespaces, scope, self.limit, self.pinned_seq)
            facts = ask(self.served, self.reader, question, check=self.check)
            kinds.append(facts.found)
            total += facts.total
            self._note_vectors(facts.coverage)
        filters = self.params.filters
        about_records = RecordQuestion(
            words=words,
            is_listing=self.is_listing,
            namespaces=plan.namespaces,
            project=filters.project or None,
            since_ns=filters.since_ns,
            until_ns=filters.until_ns,
            about=plan.about,
            limit=self.limit,
            pinned_seq=self.pinned_seq,
        )
        if "checkpoint" in plan.types:
            checkpoints = search_checkpoints(self.served, self.reader, about_records, check=self.check)
            kinds.append(checkpoints.found)
            total += checkpoints.total
            for name, count in (("unread", checkpoints.unread), ("left_out", checkpoints.left_out)):
                if count:
                    self.gaps[f"checkpoints_{name}"] = count
        if "entity" in plan.types:
            entities, count = search_entities(self.served, self.reader, about_records, check=self.check)
            kinds.append(entities)
            total += count
        return kinds, total

    def _scope(self, plan: _Plan) -> FactScope | None:
        filters = self.params.filters
        if filters.since_ns is None and filters.until_ns is None and plan.about is None:
            return None
        about = None if plan.about is None else self.served.facts_about(self.reader, tuple(sorted(plan.about)))
        return FactScope(filters.since_ns, filters.until_ns, about)

    def _note_vectors(self, coverage: VectorCoverage) -> None:
        """Facts without a vector, and vectors that did not answer."""
        if not self.served.uses_vectors or self.served.store_settings.signal_weights.vector <= 0:
            return
        if coverage.with_vector < coverage.eligible:
            self.gaps["facts_without_vector"] = coverage.eligible - coverage.with_vector
        elif coverage.without_answer:
            self.gaps["facts_not_compared_by_meaning"] = coverage.without_answer

    def _note_cut(self, total: int) -> None:
        """A listing that was cut is not everything; the best few of a ranking are what was asked for, up to our cap.

        No namespace is asked for more facts than the cap, so that as many may mean more.
        """
        if self.is_listing:
            if total > self.limit:
                self.gaps["listed"], self.gaps["records"] = self.limit, total
        elif self.params.limit > self.limit <= total:
            self.gaps["capped_at"] = self.limit


def _candidate(found: Found, score: float, *, rank: int, source_id: str, sensitivity: Sensitivity) -> Candidate:
    return Candidate(
        candidate_id=found.name.local,
        source_record_id=found.name.record,
        locator=f"{source_id}:{found.name.local}",
        record_type=found.name.kind,
        title=found.title,
        local_rank=rank,
        sensitivity=sensitivity,
        derived_from=found.derived_from,
        excerpt=found.excerpt,
        excerpt_kind="matched" if found.is_matched else "preview",
        local_score=score,
        relevance=found.relevance,
        match_signals=found.signals,
        observed_at_ns=found.created_ns,
        source_revision=found.revision,
        metadata=dict(found.metadata),
        content_fingerprint=found.fingerprint,
    )
