"""The programs that can use this memory over MCP: where each keeps its configuration, and in which form."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gm_engine.errors import InvalidInput
from gm_engine.records import JsonValue

Scope = Literal["user", "project"]
Form = Literal["json", "jsonc", "toml"]
Shape = Literal["plain", "typed", "zed", "opencode"]
NAME = "graymatter"


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of one person on one machine. `platform` is `linux`, `darwin` or `win32`."""

    home: Path
    platform: str
    environ: Mapping[str, str]
    project: Path | None = None

    @classmethod
    def here(cls, *, project: Path | None = None) -> Places:
        """This machine's."""
        return cls(Path.home(), sys.platform, os.environ, project)

    def folder(self, start: str) -> Path | None:
        """What a path of the table begins with; SUPPORT are the applications' settings."""
        config = Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")
        support = {
            "win32": Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming"),
            "darwin": self.home / "Library" / "Application Support",
        }
        known = {
            "HOME": self.home,
            "PROJECT": self.project,
            "CONFIG": config,
            "CODEX": Path(self.environ.get("CODEX_HOME") or self.home / ".codex"),
            "SUPPORT": support.get(self.platform, config),
        }
        return known[start]


@dataclass(frozen=True, slots=True)
class Client:
    """One program. Of the paths of a scope the first that exists is meant, else the last; `/` separates their parts.

    A path that begins with `win:` or `unix:` counts on that kind of system only.
    """

    name: str
    title: str
    form: Form
    shape: Shape
    keys: tuple[str, ...]
    user: tuple[str, ...] = ()
    project: tuple[str, ...] = ()

    def path(self, scope: Scope, places: Places) -> Path | None:
        """The configuration file of a scope; None where the program has none there."""
        known = [path for text in (self.user if scope == "user" else self.project) if (path := _path(text, places))]
        return next((path for path in known if os.path.lexists(path)), known[-1] if known else None)

    def is_present(self, places: Places) -> bool:
        """Whether the program seems to be there: its configuration, or the folder for it."""
        path = self.path("user", places)
        return path is not None and (os.path.lexists(path) or (path.parent != places.home and path.parent.is_dir()))


def _path(text: str, places: Places) -> Path | None:
    system, _, rest = text.rpartition(":")
    if system and (system == "win") != (places.platform == "win32"):
        return None
    start, *parts = rest.split("/")
    folder = places.folder(start)
    return None if folder is None else folder.joinpath(*parts)


CLIENTS: tuple[Client, ...] = (
    Client(
        "claude-code",
        "Claude Code",
        "json",
        "typed",
        ("mcpServers",),
        user=("HOME/.claude.json",),
        project=("PROJECT/.mcp.json",),
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        "json",
        "plain",
        ("mcpServers",),
        user=("SUPPORT/Claude/claude_desktop_config.json",),
    ),
    Client(
        "cursor",
        "Cursor",
        "jsonc",
        "plain",
        ("mcpServers",),
        user=("HOME/.cursor/mcp.json",),
        project=("PROJECT/.cursor/mcp.json",),
    ),
    Client(
        "vscode",
        "VS Code",
        "jsonc",
        "typed",
        ("servers",),
        user=("SUPPORT/Code/User/mcp.json",),
        project=("PROJECT/.vscode/mcp.json",),
    ),
    Client(
        "codex",
        "Codex",
        "toml",
        "plain",
        ("mcp_servers",),
        user=("CODEX/config.toml",),
        project=("PROJECT/.codex/config.toml",),
    ),
    Client(
        "opencode",
        "OpenCode",
        "jsonc",
        "opencode",
        ("mcp",),
        user=("CONFIG/opencode/opencode.jsonc", "CONFIG/opencode/opencode.json"),
        project=("PROJECT/opencode.jsonc", "PROJECT/opencode.json"),
    ),
    Client(
        "windsurf",
        "Windsurf",
        "json",
        "plain",
        ("mcpServers",),
        user=("HOME/.codeium/windsurf/mcp_config.json",),
    ),
    Client(
        "zed",
        "Zed",
        "jsonc",
        "zed",
        ("context_servers",),
        user=("win:SUPPORT/Zed/settings.json", "unix:CONFIG/zed/settings.json"),
        project=("PROJECT/.zed/settings.json",),
    ),
)


def client(name: str) -> Client:
    """The client with that name; `InvalidInput` lists the known ones."""
    found = next((known for known in CLIENTS if known.name == name), None)
    if found is None:
        known_names = ", ".join(known.name for known in CLIENTS)
        raise InvalidInput(f"Unknown client {name[:60]!r}; known: {known_names}.", field="client")
    return found


@dataclass(frozen=True, slots=True)
class Server:
    """The command that a client starts."""

    command: str
    arguments: tuple[str, ...]

    @classmethod
    def here(cls, *, data_dir: Path | None = None, is_shared: bool = False) -> Server:
        """This installation's, for one store or the default one.

        Programs with windows do not know the terminal's search path, so the command is an absolute one. With
        `is_shared` (a project's file, which others read, too) it is the bare name, found on each one's path.
        An interpreter is told to take no code from the folder in which the client starts it.
        """
        chosen = () if data_dir is None else ("--data-dir", str(data_dir.absolute()))
        if is_shared:
            return cls(NAME, (*chosen, "mcp", "serve"))
        beside = shutil.which(NAME, path=str(Path(sys.executable).parent))
        if beside is None and getattr(sys, "frozen", False):
            return cls(sys.executable, (*chosen, "mcp", "serve"))
        found = beside or shutil.which(NAME)
        if found is not None:
            return cls(found, (*chosen, "mcp", "serve"))
        return cls(sys.executable, ("-P", "-m", "gm_engine.cli", *chosen, "mcp", "serve"))


def entry(shape: Shape, server: Server) -> dict[str, JsonValue]:
    """The entry for a server in the words of a client."""
    arguments: list[JsonValue] = [*server.arguments]
    match shape:
        case "plain":
            return {"command": server.command, "args": arguments}
        case "typed":
            return {"type": "stdio", "command": server.command, "args": arguments}
        case "zed":
            return {"source": "custom", "command": server.command, "args": arguments, "env": {}}
        case "opencode":
            return {"type": "local", "command": [server.command, *arguments], "enabled": True}


def snippet(known: Client, server: Server) -> str:
    """What a person can paste into the configuration by hand."""
    if known.form == "toml":
        from gm_engine.wiring.toml_text import with_entry

        return with_entry("", known.keys[0], NAME, entry(known.shape, server)).lstrip("\n")
    whole: JsonValue = {NAME: entry(known.shape, server)}
    for key in reversed(known.keys):
        whole = {key: whole}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
