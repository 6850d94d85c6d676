"""*Why not that?* without widgets: which fact is meant, and why it is not among the hits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.models.fact_row import agent_title, fact_status
from gm_desktop.models.line_list import Line, LineList
from gm_desktop.notices import sentence_for
from gm_desktop.plain_text import row_text
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.batch import BatchViewModel
from gm_desktop.viewmodels.fact_words import status_title
from gm_desktop.viewmodels.question import MOST_HITS, Question, saved_setting
from gm_desktop.viewmodels.search import TYPING_PAUSE_MS, SearchViewModel
from gm_desktop.viewmodels.why_not_words import RemedyLine, WhyNotReport, why_not_report
from gm_engine.errors import GrayMatterError, InvalidInput
from gm_engine.records import SHARED_AGENT_ID, Fact, FactQuery

if TYPE_CHECKING:
    from gm_engine import Memory, RecallOptions

CHOICES = 12
MERGE_TRIES = 24


@dataclass(frozen=True, slots=True)
class NothingPicked:
    """No fact was chosen yet."""


@dataclass(frozen=True, slots=True)
class NothingAsked:
    """A fact is chosen, but there is no question it could be missing from."""

    fact_id: str


@dataclass(frozen=True, slots=True)
class Unexplained:
    """It could not be found out: a sentence for the person."""

    message: str


WhyNotState = NothingPicked | NothingAsked | Unexplained | WhyNotReport


class WhyNotViewModel(QObject):
    """Follows the question of the Search page, or the chosen one of its batch; the fact stays while they change."""

    changed = Signal()
    choices_changed = Signal()

    def __init__(
        self, host: EngineHost, search: SearchViewModel, batch: BatchViewModel, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._host, self._search, self._batch = host, search, batch
        self.choices = LineList(self)
        self.state: WhyNotState = NothingPicked()
        self.fact_id: str | None = None
        self.sought = ""
        self._explaining = Latest()
        self._seeking = Latest()
        self._seek_soon = QTimer(self, singleShot=True, interval=TYPING_PAUSE_MS)
        self._seek_soon.timeout.connect(self._seek)
        for signal in (search.answered, batch.answered, batch.line_changed, batch.open_changed):
            signal.connect(self._explain)
        host.store_closed.connect(self.clear)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._explaining.is_awaited or self._seeking.is_awaited or self._seek_soon.isActive()

    def seek(self, text: str) -> None:
        """The person types words of the fact, or pastes its id; choices follow."""
        self.sought = text.strip()
        if self.sought:
            self._seek_soon.start()
        else:
            self._seek_soon.stop()
            self._seeking.cancel()
            self._show_choices([])

    def pick(self, fact_id: str) -> None:
        """This is the fact that was expected."""
        self.sought = ""
        self._seek_soon.stop()
        self._seeking.cancel()
        self._show_choices([])
        self.fact_id = fact_id
        self._explain()

    def pick_something_missing(self) -> None:
        """Picks a fact of the asked namespace that the present answer leaves out."""
        shown = {hit.id for hit in self._search.hits.hits}
        query = FactQuery(agent_id=self._search.question.namespace, kind="content")

        def job(memory: Memory) -> str | None:
            facts = memory.list_facts(query, limit=64)
            return next((fact.id for fact in reversed(facts) if fact.id not in shown), None)

        def done(fact_id: str | None) -> None:
            if fact_id is not None:
                self.pick(fact_id)

        self._seeking.take(self._host.read(job, done))

    def clear(self) -> None:
        """No fact is meant any more."""
        self.seek("")
        self.fact_id = None
        self._explaining.cancel()
        self._set(NothingPicked())

    def try_remedy(self, remedy: RemedyLine) -> None:
        """Changes the ranking of the question as proposed and selects the fact when it is in."""
        if self.fact_id is not None:
            self._search.prefer(self.fact_id)
        self._search.set_knob(remedy.knob, remedy.value)

    def ask_its_agent(self) -> None:
        """Puts the question to the namespace that the fact belongs to."""
        if isinstance(self.state, WhyNotReport):
            self._search.prefer(self.state.fact_id)
            self._search.set_agent(self.state.agent_id)

    @property
    def _question(self) -> Question | None:
        return self._batch.question if self._batch.is_open else self._search.question

    def _explain(self) -> None:
        question, fact_id = self._question, self.fact_id
        if fact_id is None:
            return
        if question is None or not question.is_askable:
            self._explaining.cancel()
            self._set(NothingAsked(fact_id))
            return
        job = partial(_explain, question, fact_id)
        self._explaining.take(self._host.read(job, self._set, self._on_failed))

    def _on_failed(self, error: GrayMatterError) -> None:
        if error.code == "not_found":
            self._set(Unexplained(tr("There is no fact with this id in the store.")))
        elif error.code == "as_of_unsupported":
            self._set(Unexplained(tr("The journal does not reach back to the moment that is asked about.")))
        else:
            self._set(Unexplained(sentence_for(error)))

    def _set(self, state: WhyNotState) -> None:
        self.state = state
        self.changed.emit()

    def _seek(self) -> None:
        self._seek_soon.stop()
        job = partial(_seek, self._search.question, self.sought)
        self._seeking.take(self._host.read(job, self._on_found))

    def _on_found(self, facts: list[Fact]) -> None:
        if len(facts) == 1 and facts[0].id == self.sought:
            self.pick(facts[0].id)
            return
        self._show_choices([_choice(fact) for fact in facts])

    def _show_choices(self, lines: list[Line]) -> None:
        self.choices.set_lines(lines)
        self.choices_changed.emit()


def _choice(fact: Fact) -> Line:
    status = fact_status(fact)
    note = agent_title(fact.agent_id)
    if status != "live":
        note = f"{note}  ·  {status_title(status)}"
    return Line(fact.id, row_text(fact.text), note)


def _seek(question: Question, words: str, memory: Memory) -> list[Fact]:
    """The fact of that id; else facts that hold the words, those of the asked namespace first, then similar ones."""
    exact = memory.facts([words])
    if exact:
        return exact
    found: dict[str, Fact] = {}
    for agent_id in (question.namespace or None, None):
        query = FactQuery(agent_id=agent_id, status="all", kind="all", text=words)
        found.update((fact.id, fact) for fact in memory.list_facts(query, limit=CHOICES) if fact.id not in found)
    if len(found) < CHOICES and question.namespace:
        try:
            similar = memory.recall(question.namespace, words, preview=True, top_k=CHOICES).facts
        except InvalidInput:  # words that no recall takes find nothing
            similar = ()
        found.update((fact.id, fact) for fact in similar if fact.id not in found)
    return list(found.values())[:CHOICES]


def _explain(question: Question, fact_id: str, memory: Memory) -> WhyNotReport:
    saved = saved_setting(memory.settings)
    question = replace(question, trial=question.trial.settled(saved))
    options = question.options(saved)
    if question.scope != "all":
        return why_not_report(question, memory.explain_missing(question.namespace, question.query, fact_id, **options))
    home = memory.get(fact_id).agent_id
    namespace = SHARED_AGENT_ID if home == SHARED_AGENT_ID else question.agent_id
    report = memory.explain_missing(namespace, question.query, fact_id, **options)
    if report.reason != "returned" or _is_merged_in(memory, question, fact_id, options):
        return why_not_report(question, report)
    length = _merged_length(memory, question, fact_id, options)
    return why_not_report(question, report, merged_top_k=length, is_merged_out=True)


def _is_merged_in(memory: Memory, question: Question, fact_id: str, options: RecallOptions) -> bool:
    facts = memory.recall_all(question.agent_id, question.query, **options).facts
    return any(fact.id == fact_id for fact in facts)


def _merged_length(memory: Memory, question: Question, fact_id: str, options: RecallOptions) -> int | None:
    """The shortest longer merged answer that holds the fact, tried; None where none of those tried does."""
    for top_k in range(question.top_k + 1, min(question.top_k + MERGE_TRIES, MOST_HITS) + 1):
        longer: RecallOptions = {**options, "top_k": top_k}
        if _is_merged_in(memory, question, fact_id, longer):
            return top_k
    return None
