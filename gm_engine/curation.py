"""The part of the door that keeps a memory in order: consolidation, the inbox, facts taken out of texts.

Comparing needs numpy and more; it is loaded with the first cycle, so that a program that only writes starts at once.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from gm_engine.config import Config
from gm_engine.consolidation import reports
from gm_engine.consolidation.automatic import AutomaticCycles
from gm_engine.consolidation.inbox import Inbox
from gm_engine.consolidation.steps import Steps
from gm_engine.consolidation.turns import Turns
from gm_engine.errors import LanguageModelFailed
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.proposals import ConsolidationCounters, CycleReport, Finding, ProposalKind
from gm_engine.records import Fact, Origin, SourceRef
from gm_engine.search import Search
from gm_engine.store.database import Ledger
from gm_engine.store.facts import NewFact, check_agent_id, check_text, insert_facts
from gm_engine.store.settings import load_settings

if TYPE_CHECKING:
    from gm_engine.consolidation.consolidator import Consolidator


class Curation:
    """The verbs of `Memory` that compare, propose, apply and prune."""

    inbox: Inbox
    """Everything that waits for a person's decision."""

    def _set_up_curation(self, ledger: Ledger, *, config: Config, origin: Origin, search: Search) -> None:
        self._curated = ledger
        self._curation_config = config
        self._curator = origin
        self._found_by = search
        self._consolidator: Consolidator | None = None
        self._consolidator_lock = Lock()
        self._automatic = AutomaticCycles(
            self._begin_cycle,
            turns=Turns(ledger),
            at_most=config.max_async_consolidations,
            on_error=config.on_consolidate_error,
        )
        self.inbox = Inbox(ledger, origin=origin, wake=search.wake)
        search.add_chores(self._automatic)

    def _loaded_consolidator(self) -> Consolidator:
        with self._consolidator_lock:
            if self._consolidator is None:
                from gm_engine.consolidation.consolidator import Consolidator

                self._consolidator = Consolidator(
                    self._curated,
                    config=self._curation_config,
                    origin=self._curator,
                    vectors=self._found_by.vector_table,
                )
            return self._consolidator

    def _begin_cycle(self, agent_id: str) -> Steps[CycleReport] | None:
        return self._loaded_consolidator().begin(agent_id)

    def _notice_write(self, agent_id: str) -> None:
        """After a committed remember or revise: a cycle of the namespace follows, where the configuration says so."""
        if self._curation_config.async_consolidate:
            self._automatic.notice(agent_id)
        self._found_by.wake()

    def stop_waiting(self) -> None:
        """Gives up waiting for a language model, from any thread: the store is about to be closed."""
        with self._consolidator_lock:
            if self._consolidator is not None:
                self._consolidator.close()

    def consolidate(
        self,
        agent_id: str,
        *,
        dry_run: bool = False,
        apply: tuple[ProposalKind, ...] = (),
        prune: bool = True,
        group_id: str | None = None,
        progress: Progress = no_progress,
        cancel: CancelToken | None = None,
    ) -> CycleReport:
        """Runs one cycle: weights fade, proposals go to the inbox, faded facts leave the store, a report is journalled.

        A dry run changes nothing and asks no language model. `apply` names kinds of proposals that are carried out at
        once. Pruning that would take most of a namespace is held back in the inbox, as it is with `prune=False`. A
        `group_id` (of an earlier entry) joins cycles of several namespaces to one action. Raises
        `InvalidInput`, `Cancelled` (what was committed before stays) and what the ledger raises; a failing language
        model is one of the report's errors.
        """
        report = self._loaded_consolidator().consolidate(
            agent_id, dry_run=dry_run, apply=apply, prune=prune, group_id=group_id, progress=progress, cancel=cancel
        )
        if not dry_run:
            self._tend_graph(progress=progress, cancel=cancel)
        return report

    def _tend_graph(self, *, progress: Progress, cancel: CancelToken | None) -> None:
        """The last step of a cycle: entities fade, and new facts feed the graph. Belongs to whoever has a graph."""

    def maybe_consolidate(self, agent_id: str) -> CycleReport | None:
        """An automatic cycle, now: only for a namespace of at least `consolidate_threshold` facts, else None.

        It applies and prunes only what `Config.auto_apply` and `Config.auto_prune` allow.
        """
        return self._loaded_consolidator().maybe_consolidate(agent_id)

    def consolidation_counters(self) -> ConsolidationCounters:
        """Totals over the life of the store, and the newest report."""
        return reports.counters(self._curated)

    def cycles(
        self, agent_id: str | None = None, *, before_seq: int | None = None, limit: int = 50
    ) -> tuple[CycleReport, ...]:
        """The journalled reports of past cycles, newest first; page with the last seq seen."""
        return reports.history(self._curated, agent_id=agent_id, before_seq=before_seq, limit=limit)

    def extract_facts(self, text: str, *, cancel: CancelToken | None = None) -> tuple[str, ...]:
        """The single facts in a text, by the configured language model; raises `LanguageModelFailed` without one."""
        return self._loaded_consolidator().extract(check_text(text), cancel=cancel)

    def remember_extracted(
        self, agent_id: str, text: str, *, source: SourceRef | None = None, cancel: CancelToken | None = None
    ) -> tuple[Fact, ...]:
        """Keeps the single facts in a text as unverified ones, in one transaction.

        Without a configured model, or where it finds none, the text itself is kept as one ordinary fact. Raises
        `LanguageModelFailed` when the model fails; then nothing is written.
        """
        check_agent_id(agent_id)
        try:
            texts, label = self.extract_facts(text, cancel=cancel), "unverified"
        except LanguageModelFailed as error:
            if error.fields.get("reason") != "not_configured":
                raise
            texts, label = (), ""
        if not texts:
            texts, label = (check_text(text),), ""
        who = self._curator
        sources = (*who.sources, *(() if source is None else (source,)))
        origin = Origin(who.channel, who.client, who.client_version, who.session, sources)
        with self._curated.write("remember", origin=origin, agent_id=agent_id) as tx:
            new = [
                NewFact(
                    id=tx.clock.new_id(tx.at_ns),
                    agent_id=agent_id,
                    text=one,
                    created_ns=tx.at_ns,
                    origin=origin,
                    confidence=label,
                )
                for one in texts
            ]
            facts = insert_facts(tx, new, language=load_settings(tx.connection).language)
        self._notice_write(agent_id)
        return facts


def lost_and_invented(sources: dict[str, str], result: str) -> tuple[Finding, ...]:
    """What `result` lacks of the numbers, names and negations in `sources` (texts by fact id), and what it adds."""
    from gm_engine.consolidation.losses import lost_and_invented as compared

    return compared(sources, result)
