"""A past moment as the read lane reads it: which one, its facts, its checkpoints, and what became different since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gm_desktop.models.agent_list import AgentLine, agent_lines
from gm_desktop.models.fact_row import FactRow, fact_row
from gm_engine.records import (
    SHARED_AGENT_ID,
    CheckpointSummary,
    Counts,
    DifferenceKind,
    Fact,
    FactQuery,
    RecallExplainResult,
    SortColumn,
)

if TYPE_CHECKING:
    from gm_engine import Memory, MemoryView

SHOWN_CHECKPOINTS = 300
TOP_K = 8
_END_OF_TIME = (1 << 63) - 1
Shown = Literal["then", "then_retired"] | DifferenceKind


@dataclass(frozen=True, slots=True)
class AtTime:
    """The store as it was at a time."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class BeforeEntry:
    """The store as it was before an entry of the journal."""

    seq: int


@dataclass(frozen=True, slots=True)
class BeforeLast:
    """The store as it was before its last so many actions; all of them where there are fewer."""

    actions: int


PastMoment = AtTime | BeforeEntry | BeforeLast


@dataclass(frozen=True, slots=True)
class PastFilter:
    """Which facts are listed: those that were live or retired then, or those that something happened to since."""

    agent_id: str | None = None
    text: str = ""
    shown: Shown = "then"


@dataclass(frozen=True, slots=True)
class PastListing:
    """One answer: the moment, what was in the store, and the ids that pass the filter, in order."""

    at_ns: int
    reconstructed: bool
    can_recall: bool
    horizon_ns: int | None
    counts: Counts
    lines: list[AgentLine]
    checkpoints: tuple[CheckpointSummary, ...]
    ids: list[str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What happened to each fact that differs now, and how often each thing did."""

    kinds: Mapping[str, tuple[DifferenceKind, ...]]
    counts: Mapping[Shown, int]


class PastReader:
    """The open moment. Everything about it happens in the read lane, opening and closing too."""

    def __init__(self) -> None:
        self._moment: PastMoment | None = None
        self._view: MemoryView | None = None
        self._since: Mapping[str, tuple[DifferenceKind, ...]] = {}
        self._compared_seq: int | None = None

    def close(self) -> None:
        """Lets go of the moment. Safe to call twice."""
        view, self._view, self._moment = self._view, None, None
        self._since, self._compared_seq = {}, None
        if view is not None:
            view.close()

    def view(self, memory: Memory, moment: PastMoment) -> MemoryView:
        """The view of a moment; it is opened once, so that a count of actions means those before that."""
        if self._view is None or self._moment != moment:
            self.close()
            self._view, self._moment = _opened(memory, moment), moment
        return self._view

    def compare(self, moment: PastMoment, memory: Memory) -> Comparison:
        """What became different until now."""
        since = self._differences(memory, moment)
        counts: dict[Shown, int] = {}
        for kinds in since.values():
            for kind in kinds:
                counts[kind] = counts.get(kind, 0) + 1
        return Comparison(since, counts)

    def _differences(self, memory: Memory, moment: PastMoment) -> Mapping[str, tuple[DifferenceKind, ...]]:
        """Worked out again only when something was written."""
        view, seq = self.view(memory, moment), memory.last_seq()
        if self._compared_seq != seq:
            with memory.at(_END_OF_TIME) as now:
                self._since = {each.fact_id: each.kinds for each in view.diff(now)}
            self._compared_seq = seq
        return self._since

    def read(
        self, moment: PastMoment, wanted: PastFilter, sort: tuple[SortColumn, bool], memory: Memory
    ) -> PastListing:
        """The moment, and the ids that pass a filter."""
        view = self.view(memory, moment)
        return PastListing(
            at_ns=view.at_ns,
            reconstructed=view.reconstructed,
            can_recall=view.can_recall,
            horizon_ns=view.horizon_ns,
            counts=view.counts(),
            lines=agent_lines(view.agents(), with_all=True),
            checkpoints=view.checkpoints.list(wanted.agent_id)[:SHOWN_CHECKPOINTS],
            ids=self._ids(memory, moment, wanted, sort),
        )

    def _ids(self, memory: Memory, moment: PastMoment, wanted: PastFilter, sort: tuple[SortColumn, bool]) -> list[str]:
        view = self.view(memory, moment)
        if wanted.shown == "then":
            return view.fact_ids(_query(wanted, sort, status="live"))
        if wanted.shown == "then_retired":
            return view.fact_ids(_query(wanted, sort, status="retired"))
        anything = _query(wanted, sort, status="all")
        since = self._differences(memory, moment)
        known = dict.fromkeys((*view.fact_ids(anything), *memory.fact_ids(anything)))
        return [each for each in known if wanted.shown in since.get(each, ())]

    def rows(self, moment: PastMoment, ids: tuple[str, ...], memory: Memory) -> list[FactRow]:
        """Bodies as they were; of facts that were not there yet, as they are."""
        then = {fact.id: fact for fact in self.view(memory, moment).facts(ids)}
        now = {fact.id: fact for fact in memory.facts([each for each in ids if each not in then])}
        found = {**now, **then}
        return [fact_row(found[each]) for each in ids if each in found]

    def both(self, moment: PastMoment, fact_id: str, memory: Memory) -> tuple[Fact | None, Fact | None]:
        """One fact as it was and as it is."""
        return (
            next(iter(self.view(memory, moment).facts([fact_id])), None),
            next(iter(memory.facts([fact_id])), None),
        )

    def recall(
        self, moment: PastMoment, agent_id: str | None, query: str, memory: Memory
    ) -> tuple[str, RecallExplainResult]:
        """What an agent would have been given then; without one, the agent that knew most."""
        view = self.view(memory, moment)
        asked = agent_id if agent_id is not None else _knew_most(view)
        return asked, view.recall_explain(asked, query, top_k=TOP_K)


def _opened(memory: Memory, moment: PastMoment) -> MemoryView:
    if isinstance(moment, AtTime):
        return memory.at(moment.at_ns)
    if isinstance(moment, BeforeEntry):
        return memory.at(before_seq=moment.seq)
    last = memory.activity.list(limit=moment.actions)
    return memory.at(before_seq=last[-1].seq if last else memory.last_seq() + 1)


def _query(
    wanted: PastFilter, sort: tuple[SortColumn, bool], *, status: Literal["live", "retired", "all"]
) -> FactQuery:
    return FactQuery(
        agent_id=wanted.agent_id, status=status, text=wanted.text, kind="all", sort=sort[0], descending=sort[1]
    )


def _knew_most(view: MemoryView) -> str:
    agents = [each for each in view.agents() if each.agent_id != SHARED_AGENT_ID]
    return max(agents, key=lambda each: each.live).agent_id if agents else SHARED_AGENT_ID
