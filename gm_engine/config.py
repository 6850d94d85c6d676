"""How a program wants to use a store. Settings that belong to the store itself are `StoreSettings`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from gm_engine.errors import GrayMatterError, InvalidInput
from gm_engine.proposals import APPLICABLE_KINDS, ProposalKind
from gm_engine.records import Fact, SignalWeights

MAX_CONFIDENCE_WEIGHT = 0.5
DATA_DIR_VARIABLE = "GRAYMATTER_DIR"
MAX_EMBEDDING_BATCH = 1000
EMBEDDING_VARIABLES = {
    "mode": "GRAYMATTER_EMBEDDING_MODE",
    "url": "GRAYMATTER_EMBEDDING_URL",
    "model": "GRAYMATTER_EMBEDDING_MODEL",
    "key_name": "GRAYMATTER_EMBEDDING_KEY_NAME",
}
MODEL_VARIABLES = {
    "kind": "GRAYMATTER_LLM_KIND",
    "url": "GRAYMATTER_LLM_URL",
    "model": "GRAYMATTER_LLM_MODEL",
    "api_key": "GRAYMATTER_LLM_KEY",
}


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """Where programs look for the store unless told otherwise: `GRAYMATTER_DIR`, else the user's data directory."""
    named = environ.get(DATA_DIR_VARIABLE, "")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_data_path

    return user_data_path("graymatter", appauthor=False)


class EmbeddingMode(StrEnum):
    """Where vectors come from.

    `auto` is `bundled`: nothing leaves this machine unless a mode is chosen that names a server. `openai` speaks to
    OpenAI, or to any server with the same `/v1/embeddings` (LM Studio, vLLM, llama.cpp). `auto-remote` takes the first
    that is there: Ollama, OpenAI with a key, Voyage with a key, else words alone.
    """

    BUNDLED = "bundled"
    AUTO = "auto"
    AUTO_REMOTE = "auto-remote"
    OLLAMA = "ollama"
    OPENAI = "openai"
    VOYAGE = "voyage"
    KEYWORD_ONLY = "keyword-only"


@dataclass(frozen=True, slots=True)
class EmbeddingServer:
    """Which server and model embed, where they are not those of the mode; "" and 0 stand for the mode's own.

    `url` is the base of the API (`http://localhost:1234/v1`). `key_name` names the environment variable, else the
    entry `graymatter` of the platform's keyring, that holds the key: the key itself is never stored, and OpenAI's own
    key is never sent to another `url` unless it is named here. `batch_size` texts are sent at once; a request ends
    after `timeout_s` seconds. `InvalidInput` names a bad field.
    """

    url: str = ""
    model: str = ""
    key_name: str = ""
    timeout_s: float = 30.0
    batch_size: int = 0

    def __post_init__(self) -> None:
        if self.url and not is_http_address(self.url):
            raise InvalidInput(f"{self.url!r} is no http address of an embedding server.", field="url")
        if not math.isfinite(self.timeout_s) or self.timeout_s <= 0:
            raise InvalidInput("timeout_s must be positive.", field="timeout_s")
        if not 0 <= self.batch_size <= MAX_EMBEDDING_BATCH:
            raise InvalidInput(f"batch_size must be between 0 and {MAX_EMBEDDING_BATCH}.", field="batch_size")


def embedding_from(environ: Mapping[str, str]) -> tuple[EmbeddingMode, EmbeddingServer]:
    """What `GRAYMATTER_EMBEDDING_MODE`, `…_URL`, `…_MODEL` and `…_KEY_NAME` name; the bundled model without them."""
    named = {name: environ.get(variable, "") for name, variable in EMBEDDING_VARIABLES.items()}
    server = EmbeddingServer(named["url"], named["model"], named["key_name"])
    mode = named["mode"] or (EmbeddingMode.OPENAI if server.url else EmbeddingMode.BUNDLED)
    if mode not in [*EmbeddingMode]:
        modes = ", ".join(EmbeddingMode)
        raise InvalidInput(f"GRAYMATTER_EMBEDDING_MODE must be one of {modes}, not {mode!r}", field="embedding_mode")
    return EmbeddingMode(mode), server


