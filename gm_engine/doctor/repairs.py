"""What can be put right, by check. Repairs that change what the journal keeps are journalled and can be undone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gm_engine.clock import Clock
from gm_engine.doctor.content_checks import DANGLING, ORPHANS
from gm_engine.doctor.ledger_checks import circles, differences, replacements, replayed_facts
from gm_engine.doctor.vector_paths import drop_older_models
from gm_engine.memory import Memory
from gm_engine.progress import Progress
from gm_engine.records import SUPERSEDED_BY_AGENT, Fact, JsonValue, Origin
from gm_engine.store import facts as fact_rows
from gm_engine.store.database import BUSY_TIMEOUT_S, Ledger
from gm_engine.store.entities import load_edge
from gm_engine.store.graph_edits import change_edge
from gm_engine.store.settings import load_settings
from gm_engine.store.vectors import count_drop
from gm_engine.terms import TERMS_RULES

_BATCH = 1000
_DEFAULTS: dict[str, JsonValue] = {"accessed_ns": None, "access_count": 0, "weight": 1.0}
_UNINDEXED = (
    "SELECT f.no, f.text FROM facts f LEFT JOIN fact_terms t ON t.fact_no = f.no"
    f" WHERE t.fact_no IS NULL OR t.rules <> {TERMS_RULES} OR length(t.data) % 6 <> 0 ORDER BY f.no LIMIT {_BATCH}"
)
_DAMAGED_VECTORS = (
    "DELETE FROM vectors WHERE length(text_key) <> 16"
    " OR length(data) <> (SELECT 2 * dims FROM models WHERE models.id = vectors.model_id)"
)
Repair = Callable[[Ledger, Origin, Progress], None]


def repair_facts(ledger: Ledger, origin: Origin, progress: Progress) -> None:
    """Makes the rows of facts what the journal says; a fact that the journal does not know is entered into it."""
    with ledger.write("repair", origin=origin) as tx:
        states, versions = replayed_facts(tx.connection)
        wrong = [fact_id for fact_id, _ in differences(tx.connection, states, versions)]
        present = fact_rows.load_facts(tx.connection, wrong)
        images = {
            fact_id: ({**_DEFAULTS, **_bookkeeping(present.get(fact_id)), **states[fact_id]}, versions[fact_id])
            for fact_id in wrong
            if "text" in states.get(fact_id, {})
        }
        if wrong:  # what was read of them before may be followed no further
            count_drop(tx.connection)
        if images:
            fact_rows.remove_facts(tx.connection, list(images))
            fact_rows.recreate_facts(tx, images, language=load_settings(tx.connection).language)
        for fact_id in (fact_id for fact_id in wrong if fact_id not in states):
            found = replace(present[fact_id], version=tx.seq)
            fact_rows.write_columns(tx.connection, ["version"], [(tx.seq, fact_id)])
            tx.record(
                "fact",
                fact_id,
                agent_id=found.agent_id,
                version_before=0,
                before=None,
                after=fact_rows.fact_image(found),
            )
    progress(1, 1, "Facts follow the journal")


def _bookkeeping(fact: Fact | None) -> dict[str, JsonValue]:
    return {} if fact is None else {name: getattr(fact, name) for name in fact_rows.BOOKKEEPING}


def repair_terms(ledger: Ledger, origin: Origin, progress: Progress) -> None:
    """Indexes facts that are not indexed, or by older rules, and drops rows that belong to no fact."""
    del origin
    done = 0
    while True:
        with ledger.bookkeep(timeout_s=BUSY_TIMEOUT_S) as connection:
            rows = [(row[0], row[1]) for row in connection.exec_driver_sql(_UNINDEXED)]
            connection.exec_driver_sql(
                "DELETE FROM fact_terms WHERE fact_no IN (SELECT value FROM json_each(?))"
                " OR fact_no NOT IN (SELECT no FROM facts)",
                (json.dumps([no for no, _ in rows]),),
            )
            if not rows:
                return
            fact_rows.index_terms(connection, rows, language=load_settings(connection).language)
        done += len(rows)
        progress(done, None, "Indexing facts")


def repair_lineage(ledger: Ledger, origin: Origin, progress: Progress) -> None:
    """Breaks circles of replacements: their facts stay retired, by nobody in particular."""
    with ledger.write("repair", origin=origin) as tx:
        for circle in circles(replacements(tx.connection)):
            members = fact_rows.load_facts(tx.connection, circle)
            fact_rows.patch_facts(tx, members.values(), {"superseded_by": SUPERSEDED_BY_AGENT})
    progress(1, 1, "No fact replaces itself")


def repair_references(ledger: Ledger, origin: Origin, progress: Progress) -> None:
    """Drops rows that belong to nothing; all of them can be made again."""
    del origin
    with ledger.bookkeep(timeout_s=BUSY_TIMEOUT_S) as connection:
        for done, (table, (_, condition)) in enumerate(ORPHANS.items(), 1):
            connection.exec_driver_sql(f"DELETE FROM {table} WHERE {condition}")
            progress(done, len(ORPHANS), "Clearing up")


def repair_receipts(ledger: Ledger, origin: Origin, progress: Progress) -> None:
    """Takes facts that are gone off the links that name them."""
    with ledger.write("repair", origin=origin) as tx:
        for key in tx.connection.exec_driver_sql(DANGLING).all():
            found = load_edge(tx.connection, (key[0], key[1], key[2]))
            if found is None:
                continue
            edge, version = found
            known = fact_rows.existing_ids(tx.connection, edge.sources)
            change_edge(tx, edge, version, replace(edge, sources=tuple(s for s in edge.sources if s in known)))
    progress(1, 1, "Links show receipts that are there")


def repair_vectors(data_dir: Path, clock: Clock, origin: Origin, progress: Progress) -> None:
    """Drops vectors that are cut off, and gives every live text its vector."""
    with Ledger.open(data_dir, clock=clock) as ledger, ledger.bookkeep() as connection:
        if connection.exec_driver_sql(_DAMAGED_VECTORS).rowcount:
            count_drop(connection)
    with Memory.open(data_dir, clock=clock, origin=origin, background=False) as memory:
        memory.wait_for_embeddings(progress=progress)


def finish_purges(data_dir: Path, clock: Clock, origin: Origin, progress: Progress) -> None:
    """Ends purges that were interrupted."""
    with Memory.open(data_dir, clock=clock, origin=origin, background=False) as memory:
        memory.finish_purges(progress=progress)


LEDGER_REPAIRS: dict[str, tuple[Repair, str]] = {
    "journal": (repair_facts, "make the facts what the journal says"),
    "keyword index": (repair_terms, "index the facts again"),
    "lineage": (repair_lineage, "break circles; undo can take it back"),
    "references": (repair_references, "drop what belongs to nothing"),
    "receipts": (repair_receipts, "take facts that are gone off the links"),
    "older models": (drop_older_models, "drop them; going back to that model would embed everything again"),
}
STORE_REPAIRS: dict[str, tuple[Callable[[Path, Clock, Origin, Progress], None], str]] = {
    "vectors": (repair_vectors, "compute what is missing"),
    "purges": (finish_purges, "finish them"),
}
