"""How a program wants to use a store. Settings that belong to the store itself are `StoreSettings`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from gm_engine.errors import InvalidInput
from gm_engine.records import SignalWeights

MAX_CONFIDENCE_WEIGHT = 0.5
DATA_DIR_VARIABLE = "GRAYMATTER_DIR"


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """Where programs look for the store unless told otherwise: `GRAYMATTER_DIR`, else the user's data directory."""
    named = environ.get(DATA_DIR_VARIABLE, "")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_data_path

    return user_data_path("graymatter", appauthor=False)


class EmbeddingMode(StrEnum):
    """Where vectors come from."""

    BUNDLED = "bundled"
    KEYWORD_ONLY = "keyword-only"


@dataclass(frozen=True, slots=True)
class Config:
    """A caller's choices; None leaves a choice to the store's settings, then to the library's defaults."""

    top_k: int = 8
    embedding_mode: EmbeddingMode = EmbeddingMode.BUNDLED
    signal_weights: SignalWeights | None = None
    coverage_gate: float | None = None
    min_relevance: float | None = None
    confidence_weight: float | None = None
    vector_path: Literal["auto", "exact"] | None = None
    graph_hints: bool = False

    def __post_init__(self) -> None:
        if self.signal_weights is not None:
            check_signal_weights(self.signal_weights)
        if self.coverage_gate is not None:
            check_fraction("coverage_gate", self.coverage_gate)
        if self.min_relevance is not None:
            check_fraction("min_relevance", self.min_relevance)
        if self.confidence_weight is not None:
            check_confidence_weight(self.confidence_weight)


def check_confidence_weight(value: float) -> float:
    """The weight itself when it is finite and in [0, 0.5]; else `InvalidInput`."""
    if isinstance(value, bool) or not math.isfinite(value) or not 0 <= value <= MAX_CONFIDENCE_WEIGHT:
        raise InvalidInput(f"confidence_weight must be between 0 and 0.5, not {value!r}", field="confidence_weight")
    return float(value)


def check_fraction(name: str, value: float) -> float:
    """The value itself when it is finite and in [0, 1]; else `InvalidInput` that names the field."""
    if isinstance(value, bool) or not math.isfinite(value) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be between 0 and 1, not {value!r}", field=name)
    return float(value)


def check_signal_weights(weights: SignalWeights) -> SignalWeights:
    """The weights themselves when each is finite and not negative; else `InvalidInput` that names the signal."""
    for name in ("vector", "keyword", "recency"):
        value = getattr(weights, name)
        if isinstance(value, bool) or not math.isfinite(value) or value < 0:
            raise InvalidInput(f"the {name} weight must be finite and not negative, not {value!r}", field=name)
    return weights