def is_http_address(url: str) -> bool:
    """Whether `url` names a server over http or https."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class LanguageModelConfig:
    """A language model to ask for summaries and single facts; without one, nothing is ever sent anywhere.

    `url` is the base of an OpenAI-style API (`…/v1`), or of Anthropic's. A request ends after `timeout_s` seconds,
    tries included. A key is not sent over plain http, except to this machine. `InvalidInput` names a bad field.
    """

    kind: Literal["openai", "anthropic"]
    url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 60.0
    retries: int = 2
    retry_pause_s: float = 2.0
    max_tokens: int = 2048

    def __post_init__(self) -> None:
        if self.kind not in ("openai", "anthropic"):
            raise InvalidInput(f"A language model is openai or anthropic, not {self.kind!r}", field="kind")
        if not self.model.strip():
            raise InvalidInput("The language model has no name.", field="model")
        if not is_http_address(self.url):
            raise InvalidInput(f"{self.url!r} is no http address of a language model.", field="url")
        parts = urlsplit(self.url)
        if self.api_key and parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise InvalidInput("A key is only sent over https, or to this machine.", field="url")
        if not self.api_key.isascii() or not self.api_key.isprintable():
            raise InvalidInput("The language model's key holds characters that no key has.", field="api_key")
        if not math.isfinite(self.timeout_s) or self.timeout_s <= 0:
            raise InvalidInput("timeout_s must be positive.", field="timeout_s")


def language_model_from(environ: Mapping[str, str]) -> LanguageModelConfig | None:
    """The model that `GRAYMATTER_LLM_KIND`, `…_URL`, `…_MODEL` and `…_KEY` name; None without a URL."""
    named = {name: environ.get(variable, "") for name, variable in MODEL_VARIABLES.items()}
    if not named["url"]:
        return None
    kind: Literal["openai", "anthropic"] = "anthropic" if named["kind"] == "anthropic" else "openai"
    if named["kind"] not in ("", kind):
        raise InvalidInput(f"GRAYMATTER_LLM_KIND must be openai or anthropic, not {named['kind']!r}", field="kind")
    return LanguageModelConfig(kind, named["url"], named["model"], named["api_key"])


@dataclass(frozen=True, slots=True)
class Config:
    """A caller's choices; None leaves a choice to the store's settings, then to the library's defaults.

    New facts feed the knowledge graph by themselves where `extract_entities` (deterministic rules, nothing is sent).
    A cycle of consolidation starts by itself after a write where `async_consolidate` and a namespace holds
    `consolidate_threshold` facts; it applies the kinds in `auto_apply` and prunes with `auto_prune`. Hooks are called
    on the thread that met the error and must not raise. `on_recall` hears namespace, query and facts of each recall
    that counts, `on_put` each fact that a verb of this program wrote, `on_index_error` why vectors are late.
    """

    top_k: int = 8
    embedding_mode: EmbeddingMode = EmbeddingMode.BUNDLED
    embedding_server: EmbeddingServer = EmbeddingServer()
    signal_weights: SignalWeights | None = None
    coverage_gate: float | None = None
    min_relevance: float | None = None
    confidence_weight: float | None = None
    vector_path: Literal["auto", "exact"] | None = None
    graph_hints: bool = False
    extract_entities: bool = True
    consolidate_threshold: int = 20
    decay_half_life_h: float = 720.0
    async_consolidate: bool = True
    max_async_consolidations: int = 2
    auto_apply: tuple[ProposalKind, ...] = ()
    auto_prune: bool = False
    language_model: LanguageModelConfig | None = None
    on_consolidate_error: Callable[[GrayMatterError], None] | None = None
    on_index_error: Callable[[GrayMatterError], None] | None = None
    on_recall: Callable[[str, str, tuple[Fact, ...]], None] | None = None
    on_put: Callable[[Fact], None] | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.decay_half_life_h) or self.decay_half_life_h <= 0:
            raise InvalidInput("decay_half_life_h must be a positive number of hours.", field="decay_half_life_h")
        check_kinds(self.auto_apply)
        if self.signal_weights is not None:
            check_signal_weights(self.signal_weights)
        if self.coverage_gate is not None:
            check_fraction("coverage_gate", self.coverage_gate)
        if self.min_relevance is not None:
            check_fraction("min_relevance", self.min_relevance)
        if self.confidence_weight is not None:
            check_confidence_weight(self.confidence_weight)


def check_kinds(kinds: tuple[ProposalKind, ...]) -> tuple[ProposalKind, ...]:
    """The kinds themselves when a cycle may apply each of them; else `InvalidInput`."""
    for kind in kinds:
        if kind not in APPLICABLE_KINDS:
            raise InvalidInput(f"A cycle applies {', '.join(APPLICABLE_KINDS)}, not {kind!r}", field="apply")
    return kinds


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
