"""Examines a store without changing it, and puts right what can be, when asked to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection

from gm_engine.clock import Clock, SystemClock, format_ns
from gm_engine.doctor import content_checks, ledger_checks
from gm_engine.doctor.findings import Finding, Outcome, Verdict
from gm_engine.doctor.repairs import LEDGER_REPAIRS, STORE_REPAIRS
from gm_engine.doctor.vector_paths import check_older_models
from gm_engine.errors import EmbeddingFailed, GrayMatterError, InvalidInput
from gm_engine.memory import Memory
from gm_engine.progress import Progress, no_progress
from gm_engine.records import Origin
from gm_engine.store.database import Ledger
from gm_engine.store.tables import SCHEMA_VERSION

__all__ = ["Finding", "Verdict", "examine", "repair"]

_STAGE = "Examining the store"


def examine(data_dir: Path, *, progress: Progress = no_progress) -> tuple[Finding, ...]:
    """Runs every check on the store in `data_dir`, which is only read.

    A check that cannot run because of damage is a finding, too. Raises what opening the store raises.
    """
    findings: list[Finding] = []
    with Ledger.open(data_dir, clock=SystemClock(), read_only=True) as ledger:
        checks = _checks(ledger)
        for done, (name, check) in enumerate(checks.items()):
            progress(done, len(checks) + 3, _STAGE)
            findings.append(_run(name, ledger, check))
    for last in (_vectors, _backups, _model):
        progress(len(findings), len(checks) + 3, _STAGE)
        findings.append(last(data_dir))
    progress(len(findings), len(findings), _STAGE)
    return tuple(_with_repair(finding) for finding in findings)


def repair(
    data_dir: Path,
    checks: Sequence[str] | None = None,
    *,
    origin: Origin | None = None,
    clock: Clock | None = None,
    progress: Progress = no_progress,
) -> tuple[Finding, ...]:
    """Does the repairs that `examine` offers, all or those of the named checks, and returns what it finds then.

    Nothing that the journal keeps is lost: the facts follow the journal, and other changes are entries that can be
    undone. Raises `InvalidInput` for a check that has no repair.
    """
    unknown = [name for name in checks or () if name not in LEDGER_REPAIRS and name not in STORE_REPAIRS]
    if unknown:
        raise InvalidInput(f"There is no repair of {unknown[0]!r}.", field="checks")
    offered = [finding.check for finding in examine(data_dir, progress=progress) if finding.repair]
    chosen = [name for name in offered if checks is None or name in checks]
    who, now = origin or Origin("library"), clock or SystemClock()
    ledger_repairs = [name for name in LEDGER_REPAIRS if name in chosen]
    if ledger_repairs:
        with Ledger.open(data_dir, clock=now) as ledger:
            for name in ledger_repairs:
                LEDGER_REPAIRS[name][0](ledger, who, progress)
    for name in (name for name in STORE_REPAIRS if name in chosen):
        STORE_REPAIRS[name][0](data_dir, now, who, progress)
    return examine(data_dir, progress=progress)


def _with_repair(finding: Finding) -> Finding:
    """Circles can be broken, a tombstone that points nowhere cannot be helped; the same with links."""
    helpless = {"lineage": "in a circle", "receipts": "names a fact that is gone"}
    if finding.verdict is Verdict.SOUND or helpless.get(finding.check, "") not in finding.detail:
        return finding
    found = LEDGER_REPAIRS.get(finding.check) or STORE_REPAIRS.get(finding.check)
    return finding if found is None else replace(finding, repair=found[1])


def _run(name: str, ledger: Ledger, check: Callable[[Connection], Outcome]) -> Finding:
    try:
        with ledger.read() as connection:
            return Finding(name, *check(connection))
    except GrayMatterError as error:
        return Finding(name, Verdict.BROKEN, error.message)
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # a damaged row may hold anything
        return Finding(name, Verdict.BROKEN, f"rows hold what cannot be read ({type(error).__name__}: {error})")


def _checks(ledger: Ledger) -> dict[str, Callable[[Connection], Outcome]]:
    """The checks that the store's schema has tables for."""
    try:
        with ledger.read() as connection:
            schema = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
    except GrayMatterError:
        schema = 0
    return _LEDGER_CHECKS if schema < SCHEMA_VERSION else {**_LEDGER_CHECKS, **_CONTENT_CHECKS}


def _vectors(data_dir: Path) -> Finding:
    name = "vectors"
    try:
        with Memory.open(data_dir, read_only=True, background=False) as memory:
            vectors = memory.status().vectors
    except GrayMatterError as error:
        return Finding(name, Verdict.BROKEN, error.message)
    state = f"{vectors.embedded:,} live texts have a vector, {vectors.pending:,} do not yet; path: {vectors.path}"
    return Finding(name, Verdict.NOTICE if vectors.pending else Verdict.SOUND, state)


def _backups(data_dir: Path) -> Finding:
    from gm_engine.store.backup_schedule import due_ns, known_backups, load_schedule

    name, clock = "backups", SystemClock()
    try:
        with Ledger.open(data_dir, clock=clock, read_only=True) as ledger, ledger.read() as connection:
            found, schedule = known_backups(ledger), load_schedule(connection)
    except GrayMatterError as error:
        return Finding(name, Verdict.BROKEN, error.message)
    unreadable = [backup for backup in found if backup.problem]
    if unreadable:
        return Finding(name, Verdict.NOTICE, "; ".join(backup.problem.rstrip(".") for backup in unreadable[:3]))
    state = "there is no backup in the store's own folder"
    if found:
        state = f"{len(found):,} backups, the newest of {format_ns(found[0].made_ns)}"
    now_ns = clock.now_ns()
    due = due_ns(schedule, found, now_ns)
    if due is not None and due <= now_ns:
        return Finding(name, Verdict.NOTICE, f"{state}; the schedule asks for one, every {schedule.every_h} hours")
    return Finding(name, Verdict.SOUND, state)


def _model(data_dir: Path) -> Finding:
    del data_dir
    from gm_engine.embedding.minilm import MiniLM

    try:
        MiniLM().verify()
    except EmbeddingFailed as error:
        return Finding("model", Verdict.BROKEN, error.message)
    return Finding("model", Verdict.SOUND, "the bundled model's files are those that were shipped")


_LEDGER_CHECKS: dict[str, Callable[[Connection], Outcome]] = {
    "file": ledger_checks.check_file,
    "schema": ledger_checks.check_schema,
    "journal": ledger_checks.check_replay,
    "keyword index": ledger_checks.check_terms,
    "aliases": ledger_checks.check_aliases,
    "lineage": ledger_checks.check_lineage,
    "older models": check_older_models,
}
_CONTENT_CHECKS: dict[str, Callable[[Connection], Outcome]] = {
    "references": content_checks.check_references,
    "receipts": content_checks.check_receipts,
    "checkpoints": content_checks.check_checkpoints,
    "secrets": content_checks.check_secrets,
    "blocked values": content_checks.check_blocked,
    "purges": content_checks.check_purges,
}
