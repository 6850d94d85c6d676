"""What crosses the wire, as frozen values: made from JSON that keeps its schema, and turned into such JSON again.

Instants are integer nanoseconds since 1970 UTC, as everywhere in this program; None is *absent*. An array that is null
or absent is an empty tuple, a text that is empty or absent an empty text. Nothing else is lost on the way to the wire
and back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self

from gm_engine.clock import GO_ZERO_TIME, format_ns, parse_rfc3339

Json = dict[str, Any]
Sensitivity = Literal["public", "internal", "confidential", "restricted"]
QueryMode = Literal["exact", "lexical", "semantic", "structured", "temporal"]
FreshnessMode = Literal["live", "indexed", "hybrid"]
AsOfSupport = Literal["none", "filter", "snapshot"]
RelevanceBasis = Literal["lexical_span", "vector_similarity"]
Capability = Literal["search", "expand", "enumerate", "checkpoint", "context_expansion"]
SearchOutcome = Literal["success", "partial", "unavailable", "denied", "failed", "timeout", "skipped"]
SkipReason = Literal["not_applicable", "filter_unsupported", "record_type_mismatch", "as_of_unsupported"]
ExcerptKind = Literal["", "matched", "preview"]
MatchSignal = Literal["exact_identifier", "lexical", "semantic", "field", "alias"]
Detail = Literal["summary", "excerpt", "full", "context"]
HealthStatus = Literal["healthy", "degraded", "unavailable", "denied"]
SourceCoverage = Literal["complete", "partial", "unknown"]
CheckpointProgress = Literal["advanced", "unchanged", "regressed"]

_DURATIONS = frozenset({"cold_start_ns"})  # nanoseconds on the wire too; every other `…_ns` is an instant


@dataclass(frozen=True, slots=True)
class Payload:
    """One object of the wire. A field `deadline_ns` is the instant `deadline` there."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        """The value of a JSON object that keeps its schema."""
        plan = _plan(cls)
        found: dict[str, Any] = {}
        for key, value in wire.items():
            member = plan[key]
            if value is not None:
                found[member.name] = value if member.read is None else member.read(value)
            elif member.is_required:
                found[member.name] = ()  # only arrays may be null
        return cls(**found)

    def to_wire(self) -> Json:
        """The JSON object. Optional members that are empty are left out."""
        wire: Json = {}
        for key, member in _plan(type(self)).items():
            value = getattr(self, member.name)
            if member.is_required or not (value is None or (not value and isinstance(value, str | tuple))):
                wire[key] = value if member.write is None else member.write(value)
        return wire


class _Member(NamedTuple):
    """How one field is read from JSON and written to it; None where both are the same."""

    name: str
    is_required: bool
    read: Callable[[Any], object] | None = None
    write: Callable[[Any], object] | None = None


_PLANS: dict[type[Payload], dict[str, _Member]] = {}


def _plan(kind: type[Payload]) -> dict[str, _Member]:
    """The members of a payload by their names on the wire."""
    plan = _PLANS.get(kind)
    return plan if plan is not None else _PLANS.setdefault(kind, dict(map(_member, fields(kind))))


def _member(each: Field[Any]) -> tuple[str, _Member]:
    is_required = each.default is MISSING and each.default_factory is MISSING
    if each.name.endswith("_ns") and each.name not in _DURATIONS:
        return each.name.removesuffix("_ns"), _Member(each.name, is_required, instant_ns, _instant_text)
    if nested := _NESTED.get(each.name):
        if str(each.type).startswith("tuple"):
            return each.name, _Member(
                each.name,
                is_required,
                lambda parts: tuple(nested.from_wire(part) for part in parts),
                lambda parts: [part.to_wire() for part in parts],
            )
        return each.name, _Member(each.name, is_required, nested.from_wire, nested.to_wire)
    if str(each.type).startswith("tuple"):
        return each.name, _Member(each.name, is_required, tuple, list)
    if str(each.type).startswith("int"):
        return each.name, _Member(each.name, is_required, int)  # JSON Schema takes 2.0 for one, too
    return each.name, _Member(each.name, is_required)


@lru_cache(maxsize=256)
def instant_ns(text: str) -> int | None:
    """The nanoseconds since 1970 of an instant of the wire; None for the zero instant."""
    return parse_rfc3339(text)


def _instant_text(at_ns: int | None) -> str:
    return GO_ZERO_TIME if at_ns is None else format_ns(at_ns)


@dataclass(frozen=True, slots=True)
class InitializeParams(Payload):
    """What a core says first. `workdir` is the one directory the adapter may write in; `settings` are the adapter's."""

    protocol_version_min: int
    protocol_version_max: int
    workdir: str
    source_id: str
    location: str = ""
    base_dir: str = ""
    settings: Json | None = None


