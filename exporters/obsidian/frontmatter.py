"""The YAML at the top of a note: written so that every YAML 1.1 and 1.2 parser reads the same, merged without losing
what a person added.

Writing is done here by strict rules (it must be fast); reading and merging a person's YAML is left to a round-trip
library, which is imported only when a note was edited.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:[ ./-][A-Za-z0-9_]+)*", re.ASCII)
# what YAML 1.1 or 1.2 reads as something else
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_SPECIAL = re.compile(
    r'["\\\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]'
    r"|\[(?=\[)|(?<=\[)\[|<(?=%)|\{(?=\{)"  # a value is no link and no template command
)
_SHORT = {"\0": "\\0", "\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
LIST_KEYS = ("aliases", "tags")


class FrontmatterError(ValueError):
    """The frontmatter of a note is no YAML mapping; the message says why."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A date-time property: an RFC 3339 time in UTC, written without its zone, to the second."""

    utc: str

    def __str__(self) -> str:
        return self.utc[:19]


Value = str | bool | float | Moment


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties we own (`values`) and the two lists we share with the note's owner."""

    values: Mapping[str, Value]
    aliases: tuple[str, ...]
    tags: tuple[str, ...]

    def plain_values(self) -> dict[str, str | bool | float]:
        """`values` as a parser gives them back, date-times as text."""
        return {key: str(value) if isinstance(value, Moment) else value for key, value in self.values.items()}


def scalar(text: str) -> str:
    """`text` as a YAML scalar on one line: plain when no parser can take it for anything else, else double-quoted."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """`text` as a double-quoted YAML scalar on one line, with everything invisible or special escaped."""
    return f'"{_SPECIAL.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    short = _SHORT.get(char)
    if short is not None:
        return short
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def write(properties: Properties) -> str:
    """The lines between the `---` lines, with a final line break. `mem_id` is always quoted."""
    lines = [f"{key}: {_value(key, value)}" for key, value in properties.values.items()]
    for key, items in (("aliases", properties.aliases), ("tags", properties.tags)):
        if items:
            lines.append(f"{key}:")
            lines.extend(f"  - {scalar(item)}" for item in items)
    return "\n".join(lines) + "\n"


def _value(key: str, value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value) if key in ("mem_id", "mem_text") else scalar(value)
    return str(value)


def parse(raw: str) -> MutableMapping[str, Any]:
    """A person's or our frontmatter as a round-trip mapping. Raises `FrontmatterError`."""
    from ruamel.yaml.error import YAMLError

    try:
        loaded = _yaml().load(raw)
    except (YAMLError, ValueError, TypeError, RecursionError) as error:
        raise FrontmatterError(str(error).partition("\n")[0] or type(error).__name__) from error
    if loaded is None:
        return {}
    if not isinstance(loaded, MutableMapping):
        raise FrontmatterError("it is not a list of properties")
    return loaded


def our_values(mapping: Mapping[str, Any], keys: Iterable[str]) -> dict[str, str | bool | float]:
    """What `mapping` holds under `keys`, comparable with `Properties.plain_values`."""
    found: dict[str, str | bool | float] = {}
    for key in keys:
        if key in mapping:
            found[key] = _plain_value(mapping[key])
    return found


def _plain_value(value: object) -> str | bool | float:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S")
    if isinstance(value, date):
        return value.isoformat()
    return "" if value is None else str(value)


def items_of(mapping: Mapping[str, Any], key: str) -> list[str]:
    """The items of a list property; a single text counts as a list of one (Obsidian reads it so)."""
    value = mapping.get(key)
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, Sequence) and not isinstance(value, str) else [str(value)]


def merge(raw: str, properties: Properties, *, stale_tags: Sequence[str] = ()) -> str:
    """`raw` with our properties set to `properties`; unknown keys, their values, order and comments stay.

    Our aliases and tags are added to those present; `stale_tags` (ours, from before) are taken out. Raises
    `FrontmatterError` when `raw` cannot be read, or cannot be written back with every unknown key unchanged.
    """
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    mapping = parse(raw)
    unknown = _unknown(mapping, properties)
    for key, value in properties.values.items():
        wanted = properties.plain_values()[key]
        if key in mapping and _plain_value(mapping[key]) == wanted and mapping[key] is not None:
            continue
        if isinstance(value, Moment):
            mapping[key] = datetime.fromisoformat(str(value))
        else:
            mapping[key] = DoubleQuotedScalarString(value) if isinstance(value, str) else value
    for key, wanted_items in (("aliases", properties.aliases), ("tags", properties.tags)):
        present = items_of(mapping, key)
        kept = [item for item in present if not (key == "tags" and item in stale_tags and item not in wanted_items)]
        missing = [item for item in wanted_items if item not in kept]
        if missing or kept != present:
            mapping[key] = [
                item if scalar(item) == item else DoubleQuotedScalarString(item) for item in [*kept, *missing]
            ]
    stream = io.StringIO()
    try:
        _yaml().dump(mapping, stream)
    except (YAMLError, TypeError, ValueError) as error:
        raise FrontmatterError(str(error).partition("\n")[0]) from error
    merged = stream.getvalue()
    if _unknown(parse(merged), properties) != unknown or "\n---" in f"\n{merged}":
        raise FrontmatterError("it cannot be written back unchanged")
    return merged


def _unknown(mapping: Mapping[str, Any], properties: Properties) -> list[tuple[str, str]]:
    ours = {*properties.values, *LIST_KEYS}
    return [(str(key), repr(value)) for key, value in mapping.items() if key not in ours]


def _yaml() -> Any:
    """A round-trip parser that writes lists as Obsidian does. It keeps state, so each use gets its own."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 1_000_000_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml
