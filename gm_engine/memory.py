"""The door: one object per open store, one thin method per verb. No SQL and no ranking lives here."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from gm_engine.clients import Clients
from gm_engine.clock import Clock, SystemClock
from gm_engine.config import Config
from gm_engine.consolidation.review import Requests
from gm_engine.curation import Curation
from gm_engine.embedding.embedder import Embedder
from gm_engine.errors import GrayMatterError, InvalidInput, NotFound
from gm_engine.graph.knowledge import KnowledgeGraph
from gm_engine.hooks import tell
from gm_engine.keeping import Keeping
from gm_engine.lab import Lab
from gm_engine.life import alias, edit, revise
from gm_engine.life.blocked import Blocked
from gm_engine.life.undo import undo_group
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import (
    SHARED_AGENT_ID,
    AgentSummary,
    Changes,
    Fact,
    FactListing,
    FactQuery,
    ImportReport,
    IndexProgress,
    JournalEntry,
    Lineage,
    MemoryStats,
    Origin,
    Overview,
    Process,
    RecallExplainResult,
    RecallResult,
    StoreSettings,
    StoreStatus,
    VectorExam,
    VectorStatus,
)
from gm_engine.search import RecallOptions, Search
from gm_engine.store import clients, journal, listing
from gm_engine.store.activity import Activity
from gm_engine.store.checkpoints import Checkpoints
from gm_engine.store.database import Ledger
from gm_engine.store.facts import (
    NewFact,
    check_agent_id,
    check_label,
    existing_ids,
    insert_facts,
    live_ids_with_text,
    load_facts,
    targets,
)
from gm_engine.store.known import AgentCounts, follow_ids
from gm_engine.store.lineage import lineage
from gm_engine.store.overview import overview
from gm_engine.store.settings import load_settings, save_settings
from gm_engine.store.transaction import Transaction
from gm_engine.version import __version__

if TYPE_CHECKING:
    from gm_engine.importing.door import ImportOptions
    from gm_engine.ranking.batch import BatchResult
    from gm_engine.ranking.missing import MissingReport
    from gm_engine.ranking.rank_table import RankTable


class Memory(Curation, Keeping):
    """One open store. Verbs are synchronous, safe from any thread, and raise `GrayMatterError`s.

    Ids name facts of the given agent (`NotFound` otherwise); `expected` maps ids to the versions the caller saw
    (`FactChanged` where they differ). Every change is one journalled transaction and can be undone by its seq, which is
    the `version` of the facts that a verb returns. A `group_id` (of an earlier entry) joins a verb to that user action:
    undoing one undoes both.
    """

    def __init__(self, ledger: Ledger, *, config: Config, embedder: Embedder | None, origin: Origin) -> None:
        self._ledger = ledger
        self._origin = origin
        self._on_put = config.on_put
        self._agents = AgentCounts()
        self._search = Search(ledger, config=config, embedder=embedder, origin=origin)
        self._process_id: str | None = None
        self._name_writer(origin)
        self.activity = Activity(ledger)
        self.lab = Lab(ledger, self._search, origin=origin)
        self.blocked = Blocked(ledger, origin=origin)
        self._set_up_keeping(ledger, search=self._search, origin=origin)
        self._set_up_curation(ledger, config=config, origin=origin, search=self._search)
        self.clients = Clients(ledger, origin=origin, inbox=self.inbox)
        self._feeds_graph, self._half_life_h = config.extract_entities, config.decay_half_life_h
        if self._feeds_graph:
            self._search.add_chores(self.graph)

    def _name_writer(self, origin: Origin) -> None:
        self._origin = origin
        self.checkpoints = Checkpoints(self._ledger, origin=origin)
        self.graph = KnowledgeGraph(self._ledger, origin=origin)
        self.requests = Requests(self._ledger, origin=origin)

    def acting_as(self, origin: Origin) -> Memory:
        """The same open store for somebody else: facts, vocabulary, checkpoints and links are written as theirs.

        It shares everything with this object and is never closed on its own. What a `ClientOrigin` may not do raises
        `AccessDenied`, what has to wait for a person `ReviewRequired`: `requests` holds it then.
        """
        other = copy.copy(self)
        other._name_writer(origin)
        return other

    def _tend_graph(self, *, progress: Progress, cancel: CancelToken | None) -> None:
        """The last step of a cycle of consolidation."""
        self.graph.fade(half_life_h=self._half_life_h)
        if self._feeds_graph:
            self.graph.extract(progress=progress, cancel=cancel)

    @classmethod
    def open(
        cls,
        data_dir: Path | str,
        *,
        config: Config | None = None,
        read_only: bool = False,
        background: bool = True,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        origin: Origin | None = None,
    ) -> Memory:
        """Opens the store in `data_dir`, creating it unless `read_only`.

        `background` starts the thread that embeds and indexes; without it, call `index_step`. A read-only store is
        never registered, counted or migrated. `embedder` replaces the bundled model. Raises `StoreUnavailable`,
        `StoreDamaged`, `StoreTooNew`, `ReadOnlyStore` or `StoreBusy`.
        """
        ledger = Ledger.open(Path(data_dir), clock=clock or SystemClock(), read_only=read_only)
        memory = cls(ledger, config=config or Config(), embedder=embedder, origin=origin or Origin("library"))
        if not read_only:
            memory._register()
            if background:
                memory._search.start_indexing()
        return memory

    def _register(self) -> None:
        now = self._ledger.clock.now_ns()
        who = self._origin
        process = Process(
            self._ledger.clock.new_id(now), os.getpid(), who.channel, __version__, who.client, since_ns=now, seen_ns=now
        )
        try:
            with self._ledger.bookkeep() as connection:
                clients.register(connection, process)
        except GrayMatterError:  # being listed is a courtesy: a busy or full disk must not keep a program out
            return
        self._process_id = process.id

    def close(self) -> None:
        """Stops indexing and closes the store. Safe to call twice."""
        self.stop_waiting()
        self._search.close()
        self._automatic.close()
        if self._process_id is not None:
            try:
                with self._ledger.bookkeep() as connection:
                    clients.unregister(connection, self._process_id)
            except GrayMatterError:
                pass  # the next program drops the row, because this process is gone by then
            self._process_id = None
        self._ledger.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def data_dir(self) -> Path:
        """Where the store lies."""
        return self._ledger.data_dir

    @property
    def size_bytes(self) -> int:
        """How large the ledger's file is, without what waits beside it; 0 where the file cannot be seen."""
        try:
            return self._ledger.path.stat().st_size
        except OSError:
            return 0

    @property
    def read_only(self) -> bool:
        """Whether every write is refused with `ReadOnlyStore`."""
        return self._ledger.read_only

    @property
    def settings(self) -> StoreSettings:
        """The store's own settings."""
        with self._ledger.read() as connection:
            return load_settings(connection)

    @property
    def default_confidence_weight(self) -> float:
        """The weight of a recall that names none: the caller's `Config`, else the store's own."""
        chosen = self._curation_config.confidence_weight
        return self.settings.confidence_weight if chosen is None else chosen

    def set_settings(self, settings: StoreSettings) -> None:
        """Stores what differs, journalled and undoable. `InvalidInput` names a bad value."""
        with self._ledger.write("settings", origin=self._origin) as tx:
            save_settings(tx, settings)

    # --- writing ---------------------------------------------------------------------------------------------------

    def remember(
        self, agent_id: str, text: str, *, confidence: str | None = None, origin: Origin | None = None
    ) -> Fact:
        """Commits one fact and returns it as committed. An omitted label is stored as `""`."""
        fact = self._remember(agent_id, text, confidence, origin)
        self._notice_write(agent_id)
        return fact

    def _remember(self, agent_id: str, text: str, confidence: str | None, origin: Origin | None) -> Fact:
        if confidence is not None:
            check_label(confidence)
        who = origin or self._origin
        with self._ledger.write("remember", origin=who, agent_id=check_agent_id(agent_id)) as tx:
            new = NewFact(
                id=tx.clock.new_id(tx.at_ns),
                agent_id=agent_id,
                text=text,
                created_ns=tx.at_ns,
                origin=who,
                confidence=confidence or "",
            )
            fact = insert_facts(tx, [new], language=self._language(tx))[0]
        tell(self._on_put, fact)
        return fact

    def remember_shared(self, text: str, *, confidence: str | None = None, origin: Origin | None = None) -> Fact:
        """`remember` in the namespace that every agent reads; no cycle of consolidation follows."""
        fact = self._remember(SHARED_AGENT_ID, text, confidence, origin)
        self._search.wake()
        return fact

    def revise(
        self,
        agent_id: str,
        target: str | Sequence[str],
        new_text: str,
        *,
        confidence: str | None = None,
        expected: Mapping[str, int] | None = None,
        origin: Origin | None = None,
    ) -> Fact:
        """Replaces facts by one with a new text and retires them toward it, in one transaction.

        `target` is an exact text (every live match) or a sequence of ids. Without a label the new fact gets
        min(inferred, lowest effective label of the targets).
        """
        with self._ledger.write("revise", origin=origin or self._origin, agent_id=check_agent_id(agent_id)) as tx:
            fact = revise.revise(
                tx,
                agent_id,
                target,
                new_text,
                confidence=confidence,
                expected=expected,
                language=self._language(tx),
            )
        tell(self._on_put, fact)
        self._notice_write(agent_id)
        return fact

    def retire(
        self,
        agent_id: str,
        ids: Sequence[str],
        *,
        expected: Mapping[str, int] | None = None,
        group_id: str | None = None,
        block: bool = False,
    ) -> tuple[Fact, ...]:
        """Takes facts out of recall; they stay listed and restorable. Returns the facts that changed.

        With `block`, their texts are refused from now on, whoever writes them (`BlockedValue`).
        """
        with self._ledger.write("retire", origin=self._origin, agent_id=agent_id, group_id=group_id) as tx:
            return edit.retire(tx, agent_id, ids, expected=expected, block=block)

    def restore(
        self,
        agent_id: str,
        ids: Sequence[str],
        *,
        expected: Mapping[str, int] | None = None,
        group_id: str | None = None,
    ) -> tuple[Fact, ...]:
        """Brings retired facts back. Returns the facts that changed."""
        with self._ledger.write("restore", origin=self._origin, agent_id=agent_id, group_id=group_id) as tx:
            restored = edit.restore(tx, agent_id, ids, expected=expected)
        self._search.wake()
        return restored

    def pin(
        self,
        agent_id: str,
        ids: Sequence[str],
        *,
        expected: Mapping[str, int] | None = None,
        group_id: str | None = None,
    ) -> tuple[Fact, ...]:
        """Pins live facts. Returns the facts that changed."""
        with self._ledger.write("pin", origin=self._origin, agent_id=agent_id, group_id=group_id) as tx:
            return edit.pin(tx, agent_id, ids, expected=expected)

    def unpin(
        self,
        agent_id: str,
        ids: Sequence[str],
        *,
        expected: Mapping[str, int] | None = None,
        group_id: str | None = None,
    ) -> tuple[Fact, ...]:
        """Unpins facts, retired ones too. Returns the facts that changed."""
        with self._ledger.write("unpin", origin=self._origin, agent_id=agent_id, group_id=group_id) as tx:
            return edit.unpin(tx, agent_id, ids, expected=expected)

    def label(
        self,
        agent_id: str,
        ids: Sequence[str],
        confidence: str,
        *,
        expected: Mapping[str, int] | None = None,
        group_id: str | None = None,
    ) -> tuple[Fact, ...]:
        """Sets the confidence label. Returns the facts that changed."""
        check_label(confidence)
        with self._ledger.write("label", origin=self._origin, agent_id=agent_id, group_id=group_id) as tx:
            return edit.label(tx, agent_id, ids, confidence=confidence, expected=expected)

    def move(
        self,
        agent_id: str,
        ids: Sequence[str],
        to: str,
        *,
        expected: Mapping[str, int] | None = None,
        group_id: str | None = None,
    ) -> tuple[Fact, ...]:
        """Gives facts to another agent under the same ids. Returns the facts that changed."""
        with self._ledger.write("move", origin=self._origin, agent_id=agent_id, group_id=group_id) as tx:
            return edit.move(tx, agent_id, ids, to=to, expected=expected)

    def copy(self, agent_id: str, ids: Sequence[str], to: str, *, group_id: str | None = None) -> tuple[Fact, ...]:
        """Writes copies for another agent and returns them; their origin names the originals."""
        with self._ledger.write("copy", origin=self._origin, agent_id=agent_id, group_id=group_id) as tx:
            copies = edit.copy(tx, agent_id, ids, to=to, language=self._language(tx))
        for fact in copies:
            tell(self._on_put, fact)
        self._search.wake()
        return copies

    def alias(self, agent_id: str, term: str, equivalents: Sequence[str]) -> Fact:
        """Stores vocabulary: a recall for `term` also finds facts that say an equivalent."""
        with self._ledger.write("alias", origin=self._origin, agent_id=check_agent_id(agent_id)) as tx:
            fact = alias.write_alias(tx, agent_id, term, equivalents, language=self._language(tx))
        tell(self._on_put, fact)
        return fact

    def _language(self, tx: Transaction) -> str:
        return load_settings(tx.connection).language

    # --- undo ------------------------------------------------------------------------------------------------------

    def undo(self, seq_or_group: int | str) -> JournalEntry:
        """Undoes the whole user action that a seq or group id belongs to, by a new entry, which is returned.

        Raises `UndoConflict` when a later change stands on top of it, `NotFound` when there is no such entry.
        """
        with self._ledger.read() as connection:
            entries = journal.group(connection, seq_or_group)
        with self._ledger.write(
            "undo",
            origin=self._origin,
            agent_id=entries[0].agent_id,
            undoes=entries[0].group_id,
            detail=entries[0].verb,
        ) as tx:
            changes = undo_group(tx, entries, language=self._language(tx))
            seq = tx.seq
        self._search.wake()
        return replace(self._entry(seq, with_changes=False), changes=changes)

    def redo(self, seq_or_group: int | str) -> JournalEntry:
        """Undoes an undo. `InvalidInput` when the entry is none."""
        entry = self._entry(seq_or_group, with_changes=False)
        if entry.undoes is None:
            raise InvalidInput(f"Entry {entry.seq} is no undo.", entry=entry.seq)
        return self.undo(entry.seq)

    def entry(self, seq_or_group: int | str) -> JournalEntry:
        """One journal entry (the first of a group); `NotFound` when there is none."""
        return self._entry(seq_or_group)

    def _entry(self, seq_or_group: int | str, *, with_changes: bool = True) -> JournalEntry:
        with self._ledger.read() as connection:
            entries = journal.group(connection, seq_or_group, with_changes=with_changes)
        return next((entry for entry in entries if entry.seq == seq_or_group), entries[0])

    def journal(
        self,
        *,
        before_seq: int | None = None,
        limit: int = 100,
        agent_id: str | None = None,
        target: str | None = None,
    ) -> tuple[JournalEntry, ...]:
        """Entries newest first, of one agent or one target where named; page with the last seq seen."""
        with self._ledger.read() as connection:
            return journal.entries(connection, before_seq=before_seq, limit=limit, agent_id=agent_id, target=target)

    def changes_since(self, seq: int) -> Changes:
        """What was committed after `seq`, by any process, own writes included."""
        with self._ledger.read() as connection:
            return journal.changes_since(connection, seq)

    def last_seq(self) -> int:
        """The newest journal seq; cheap enough to ask twice a second."""
        return self._ledger.last_seq()

    # --- reading ---------------------------------------------------------------------------------------------------

    def resolve(self, agent_id: str, target: str, *, live_only: bool = True) -> tuple[str, ...]:
        """The ids that a person means by a fact id or an exact text of the agent; `NotFound` when there is none."""
        with self._ledger.read() as connection:
            if existing_ids(connection, [target]):
                return tuple(fact.id for fact in targets(connection, agent_id, [target]))
            ids = live_ids_with_text(connection, agent_id, target, live_only=live_only)
        if not ids:
            raise NotFound(f"{agent_id!r} has no fact with that id or text.", agent_id=agent_id, target=target[:200])
        return ids

    def ids_with_text(self, agent_id: str, text: str, *, live_only: bool = True) -> tuple[str, ...]:
        """The ids of an agent's facts with exactly this text, oldest first; `NotFound` when there is none."""
        with self._ledger.read() as connection:
            ids = live_ids_with_text(connection, agent_id, text, live_only=live_only)
        if not ids:
            raise NotFound(f"{agent_id!r} has no fact with that text.", agent_id=agent_id, target=text[:200])
        return ids

    def get(self, fact_id: str) -> Fact:
        """One fact; `NotFound` when there is none."""
        with self._ledger.read() as connection:
            found = load_facts(connection, [fact_id])
        if fact_id not in found:
            raise NotFound(f"There is no fact {fact_id}.", id=fact_id)
        return found[fact_id]

    def fact_ids(self, query: FactQuery) -> list[str]:
        """All ids of a query in order."""
        with self._ledger.read() as connection:
            return listing.fact_ids(connection, query)

    def follow_ids(self, query: FactQuery, known: FactListing | None = None) -> FactListing:
        """`fact_ids` with the seq they are of; cheap from an earlier answer to the same query, after few changes.

        What is ordered or filtered by counters or weights, which move without a journal entry, is read anew each time.
        """
        with self._ledger.read() as connection:
            return follow_ids(connection, query, known)

    def facts(self, ids: Sequence[str]) -> list[Fact]:
        """Bodies in the order of `ids`; facts that are gone are left out."""
        with self._ledger.read() as connection:
            found = load_facts(connection, ids)
        return [found[fact_id] for fact_id in ids if fact_id in found]

    def list_facts(self, query: FactQuery, *, after: str | None = None, limit: int = 256) -> tuple[Fact, ...]:
        """One page of a query: at most `limit` facts that follow the fact `after`."""
        with self._ledger.read() as connection:
            ids = listing.fact_ids(connection, query, after=after, limit=limit)
            found = load_facts(connection, ids)
        return tuple(found[fact_id] for fact_id in ids if fact_id in found)

    def lineage(self, fact_id: str) -> Lineage:
        """What a fact replaced and what replaced it; `NotFound` when there is no such fact."""
        with self._ledger.read() as connection:
            found = load_facts(connection, [fact_id])
            if fact_id not in found:
                raise NotFound(f"There is no fact {fact_id}.", id=fact_id)
            return lineage(connection, found[fact_id])

    def agents(self) -> tuple[AgentSummary, ...]:
        """Every namespace with its counts, by name."""
        with self._ledger.read() as connection:
            return self._agents.read(connection)

    def stats(self, agent_id: str) -> MemoryStats:
        """The seed's figures of one namespace."""
        with self._ledger.read() as connection:
            return listing.stats(connection, agent_id)

    def processes(self) -> tuple[Process, ...]:
        """The running programs that have the store open for writing."""
        with self._ledger.read() as connection:
            return clients.processes(connection)

    def status(self) -> StoreStatus:
        """The figures of the whole store."""
        with self._ledger.read() as connection:
            agents = self._agents.read(connection)
            counts = listing.record_counts(connection)
        return StoreStatus(
            data_dir=str(self.data_dir),
            agents=agents,
            checkpoints=counts.checkpoints,
            entities=counts.entities,
            edges=counts.edges,
            vectors=self._search.vector_status(),
        )

    def overview(self) -> Overview:
        """What the store holds and how it is used, in figures; a handful of scans, however many facts there are."""
        vectors = self._search.vector_status()
        with self._ledger.read() as connection:
            return overview(connection, self._agents.read(connection), vectors)

    # --- recall ----------------------------------------------------------------------------------------------------

    def recall(self, agent_id: str, query: str, **options: Unpack[RecallOptions]) -> RecallResult:
        """The facts that answer `query` best, in a total order that every process gives alike.

        Unless it is a preview, the returned facts' access counters move. Raises `InvalidInput` for a bad option before
        any effect, `AsOfUnsupported` for a moment before the journal's horizon.
        """
        return self._search.recall(agent_id, query, options)

    def recall_explain(self, agent_id: str, query: str, **options: Unpack[RecallOptions]) -> RecallExplainResult:
        """The same ranking as `recall`, with the same effects, and one receipt per fact that says why it came back."""
        return self._search.recall_explain(agent_id, query, options)

    def recall_shared(self, query: str, **options: Unpack[RecallOptions]) -> RecallResult:
        """`recall` in the namespace that every agent reads."""
        return self._search.recall(SHARED_AGENT_ID, query, options)

    def recall_all(self, agent_id: str, query: str, **options: Unpack[RecallOptions]) -> RecallResult:
        """The agent's own answer and the shared one, merged by their places: score = sum of 1/(60 + place)."""
        return self._search.recall_all(agent_id, query, options)

    def batch_recall(
        self,
        agent_id: str,
        queries: Sequence[str],
        *,
        watch: Callable[[int], None] | None = None,
        **options: Unpack[RecallOptions],
    ) -> tuple[BatchResult, ...]:
        """Each query exactly as alone, in order, over one state of the store; one failure does not fail the rest.

        `watch` is called before each query with the number of those that are done; what it raises ends the call.
        """
        return self._search.batch_recall(agent_id, queries, options, watch=watch)

    def explain_missing(
        self, agent_id: str, query: str, fact_id: str, **options: Unpack[RecallOptions]
    ) -> MissingReport:
        """Why a fact is not in the answer, its ranks, and the changes that would each bring it in, the simplest first.

        `NotFound` when there is no such fact. Counts nothing.
        """
        return self._search.explain_missing(agent_id, query, fact_id, options)

    def rank_table(self, agent_id: str, query: str, **options: Unpack[RecallOptions]) -> RankTable:
        """The cached ranks of a query: re-ranks for other weights without the store. Counts nothing."""
        return self._search.rank_table(agent_id, query, options)

    def index_step(self, budget_s: float = 0.1, *, is_calm: bool = True) -> bool:
        """About `budget_s` seconds of embedding and indexing; whether there is more to do.

        Unless `is_calm`, a small vector index is not written to: searches are exact without it, and each write holds
        the interpreter lock while other threads and the disk work, for long when other processes are busy too.
        """
        return self._search.index_step(budget_s, is_calm=is_calm)

    def load_model(self) -> None:
        """Loads the bundled embedding model, where it is the one in use, so that nobody waits for that later."""
        self._search.load_model()

    def examine_vectors(self, *, progress: Progress = no_progress, cancel: CancelToken | None = None) -> VectorExam:
        """Compares the vector index with exact answers; a wrong one is built anew, and if that does not help given up.

        Raises `StoreBusy` while another process owns the index, `VectorIndexFailed` when it cannot be used at all.
        """
        exam = self._search.examine_vectors(progress=progress, cancel=cancel or CancelToken())
        if exam.is_exact_now:
            self.set_settings(replace(self.settings, vector_path="exact"))
        return exam

    def index_progress(self) -> IndexProgress:
        """What `index_step` is at, by what this process knows: costs nothing, may be asked at every step."""
        return self._search.index_progress()

    def vector_status(self) -> VectorStatus:
        """The part of `status` about vectors, counted anew: for a look once a second."""
        return self._search.vector_status()

    def embed_pending(self, agent_id: str, *, limit: int = 256) -> int:
        """Embeds up to `limit` live texts of one namespace that have no vector yet; returns how many."""
        return self._search.embed_pending(agent_id, limit=limit)

    def wait_for_embeddings(
        self,
        timeout_s: float | None = None,
        *,
        progress: Progress = no_progress,
        cancel: CancelToken | None = None,
    ) -> bool:
        """Embeds until every live text has a vector; False when `timeout_s` passed before."""
        return self._search.wait_for_embeddings(timeout_s, progress=progress, cancel=cancel)

    # --- importing -------------------------------------------------------------------------------------------------

    def import_preview(self, path: Path | str, **options: Unpack[ImportOptions]) -> ImportReport:
        """What `import_store` would do; nothing is written. Raises `ImportRefused`, `InvalidInput` or `NotFound`."""
        from gm_engine.importing.door import preview

        return preview(self._ledger, Path(path), options)

    def import_store(self, path: Path | str, **options: Unpack[ImportOptions]) -> ImportReport:
        """Imports a GrayMatter store, or what another program remembers; importing again adds only what is new.

        The format is detected unless `format` (a name in `IMPORT_FORMATS`) says it. Texts go to `agent_id`, else to
        whom the file names. `columns` maps a table's columns: `{"text": "body"}`. Raises `ImportRefused`,
        `InvalidInput` or `NotFound` before anything is written; records that cannot be read are listed.
        """
        from gm_engine.importing.door import bring_in

        report = bring_in(self._ledger, Path(path), options, origin=replace(self._origin, channel="import"))
        self._search.wake()
        return report
