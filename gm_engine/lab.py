"""The ranking lab of one open store: saved settings, saved queries with expected facts, what a change does to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import Fact, Origin
from gm_engine.search import RecallOptions, Search
from gm_engine.store.database import Ledger
from gm_engine.store.facts import load_facts
from gm_engine.store.lab import (
    QuerySet,
    RankingProfile,
    delete_profile,
    delete_query_set,
    load_profiles,
    load_query_sets,
    profile_of,
    save_profile,
    save_query_set,
)
from gm_engine.store.lineage import lineage
from gm_engine.store.settings import load_settings

PLACES = 8
"""How many places of an answer are judged."""


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The 1-based place of the first expected fact in the first 8, before and after; None = not among them."""

    query: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Quality:
    """Shares of queries with an expected fact first and among the first 8, and the mean of 1/place (0 beyond 8)."""

    hit_at_1: float
    hit_at_8: float
    mrr: float


@dataclass(frozen=True, slots=True)
class QuerySetReport:
    """What a change of setting does to a query set."""

    name: str
    outcomes: tuple[QueryOutcome, ...]
    before: Quality
    after: Quality


class Lab:
    """`memory.lab`. Everything saved is journalled and can be undone; runs count no recall."""

    def __init__(self, ledger: Ledger, search: Search, *, origin: Origin) -> None:
        self._ledger = ledger
        self._search = search
        self._origin = origin

    def profiles(self) -> tuple[RankingProfile, ...]:
        """The saved profiles, by name."""
        with self._ledger.read() as connection:
            return load_profiles(connection)

    def current(self) -> RankingProfile:
        """How the store ranks now, as a profile named `store`."""
        with self._ledger.read() as connection:
            return profile_of(load_settings(connection), "store")

    def save_profile(self, profile: RankingProfile) -> None:
        """Saves a profile, in place of one of the same name. `InvalidInput` names a bad value."""
        with self._ledger.write("settings", origin=self._origin) as tx:
            save_profile(tx, profile)

    def delete_profile(self, name: str) -> None:
        """Deletes a profile; `NotFound` when there is none of that name."""
        with self._ledger.write("settings", origin=self._origin) as tx:
            delete_profile(tx, name)

    def query_sets(self) -> tuple[QuerySet, ...]:
        """The saved query sets, by name."""
        with self._ledger.read() as connection:
            return load_query_sets(connection)

    def save_query_set(self, queries: QuerySet) -> None:
        """Saves a query set, in place of one of the same name. `InvalidInput` names a bad value."""
        with self._ledger.write("settings", origin=self._origin) as tx:
            save_query_set(tx, queries)

    def delete_query_set(self, name: str) -> None:
        """Deletes a query set; `NotFound` when there is none of that name."""
        with self._ledger.write("settings", origin=self._origin) as tx:
            delete_query_set(tx, name)

    def run(
        self,
        queries: QuerySet,
        after: RankingProfile,
        *,
        before: RankingProfile | None = None,
        progress: Progress = no_progress,
        cancel: CancelToken | None = None,
    ) -> QuerySetReport:
        """Answers every query under two settings; `before` defaults to the store's own.

        An expected fact that was revised stands for what replaced it. Raises what a recall raises.
        """
        first = before or self.current()
        expected = self._expected(queries)
        outcomes = []
        for done, judged in enumerate(queries.queries):
            if cancel is not None:
                cancel.check()
            progress(done, len(queries.queries), "Asking the saved queries")
            rankings = self._search.previews(queries.agent_id, judged.query, [_options(first), _options(after)])
            wanted = frozenset().union(*(expected[fact_id] for fact_id in judged.expected))
            places = [_place(ranking.facts(), wanted) for ranking in rankings]
            outcomes.append(QueryOutcome(judged.query, places[0], places[1]))
        progress(len(queries.queries), len(queries.queries), "Asking the saved queries")
        return QuerySetReport(
            queries.name,
            tuple(outcomes),
            _quality([outcome.before for outcome in outcomes]),
            _quality([outcome.after for outcome in outcomes]),
        )

    def _expected(self, queries: QuerySet) -> Mapping[str, frozenset[str]]:
        """For each expected id the ids that count for it: itself and what replaced it."""
        ids = sorted({fact_id for judged in queries.queries for fact_id in judged.expected})
        with self._ledger.read() as connection:
            facts = load_facts(connection, ids)
            later = {
                fact_id: [newer.id for newer in lineage(connection, fact).superseded_by]
                for fact_id, fact in facts.items()
                if fact.is_superseded
            }
        return {fact_id: frozenset([fact_id, *later.get(fact_id, ())]) for fact_id in ids}


def _options(profile: RankingProfile) -> RecallOptions:
    return RecallOptions(
        top_k=PLACES,
        min_confidence=profile.min_confidence,
        confidence_weight=profile.confidence_weight,
        signal_weights=profile.signal_weights,
        coverage_gate=profile.coverage_gate,
        min_relevance=profile.min_relevance,
        preview=True,
    )


def _place(facts: Sequence[Fact], wanted: frozenset[str]) -> int | None:
    return next((place for place, fact in enumerate(facts, 1) if fact.id in wanted), None)


def _quality(places: Sequence[int | None]) -> Quality:
    if not places:
        return Quality(0.0, 0.0, 0.0)
    found = [place for place in places if place is not None]
    count = len(places)
    return Quality(
        sum(1 for place in found if place == 1) / count, len(found) / count, sum(1 / place for place in found) / count
    )
