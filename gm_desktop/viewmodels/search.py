"""The Search page without widgets: the question, the ranked answer, why each hit came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import local_time
from gm_desktop.i18n import tr
from gm_desktop.models.agent_list import AgentLine, AgentList, agent_lines
from gm_desktop.models.hit_list import Hit, HitList
from gm_desktop.notices import sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.answers import Answer, answer_question
from gm_desktop.viewmodels.fact_verbs import FactVerbs
from gm_desktop.viewmodels.live_ranking import Left, LiveRanking
from gm_desktop.viewmodels.question import Question, RankSetting, Scope, Trial, saved_setting
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_desktop.viewmodels.why import WhyDetails
from gm_engine.clock import Clock
from gm_engine.errors import AsOfUnsupported, GrayMatterError
from gm_engine.records import SHARED_AGENT_ID, Changes, FactQuery, StoreSettings

if TYPE_CHECKING:
    from gm_engine import Memory

TYPING_PAUSE_MS = 160
FOLLOW_MS = 250
TOP_CHOICES = (3, 5, 8, 16, 32, 64)
UNKNOWN = saved_setting(StoreSettings())  # until the store said how it ranks


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """Whom one can ask, and how the store ranks."""

    lines: list[AgentLine]
    has_shared: bool
    saved: RankSetting


class SearchViewModel(QObject):
    """Asks as one types and always previews: looking at memory never counts as using it."""

    state_changed = Signal()
    question_changed = Signal()
    selection_changed = Signal()
    answered = Signal()  # a whole answer came, or there is none any more
    saved_changed = Signal()

    def __init__(self, host: EngineHost, verbs: FactVerbs, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self.verbs = verbs
        self._clock = clock
        self.agents = AgentList(self)
        self.hits = HitList(self)
        self.question = Question()
        self.saved = UNKNOWN
        self.answer: Answer | None = None
        self.state: PageState = Loading()
        self.selected_id: str | None = None
        self.horizon_ns: int | None = None
        self._wanted_id: str | None = None
        self._has_shared = False
        self._lab_is_open = False
        self._is_asking = False
        self._latest = Latest()
        self._agents_latest = Latest()
        self._ask_soon = QTimer(self, singleShot=True)
        self._ask_soon.timeout.connect(self.ask)
        host.changed.connect(self._on_changed)
        host.indexed.connect(self._on_indexed)
        host.store_opened.connect(self._load_surroundings)
        host.store_closed.connect(self._on_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._is_asking or self._ask_soon.isActive() or self._agents_latest.is_awaited

    @property
    def why(self) -> WhyDetails | None:
        """Why the selected hit came back."""
        if self.answer is None or self.selected_id is None:
            return None
        return next((each for each in self.answer.why if each.id == self.selected_id), None)

    @property
    def selected_hit(self) -> Hit | None:
        """The selected hit."""
        return next((each for each in self.hits.hits if each.id == self.selected_id), None)

    @property
    def setting(self) -> RankSetting:
        """How the present question is ranked, whole."""
        return self.question.trial.over(self.saved)

    @property
    def live(self) -> LiveRanking | None:
        """The cached ranks of the present question, where they are known."""
        live = self.answer.live if self.answer is not None else None
        return live if live is not None and live.answers(self.question) else None

    @property
    def left(self) -> tuple[Left, ...]:
        """What the saved ranking would return and the present one does not."""
        return self.live.left(self.hits.hits) if self.live is not None else ()

    # --- the question --------------------------------------------------------------------------------------------

    def set_query(self, query: str) -> None:
        """The person typed; the question is asked a moment later."""
        self._set(replace(self.question, query=query), TYPING_PAUSE_MS)

    def set_agent(self, agent_id: str) -> None:
        """Asks another agent; the shared namespace is a scope."""
        if agent_id == SHARED_AGENT_ID:
            self.set_scope("shared")
        else:
            scope: Scope = "agent" if self.question.scope == "shared" else self.question.scope
            self._set(replace(self.question, agent_id=agent_id, scope=scope))

    def set_scope(self, scope: Scope) -> None:
        """Asks the agent's own facts, the shared ones, or both merged."""
        self._set(replace(self.question, scope=scope))

    def set_top_k(self, top_k: int) -> None:
        """Asks for more or fewer hits."""
        self.set_knob("top_k", top_k)

    def set_as_of(self, as_of_ns: int | None) -> None:
        """Asks the store as it stood at a moment; None: now."""
        self._set(replace(self.question, as_of_ns=as_of_ns))

    def set_as_of_ago(self, seconds: int) -> None:
        """Asks the store as it stood some time ago."""
        self.set_as_of(self.now_ns - seconds * 1_000_000_000)

    @property
    def now_ns(self) -> int:
        """The present, in nanoseconds UTC."""
        return self._clock.now_ns()

    def set_knob(self, name: str, value: float | str) -> None:
        """Changes one thing about the ranking: a number of `LIMITS`, `min_confidence` or `top_k`."""
        self.set_trial(self.question.trial.with_knob(name, value))

    def set_trial(self, trial: Trial) -> None:
        """Ranks another way: at once from cached ranks where they suffice, and again from the store a moment later."""
        question = replace(self.question, trial=trial.settled(self.saved))
        live = self.answer.live if self.answer is not None else None
        if question != self.question and live is not None and live.answers(question):
            self._set(question, FOLLOW_MS)
            self._show_hits(live.hits(self.setting))
        else:
            self._set(question)

    def reset_trial(self) -> None:
        """Ranks as the store does."""
        self.set_trial(self.question.trial.without_numbers())

    def set_lab_open(self, is_open: bool) -> None:
        """Whether hits show how far they moved and numbers re-rank live."""
        if is_open != self._lab_is_open:
            self._lab_is_open = is_open
            if self.answer is not None:
                self._ask_soon.start(0)

    def take_question(self, question: Question) -> None:
        """Asks a whole other question."""
        self._set(replace(question, trial=question.trial.settled(self.saved)))

    def _set(self, question: Question, pause_ms: int = 0) -> None:
        if question != self.question:
            self.question = question
            self.question_changed.emit()
            self._latest.cancel()
            self._is_asking = True
            self._ask_soon.start(pause_ms)

    # --- hits ----------------------------------------------------------------------------------------------------

    def select(self, fact_id: str | None) -> None:
        """The person chose a hit."""
        if fact_id != self.selected_id:
            self.selected_id = fact_id
            self.selection_changed.emit()

    def prefer(self, fact_id: str) -> None:
        """Selects this fact as soon as it is among the hits (the replacement of a revised one, a fact tried for)."""
        self._wanted_id = fact_id

    def toggle_pin(self) -> None:
        """Pins or unpins the selected hit."""
        hit = self.selected_hit
        if hit is not None:
            (self.verbs.unpin if hit.is_pinned else self.verbs.pin)((hit.id,))

    def retire(self) -> None:
        """Retires the selected hit."""
        if self.selected_id is not None:
            self.verbs.retire((self.selected_id,))

    def retire_for_ever(self) -> None:
        """Retires the selected hit and refuses its text from now on."""
        if self.selected_id is not None:
            self.verbs.retire_for_ever((self.selected_id,))

    # --- asking --------------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Asks now; an older answer that is still under way is dropped."""
        self._ask_soon.stop()
        if not self._host.is_open:
            return  # asked again once the namespaces of a store are known
        question = self.question
        if not question.is_askable:
            self._latest.cancel()
            self._show(None, self._idle())
            return
        self._is_asking = True
        job = partial(answer_question, question, self._clock.now_ns(), with_live=self._lab_is_open)
        self._latest.take(self._host.read(job, self._on_answer, self._on_failed))

    def ask_something_telling(self) -> None:
        """Asks a question that the store can answer well."""
        self._is_asking = True

        def done(found: tuple[str, str] | None) -> None:
            self._is_asking = False
            if found is not None:
                self.question = replace(self.question, agent_id=found[0], query=found[1], scope="agent")
                self.question_changed.emit()
                self.ask()

        self._latest.take(self._host.read(_telling_question, done))

    def _on_answer(self, answer: Answer) -> None:
        self._take_saved(answer.saved)
        if answer.hits:
            self._show(answer, Full(len(answer.hits)))
        else:
            self._show(answer, self._nothing(answer))

    def _nothing(self, answer: Answer) -> Empty:
        whom = answer.question.whom
        if answer.question.trial.min_confidence:
            return Empty(
                "filter",
                tr("Nothing passes the confidence filter"),
                tr("No live fact of {agent} is that sure. Loosen the filter to see the others.", agent=whom),
            )
        if answer.question.as_of_ns is not None:
            when = local_time(answer.question.as_of_ns)
            return Empty(
                "nothing", tr("Nothing comes back"), tr("{agent} had no live facts on {when}.", agent=whom, when=when)
            )
        return Empty("nothing", tr("Nothing comes back"), tr("{agent} has no live facts to search.", agent=whom))

    def _on_failed(self, error: GrayMatterError) -> None:
        if isinstance(error, AsOfUnsupported):
            horizon = error.fields.get("horizon_ns")
            self.horizon_ns = horizon if isinstance(horizon, int) else None
            hint = tr("This store's journal holds nothing that old, and the present would be no answer.")
            if self.horizon_ns is not None:
                hint = tr(
                    "The journal of this store begins on {when}. Before that, nobody knows what an agent would have"
                    " been given.",
                    when=local_time(self.horizon_ns),
                )
            self._show(None, Empty("as_of", tr("The journal does not reach back that far"), hint))
        else:
            self._show(None, Failed(sentence_for(error)))

    def _show(self, answer: Answer | None, state: PageState) -> None:
        self._is_asking = False
        self.answer, self.state = answer, state
        self._show_hits(answer.hits if answer else ())
        self.answered.emit()

    def _show_hits(self, hits: Sequence[Hit]) -> None:
        if hits:
            self.state = Full(len(hits))
        self.hits.set_hits(hits)
        known = {hit.id for hit in hits}
        if self._wanted_id in known:
            self.selected_id, self._wanted_id = self._wanted_id, None
        elif self.selected_id not in known:
            self.selected_id = hits[0].id if hits else None
        self.state_changed.emit()
        self.selection_changed.emit()

    def _idle(self) -> PageState:
        if not self.agents.lines and not self._has_shared:
            return Empty("store", tr("No memories yet"), tr("There is nothing to search until an agent writes a fact."))
        if not self.question.namespace:
            return Empty(
                "agent", tr("No agent has facts of its own"), tr("Choose Shared to search what all agents read.")
            )
        return Empty(
            "ask",
            tr("Ask what an agent would remember"),
            tr("Type a question. The hits are exactly what the agent is given, with the reasons for each."),
        )

    # --- the store -----------------------------------------------------------------------------------------------

    def _load_surroundings(self) -> None:
        self._agents_latest.take(self._host.read(_surroundings, self._on_surroundings))

    def _on_surroundings(self, found: _Surroundings) -> None:
        known = {line.agent_id for line in found.lines}
        is_news = known != {line.agent_id for line in self.agents.lines} or found.has_shared != self._has_shared
        self.agents.set_lines(found.lines)
        self._has_shared = found.has_shared
        self._take_saved(found.saved)
        if not is_news and not isinstance(self.state, Loading):
            return  # only counts: nobody need draw the question again
        if self.question.agent_id not in known:
            fullest = max(found.lines, key=lambda line: line.live, default=None)
            agent_id = (fullest.agent_id or "") if fullest else ""
            scope: Scope = "shared" if not agent_id and found.has_shared else self.question.scope
            self.question = replace(self.question, agent_id=agent_id, scope=scope)
        self.question_changed.emit()
        if self.answer is None:
            self.ask()

    def _take_saved(self, saved: RankSetting) -> None:
        if saved != self.saved:
            self.saved = saved
            self.question = replace(self.question, trial=self.question.trial.settled(saved))
            self.question_changed.emit()
            self.saved_changed.emit()

    def _on_changed(self, changes: Changes) -> None:
        if changes.kinds & {"fact", "setting"}:
            self._load_surroundings()
            if (self.answer is not None or isinstance(self.state, Failed)) and not self._ask_soon.isActive():
                self._ask_soon.start(FOLLOW_MS)

    def _on_indexed(self) -> None:
        """More facts have a vector: an answer without some of them is asked for again."""
        if self.answer is not None and self.answer.is_partial and not self._ask_soon.isActive():
            self._ask_soon.start(FOLLOW_MS)

    def _on_closed(self) -> None:
        self._latest.cancel()
        self._agents_latest.cancel()
        self._ask_soon.stop()
        self.agents.set_lines([])
        self._has_shared = False
        self.saved = UNKNOWN
        self.question = Question(trial=Trial(top_k=self.question.top_k))
        self.question_changed.emit()
        self._show(None, Loading())


def _surroundings(memory: Memory) -> _Surroundings:
    agents = memory.agents()
    own = [each for each in agents if each.agent_id != SHARED_AGENT_ID]
    shared = any(each.agent_id == SHARED_AGENT_ID for each in agents)
    return _Surroundings(agent_lines(own, with_all=False), shared, saved_setting(memory.settings))


def _telling_question(memory: Memory) -> tuple[str, str] | None:
    """The fullest namespace, and a few words of a fact that replaced another one or was recalled most."""
    agents = [each for each in memory.agents() if each.live and each.agent_id != SHARED_AGENT_ID]
    if not agents:
        return None
    agent_id = max(agents, key=lambda each: each.live).agent_id
    facts = memory.list_facts(FactQuery(agent_id=agent_id, kind="content"), limit=64)
    if not facts:
        return None
    best = max(facts, key=lambda fact: (bool(memory.lineage(fact.id).supersedes), fact.access_count, fact.id))
    return agent_id, " ".join(best.text.split()[:6]).rstrip(".,;:")
