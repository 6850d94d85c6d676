"""The sources beside memory, as the user configured them: one TOML file of the user's own, and nothing else.

A command that this program starts comes from that file only, never from a store, a vault or a project; a file that
others may write is refused.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from gm_engine.clock import Clock
from gm_engine.errors import InvalidInput, NotFound
from gm_engine.recall_protocol.adapter_settings import SENSITIVITIES
from gm_engine.recall_protocol.payloads import Json, Sensitivity

SOURCES_VARIABLE = "GRAYMATTER_SOURCES"
MEMORY_ID = "memory"
DEFAULT_CEILING: Sensitivity = "confidential"
DEFAULT_DEADLINE_S = 5.0
MAX_DEADLINE_S = 60.0
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
_KEYS = frozenset(("uid", "id", "command", "args", "location", "settings", "ceiling", "prior", "deadline_s", "enabled"))


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """One configured source. `uid` never changes; `id` is its name, and the first part of its locators.

    Hits more sensitive than `ceiling` are dropped. `prior` weighs its places against those of others (0 to 10). A
    search waits for it `deadline_s` seconds. `settings` are the adapter's own. `InvalidInput` names a bad field.
    """

    uid: str
    id: str
    command: str
    args: tuple[str, ...] = ()
    location: str = ""
    settings: Json = field(default_factory=dict)
    ceiling: Sensitivity = DEFAULT_CEILING
    prior: float = 1.0
    deadline_s: float = DEFAULT_DEADLINE_S
    enabled: bool = True

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.id) or self.id == MEMORY_ID:
            raise InvalidInput(
                f"A source's name is 1 to 40 small letters, digits, dots and dashes, and not {MEMORY_ID!r}.", field="id"
            )
        if not self.command.strip():
            raise InvalidInput(f"The source {self.id} has no command.", field="command")
        if self.ceiling not in SENSITIVITIES:
            raise InvalidInput(f"The ceiling of {self.id} is one of {', '.join(SENSITIVITIES)}.", field="ceiling")
        if not 0 <= self.prior <= 10:
            raise InvalidInput(f"The prior of {self.id} is between 0 and 10.", field="prior")
        if not 0 < self.deadline_s <= MAX_DEADLINE_S:
            raise InvalidInput(f"The deadline of {self.id} is at most {MAX_DEADLINE_S:g} seconds.", field="deadline_s")
        if not _has_form(self.settings):
            raise InvalidInput(f"A setting of the source {self.id} has no form in JSON and TOML.", field="settings")


class SourcesFile:
    """The file of the configured sources; what a person wrote into it stays as it is."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def stamp(self) -> tuple[int, int] | None:
        """Another one when the file was written again; None where there is none."""
        if not self.path.exists():
            return None
        found = self.path.stat()
        return found.st_mtime_ns, found.st_size

    def load(self) -> tuple[SourceConfig, ...]:
        """Every configured source, in the order of the file; none where there is no file.

        Raises `InvalidInput` for a file that others may write, that is no TOML, or that breaks a rule, and says where.
        """
        found = tuple(_source(item) for item in self._tables(self._document()))
        for name in ("id", "uid"):
            values = [getattr(source, name) for source in found]
            if repeated := {value for value in values if values.count(value) > 1}:
                raise InvalidInput(f"{self.path.name} has two sources with the {name} {min(repeated)}.", field=name)
        return found

    def add(self, source: SourceConfig) -> None:
        """Writes a new source at the end. `InvalidInput` when there is one of that name."""
        import tomlkit

        if any(each.id == source.id for each in self.load()):
            raise InvalidInput(f"There is a source {source.id} already.", field="id")
        document = self._document()
        tables = document.get("source")
        if tables is None:
            tables = document["source"] = tomlkit.aot()
        tables.append(tomlkit.item(_as_table(source)))
        self._write(tomlkit.dumps(document))

    def remove(self, source_id: str) -> SourceConfig:
        """Takes a source out of the file and returns it; `NotFound` when there is none of that name."""
        import tomlkit

        found = next((source for source in self.load() if source.id == source_id), None)
        if found is None:
            raise NotFound(f"There is no source {source_id!r}.", id=source_id[:80])
        document = self._document()
        tables = self._tables(document)
        del tables[next(at for at, item in enumerate(tables) if item.get("id") == source_id)]
        if not tables:
            document.pop("source")
        self._write(tomlkit.dumps(document))
        return found

    def _document(self) -> Any:
        import tomlkit
        from tomlkit.exceptions import ParseError

        if not self.path.exists():
            return tomlkit.document()
        self._check_owner()
        try:
            return tomlkit.parse(self.path.read_text(encoding="utf-8"))
        except (ParseError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{self.path} is no TOML: {error}", path=str(self.path)) from error

    def _check_owner(self) -> None:
        """It names commands: only the user may have written it."""
        if os.name == "nt":
            return
        found = self.path.stat()
        if found.st_uid not in (os.geteuid(), 0) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise InvalidInput(
                f"{self.path} can be written by others. Make it yours alone: chmod 600 {self.path.name}",
                path=str(self.path),
            )

    def _tables(self, document: Any) -> list[Any]:
        tables = document.get("source", [])
        unknown = sorted(set(document) - {"source"})
        if unknown or not isinstance(tables, list) or not all(isinstance(item, dict) for item in tables):
            what = f"does not know {', '.join(unknown)}" if unknown else "holds [[source]] tables"
            raise InvalidInput(f"{self.path.name} {what}.", path=str(self.path))
        return tables

    def _write(self, text: str) -> None:
        """Replaces the file as a whole, readable by its owner only."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_name(f"{self.path.name}.new")
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(self.path)


def _source(item: Any) -> SourceConfig:
    values: dict[str, Any] = item.unwrap()
    name = str(values.get("id", "?"))[:80]
    if unknown := sorted(values.keys() - _KEYS):
        raise InvalidInput(f"The source {name} has unknown keys: {', '.join(unknown)}.", field=unknown[0])
    for key in ("uid", "id", "command"):
        if not isinstance(values.get(key), str) or not values[key]:
            raise InvalidInput(f"The source {name} has no {key}.", field=key)
    _check_types(name, values)
    return SourceConfig(**{**values, "args": tuple(values.get("args", ()))})


def _check_types(name: str, values: Mapping[str, Any]) -> None:
    rules: Sequence[tuple[str, type | tuple[type, ...]]] = (
        ("args", list),
        ("location", str),
        ("settings", dict),
        ("ceiling", str),
        ("prior", (int, float)),
        ("deadline_s", (int, float)),
        ("enabled", bool),
    )
    for key, kind in rules:
        value = values.get(key)
        if value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            raise InvalidInput(f"{key} of the source {name} has a value that it cannot have.", field=key)
    if not all(isinstance(each, str) for each in values.get("args", ())):
        raise InvalidInput(f"The arguments of the source {name} are texts.", field="args")


def _has_form(value: object) -> bool:
    """Whether a value can be written both to the file, which knows no null, and over the wire, which knows no dates."""
    match value:
        case dict():
            return all(isinstance(key, str) and _has_form(member) for key, member in value.items())
        case list():
            return all(map(_has_form, value))
        case float():
            return math.isfinite(value)
        case _:
            return isinstance(value, str | int)


def _as_table(source: SourceConfig) -> Json:
    """A source as a person would write it: what has its default is left out."""
    table: Json = {"uid": source.uid, "id": source.id, "command": source.command}
    plain = SourceConfig(source.uid, source.id, source.command)
    for key in ("args", "location", "ceiling", "prior", "deadline_s", "enabled", "settings"):
        value = getattr(source, key)
        if value != getattr(plain, key):
            table[key] = list(value) if isinstance(value, tuple) else value
    return table


def default_sources_file(environ: Mapping[str, str]) -> SourcesFile:
    """`GRAYMATTER_SOURCES`, else `sources.toml` in the user's configuration directory."""
    if named := environ.get(SOURCES_VARIABLE):
        return SourcesFile(Path(named).expanduser())
    from platformdirs import user_config_path

    return SourcesFile(user_config_path("graymatter", appauthor=False) / "sources.toml")


def new_source(source_id: str, command: str, *, clock: Clock, **rest: Any) -> SourceConfig:
    """A source that was not there before, with a `uid` of its own; `rest` are fields of `SourceConfig`."""
    return SourceConfig(clock.new_id(clock.now_ns()), source_id, command, **rest)


def resolved_location(location: str, base_dir: Path) -> str:
    """A path relative to the file that declares it becomes absolute; an address stays as it is."""
    if not location or "://" in location:
        return location
    path = Path(location).expanduser()
    is_path = location.startswith((".", "~", "/")) or path.is_absolute() or (base_dir / path).exists()
    return str((base_dir / path).resolve()) if is_path else location


def ceiling_allows(ceiling: Sensitivity, sensitivity: str) -> bool:
    """Whether a hit of this sensitivity may be shown under a ceiling."""
    return SENSITIVITIES.index(cast("Sensitivity", sensitivity)) <= SENSITIVITIES.index(ceiling)