@dataclass(frozen=True, slots=True)
class ExecutableRequirement(Payload):
    """A program that an adapter needs."""

    name: str
    command: str
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Manifest(Payload):
    """What an adapter is and can do. `max_concurrency` 0 means any number of requests at once."""

    protocol_version: int
    adapter_id: str
    display_name: str
    record_types: tuple[str, ...]
    query_modes: tuple[QueryMode, ...]
    freshness_modes: tuple[FreshnessMode, ...]
    as_of_support: AsOfSupport
    relevance_basis: RelevanceBasis
    capabilities: tuple[Capability, ...]
    sensitivity: Sensitivity
    derives_from: tuple[str, ...] = ()
    max_concurrency: int = 0
    freshness_policy: str = ""
    settings_schema: Json | None = None
    executable_requirements: tuple[ExecutableRequirement, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchFilters(Payload):
    """What a search is narrowed to; empty means everything. `since_ns` and `until_ns` are instants."""

    record_types: tuple[str, ...] = ()
    since_ns: int | None = None
    until_ns: int | None = None
    entities: tuple[str, ...] = ()
    project: str = ""


@dataclass(frozen=True, slots=True)
class SearchParams(Payload):
    """One search, to be answered by `deadline_ns`; with `as_of_ns` about the source as it was then."""

    query: str
    filters: SearchFilters
    limit: int
    deadline_ns: int
    context: tuple[str, ...] = ()
    as_of_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Candidate(Payload):
    """One hit. `source_record_id` is equal for all hits in one record; `locator` is `<source_id>:<local>`.

    `local_rank` counts from 1; `local_score` compares within one source only; `relevance` is 0 to 1. `source_uid` and
    `source_id` belong to the core: an adapter leaves them empty.
    """

    candidate_id: str
    source_record_id: str
    locator: str
    record_type: str
    title: str
    local_rank: int
    sensitivity: Sensitivity
    derived_from: tuple[str, ...] = ()
    excerpt: str = ""
    excerpt_kind: ExcerptKind = ""
    local_score: float | None = None
    relevance: float | None = None
    match_signals: tuple[MatchSignal, ...] = ()
    observed_at_ns: int | None = None
    confirmed_at_ns: int | None = None
    event_time_ns: int | None = None
    valid_from_ns: int | None = None
    valid_to_ns: int | None = None
    source_revision: str = ""
    metadata: Json | None = None
    content_fingerprint: str = ""
    source_uid: str = ""
    source_id: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult(Payload):
    """What a search found. `success` without candidates claims that everything was searched and nothing is there.

    `reason` goes with `skipped` only, and `skipped` with no candidates only.
    """

    candidates: tuple[Candidate, ...]
    outcome: SearchOutcome
    diagnostics: Json | None = None
    source_watermark: str = ""
    reason: SkipReason | None = None


@dataclass(frozen=True, slots=True)
class ExpandParams(Payload):
    """Asks for what a locator names, in at most `budget_bytes` bytes of UTF-8."""

    locator: str
    detail: Detail
    budget_bytes: int
    deadline_ns: int


@dataclass(frozen=True, slots=True)
class ExpandResult(Payload):
    """What a locator names; `truncated` when the budget cut it."""

    content: str
    truncated: bool
    source_revision: str = ""
    truncation_boundary: str = ""
    provenance: str = ""


@dataclass(frozen=True, slots=True)
class HealthParams(Payload):
    """Asks how a source is."""

    deadline_ns: int


@dataclass(frozen=True, slots=True)
class RefreshParams(Payload):
    """Asks an adapter to catch up with its source; `full` means from the start."""

    deadline_ns: int
    full: bool = False


@dataclass(frozen=True, slots=True)
class Health(Payload):
    """How a source is. `cold_start_ns` is measured by the core: nanoseconds from the start to the manifest."""

    status: HealthStatus
    checked_at_ns: int | None
    coverage: SourceCoverage
    last_success_at_ns: int | None = None
    source_watermark: str = ""
    index_watermark: str = ""
    index_generation: str = ""
    index_model: str = ""
    index_config: str = ""
    record_count: int | None = None
    indexed_count: int | None = None
    failed_count: int | None = None
    diagnostics: Json | None = None
    checkpoint_progress: CheckpointProgress | None = None
    cold_start_ns: int | None = None


_NESTED: dict[str, type[Payload]] = {
    "candidates": Candidate,
    "executable_requirements": ExecutableRequirement,
    "filters": SearchFilters,
}
