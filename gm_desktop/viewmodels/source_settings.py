"""An adapter's settings as a form: its JSON Schema read into fields, and what was filled in read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gm_desktop.i18n import decimal, tr

FieldKind = Literal["text", "whole", "number", "switch", "choice", "several", "json"]
_KINDS: dict[str, FieldKind] = {"string": "text", "integer": "whole", "number": "number", "boolean": "switch"}


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting. `value` is what the form shows at first; "" leaves the setting to the adapter."""

    name: str
    title: str
    hint: str
    kind: FieldKind
    value: str = ""
    choices: tuple[str, ...] = ()
    is_required: bool = False


def fields_of(schema: Mapping[str, Any] | None, settings: Mapping[str, Any] | None = None) -> tuple[SettingField, ...]:
    """The fields of a settings schema, filled with `settings`; none where the adapter declares no schema."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, dict):
        return ()
    required = (schema or {}).get("required") or ()
    return tuple(
        _field(name, rule, (settings or {}).get(name), is_required=name in required)
        for name, rule in properties.items()
        if isinstance(rule, dict)
    )


def _field(name: str, rule: Mapping[str, Any], value: Any, *, is_required: bool) -> SettingField:
    kind, choices = _kind(rule)
    default = rule.get("default")
    hints = [str(rule.get("description", ""))]
    if kind in ("whole", "number") and ("minimum" in rule or "maximum" in rule):
        low, high = (_shown(rule.get(end, "…"), kind) for end in ("minimum", "maximum"))
        hints.append(tr("From {low} to {high}.", low=low, high=high))
    if default is not None:
        hints.append(tr("Without it: {value}.", value=_shown(default, kind)))
    return SettingField(
        name=name,
        title=str(rule.get("title") or name.replace("_", " ").capitalize()),
        hint=" ".join(hint for hint in hints if hint),
        kind=kind,
        value="" if value is None else _shown(value, kind),
        choices=choices,
        is_required=is_required,
    )


def _kind(rule: Mapping[str, Any]) -> tuple[FieldKind, tuple[str, ...]]:
    choices = rule.get("enum")
    if isinstance(choices, list) and all(isinstance(each, str) for each in choices):
        return "choice", tuple(choices)
    if rule.get("type") == "array" and isinstance(rule.get("items"), dict) and rule["items"].get("type") == "string":
        return "several", ()
    known = rule.get("type")
    return (_KINDS[known] if isinstance(known, str) and known in _KINDS else "json"), ()


def _shown(value: Any, kind: FieldKind) -> str:
    if kind == "several" and isinstance(value, list):
        return ", ".join(str(each) for each in value)
    if isinstance(value, str):
        return value
    written = json.dumps(value, ensure_ascii=False)
    return decimal(written) if kind == "number" else written


def settings_from(fields: tuple[SettingField, ...], filled: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    """The settings that a filled form stands for, empty fields left out, and a sentence where one cannot be read."""
    settings: dict[str, Any] = {}
    for field in fields:
        text = filled.get(field.name, "").strip()
        if not text:
            if field.is_required:
                return {}, tr("{name} is needed.", name=field.title)
            continue
        try:
            settings[field.name] = _value(text, field.kind)
        except ValueError:
            return {}, tr("{name} is not understood: {value}", name=field.title, value=text[:80])
    return settings, ""


def _value(text: str, kind: FieldKind) -> Any:
    match kind:
        case "text" | "choice":
            return text
        case "whole":
            return int(text)
        case "number":
            return float(text.replace(",", "."))
        case "several":
            return [part.strip() for part in text.split(",") if part.strip()]
        case _:
            return json.loads(text)
