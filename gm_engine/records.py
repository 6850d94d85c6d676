"""What crosses the engine's door: frozen records, no rows and no dicts.

Times are integer nanoseconds since 1970 UTC (`…_ns`), None where absent. Weights are retention weights in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    """Which facts to list and in which order. Text matches by substring, case-insensitively; times are half-open."""

    agent_id: str | None = None
    status: Status = "live"
    kind: Literal["content", "alias", "all"] = "all"
    confidence: frozenset[Confidence] = frozenset()
    pinned: bool | None = None
    channel: Channel | None = None
    text: str = ""
    created_from_ns: int | None = None
    created_until_ns: int | None = None
    sort: SortColumn = "created"
    descending: bool = True


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


@dataclass(frozen=True, slots=True)
class Change:
    """One target of a journal entry.

    `before` and `after` hold the changed columns, all of them when the target was created or removed.
    """

    kind: str
    target: str
    agent_id: str | None
    version_before: int
    version_after: int
    before: Mapping[str, JsonValue] | None
    after: Mapping[str, JsonValue] | None


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One committed verb. Entries of one user action share `group_id`; `undoes` is the group that this one undid."""

    seq: int
    at_ns: int
    verb: str
    agent_id: str | None
    group_id: str
    actor: Origin
    undoes: str | None
    detail: str | None
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed after one journal seq up to `seq`: the namespaces, the facts, and the kinds of record."""

    seq: int
    agent_ids: frozenset[str] = frozenset()
    fact_ids: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.kinds)


@dataclass(frozen=True, slots=True)
class SignalWeights:
    """Weights of the three signals in the fused score; 0 switches one off. The defaults are the seed's."""

    vector: float = 1.0
    keyword: float = 1.0
    recency: float = 0.5


BALANCED_WEIGHTS = SignalWeights(1.0, 1.0, 0.1)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Settings that belong to the store, shared by every program that opens it."""

    signal_weights: SignalWeights = SignalWeights()
    coverage_gate: float = 0.4
    min_relevance: float = 0.0
    confidence_weight: float = 0.0
    language: str = "english"
    vector_path: Literal["auto", "exact"] = "auto"


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a recall could look at, and which path answered the vector signal.

    `eligible` facts were searched, `with_vector` of them have one. `vector_path` is `exact`, `chroma`, or `none` with
    the `reason` in words.
    """

    eligible: int
    with_vector: int
    vector_path: Literal["exact", "chroma", "none"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The policy a recall applied; present when a confidence option was given or a positive default is configured."""

    min_confidence: Confidence | None
    confidence_weight: float
    policy: str
    kg: str


@dataclass(frozen=True, slots=True)
class Ranks:
    """Rank of a fact in each signal (1-based; 0 = not ranked) and the fused base score of them."""

    vector_rank: int
    keyword_rank: int
    recency_rank: int
    fused_score: float
    k: int
    weights: SignalWeights


@dataclass(frozen=True, slots=True)
class ConfidenceRanking:
    """How confidence turned the base score into the final one: final = base x factor."""

    base_score: float
    final_score: float
    factor: float
    effective_confidence: Confidence
    confidence_weight: float
    policy: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """Why one fact came back. `matched_terms` are the stemmed words that query and text share (never on the wire).

    `kg_links` are the ids of the entities that the text mentions, where graph hints are on.
    """

    fact: Fact
    age_days: float
    ranks: Ranks
    final_score: float
    ranking: ConfidenceRanking | None
    supersedes: tuple[str, ...]
    matched_terms: tuple[str, ...] = ()
    similarity: float | None = None
    keyword_score: float | None = None
    kg_links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The answer of a recall: facts in final order."""

    facts: tuple[Fact, ...]
    coverage: Coverage
    feedback: str = ""
    retrieval: Retrieval | None = None
    hints: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The facts' texts, followed by graph hints where they are on."""
        return tuple(fact.text for fact in self.facts) + self.hints


@dataclass(frozen=True, slots=True)
class RecallExplainResult:
    """The same ranking as a recall with one receipt per fact."""

    receipts: tuple[Receipt, ...]
    coverage: Coverage
    feedback: str = ""
    retrieval: Retrieval | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a checkpoint's conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class CheckpointSummary:
    """One line of a checkpoint list. `message_count` is None when the record is damaged."""

    id: str
    agent_id: str
    created_ns: int
    message_count: int | None
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What an agent saved to resume from."""

    id: str
    agent_id: str
    created_ns: int
    state: Mapping[str, JsonValue]
    messages: tuple[Message, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entity:
    """A node of the knowledge graph."""

    id: str
    label: str
    type: str
    first_seen_ns: int | None
    last_seen_ns: int | None
    weight: float
    made_by: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two entities; `sources` are the fact ids that produced it. An imported end may be missing."""

    from_id: str
    to_id: str
    relation: str
    created_ns: int | None
    weight: float
    made_by: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Counts:
    """How many records of each kind."""

    facts: int = 0
    checkpoints: int = 0
    entities: int = 0
    edges: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that was not imported, and why."""

    kind: str
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import found, what it wrote, and what it left out. A preview has `imported` as it would be."""

    source: str
    found: Counts
    imported: Counts
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """Embeddings: live texts with a vector, still without, vectors in Chroma, and the path that recalls take now."""

    model: str
    embedded: int
    pending: int
    chroma: int
    path: str


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The figures of a whole store."""

    data_dir: str
    agents: tuple[AgentSummary, ...]
    checkpoints: int
    entities: int
    edges: int
    vectors: VectorStatus


@dataclass(frozen=True, slots=True)
class Process:
    """A program that has the store open."""

    id: str
    pid: int
    program: str
    version: str
    client: str
    since_ns: int
    seen_ns: int


@dataclass(frozen=True, slots=True)
class Block:
    """A value that must never be stored again, by anybody or by one agent.

    `key` is the hash of its normal form in hexadecimal; `text` is None once the text was purged. `attempts` counts the
    refused writes.
    """

    key: str
    agent_id: str | None
    text: str | None
    created_ns: int
    version: int
    attempts: int


@dataclass(frozen=True, slots=True)
class BlockedAttempt:
    """How often a client tried to store a blocked value, and when it did last."""

    key: str
    client: str
    count: int
    last_ns: int
