"""What a recall is asked with and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gm_engine.records.facts import Confidence, Fact


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
class FactScope:
    """Which facts a recall may look at: created in a half-open range, and, where `ids` are given, no others."""

    created_from_ns: int | None = None
    created_until_ns: int | None = None
    ids: frozenset[str] | None = None


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
