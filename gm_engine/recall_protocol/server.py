"""The adapter's end: reads requests, lets a handler answer them in as many threads as it takes, and writes the answers.

Whatever a handler does, the stream stays clean: an answer that breaks the contract becomes an internal error, an
unexpected failure is logged and becomes one too, and what was cancelled or is too late says so.
"""

from __future__ import annotations

import logging
import math
import os
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader
from threading import Lock, Thread
from time import monotonic
from typing import Any, BinaryIO

from gm_engine.clock import NS_PER_S, Clock, SystemClock
from gm_engine.errors import GrayMatterError, InvalidInput
from gm_engine.recall_protocol import messages
from gm_engine.recall_protocol.errors import (
    ErrorCode,
    FrameError,
    FrameTooLarge,
    ProtocolError,
    SchemaViolation,
    as_protocol_error,
)
from gm_engine.recall_protocol.frames import MAX_FRAME_BYTES, ByteReader, ByteWriter, Decoder, Encoder
from gm_engine.recall_protocol.handler import Handler, RequestContext
from gm_engine.recall_protocol.messages import Answer, Failure, Message, Notification, RawId, Request, cancelled_id
from gm_engine.recall_protocol.payloads import (
    ExpandParams,
    InitializeParams,
    Payload,
    RefreshParams,
    SearchParams,
    instant_ns,
)
from gm_engine.recall_protocol.schemas import REQUEST_METHODS, SchemaSet
from gm_engine.recall_protocol.turn import Turn

MAX_WORKERS = 64
"""How many requests run at once when `serve` is not told otherwise; more wait until one is done."""

QUICK_S = 0.002
"""A method whose last request took less keeps the turn to read while it is run again."""

_log = logging.getLogger(__name__)


def serve(
    handler: Handler,
    reader: ByteReader,
    writer: ByteWriter,
    *,
    clock: Clock | None = None,
    max_workers: int = MAX_WORKERS,
    max_frame_bytes: int = MAX_FRAME_BYTES,
) -> None:
    """Answers requests from `reader` on `writer` until shutdown was asked for or the stream ends.

    Returns when no request is in flight any more. A shutdown is answered at once and lets the others finish; the end of
    the stream cancels them. Lines that are no message, unknown notifications and responses are ignored.
    """
    _Session(
        handler,
        Decoder(reader, max_frame_bytes=max_frame_bytes),
        Encoder(writer, max_frame_bytes=max_frame_bytes),
        clock=clock or SystemClock(),
        max_workers=max_workers,
    ).run()


def standard_streams() -> tuple[BufferedReader, BinaryIO]:
    """The process's stdin and stdout for `serve`. From then on stray prints of any library go to stderr.

    Raises `InvalidInput` where one of them is closed.
    """
    try:
        reader = os.fdopen(os.dup(0), "rb")
        sys.stdout.flush()
        writer = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    except OSError as error:
        raise InvalidInput("A core must hold standard input and output.") from error
    os.dup2(2, 1)
    return reader, writer


@dataclass(frozen=True, slots=True)
class _Work:
    """One accepted request: validated, and ready to run."""

    request: Request
    context: RequestContext
    run: Callable[[], Payload]


