"""Everything the inspector says about one fact: text, metadata, lineage, journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import age, local_time, number, utc_time
from gm_desktop.i18n import decimal, tr
from gm_desktop.models.fact_row import agent_title, fact_status
from gm_desktop.models.word_changes import shared_start
from gm_desktop.notices import sentence_for
from gm_desktop.plain_text import row_text
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.fact_words import (
    confidence_sentence,
    confidence_title,
    entry_sentence,
    origin_sentence,
    status_title,
)
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError
from gm_engine.records import Changes, Fact

if TYPE_CHECKING:
    from gm_engine import Memory

JOURNAL_LINES = 50
ROW = 240
IN_SIGHT = 48  # characters of a version that are seen in a narrow inspector
LEAD = 24  # characters before a change that tell where it is


@dataclass(frozen=True, slots=True)
class LineageItem:
    """One text in a fact's history; `place` is `before`, `this` or `after`."""

    id: str
    text: str
    when: str
    place: str


@dataclass(frozen=True, slots=True)
class JournalLine:
    """What happened to the fact, by whom, when."""

    seq: int
    what: str
    who: str
    when: str
    when_utc: str


@dataclass(frozen=True, slots=True)
class FactDetails:
    """One fact in words. `text` is complete: the view decides how much to draw. `facts` are (name, value, hover)."""

    id: str
    agent_id: str
    agent: str
    text: str
    version: int
    confidence: str
    confidence_title: str
    status: str
    status_title: str
    is_pinned: bool
    is_alias: bool
    facts: tuple[tuple[str, str, str], ...]
    lineage: tuple[LineageItem, ...]
    journal: tuple[JournalLine, ...]
    has_more_journal: bool


@dataclass(frozen=True, slots=True)
class NothingSelected:
    """No fact is selected."""


@dataclass(frozen=True, slots=True)
class ManySelected:
    """Several are: how many."""

    count: int


@dataclass(frozen=True, slots=True)
class DetailsFailed:
    """The fact could not be read, or is gone."""

    message: str


DetailsState = NothingSelected | ManySelected | DetailsFailed | FactDetails


