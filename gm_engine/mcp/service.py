"""The open store behind a server: opened with the first call, shared by its connections, closed with the server.

Connections are registered when they are first heard of, and forgotten when they leave or stay silent for ten minutes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Condition, Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from gm_engine.config import Config
from gm_engine.errors import Cancelled, GrayMatterError
from gm_engine.mcp.answers import ToolAnswer
from gm_engine.mcp.tools import READS, Call, Caller, run_tool
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import BALANCED_WEIGHTS, Origin, Transport
from gm_engine.version import __version__

if TYPE_CHECKING:
    from gm_engine.memory import Memory

SILENT_S = 600.0
MOST_KNOWN = 2_000
_CLOSING_S = 5.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Peer:
    """One connection as its transport knows it: a key of its own, and what the client calls itself."""

    key: str
    name: str = ""
    version: str = ""


@dataclass(slots=True)
class _Known:
    caller: Caller
    heard: float
    reads: int = 0
    writes: int = 0


@dataclass(slots=True)
class Service:
    """Runs tool calls for every connection of one server. Safe from any thread."""

    data_dir: Path
    transport: Transport
    config: Config = field(default_factory=Config)
    _memory: Memory | None = None
    _is_closed: bool = False
    _opening: Lock = field(default_factory=Lock)
    _known: dict[Peer, _Known] = field(default_factory=dict)
    _changed: Condition = field(default_factory=Condition)
    _running: int = 0

    def memory(self) -> Memory:
        """The open store, made with the balanced profile where there is none. Raises what `Memory.open` raises."""
        with self._opening:
            if self._is_closed:
                raise Cancelled("The server is closing.")
            if self._memory is None:
                from gm_engine.memory import Memory

                origin = Origin("library", client="graymatter mcp", client_version=__version__)
                is_new = not (self.data_dir / "ledger.sqlite").exists()
                memory = Memory.open(self.data_dir, config=self.config, origin=origin)
                if is_new and memory.last_seq() == 0:
                    memory.set_settings(replace(memory.settings, signal_weights=BALANCED_WEIGHTS))
                    _log.warning("made a new store in %s with the balanced profile", self.data_dir)
                self._memory = memory
            return self._memory

    def welcome(self, peer: Peer) -> None:
        """Registers a connection and loads what the first search needs; a failure is told by the first call."""
        try:
            self._caller(peer)
            self.memory().recall("graymatter", "hello", preview=True, top_k=1)
        except GrayMatterError as error:
            _log.warning("the store is not ready: %s", error.message)

    def run(
        self,
        peer: Peer,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        progress: Progress = no_progress,
        cancel: CancelToken | None = None,
    ) -> ToolAnswer:
        """One tool call. Expected failures are answers in words."""
        with self._changed:
            self._running += 1
        try:
            known = self._caller(peer)
            with self._changed:
                known.heard = monotonic()
                known.reads += tool in READS
                known.writes += tool not in READS
            return run_tool(tool, Call(known.caller, arguments, progress, cancel))
        except GrayMatterError as error:
            return ToolAnswer(error.message)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _caller(self, peer: Peer) -> _Known:
        memory = self.memory()
        with self._opening:
            if peer not in self._known:
                if len(self._known) >= MOST_KNOWN:  # a client may call itself something else each time
                    _say_goodbye(memory, self._known.pop(next(iter(self._known))))
                origin = memory.clients.connect(peer.name, peer.version, self.transport)
                self._known[peer] = _Known(Caller(memory.acting_as(origin), origin), monotonic())
            return self._known[peer]

    def tick(self) -> None:
        """Writes the counts of calls and forgets silent connections; for about once a second."""
        memory = self._memory
        if memory is None:
            return
        with self._opening:
            everybody = list(self._known.items())
        with self._changed:
            calls = {k.caller.origin: (k.reads, k.writes) for _, k in everybody if k.reads or k.writes}
            for _, known in everybody:
                known.reads = known.writes = 0
            silent = [peer for peer, known in everybody if monotonic() - known.heard > SILENT_S]
        try:
            if calls:
                memory.clients.count(calls)
            if self.transport == "http":
                self._forget(silent)
        except GrayMatterError as error:  # counts are a courtesy
            _log.info("calls were not counted: %s", error.message)

    def forget_session(self, key: str) -> None:
        """Takes the connections with that key off the list: the client said goodbye."""
        with self._opening:
            left = [peer for peer in self._known if peer.key == key]
        self._forget(left)

    def _forget(self, peers: list[Peer]) -> None:
        """Takes connections off the list; one that calls again is registered again."""
        for peer in peers:
            with self._opening:
                known = self._known.pop(peer, None)
                memory = self._memory
            if known is not None and memory is not None:
                _say_goodbye(memory, known)

    def close(self) -> None:
        """Waits a few seconds for running calls, then closes the store."""
        until = monotonic() + _CLOSING_S
        with self._changed:
            while self._running and (left := until - monotonic()) > 0:
                self._changed.wait(left)
        self.tick()
        with self._opening:
            memory, self._memory, self._is_closed = self._memory, None, True
            everybody = list(self._known.values())
        if memory is not None:
            for known in everybody:
                _say_goodbye(memory, known)
            memory.close()


def _say_goodbye(memory: Memory, known: _Known) -> None:
    """Takes a connection off the list; where the store is busy it stays there until this process has ended."""
    try:
        memory.clients.disconnect(known.caller.origin)
    except GrayMatterError as error:
        _log.info("a connection stays listed: %s", error.message)
