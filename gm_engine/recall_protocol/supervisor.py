"""The adapters of all configured sources: one process each, started when first used, replaced when wedged or gone.

Calls are synchronous and may come from any thread, so the desktop's lanes use them as they are. None takes longer than
its deadline and the grace of a cancel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from threading import Thread
from time import monotonic

from gm_engine.clock import NS_PER_S, Clock, SystemClock
from gm_engine.progress import CancelToken
from gm_engine.recall_protocol import messages
from gm_engine.recall_protocol.errors import ErrorCode, ProtocolError
from gm_engine.recall_protocol.keeper import Keeper, SourceStatus
from gm_engine.recall_protocol.payloads import (
    Candidate,
    ExpandParams,
    ExpandResult,
    Health,
    HealthParams,
    Manifest,
    RefreshParams,
    SearchParams,
    SearchResult,
)
from gm_engine.recall_protocol.process import AdapterSpec, Patience


class Supervisor:
    """Keeps the adapters of the configured sources. Safe from any thread; `close` it in the end.

    Every call names its source and raises `ProtocolError(source_not_configured)` when there is none of that name,
    `AdapterFailed` when the adapter cannot be started or greeted or was started too often lately, and what `Client`
    raises. After `ClientClosed`, and a `CallTimeout` that was not acknowledged, the next call starts a new process.
    """

    def __init__(
        self, specs: Iterable[AdapterSpec], *, clock: Clock | None = None, patience: Patience | None = None
    ) -> None:
        """Starts nothing yet. Source ids and uids are unique."""
        self._clock = clock or SystemClock()
        self._keepers = {
            spec.source_id: Keeper(spec, clock=self._clock, patience=patience or Patience()) for spec in specs
        }

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The names of the sources, in the order given."""
        return tuple(self._keepers)

    def search(self, source_id: str, params: SearchParams, *, cancel: CancelToken | None = None) -> SearchResult:
        """The source's candidates with its uid, its name, and locators under that name, whatever the adapter wrote."""
        keeper = self._keeper(source_id)
        result = keeper.call(
            messages.SEARCH,
            lambda client: client.search(params, cancel=cancel),
            ends_at=self._ends_at(params.deadline_ns),
            cancel=cancel,
        )
        return replace(result, candidates=tuple(_adopted(each, keeper.spec) for each in result.candidates))

    def expand(self, source_id: str, params: ExpandParams, *, cancel: CancelToken | None = None) -> ExpandResult:
        """What a locator of this source names."""
        return self._keeper(source_id).call(
            messages.EXPAND,
            lambda client: client.expand(params, cancel=cancel),
            ends_at=self._ends_at(params.deadline_ns),
            cancel=cancel,
        )

    def health(self, source_id: str, params: HealthParams, *, cancel: CancelToken | None = None) -> Health:
        """How the source is, with the cold start as it was measured here."""
        keeper = self._keeper(source_id)
        health = keeper.call(
            messages.HEALTH,
            lambda client: client.health(params, cancel=cancel),
            ends_at=self._ends_at(params.deadline_ns),
            cancel=cancel,
        )
        return replace(health, cold_start_ns=keeper.status().cold_start_ns)

    def refresh(self, source_id: str, params: RefreshParams, *, cancel: CancelToken | None = None) -> Health:
        """Asks the adapter to catch up with its source; its health afterwards."""
        keeper = self._keeper(source_id)
        health = keeper.call(
            messages.REFRESH,
            lambda client: client.refresh(params, cancel=cancel),
            ends_at=self._ends_at(params.deadline_ns),
            cancel=cancel,
        )
        return replace(health, cold_start_ns=keeper.status().cold_start_ns)

    def manifest(self, source_id: str, *, timeout_s: float, cancel: CancelToken | None = None) -> Manifest:
        """What the adapter can do; it is started when it does not run."""
        keeper = self._keeper(source_id)
        return keeper.process(messages.INITIALIZE, ends_at=monotonic() + timeout_s, cancel=cancel).manifest

    def status(self, source_id: str) -> SourceStatus:
        """What is known without asking the adapter."""
        return self._keeper(source_id).status()

    def restart(self, source_id: str) -> None:
        """Ends the process, when there is one, and forgets how often it was started: the next call starts it afresh."""
        self._keeper(source_id).restart()

    def close(self) -> None:
        """Ends all adapters, politely first. Returns when they are gone; later calls raise `AdapterFailed`."""
        enders = [Thread(target=keeper.close, name="recall-close") for keeper in self._keepers.values()]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def _keeper(self, source_id: str) -> Keeper:
        if source_id not in self._keepers:
            raise ProtocolError(ErrorCode.SOURCE_NOT_CONFIGURED)
        return self._keepers[source_id]

    def _ends_at(self, deadline_ns: int) -> float:
        return monotonic() + (deadline_ns - self._clock.now_ns()) / NS_PER_S


def _adopted(candidate: Candidate, spec: AdapterSpec) -> Candidate:
    """The candidate as the core hands it on: a source cannot speak under another's name."""
    prefix = f"{spec.source_id}:"
    locator = candidate.locator
    local = locator.removeprefix(prefix) if locator.startswith(prefix) else locator.partition(":")[2]
    return replace(candidate, source_uid=spec.source_uid, source_id=spec.source_id, locator=prefix + local)
