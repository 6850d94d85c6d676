"""The Overview page without widgets: the store in figures, each of which opens its list."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.health import Health, NotExamined
from gm_desktop.viewmodels.overview_words import Figures, Opens, embedded_of, figures_of
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError
from gm_engine.records import VectorStatus

if TYPE_CHECKING:
    from gm_engine import Memory

FOLLOW_MS = 700
EXAMINED_BY_ITSELF = 20_000  # journal entries, or facts; a larger store is examined when somebody asks for it


class OverviewViewModel(QObject):
    """Reads the figures while somebody looks; follows the store calmly."""

    state_changed = Signal()
    figures_changed = Signal()
    facts_wanted = Signal(object)  # Opens with a filter
    page_wanted = Signal(str)
    section_wanted = Signal(str)  # of the settings

    def __init__(self, host: EngineHost, notices: Notices, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._clock = host, clock
        self.health = Health(host, notices, clock, self)
        self.state: PageState = Loading()
        self.figures: Figures | None = None
        self._heard: VectorStatus | None = None
        self._is_looked_at = False
        self._is_stale = True
        self._reading = Latest()
        self._read_soon = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._read_soon.timeout.connect(self.reload)
        host.changed.connect(self._on_changed)
        host.indexed.connect(self._on_indexed)
        host.store_opened.connect(self._on_opened)
        host.store_closed.connect(self._on_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._reading.is_awaited or self._read_soon.isActive() or self.health.is_waiting

    def look(self, is_looked_at: bool) -> None:
        """Somebody looks at the page, or no longer does: figures are read only for somebody."""
        self._is_looked_at = is_looked_at
        if is_looked_at and self._is_stale:
            self.reload()
        elif not is_looked_at:
            self._read_soon.stop()

    def reload(self) -> None:
        """Reads every figure again."""
        self._read_soon.stop()
        if self._host.is_open:
            self._is_stale = False
            job = partial(_read, now_ns=self._clock.now_ns())
            self._reading.take(self._host.read(job, self._on_read, self._on_failed))

    def _on_read(self, answer: tuple[Figures, int, int]) -> None:
        figures, entries, size = answer
        if entries == 0:
            title = tr("Nothing here yet")
            hint = tr("Figures appear as soon as a fact or a checkpoint is written, or a store is imported.")
            self._set_state(Empty("none", title, hint))
            return
        heard, self._heard = self._heard, None
        self._take(figures if heard is None else replace(figures, embedded=embedded_of(heard)))
        self._set_state(Full(entries))
        if self._is_looked_at and size <= EXAMINED_BY_ITSELF and isinstance(self.health.state, NotExamined):
            self.health.examine()

    def _take(self, figures: Figures) -> None:
        if figures != self.figures:
            self.figures = figures
            self.figures_changed.emit()

    def _on_failed(self, error: GrayMatterError) -> None:
        self._is_stale = True
        self._set_state(Failed(sentence_for(error)))

    def open(self, opens: Opens) -> None:
        """Opens the list behind a number."""
        if opens.facts is not None:
            self.facts_wanted.emit(opens)
        elif opens.section:
            self.section_wanted.emit(opens.section)
        else:
            self.page_wanted.emit(opens.page)

    def _on_changed(self) -> None:
        self._is_stale = True
        if self._is_looked_at and not self._read_soon.isActive():
            self._read_soon.start()

    def _on_indexed(self, status: VectorStatus) -> None:
        """Told every second for as long as a large store is indexed: nothing is read for that."""
        self._heard = status if self._reading.is_awaited else None  # newer than what is being read
        if self.figures is not None:
            self._take(replace(self.figures, embedded=embedded_of(status)))

    def _on_opened(self) -> None:
        self._is_stale = True
        if self._is_looked_at:
            self.reload()

    def _on_closed(self) -> None:
        self._reading.cancel()
        self._read_soon.stop()
        self._heard = None
        self._is_stale = True
        self.figures = None
        self._set_state(Loading())

    def _set_state(self, state: PageState) -> None:
        if state != self.state:
            self.state = state
            self.state_changed.emit()


def _read(memory: Memory, *, now_ns: int) -> tuple[Figures, int, int]:
    """The figures, how many entries the journal has, and how much there is to examine: an import is one entry."""
    found = memory.overview()
    size = max(found.journal_entries, found.live + found.retired)
    return figures_of(found, memory.consolidation_counters(), now_ns), found.journal_entries, size
