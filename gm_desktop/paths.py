"""Where the desktop finds what it ships with, and where it keeps what it remembers."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from platformdirs import user_config_path, user_data_path, user_log_path

_APP = "graymatter"


def resource(*parts: str) -> Path:
    """The path of a bundled file: beside the package in a checkout, else in the installed `gm_resources`.

    Raises `FileNotFoundError` when neither place has it.
    """
    beside = Path(__file__).resolve().parent.parent / "resources"
    if beside.is_dir() and beside.joinpath(*parts).exists():
        return beside.joinpath(*parts)
    spec = find_spec("gm_resources")
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        found = Path(place).joinpath(*parts)
        if found.exists():
            return found
    raise FileNotFoundError(f"bundled file {'/'.join(parts)} is missing")


def default_data_dir() -> Path:
    """`GRAYMATTER_DIR`, else the platform's user data directory: the same rule as the command line."""
    given = os.environ.get("GRAYMATTER_DIR")
    return Path(given).expanduser() if given else user_data_path(_APP, appauthor=False)


def default_preferences_dir() -> Path:
    """Where window, theme and recent stores are remembered."""
    return user_config_path(_APP, appauthor=False)


def default_log_dir() -> Path:
    """Where log files and crash reports go when no store is open."""
    return user_log_path(_APP, appauthor=False)
