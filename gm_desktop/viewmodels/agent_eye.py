"""*Agent's eye* without widgets: the exact text and payload that an MCP client gets for what is asked here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import number, size
from gm_desktop.i18n import tr, tr_count
from gm_desktop.notices import sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.batch import BatchViewModel
from gm_desktop.viewmodels.question import Question, saved_setting
from gm_desktop.viewmodels.search import SearchViewModel
from gm_desktop.viewmodels.states import Failed, Loading
from gm_engine.errors import GrayMatterError

if TYPE_CHECKING:
    from gm_engine import AgentAnswer, Memory


@dataclass(frozen=True, slots=True)
class EyeText:
    """What the client receives: the text, the structured payload as it would be printed, and both sizes in words."""

    text: str
    payload: str
    text_size: str
    payload_size: str
    tool: str


EyeState = Loading | Failed | EyeText


class AgentEyeViewModel(QObject):
    """Shows the question of the Search page, or its batch, as an agent receives it. Asks only while it is looked at."""

    changed = Signal()

    def __init__(
        self, host: EngineHost, search: SearchViewModel, batch: BatchViewModel, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._host, self._search, self._batch = host, search, batch
        self.is_open = False
        self.with_receipts = False
        self.is_structured = False
        self.state: EyeState = Loading()
        self._latest = Latest()
        search.answered.connect(self._on_search)
        batch.answered.connect(self._on_batch)
        batch.open_changed.connect(self.refresh)
        host.store_closed.connect(self._on_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether the text is still to come."""
        return self._latest.is_awaited

    @property
    def can_explain(self) -> bool:
        """Whether a client could ask for receipts: not with a merged scope, not in a batch."""
        return not self._batch.is_open and self._search.question.scope != "all"

    @property
    def shown(self) -> str:
        """The text or the payload, whichever is looked at; empty while there is none."""
        if not isinstance(self.state, EyeText):
            return ""
        return self.state.payload if self.is_structured else self.state.text

    def set_open(self, is_open: bool) -> None:
        """Whether it is looked at."""
        if is_open != self.is_open:
            self.is_open = is_open
            self.changed.emit()
            self.refresh()

    def set_with_receipts(self, with_receipts: bool) -> None:
        """Shows the answer of an explained search."""
        if with_receipts != self.with_receipts:
            self.with_receipts = with_receipts
            self.refresh()

    def set_structured(self, is_structured: bool) -> None:
        """Shows the structured payload instead of the text."""
        if is_structured != self.is_structured:
            self.is_structured = is_structured
            self.changed.emit()

    def refresh(self) -> None:
        """Asks again."""
        if not self.is_open or not self._host.is_open:
            return
        question = self._search.question
        if self._batch.is_open:
            if not self._batch.queries or question.scope == "all" or not question.namespace:
                self._latest.cancel()
                return
            job = partial(_batch_text, question, self._batch.queries)
        elif question.is_askable:
            job = partial(_search_text, question, with_receipts=self.with_receipts and self.can_explain)
        else:
            self._latest.cancel()
            return
        self._latest.take(self._host.read(job, self._set, self._on_failed))

    def _on_search(self) -> None:
        if not self._batch.is_open:
            self.refresh()

    def _on_batch(self) -> None:
        if self._batch.is_open:
            self.refresh()

    def _on_failed(self, error: GrayMatterError) -> None:
        self._set(Failed(sentence_for(error)))

    def _set(self, state: EyeState) -> None:
        self.state = state
        self.changed.emit()

    def _on_closed(self) -> None:
        self._latest.cancel()
        self._set(Loading())


def _search_text(question: Question, memory: Memory, *, with_receipts: bool) -> EyeState:
    from gm_engine import explain_answer, search_answer

    saved = saved_setting(memory.settings)
    question = replace(question, trial=question.trial.settled(saved))
    options = question.options(saved)
    if question.scope == "all":
        both = memory.recall_all(question.agent_id, question.query, **options)
        return _eye(search_answer(question.agent_id, question.query, both), tr("Recall, own and shared"))
    if with_receipts:
        explained = memory.recall_explain(question.namespace, question.query, **options)
        return _eye(explain_answer(question.namespace, question.query, explained), tr("Recall with receipts"))
    found = memory.recall(question.namespace, question.query, **options)
    return _eye(search_answer(question.namespace, question.query, found), tr("Recall"))


def _batch_text(question: Question, queries: Sequence[str], memory: Memory) -> EyeState:
    from gm_engine import batch_answer

    saved = saved_setting(memory.settings)
    question = replace(question, trial=question.trial.settled(saved))
    results = memory.batch_recall(question.namespace, queries, **question.options(saved))
    said = tr_count("Batch of {count} question", "Batch of {count} questions", len(results))
    return _eye(batch_answer(question.namespace, results), said)


def _eye(answer: AgentAnswer, tool: str) -> EyeText:
    return EyeText(
        text=answer.text,
        payload=json.dumps(answer.payload, ensure_ascii=False, indent=2),
        text_size=_size(answer.text_bytes),
        payload_size=_size(answer.payload_bytes),
        tool=tool,
    )


def _size(count: int) -> str:
    """`812 bytes`, `3.4 kB (3,412 bytes)`."""
    if count < 1000:
        return tr("{count} bytes", count=number(count))
    return tr("{size} ({count} bytes)", size=size(count), count=number(count))
