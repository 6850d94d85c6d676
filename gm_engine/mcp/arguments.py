"""Arguments of tool calls, validated by hand: lenient as older clients need it, strict where the contract is.

An older argument of the wrong type counts as left out, and unknown ones are ignored. Identities and the confidence
options are strict: whatever is wrong with them is an `InvalidInput` before any effect.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from gm_engine.errors import InvalidInput
from gm_engine.records import CONFIDENCE_LABELS

MAX_TEXT_BYTES = 262_144
MAX_QUERIES = 1_000
MAX_TOP_K = 100_000
CONFIDENCE_OPTIONS = ("min_confidence", "confidence_weight", "confidence")
Arguments = Mapping[str, Any]


def identity(arguments: Arguments, name: str = "agent_id") -> str:
    """The namespace, untouched; `InvalidInput` unless it is a string that is not blank."""
    value = arguments.get(name)
    if not isinstance(value, str) or not value or value.isspace():
        raise InvalidInput(f"{name} must be a string that is not blank.", field=name)
    return _bounded(name, value)


def either_identity(arguments: Arguments) -> str:
    """`agent_id`, else its older spelling `agent`; each that is there must be valid, and one must be there."""
    given = [identity(arguments, name) for name in ("agent_id", "agent") if name in arguments]
    if not given:
        raise InvalidInput("agent_id is missing: whose memory is it?", field="agent_id")
    return given[0]


def text(arguments: Arguments, name: str) -> str:
    """A string, empty where it is missing or of another type; `InvalidInput` for one that is too long."""
    value = arguments.get(name)
    return _bounded(name, value) if isinstance(value, str) else ""


def required_text(arguments: Arguments, name: str) -> str:
    """A string that is not blank; `InvalidInput` otherwise."""
    value = text(arguments, name)
    if not value or value.isspace():
        raise InvalidInput(f"{name} must be a string that is not blank.", field=name)
    return value


def _bounded(name: str, value: str) -> str:
    size = len(value.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT_BYTES:
        raise InvalidInput(f"{name} has {size:,} bytes; {MAX_TEXT_BYTES:,} are the most.", field=name)
    return value


def strings(arguments: Arguments, name: str) -> tuple[str | None, ...]:
    """The items of an array, None for each that is no string; empty where it is missing or no array."""
    value = arguments.get(name)
    if not isinstance(value, list):
        return ()
    if len(value) > MAX_QUERIES:
        raise InvalidInput(f"{name} has {len(value):,} items; {MAX_QUERIES:,} are the most.", field=name)
    return tuple(_bounded(name, item) if isinstance(item, str) else None for item in value)


def top_k(arguments: Arguments) -> int | None:
    """How many facts; None (the configured number) where it is missing, no whole number, or 0 and less."""
    value = arguments.get("top_k")
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return None
    if value >= MAX_TOP_K:
        return MAX_TOP_K
    return int(value) if int(value) == value else None


def flag(arguments: Arguments, name: str) -> bool:
    """A boolean, false where it is missing or of another type."""
    return arguments.get(name) is True


def allow_options(arguments: Arguments, allowed: Collection[str]) -> None:
    """Raises `InvalidInput` for a confidence option that this call does not have, whatever its value."""
    wrong = next((name for name in CONFIDENCE_OPTIONS if name in arguments and name not in allowed), None)
    if wrong is not None:
        raise InvalidInput(f"{wrong} is no option of this call.", field=wrong)


def label(arguments: Arguments, name: str) -> str | None:
    """An explicit label, None where none is given; `InvalidInput` for anything but the three known ones."""
    if name not in arguments:
        return None
    value = arguments[name]
    if not isinstance(value, str) or value not in CONFIDENCE_LABELS:
        raise InvalidInput(f"{name} must be one of {', '.join(CONFIDENCE_LABELS)}.", field=name)
    return value


def confidence_weight(arguments: Arguments) -> float | None:
    """An explicit weight, None where none is given; `InvalidInput` unless it is a number from 0 to 0.5."""
    if "confidence_weight" not in arguments:
        return None
    value = arguments["confidence_weight"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 0.5:
        raise InvalidInput("confidence_weight must be a number between 0 and 0.5.", field="confidence_weight")
    return float(value)
