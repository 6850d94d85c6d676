"""Several questions at once, without widgets: each answered as if alone, and everything they found together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.hit_list import Hit, HitList
from gm_desktop.models.line_list import Line, LineList
from gm_desktop.notices import sentence_for
from gm_desktop.plain_text import row_text
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.answers import Answer, answer_question, coverage_sentence
from gm_desktop.viewmodels.hits import plain_hit
from gm_desktop.viewmodels.question import Question, saved_setting
from gm_desktop.viewmodels.search import FOLLOW_MS, SearchViewModel
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_desktop.viewmodels.why import WhyDetails
from gm_engine.clock import Clock
from gm_engine.errors import AsOfUnsupported, GrayMatterError
from gm_engine.records import Changes, FactQuery

if TYPE_CHECKING:
    from gm_engine import BatchResult, Memory

MOST_QUERIES = 200
MOST_CHARS = 8_000  # of one question: longer lines take the editor seconds to lay out
PAUSE_MS = 350
MERGED = "merged"


@dataclass(frozen=True, slots=True)
class Finding:
    """A question that found a fact, and the fact's place in its answer. `key` is that of its line."""

    key: str
    query: str
    place: int


@dataclass(frozen=True, slots=True)
class MergedHit:
    """One fact of the merged view: its whole text and who found it."""

    id: str
    position: int
    text: str
    found: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The lines of the questions (the merged view first), and the merged hits."""

    queries: tuple[str, ...]
    lines: tuple[Line, ...]
    hits: tuple[Hit, ...]
    merged: Mapping[str, MergedHit]
    coverage: str


class BatchViewModel(QObject):
    """Takes agent, scope, moment and ranking from the Search page; the questions are its own."""

    state_changed = Signal()
    queries_changed = Signal()
    line_changed = Signal()
    selection_changed = Signal()
    answered = Signal()
    open_changed = Signal()

    def __init__(self, host: EngineHost, search: SearchViewModel, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._search, self._clock = host, search, clock
        self.lines = LineList(self)
        self.hits = HitList(self)
        self.text = ""
        self.state: PageState = Loading()
        self.batch: BatchAnswer | None = None
        self.answer: Answer | None = None  # that of the chosen question; None in the merged view
        self.line_key = MERGED
        self.selected_id: str | None = None
        self.is_open = False
        self._was_cut = False
        self._batching = Latest()
        self._telling = Latest()
        self._answering = Latest()
        self._asked: tuple[Question, tuple[str, ...]] | None = None
        self._ask_soon = QTimer(self, singleShot=True)
        self._ask_soon.timeout.connect(self.ask)
        search.question_changed.connect(self._on_question)
        host.changed.connect(self._on_changed)
        host.store_closed.connect(self._on_closed)

    @property
    def queries(self) -> tuple[str, ...]:
        """The questions, one per line that is not blank; as many as a batch takes."""
        return self._lines()[:MOST_QUERIES]

    def _lines(self) -> tuple[str, ...]:
        return tuple(line for line in self.text.split("\n") if line.strip())

    @property
    def left_out(self) -> str:
        """What of the text is not asked, in words; empty when all of it is."""
        more = len(self._lines()) - MOST_QUERIES
        if more > 0:
            return tr_count(
                "{count} question more than a batch takes is left out.",
                "{count} questions more than a batch takes are left out.",
                more,
            )
        return tr("Very long questions were cut.") if self._was_cut else ""

    def fitting(self, text: str) -> str:
        """A text that comes in by pasting or dropping, with lines cut to what the editor can lay out at once."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        cut = "\n".join(line[:MOST_CHARS] for line in lines[: 2 * MOST_QUERIES])
        self._was_cut = self._was_cut or any(len(line) > MOST_CHARS for line in lines)
        return cut

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        awaited = (self._batching, self._answering, self._telling)
        return any(each.is_awaited for each in awaited) or self._ask_soon.isActive()

    @property
    def question(self) -> Question | None:
        """The chosen one of the questions; None in the merged view."""
        if self._asked is None or self.line_key == MERGED:
            return None
        return replace(self._asked[0], query=self._asked[1][int(self.line_key)])

    @property
    def why(self) -> WhyDetails | None:
        """Why the selected hit came back for the chosen question."""
        if self.answer is None:
            return None
        return next((each for each in self.answer.why if each.id == self.selected_id), None)

    @property
    def merged_hit(self) -> MergedHit | None:
        """The selected fact of the merged view."""
        if self.batch is None or self.line_key != MERGED or self.selected_id is None:
            return None
        return self.batch.merged.get(self.selected_id)

    def set_open(self, is_open: bool) -> None:
        """Whether the batch is being looked at; only then it is asked."""
        if is_open != self.is_open:
            self.is_open = is_open
            if is_open:
                self._ask_soon.start(0)
            self.open_changed.emit()

    def set_text(self, text: str) -> None:
        """The person typed questions."""
        if text != self.text:
            self.text = text
            self._was_cut = self._was_cut and bool(text)
            self.queries_changed.emit()
            self._ask_soon.start(PAUSE_MS)

    def choose(self, key: str) -> None:
        """Shows the answer of one question, or the merged view."""
        if key == self.line_key:
            return
        self.line_key = key
        self.line_changed.emit()
        self._show_line()

    def select(self, fact_id: str | None) -> None:
        """The person chose a hit."""
        if fact_id != self.selected_id:
            self.selected_id = fact_id
            self.selection_changed.emit()

    def show_finding(self, finding: Finding) -> None:
        """Shows the answer of the question that found the selected fact."""
        self.choose(finding.key)

    def ask_something_telling(self) -> None:
        """Asks a few questions that the store can answer well, and one that it can't."""
        query = FactQuery(agent_id=self._search.question.namespace, kind="content")

        def job(memory: Memory) -> list[str]:
            texts = [fact.text.split() for fact in memory.list_facts(query, limit=48)]
            return [" ".join(words[:5]).rstrip(".,;:") for words in texts[::12] if words]

        def done(queries: list[str]) -> None:
            self.set_text("\n".join([*(query[:80] for query in queries), tr("Which planet has the most moons?")]))

        self._telling.take(self._host.read(job, done))

    def ask(self) -> None:
        """Asks all questions now."""
        self._ask_soon.stop()
        if not self._host.is_open or not self.is_open:
            return
        question, queries = self._search.question, self.queries
        self._answering.cancel()
        if not queries or question.scope == "all" or not question.namespace:
            self._batching.cancel()
            self._show(None, self._idle())
            return
        self._asked = (question, queries)
        job = partial(_ask_all, question, queries, self._clock.now_ns())
        self._batching.take(self._host.read(job, self._on_batch, self._on_failed))

    def _on_batch(self, batch: BatchAnswer) -> None:
        if not batch.hits and not any(line.tone == "danger" for line in batch.lines):
            whom = self._search.question.whom
            state: PageState = Empty(
                "nothing", tr("Nothing comes back"), tr("{agent} has no live facts to search.", agent=whom)
            )
        else:
            state = Full(len(batch.hits))
        self._show(batch, state)

    def _on_failed(self, error: GrayMatterError) -> None:
        if isinstance(error, AsOfUnsupported):
            hint = tr("Choose a later moment, or now.")
            self._show(None, Empty("as_of", tr("The journal does not reach back that far"), hint))
        else:
            self._show(None, Failed(sentence_for(error)))

    def _show(self, batch: BatchAnswer | None, state: PageState) -> None:
        self.batch, self.state = batch, state
        self.lines.set_lines(batch.lines if batch else ())
        if self.lines.row_of(self.line_key) is None:
            self.line_key = MERGED
        self.state_changed.emit()
        self.line_changed.emit()
        self._show_line()
        self.answered.emit()

    def _show_line(self) -> None:
        self._answering.cancel()
        one = self.question
        if self.batch is None or one is None:
            self._take_hits(None, self.batch.hits if self.batch else ())
            return
        job = partial(answer_question, one, self._clock.now_ns())
        self._answering.take(self._host.read(job, self._on_answer, self._on_line_failed))

    def _on_answer(self, answer: Answer) -> None:
        self._take_hits(answer, answer.hits)

    def _on_line_failed(self, _error: GrayMatterError) -> None:
        self._take_hits(None, ())  # its line says what went wrong

    def _take_hits(self, answer: Answer | None, hits: Sequence[Hit]) -> None:
        self.answer = answer
        self.hits.set_hits(hits)
        if self.selected_id not in {hit.id for hit in hits}:
            self.selected_id = hits[0].id if hits else None
        self.selection_changed.emit()

    def _idle(self) -> Empty:
        if self._search.question.scope == "all":
            return Empty(
                "scope",
                tr("A batch asks one namespace"),
                tr("Choose the agent's own facts or the shared ones above."),
            )
        if not self._search.question.namespace:
            return Empty("store", tr("No memories yet"), tr("There is nothing to search until an agent writes a fact."))
        return Empty(
            "ask",
            tr("Ask several questions at once"),
            tr("Write one per line. Each is answered as if it stood alone; the merged view shows every fact once."),
        )

    def _on_question(self) -> None:
        if self.is_open and not self._ask_soon.isActive():
            self._ask_soon.start(FOLLOW_MS)

    def _on_changed(self, changes: Changes) -> None:
        if self.is_open and changes.kinds & {"fact", "setting"} and not self._ask_soon.isActive():
            self._ask_soon.start(FOLLOW_MS)

    def _on_closed(self) -> None:
        self._telling.cancel()
        self._batching.cancel()
        self._answering.cancel()
        self._ask_soon.stop()
        self._asked = None
        self._show(None, Loading())


