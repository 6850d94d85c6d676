"""Sources beside memory, without widgets: how they are, what they answer, adding and removing them.

Everything that waits for another program happens in the asking lane. A search takes precedence: a look at the sources'
health that is under way is given up for it, and begun again afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import instants_in, with_local_times
from gm_desktop.i18n import tr
from gm_desktop.models.line_list import LineList
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.tickets import Latest, Ticket
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.source_settings import SettingField, fields_of
from gm_desktop.viewmodels.source_words import (
    MEMORY,
    OutcomeChip,
    chips,
    details,
    hit_line,
    source_line,
    verdict,
)
from gm_engine.errors import GrayMatterError
from gm_engine.progress import CancelToken
from gm_engine.records import SHARED_AGENT_ID, Changes, Origin

if TYPE_CHECKING:
    from gm_engine import Fact, Memory
    from gm_engine.recall_protocol.joint_answer import JointAnswer
    from gm_engine.recall_protocol.payloads import ExpandResult, Manifest
    from gm_engine.recall_protocol.source_config import SourceConfig
    from gm_engine.recall_protocol.sources import SourceHealth, Sources

T = TypeVar("T")
LIMIT = 20
DETAILS = ("summary", "excerpt", "full", "context")


@dataclass(frozen=True, slots=True)
class SourceDraft:
    """A source as a form holds it."""

    name: str = ""
    command: str = ""
    arguments: tuple[str, ...] = ()
    location: str = ""
    ceiling: str = "confidential"
    prior: float = 1.0
    deadline_s: float = 5.0
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Greeting:
    """What an adapter said of itself when it was tried: a sentence, its settings as fields, or why it failed."""

    sentence: str
    fields: tuple[SettingField, ...] = ()
    has_failed: bool = False


@dataclass(frozen=True, slots=True)
class Places:
    """The user's file of sources, and where adapters may keep what is theirs."""

    file: Path
    state: Path


