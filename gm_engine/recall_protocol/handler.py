"""What an adapter implements, and what it is told about a request beside its parameters."""

from __future__ import annotations

import math
from time import monotonic
from typing import Protocol

from gm_engine.errors import Cancelled
from gm_engine.progress import CancelToken
from gm_engine.recall_protocol.payloads import (
    ExpandParams,
    ExpandResult,
    Health,
    InitializeParams,
    Manifest,
    RefreshParams,
    SearchParams,
    SearchResult,
)


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
