"""The settings of a store as a source: one schema, which the manifest publishes and the handshake checks with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from gm_engine.config import MAX_CONFIDENCE_WEIGHT
from gm_engine.errors import InvalidInput
from gm_engine.recall_protocol.payloads import Sensitivity
from gm_engine.records.facts import CONFIDENCE_LABELS

SENSITIVITIES: tuple[Sensitivity, ...] = ("public", "internal", "confidential", "restricted")
DEFAULT_CAP = 50
MAX_CAP = 200

SETTINGS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "agents": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "uniqueItems": True,
            "title": "Agents",
            "description": "The namespaces to serve; all without it.",
        },
        "include_shared": {
            "type": "boolean",
            "default": True,
            "title": "Include shared facts",
            "description": "Whether the namespace that every agent reads is served, too.",
        },
        "sensitivity": {
            "enum": list(SENSITIVITIES),
            "default": "internal",
            "title": "Sensitivity",
            "description": "How sensitive everything in this store is.",
        },
        "min_confidence": {
            "enum": list(CONFIDENCE_LABELS),
            "title": "Lowest confidence",
            "description": "Facts that are less sure are not served.",
        },
        "confidence_weight": {
            "type": "number",
            "minimum": 0,
            "maximum": MAX_CONFIDENCE_WEIGHT,
            "title": "Weight of confidence",
            "description": "How much confidence counts in the ranking; the store's own setting without it.",
        },
        "top_k_cap": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_CAP,
            "default": DEFAULT_CAP,
            "title": "Most results",
            "description": "More results than this are never given, whatever is asked for.",
        },
    },
}


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """What one instance serves; the defaults serve everything."""

    agents: frozenset[str] | None = None
    include_shared: bool = True
    sensitivity: Sensitivity = "internal"
    min_confidence: str | None = None
    confidence_weight: float | None = None
    top_k_cap: int = DEFAULT_CAP

    @property
    def is_narrowed(self) -> bool:
        """Whether part of the store is left out."""
        return self.agents is not None or not self.include_shared


def read_settings(given: Mapping[str, Any] | None) -> AdapterSettings:
    """The settings of a handshake; `InvalidInput` names every key that is unknown or has a value it cannot have."""
    from jsonschema import Draft202012Validator

    values = dict(given or {})
    unknown = sorted(values.keys() - SETTINGS_SCHEMA["properties"].keys())
    if unknown:
        raise InvalidInput(f"unknown setting: {', '.join(name[:80] for name in unknown)}", fields=tuple(unknown))
    wrong = sorted({str(error.absolute_path[0]) for error in Draft202012Validator(SETTINGS_SCHEMA).iter_errors(values)})
    if wrong:
        rules = "; ".join(f"{name}: {SETTINGS_SCHEMA['properties'][name]['description']}" for name in wrong)
        raise InvalidInput(f"a setting has a value that it cannot have: {rules}", fields=tuple(wrong))
    agents = values.get("agents")
    return AdapterSettings(
        agents=None if agents is None else frozenset(agents),
        include_shared=values.get("include_shared", True),
        sensitivity=cast("Sensitivity", values.get("sensitivity", "internal")),
        min_confidence=values.get("min_confidence"),
        confidence_weight=values.get("confidence_weight"),
        top_k_cap=int(values.get("top_k_cap", DEFAULT_CAP)),
    )