class SourcesViewModel(QObject):
    """The page's state. `greeted` carries the `Greeting` that `try_out` asked for."""

    listed = Signal()
    answered = Signal()
    opened = Signal()
    greeted = Signal(object)
    added = Signal()
    add_failed = Signal(str)

    def __init__(
        self,
        host: EngineHost,
        undo: UndoController,
        notices: Notices,
        places: Places,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._host, self._undo, self._notices, self._places = host, undo, notices, places
        self.lines, self.hits = LineList(self), LineList(self)
        self.agents: tuple[str, ...] = ()
        self.failure = ""
        self.query = ""
        self.chips: tuple[OutcomeChip, ...] = ()
        self.verdict = ""
        self.content = ""
        self.provenance = ""
        self.instants: tuple[str, ...] = ()  # times in the provenance, as the source wrote them
        self.detail = "full"
        self.selected_source = MEMORY
        self.selected_hit = ""
        self.has_looked = False
        self._sources: Sources | None = None  # made, used and closed in the asking lane
        self._configs: dict[str, SourceConfig] = {}
        self._health: dict[str, SourceHealth] = {}
        self._searching, self._looking, self._opening, self._greeting = Latest(), Latest(), Latest(), Latest()
        self._search_token, self._look_token = CancelToken(), CancelToken()
        self._closing = CancelToken()  # given up only with the store: a hit that opens, a program that is tried
        self._wants_look = False
        host.store_opened.connect(self._on_opened)
        host.changed.connect(self._on_store_changed)
        host.store_closed.connect(self._on_closed)

    # --- what is shown ---------------------------------------------------------------------------------------------

    @property
    def is_searching(self) -> bool:
        """Whether an answer is on its way."""
        return self._searching.is_awaited

    @property
    def is_looking(self) -> bool:
        """Whether the sources are being asked how they are."""
        return self._looking.is_awaited

    @property
    def is_waiting(self) -> bool:
        """Whether any answer is still to come."""
        waits = (self._searching, self._looking, self._opening, self._greeting)
        return any(each.is_awaited for each in waits)

    @property
    def details(self) -> tuple[tuple[str, str, str], ...]:
        """What is known about the chosen source."""
        name = self.selected_source
        return details(self._configs.get(name), self._health.get(name))

    @property
    def stderr(self) -> str:
        """What the chosen source's program said last."""
        found = self._health.get(self.selected_source)
        return "" if found is None or found.status is None else "\n".join(found.status.diagnostics.lines)

    @property
    def can_keep(self) -> bool:
        """Whether the chosen hit can become a fact."""
        is_elsewhere = bool(self.selected_hit) and not self.selected_hit.startswith(f"{MEMORY}:")
        return is_elsewhere and bool(self.content) and self._host.is_open and not self._host.read_only

    @property
    def can_change_source(self) -> bool:
        """Whether the chosen source is one of the configured ones."""
        return self.selected_source in self._configs

    # --- asking ----------------------------------------------------------------------------------------------------

    def look(self, *, refresh: bool = False) -> None:
        """Asks every source how it is; `refresh` lets them catch up first."""
        if not self._host.is_open:
            return
        self.has_looked = True
        self._look_token.cancel()
        self._look_token = token = CancelToken()

        def job(sources: Sources) -> tuple[tuple[SourceConfig, ...], tuple[SourceHealth, ...]]:
            sources.follow_file()
            return sources.configured(), sources.health(refresh=refresh, cancel=token)

        def done(found: tuple[tuple[SourceConfig, ...], tuple[SourceHealth, ...]]) -> None:
            if token.is_cancelled:
                return
            self._configs = {config.id: config for config in found[0]}
            self._health = {each.source_id: each for each in found[1]}
            self._show_list("")

        self._looking.take(self._ask(job, done, lambda error: self._show_list(sentence_for(error))))
        self.listed.emit()

    def search(self, query: str) -> None:
        """Asks memory and every source; an earlier search is given up."""
        query = query.strip()
        if not query or not self._host.is_open:
            return
        self._wants_look = self._wants_look or self.is_looking
        self._look_token.cancel()
        self._search_token.cancel()
        self._search_token = token = CancelToken()
        self.query = query
        self._searching.take(
            self._ask(
                lambda sources: sources.search(query, limit=LIMIT, cancel=token),
                self._on_answer,
                self._on_search_failed,
            )
        )
        self.answered.emit()

    def stop(self) -> None:
        """Gives the search up."""
        self._search_token.cancel()

    def select_source(self, source_id: str) -> None:
        """Chooses the source whose details are shown."""
        self.selected_source = source_id
        self.listed.emit()

    def select_hit(self, locator: str) -> None:
        """Opens a hit in the chosen detail."""
        self.selected_hit = locator
        self._expand()

    def set_detail(self, detail: str) -> None:
        """Opens the chosen hit in another detail."""
        self.detail = detail
        if self.selected_hit:
            self._expand()

    def _expand(self) -> None:
        locator, detail, closing = self.selected_hit, self.detail, self._closing
        self.content, self.provenance, self.instants = "", tr("Opening…"), ()
        self._opening.take(
            self._ask(
                lambda sources: sources.expand(locator, detail=_detail(detail), cancel=closing),
                self._on_expanded,
                self._on_not_expanded,
            )
        )
        self.opened.emit()

    def keep(self, agent_id: str) -> None:
        """Keeps the chosen hit as a fact of an agent; undo takes it back."""
        if not self.can_keep:
            return
        locator = self.selected_hit

        def kept(fact: Fact) -> None:
            self._undo.did(tr("Kept a hit"), fact.version)
            self._notices.show(tr("Kept for {agent}.", agent=agent_id), level="success")

        self._ask(lambda sources: sources.keep(locator, agent_id, origin=Origin("desktop")), kept)

    # --- configuration ---------------------------------------------------------------------------------------------

    def try_out(self, draft: SourceDraft) -> None:
        """Starts the draft's program and greets it; `greeted` follows."""
        closing = self._closing

        def job(sources: Sources) -> Manifest:
            return sources.probe(
                draft.command, draft.arguments, location=draft.location, settings=draft.settings, cancel=closing
            )

        def done(manifest: Manifest) -> None:
            said = tr(
                "{name} answers; protocol {number}; it has {records}.",
                name=manifest.display_name,
                number=manifest.protocol_version,
                records=", ".join(manifest.record_types),
            )
            self.greeted.emit(Greeting(said, fields_of(manifest.settings_schema, draft.settings)))

        def failed(error: GrayMatterError) -> None:
            self.greeted.emit(Greeting(error.message, has_failed=True))

        self._greeting.take(self._ask(job, done, failed))

    def add(self, draft: SourceDraft) -> None:
        """Configures a source; `added`, or `add_failed` with the reason, follows."""

        def job(sources: Sources) -> SourceConfig:
            return sources.add(
                draft.name,
                draft.command,
                args=draft.arguments,
                location=draft.location,
                ceiling=draft.ceiling,
                prior=draft.prior,
                deadline_s=draft.deadline_s,
                settings=draft.settings,
            )

        def done(config: SourceConfig) -> None:
            self.added.emit()
            self._on_changed(config.id)

        def failed(error: GrayMatterError) -> None:
            self.add_failed.emit(sentence_for(error))
            self._host.failed.emit(error)  # the form may have been left

        self._ask(job, done, failed)

    def remove(self) -> None:
        """Takes the chosen source out of the configuration."""
        name = self.selected_source
        if self.can_change_source:
            self._ask(lambda sources: sources.remove(name), lambda _: self._on_changed(MEMORY))

    def restart(self) -> None:
        """Ends the chosen source's program and asks everybody again."""
        name = self.selected_source
        if self.can_change_source:
            self._ask(lambda sources: sources.restart(name), lambda _: self.look())

    def _on_changed(self, selected: str) -> None:
        self.selected_source = selected
        self.look()

    # --- inside ----------------------------------------------------------------------------------------------------

    def _ask(
        self,
        job: Callable[[Sources], T],
        done: Callable[[T], None],
        failed: Callable[[GrayMatterError], None] | None = None,
    ) -> Ticket:
        return self._host.ask(lambda memory: job(self._opened_sources(memory)), done, failed)

    def _opened_sources(self, memory: Memory) -> Sources:
        """Asking lane: the sources of the open store."""
        if self._sources is None:
            from gm_engine.recall_protocol.source_config import SourcesFile
            from gm_engine.recall_protocol.sources import Sources

            self._sources = Sources(SourcesFile(self._places.file), self._places.state, memory=memory)
        return self._sources

    def _close_sources(self) -> None:
        """Asking lane: ends the adapters."""
        sources, self._sources = self._sources, None
        if sources is not None:
            sources.close()

    def _on_opened(self) -> None:
        self._host.read(lambda memory: tuple(each.agent_id for each in memory.agents()), self._on_agents)

    def _on_store_changed(self, changes: Changes) -> None:
        if not changes.agent_ids <= {*self.agents, SHARED_AGENT_ID}:
            self._on_opened()

    def _on_agents(self, agents: tuple[str, ...]) -> None:
        own = tuple(agent for agent in agents if agent != SHARED_AGENT_ID)
        if own != self.agents:
            self.agents = own
            self.opened.emit()

    def _on_closed(self) -> None:
        for token in (self._search_token, self._look_token, self._closing):
            token.cancel()
        self._closing, self._wants_look, self.has_looked = CancelToken(), False, False
        for ticket in (self._searching, self._looking, self._opening, self._greeting):
            ticket.cancel()
        self._host.end_asking(self._close_sources)
        self._configs, self._health = {}, {}
        self.hits.set_lines(())
        self.chips, self.verdict, self.query = (), "", ""
        self.content = self.provenance = self.selected_hit = ""
        self.instants = ()
        self._show_list("")
        self.answered.emit()
        self.opened.emit()

    def _show_list(self, failure: str) -> None:
        self.failure = failure
        names = [MEMORY, *self._configs]
        if self.selected_source not in names:
            self.selected_source = MEMORY
        self.lines.set_lines([source_line(name, self._configs.get(name), self._health.get(name)) for name in names])
        self.listed.emit()

    def _on_answer(self, answer: JointAnswer) -> None:
        self.hits.set_lines([hit_line(hit) for hit in answer.hits])
        self.chips, self.verdict = chips(answer), verdict(answer)
        self.answered.emit()
        self._look_again()

    def _on_search_failed(self, error: GrayMatterError) -> None:
        self.hits.set_lines(())
        self.chips, self.verdict = (), sentence_for(error)
        self.answered.emit()
        self._look_again()

    def _look_again(self) -> None:
        """Begins the look again that was given up for a search."""
        if self._wants_look:
            self._wants_look = False
            self.look()

    def _on_expanded(self, found: ExpandResult) -> None:
        cut = tr("Cut: there is more.") if found.truncated else ""
        self.content, self.instants = found.content, instants_in(found.provenance)
        parts = (self.selected_hit, with_local_times(found.provenance), cut)
        self.provenance = "  ·  ".join(part for part in parts if part)
        self.opened.emit()

    def _on_not_expanded(self, error: GrayMatterError) -> None:
        self.content, self.provenance = "", sentence_for(error)
        self.opened.emit()


def _detail(name: str) -> Any:
    return name if name in DETAILS else "full"