class _Session:
    """Threads take turns: one reads a request and runs it itself while the next one reads.

    Nothing is handed over between reading and answering, and what is quick keeps the turn: it is over before another
    thread would be awake. What turns out to be slow loses it. So somebody reads, now or soon: the last free thread
    leaves a request to whoever is done first, and a cancellation is heard however many requests are running.
    """

    def __init__(self, handler: Handler, decoder: Decoder, encoder: Encoder, *, clock: Clock, max_workers: int) -> None:
        self._handler = handler
        self._decoder = decoder
        self._encoder = encoder
        self._clock = clock
        self._schemas = SchemaSet.shared()
        self._max_threads = max_workers + 1
        self._turn = Turn()
        self._quick: set[str] = set()  # methods
        self._ended = False
        self._lock = Lock()
        self._threads: list[Thread] = []
        self._busy = 0
        self._backlog: deque[_Work] = deque()
        self._in_flight: dict[RequestContext, RawId] = {}
        self._initialized = False

    def run(self) -> None:
        """The whole session, in this thread and as many others as there are requests at once."""
        try:
            self._take_turns()
            for thread in self._threads:  # none is added any more: only whoever reads starts one
                thread.join()
        finally:
            self._turn.close()

    def _take_turns(self) -> None:
        while not self._ended:
            with self._turn:
                while self._turn.is_mine and not self._ended:
                    if (work := self._next_work()) is not None:
                        self._run(work)
                    else:
                        self._ended = True

    def _run(self, work: _Work) -> None:
        """Runs a request, with the turn in hand when the last one of its method was quick; then what others left."""
        if work.request.method in self._quick:
            self._turn.begin()
        else:
            self._turn.give_back()
        following: _Work | None = work
        while following is not None:
            self._perform(following)
            following = self._from_backlog()
        self._turn.end()

    def _next_work(self) -> _Work | None:
        """Reads until there is a request for this thread to run; None when the session ends."""
        while (message := self._message()) is not None:
            match message:
                case Request(method=messages.SHUTDOWN):
                    if self._shutdown(message):
                        return None
                case Request():
                    work = self._dispatch(message)
                    if work is not None and self._is_mine(work):
                        return work
                case Notification(method=messages.CANCEL):
                    if (identity := cancelled_id(message)) is not None:
                        self._cancel(identity)
                case _:
                    pass
        self._cancel(None)
        return None

    def _message(self) -> Message | None:
        """The next message; None at the end of the stream."""
        while not self._ended:
            try:
                return self._decoder.read()
            except FrameError as error:
                _log.warning("%s", error)
            except (OSError, ValueError):
                break
        return None

    def _is_mine(self, work: _Work) -> bool:
        """Whether the reading thread runs this request itself. It sees to it that another one reads meanwhile."""
        with self._lock:
            free = len(self._threads) + 1 - self._busy - 1
            if not free and len(self._threads) + 1 == self._max_threads:
                self._backlog.append(work)
                return False
            self._busy += 1
            if not free:
                thread = Thread(target=self._take_turns, name="recall-request", daemon=True)
                self._threads.append(thread)
                thread.start()
            return True

    def _from_backlog(self) -> _Work | None:
        """The oldest request that found everybody busy; without one this thread is free again."""
        with self._lock:
            if self._backlog:
                return self._backlog.popleft()
            self._busy -= 1
            return None

    def _dispatch(self, request: Request) -> _Work | None:
        """The work of a request; None when it was answered at once: refused, or the handshake."""
        try:
            work = self._accepted(request)
        except ProtocolError as error:
            self._send(Failure(request.id, error))
            return None
        with self._lock:
            self._in_flight[work.context] = request.id
        if request.method == messages.INITIALIZE:
            self._perform(work)
            return None
        return work

    def _accepted(self, request: Request) -> _Work:
        """Raises `ProtocolError` for a request that must not run."""
        method = request.method
        if method not in REQUEST_METHODS:
            raise ProtocolError(ErrorCode.METHOD_NOT_FOUND)
        if self._initialized == (method == messages.INITIALIZE):
            raise ProtocolError(ErrorCode.INVALID_REQUEST, "recall/initialize comes first, and once")
        params = self._valid(request)
        ends_at = math.inf
        if method != messages.INITIALIZE:
            deadline_ns = instant_ns(params["deadline"])
            if deadline_ns is None:
                raise ProtocolError(ErrorCode.INVALID_PARAMS, "/deadline is the zero instant, which is no deadline")
            ends_at = monotonic() + (deadline_ns - self._clock.now_ns()) / NS_PER_S
        context = RequestContext(ends_at=ends_at)
        return _Work(request, context, self._verb(method, params, context))

    def _valid(self, request: Request) -> dict[str, Any]:
        try:
            self._schemas.validate_params(request.method, request.params)
        except SchemaViolation as error:
            raise ProtocolError(ErrorCode.INVALID_PARAMS, error.message) from error
        return request.params if isinstance(request.params, dict) else {}

    def _verb(self, method: str, params: dict[str, Any], context: RequestContext) -> Callable[[], Payload]:
        handler = self._handler
        match method:
            case messages.INITIALIZE:
                return lambda: handler.initialize(InitializeParams.from_wire(params), context)
            case messages.SEARCH:
                return lambda: handler.search(SearchParams.from_wire(params), context)
            case messages.EXPAND:
                return lambda: handler.expand(ExpandParams.from_wire(params), context)
            case messages.HEALTH:
                return lambda: handler.health(context)
            case _:
                return lambda: handler.refresh(RefreshParams.from_wire(params), context)

    def _perform(self, work: _Work) -> None:
        """Runs the handler and answers, whatever happens."""
        request, context = work.request, work.context
        began = monotonic()
        try:
            context.check()
            result = work.run().to_wire()
            context.check()
            self._schemas.validate_result(request.method, result)
            self._initialized = self._initialized or request.method == messages.INITIALIZE
            response: Answer | Failure = Answer(request.id, result)
        except (GrayMatterError, TimeoutError) as error:
            response = Failure(request.id, as_protocol_error(error))
        except Exception as error:  # the boundary of foreign code: one request fails, the session lives
            _log.exception("%s failed", request.method)
            response = Failure(request.id, as_protocol_error(error))
        with self._lock:
            del self._in_flight[context]
        self._send(response)
        if monotonic() - began < QUICK_S:
            self._quick.add(request.method)
        else:
            self._quick.discard(request.method)

    def _shutdown(self, request: Request) -> bool:
        """Answers a request for the end; whether it was one that keeps the contract."""
        try:
            self._valid(request)
        except ProtocolError as error:
            self._send(Failure(request.id, error))
            return False
        try:
            self._handler.shutdown()
            self._send(Answer(request.id, {}))
        except Exception as error:
            _log.exception("shutdown failed")
            self._send(Failure(request.id, as_protocol_error(error)))
        return True

    def _cancel(self, identity: RawId | None) -> None:
        """Cancels the requests with this id; all of them without one."""
        with self._lock:
            wanted = [context for context, each in self._in_flight.items() if identity in {None, each}]
        for context in wanted:
            context.cancel()

    def _send(self, response: Answer | Failure) -> None:
        """Writes a response; one that cannot be written as a frame is replaced by an internal error."""
        try:
            try:
                self._encoder.write(response)
            except (FrameTooLarge, TypeError, ValueError) as error:
                why = error.message if isinstance(error, FrameTooLarge) else "the answer is no JSON value"
                self._encoder.write(Failure(response.id, ProtocolError(ErrorCode.INTERNAL, why)))
        except (OSError, ValueError):
            self._ended = True
            self._cancel(None)
