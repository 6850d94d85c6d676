"""Colour groups of Obsidian's graph view: put into the vault's settings on request, beside what is there."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.obsidian.folder import CONFIG_FOLDER, Folder
from exporters.obsidian.manifest import Stamp
from exporters.obsidian.note_file import content_hash

FILE = "graph.json"
_GROUPS = (("Facts", 0x3B6FD4), ("Entities", 0xD4853B), ("Agents", 0x3BA55D), ("Checkpoints", 0x8E5BC9))


@dataclass(frozen=True, slots=True)
class Colours:
    """What to do with the settings of the graph view.

    `path` is from the vault's root; `data` None leaves the file, `reason` says why where it is not as asked for. `mark`
    names the groups that are in the file afterwards.
    """

    path: str
    data: bytes | None
    mark: str
    stamp: Stamp | None
    reason: str = ""


def colours(folder: Folder, done: Mapping[str, str]) -> Colours:
    """Adds our groups once: groups that a person changed or took out afterwards stay so. `done` are marks by path.

    Refuses a vault that Obsidian never opened, settings that are no JSON object, and a vault that is open right now:
    Obsidian would write its own settings over ours.
    """
    path = f"{config_folder(folder.vault)}/{FILE}"
    groups = [{"query": f'path:"{folder.name}/{name}"', "color": {"a": 1, "rgb": colour}} for name, colour in _GROUPS]
    mark = content_hash(json.dumps(groups).encode())
    file = folder.vault / path
    if done.get(f"/{path}") == mark:
        return Colours(path, None, mark, None)

    def refused(reason: str) -> Colours:
        return Colours(path, None, done.get(f"/{path}", ""), None, reason)

    if not file.parent.is_dir() or file.parent.is_symlink() or file.is_symlink():
        return refused("the vault has no settings yet: open it in Obsidian once")
    if is_open_in_obsidian(folder.vault):
        return refused("Obsidian has the vault open and would write over it: close it and publish again")
    stamp: Stamp | None = None
    settings: Any = {}
    try:
        stamp = Stamp.of(file.lstat())
        settings = json.loads(file.read_bytes())
    except FileNotFoundError:
        stamp = None  # Obsidian writes it when the graph was first looked at
    except (OSError, ValueError, RecursionError) as error:
        return refused("it can't be read" if isinstance(error, OSError) else "it is no JSON")
    if not isinstance(settings, dict) or not isinstance(settings.get("colorGroups", []), list):
        return refused("it is not what Obsidian writes")
    ours = [group["query"] for group in groups]
    theirs = [group for group in settings.get("colorGroups", []) if _query(group) not in ours]
    merged = {**settings, "colorGroups": [*theirs, *groups]}
    return Colours(path, (json.dumps(merged, ensure_ascii=False, indent=2) + "\n").encode(), mark, stamp)


def _query(group: object) -> object:
    return group.get("query") if isinstance(group, dict) else None


def config_folder(vault: Path) -> str:
    """The name of the folder with the vault's settings; a person may have renamed it."""
    renamed = sorted(found.parent.name for found in vault.glob(".*/app.json") if found.parent.name != CONFIG_FOLDER)
    return CONFIG_FOLDER if (vault / CONFIG_FOLDER).is_dir() or not renamed else renamed[0]


def is_open_in_obsidian(vault: Path, home: Path | None = None) -> bool:
    """Whether Obsidian runs on this machine and says that it has the vault open. `home` is its own folder."""
    place = home or _obsidian_home()
    if not any(os.path.lexists(place / name) for name in ("SingletonLock", "lockfile")):
        return False  # it does not run: what its list says is from the last time
    try:
        known = json.loads((place / "obsidian.json").read_bytes())["vaults"].values()
        return any(each.get("open") is True and Path(str(each.get("path"))).resolve() == vault for each in known)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _obsidian_home() -> Path:
    """Where Obsidian keeps what it knows."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", "")) / "obsidian"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "obsidian"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "obsidian"
