"""Examines a store without changing it: is the file sound, does the journal agree with the facts, what is missing?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from gm_engine.clock import SystemClock
from gm_engine.errors import EmbeddingFailed, GrayMatterError
from gm_engine.memory import Memory
from gm_engine.progress import Progress, no_progress
from gm_engine.ranking.aliases import parse_alias
from gm_engine.records import SUPERSEDED_BY_AGENT
from gm_engine.store.database import Ledger
from gm_engine.store.facts import BOOKKEEPING
from gm_engine.store.tables import SCHEMA_VERSION
from gm_engine.terms import TERMS_RULES

_SHOWN = 3
_JOURNALLED = (
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


class Verdict(StrEnum):
    """`sound`; `notice`: works, but somebody may want to know; `broken`: something contradicts itself."""

    SOUND = "sound"
    NOTICE = "notice"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, in a sentence."""

    check: str
    verdict: Verdict
    detail: str


def examine(data_dir: Path, *, progress: Progress = no_progress) -> tuple[Finding, ...]:
    """Runs every check on the store in `data_dir`, which is only read.

    A check that cannot run because of damage is a finding, too. Raises what opening the store raises.
    """
    findings: list[Finding] = []
    with Ledger.open(data_dir, clock=SystemClock(), read_only=True) as ledger:
        for done, (name, check) in enumerate(_CHECKS.items()):
            progress(done, len(_CHECKS) + 2, "Examining the store")
            findings.append(_run(name, ledger, check))
    progress(len(_CHECKS), len(_CHECKS) + 2, "Examining the store")
    findings.append(_vectors(data_dir))
    findings.append(_model())
    progress(len(_CHECKS) + 2, len(_CHECKS) + 2, "Examining the store")
    return tuple(findings)


_Outcome = tuple[Verdict, str]


def _run(name: str, ledger: Ledger, check: Callable[[Connection], _Outcome]) -> Finding:
    try:
        with ledger.read() as connection:
            return Finding(name, *check(connection))
    except GrayMatterError as error:
        return Finding(name, Verdict.BROKEN, error.message)


def _judge(problems: Iterator[str], *, sound: str, verdict: Verdict = Verdict.BROKEN) -> _Outcome:
    """Sound when there is no problem; else the number of problems and the first few of them."""
    count = 0
    shown: list[str] = []
    for problem in problems:
        count += 1
        if len(shown) < _SHOWN:
            shown.append(problem)
    if count == 0:
        return Verdict.SOUND, sound
    rest = f"; and {count - len(shown):,} more" if count > len(shown) else ""
    return verdict, f"{'; '.join(shown)}{rest}"


def _file(connection: Connection) -> _Outcome:
    rows = connection.exec_driver_sql("PRAGMA integrity_check(100)").scalars().all()
    keys = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    problems = [str(row) for row in rows if row != "ok"] + [
        f"{row[0]} names a row of {row[2]} that is gone" for row in keys
    ]
    return _judge(iter(problems), sound="SQLite finds no damage")


def _schema(connection: Connection) -> _Outcome:
    version = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
    if version == SCHEMA_VERSION:
        return Verdict.SOUND, f"schema {version}"
    return Verdict.NOTICE, f"schema {version}; the next program that writes brings it to {SCHEMA_VERSION}"


def _replay(connection: Connection) -> _Outcome:
    """Replays every change of a fact and compares the outcome with the rows, but for bookkeeping."""
    states, versions = replayed_facts(connection)
    return _judge(_differences(connection, states, versions), sound=f"the journal replays to {len(states):,} facts")


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


def _differences(connection: Connection, states: dict[str, dict[str, Any]], versions: dict[str, int]) -> Iterator[str]:
    seen = 0
    for row in connection.exec_driver_sql(f"SELECT id, version, {', '.join(_JOURNALLED)} FROM facts"):
        found = dict(zip(_JOURNALLED, row[2:], strict=True))
        found["origin"] = json.loads(found["origin"])
        wanted = states.get(row[0])
        seen += wanted is not None
        if wanted is None:
            yield f"fact {row[0]} is not in the journal"
        elif wanted != found:
            names = sorted(name for name in _JOURNALLED if wanted.get(name) != found[name])
            yield f"fact {row[0]} differs from the journal in {', '.join(names)}"
        elif versions[row[0]] != row[1]:
            yield f"fact {row[0]} has version {row[1]}, the journal says {versions[row[0]]}"
    if seen < len(states):
        yield f"{len(states) - seen:,} facts of the journal are gone"


def _terms(connection: Connection) -> _Outcome:
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
    return _judge(iter(problems), sound="every fact is indexed for keyword search")


def _aliases(connection: Connection) -> _Outcome:
    rows = connection.exec_driver_sql("SELECT id, text FROM facts WHERE kind = 'alias' AND superseded_by = ''")
    problems = (
        f"alias {fact_id} is not of the form `alias: term = word, word`"
        for fact_id, text in rows
        if parse_alias(text) is None
    )
    return _judge(problems, sound="every alias can be read", verdict=Verdict.NOTICE)


def _lineage(connection: Connection) -> _Outcome:
    """Tombstones that point nowhere or in a circle; imported stores may have both, and recall lives with them."""
    rows = connection.exec_driver_sql("SELECT id, superseded_by FROM facts WHERE length(superseded_by) > 0")
    replaced: dict[str, str] = {fact_id: by for fact_id, by in rows if by != SUPERSEDED_BY_AGENT}
    known = set(connection.exec_driver_sql("SELECT id FROM facts").scalars())
    return _judge(
        _broken_chains(replaced, known), sound="every replaced fact leads to a live one", verdict=Verdict.NOTICE
    )


def _broken_chains(replaced: dict[str, str], known: set[str]) -> Iterator[str]:
    settled: set[str] = set()
    for start, by in replaced.items():
        if by not in known:
            yield f"fact {start} was replaced by {by}, which is not in the store"
        path: dict[str, None] = {}
        at = start
        while at in replaced and at not in settled and at not in path:
            path[at] = None
            at = replaced[at]
        if at in path:
            yield f"facts replace each other in a circle through {at}"
        settled.update(path)


def _vectors(data_dir: Path) -> Finding:
    name = "vectors"
    try:
        with Memory.open(data_dir, read_only=True, background=False) as memory:
            vectors = memory.status().vectors
    except GrayMatterError as error:
        return Finding(name, Verdict.BROKEN, error.message)
    state = f"{vectors.embedded:,} live texts have a vector, {vectors.pending:,} do not yet; path: {vectors.path}"
    return Finding(name, Verdict.NOTICE if vectors.pending else Verdict.SOUND, state)


def _model() -> Finding:
    from gm_engine.embedding.minilm import MiniLM

    try:
        MiniLM().verify()
    except EmbeddingFailed as error:
        return Finding("model", Verdict.BROKEN, error.message)
    return Finding("model", Verdict.SOUND, "the bundled model's files are those that were shipped")


_CHECKS: dict[str, Callable[[Connection], _Outcome]] = {
    "file": _file,
    "schema": _schema,
    "journal": _replay,
    "keyword index": _terms,
    "aliases": _aliases,
    "lineage": _lineage,
}
