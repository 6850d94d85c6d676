"""Memory and the user's other sources, searched together: this program as a small Recall core.

Calls are synchronous and end by their deadline and a short grace, whatever an adapter does. Nothing is written to a
source; only `keep` writes, into memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from time import monotonic
from typing import Any

from gm_engine.clock import NS_PER_S, Clock, SystemClock
from gm_engine.errors import Cancelled, GrayMatterError, InvalidInput, NotFound
from gm_engine.memory import Memory
from gm_engine.progress import CancelToken
from gm_engine.recall_protocol.adapter import ADAPTER_ID, StoreAdapter
from gm_engine.recall_protocol.errors import AdapterFailed, CallTimeout, ClientClosed, ErrorCode, ProtocolError
from gm_engine.recall_protocol.handler import RequestContext
from gm_engine.recall_protocol.joint_answer import JointAnswer, SourceAnswer, answer_of, failed, join
from gm_engine.recall_protocol.keeper import SourceStatus
from gm_engine.recall_protocol.payloads import (
    Detail,
    ExpandParams,
    ExpandResult,
    Health,
    HealthParams,
    InitializeParams,
    Json,
    Manifest,
    RefreshParams,
    SearchFilters,
    SearchParams,
)
from gm_engine.recall_protocol.process import AdapterSpec, Patience
from gm_engine.recall_protocol.source_config import (
    DEFAULT_DEADLINE_S,
    MEMORY_ID,
    SourceConfig,
    SourcesFile,
    new_source,
    resolved_location,
)
from gm_engine.recall_protocol.supervisor import Supervisor
from gm_engine.recall_protocol.versions import MAX_VERSION, MIN_VERSION
from gm_engine.records import Fact, Origin, SourceRef

DEFAULT_LIMIT = 10
DEFAULT_BUDGET_BYTES = 65_536
_GRACE_S = 0.5
_HEALTH_S = 10.0


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """How one source is, and what it said it can do. `health` is None where it could not be asked, for `error`."""

    source_id: str
    config: SourceConfig | None
    manifest: Manifest | None
    health: Health | None
    error: str
    status: SourceStatus | None


class Sources:
    """Memory and the configured sources. Safe from any thread; `close` it in the end."""

    def __init__(
        self,
        file: SourcesFile,
        state_dir: Path,
        *,
        memory: Memory | None = None,
        clock: Clock | None = None,
        patience: Patience | None = None,
    ) -> None:
        """Each adapter gets a directory below `state_dir`. Raises `InvalidInput` for a file that is not sound."""
        self._file = file
        self._state_dir = state_dir
        self._clock = clock or SystemClock()
        self._patience = patience
        self._lent = memory
        self._memory = None if memory is None else StoreAdapter(state_dir, clock=self._clock, memory=memory)
        self._memory_manifest = None if self._memory is None else self._memory.initialize(_greeting(), RequestContext())
        self._identities: dict[str, tuple[str, str]] = {}
        self._pool = ThreadPoolExecutor(32, thread_name_prefix="recall-source")
        self._supervisor = Supervisor((), clock=self._clock)
        self._configs: dict[str, SourceConfig] = {}
        self._stamp: tuple[int, int] | None = None
        self.reload()

    def reload(self) -> None:
        """Reads the configuration again; adapters are started anew when they are next asked."""
        stamp = self._file.stamp()
        configs = self._file.load()
        before, self._stamp = self._supervisor, stamp
        self._configs = {config.id: config for config in configs}
        self._supervisor = Supervisor(
            [self._spec(config) for config in configs if config.enabled], clock=self._clock, patience=self._patience
        )
        self._identities.clear()
        before.close()

    def follow_file(self) -> None:
        """`reload`, when somebody wrote the configuration since it was read.

        Raises `InvalidInput` for a file that is not sound, every time until it is; the sources stay what they were.
        """
        if self._file.stamp() != self._stamp:
            self.reload()

    def _spec(self, config: SourceConfig) -> AdapterSpec:
        base_dir = self._file.path.absolute().parent
        return AdapterSpec(
            source_uid=config.uid,
            source_id=config.id,
            command=(config.command, *config.args),
            workdir=self._state_dir / config.uid,
            location=resolved_location(config.location, base_dir),
            base_dir=str(base_dir),
            settings=config.settings or None,
        )

    def close(self) -> None:
        """Ends the adapters. Safe to call twice; memory stays open."""
        self._supervisor.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Sources:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- configuration ---------------------------------------------------------------------------------------------

    def configured(self) -> tuple[SourceConfig, ...]:
        """The configured sources in the order of the file, disabled ones included."""
        return tuple(self._configs.values())

    def add(self, source_id: str, command: str, **rest: Any) -> SourceConfig:
        """Configures a source; `rest` are fields of `SourceConfig`. `InvalidInput` names a bad or taken one."""
        config = new_source(source_id, command, clock=self._clock, **rest)
        self._file.add(config)
        self.reload()
        return config

    def remove(self, source_id: str) -> SourceConfig:
        """Takes a source out of the configuration; `NotFound` when there is none of that name."""
        config = self._file.remove(source_id)
        self.reload()
        return config

    # --- asking ----------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        filters: SearchFilters | None = None,
        as_of_ns: int | None = None,
        only: Sequence[str] | None = None,
        cancel: CancelToken | None = None,
    ) -> JointAnswer:
        """Asks memory and every enabled source (or `only` these) at once, each under its own deadline.

        Raises `NotFound` for a name in `only` that is not configured.
        """
        within = filters or SearchFilters()
        futures = {
            source_id: self._pool.submit(
                self._search_one, source_id, query, limit=limit, filters=within, as_of_ns=as_of_ns, cancel=cancel
            )
            for source_id in self._asked(only)
        }
        began = monotonic()
        answers = [self._in_time(source_id, future, began) for source_id, future in futures.items()]
        return join(query, self._without_twins(answers), limit=limit)

    def _asked(self, only: Sequence[str] | None) -> list[str]:
        enabled = [source_id for source_id, config in self._configs.items() if config.enabled]
        known = [MEMORY_ID, *enabled] if self._memory is not None else enabled
        if only is None:
            return known
        if unknown := [source_id for source_id in only if source_id not in known]:
            raise NotFound(f"There is no source {unknown[0]!r} to ask.", id=unknown[0][:80])
        return [source_id for source_id in known if source_id in only]

    def _deadline_s(self, source_id: str) -> float:
        config = self._configs.get(source_id)
        return DEFAULT_DEADLINE_S if config is None else config.deadline_s

    def _in_time(self, source_id: str, future: Future[SourceAnswer], began: float) -> SourceAnswer:
        """The answer; a call that does not even end by its deadline and grace is not waited for."""
        ends_at = began + self._deadline_s(source_id) + _GRACE_S
        try:
            return future.result(timeout=max(0.0, ends_at - monotonic()))
        except NotInTime:
            return failed(source_id, "timeout", took_s=monotonic() - began)

    def _search_one(
        self,
        source_id: str,
        query: str,
        *,
        limit: int,
        filters: SearchFilters,
        as_of_ns: int | None,
        cancel: CancelToken | None,
    ) -> SourceAnswer:
        began = monotonic()
        params = SearchParams(query, filters, limit, self._deadline_ns(self._deadline_s(source_id)), as_of_ns=as_of_ns)
        try:
            if source_id == MEMORY_ID and self._memory is not None:
                result = self._memory.search(params, RequestContext(ends_at=began + self._deadline_s(source_id)))
                return answer_of(source_id, result, ceiling="restricted", prior=1.0, took_s=monotonic() - began)
            config = self._configs[source_id]
            result = self._supervisor.search(source_id, params, cancel=cancel)
            self._learn_identity(source_id, params.deadline_ns, cancel)
        except GrayMatterError as error:
            if cancel is not None and cancel.is_cancelled:
                return failed(source_id, "cancelled", took_s=monotonic() - began)
            return failed(source_id, reason_of(error), took_s=monotonic() - began)
        return answer_of(source_id, result, ceiling=config.ceiling, prior=config.prior, took_s=monotonic() - began)

    def _deadline_ns(self, timeout_s: float) -> int:
        return self._clock.now_ns() + int(timeout_s * NS_PER_S)

    def _learn_identity(self, source_id: str, deadline_ns: int, cancel: CancelToken | None) -> None:
        """Which store the adapter opened, asked once; its answer to the search stands without it."""
        if source_id in self._identities:
            return
        try:
            health = self._supervisor.health(source_id, HealthParams(deadline_ns), cancel=cancel)
        except GrayMatterError:
            return
        self._note_identity(source_id, health)

    def _note_identity(self, source_id: str, health: Health) -> None:
        manifest = self._supervisor.status(source_id).manifest
        identity = (health.diagnostics or {}).get("store_identity")
        claim = identity if isinstance(identity, str) else ""
        self._identities[source_id] = ("" if manifest is None else manifest.adapter_id, claim)

    def _twins(self) -> dict[str, str]:
        """Sources that read the same store as another one of the same adapter, and the names of all that do."""
        groups: dict[tuple[str, str], list[str]] = defaultdict(list)
        if self._lent is not None:
            from gm_engine.recall_protocol.served_store import store_identity

            groups[ADAPTER_ID, store_identity(self._lent)].append(MEMORY_ID)
        for source_id in self._configs:
            claim = self._identities.get(source_id)
            if claim is not None and claim[1]:
                groups[claim].append(source_id)
        return {each: ", ".join(group) for group in groups.values() if len(group) > 1 for each in group}

    def _without_twins(self, answers: Sequence[SourceAnswer]) -> list[SourceAnswer]:
        """One record that arrives twice would agree with itself: such sources are refused, but for memory itself."""
        twins = self._twins()
        return [
            failed(answer.outcome.source_id, f"same_store: {twins[answer.outcome.source_id]}")
            if answer.outcome.source_id in twins and answer.outcome.source_id != MEMORY_ID
            else answer
            for answer in answers
        ]

    def health(
        self, only: Sequence[str] | None = None, *, refresh: bool = False, cancel: CancelToken | None = None
    ) -> tuple[SourceHealth, ...]:
        """How memory and every enabled source (or `only` these) are, asked at once; `refresh` lets them catch up."""
        wanted = self._asked(only)
        futures = [self._pool.submit(self._health_one, source_id, refresh, cancel) for source_id in wanted]
        found = []
        for source_id, future in zip(wanted, futures, strict=True):
            try:
                found.append(future.result(timeout=_HEALTH_S + _GRACE_S))
            except NotInTime:
                found.append(self._told(source_id, None, "timeout"))
        twins = self._twins()
        return tuple(
            each
            if each.source_id not in twins or each.source_id == MEMORY_ID
            else self._told(each.source_id, each.health, f"same_store: {twins[each.source_id]}")
            for each in found
        )

    def _health_one(self, source_id: str, refresh: bool, cancel: CancelToken | None) -> SourceHealth:
        deadline_ns = self._deadline_ns(_HEALTH_S)
        try:
            if source_id == MEMORY_ID and self._memory is not None:
                health = self._memory.health(RequestContext(ends_at=monotonic() + _HEALTH_S))
                return self._told(source_id, health, "")
            if refresh:
                health = self._supervisor.refresh(source_id, RefreshParams(deadline_ns), cancel=cancel)
            else:
                health = self._supervisor.health(source_id, HealthParams(deadline_ns), cancel=cancel)
            self._note_identity(source_id, health)
        except GrayMatterError as error:
            return self._told(source_id, None, reason_of(error))
        return self._told(source_id, health, "")

    def _told(self, source_id: str, health: Health | None, error: str) -> SourceHealth:
        if source_id == MEMORY_ID:
            return SourceHealth(source_id, None, self._memory_manifest, health, error, None)
        status = self._supervisor.status(source_id)
        return SourceHealth(source_id, self._configs[source_id], status.manifest, health, error, status)

    def probe(
        self,
        command: str,
        args: Sequence[str] = (),
        *,
        location: str = "",
        settings: Json | None = None,
        cancel: CancelToken | None = None,
    ) -> Manifest:
        """Starts a program that is not configured yet, greets it and ends it: what it would be as a source."""
        config = new_source(
            "tried", command, clock=self._clock, args=tuple(args), location=location, settings=settings or {}
        )
        spec = self._spec(config)
        supervisor = Supervisor([spec], clock=self._clock, patience=self._patience)
        try:
            return supervisor.manifest(config.id, timeout_s=_HEALTH_S, cancel=cancel)
        finally:
            supervisor.close()
            rmtree(spec.workdir, ignore_errors=True)

    def restart(self, source_id: str) -> None:
        """Ends a source's process; the next question starts it anew."""
        self._supervisor.restart(source_id)

    # --- one hit ---------------------------------------------------------------------------------------------------

    def expand(
        self,
        locator: str,
        *,
        detail: Detail = "full",
        budget_bytes: int = DEFAULT_BUDGET_BYTES,
        cancel: CancelToken | None = None,
    ) -> ExpandResult:
        """What a locator names. Raises `ProtocolError`: `source_not_configured`, `locator_expired` and others."""
        source_id, colon, local = locator.partition(":")
        if not colon or not local:
            raise ProtocolError(ErrorCode.LOCATOR_UNKNOWN)
        timeout_s = self._deadline_s(source_id)
        params = ExpandParams(locator, detail, budget_bytes, self._deadline_ns(timeout_s))
        if source_id == MEMORY_ID and self._memory is not None:
            return self._memory.expand(params, RequestContext(ends_at=monotonic() + timeout_s))
        return self._supervisor.expand(source_id, params, cancel=cancel)

    def keep(
        self, locator: str, agent_id: str, *, origin: Origin, text: str | None = None, confidence: str | None = None
    ) -> Fact:
        """Keeps what a locator names (or `text`, made of it) as a fact that names the locator as its origin.

        Raises what `expand` and `remember` raise, and `InvalidInput` for what is in memory already or too long.
        """
        if self._lent is None:
            raise InvalidInput("There is no memory to keep it in.", field="locator")
        if locator.partition(":")[0] == MEMORY_ID:
            raise InvalidInput("This is in memory already.", field="locator")
        evidence = self.expand(locator)
        if text is None and evidence.truncated:
            raise InvalidInput("This is too long for a fact; give the text to keep.", field="text")
        kept = evidence.content if text is None else text
        who = replace(origin, sources=(SourceRef("locator", locator),))
        return self._lent.remember(agent_id, kept, confidence=confidence, origin=who)


def _greeting() -> InitializeParams:
    return InitializeParams(MIN_VERSION, MAX_VERSION, workdir="memory", source_id=MEMORY_ID)


def reason_of(error: GrayMatterError) -> str:
    """Why a source gave no answer, as one stable word."""
    match error:
        case CallTimeout() | Cancelled():
            return "timeout"
        case ClientClosed():
            return "closed"
        case ProtocolError():
            return error.name
        case AdapterFailed():
            return str(error.fields["reason"])
        case _:
            return error.code
