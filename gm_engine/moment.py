"""A store as it was at one moment: read like the store itself, never written."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Unpack

from gm_engine.clock import format_ns
from gm_engine.errors import AsOfUnsupported, InvalidInput, NotFound
from gm_engine.graph.knowledge import KnowledgeGraph
from gm_engine.life.difference import differences
from gm_engine.records import (
    AgentSummary,
    Counts,
    Fact,
    FactDifference,
    FactQuery,
    Lineage,
    MemoryStats,
    Origin,
    RecallExplainResult,
    RecallResult,
)
from gm_engine.search import RecallOptions, Search
from gm_engine.store import listing
from gm_engine.store.checkpoints import Checkpoints
from gm_engine.store.database import Ledger
from gm_engine.store.facts import load_facts
from gm_engine.store.lineage import lineage
from gm_engine.store.past import PastLedger, moment


class MemoryView:
    """The store as it stood; `memory.at`. Close it when done with it. Safe to use from any thread, one at a time.

    `at_ns` is the moment, `seq` the journal entry after which it was. `horizon_ns` is the moment from which the journal
    knows everything. Counters (access, weight) and embeddings are those of now. Later writes do not show; a text that
    is purged later disappears here, too.
    """

    def __init__(self, ledger: Ledger, search: Search, *, at_ns: int | None, before_seq: int | None) -> None:
        with ledger.read() as connection:
            self.seq, self.at_ns = moment(connection, at_ns, before_seq)
            self._is_exact = moment(connection, self.at_ns, None)[0] == self.seq
        self._present = ledger
        self._search = search
        self._ledger = PastLedger(ledger, seq=self.seq, as_of_ns=self.at_ns)
        self.graph = KnowledgeGraph(self._ledger, origin=Origin("library"))
        self.checkpoints = Checkpoints(self._ledger, origin=Origin("library"))

    def close(self) -> None:
        """Lets go of what was copied. Safe to call twice."""
        self._ledger.close()

    def __enter__(self) -> MemoryView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def horizon_ns(self) -> int | None:
        """From when on the journal knows everything; None in an empty store."""
        return self._ledger.horizon_ns

    @property
    def reconstructed(self) -> bool:
        """Whether part of this is concluded from later imports: such facts show as they were when they came in."""
        return self._ledger.reconstructed

    @property
    def can_recall(self) -> bool:
        """Whether the journal can answer a recall for this moment."""
        return self._is_exact and self.horizon_ns is not None and self.at_ns >= self.horizon_ns

    def get(self, fact_id: str) -> Fact:
        """One fact as it was; `NotFound` when there was none."""
        found = self.facts([fact_id])
        if not found:
            raise NotFound(f"There was no fact {fact_id} at {format_ns(self.at_ns)}.", id=fact_id)
        return found[0]

    def fact_ids(self, query: FactQuery) -> list[str]:
        """All ids of a query in order."""
        with self._ledger.read() as connection:
            return listing.fact_ids(connection, query)

    def facts(self, ids: Sequence[str]) -> list[Fact]:
        """Bodies in the order of `ids`; facts that did not exist are left out."""
        with self._ledger.read() as connection:
            found = load_facts(connection, ids)
        return [found[fact_id] for fact_id in ids if fact_id in found]

    def list_facts(self, query: FactQuery, *, after: str | None = None, limit: int = 256) -> tuple[Fact, ...]:
        """One page of a query: at most `limit` facts that follow the fact `after`."""
        with self._ledger.read() as connection:
            ids = listing.fact_ids(connection, query, after=after, limit=limit)
            found = load_facts(connection, ids)
        return tuple(found[fact_id] for fact_id in ids)

    def lineage(self, fact_id: str) -> Lineage:
        """What a fact had replaced and what had replaced it; `NotFound` when there was no such fact."""
        fact = self.get(fact_id)
        with self._ledger.read() as connection:
            return lineage(connection, fact)

    def agents(self) -> tuple[AgentSummary, ...]:
        """Every namespace with its counts, by name."""
        with self._ledger.read() as connection:
            return listing.agents(connection)

    def stats(self, agent_id: str) -> MemoryStats:
        """The seed's figures of one namespace."""
        with self._ledger.read() as connection:
            return listing.stats(connection, agent_id)

    def counts(self) -> Counts:
        """How many records of each kind there were."""
        with self._ledger.read() as connection:
            return listing.record_counts(connection)

    def diff(self, later: MemoryView) -> tuple[FactDifference, ...]:
        """Every fact that differs at a later moment, oldest first, with what happened to it."""
        if (self.seq, self.at_ns) > (later.seq, later.at_ns):
            raise InvalidInput("The first moment is later than the second.", field="later")
        return differences(self._present, self._ledger, later._ledger)

    def recall(self, agent_id: str, query: str, **options: Unpack[RecallOptions]) -> RecallResult:
        """`Memory.recall` as of this moment; counts nothing. `AsOfUnsupported` where the journal cannot answer."""
        self._check_recall()
        return self._search.recall(agent_id, query, {**options, "preview": True, "as_of_ns": self.at_ns})

    def recall_explain(self, agent_id: str, query: str, **options: Unpack[RecallOptions]) -> RecallExplainResult:
        """`Memory.recall_explain` as of this moment; counts nothing."""
        self._check_recall()
        return self._search.recall_explain(agent_id, query, {**options, "preview": True, "as_of_ns": self.at_ns})

    def _check_recall(self) -> None:
        if not self.can_recall:
            raise AsOfUnsupported(
                f"The journal cannot answer a recall for {format_ns(self.at_ns)}.",
                as_of_ns=self.at_ns,
                horizon_ns=self.horizon_ns,
            )
