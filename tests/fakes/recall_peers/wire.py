"""A core of the standard library alone: writes lines to a child process and reads its lines, never for ever."""

from __future__ import annotations

import json
import os
import select
import subprocess
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

FAR = "9000-01-01T00:00:00Z"
PATIENCE_S = 30.0  # far above what anything takes, so that a busy machine fails no test


class Wire:
    """A child process whose stdin and stdout are lines."""

    def __init__(self, command: tuple[str, ...], folder: Path) -> None:
        self.folder = folder
        with (folder / "stderr").open("wb") as stderr:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, cwd=folder, bufsize=0
            )
        self._held = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()

    def send(self, line: bytes | str) -> None:
        """Writes one line."""
        assert self.process.stdin is not None
        self.process.stdin.write((line.encode() if isinstance(line, str) else line) + b"\n")

    def ask(self, method: str, params: object, identity: str = "1") -> None:
        """Writes one request; `identity` is the JSON text of its id."""
        self.send(f'{{"jsonrpc":"2.0","id":{identity},"method":"{method}","params":{json.dumps(params)}}}')

    def line(self) -> bytes:
        """The next line; empty at the end."""
        assert self.process.stdout is not None
        ends_at = monotonic() + PATIENCE_S
        while b"\n" not in self._held:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, ends_at - monotonic()))
            assert ready, "the child says nothing"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                break
            self._held += data
        line, _, self._held = self._held.partition(b"\n")
        return line

    def answer(self) -> dict[str, Any]:
        """The next line as JSON."""
        found = json.loads(self.line())
        assert isinstance(found, dict)
        return found

    def greet(self) -> dict[str, Any]:
        """The handshake."""
        versions = {"protocol_version_min": 1, "protocol_version_max": 1}
        self.ask("recall/initialize", {**versions, "workdir": str(self.folder), "source_id": "s"}, '"hello"')
        return self.answer()

    def search(self, query: str, identity: str = "1", *, deadline: str = FAR, **more: object) -> None:
        """Asks for a search that has all the time there is, unless told otherwise."""
        self.ask("recall/search", {"query": query, "filters": {}, "limit": 5, "deadline": deadline, **more}, identity)

    def ended(self) -> int:
        """The exit status, once it ended."""
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        """Ends its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()
