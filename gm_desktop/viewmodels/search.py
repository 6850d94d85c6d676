"""The Search page without widgets: the question, the ranked answer, why each hit came back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import age, number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.agent_list import AgentLine, AgentList, agent_lines
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.hit_list import Hit, HitList
from gm_desktop.notices import sentence_for
from gm_desktop.plain_text import ROW_CHARS, excerpt
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.arithmetic import arithmetic
from gm_desktop.viewmodels.fact_verbs import FactVerbs
from gm_desktop.viewmodels.fact_words import confidence_title
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_desktop.viewmodels.why import WhyDetails, signal_title, why_details
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError
from gm_engine.records import Changes, Coverage, Fact, FactQuery, Receipt
from gm_engine.terms import match_spans, text_terms

if TYPE_CHECKING:
    from gm_engine import Memory

TYPING_PAUSE_MS = 160
FOLLOW_MS = 250
TOP_K = 8
TOP_CHOICES = (3, 5, 8, 16, 32, 64)
MOST_HITS = 100


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: of which namespace, in which words, for how many hits."""

    agent_id: str
    query: str
    top_k: int


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, ready to be drawn: hits, why each of them, what could not be looked at, a weak-match notice."""

    question: Question
    hits: tuple[Hit, ...]
    why: tuple[WhyDetails, ...]
    coverage: str
    is_partial: bool
    feedback: str
    eligible: int


class SearchViewModel(QObject):
    """Asks as one types and always previews: looking at memory never counts as using it."""

    state_changed = Signal()
    question_changed = Signal()
    selection_changed = Signal()

    def __init__(self, host: EngineHost, verbs: FactVerbs, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self.verbs = verbs
        self._clock = clock
        self.agents = AgentList(self)
        self.hits = HitList(self)
        self.question = Question("", "", TOP_K)
        self.answer: Answer | None = None
        self.state: PageState = Loading()
        self.selected_id: str | None = None
        self._wanted_id: str | None = None
        self.is_waiting = False
        self._latest = Latest()
        self._agents_latest = Latest()
        self._ask_soon = QTimer(self, singleShot=True)
        self._ask_soon.timeout.connect(self.ask)
        host.changed.connect(self._on_changed)
        host.store_opened.connect(self._load_agents)
        host.store_closed.connect(self._on_closed)

    @property
    def why(self) -> WhyDetails | None:
        """Why the selected hit came back."""
        if self.answer is None or self.selected_id is None:
            return None
        return next((each for each in self.answer.why if each.id == self.selected_id), None)

    def set_query(self, query: str) -> None:
        """The person typed; the question is asked a moment later."""
        self._set(Question(self.question.agent_id, query, self.question.top_k), TYPING_PAUSE_MS)

    def set_agent(self, agent_id: str) -> None:
        """Asks another namespace."""
        self._set(Question(agent_id, self.question.query, self.question.top_k), 0)

    def set_top_k(self, top_k: int) -> None:
        """Asks for more or fewer hits."""
        self._set(Question(self.question.agent_id, self.question.query, max(1, min(top_k, MOST_HITS))), 0)

    def _set(self, question: Question, pause_ms: int) -> None:
        if question != self.question:
            self.question = question
            self.question_changed.emit()
            self._latest.cancel()
            self.is_waiting = True
            self._ask_soon.start(pause_ms)

    def select(self, fact_id: str | None) -> None:
        """The person chose a hit."""
        if fact_id != self.selected_id:
            self.selected_id = fact_id
            self.selection_changed.emit()

    def prefer(self, fact_id: str) -> None:
        """Selects this fact as soon as it is among the hits (the replacement of a revised one)."""
        self._wanted_id = fact_id

    def toggle_pin(self) -> None:
        """Pins or unpins the selected hit."""
        hit = next((each for each in self.hits.hits if each.id == self.selected_id), None)
        if hit is not None:
            (self.verbs.unpin if hit.is_pinned else self.verbs.pin)((hit.id,))

    def retire(self) -> None:
        """Retires the selected hit."""
        if self.selected_id is not None:
            self.verbs.retire((self.selected_id,))

    def ask(self) -> None:
        """Asks now; an older answer that is still under way is dropped."""
        self._ask_soon.stop()
        if not self._host.is_open:
            return  # asked again once the namespaces of a store are known
        question = self.question
        if not question.query.strip() or not question.agent_id:
            self._latest.cancel()
            self._show(None, self._idle())
            return
        self.is_waiting = True
        now_ns = self._clock.now_ns()
        self._latest.take(self._host.read(partial(answer_question, question, now_ns), self._on_answer, self._on_failed))

    def ask_something_telling(self) -> None:
        """Asks a question that the store can answer well."""
        self.is_waiting = True

        def done(found: tuple[str, str] | None) -> None:
            self.is_waiting = False
            if found is not None:
                self.question = Question(found[0], found[1], self.question.top_k)
                self.question_changed.emit()
                self.ask()

        self._latest.take(self._host.read(_telling_question, done))

    def _on_answer(self, answer: Answer) -> None:
        nothing = Empty(
            "nothing",
            tr("Nothing comes back"),
            tr("{agent} has no live facts to search.", agent=agent_title(answer.question.agent_id)),
        )
        self._show(answer, Full(len(answer.hits)) if answer.hits else nothing)

    def _on_failed(self, error: GrayMatterError) -> None:
        self._show(None, Failed(sentence_for(error)))

    def _show(self, answer: Answer | None, state: PageState) -> None:
        self.is_waiting = False
        self.answer, self.state = answer, state
        hits = answer.hits if answer else ()
        self.hits.set_hits(hits)
        known = {hit.id for hit in hits}
        if self._wanted_id in known:
            self.selected_id, self._wanted_id = self._wanted_id, None
        elif self.selected_id not in known:
            self.selected_id = hits[0].id if hits else None
        self.state_changed.emit()
        self.selection_changed.emit()

    def _idle(self) -> PageState:
        if not self.question.agent_id:
            return Empty("store", tr("No memories yet"), tr("There is nothing to search until an agent writes a fact."))
        return Empty(
            "ask",
            tr("Ask what an agent would remember"),
            tr("Type a question. The hits are exactly what the agent is given, with the reasons for each."),
        )

    def _load_agents(self) -> None:
        self._agents_latest.take(
            self._host.read(lambda memory: agent_lines(memory.agents(), with_all=False), self._on_agents)
        )

    def _on_agents(self, lines: list[AgentLine]) -> None:
        self.agents.set_lines(lines)
        known = {line.agent_id for line in lines}
        if self.question.agent_id not in known:
            fullest = max(lines, key=lambda line: line.live, default=None)
            self.question = Question(
                (fullest.agent_id or "") if fullest else "", self.question.query, self.question.top_k
            )
        self.question_changed.emit()
        if self.answer is None:
            self.ask()

    def _on_changed(self, changes: Changes) -> None:
        if "fact" in changes.kinds:
            self._load_agents()
        if changes.kinds & {"fact", "setting"} and self.answer is not None and not self._ask_soon.isActive():
            self._ask_soon.start(FOLLOW_MS)

    def _on_closed(self) -> None:
        self._latest.cancel()
        self._agents_latest.cancel()
        self._ask_soon.stop()
        self.agents.set_lines([])
        self.question = Question("", "", self.question.top_k)
        self.question_changed.emit()
        self._show(None, Loading())


def answer_question(question: Question, now_ns: int, memory: Memory) -> Answer:
    """Recalls, previewing, and puts the receipts into words. Runs in the read lane."""
    result = memory.recall_explain(question.agent_id, question.query, top_k=question.top_k, preview=True)
    language = memory.settings.language
    older_ids = list(dict.fromkeys(each for receipt in result.receipts for each in receipt.supersedes))
    older = {fact.id: fact for fact in memory.facts(older_ids)}
    best = max((receipt.final_score for receipt in result.receipts), default=0.0)
    hits, why = [], []
    for position, receipt in enumerate(result.receipts, 1):
        hits.append(_hit(receipt, position=position, best=best, now_ns=now_ns, language=language))
        why.append(_why(receipt, position, older, language))
    return Answer(
        question=question,
        hits=tuple(hits),
        why=tuple(why),
        coverage=coverage_sentence(result.coverage),
        is_partial=result.coverage.with_vector < result.coverage.eligible or result.coverage.vector_path == "none",
        feedback=result.feedback,
        eligible=result.coverage.eligible,
    )


def _why(receipt: Receipt, position: int, older: Mapping[str, Fact], language: str) -> WhyDetails:
    part = excerpt(receipt.fact.text)
    replaced = [older[each] for each in receipt.supersedes if each in older]
    return why_details(
        receipt,
        position=position,
        part=part,
        spans=matched_spans(part.text, receipt.matched_terms, language),
        replaced=replaced,
    )


def _hit(receipt: Receipt, *, position: int, best: float, now_ns: int, language: str) -> Hit:
    fact = receipt.fact
    text = excerpt(" ".join(fact.text[: ROW_CHARS * 4].split()), ROW_CHARS).text
    summed = arithmetic(receipt)
    scale = receipt.final_score / best if best else 0.0
    named = [
        tr("{signal} rank {rank}", signal=signal_title(line.signal), rank=line.rank)
        for line in summed.lines
        if line.rank
    ]
    return Hit(
        id=fact.id,
        position=position,
        text=text,
        spans=matched_spans(text, receipt.matched_terms, language),
        agent=agent_title(fact.agent_id),
        confidence=fact.effective_confidence.value,
        confidence_title=confidence_title(fact.effective_confidence.value),
        is_pinned=fact.pinned,
        age=age(fact.created_ns, now_ns),
        shares=tuple(line.share * scale for line in summed.lines),
        score=f"{receipt.final_score:.5f}",
        spoken=tr("Hit {position}: {fact}. {reasons}", position=position, fact=text, reasons=", ".join(named)),
    )


def matched_spans(text: str, matched: tuple[str, ...], language: str) -> tuple[tuple[int, int], ...]:
    """Where the matched words, in any of their forms, stand in the text."""
    keys = frozenset(term.term for word in matched for term in text_terms(word, language))
    return match_spans(text, keys, language) if keys else ()


def coverage_sentence(coverage: Coverage) -> str:
    """What the answer could look at, in words."""
    facts = tr_count("{count} fact", "{count} facts", coverage.eligible)
    if coverage.eligible == 0:
        return tr("There was nothing to search.")
    if coverage.vector_path == "none":
        return tr("{facts} searched by words and date only. {reason}", facts=facts, reason=coverage.reason).strip()
    path = _PATHS[coverage.vector_path]
    missing = coverage.eligible - coverage.with_vector
    if missing <= 0:
        return tr("{facts} searched; meaning compared by {path}.", facts=facts, path=tr(path))
    percent = min(99, max(1, round(100 * missing / coverage.eligible)))
    return tr(
        "{facts} searched; {percent} % of facts have no vector yet. Meaning compared by {path}.",
        facts=facts,
        percent=number(percent),
        path=tr(path),
    )


_PATHS = {"exact": "an exact scan", "chroma": "the vector index"}


def _telling_question(memory: Memory) -> tuple[str, str] | None:
    """The fullest namespace, and a few words of a fact that replaced another one or was recalled most."""
    agents = [each for each in memory.agents() if each.live]
    if not agents:
        return None
    agent_id = max(agents, key=lambda each: each.live).agent_id
    facts = memory.list_facts(FactQuery(agent_id=agent_id, kind="content"), limit=64)
    if not facts:
        return None
    best = max(facts, key=lambda fact: (bool(memory.lineage(fact.id).supersedes), fact.access_count, fact.id))
    return agent_id, " ".join(best.text.split()[:6]).rstrip(".,;:")
