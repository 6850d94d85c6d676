"""Asking a language model for one summary, to see whether it answers in the form that consolidation needs."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from gm_engine.config import LanguageModelConfig
from gm_engine.language.http import HttpLanguageModel
from gm_engine.language.model import summarise
from gm_engine.progress import CancelToken

_FACTS = {"1": "The night shift starts at 22:00.", "2": "The night shift ends at 06:00."}


@dataclass(frozen=True, slots=True)
class LanguageTrial:
    """What a model made of two short facts, and the seconds it took."""

    model: str
    summary: str
    took_s: float


def try_language_model(config: LanguageModelConfig, *, cancel: CancelToken | None = None) -> LanguageTrial:
    """Asks for a summary of two made-up facts; nothing of the store is sent. Raises `LanguageModelFailed`."""
    began_s = monotonic()
    draft = summarise(HttpLanguageModel(config), _FACTS, cancel=cancel)
    return LanguageTrial(config.model, draft.summary, monotonic() - began_s)
