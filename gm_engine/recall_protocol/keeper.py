"""Keeps the adapter of one source: starts it when first used, replaces it when it is wedged or gone, ends it.

Starting and ending happen in threads of their own, so that no call takes longer than its deadline and grace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock, Thread
from time import monotonic
from typing import TypeVar

from gm_engine.clock import Clock
from gm_engine.progress import CancelToken
from gm_engine.recall_protocol.client import Client
from gm_engine.recall_protocol.diagnostics import Diagnostics, DiagnosticsReport
from gm_engine.recall_protocol.errors import AdapterFailed, CallTimeout, ClientClosed, RecallError
from gm_engine.recall_protocol.payloads import Manifest
from gm_engine.recall_protocol.process import AdapterProcess, AdapterSpec, Patience
from gm_engine.recall_protocol.waiting import wait_until

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """What is known about one source without asking it. `manifest` is the last one; None before the first handshake.

    `starts` counts processes since the supervisor was made; `last_error` is the last failure in words, empty after a
    success.
    """

    source_id: str
    source_uid: str
    is_running: bool
    manifest: Manifest | None
    cold_start_ns: int | None
    starts: int
    last_error: str
    diagnostics: DiagnosticsReport


class _Start:
    """One attempt to start the adapter; several callers may wait for it."""

    def __init__(self) -> None:
        self.done = Event()
        self.outcome: AdapterProcess | AdapterFailed = AdapterFailed("It was not started.", reason="closed")


class Keeper:
    """The process of one source. Safe from any thread; `close` it in the end."""

    def __init__(self, spec: AdapterSpec, *, clock: Clock, patience: Patience) -> None:
        """Starts nothing yet."""
        self.spec = spec
        self._clock = clock
        self._patience = patience
        self._diagnostics = Diagnostics()
        self._lock = Lock()
        self._closing = CancelToken()
        self._process: AdapterProcess | None = None
        self._manifest: Manifest | None = None
        self._cold_start_ns: int | None = None
        self._start: _Start | None = None
        self._started_at: deque[float] = deque()
        self._starts = 0
        self._enders: list[Thread] = []
        self._last_error = ""

    def call(
        self, method: str, ask: Callable[[Client], _T], *, ends_at: float, cancel: CancelToken | None = None
    ) -> _T:
        """Asks the running adapter, which is started when need be, as soon as it has a place for one more request.

        `ends_at` is an instant of the monotonic clock; `ask` observes it itself. A `CallTimeout` before anything was
        sent counts as acknowledged.
        """
        process = self.process(method, ends_at=ends_at, cancel=cancel)
        if cause := wait_until(process.take_place, ends_at=ends_at, cancel=cancel):
            raise CallTimeout(method, request_id="", cause=cause, acknowledged=True)
        try:
            answer = ask(process.client)
        except RecallError as error:
            self._failed(process, error)
            raise
        finally:
            process.leave_place()
        self._last_error = ""
        return answer

    def process(self, method: str, *, ends_at: float, cancel: CancelToken | None = None) -> AdapterProcess:
        """The running adapter, started when need be. A start that takes too long goes on for the next call.

        Raises `AdapterFailed` when it cannot be started, and `CallTimeout` for `method` when it is not ready in time.
        """
        with self._lock:
            if self._process is not None and self._process.is_alive:
                return self._process
            self._discard(self._process)
            start = self._start = self._start or self._begin()
        if cause := wait_until(start.done.wait, ends_at=ends_at, cancel=cancel):
            raise CallTimeout(method, request_id="", cause=cause, acknowledged=True)
        if isinstance(start.outcome, AdapterFailed):
            raise AdapterFailed(start.outcome.message, **start.outcome.fields) from start.outcome
        return start.outcome

    def status(self) -> SourceStatus:
        """What is known now."""
        with self._lock:
            return SourceStatus(
                source_id=self.spec.source_id,
                source_uid=self.spec.source_uid,
                is_running=self._process is not None and self._process.is_alive,
                manifest=self._manifest,
                cold_start_ns=self._cold_start_ns,
                starts=self._starts,
                last_error=self._last_error,
                diagnostics=self._diagnostics.report(),
            )

    def restart(self) -> None:
        """Ends the process, when there is one, and forgets how often it was started."""
        with self._lock:
            self._discard(self._process)
            self._started_at.clear()

    def close(self) -> None:
        """Ends the process, politely first, and returns when it is gone."""
        with self._lock:
            self._closing.cancel()
            process, self._process, start = self._process, None, self._start
        if process is not None:
            process.stop()
        if start is not None:
            start.done.wait()
        for ender in self._enders:
            ender.join()

    def _begin(self) -> _Start:
        """Starts the adapter in a thread of its own, unless that happened too often lately."""
        now = monotonic()
        while self._started_at and now - self._started_at[0] > self._patience.starts_within_s:
            self._started_at.popleft()
        if self._closing.is_cancelled:
            raise AdapterFailed(f"The source {self.spec.source_id} is closed.", reason="closed")
        if len(self._started_at) >= self._patience.max_starts:
            raise AdapterFailed(
                f"The adapter of {self.spec.source_id} ended {len(self._started_at)} times within "
                f"{self._patience.starts_within_s:g} seconds and is left alone for a while.",
                reason="restarts",
            )
        self._started_at.append(now)
        self._starts += 1
        start = _Start()
        Thread(target=self._run_start, args=(start,), name="recall-start", daemon=True).start()
        return start

    def _run_start(self, start: _Start) -> None:
        """The thread of one attempt; whatever happens, those who wait for it are woken."""
        try:
            for ender in self._enders:  # one process per source: the old one goes first
                ender.join()
            start.outcome = AdapterProcess.start(
                self.spec,
                diagnostics=self._diagnostics,
                clock=self._clock,
                patience=self._patience,
                cancel=self._closing,
            )
        except AdapterFailed as error:
            start.outcome = error
        finally:
            with self._lock:
                self._started(start.outcome)
            start.done.set()

    def _started(self, outcome: AdapterProcess | AdapterFailed) -> None:
        self._start = None
        if isinstance(outcome, AdapterFailed):
            self._last_error = outcome.message
            return
        self._process, self._manifest, self._cold_start_ns = outcome, outcome.manifest, outcome.cold_start_ns
        if self._closing.is_cancelled:
            self._discard(outcome)

    def _failed(self, process: AdapterProcess, error: RecallError) -> None:
        """Remembers what went wrong; a process that is wedged or gone is not asked again."""
        with self._lock:
            self._last_error = error.message
            is_wedged = isinstance(error, CallTimeout) and not error.acknowledged
            if is_wedged or isinstance(error, ClientClosed):
                self._discard(process)

    def _discard(self, process: AdapterProcess | None) -> None:
        """Ends a process in the background, once; the next call starts another."""
        if process is None or process is not self._process:
            return
        self._process = None
        self._enders = [ender for ender in self._enders if ender.is_alive()]
        self._enders.append(Thread(target=process.kill, name="recall-kill", daemon=True))
        self._enders[-1].start()
