"""Which models and which upkeep the person chose for this program, and the engine's configuration made from it.

Where the environment names a model, it decides, as it does for the command line: a choice made here is then not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from gm_engine.config import (
    EMBEDDING_VARIABLES,
    MODEL_VARIABLES,
    Config,
    EmbeddingMode,
    EmbeddingServer,
    LanguageModelConfig,
    embedding_from,
    language_model_from,
)
from gm_engine.errors import InvalidInput
from gm_engine.proposals import ProposalKind

MODEL_KEY_NAME = MODEL_VARIABLES["api_key"]


@dataclass(frozen=True, slots=True)
class EmbeddingChoice:
    """A mode of `EmbeddingMode`; `url`, `model` and `key_name` are empty where they are the mode's own."""

    mode: str = "bundled"
    url: str = ""
    model: str = ""
    key_name: str = ""


@dataclass(frozen=True, slots=True)
class LanguageChoice:
    """`kind` is `openai`, `anthropic`, or empty for no language model; `key_name` names the key, it is not the key."""

    kind: str = ""
    url: str = ""
    model: str = ""
    key_name: str = ""


@dataclass(frozen=True, slots=True)
class UpkeepChoice:
    """When cycles of consolidation run by themselves, and what they may do without being asked."""

    by_itself: bool = True
    threshold: int = 20
    half_life_h: float = 720.0
    auto_apply: tuple[ProposalKind, ...] = ()
    auto_prune: bool = False


@dataclass(frozen=True, slots=True)
class EngineChoices:
    """Everything about the engine that belongs to this program, not to a store."""

    embedding: EmbeddingChoice = EmbeddingChoice()
    language: LanguageChoice = LanguageChoice()
    upkeep: UpkeepChoice = UpkeepChoice()

    def as_json(self) -> dict[str, Any]:
        """The choices as plain values; `choices_from` reads them back."""
        return asdict(self)


def choices_from(stored: object) -> EngineChoices:
    """The choices in plain values; whatever makes no sense is as good as absent."""
    found = stored if isinstance(stored, dict) else {}
    upkeep = _known(UpkeepChoice, found.get("upkeep"))
    if isinstance(upkeep.get("auto_apply"), list):
        upkeep["auto_apply"] = tuple(upkeep["auto_apply"])
    made = EngineChoices()
    for wanted in (
        {"embedding": EmbeddingChoice(**_known(EmbeddingChoice, found.get("embedding")))},
        {"language": LanguageChoice(**_known(LanguageChoice, found.get("language")))},
        {"upkeep": UpkeepChoice(**upkeep)},
    ):
        try:
            candidate = replace(made, **wanted)
            config_of(candidate, {})
        except (InvalidInput, TypeError, ValueError):
            continue
        made = candidate
    return made


def config_of(choices: EngineChoices, environ: Mapping[str, str]) -> Config:
    """How a store is opened. Raises `InvalidInput` for a value that the engine refuses."""
    if environment_embeds(environ):
        mode, server = embedding_from(environ)
    else:
        mode, server = embedding_config(choices.embedding)
    upkeep = choices.upkeep
    return Config(
        embedding_mode=mode,
        embedding_server=server,
        language_model=language_model_from(environ) or language_config(choices.language, environ),
        async_consolidate=upkeep.by_itself,
        consolidate_threshold=upkeep.threshold,
        decay_half_life_h=upkeep.half_life_h,
        auto_apply=upkeep.auto_apply,
        auto_prune=upkeep.auto_prune,
    )


def embedding_config(choice: EmbeddingChoice) -> tuple[EmbeddingMode, EmbeddingServer]:
    """The engine's words for a choice. Raises `InvalidInput`."""
    if choice.mode not in [*EmbeddingMode]:
        raise InvalidInput(f"There is no way to embed called {choice.mode!r}.", field="mode")
    return EmbeddingMode(choice.mode), EmbeddingServer(choice.url, choice.model, choice.key_name)


def language_config(choice: LanguageChoice, environ: Mapping[str, str]) -> LanguageModelConfig | None:
    """The engine's words for a choice, with the key that it names; None for no model. Raises `InvalidInput`."""
    if not choice.kind:
        return None
    from gm_engine.embedding.providers import find_key  # numpy comes with it: not before a store opens

    if choice.kind not in ("openai", "anthropic"):
        raise InvalidInput(f"A language model is openai or anthropic, not {choice.kind!r}", field="kind")
    key = find_key(choice.key_name or MODEL_KEY_NAME, environ)
    return LanguageModelConfig(
        "anthropic" if choice.kind == "anthropic" else "openai", choice.url, choice.model, api_key=key
    )


def environment_embeds(environ: Mapping[str, str]) -> bool:
    """Whether the environment names the embedding model."""
    return any(environ.get(EMBEDDING_VARIABLES[name]) for name in ("mode", "url"))


def environment_speaks(environ: Mapping[str, str]) -> bool:
    """Whether the environment names the language model."""
    return bool(environ.get(MODEL_VARIABLES["url"]))


def _known(kind: type, stored: object) -> dict[str, Any]:
    """The stored values that are of the type that their field has by default."""
    found = stored if isinstance(stored, dict) else {}
    defaults = asdict(kind())
    names = [field.name for field in fields(kind)]
    return {
        name: found[name]
        for name in names
        if name in found
        and (type(found[name]) is type(defaults[name]) or (name == "auto_apply" and isinstance(found[name], list)))
    }
