"""Our table in a TOML file. A new one goes to the end, so that everything before stays as it is, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from gm_engine.records import JsonValue


class NoToml(Exception):
    """Why a text is no TOML, or has no room for the table."""


def entry_at(text: str, table: str, name: str) -> JsonValue:
    """The values of `[table.name]`, None where there is none. Raises `NoToml`."""
    found = _tables(_parsed(text), table).get(name)
    return None if found is None else _plain(found)


def with_entry(text: str, table: str, name: str, entry: Mapping[str, JsonValue]) -> str:
    """The text with `[table.name]`. Raises `NoToml`."""
    document = _parsed(text)
    servers = _tables(document, table)
    if name in servers:
        if _plain(servers[name]) == entry:
            return text
        for key in [key for key in servers[name] if key not in entry]:
            del servers[name][key]
        for key, value in entry.items():
            if key not in servers[name] or _plain(servers[name][key]) != value:
                servers[name][key] = value
        return _dumped(document, text)
    if table in document and not _is_open(document[table]):
        servers[name] = dict(entry)
        return _dumped(document, text)
    newline = "\r\n" if "\r\n" in text else "\n"
    body = tomlkit.dumps({table: {name: dict(entry)}}).strip()
    body = body.removeprefix(f"[{table}]").strip()
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    return f"{text}{gap}{body.replace(chr(10), newline)}{newline}"


def without_entry(text: str, table: str, name: str) -> str:
    """The text without `[table.name]`; the same text when there is none. Raises `NoToml`."""
    document = _parsed(text)
    servers = _tables(document, table)
    if name not in servers:
        return text
    del servers[name]
    return _dumped(document, text)


def _parsed(text: str) -> Any:
    try:
        return tomlkit.parse(text)
    except (TOMLKitError, RecursionError) as error:
        raise NoToml(str(error)) from error


def _tables(document: Any, table: str) -> Any:
    found = document.get(table, {})
    if not hasattr(found, "keys"):
        raise NoToml(f"{table!r} is no table")
    return found


def _is_open(found: Any) -> bool:
    """Whether further `[table.name]` may stand anywhere in the file: not so below `table = {…}`."""
    return not isinstance(found, tomlkit.items.InlineTable)


def _plain(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value


def _dumped(document: Any, text: str) -> str:
    dumped = tomlkit.dumps(document)
    return dumped if "\r\n" not in text else dumped.replace("\r\n", "\n").replace("\n", "\r\n")


def values(text: str) -> dict[str, Any]:
    """The whole file as plain values. Raises `NoToml`."""
    found: dict[str, Any] = _parsed(text).unwrap()
    return found
