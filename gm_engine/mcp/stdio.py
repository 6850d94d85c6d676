"""The server for a client that started it: frames on standard input and output, one JSON message per line.

Standard output carries frames only: its descriptor is moved away at the start and replaced by standard error, so that
nothing that a library prints can get between them. A line that is no message is answered with a JSON-RPC error.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from queue import Queue
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, BinaryIO

from gm_engine.config import Config
from gm_engine.errors import InvalidInput

if TYPE_CHECKING:
    from anyio import CancelScope
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage
    from pydantic import ValidationError

    from gm_engine.mcp.service import Service

_DRAIN_S = 10.0
_FLUSH_S = 5.0
_RETRY_S = 0.01
_STALLED_FRAMES = 64
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600
_log = logging.getLogger(__name__)


def serve_stdio(data_dir: Path, *, config: Config) -> None:
    """Serves until standard input ends or the client is gone."""
    frames_in, frames_out = _take_streams()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    gc.disable()  # a thousand protocol classes are about to be made; none of them is garbage
    from gm_engine.mcp.service import Service

    service = Service(data_dir, "stdio", config)
    try:
        asyncio.run(_Wire(frames_in, frames_out).serve(service))
    finally:
        service.close()


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """The descriptors of the frames; what others know as standard input is empty and as output standard error."""
    try:
        frames_in, frames_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    except OSError as error:
        raise InvalidInput("A client must hold standard input and output; use --http without one.") from error
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    return frames_in, frames_out


class _Wire:
    """Two threads between the descriptors and the event loop; both end with the process, whatever they wait for."""

    def __init__(self, frames_in: BinaryIO, frames_out: BinaryIO) -> None:
        self._frames_in = frames_in
        self._frames_out = frames_out
        self._outgoing: Queue[bytes | None] = Queue()
        self._unanswered: set[object] = set()
        self._loop: asyncio.AbstractEventLoop
        self._incoming: MemoryObjectSendStream[SessionMessage | Exception]
        self._stop: CancelScope

    async def serve(self, service: Service) -> None:
        import anyio

        from gm_engine.mcp.server import build_server, keep_ticking

        server = build_server(service)
        gc.freeze()
        gc.enable()
        self._loop = asyncio.get_running_loop()
        incoming, received = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
        sent, outgoing = anyio.create_memory_object_stream["SessionMessage"](0)
        self._incoming = incoming
        writer = Thread(target=self._write, name="frames out", daemon=True)
        async with incoming, received, sent, outgoing, anyio.create_task_group() as tasks:
            self._stop = tasks.cancel_scope
            tasks.start_soon(self._queue_answers, outgoing)
            tasks.start_soon(keep_ticking, service)
            writer.start()
            Thread(target=self._read, name="frames in", daemon=True).start()
            await server.run(received, sent, server.create_initialization_options())
            tasks.cancel_scope.cancel()
        self._outgoing.put(None)
        await asyncio.to_thread(writer.join, _FLUSH_S)

    # --- reading, on its own thread --------------------------------------------------------------------------------

    def _read(self) -> None:
        with suppress(RuntimeError, CancelledError):  # the loop is gone
            with suppress(OSError):  # a broken connection is the end of what the client says
                for line in _lines(self._frames_in):
                    asyncio.run_coroutine_threadsafe(self._take(line), self._loop).result()
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()

    async def _take(self, line: bytes | None) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCNotification, JSONRPCRequest

        while self._outgoing.qsize() > _STALLED_FRAMES:  # whoever does not read is not listened to either
            await asyncio.sleep(0.05)
        message = _parsed(line)
        if isinstance(message, JSONRPCRequest):
            self._unanswered.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            cancelled = (message.params or {}).get("requestId")
            if isinstance(cancelled, str | int):
                self._unanswered.discard(cancelled)
        if isinstance(message, bytes):
            self._outgoing.put(message)
        else:
            await self._incoming.send(SessionMessage(message))

    async def _end(self) -> None:
        """The client has said everything; what it asked before is still answered."""
        until = monotonic() + _DRAIN_S
        while self._unanswered and monotonic() < until:
            await asyncio.sleep(0.02)
        await self._incoming.aclose()

    # --- writing ---------------------------------------------------------------------------------------------------

    async def _queue_answers(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for answer in answers:
            frame = answer.message.model_dump_json(by_alias=True, exclude_unset=True)
            self._outgoing.put(frame.encode("utf-8") + b"\n")
            self._unanswered.discard(getattr(answer.message, "id", None))

    def _write(self) -> None:
        while (frame := self._outgoing.get()) is not None:
            rest = memoryview(frame)
            try:
                while rest:
                    written = self._frames_out.write(rest)
                    if written is None:  # the client made the pipe one that does not wait
                        sleep(_RETRY_S)
                    else:
                        rest = rest[written:]
            except OSError:  # nobody is there any more
                with suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._stop.cancel)
                return


def _lines(frames: BinaryIO) -> Iterator[bytes | None]:
    """The lines that are not blank, without those that are too long: None stands for each of them."""
    from gm_engine.mcp.server import MAX_FRAME_BYTES

    while line := frames.readline(MAX_FRAME_BYTES + 1):
        if len(line) <= MAX_FRAME_BYTES or line.endswith(b"\n"):
            if line.strip():
                yield line
            continue
        while line and not line.endswith(b"\n"):
            line = frames.readline(MAX_FRAME_BYTES)
        yield None


def _parsed(line: bytes | None) -> JSONRPCMessage | bytes:
    """The message of a line, or the error frame that answers a line which is none."""
    from mcp_types import JSONRPCNotification, jsonrpc_message_adapter
    from pydantic import ValidationError

    if line is None:
        return _refusal(_PARSE_ERROR, "The frame is too large.")
    try:
        line.decode("utf-8")
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        if isinstance(message, JSONRPCNotification) and "id" in json.loads(line):  # who gave one waits for an answer
            return _refusal(_INVALID_REQUEST, "An id is a string or a whole number.")
        return message
    except UnicodeDecodeError as error:
        return _refusal(_PARSE_ERROR, f"The frame is no UTF-8 at byte {error.start}.")
    except ValidationError as error:
        return _refused(line, error)


def _refused(line: bytes, error: ValidationError) -> bytes:
    asked = _id_of(line)
    if all(each["type"] != "json_invalid" for each in error.errors(include_input=False, include_url=False)):
        return _refusal(_INVALID_REQUEST, "The frame is no JSON-RPC message.", asked)
    if asked is None:
        return _refusal(_PARSE_ERROR, "The frame is no JSON.")
    return _refusal(_INVALID_REQUEST, "The frame holds a text cut inside a character, or is nested too deep.", asked)


def _id_of(line: bytes) -> str | int | None:
    """The id of a request that is refused, so that whoever waits for its answer gets one; None where none is told.

    Clients that cut texts by UTF-16 units send halves of emoji, which only this reader takes.
    """
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(frame, dict) or "result" in frame or "error" in frame:
        return None
    told = frame.get("id")
    return told if isinstance(told, str | int) and not isinstance(told, bool) else None


def _refusal(code: int, message: str, asked: str | int | None = None) -> bytes:
    frame = {"jsonrpc": "2.0", "id": asked, "error": {"code": code, "message": message}}
    return json.dumps(frame).encode() + b"\n"
