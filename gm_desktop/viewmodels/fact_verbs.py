"""What a person can do to facts, from whichever page: one write, one step to undo, one sentence about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.fact_row import agent_title
from gm_desktop.notices import Notices
from gm_desktop.undo_controller import UndoController
from gm_engine.records import SHARED_AGENT_ID, Fact

if TYPE_CHECKING:
    from gm_engine import Memory

Verb = Callable[["Memory", str, Sequence[str]], tuple[Fact, ...]]


@dataclass(frozen=True, slots=True)
class _Done:
    """How many facts a bulk verb changed, and the journal entries it made, oldest first."""

    count: int
    seqs: tuple[int, ...]


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

    def add(self, agent_id: str, text: str, confidence: str) -> None:
        """Remembers a new fact; `confidence` empty means no label. `added` follows with its id."""
        label = confidence or None

        def done(fact: Fact) -> None:
            self._undo.did(tr("Added a fact to {agent}", agent=agent_title(agent_id)), fact.version)
            self.added.emit(fact.id)

        def job(memory: Memory) -> Fact:
            if agent_id == SHARED_AGENT_ID:
                return memory.remember_shared(text, confidence=label)
            return memory.remember(agent_id, text, confidence=label)

        self._host.write(job, done)

    def pin(self, ids: Iterable[str]) -> None:
        """Pins live facts."""
        self._run(
            ids,
            lambda fact: not fact.is_superseded and not fact.pinned,
            lambda memory, agent_id, each: memory.pin(agent_id, each),
            lambda count: tr_count("Pinned a fact", "Pinned {count} facts", count),
        )

    def unpin(self, ids: Iterable[str]) -> None:
        """Unpins facts, retired ones too."""
        self._run(
            ids,
            lambda fact: fact.pinned,
            lambda memory, agent_id, each: memory.unpin(agent_id, each),
            lambda count: tr_count("Unpinned a fact", "Unpinned {count} facts", count),
        )

    def retire(self, ids: Iterable[str]) -> None:
        """Retires live facts: they leave recall and stay listed."""
        self._run(
            ids,
            lambda fact: not fact.is_superseded,
            lambda memory, agent_id, each: memory.retire(agent_id, each),
            lambda count: tr_count("Retired a fact", "Retired {count} facts", count),
        )

    def restore(self, ids: Iterable[str]) -> None:
        """Brings retired facts back."""
        self._run(
            ids,
            lambda fact: fact.is_superseded,
            lambda memory, agent_id, each: memory.restore(agent_id, each),
            lambda count: tr_count("Restored a fact", "Restored {count} facts", count),
        )

    def label(self, ids: Iterable[str], confidence: str) -> None:
        """Declares how sure a writer is: `verified`, `inferred` or `unverified`."""
        self._run(
            ids,
            lambda fact: fact.confidence != confidence,
            lambda memory, agent_id, each: memory.label(agent_id, each, confidence),
            lambda count: tr_count(
                "Labelled a fact {label}", "Labelled {count} facts {label}", count, label=confidence
            ),
        )

    def move(self, ids: Iterable[str], to: str) -> None:
        """Moves facts to another agent."""
        self._run(
            ids,
            lambda fact: fact.agent_id != to,
            lambda memory, agent_id, each: memory.move(agent_id, each, to),
            lambda count: tr_count(
                "Moved a fact to {agent}", "Moved {count} facts to {agent}", count, agent=agent_title(to)
            ),
        )

    def copy(self, ids: Iterable[str], to: str) -> None:
        """Copies live facts to another agent."""
        self._run(
            ids,
            lambda fact: fact.agent_id != to and not fact.is_superseded,
            lambda memory, agent_id, each: memory.copy(agent_id, each, to),
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

        def job(memory: Memory) -> _Done:
            by_agent: dict[str, list[str]] = {}
            for fact in memory.facts(wanted):
                if applies(fact):
                    by_agent.setdefault(fact.agent_id, []).append(fact.id)
            made = [verb(memory, agent_id, each) for agent_id, each in by_agent.items()]
            return _Done(
                sum(len(each) for each in by_agent.values()),
                tuple(max(fact.version for fact in facts) for facts in made if facts),
            )

        def done(result: _Done) -> None:
            if not result.count:
                self._notices.show(tr("Nothing to change: the selection already is that way."))
            for seq in result.seqs:
                self._undo.did(sentence(result.count), seq)

        self._host.write(job, done)