def _ask_all(question: Question, queries: Sequence[str], now_ns: int, memory: Memory) -> BatchAnswer:
    """Asks all questions over one state of the store. Runs in the read lane."""
    from gm_engine import merged_facts

    saved = saved_setting(memory.settings)
    question = replace(question, trial=question.trial.settled(saved))
    results = memory.batch_recall(question.namespace, queries, **question.options(saved))
    failures = [result.error for result in results if result.error is not None]
    if len(failures) == len(results) and isinstance(failures[0], AsOfUnsupported):
        raise failures[0]
    now_ns = now_ns if question.as_of_ns is None else question.as_of_ns
    found = _findings(results)
    facts = merged_facts(results)
    hits, merged = [], {}
    for position, fact in enumerate(facts, 1):
        mine = found.get(fact.id, ())
        hit = plain_hit(fact, position=position, now_ns=now_ns)
        count = tr("{found} of {count}", found=len(mine), count=number(len(results)))
        hits.append(replace(hit, score=count, spoken=tr("{hit}. Found by {count}", hit=hit.spoken, count=count)))
        merged[fact.id] = MergedHit(fact.id, position, row_text(fact.text, 2000), mine)
    lines = [
        Line(
            MERGED,
            tr("All together"),
            tr_count("{count} fact, each once", "{count} facts, each once", len(facts)),
            number(len(facts)),
        )
    ]
    lines += [_line(at, result) for at, result in enumerate(results)]
    coverage = next((result.coverage for result in results if result.coverage is not None), None)
    said = coverage_sentence(coverage) if coverage is not None else ""
    return BatchAnswer(tuple(queries), tuple(lines), tuple(hits), merged, said)


def _findings(results: Sequence[BatchResult]) -> dict[str, tuple[Finding, ...]]:
    found: dict[str, list[Finding]] = {}
    for at, result in enumerate(results):
        for place, fact in enumerate(result.facts, 1):
            found.setdefault(fact.id, []).append(Finding(str(at), row_text(result.query, 200), place))
    return {fact_id: tuple(each) for fact_id, each in found.items()}


def _line(at: int, result: BatchResult) -> Line:
    query = row_text(result.query, 200)
    if result.error is not None:
        return Line(str(at), query, sentence_for(result.error), "!", "danger")
    if result.feedback:
        return Line(str(at), query, tr("Weak match"), number(len(result.facts)), "warning")
    return Line(str(at), query, "", number(len(result.facts)))
