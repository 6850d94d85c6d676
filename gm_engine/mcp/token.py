"""The bearer token of the HTTP server: a file in the data directory that only its owner can read."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path

from gm_engine.errors import InvalidInput, StoreUnavailable

NAME = "mcp-token"
_BYTES = 32
_LONGEST = 1_000
_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)


def token_path(data_dir: Path) -> Path:
    """Where the token lies."""
    return data_dir / NAME


def own_token(data_dir: Path) -> str:
    """The token of a store, made when there is none.

    `InvalidInput` when the file is empty, is no plain text, or can be read by others: it is no secret then.
    """
    path = token_path(data_dir)
    if path.is_symlink():
        raise InvalidInput(f"{path} is a link; remove it.", field="token")
    try:
        written = path.read_bytes()[: _LONGEST + 1]
    except FileNotFoundError:
        return _make(path)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error}", path=str(path)) from error
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise InvalidInput(f"{path} can be read by others. Make a new one with `graymatter mcp token --new`.")
    token = written.decode("ascii", "replace").strip()
    if not token or not token.isascii() or not token.isprintable() or len(token) > _LONGEST:
        raise InvalidInput(f"{path} holds no token. Make a new one with `graymatter mcp token --new`.", field="token")
    return token


def new_token(data_dir: Path) -> str:
    """Replaces the token."""
    token_path(data_dir).unlink(missing_ok=True)
    return _make(token_path(data_dir))


def _make(path: Path) -> str:
    token = secrets.token_urlsafe(_BYTES)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, _FLAGS, 0o600), "w", encoding="ascii") as file:
            file.write(token + "\n")
    except FileExistsError:  # another program was faster
        return own_token(path.parent)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error}", path=str(path)) from error
    return token


def is_right(header: str | None, token: str) -> bool:
    """Whether an Authorization header carries the token; takes as long for a wrong one as for the right one."""
    scheme, _, given = (header or "").partition(" ")
    is_same = hmac.compare_digest(given.strip().encode("utf-8", "surrogatepass"), token.encode("ascii"))
    return scheme.lower() == "bearer" and bool(token) and is_same
