"""The adapter's end: reads requests, hands each to a handler in a thread of a pool, and writes the answers.

Whatever a handler does, the stream stays clean: an answer that breaks the contract becomes an internal error, an
unexpected failure is logged and becomes one too, and what was cancelled or is too late says so.
"""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event, Lock
from time import monotonic
from typing import Any, BinaryIO, Protocol

from gm_engine.clock import NS_PER_S, Clock, SystemClock, parse_rfc3339
from gm_engine.errors import Cancelled, GrayMatterError
from gm_engine.progress import CancelToken
from gm_engine.recall_protocol import messages
from gm_engine.recall_protocol.errors import (
    ErrorCode,
    FrameError,
    FrameTooLarge,
    ProtocolError,
    SchemaViolation,
    as_protocol_error,
)
from gm_engine.recall_protocol.frames import MAX_FRAME_BYTES, ByteWriter, Decoder, Encoder, LineReader
from gm_engine.recall_protocol.messages import Answer, Failure, Notification, RawId, Request, cancelled_id
from gm_engine.recall_protocol.payloads import (
    ExpandParams,
    ExpandResult,
    Health,
    InitializeParams,
    Manifest,
    Payload,
    RefreshParams,
    SearchParams,
    SearchResult,
)
from gm_engine.recall_protocol.schemas import REQUEST_METHODS, SchemaSet

MAX_WORKERS = 64
"""How many requests run at once when `serve` is not told otherwise; more wait their turn."""

_log = logging.getLogger(__name__)


class RequestContext(CancelToken):
    """What a handler knows about its request beside the parameters: until when, and whether it is still wanted.

    It is cancelled by `recall/cancel`, by the end of the stream, and by its deadline. Engine verbs take it as `cancel`.
    """

    def __init__(self, *, ends_at: float = math.inf) -> None:
        """`ends_at` is an instant of the monotonic clock."""
        super().__init__()
        self._ends_at = ends_at

    @property
    def remaining_s(self) -> float:
        """Seconds until the deadline: 0 when it has passed, infinite without one."""
        return max(0.0, self._ends_at - monotonic())

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self._event.is_set() or monotonic() >= self._ends_at

    def check(self) -> None:
        """Raises `Cancelled` when nobody waits for the answer any more."""
        if self.is_cancelled:
            raise Cancelled("The request was abandoned or ran out of time.")

    def wait(self, at_most_s: float) -> bool:
        """Waits until it is cancelled or the time is over; whether it is cancelled."""
        self._event.wait(min(at_most_s, self.remaining_s))
        return self.is_cancelled


class Handler(Protocol):
    """An adapter. Its methods are called from several threads at once; `initialize` before all others.

    Parameters were validated before; results are validated after. Expected failures are `ProtocolError`s; `Cancelled`
    and `TimeoutError` become `deadline_exceeded`, anything else `internal` without its words.
    """

    def initialize(self, params: InitializeParams, context: RequestContext) -> Manifest:
        """Agrees on a version (`negotiate_version`), checks the settings and says what the adapter can do."""

    def search(self, params: SearchParams, context: RequestContext) -> SearchResult:
        """Ranked candidates, best first."""

    def expand(self, params: ExpandParams, context: RequestContext) -> ExpandResult:
        """What one of the adapter's locators names."""

    def health(self, context: RequestContext) -> Health:
        """Whether the source can be reached, how fresh and how complete it is."""

    def refresh(self, params: RefreshParams, context: RequestContext) -> Health:
        """Catches up with the source. A failed attempt is told by the health it returns, not raised."""

    def shutdown(self) -> None:
        """A clean end is asked for: nothing new will come. Requests may still be running; do not wait for them."""


def serve(
    handler: Handler,
    reader: LineReader,
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


def standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """The process's stdin and stdout for `serve`. From then on stray prints of any library go to stderr."""
    reader = os.fdopen(os.dup(0), "rb", buffering=1 << 16)
    sys.stdout.flush()
    writer = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)
    return reader, writer


@dataclass(frozen=True, slots=True)
class _Work:
    """One accepted request: validated, and ready to run."""

    request: Request
    context: RequestContext
    run: Callable[[], Payload]


class _Session:
    def __init__(self, handler: Handler, decoder: Decoder, encoder: Encoder, *, clock: Clock, max_workers: int) -> None:
        self._handler = handler
        self._decoder = decoder
        self._encoder = encoder
        self._clock = clock
        self._schemas = SchemaSet.shared()
        self._pool = ThreadPoolExecutor(max_workers, thread_name_prefix="recall-request")
        self._lock = Lock()
        self._in_flight: dict[RequestContext, RawId] = {}
        self._initialized = False
        self._broken = Event()

    def run(self) -> None:
        """The whole session."""
        try:
            if not self._read():
                self._cancel(None)
        finally:
            self._pool.shutdown(wait=True)

    def _read(self) -> bool:
        """Dispatches until the end; whether the end was asked for."""
        while not self._broken.is_set():
            try:
                message = self._decoder.read()
            except FrameError as error:
                _log.warning("%s", error)
                continue
            except (OSError, ValueError):
                return False
            match message:
                case None:
                    return False
                case Request(method=messages.SHUTDOWN):
                    if self._shutdown(message):
                        return True
                case Request():
                    self._dispatch(message)
                case Notification(method=messages.CANCEL):
                    if (identity := cancelled_id(message)) is not None:
                        self._cancel(identity)
                case _:
                    pass
        return False

    def _dispatch(self, request: Request) -> None:
        """The handshake runs at once, so that nothing overtakes it; everything else runs in the pool."""
        try:
            work = self._accepted(request)
        except ProtocolError as error:
            self._send(Failure(request.id, error))
            return
        with self._lock:
            self._in_flight[work.context] = request.id
        if request.method == messages.INITIALIZE:
            self._perform(work)
        else:
            self._pool.submit(self._perform, work)

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
            deadline_ns = parse_rfc3339(params["deadline"])
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
            self._broken.set()
            self._cancel(None)
