"""Where the vector index lies: `vectors/<generation>/`, with a few marks beside it."""

from __future__ import annotations

from pathlib import Path

FOLDER = "vectors"


def folder_of(data_dir: Path, generation: int) -> Path:
    """The index folder of a generation."""
    return data_dir / FOLDER / str(generation)


def mark_of(data_dir: Path, generation: int) -> Path:
    """Exists while a process has the folder open: found at a start, it tells of an unclean end."""
    return data_dir / FOLDER / f"{generation}.in-use"


def lock_of(data_dir: Path, generation: int, token: str) -> Path:
    """Held by whoever lets a child process build the folder; the token is that of one build."""
    return data_dir / FOLDER / f"{generation}.{token}.lock"


def report_of(data_dir: Path, generation: int) -> Path:
    """What the child process that builds the folder has to say."""
    return data_dir / FOLDER / f"{generation}.build"
