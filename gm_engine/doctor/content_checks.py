"""Checks of what hangs on facts, and of what a person should know: receipts, checkpoints, secrets, purges."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from gm_engine.doctor.findings import Outcome, Verdict, judge
from gm_engine.doctor.secrets import secrets_in
from gm_engine.errors import CheckpointDamaged
from gm_engine.store.blocked import blocked_keys
from gm_engine.store.checkpoint_payload import read_payload
from gm_engine.store.purge import pending

ORPHANS: dict[str, tuple[str, str]] = {  # table: what its rows are called, the condition of those that hang on nothing
    "fact_refs": ("sources", "fact_id NOT IN (SELECT id FROM facts)"),
    "mentions": (
        "mentions",
        "fact_id NOT IN (SELECT id FROM facts) OR entity_id NOT IN (SELECT id FROM entities)",
    ),
    "extractions": ("marks of extraction", "fact_id NOT IN (SELECT id FROM facts)"),
    "entity_names": ("names", "entity_id NOT IN (SELECT id FROM entities)"),
    "positions": ("places of the drawn graph", "entity_id NOT IN (SELECT id FROM entities)"),
    "edge_sources": ("receipts", "(from_id, to_id, relation) NOT IN (SELECT from_id, to_id, relation FROM edges)"),
}
DANGLING = (
    "SELECT DISTINCT s.from_id, s.to_id, s.relation FROM edge_sources s"
    " JOIN edges e USING (from_id, to_id, relation) WHERE s.fact_id NOT IN (SELECT id FROM facts)"
)
_MISSING_ENDS = (
    "SELECT from_id, to_id, relation FROM edges WHERE from_id NOT IN (SELECT id FROM entities)"
    " OR to_id NOT IN (SELECT id FROM entities)"
)


def check_references(connection: Connection) -> Outcome:
    """Rows that belong to a fact, entity or link which is not there."""
    counts = {
        words: connection.exec_driver_sql(f"SELECT count(*) FROM {table} WHERE {condition}").scalar_one()
        for table, (words, condition) in ORPHANS.items()
    }
    problems = (f"{count:,} {words} belong to nothing" for words, count in counts.items() if count)
    return judge(problems, sound="nothing is left over", verdict=Verdict.NOTICE)


def check_receipts(connection: Connection) -> Outcome:
    """Links that name facts which are not there as their receipts, and links to entities that are not there."""
    problems = [f"the link {row[0]} {row[2]} {row[1]} names a fact that is gone" for row in _rows(connection, DANGLING)]
    missing = len(list(_rows(connection, _MISSING_ENDS)))
    problems += [f"{missing:,} links lead to an entity that is not in the store"] if missing else []
    return judge(iter(problems), sound="every link can show its receipts", verdict=Verdict.NOTICE)


def _rows(connection: Connection, sql: str) -> Iterator[tuple[str, ...]]:
    return (tuple(row) for row in connection.exec_driver_sql(sql))


def check_checkpoints(connection: Connection) -> Outcome:
    """Checkpoints that cannot be read."""
    rows = connection.exec_driver_sql("SELECT id, payload FROM checkpoints WHERE deleted = 0 ORDER BY id")
    return judge(_unreadable(rows), sound="every checkpoint can be read", verdict=Verdict.NOTICE)


def _unreadable(rows: Iterator[tuple[str, bytes]]) -> Iterator[str]:
    for checkpoint_id, payload in rows:
        try:
            read_payload(bytes(payload), checkpoint_id=checkpoint_id)
        except CheckpointDamaged as error:
            yield error.message.rstrip(".")


def check_secrets(connection: Connection) -> Outcome:
    """Facts that look as if they held a password or a key; the sentence never quotes it."""
    rows = connection.exec_driver_sql("SELECT id, agent_id, text FROM facts ORDER BY no")
    problems = (
        f"fact {fact_id} of {agent_id} looks as if it held {kind}"
        for fact_id, agent_id, text in rows
        for kind in secrets_in(text)
    )
    return judge(problems, sound="no fact looks like a password or a key", verdict=Verdict.NOTICE)


def check_blocked(connection: Connection) -> Outcome:
    """Live facts that hold a value which must not be stored again."""
    facts = connection.exec_driver_sql("SELECT id, agent_id, text FROM facts WHERE superseded_by = ''").all()
    keys = blocked_keys(connection, [(row[1], row[2]) for row in facts])
    problems = (f"fact {row[0]} of {row[1]} holds a blocked value" for row, key in zip(facts, keys, strict=True) if key)
    return judge(problems, sound="no live fact holds a blocked value", verdict=Verdict.NOTICE)


def check_purges(connection: Connection) -> Outcome:
    """Purges that were interrupted, or had to wait for another program."""
    left = len(pending(connection))
    if not left:
        return Verdict.SOUND, "every purge was finished"
    return Verdict.BROKEN, f"a purge of {left:,} texts was not finished: backups or unused parts may still hold them"
