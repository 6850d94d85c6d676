"""A Recall core whose adapter runs in this process: our `serve` in a thread of its own, between two pipes."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from queue import Queue
from typing import Any

from gm_engine import Config, EmbeddingMode
from gm_engine.recall_protocol import Handler, serve
from gm_engine.recall_protocol.adapter import StoreAdapter
from tests.contract.raw_core import TIMEOUT_S, RawCore


class InnerCore(RawCore):
    """Speaks as `RawCore` does, with a handler that this process serves. Leaving the block ends the session."""

    def __init__(self, handler: Handler, *, max_workers: int = 8, max_frame_bytes: int = 2**20) -> None:
        asked, answered = os.pipe(), os.pipe()
        self._asking, self._hearing = os.fdopen(asked[1], "wb", buffering=0), os.fdopen(answered[0], "rb")
        self._lines: Queue[bytes | None] = Queue()
        self._next = 0

        def work() -> None:
            with os.fdopen(asked[0], "rb") as reader, os.fdopen(answered[1], "wb") as writer:
                serve(handler, reader, writer, max_workers=max_workers, max_frame_bytes=max_frame_bytes)

        self._threads = [threading.Thread(target=each, daemon=True) for each in (work, self._hear)]
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self.close_stdin()
        for thread in self._threads:
            thread.join(TIMEOUT_S)
        self._hearing.close()
        assert not any(thread.is_alive() for thread in self._threads), "the session does not end"

    def _hear(self) -> None:
        for line in self._hearing:
            self._lines.put(line)
        self._lines.put(None)

    def write(self, line: bytes) -> None:
        self._asking.write(line)

    def close_stdin(self) -> None:
        self._asking.close()

    def send(self, method: str, params: Any, identity: int | str) -> None:
        """One request whose answer is read later."""
        frame = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
        self.write(json.dumps(frame).encode() + b"\n")


class InnerStore(InnerCore):
    """The adapter of a store, without a model."""

    def __init__(self, data_dir: Path) -> None:
        self._adapter = StoreAdapter(data_dir, config=Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY))
        super().__init__(self._adapter)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._adapter.close()
