"""Where the desktop finds what it ships with, and where it keeps what it remembers."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_config_path, user_data_path, user_log_path

from gm_engine import config, resources

_APP = "graymatter"
LEDGER = "ledger.sqlite"


def resource(*parts: str) -> Path:
    """The path of a bundled file. Raises `FileNotFoundError` when it is missing."""
    path = resources.resource(*parts)
    if not path.exists():
        raise FileNotFoundError(f"bundled file {'/'.join(parts)} is missing")
    return path


def default_data_dir() -> Path:
    """`GRAYMATTER_DIR`, else the platform's user data directory: the same rule as the command line."""
    return config.default_data_dir(os.environ)


def unnamed_data_dir() -> Path:
    """The store of programs that this process's environment does not reach."""
    return config.default_data_dir({})


def demo_data_dir() -> Path:
    """Where the demo store lives; it is rebuilt when it is missing."""
    return user_data_path(f"{_APP}-demo", appauthor=False)


def holds_store(data_dir: Path) -> bool:
    """Whether there is a ledger in `data_dir`."""
    return (data_dir / LEDGER).is_file()


def default_preferences_dir() -> Path:
    """Where window, theme and recent stores are remembered."""
    return user_config_path(_APP, appauthor=False)


def default_log_dir() -> Path:
    """Where log files and crash reports go."""
    return user_log_path(_APP, appauthor=False)
