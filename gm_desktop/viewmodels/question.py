"""What is asked of which namespace, and how it is to be ranked: what differs from the store's own setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from gm_desktop.i18n import tr
from gm_desktop.models.fact_row import agent_title
from gm_engine.records import SHARED_AGENT_ID, Confidence, SignalWeights, StoreSettings

if TYPE_CHECKING:
    from gm_engine import RankingProfile, RecallOptions

Scope = Literal["agent", "shared", "all"]
SCOPES: tuple[Scope, ...] = ("agent", "shared", "all")
TOP_K = 8
MOST_HITS = 500
MOST_WEIGHT = 1000.0
WEIGHT_REACH = 2.0  # where the sliders of the weights end
LIMITS: Mapping[str, tuple[float, float]] = {
    "vector": (0.0, MOST_WEIGHT),
    "keyword": (0.0, MOST_WEIGHT),
    "recency": (0.0, MOST_WEIGHT),
    "confidence_weight": (0.0, 0.5),
    "min_relevance": (0.0, 1.0),
    "coverage_gate": (0.0, 1.0),
}
FILTERS = ("", "inferred", "verified")  # everything is at least unverified


@dataclass(frozen=True, slots=True)
class RankSetting:
    """A complete way to rank: every number of `LIMITS`. `min_confidence` empty: no filter."""

    numbers: Mapping[str, float]
    min_confidence: str = ""
    top_k: int = TOP_K

    @property
    def weights(self) -> SignalWeights:
        """The three weights as the engine takes them."""
        return SignalWeights(self.numbers["vector"], self.numbers["keyword"], self.numbers["recency"])

    def profile(self, name: str) -> RankingProfile:
        """The same under a name, as the store keeps it."""
        from gm_engine import RankingProfile

        return RankingProfile(
            name,
            self.weights,
            coverage_gate=self.numbers["coverage_gate"],
            min_relevance=self.numbers["min_relevance"],
            confidence_weight=self.numbers["confidence_weight"],
            min_confidence=Confidence(self.min_confidence) if self.min_confidence else None,
            top_k=self.top_k,
        )


def saved_setting(settings: StoreSettings) -> RankSetting:
    """How the store ranks a call that asks for nothing special."""
    return RankSetting(
        _numbers(settings.signal_weights)
        | {
            "confidence_weight": settings.confidence_weight,
            "min_relevance": settings.min_relevance,
            "coverage_gate": settings.coverage_gate,
        }
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """What a call asks for beside the query; `numbers` holds only what differs from the store's own."""

    numbers: Mapping[str, float] = field(default_factory=dict)
    min_confidence: str = ""
    top_k: int = TOP_K

    def with_knob(self, name: str, value: float | str) -> Trial:
        """One thing set, within its limits. Raises `KeyError` for a name that is none."""
        if name == "min_confidence":
            return replace(self, min_confidence=str(value) if value in FILTERS else "")
        if name == "top_k":
            return replace(self, top_k=max(1, min(int(float(value)), MOST_HITS)))
        low, high = LIMITS[name]
        return replace(self, numbers={**self.numbers, name: min(high, max(low, float(value)))})

    def settled(self, saved: RankSetting) -> Trial:
        """The same with what equals the saved setting left to the store."""
        numbers = {name: value for name, value in self.numbers.items() if value != saved.numbers[name]}
        return self if numbers == self.numbers else replace(self, numbers=numbers)

    def over(self, saved: RankSetting) -> RankSetting:
        """The complete setting."""
        return RankSetting({**saved.numbers, **self.numbers}, self.min_confidence, self.top_k)

    def without_numbers(self) -> Trial:
        """Only filter and length: what belongs to a call, not to a ranking."""
        return replace(self, numbers={})


def trial_of(profile: RankingProfile, *, top_k: int) -> Trial:
    """A profile as a trial; `top_k` where it names none."""
    return Trial(
        _numbers(profile.signal_weights)
        | {
            "confidence_weight": profile.confidence_weight,
            "min_relevance": profile.min_relevance,
            "coverage_gate": profile.coverage_gate,
        },
        profile.min_confidence.value if profile.min_confidence is not None else "",
        profile.top_k or top_k,
    )


def _numbers(weights: SignalWeights) -> dict[str, float]:
    return {"vector": weights.vector, "keyword": weights.keyword, "recency": weights.recency}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: of which agent and scope, in which words, about which moment, ranked how."""

    agent_id: str = ""
    query: str = ""
    scope: Scope = "agent"
    as_of_ns: int | None = None
    trial: Trial = field(default_factory=Trial)

    @property
    def top_k(self) -> int:
        """How many hits are asked for."""
        return self.trial.top_k

    @property
    def namespace(self) -> str:
        """The one namespace that is asked; with scope `all`, the agent's own."""
        return SHARED_AGENT_ID if self.scope == "shared" else self.agent_id

    @property
    def is_askable(self) -> bool:
        """Whether there is a query and somebody to ask."""
        return bool(self.query.strip()) and bool(self.namespace)

    @property
    def whom(self) -> str:
        """Who is asked, in words."""
        if self.scope == "all":
            return tr("{agent} and shared", agent=agent_title(self.agent_id))
        return agent_title(self.namespace)

    def options(self, saved: RankSetting, *, with_numbers: bool = True) -> RecallOptions:
        """The options of the call: what differs from the store's setting and nothing else. Always a preview.

        Without numbers, the ranking is the saved one; filter, gate and length stay.
        """
        trial = self.trial
        options: RecallOptions = {"preview": True, "top_k": trial.top_k}
        if self.as_of_ns is not None:
            options["as_of_ns"] = self.as_of_ns
        if trial.min_confidence:
            options["min_confidence"] = trial.min_confidence
        numbers = trial.numbers
        if "coverage_gate" in numbers:
            options["coverage_gate"] = numbers["coverage_gate"]
        if with_numbers:
            if not numbers.keys().isdisjoint(("vector", "keyword", "recency")):
                options["signal_weights"] = trial.over(saved).weights
            if "confidence_weight" in numbers:
                options["confidence_weight"] = numbers["confidence_weight"]
            if "min_relevance" in numbers:
                options["min_relevance"] = numbers["min_relevance"]
        return options
