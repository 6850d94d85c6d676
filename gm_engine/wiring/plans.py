"""Connecting clients: look at a configuration, plan a change, show it, carry it out.

A plan is made from the file as it is; carrying it out refuses when the file is another one by then. Written is
atomically, beside a copy of what was there, with the same mode, byte order mark and line ends.
"""

from __future__ import annotations

import codecs
import difflib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gm_engine.clock import Clock, format_ns
from gm_engine.errors import WiringRefused
from gm_engine.records import JsonValue
from gm_engine.wiring import json_text, toml_text
from gm_engine.wiring.clients import CLIENTS, NAME, Client, Places, Scope, Server, entry

_LARGEST = 32 << 20
State = Literal["connected", "differs", "not_connected", "unreadable"]
Action = Literal["create", "add", "replace", "remove", "nothing"]


@dataclass(frozen=True, slots=True)
class Connection:
    """How a client stands to this memory: whether it seems installed, and what its configuration says.

    `differs` means that it starts another command than this installation's; `problem` says why a file is unreadable.
    """

    client: Client
    scope: Scope
    path: Path
    is_present: bool
    state: State
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """One change to one file, not made yet. `target` is where the bytes go when `path` is a link."""

    client: Client
    scope: Scope
    path: Path
    target: Path
    action: Action
    before: bytes | None
    after: bytes

    @property
    def diff(self) -> str:
        """The change as a unified diff; "" where nothing changes."""
        old, new = _shown(self.before or b""), _shown(self.after)
        lines = difflib.unified_diff(old, new, str(self.path), str(self.path), n=3)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Written:
    """What was done: the file, and the copy of what it held before (None for a new file)."""

    plan: Plan
    backup: Path | None


def survey(places: Places, server: Server, *, scope: Scope = "user") -> tuple[Connection, ...]:
    """Every client that has a configuration in this scope, installed or not."""
    return tuple(_connection(client, places, server, scope) for client in CLIENTS if client.path(scope, places))


def _connection(client: Client, places: Places, server: Server, scope: Scope) -> Connection:
    path = _path_of(client, scope, places)
    present = client.is_present(places)
    try:
        text = _text(_read(_target(path, scope, places)), path)
        found = _entry_in(client, text, path)
    except WiringRefused as error:
        return Connection(client, scope, path, present, "unreadable", error.message)
    if found is None:
        return Connection(client, scope, path, present, "not_connected")
    state: State = "connected" if found == entry(client.shape, server) else "differs"
    return Connection(client, scope, path, present, state)


def plan_connect(client: Client, places: Places, server: Server, *, scope: Scope = "user") -> Plan:
    """The change that makes `client` start `server`. Raises `WiringRefused`."""
    wanted = entry(client.shape, server)
    path = _path_of(client, scope, places)
    target = _target(path, scope, places)
    before = _read(target)
    text = _text(before, path)
    found = _entry_in(client, text, path)
    if found == wanted and before is not None:
        return Plan(client, scope, path, target, "nothing", before, before)
    try:
        if client.form == "toml":
            changed = toml_text.with_entry(text, client.keys[0], NAME, wanted)
        else:
            keys = (*client.keys, NAME)
            changed = json_text.with_entry(text, keys, wanted, is_lenient=client.form == "jsonc")
    except (json_text.NoJson, toml_text.NoToml) as error:
        raise _invalid(path, client, error) from error
    _check_rest(client, text, changed, path, wanted)
    action: Action = "create" if before is None else "add" if found is None else "replace"
    return Plan(client, scope, path, target, action, before, _bytes(changed, before))


def plan_disconnect(client: Client, places: Places, *, scope: Scope = "user") -> Plan:
    """The change that removes our entry. Raises `WiringRefused`."""
    path = _path_of(client, scope, places)
    target = _target(path, scope, places)
    before = _read(target)
    text = _text(before, path)
    if _entry_in(client, text, path) is None:
        return Plan(client, scope, path, target, "nothing", before, before or b"")
    try:
        if client.form == "toml":
            changed = toml_text.without_entry(text, client.keys[0], NAME)
        else:
            changed = json_text.without_entry(text, (*client.keys, NAME), is_lenient=client.form == "jsonc")
    except (json_text.NoJson, toml_text.NoToml) as error:
        raise _invalid(path, client, error) from error
    _check_rest(client, text, changed, path, None)
    return Plan(client, scope, path, target, "remove", before, _bytes(changed, before))


def carry_out(plan: Plan, *, clock: Clock) -> Written:
    """Writes what the plan says. Raises `WiringRefused`; then the file is as it was."""
    if plan.action == "nothing":
        return Written(plan, None)
    if _read(plan.target) != plan.before:
        text = f"{plan.path} was changed meanwhile; nothing was written. Look again."
        raise WiringRefused(text, reason="changed", path=str(plan.path))
    try:
        _check_writable(plan)
        plan.target.parent.mkdir(parents=True, exist_ok=True)
        backup = _backed_up(plan, clock)
        _write(plan)
    except OSError as error:
        text = f"{plan.path} cannot be written: {error.strerror}."
        raise WiringRefused(text, reason="not_writable", path=str(plan.path)) from error
    return Written(plan, backup)


