"""Every format that can be imported, and how a file or folder is told to be one."""

from __future__ import annotations

from pathlib import Path

from gm_engine.errors import ImportRefused, InvalidInput, NotFound
from gm_engine.importing import (
    agent_instructions,
    claude_mem,
    columns,
    markdown_notes,
    mcp_memory,
    mcp_memory_service,
    mem0,
    memory_lists,
)
from gm_engine.importing.found import Reader, Start
from gm_engine.importing.text_files import start_of
from gm_engine.records import GRAYMATTER_FORMAT, ImportFormat

READERS: tuple[Reader, ...] = (  # asked in this order: what a file says counts more than its name
    mcp_memory.READER,
    claude_mem.READER,
    mcp_memory_service.READER,
    agent_instructions.READER,
    mem0.READER,
    columns.CSV,
    columns.LINES,
    memory_lists.READER,
    markdown_notes.READER,
)
IMPORT_FORMATS = (
    ImportFormat(GRAYMATTER_FORMAT, "GrayMatter store", "", False),
    *(ImportFormat(reader.name, reader.title, reader.agent_id, reader.takes_columns) for reader in READERS),
)
_STORE_NAMES = ("gray.db", ".graymatter/gray.db")
_STORE_SUFFIXES = (".db", ".json", ".bin", "")


def reader_for(path: Path, *, name: str | None) -> Reader | None:
    """The reader that `name` asks for, or that recognises `path`; None for a GrayMatter store.

    Raises `NotFound`, `InvalidInput` for a name that nobody has, `ImportRefused` for a file that nobody knows.
    """
    if not path.exists():
        raise NotFound(f"There is no file {path}.", path=str(path))
    if not path.is_file() and not path.is_dir():  # reading a pipe would wait for whoever writes to it
        raise ImportRefused(f"{path.name} is not a regular file.", file=path.name)
    if name == GRAYMATTER_FORMAT:
        return None
    if name is not None:
        found = next((reader for reader in READERS if reader.name == name), None)
        if found is None:
            raise InvalidInput(f"Unknown format {name[:60]!r}; known: {_known()}.", field="format")
        return found
    return _detected(path)


def _detected(path: Path) -> Reader | None:
    if path.is_dir() and any((path / name).is_file() for name in _STORE_NAMES):
        return None
    start = Start(path, start_of(path))
    if start.holds("agent_id", "access_count", "weight") or start.text.startswith('{"format": "graymatter-store"'):
        return None
    for reader in READERS:
        if reader.recognises(start):
            return reader
    if path.is_dir() or path.suffix.casefold() in _STORE_SUFFIXES:
        return None  # whose reader says what is wrong with it
    raise ImportRefused(f"{path.name} is of no format that can be imported. Known: {_known()}.", file=path.name)


def _known() -> str:
    return ", ".join(known.name for known in IMPORT_FORMATS)
