"""The core's end: writes requests, waits for their responses, and enforces deadlines.

A call reads only as long as its time lasts, and a thread writes what might block, so that neither a silent peer nor one
that stops reading can hold a caller beyond its deadline and grace. Calls are synchronous and may come from any thread.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import IO, Any

from gm_engine.clock import NS_PER_S, Clock, SystemClock
from gm_engine.progress import CancelToken
from gm_engine.recall_protocol import messages
from gm_engine.recall_protocol.diagnostics import Diagnostics
from gm_engine.recall_protocol.errors import CallTimeout, ClientClosed, SchemaViolation
from gm_engine.recall_protocol.frames import MAX_FRAME_BYTES, Encoder
from gm_engine.recall_protocol.inbox import Inbox, Waiter
from gm_engine.recall_protocol.messages import Answer, Failure, RawId, Request, cancel_of
from gm_engine.recall_protocol.payloads import (
    ExpandParams,
    ExpandResult,
    Health,
    HealthParams,
    InitializeParams,
    Json,
    Manifest,
    RefreshParams,
    SearchParams,
    SearchResult,
)
from gm_engine.recall_protocol.schemas import SchemaSet
from gm_engine.recall_protocol.versions import check_negotiated
from gm_engine.recall_protocol.waiting import wait_until

CANCEL_GRACE_S = 0.25
"""How long a peer may take to answer a cancel before it counts as wedged."""

_SURE_BYTES = getattr(select, "PIPE_BUF", 512)  # a pipe that is ready takes as many without blocking


class Client:
    """A connection to one adapter. Safe from any thread; `close` it in the end.

    Every call raises `ProtocolError` when the adapter refuses, `CallTimeout` when it is late or the caller cancelled,
    `ClientClosed` when the stream is gone, and `SchemaViolation` when parameters or result break the contract.
    """

    def __init__(
        self,
        reader: IO[bytes],
        writer: IO[bytes],
        *,
        diagnostics: Diagnostics | None = None,
        cancel_grace_s: float = CANCEL_GRACE_S,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        clock: Clock | None = None,
    ) -> None:
        """Owns both streams: `reader` until it ends, `writer` until `close`. `diagnostics` counts violations."""
        self.diagnostics = diagnostics or Diagnostics()
        self._encoder = Encoder(writer, max_frame_bytes=max_frame_bytes)
        self._writer = writer
        self._grace_s = cancel_grace_s
        self._clock = clock or SystemClock()
        self._schemas = SchemaSet.shared()
        self._ids = count(1)
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._queued = 0
        self._sending = Lock()
        self._is_writable = _writable_check(writer)
        self._inbox = Inbox(
            reader,
            self.diagnostics,
            max_frame_bytes=max_frame_bytes,
            when_over=partial(self._lines.put, None),
        )
        Thread(target=self._write, name="recall-client-write", daemon=True).start()

    @property
    def is_closed(self) -> bool:
        """Whether the stream is gone; no call can succeed any more."""
        return self._inbox.is_closed

    def initialize(self, params: InitializeParams, *, timeout_s: float, cancel: CancelToken | None = None) -> Manifest:
        """The handshake. Raises `VersionMismatch` when the adapter names a version outside the asked range."""
        wire = self.call(messages.INITIALIZE, params.to_wire(), timeout_s=timeout_s, cancel=cancel)
        manifest = Manifest.from_wire(wire)
        check_negotiated(params.protocol_version_min, params.protocol_version_max, offered=manifest.protocol_version)
        return manifest

    def search(self, params: SearchParams, *, cancel: CancelToken | None = None) -> SearchResult:
        """The adapter's candidates."""
        return SearchResult.from_wire(self._timed(messages.SEARCH, params, cancel))

    def expand(self, params: ExpandParams, *, cancel: CancelToken | None = None) -> ExpandResult:
        """What a locator of this adapter names."""
        return ExpandResult.from_wire(self._timed(messages.EXPAND, params, cancel))

    def health(self, params: HealthParams, *, cancel: CancelToken | None = None) -> Health:
        """How the adapter's source is."""
        return Health.from_wire(self._timed(messages.HEALTH, params, cancel))

    def refresh(self, params: RefreshParams, *, cancel: CancelToken | None = None) -> Health:
        """Asks the adapter to catch up with its source."""
        return Health.from_wire(self._timed(messages.REFRESH, params, cancel))

    def shutdown(self, *, timeout_s: float) -> None:
        """Asks the adapter for a clean end."""
        self.call(messages.SHUTDOWN, {}, timeout_s=timeout_s)

    def call(
        self, method: str, params: Json | None, *, timeout_s: float, cancel: CancelToken | None = None
    ) -> dict[str, Any]:
        """Sends one request of the protocol and waits for its result, which keeps the method's schema."""
        self._schemas.validate_params(method, params)
        identity = RawId(str(next(self._ids)))
        line = self._encoder.line_of(Request(identity, method, params))
        waiter = self._inbox.enter(identity)
        try:
            self._send(line)
            response = self._response(waiter, method, timeout_s=timeout_s, cancel=cancel)
        finally:
            self._inbox.leave(waiter)
        if isinstance(response, Failure):
            raise response.error
        try:
            self._schemas.validate_result(method, response.result)
        except SchemaViolation as error:
            self.diagnostics.record_violation(error)
            raise
        return response.result if isinstance(response.result, dict) else {}

    def close(self) -> None:
        """Closes the peer's stdin once what was asked is written, and wakes every waiter. Waits for nothing."""
        self._inbox.close("it was closed")

    def _timed(
        self,
        method: str,
        params: SearchParams | ExpandParams | HealthParams | RefreshParams,
        cancel: CancelToken | None,
    ) -> dict[str, Any]:
        """A call that ends at the deadline of its parameters."""
        timeout_s = (params.deadline_ns - self._clock.now_ns()) / NS_PER_S
        return self.call(method, params.to_wire(), timeout_s=timeout_s, cancel=cancel)

    def _response(
        self, waiter: Waiter, method: str, *, timeout_s: float, cancel: CancelToken | None
    ) -> Answer | Failure:
        """Waits for the response; after the deadline or a cancellation only for a sign of life."""
        ends_at = monotonic() + timeout_s
        if cause := wait_until(partial(self._inbox.wait, waiter), ends_at=ends_at, cancel=cancel):
            self._send(self._encoder.line_of(cancel_of(waiter.identity)))
            answered = self._inbox.wait(waiter, self._grace_s) and waiter.response is not None
            raise CallTimeout(method, request_id=waiter.identity, cause=cause, acknowledged=answered)
        if waiter.response is None:
            self._inbox.check_open()
            raise ClientClosed("The connection to the adapter is gone.")
        return waiter.response

    def _send(self, line: bytes) -> None:
        """Writes at once what cannot block; everything else is written by the writing thread, in order."""
        with self._sending:
            if self._queued or len(line) > _SURE_BYTES or not self._is_writable():
                self._queued += 1
                self._lines.put(line)
                return
            try:
                self._encoder.write_line(line)
            except (OSError, ValueError):
                self._inbox.close("the adapter reads no more")

    def _write(self) -> None:
        """The writing thread: it alone may be held by a peer that stops reading."""
        try:
            while (line := self._lines.get()) is not None:
                self._encoder.write_line(line)
                with self._sending:
                    self._queued -= 1
        except (OSError, ValueError):
            self._inbox.close("the adapter reads no more")
        with suppress(OSError):  # what was left to write has no reader
            self._writer.close()


def _writable_check(writer: IO[bytes]) -> Callable[[], bool]:
    """Whether a pipe takes `_SURE_BYTES` without blocking. Where nobody can tell, the answer is always no."""
    try:
        descriptor = writer.fileno()
        poll = select.poll()
    except (OSError, ValueError, AttributeError):
        return lambda: False
    poll.register(descriptor, select.POLLOUT)
    return lambda: any(event & select.POLLOUT for _, event in poll.poll(0))
