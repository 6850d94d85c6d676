"""A Recall core in a page: JSON lines to a child process and back. Knows the seed's words, nothing of this project."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Self

FOREVER = "2099-12-31T23:59:59Z"
TIMEOUT_S = 30.0


class RawCore:
    """One adapter process. Every answer is waited for at most half a minute; leaving the block ends the process."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        self.stderr: list[str] = []
        self._lines: Queue[bytes | None] = Queue()
        self._next = 0
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._complain)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_stdin()
        try:
            self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _complain(self) -> None:
        assert self.process.stderr is not None
        self.stderr.extend(line.decode("utf-8", "replace") for line in self.process.stderr)

    def write(self, line: bytes) -> None:
        """Raw bytes, as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def close_stdin(self) -> None:
        """Tells the adapter that nothing more comes."""
        assert self.process.stdin is not None
        if not self.process.stdin.closed:
            self.process.stdin.close()

    def read(self) -> dict[str, Any] | None:
        """The next frame; None at the end. Fails when none comes."""
        try:
            line = self._lines.get(timeout=TIMEOUT_S)
        except Empty:
            raise AssertionError("the adapter does not answer") from None
        if line is None:
            return None
        assert line.endswith(b"\n")
        frame: dict[str, Any] = json.loads(line)
        return frame

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        """One request and its response, whatever that is."""
        self._next += 1
        frame = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        self.write(json.dumps(frame).encode() + b"\n")
        answer = self.read()
        assert answer is not None
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] == self._next
        assert ("result" in answer) != ("error" in answer)
        return answer

    def result(self, method: str, **params: Any) -> Any:
        """The result of a request that must succeed; a deadline far away is added."""
        answer = self.ask(method, _with_deadline(method, params))
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, **params: Any) -> dict[str, Any]:
        """The error of a request that must fail."""
        answer = self.ask(method, _with_deadline(method, params))
        assert "error" in answer, answer
        error: dict[str, Any] = answer["error"]
        return error

    def initialize(self, location: Path, workdir: Path, **settings: Any) -> dict[str, Any]:
        """The handshake; the manifest."""
        manifest: dict[str, Any] = self.result(
            "recall/initialize",
            protocol_version_min=1,
            protocol_version_max=1,
            workdir=str(workdir),
            source_id="mem",
            location=str(location),
            settings=settings,
        )
        return manifest

    def search(self, query: str, *, limit: int = 10, **rest: Any) -> dict[str, Any]:
        """A search; `filters` and `as_of` by name."""
        found: dict[str, Any] = self.result(
            "recall/search", query=query, limit=limit, filters=rest.pop("filters", {}), **rest
        )
        return found


def _with_deadline(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method in ("recall/initialize", "recall/shutdown") or "deadline" in params:
        return params
    return {**params, "deadline": FOREVER}
