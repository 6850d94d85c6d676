"""What the ranking lab keeps in a store: named settings, and queries with the facts that should answer them.

Both are journalled settings, one row each, so that saving and deleting them can be undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection

from gm_engine.config import check_confidence_weight, check_fraction, check_signal_weights
from gm_engine.errors import InvalidInput, NotFound
from gm_engine.records import Confidence, SignalWeights, StoreSettings
from gm_engine.store.facts import check_agent_id
from gm_engine.store.settings import remove_setting, settings_under, write_setting
from gm_engine.store.transaction import Transaction

_PROFILE = "profile:"
_QUERY_SET = "query_set:"
_MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class RankingProfile:
    """A named way to rank. `min_confidence` None = no filter, `top_k` None = the caller's."""

    name: str
    signal_weights: SignalWeights
    coverage_gate: float
    min_relevance: float
    confidence_weight: float
    min_confidence: Confidence | None = None
    top_k: int | None = None

    def as_settings(self, settings: StoreSettings) -> StoreSettings:
        """`settings` with this profile as the store's default; a filter and a length belong to calls, not to stores."""
        return replace(
            settings,
            signal_weights=self.signal_weights,
            coverage_gate=self.coverage_gate,
            min_relevance=self.min_relevance,
            confidence_weight=self.confidence_weight,
        )


def profile_of(settings: StoreSettings, name: str) -> RankingProfile:
    """How a store with these settings ranks."""
    return RankingProfile(
        name,
        settings.signal_weights,
        coverage_gate=settings.coverage_gate,
        min_relevance=settings.min_relevance,
        confidence_weight=settings.confidence_weight,
    )


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query and the ids of the facts any of which answers it."""

    query: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuerySet:
    """Judged queries of one agent under a name."""

    name: str
    agent_id: str
    queries: tuple[JudgedQuery, ...]


def load_profiles(connection: Connection) -> tuple[RankingProfile, ...]:
    """All profiles, by name."""
    return tuple(_profile(name, value) for name, value in settings_under(connection, _PROFILE).items())


def save_profile(tx: Transaction, profile: RankingProfile) -> None:
    """Stores a profile, in place of one of the same name. `InvalidInput` names a bad value."""
    check_signal_weights(profile.signal_weights)
    check_fraction("coverage_gate", profile.coverage_gate)
    check_fraction("min_relevance", profile.min_relevance)
    check_confidence_weight(profile.confidence_weight)
    value = asdict(profile)
    write_setting(tx, _PROFILE + _checked(value.pop("name")), value)


def delete_profile(tx: Transaction, name: str) -> None:
    """Removes a profile; `NotFound` when there is none."""
    _remove(tx, _PROFILE, name)


def load_query_sets(connection: Connection) -> tuple[QuerySet, ...]:
    """All query sets, by name."""
    return tuple(_query_set(name, value) for name, value in settings_under(connection, _QUERY_SET).items())


def save_query_set(tx: Transaction, queries: QuerySet) -> None:
    """Stores a query set, in place of one of the same name. `InvalidInput` when a query is blank or expects nothing."""
    check_agent_id(queries.agent_id)
    for judged in queries.queries:
        if not judged.query.strip() or not judged.expected:
            raise InvalidInput("A judged query needs words and at least one expected fact.", query=judged.query[:200])
    value = asdict(queries)
    write_setting(tx, _QUERY_SET + _checked(value.pop("name")), value)


def delete_query_set(tx: Transaction, name: str) -> None:
    """Removes a query set; `NotFound` when there is none."""
    _remove(tx, _QUERY_SET, name)


def _remove(tx: Transaction, prefix: str, name: str) -> None:
    if not remove_setting(tx, prefix + name):
        raise NotFound(f"Nothing is saved under the name {name[:_MAX_NAME]!r}.", name=name[:_MAX_NAME])


def _checked(name: str) -> str:
    if not name.strip() or len(name) > _MAX_NAME:
        raise InvalidInput(f"A name has 1 to {_MAX_NAME} characters, not only blanks.", field="name")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("The name holds a lone surrogate.", field="name") from error
    return name


def _profile(name: str, value: Mapping[str, Any]) -> RankingProfile:
    least = value["min_confidence"]
    return RankingProfile(
        name,
        SignalWeights(**value["signal_weights"]),
        coverage_gate=value["coverage_gate"],
        min_relevance=value["min_relevance"],
        confidence_weight=value["confidence_weight"],
        min_confidence=None if least is None else Confidence(least),
        top_k=value["top_k"],
    )


def _query_set(name: str, value: Mapping[str, Any]) -> QuerySet:
    queries = tuple(JudgedQuery(judged["query"], tuple(judged["expected"])) for judged in value["queries"])
    return QuerySet(name, value["agent_id"], queries)
