"""Facts, who wrote them, and how they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

SHARED_AGENT_ID = "__shared__"
SUPERSEDED_BY_AGENT = "agent"
CONFIDENCE_LABELS = ("verified", "inferred", "unverified")
JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
Channel = Literal["desktop", "cli", "mcp", "vault", "import", "consolidation", "library"]
Status = Literal["live", "retired", "all"]
SortColumn = Literal[
    "created", "text", "agent", "confidence", "pinned", "weight", "accessed", "uses", "origin", "status"
]


class Confidence(StrEnum):
    """A writer's declaration, not a probability."""

    VERIFIED = "verified"
    INFERRED = "inferred"
    UNVERIFIED = "unverified"

    @property
    def level(self) -> int:
        """2 verified, 1 inferred, 0 unverified."""
        return 2 - CONFIDENCE_LABELS.index(self.value)


def effective_confidence(label: str) -> Confidence:
    """What a stored label counts as: absent is inferred, an unknown one is unverified."""
    if label == "verified":
        return Confidence.VERIFIED
    return Confidence.INFERRED if label in ("", "inferred") else Confidence.UNVERIFIED


@dataclass(frozen=True, slots=True)
class SourceRef:
    """Where a text came from: kind `file`, `note`, `fact` or `locator`, and the reference itself."""

    kind: str
    ref: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote something, through which channel, from which sources."""

    channel: Channel
    client: str = ""
    client_version: str = ""
    session: str = ""
    sources: tuple[SourceRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing an agent keeps."""

    id: str
    agent_id: str
    text: str
    created_ns: int
    accessed_ns: int | None
    access_count: int
    weight: float
    superseded_by: str
    confidence: str
    kind: str
    alias_source: str
    pinned: bool
    pinned_ns: int | None
    origin: Origin
    version: int

    @property
    def is_superseded(self) -> bool:
        """Whether the fact is retired, with or without a replacement."""
        return self.superseded_by != ""

    @property
    def effective_confidence(self) -> Confidence:
        """What the stored label counts as in ranking."""
        return effective_confidence(self.confidence)


@dataclass(frozen=True, slots=True)
class FactQuery:
    """Which facts to list and in which order. Text matches by substring, case-insensitively; ranges are half-open.

    `unused` facts were never recalled, `without_vector` ones are not embedded yet by the model that answers.
    """

    agent_id: str | None = None
    status: Status = "live"
    kind: Literal["content", "alias", "all"] = "all"
    confidence: frozenset[Confidence] = frozenset()
    pinned: bool | None = None
    channel: Channel | None = None
    text: str = ""
    created_from_ns: int | None = None
    created_until_ns: int | None = None
    weight_from: float | None = None
    weight_below: float | None = None
    unused: bool = False
    without_vector: bool = False
    sort: SortColumn = "created"
    descending: bool = True


@dataclass(frozen=True, slots=True)
class FactListing:
    """The ids of a query in their order, not to be changed, as of a journal seq.

    `drops` says how often something had been taken away or put right beside the journal.
    """

    query: FactQuery
    seq: int
    drops: int
    ids: list[str]


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """One namespace and what it holds; `live`, `retired` and `pinned` count content facts, `aliases` live aliases."""

    agent_id: str
    live: int
    retired: int
    pinned: int
    aliases: int


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """The seed's figures of one namespace, over its live facts."""

    agent_id: str
    fact_count: int
    oldest_ns: int | None
    newest_ns: int | None
    avg_weight: float


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a fact replaced (nearest first, transitively) and what replaced it (next first)."""

    supersedes: tuple[Fact, ...]
    superseded_by: tuple[Fact, ...]
