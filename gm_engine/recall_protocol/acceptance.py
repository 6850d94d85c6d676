"""A quick yes for payloads that keep a schema; whatever it does not accept is examined by jsonschema.

A search result is validated at both ends of every search, and walking it with jsonschema takes longer than searching.
This knows only the keywords that our own schemas use; a property test holds both to the same verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Accepts = Callable[[Any], bool]
"""Whether a value certainly keeps a schema."""

_TYPES: dict[str, Accepts] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: type(value) is int or (type(value) is float and value.is_integer()),
    "number": lambda value: type(value) is int or type(value) is float,
}
_NAMES = {"$schema", "$id", "$ref", "title"}
_SHAPES = {"type", "required", "properties", "additionalProperties", "items", "if", "then", "else"}
_VALUES = {"enum", "const", "minimum", "maximum", "minLength", "maxItems", "pattern", "format"}


def acceptance(schema: Mapping[str, Any], *, schemas: Mapping[str, Mapping[str, Any]], is_instant: Accepts) -> Accepts:
    """The quick check of one schema; `$ref` names one of `schemas`. Raises `ValueError` for other keywords."""
    if unknown := set(schema) - _NAMES - _SHAPES - _VALUES:
        raise ValueError(f"keywords without a quick check: {sorted(unknown)}")

    def inner(part: Mapping[str, Any]) -> Accepts:
        return acceptance(part, schemas=schemas, is_instant=is_instant)

    checks: list[Accepts] = []
    if "$ref" in schema:
        checks.append(inner(schemas[schema["$ref"]]))
    if "type" in schema:
        checks.append(_type_check(schema["type"]))
    if "properties" in schema or "required" in schema:
        properties = {name: inner(part) for name, part in schema.get("properties", {}).items()}
        closed = schema.get("additionalProperties") is False
        checks.append(_members_check(properties, required=frozenset(schema.get("required", ())), closed=closed))
    if "items" in schema:
        item = inner(schema["items"])
        checks.append(lambda value: type(value) is not list or all(map(item, value)))
    checks += _value_checks(schema, is_instant)
    if "if" in schema:
        when, then, other = (inner(schema.get(word, {})) for word in ("if", "then", "else"))
        checks.append(lambda value: then(value) if when(value) else other(value))
    return _all_of(checks)


def _all_of(checks: list[Accepts]) -> Accepts:
    match checks:
        case [one]:
            return one
        case [one, two]:
            return lambda value: one(value) and two(value)
        case _:
            return lambda value: all(check(value) for check in checks)


def _type_check(names: str | list[str]) -> Accepts:
    if isinstance(names, str):
        return _TYPES[names]
    kinds = [_TYPES[name] for name in names]
    return lambda value: any(kind(value) for kind in kinds)


def _members_check(properties: dict[str, Accepts], *, required: frozenset[str], closed: bool) -> Accepts:
    def check(value: Any) -> bool:
        if type(value) is not dict:
            return True
        if not required <= value.keys():
            return False
        for name, member in value.items():
            accepts = properties.get(name)
            if (closed and accepts is None) or (accepts is not None and not accepts(member)):
                return False
        return True

    return check


def _value_checks(schema: Mapping[str, Any], is_instant: Accepts) -> list[Accepts]:
    """The checks of single values: texts, numbers, listed values, and how many there are."""
    checks: list[Accepts] = []
    if "enum" in schema:
        words = frozenset(schema["enum"])
        checks.append(lambda value: type(value) is str and value in words)
    if "const" in schema:
        checks.append(lambda value: type(value) is str and value == schema["const"])
    if "minimum" in schema:
        checks.append(lambda value: type(value) not in {int, float} or value >= schema["minimum"])
    if "maximum" in schema:
        checks.append(lambda value: type(value) not in {int, float} or value <= schema["maximum"])
    if "minLength" in schema:
        checks.append(lambda value: type(value) is not str or len(value) >= schema["minLength"])
    if "maxItems" in schema:
        checks.append(lambda value: type(value) is not list or len(value) <= schema["maxItems"])
    if "pattern" in schema:
        found = re.compile(schema["pattern"]).search
        checks.append(lambda value: type(value) is not str or found(value) is not None)
    if "format" in schema:
        checks.append(lambda value: type(value) is not str or is_instant(value))
    return checks
