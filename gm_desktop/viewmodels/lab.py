"""The ranking lab without widgets: numbers to move, named profiles, judged questions and what a change does to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.line_list import Line, LineList
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.plain_text import row_text
from gm_desktop.tasks import Task
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.batch import BatchViewModel
from gm_desktop.viewmodels.journalled import journalled
from gm_desktop.viewmodels.lab_words import RunReport, outcome_lines, run_report
from gm_desktop.viewmodels.question import RankSetting, trial_of
from gm_desktop.viewmodels.search import SearchViewModel
from gm_engine.errors import GrayMatterError
from gm_engine.records import SHARED_AGENT_ID, Changes, FactQuery

if TYPE_CHECKING:
    from gm_engine import CancelToken, Memory, Progress, QuerySet, QuerySetReport, RankingProfile


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the store keeps for the lab."""

    profiles: tuple[RankingProfile, ...]
    query_sets: tuple[QuerySet, ...]


class LabViewModel(QObject):
    """Moves the numbers of the Search page's question; saving goes through the journal and can be undone."""

    changed = Signal()  # numbers, or what the hits did
    kept_changed = Signal()  # profiles and question sets
    report_changed = Signal()

    def __init__(
        self,
        host: EngineHost,
        search: SearchViewModel,
        batch: BatchViewModel,
        *,
        undo: UndoController,
        notices: Notices,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._host, self._search, self._batch = host, search, batch
        self._undo, self._notices = undo, notices
        self.outcomes = LineList(self)
        self.left_lines = LineList(self)  # the facts that left the answer
        self.profiles: tuple[str, ...] = ()
        self.query_sets: tuple[str, ...] = ()
        self.query_set = ""
        self.report: RunReport | None = None
        self._kept = _Kept((), ())
        self._task: Task | None = None
        self._is_judging = False
        self._latest = Latest()
        search.question_changed.connect(self.changed)
        batch.open_changed.connect(self.changed)
        search.selection_changed.connect(self.changed)
        search.state_changed.connect(self._on_hits)
        host.store_opened.connect(self._load)
        host.store_closed.connect(self._on_closed)
        host.changed.connect(self._on_changed)

    # --- numbers -------------------------------------------------------------------------------------------------

    @property
    def setting(self) -> RankSetting:
        """The tried ranking."""
        return self._search.setting

    @property
    def saved(self) -> RankSetting:
        """The store's own ranking."""
        return self._search.saved

    @property
    def is_trial(self) -> bool:
        """Whether a number differs from the store's own."""
        return bool(self._search.question.trial.numbers)

    @property
    def can_rank(self) -> bool:
        """Whether one namespace is asked: a merged answer has no ranks of its own."""
        return self._search.question.scope != "all"

    @property
    def can_write(self) -> bool:
        """Whether something can be saved."""
        return self._search.verbs.can_write

    @property
    def can_expect(self) -> bool:
        """Whether there is a question and a hit that it could expect."""
        search = self._search
        is_asked = search.question.is_askable and search.selected_hit is not None
        return self.can_write and self.can_rank and is_asked and not self._batch.is_open

    @property
    def is_running(self) -> bool:
        """Whether a set of questions is being asked."""
        return self._task is not None or self._is_judging

    @property
    def comparison(self) -> str:
        """What the tried ranking does to the answer, in words."""
        if not self.can_rank:
            return tr("Own and shared facts are merged by place. Choose one of them to try another ranking.")
        if self._batch.is_open:
            return tr("All questions of the batch are ranked with these numbers.")
        if self._search.live is None:
            return tr("Ask a question to see what a change does.")
        hits = self._search.hits.hits
        new = sum(1 for hit in hits if hit.tone == "accent")
        moved = sum(1 for hit in hits if hit.tone in ("success", "danger"))
        left = len(self.left_lines.lines)
        if not (new or moved or left):
            return tr("The answer is the same as with the saved ranking.")
        said = ((moved, tr("{count} moved", count=moved)), (new, tr("{count} new", count=new)))
        parts = [part for count, part in (*said, (left, tr("{count} left", count=left))) if count]
        return tr("Against the saved ranking: {parts}.", parts=", ".join(parts))

    def _on_hits(self) -> None:
        self.left_lines.set_lines(
            [
                Line(each.id, each.text, mark=tr("was {place}", place=each.place), tone="danger")
                for each in self._search.left
            ]
        )
        self.changed.emit()

    def set_knob(self, name: str, value: float | str) -> None:
        """Moves one number, the filter or the length."""
        self._search.set_knob(name, value)

    def reset(self) -> None:
        """Back to the store's own ranking."""
        self._search.reset_trial()

    def use_profile(self, name: str) -> None:
        """Tries a saved profile."""
        profile = next((each for each in self._kept.profiles if each.name == name), None)
        if profile is not None:
            self._search.set_trial(trial_of(profile, top_k=self._search.question.top_k))

    def profile_in_use(self) -> str:
        """The name of the profile that the tried ranking is; empty where it is none."""
        tried = self._search.question.trial
        top_k = self._search.question.top_k
        same = (each for each in self._kept.profiles if trial_of(each, top_k=top_k).settled(self.saved) == tried)
        return next((each.name for each in same), "")

    # --- keeping -------------------------------------------------------------------------------------------------

    def make_default(self) -> None:
        """Makes the tried numbers the store's own, for every agent and program. Filter and length belong to calls."""
        setting = self.setting

        def job(memory: Memory) -> None:
            memory.set_settings(setting.profile("store").as_settings(memory.settings))

        self._keep(job, tr("Made this ranking the store's own"))

    def save_profile(self, name: str) -> None:
        """Saves the tried ranking under a name."""
        setting = self.setting

        def job(memory: Memory) -> None:
            memory.lab.save_profile(setting.profile(name))

        self._keep(job, tr("Saved the profile {name}", name=row_text(name, 60)))

    def delete_profile(self, name: str) -> None:
        """Deletes a profile."""
        text = tr("Deleted the profile {name}", name=row_text(name, 60))
        self._keep(lambda memory: memory.lab.delete_profile(name), text)

    def choose_set(self, name: str) -> None:
        """Works with another set of judged questions."""
        if name != self.query_set:
            self.query_set = name
            self._set_report(None, ())
            self.kept_changed.emit()

    def expect(self, fact_id: str) -> None:
        """Adds the present question to a set, with this fact as an expected answer."""
        question, name = self._search.question, self.set_for_question
        if not question.is_askable:
            return
        agent_id, query = question.namespace, question.query.strip()

        def done() -> None:
            self.query_set = name

        text = tr("Noted the hit as expected ({set})", set=row_text(name, 60))
        self._keep(lambda memory: _add_judged(memory, name, agent_id, query, fact_id), text, done)

    @property
    def set_for_question(self) -> str:
        """Where the present question would be added: the chosen set, or one of the asked namespace's own."""
        agent_id = self._search.question.namespace
        chosen = self._chosen_set()
        if chosen is not None and chosen.agent_id == agent_id:
            return chosen.name
        same = next((each.name for each in self._kept.query_sets if each.agent_id == agent_id), "")
        return same or (tr("Shared") if agent_id == SHARED_AGENT_ID else agent_id[:100])

    def _chosen_set(self) -> QuerySet | None:
        return next((each for each in self._kept.query_sets if each.name == self.query_set), None)

    def delete_set(self) -> None:
        """Deletes the chosen set."""
        name = self.query_set
        text = tr("Deleted the questions {name}", name=row_text(name, 60))
        self._keep(lambda memory: memory.lab.delete_query_set(name), text)

    def _keep(self, job: Callable[[Memory], None], text: str, then: Callable[[], None] = lambda: None) -> None:
        def done(seq: int | None) -> None:
            if seq is None:
                self._notices.show(tr("Nothing to save: the store already has it that way."))
            else:
                then()
                self._undo.did(text, seq)

        self._host.write(partial(journalled, job), done)

    # --- judged questions ----------------------------------------------------------------------------------------

    def run(self) -> None:
        """Asks every question of the chosen set under the saved and the tried ranking, as a task."""
        queries = self._chosen_set()
        if queries is None or self._task is not None:
            return
        profile_of, setting = self.setting.profile, self.setting

        def job(memory: Memory, progress: Progress, cancel: CancelToken) -> QuerySetReport:
            return memory.lab.run(queries, profile_of("tried"), progress=progress, cancel=cancel)

        def done(report: QuerySetReport) -> None:
            self._set_report(run_report(report, is_trial=setting != self.saved), outcome_lines(report))

        def failed(error: GrayMatterError) -> None:
            self._notices.show(sentence_for(error), level="warning")

        self._task = self._host.run_task(tr("Asking {name}", name=row_text(queries.name, 60)), job, done, failed)
        self._task.ended.connect(self._on_ended)
        self.report_changed.emit()

    def judge_something_telling(self) -> None:
        """Makes a set of questions from the words of facts, and runs it."""
        agent_id = self._search.question.namespace
        name = self.set_for_question
        self._is_judging = True

        def job(memory: Memory) -> None:
            for fact in memory.list_facts(FactQuery(agent_id=agent_id, kind="content"), limit=48)[::6]:
                words = fact.text[-200:].split()
                _add_judged(memory, name, agent_id, " ".join(words[-4:]).rstrip(".,;:"), fact.id)

        def done(_: None) -> None:
            self._load()

        self._host.write(job, done)

    def _on_ended(self) -> None:
        self._task = None
        self.report_changed.emit()

    def open_outcome(self, key: str) -> None:
        """Asks one of the judged questions on the page."""
        queries = self._chosen_set()
        if queries is not None and key.isdecimal() and int(key) < len(queries.queries):
            self._search.set_agent(queries.agent_id)
            self._search.set_query(queries.queries[int(key)].query)

    @property
    def set_sentence(self) -> str:
        """What the chosen set holds."""
        queries = self._chosen_set()
        if queries is None:
            return tr("No questions are saved yet. Ask one, select the hit that should answer it, and expect it.")
        count = tr_count("{count} question", "{count} questions", len(queries.queries))
        return tr("{count} to {agent}", count=count, agent=agent_title(queries.agent_id))

    def _set_report(self, report: RunReport | None, outcomes: tuple[Line, ...]) -> None:
        self.report = report
        self.outcomes.set_lines(outcomes)
        self.report_changed.emit()

    # --- the store -----------------------------------------------------------------------------------------------

    def _load(self) -> None:
        def job(memory: Memory) -> _Kept:
            return _Kept(memory.lab.profiles(), memory.lab.query_sets())

        self._latest.take(self._host.read(job, self._on_kept))

    def _on_kept(self, kept: _Kept) -> None:
        changed = kept.query_sets != self._kept.query_sets
        self._kept = kept
        self.profiles = tuple(each.name for each in kept.profiles)
        self.query_sets = tuple(each.name for each in kept.query_sets)
        if self.query_set not in self.query_sets:
            self.query_set = self.query_sets[0] if self.query_sets else ""
        if changed:
            self._set_report(None, ())
        self.kept_changed.emit()
        if self._is_judging and kept.query_sets:
            self._is_judging = False
            self.run()

    def _on_changed(self, changes: Changes) -> None:
        if "setting" in changes.kinds:
            self._load()

    def _on_closed(self) -> None:
        self._latest.cancel()
        self._on_kept(_Kept((), ()))


def _add_judged(memory: Memory, name: str, agent_id: str, query: str, fact_id: str) -> None:
    from gm_engine import JudgedQuery, QuerySet

    known = next((each for each in memory.lab.query_sets() if each.name == name), QuerySet(name, agent_id, ()))
    queries = list(known.queries)
    for at, judged in enumerate(queries):
        if judged.query == query:
            queries[at] = JudgedQuery(query, tuple(dict.fromkeys((*judged.expected, fact_id))))
            break
    else:
        queries.append(JudgedQuery(query, (fact_id,)))
    memory.lab.save_query_set(replace(known, queries=tuple(queries)))