class FactDetailsViewModel(QObject):
    """Loads one fact in the read lane and follows its changes. The old state stays until the new one is there."""

    changed = Signal()
    vanished = Signal(str)  # while it was shown, as an undo does it: the fact it had replaced, or ""

    def __init__(self, host: EngineHost, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self._clock = clock
        self._latest = Latest()
        self._fact_id: str | None = None
        self.state: DetailsState = NothingSelected()
        self.is_waiting = False
        host.changed.connect(self._on_changed)
        host.store_opened.connect(self._load)
        host.store_closed.connect(self.clear)

    @property
    def fact_id(self) -> str | None:
        """The fact that is shown or on its way."""
        return self._fact_id

    def clear(self) -> None:
        """Shows nothing."""
        self._drop(NothingSelected())

    def show_many(self, count: int) -> None:
        """Shows how many are selected."""
        self._drop(ManySelected(count))

    def _drop(self, state: DetailsState) -> None:
        self._latest.cancel()
        self._fact_id = None
        self.is_waiting = False
        if state != self.state:
            self.state = state
            self.changed.emit()

    def show(self, fact_id: str) -> None:
        """Loads a fact; nothing happens when it is shown already."""
        if fact_id != self._fact_id:
            self._fact_id = fact_id
            self._load()

    def _load(self) -> None:
        fact_id = self._fact_id
        if fact_id is None or not self._host.is_open:
            return
        now_ns = self._clock.now_ns()
        self.is_waiting = True
        self._latest.take(
            self._host.read(lambda memory: load_details(memory, fact_id, now_ns), self._on_loaded, self._on_failed)
        )

    def _on_loaded(self, details: FactDetails) -> None:
        self.is_waiting = False
        if details != self.state:
            self.state = details
            self.changed.emit()

    def _on_failed(self, error: GrayMatterError) -> None:
        self.is_waiting = False
        shown = self.state
        if error.code == "not_found" and isinstance(shown, FactDetails) and shown.id == self._fact_id:
            replaced = [item.id for item in shown.lineage if item.place == "before"]
            self.clear()
            self.vanished.emit(replaced[-1] if replaced else "")
            return
        gone = tr("This fact is no longer in the store.")
        self.state = DetailsFailed(gone if error.code == "not_found" else sentence_for(error))
        self.changed.emit()

    def _on_changed(self, changes: Changes) -> None:
        shown = {self._fact_id}
        if isinstance(self.state, FactDetails):
            shown.update(item.id for item in self.state.lineage)
        if shown & changes.fact_ids:
            self._load()


def load_details(memory: Memory, fact_id: str, now_ns: int) -> FactDetails:
    """Reads a fact with lineage and journal. Raises `NotFound`."""
    fact = memory.get(fact_id)
    lineage = memory.lineage(fact_id)
    entries = memory.journal(target=fact_id, limit=JOURNAL_LINES + 1)
    line = [*reversed(lineage.supersedes), fact, *lineage.superseded_by]
    here = len(lineage.supersedes)
    status = fact_status(fact)
    return FactDetails(
        id=fact.id,
        agent_id=fact.agent_id,
        agent=agent_title(fact.agent_id),
        text=fact.text,
        version=fact.version,
        confidence=fact.effective_confidence.value,
        confidence_title=confidence_title(fact.effective_confidence.value),
        status=status,
        status_title=status_title(status),
        is_pinned=fact.pinned,
        is_alias=fact.kind == "alias",
        facts=_facts(fact, now_ns),
        lineage=_items(line, here) if len(line) > 1 else (),
        journal=tuple(
            JournalLine(
                seq=entry.seq,
                what=entry_sentence(entry, fact_id),
                who=origin_sentence(entry.actor),
                when=local_time(entry.at_ns),
                when_utc=utc_time(entry.at_ns),
            )
            for entry in entries[:JOURNAL_LINES]
        ),
        has_more_journal=len(entries) > JOURNAL_LINES,
    )


def _items(line: Sequence[Fact], here: int) -> tuple[LineageItem, ...]:
    """The texts of a history, each beside the one before it (the first beside the next)."""
    return tuple(
        LineageItem(
            fact.id,
            _beside(fact.text, line[at - 1 if at else 1].text),
            local_time(fact.created_ns),
            "this" if at == here else "before" if at < here else "after",
        )
        for at, fact in enumerate(line)
    )


def _beside(text: str, other: str) -> str:
    """A text for a row; from shortly before the place where it differs from `other`, if that would be out of sight."""
    differs_at = shared_start(text, other)
    if text == other or differs_at < IN_SIGHT:
        return row_text(text, ROW)
    start = differs_at - LEAD
    start = text.find(" ", start, differs_at) + 1 or start
    return row_text(f"… {text[start:]}", ROW)


def _facts(fact: Fact, now_ns: int) -> tuple[tuple[str, str, str], ...]:
    lines = [
        (tr("Agent"), agent_title(fact.agent_id), ""),
        (tr("Label"), confidence_sentence(fact), ""),
        (tr("Written"), _moment(fact.created_ns, now_ns), utc_time(fact.created_ns)),
        (tr("Last recalled"), _moment(fact.accessed_ns, now_ns), utc_time(fact.accessed_ns)),
        (tr("Uses"), number(fact.access_count), ""),
        (
            tr("Weight"),
            decimal(f"{fact.weight:.2f}"),
            tr("How well the fact is retained, from 0 to 1. It does not affect truth."),
        ),
        (tr("Origin"), origin_sentence(fact.origin), ""),
    ]
    if fact.pinned:
        lines.append((tr("Pinned"), _moment(fact.pinned_ns, now_ns), utc_time(fact.pinned_ns)))
    if fact.origin.session:
        lines.append((tr("Session"), row_text(fact.origin.session, 80), ""))
    lines.extend((tr("Source"), row_text(f"{each.kind}: {each.ref}", 200), "") for each in fact.origin.sources)
    if fact.kind == "alias":
        learnt = tr("Alias, learnt from use") if fact.alias_source == "usage" else tr("Alias")
        lines.append((tr("Kind"), learnt, ""))
    return tuple(lines)


def _moment(at_ns: int | None, now_ns: int) -> str:
    if at_ns is None:
        return tr("never")
    return f"{local_time(at_ns)} · {age(at_ns, now_ns)}"
