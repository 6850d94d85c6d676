"""Run as a child process by `apart`: one long job on a store that is open for reading.

It ends early once its standard input does: whoever asked hung up, or is gone.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import traceback
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from threading import Thread
from time import monotonic
from typing import Any, BinaryIO

from exporters.files import FULL
from exporters.obsidian.apart import NO_ROOM, PIECE, Crashed, Done, Failed, Piece, Progressed, Request, write_message
from gm_engine import CancelToken, GrayMatterError, Memory
from gm_engine.records import Origin

EVERY_S = 0.05
_STEP_BACK = 10
_COLLECT_EVERY = 50_000


def main(_arguments: list[str]) -> int:
    """0 when the work was done or failed as it may; what failed is told. `NO_ROOM` when nothing can be told."""
    if sys.platform != "win32":
        os.nice(_STEP_BACK)  # a window and servers go first
    gc.set_threshold(_COLLECT_EVERY)
    try:
        with os.fdopen(os.dup(1), "wb") as sink:
            os.dup2(2, 1)  # whatever a library prints is no answer
            serve(0, sink)
    except OSError as error:
        if error.errno not in FULL:
            raise
        return NO_ROOM
    return 0


def serve(source: int, sink: BinaryIO) -> None:
    """Does what the request on the descriptor `source` says, and answers into `sink`."""
    with os.fdopen(source, "rb", closefd=False) as stream:
        request: Request = pickle.load(stream)  # noqa: S301 - from the process that started this one
    token = CancelToken()
    Thread(target=_wait_for_end, args=(source, token), daemon=True).start()
    try:
        with Memory.open(request.data_dir, read_only=True, background=False, origin=Origin("desktop")) as memory:
            value = request.job.run(memory, _Teller(sink), token)
    except GrayMatterError as error:
        write_message(sink, Failed(error))
    except Exception:
        write_message(sink, Crashed(traceback.format_exc()))
    else:
        _answer(sink, value)


def _wait_for_end(source: int, token: CancelToken) -> None:
    with suppress(OSError):
        while os.read(source, 1):
            pass
    token.cancel()


class _Teller:
    """Passes progress on, as often as somebody can follow."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._last_s = 0.0
        self._what = ""

    def __call__(self, done: int, total: int | None, what: str) -> None:
        """See `Progress`."""
        now_s = monotonic()
        if now_s - self._last_s >= EVERY_S or what != self._what:
            self._last_s, self._what = now_s, what
            write_message(self._sink, Progressed(done, total, what))


def _answer(sink: BinaryIO, value: Any) -> None:
    """The answer, its long fields in pieces."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            items = getattr(value, field.name)
            if isinstance(items, tuple) and len(items) > PIECE:
                for at in range(0, len(items), PIECE):
                    write_message(sink, Piece(field.name, items[at : at + PIECE]))
                emptied: dict[str, Any] = {field.name: ()}
                value = replace(value, **emptied)
    write_message(sink, Done(value))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
