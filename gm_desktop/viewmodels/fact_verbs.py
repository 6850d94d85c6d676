"""What a person can do to facts, from whichever page: one write, one step to undo, one sentence about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.fact_row import agent_title
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.undo_controller import UndoController
from gm_engine.errors import GrayMatterError
from gm_engine.records import SHARED_AGENT_ID, Fact

if TYPE_CHECKING:
    from gm_engine import Memory


class Verb(Protocol):
    """One verb of the engine for facts of one agent; `group_id` joins it to an earlier entry's user action."""

    def __call__(self, memory: Memory, agent_id: str, ids: Sequence[str], *, group_id: str | None) -> tuple[Fact, ...]:
        """The facts that changed."""


@dataclass(frozen=True, slots=True)
class _Done:
    """How many facts a bulk verb changed, the first journal entry it made, and what stopped it, if anything did."""

    count: int
    seq: int | None
    failure: GrayMatterError | None


class FactVerbs(QObject):
    """The verbs. Ids may belong to several agents; facts that a verb does not apply to are left out and counted."""

    added = Signal(str)

    def __init__(self, host: EngineHost, undo: UndoController, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self._undo = undo
        self._notices = notices

    @property
    def can_write(self) -> bool:
        """Whether a store is open for writing."""
        return self._host.is_open and not self._host.read_only

    def add(self, agent_id: str, text: str, confidence: str, answer: Callable[[str], None]) -> None:
        """Remembers a new fact; `confidence` empty means no label. `added` follows with its id.

        `answer` is told what went wrong in a sentence, or "" when the fact is there: whoever asked has its text still.
        """
        label = confidence or None

        def done(fact: Fact) -> None:
            answer("")
            self._undo.did(tr("Added a fact to {agent}", agent=agent_title(agent_id)), fact.version)
            self.added.emit(fact.id)

        def job(memory: Memory) -> Fact:
            if agent_id == SHARED_AGENT_ID:
                return memory.remember_shared(text, confidence=label)
            return memory.remember(agent_id, text, confidence=label)

        self._host.write(job, done, lambda error: answer(sentence_for(error)))

    def pin(self, ids: Iterable[str]) -> None:
        """Pins live facts."""
        self._run(
            ids,
            lambda fact: not fact.is_superseded and not fact.pinned,
            lambda memory, agent_id, ids, *, group_id: memory.pin(agent_id, ids, group_id=group_id),
            lambda count: tr_count("Pinned a fact", "Pinned {count} facts", count),
        )

    def unpin(self, ids: Iterable[str]) -> None:
        """Unpins facts, retired ones too."""
        self._run(
            ids,
            lambda fact: fact.pinned,
            lambda memory, agent_id, ids, *, group_id: memory.unpin(agent_id, ids, group_id=group_id),
            lambda count: tr_count("Unpinned a fact", "Unpinned {count} facts", count),
        )

    def retire(self, ids: Iterable[str]) -> None:
        """Retires live facts: they leave recall and stay listed."""
        self._run(
            ids,
            lambda fact: not fact.is_superseded,
            lambda memory, agent_id, ids, *, group_id: memory.retire(agent_id, ids, group_id=group_id),
            lambda count: tr_count("Retired a fact", "Retired {count} facts", count),
        )

    def retire_for_ever(self, ids: Iterable[str]) -> None:
        """Retires live facts and refuses their texts from now on, whoever writes them."""
        self._run(
            ids,
            lambda fact: not fact.is_superseded,
            lambda memory, agent_id, ids, *, group_id: memory.retire(agent_id, ids, group_id=group_id, block=True),
            lambda count: tr_count(
                "Retired a fact and blocked its text",
                "Retired {count} facts and blocked their texts",
                count,
            ),
        )

    def restore(self, ids: Iterable[str]) -> None:
        """Brings retired facts back."""
        self._run(
            ids,
            lambda fact: fact.is_superseded,
            lambda memory, agent_id, ids, *, group_id: memory.restore(agent_id, ids, group_id=group_id),
            lambda count: tr_count("Restored a fact", "Restored {count} facts", count),
        )

    def label(self, ids: Iterable[str], confidence: str) -> None:
        """Declares how sure a writer is: `verified`, `inferred` or `unverified`."""
        self._run(
            ids,
            lambda fact: fact.confidence != confidence,
            lambda memory, agent_id, ids, *, group_id: memory.label(agent_id, ids, confidence, group_id=group_id),
            lambda count: tr_count(
                "Labelled a fact {label}", "Labelled {count} facts {label}", count, label=confidence
            ),
        )

    def move(self, ids: Iterable[str], to: str) -> None:
        """Moves facts to another agent."""
        self._run(
            ids,
            lambda fact: fact.agent_id != to,
            lambda memory, agent_id, ids, *, group_id: memory.move(agent_id, ids, to, group_id=group_id),
            lambda count: tr_count(
                "Moved a fact to {agent}", "Moved {count} facts to {agent}", count, agent=agent_title(to)
            ),
        )

    def copy(self, ids: Iterable[str], to: str) -> None:
        """Copies live facts to another agent."""
        self._run(
            ids,
            lambda fact: fact.agent_id != to and not fact.is_superseded,
            lambda memory, agent_id, ids, *, group_id: memory.copy(agent_id, ids, to, group_id=group_id),
            lambda count: tr_count(
                "Copied a fact to {agent}", "Copied {count} facts to {agent}", count, agent=agent_title(to)
            ),
        )

    def _run(
        self, ids: Iterable[str], applies: Callable[[Fact], bool], verb: Verb, sentence: Callable[[int], str]
    ) -> None:
        wanted = list(ids)
        if not wanted:
            return

        def done(result: _Done) -> None:
            if result.seq is not None:
                self._undo.did(sentence(result.count), result.seq)
            elif result.failure is None:
                self._notices.show(tr("Nothing to change: the selection already is that way."))
            if result.failure is not None:
                self._notices.show_failure(result.failure)

        self._host.write(lambda memory: _apply(memory, wanted, applies, verb), done)


def _apply(memory: Memory, ids: Sequence[str], applies: Callable[[Fact], bool], verb: Verb) -> _Done:
    """One transaction per agent, all of them one user action. Write lane."""
    by_agent: dict[str, list[str]] = {}
    for fact in memory.facts(ids):
        if applies(fact):
            by_agent.setdefault(fact.agent_id, []).append(fact.id)
    count, seq, group_id = 0, None, None
    for agent_id, each in by_agent.items():
        try:
            changed = verb(memory, agent_id, each, group_id=group_id)
        except GrayMatterError as error:
            return _Done(count, seq, error)
        count += len(changed)
        if changed and seq is None:
            seq = max(fact.version for fact in changed)
            group_id = memory.entry(seq).group_id if len(by_agent) > 1 else None
    return _Done(count, seq, None)