def _path_of(client: Client, scope: Scope, places: Places) -> Path:
    path = client.path(scope, places)
    if path is None:
        where = "a project" if scope == "project" else "its user"
        text = f"{client.title} keeps no configuration for {where}."
        raise WiringRefused(text, reason="no_such_scope", client=client.name)
    return path


def _target(path: Path, scope: Scope, places: Places) -> Path:
    """The file behind a link. A project may come from anybody, so a link must not lead out of it."""
    if not path.is_symlink() and scope == "user":
        return path
    target = Path(os.path.realpath(path))  # `resolve` raises where a link leads to itself
    if path.is_symlink() and not target.is_file():
        raise WiringRefused(f"{path} is a link to nothing.", reason="link", path=str(path))
    if scope == "project" and places.project is not None and not target.is_relative_to(places.project.resolve()):
        raise WiringRefused(f"{path} is a link that leads out of the project.", reason="link", path=str(path))
    return target


def _read(path: Path) -> bytes | None:
    try:
        if path.exists() and not path.is_file():
            raise WiringRefused(f"{path} is not a regular file.", reason="not_regular", path=str(path))
        if path.exists() and path.stat().st_size > _LARGEST:
            raise WiringRefused(f"{path} is too large for a configuration.", reason="too_large", path=str(path))
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WiringRefused(f"{path} cannot be read: {error.strerror}.", reason="unreadable", path=str(path)) from error


def _text(raw: bytes | None, path: Path) -> str:
    try:
        return (raw or b"").removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        text = f"{path} is not UTF-8 (byte {error.start}); it was left as it is."
        raise WiringRefused(text, reason="invalid", path=str(path)) from error


def _bytes(text: str, before: bytes | None) -> bytes:
    mark = codecs.BOM_UTF8 if (before or b"").startswith(codecs.BOM_UTF8) else b""
    return mark + text.encode("utf-8")


def _entry_in(client: Client, text: str, path: Path) -> JsonValue:
    try:
        if client.form == "toml":
            return toml_text.entry_at(text, client.keys[0], NAME)
        return json_text.entry_at(text, (*client.keys, NAME), is_lenient=client.form == "jsonc")
    except (json_text.NoJson, toml_text.NoToml) as error:
        raise _invalid(path, client, error) from error


def _invalid(path: Path, client: Client, error: Exception) -> WiringRefused:
    form = "TOML" if client.form == "toml" else "JSON"
    text = f"{path} is no valid {form}: {error}. It was left as it is."
    return WiringRefused(text, reason="invalid", path=str(path))


def _check_rest(client: Client, old: str, new: str, path: Path, wanted: JsonValue) -> None:
    """A last look before anything is written: our entry is there (or gone), and everything else says the same."""
    if _entry_in(client, new, path) != wanted or _rest(client, old) != _rest(client, new):
        text = f"{path} could not be changed without touching something else; it was left as it is."
        raise WiringRefused(text, reason="unsafe", path=str(path))


def _rest(client: Client, text: str) -> object:
    """Everything but our entry, and but the object around it where that is empty."""
    if client.form == "toml":
        whole = toml_text.values(text)
    else:
        found = json_text.parse(text, is_lenient=client.form == "jsonc").value if text.strip() else {}
        whole = dict(found) if isinstance(found, dict) else {}
    around = whole.get(client.keys[0])
    if isinstance(around, dict):
        left = {name: value for name, value in around.items() if name != NAME}
        whole = {**whole, client.keys[0]: left}
        if not left:
            del whole[client.keys[0]]
    return whole


def _check_writable(plan: Plan) -> None:
    is_there = plan.before is not None
    if is_there and not (plan.target.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)):
        raise WiringRefused(f"{plan.path} is read-only.", reason="read_only", path=str(plan.path))
    if is_there and not os.access(plan.target, os.W_OK):
        raise WiringRefused(f"{plan.path} may not be written.", reason="read_only", path=str(plan.path))


def _backed_up(plan: Plan, clock: Clock) -> Path | None:
    """A copy of the file beside it, readable by as few as the file itself."""
    if plan.before is None:
        return None
    moment = format_ns(clock.now_ns())[:19].replace(":", "").replace("-", "")
    number = 0
    while True:
        suffix = f".backup-{moment}" if not number else f".backup-{moment}-{number}"
        backup = plan.target.with_name(plan.target.name + suffix)
        try:
            handle = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(handle, "wb") as file:
            file.write(plan.before)
        backup.chmod(stat.S_IMODE(plan.target.stat().st_mode))
        return backup


def _write(plan: Plan) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{plan.target.name}-", dir=plan.target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(plan.after)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644 if plan.before is None else stat.S_IMODE(plan.target.stat().st_mode))
        temporary.replace(plan.target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _shown(raw: bytes) -> list[str]:
    return raw.decode("utf-8", "replace").removeprefix("\ufeff").splitlines(keepends=True)
