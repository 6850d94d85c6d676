"""One checkpoint as a JSON file: whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gm_engine.errors import DiskFull, InvalidInput
from gm_engine.store.checkpoint_payload import parse_json


def write_checkpoint(payload: bytes, path: Path, *, raw: bool, overwrite: bool) -> int:
    """Writes the record to `path`, indented or (`raw`) byte for byte; returns the size in bytes.

    Raises `InvalidInput` where the file exists and may not be replaced, or cannot be written, and `DiskFull`.
    """
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; name a file.", field="path", path=str(path))
    if path.exists() and not overwrite:
        raise InvalidInput(f"{path} exists already.", field="path", path=str(path))
    try:
        return _write(payload, path, raw=raw)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"The disk is full: {path} was not written.", path=str(path)) from error
        reason = error.strerror or str(error)
        raise InvalidInput(f"{path} cannot be written: {reason}.", field="path", path=str(path)) from error


def _write(payload: bytes, path: Path, *, raw: bool) -> int:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            if raw:
                file.write(payload)
            else:
                file.writelines(_indented(payload))
            file.flush()
            os.fsync(file.fileno())
            size_bytes = file.tell()
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return size_bytes


def _indented(payload: bytes) -> Iterator[bytes]:
    """In pieces, so that no single call holds the interpreter for long."""
    for part in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(parse_json(payload)):
        yield part.encode()
    yield b"\n"
