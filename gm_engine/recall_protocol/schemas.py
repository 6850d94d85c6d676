"""The contract of every payload: JSON Schema files, compiled once, asked at both ends."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource

from gm_engine.recall_protocol import messages
from gm_engine.recall_protocol.acceptance import Accepts, acceptance
from gm_engine.recall_protocol.errors import SchemaViolation
from gm_engine.resources import resource

_PREFIX = "urn:graymatter:recall:"
_RFC3339 = FormatChecker(formats=("date-time",))  # checked by rfc3339-validator
_FORMATS = FormatChecker(formats=())
_MAX_LOCATIONS = 8
_MAX_NAME = 40
_PARAMS = {
    messages.INITIALIZE: "initialize-params",
    messages.SEARCH: "search-params",
    messages.EXPAND: "expand-params",
    messages.HEALTH: "health-params",
    messages.REFRESH: "refresh-params",
    messages.CANCEL: "cancel-params",
    messages.SHUTDOWN: "shutdown-params",
}
_RESULTS = {
    messages.INITIALIZE: "manifest",
    messages.SEARCH: "search-result",
    messages.EXPAND: "expand-result",
    messages.HEALTH: "health",
    messages.REFRESH: "health",
    messages.SHUTDOWN: "shutdown-result",
}
REQUEST_METHODS = frozenset(_RESULTS)
"""The methods that are answered; `recall/cancel` is the only notification."""


@dataclass(frozen=True, slots=True)
class _Schema:
    accepts: Accepts
    validator: Draft202012Validator


class SchemaSet:
    """The compiled contract. Immutable; safe from any thread. `SchemaSet.shared()` compiles once per process."""

    def __init__(self) -> None:
        """Reads and compiles the shipped schema files."""
        files = sorted(resource("schemas", "recall").glob("*.json"))
        loaded = {f"{_PREFIX}{path.stem}": json.loads(path.read_text(encoding="utf-8")) for path in files}
        registry: Registry[Any] = Registry().with_resources(
            (name, Resource.from_contents(schema)) for name, schema in loaded.items()
        )
        self._schemas = {
            name.removeprefix(_PREFIX): _Schema(
                acceptance(schema, schemas=loaded, is_instant=is_instant),
                Draft202012Validator(schema, registry=registry, format_checker=_FORMATS),
            )
            for name, schema in loaded.items()
        }

    @staticmethod
    @cache
    def shared() -> SchemaSet:
        """The one set of this process."""
        return SchemaSet()

    def validate_params(self, method: str, params: object) -> None:
        """Raises `SchemaViolation` when the parameters of a request break the contract of its method.

        `method` is one of the seven of the protocol; another raises `KeyError`.
        """
        self.validate(_PARAMS[method], params)

    def validate_result(self, method: str, result: object) -> None:
        """Raises `SchemaViolation` when a result breaks its method's contract; `KeyError` when it has none."""
        self.validate(_RESULTS[method], result)

    def validate(self, name: str, payload: object) -> None:
        """Raises `SchemaViolation` when `payload` breaks the schema file `name`, such as `manifest` or `candidate`."""
        schema = self._schemas[name]
        if schema.accepts(payload):
            return
        if errors := sorted(schema.validator.iter_errors(payload), key=lambda error: error.json_path):
            raise SchemaViolation(name.replace("-", " "), locations=_locations(errors))


@lru_cache(maxsize=256)
def is_instant(text: str) -> bool:
    """Whether `text` is an RFC 3339 instant with an offset, with or without fractions of a second."""
    return _RFC3339.conforms(text, "date-time") and not text.endswith("\n")  # the validator lets one newline pass


_FORMATS.checks("date-time")(lambda value: not isinstance(value, str) or is_instant(value))


def _locations(errors: Iterable[ValidationError]) -> tuple[str, ...]:
    """Where each error is and which rule it breaks, without values: those may be anybody's content."""
    found = dict.fromkeys(_location(error) for error in errors)
    return tuple(found)[:_MAX_LOCATIONS]


def _location(error: ValidationError) -> str:
    path = "/" + "/".join(str(part) for part in error.absolute_path)
    instance: Any = error.instance
    schema: Any = error.schema
    match error.validator:
        case "required":
            missing = [name for name in schema["required"] if name not in instance]
            return f"{path} lacks {', '.join(missing)}"
        case "additionalProperties":
            unknown = sorted(set(instance) - set(schema["properties"]))
            return f"{path} has unknown keys: {', '.join(name[:_MAX_NAME] for name in unknown[:_MAX_LOCATIONS])}"
        case rule:
            return f"{path} breaks {rule}"
