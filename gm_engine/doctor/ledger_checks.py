"""Checks of the ledger's own consistency: file, schema, journal, keyword index, aliases, lineage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from sqlalchemy import Connection

from gm_engine.doctor.findings import Outcome, Verdict, judge
from gm_engine.ranking.aliases import parse_alias
from gm_engine.records import SUPERSEDED_BY_AGENT
from gm_engine.store.facts import BOOKKEEPING
from gm_engine.store.tables import SCHEMA_VERSION
from gm_engine.terms import TERMS_RULES

JOURNALLED = (
    "agent_id",
    "text",
    "created_ns",
    "superseded_by",
    "confidence",
    "kind",
    "alias_source",
    "pinned",
    "pinned_ns",
    "origin",
)


def check_file(connection: Connection) -> Outcome:
    """SQLite's own checks, and references between tables."""
    rows = connection.exec_driver_sql("PRAGMA integrity_check(100)").scalars().all()
    keys = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    problems = [str(row) for row in rows if row != "ok"] + [
        f"{row[0]} names a row of {row[2]} that is gone" for row in keys
    ]
    return judge(iter(problems), sound="SQLite finds no damage")


def check_schema(connection: Connection) -> Outcome:
    """Which schema the store has."""
    version = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
    if version == SCHEMA_VERSION:
        return Verdict.SOUND, f"schema {version}"
    return Verdict.NOTICE, f"schema {version}; the next program that writes brings it to {SCHEMA_VERSION}"


def check_replay(connection: Connection) -> Outcome:
    """Replays every change of a fact and compares the outcome with the rows, but for bookkeeping."""
    states, versions = replayed_facts(connection)
    problems = chain(_backwards(connection), (words for _, words in differences(connection, states, versions)))
    return judge(problems, sound=f"the journal replays to {len(states):,} facts")


def _backwards(connection: Connection) -> Iterator[str]:
    """Time travel needs times that never go back."""
    rows = connection.exec_driver_sql(
        "SELECT seq FROM (SELECT seq, at_ns, lag(at_ns) OVER (ORDER BY seq) AS earlier FROM journal)"
        " WHERE at_ns < earlier"
    )
    for (seq,) in rows:
        yield f"entry {seq} is older than the one before it"


def replayed_facts(connection: Connection) -> tuple[dict[str, dict[str, Any]], dict[str, int]]:
    """The journalled columns of every fact as the journal alone tells them, and their effective versions."""
    states: dict[str, dict[str, Any]] = {}
    versions: dict[str, int] = {}
    rows = connection.exec_driver_sql(
        "SELECT target, version_after, after FROM changes WHERE kind = 'fact' ORDER BY seq, n"
    )
    for target, version, after in rows:
        if version == 0:
            states.pop(target, None)
            versions.pop(target, None)
            continue
        image = {} if after is None else json.loads(after)
        states.setdefault(target, {}).update((key, value) for key, value in image.items() if key not in BOOKKEEPING)
        versions[target] = version
    return states, versions


def differences(
    connection: Connection, states: dict[str, dict[str, Any]], versions: dict[str, int]
) -> Iterator[tuple[str, str]]:
    """Facts whose rows are not what the journal says, each with a sentence."""
    missing = dict.fromkeys(states)
    for row in connection.exec_driver_sql(f"SELECT id, version, {', '.join(JOURNALLED)} FROM facts"):
        found = dict(zip(JOURNALLED, row[2:], strict=True))
        found["origin"] = json.loads(found["origin"])
        wanted = states.get(row[0])
        missing.pop(row[0], None)
        if wanted is None:
            yield row[0], f"fact {row[0]} is not in the journal"
        elif wanted != found:
            names = sorted(name for name in JOURNALLED if wanted.get(name) != found[name])
            yield row[0], f"fact {row[0]} differs from the journal in {', '.join(names)}"
        elif versions[row[0]] != row[1]:
            yield row[0], f"fact {row[0]} has version {row[1]}, the journal says {versions[row[0]]}"
    for fact_id in missing:
        yield fact_id, f"fact {fact_id} of the journal is gone"


def check_terms(connection: Connection) -> Outcome:
    """Whether every fact is indexed for the keyword signal."""
    missing = connection.exec_driver_sql(
        "SELECT f.id FROM facts f LEFT JOIN fact_terms t ON t.fact_no = f.no WHERE t.fact_no IS NULL"
    ).scalars()
    stray = connection.exec_driver_sql(
        "SELECT count(*) FROM fact_terms t LEFT JOIN facts f ON f.no = t.fact_no WHERE f.no IS NULL"
    ).scalar_one()
    old = connection.exec_driver_sql("SELECT count(*) FROM fact_terms WHERE rules <> ?", (TERMS_RULES,)).scalar_one()
    damaged = connection.exec_driver_sql("SELECT count(*) FROM fact_terms WHERE length(data) % 6 <> 0").scalar_one()
    problems = [f"fact {fact_id} is not indexed" for fact_id in missing]
    problems += [f"{stray:,} index rows belong to no fact"] if stray else []
    problems += [f"{old:,} index rows follow older rules"] if old else []
    problems += [f"{damaged:,} index rows are cut off"] if damaged else []
    return judge(iter(problems), sound="every fact is indexed for keyword search")


def check_aliases(connection: Connection) -> Outcome:
    """Whether every live alias can be read."""
    rows = connection.exec_driver_sql("SELECT id, text FROM facts WHERE kind = 'alias' AND superseded_by = ''")
    problems = (
        f"alias {fact_id} is not of the form `alias: term = word, word`"
        for fact_id, text in rows
        if parse_alias(text) is None
    )
    return judge(problems, sound="every alias can be read", verdict=Verdict.NOTICE)


def check_lineage(connection: Connection) -> Outcome:
    """Tombstones that point nowhere or in a circle; imported stores may have both, and recall lives with them."""
    replaced = replacements(connection)
    known = set(connection.exec_driver_sql("SELECT id FROM facts").scalars())
    return judge(
        chain(
            (f"facts replace each other in a circle through {circle[0]}" for circle in circles(replaced)),
            (
                f"fact {fact_id} was replaced by {by}, which is not in the store"
                for fact_id, by in replaced.items()
                if by not in known
            ),
        ),
        sound="every replaced fact leads to a live one",
        verdict=Verdict.NOTICE,
    )


def replacements(connection: Connection) -> dict[str, str]:
    """Which fact each tombstone points at."""
    rows = connection.exec_driver_sql("SELECT id, superseded_by FROM facts WHERE length(superseded_by) > 0")
    return {fact_id: by for fact_id, by in rows if by != SUPERSEDED_BY_AGENT}


def circles(replaced: dict[str, str]) -> Iterator[list[str]]:
    """The facts of each circle that tombstones form, once."""
    settled: set[str] = set()
    for start in replaced:
        path: dict[str, None] = {}
        at = start
        while at in replaced and at not in settled and at not in path:
            path[at] = None
            at = replaced[at]
        if at in path:
            members = list(path)
            yield members[members.index(at) :]
        settled.update(path)
