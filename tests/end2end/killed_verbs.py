"""Runs every verb of a store again and again, each time killed at another statement, and looks at what is left.

    python -m tests.end2end.killed_verbs FOLDER

After a kill the store must be what it was before the verb or after it, and sound. Prints one line per violation and the
number of kills. The children are forked, so that a kill costs milliseconds.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gm_engine import Config, EmbeddingMode, FactQuery, Memory, NewProposal, StoreSettings, restore_backup
from gm_engine.doctor import content_checks, ledger_checks
from gm_engine.doctor.findings import Verdict
from gm_engine.graph.records import DictionaryEntry
from gm_engine.records import BackupSchedule
from tests.fakes.clock import FrozenClock

SECRET = "The code of the vault is Xyzzy-4711."
KILLED, DONE = 9, 7
MOST_KILLS = 14
Verb = Callable[[Memory], object]


def open_store(folder: Path) -> Memory:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, async_consolidate=False)
    clock = FrozenClock("2027-01-01T00:00:00Z")
    return Memory.open(folder, clock=clock, config=config, background=False)


def build(folder: Path) -> None:
    """A store with something for every verb."""
    with Memory.open(folder, clock=FrozenClock(), config=Config(async_consolidate=False), background=False) as memory:
        facts = [memory.remember("scout", f"Fact number {n}.") for n in range(6)]
        memory.remember("scout", SECRET)
        memory.remember("miner", SECRET)
        memory.retire("scout", [facts[1].id])
        memory.pin("scout", [facts[2].id])
        memory.blocked.add("Never again.")
        memory.checkpoints.save("scout", state={"step": 1})
        memory.graph.add("Ana", "person")
        memory.graph.add("Anna", "person")
        one, two = (entity.id for entity in memory.graph.entities())
        memory.graph.link(one, two, "knows")
        base = {fact.id: fact.version for fact in memory.facts([facts[3].id, facts[4].id])}
        ids = (facts[3].id, facts[4].id)
        memory.inbox.add([NewProposal("near_duplicate", "review", "scout", ids, "same", keep=ids[0], base=base)])
        memory.undo(memory.label("scout", [facts[5].id], "verified")[0].version)
        memory.backup()


def facts_of(memory: Memory, agent: str = "scout") -> list[str]:
    return memory.fact_ids(FactQuery(agent_id=agent, descending=False))


def latest(memory: Memory) -> str:
    return memory.checkpoints.latest("scout").id


def last_undo(memory: Memory) -> int:
    return next(entry.seq for entry in memory.journal() if entry.undoes)


VERBS: dict[str, Verb] = {
    "remember": lambda m: m.remember("scout", "A new fact about gates."),
    "revise": lambda m: m.revise("scout", facts_of(m)[:2], "One fact for two."),
    "retire": lambda m: m.retire("scout", facts_of(m)),
    "retire for ever": lambda m: m.retire("scout", facts_of(m)[:2], block=True),
    "restore": lambda m: m.restore("scout", m.fact_ids(FactQuery(status="retired"))),
    "pin": lambda m: m.pin("scout", facts_of(m)),
    "unpin": lambda m: m.unpin("scout", m.fact_ids(FactQuery(pinned=True))),
    "label": lambda m: m.label("scout", facts_of(m), "verified"),
    "move": lambda m: m.move("scout", facts_of(m), "miner"),
    "copy": lambda m: m.copy("scout", facts_of(m), "miner"),
    "alias": lambda m: m.alias("scout", "gate", ["door"]),
    "undo": lambda m: m.undo(1),
    "redo": lambda m: m.redo(last_undo(m)),
    "block": lambda m: m.blocked.add("Not this."),
    "unblock": lambda m: m.blocked.remove("Never again."),
    "save a checkpoint": lambda m: m.checkpoints.save("scout", state={"step": 2}),
    "settings": lambda m: m.set_settings(StoreSettings(min_relevance=0.1, coverage_gate=0.2)),
    "schedule": lambda m: m.set_backup_schedule(BackupSchedule(every_h=12)),
    "store a value": lambda m: m.store_value("notes", "one", {"kept": True}),
    "remember extracted": lambda m: m.remember_extracted("scout", "Without a model this is one fact."),
    "review a checkpoint": lambda m: m.checkpoints.review(latest(m), "approved", note="Fine."),
    "make a checkpoint current": lambda m: m.checkpoints.make_current(latest(m)),
    "delete a checkpoint": lambda m: m.checkpoints.delete(latest(m)),
    "rename an entity": lambda m: m.graph.rename(m.graph.resolve("Anna").id, "Annabel"),
    "retype entities": lambda m: m.graph.retype([entity.id for entity in m.graph.entities()], "place"),
    "unlink entities": lambda m: m.graph.unlink(m.graph.resolve("Ana").id, m.graph.resolve("Anna").id),
    "delete an entity": lambda m: m.graph.delete(m.graph.resolve("Anna").id),
    "define a name": lambda m: m.graph.define(DictionaryEntry("Ana", "concept", ("Anna", "Anita"))),
    "accept": lambda m: m.inbox.accept(m.inbox.list()[0].id),
    "reject": lambda m: m.inbox.reject(m.inbox.list()[0].id),
    "merge entities": lambda m: m.graph.merge([m.graph.resolve("Anna").id], m.graph.resolve("Ana").id),
    "purge": lambda m: m.purge(SECRET),
}


def state(folder: Path) -> dict[str, Any]:
    """Everything that the journal keeps, as one value."""
    with Memory.open(folder, read_only=True, background=False, clock=FrozenClock()) as memory:
        facts = memory.facts(memory.fact_ids(FactQuery(status="all", sort="text")))
        return {
            "facts": [repr(fact) for fact in facts],
            "journal": [repr(entry) for entry in memory.journal(limit=1000)],
            "blocked": [repr((block.key, block.text)) for block in memory.blocked.list()],
            "checkpoints": [repr(found) for found in memory.checkpoints.list()],
            "graph": [repr(memory.graph.entities()), repr(memory.graph.edges())],
            "inbox": [repr(proposal) for proposal in memory.inbox.list("open")],
            "settings": [repr(memory.settings), repr(memory.backup_schedule), repr(memory.stored_values("notes"))],
            "dictionary": [repr(entry) for entry in memory.graph.dictionary()],
        }


def problems(folder: Path) -> list[str]:
    """What the doctor would find broken, without its slow checks; an unfinished purge is not one of them."""
    found = []
    with Memory.open(folder, read_only=True, background=False) as memory, memory._ledger.read() as connection:
        for check in (
            ledger_checks.check_file,
            ledger_checks.check_replay,
            ledger_checks.check_terms,
            content_checks.check_references,
            content_checks.check_receipts,
        ):
            verdict, detail = check(connection)
            if verdict is not Verdict.SOUND:
                found.append(detail)
    return found


def in_child(act: Callable[[], None]) -> int:
    """Runs `act` in a forked process; its exit code."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            act()
            os._exit(DONE)
        finally:  # whatever it raised, this process must never go on as its parent
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def until(folder: Path, verb: Verb, stop_at: int | None, count_to: Path | None = None) -> int:
    """The verb in a child that dies before its statement number `stop_at`; writes how many there were."""

    def act() -> None:
        memory = open_store(folder)
        seen = 0

        def count(_: str) -> None:
            nonlocal seen
            seen += 1
            if stop_at is not None and seen > stop_at:
                os._exit(KILLED)

        writer = memory._ledger._writer
        assert writer is not None
        with writer.connect() as connection:
            raw: Any = connection.connection.driver_connection
        raw.set_trace_callback(count)
        verb(memory)
        if count_to is not None:
            count_to.write_text(str(seen))

    return in_child(act)


def check_verb(name: str, verb: Verb, template: Path, folder: Path) -> tuple[int, list[str]]:
    """Kills one verb at points all over its run; how many kills, and what was wrong after them."""
    before = state(template)
    whole, counted = folder / "whole", folder / "count"
    shutil.copytree(template, whole)
    if until(whole, verb, None, counted) != DONE:
        return 0, [f"{name}: does not run"]
    after, statements = state(whole), int(counted.read_text())
    if after == before:
        return 0, [f"{name}: changes nothing"]
    wrong = [f"{name}: {problem}" for problem in problems(whole)]
    step = max(1, statements // MOST_KILLS)
    points = sorted({*range(0, statements, step), statements - 1, statements - 2} & set(range(statements)))
    for point in points:
        copy = folder / f"at-{point}"
        shutil.copytree(template, copy)
        if until(copy, verb, point) != KILLED:
            wrong.append(f"{name}: was not killed at statement {point} of {statements}")
        left = state(copy)
        if left not in (before, after):
            parts = [part for part in before if left[part] not in (before[part], after[part])] or ["a mixture"]
            wrong.append(f"{name}: killed at statement {point} of {statements}: {', '.join(parts)} half done")
        wrong += [f"{name}: killed at statement {point}: {problem}" for problem in problems(copy)]
        if name == "purge":
            wrong += check_purge(copy)
        shutil.rmtree(copy)
    shutil.rmtree(whole)
    return len(points), wrong


def check_purge(folder: Path) -> list[str]:
    """A killed purge is finished by asking again, or was not begun."""
    with open_store(folder) as memory:
        begun = SECRET not in [fact.text for fact in memory.list_facts(FactQuery())]
        report = memory.finish_purges()
    if not begun:
        return [] if report is None else ["purge: something was begun, and the text is still there"]
    needle = SECRET.encode()
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [f"purge: {path.name} still holds the text" for path in files if needle in path.read_bytes()]


class Deadline:
    """A progress that ends the process at its report number `limit`."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def __call__(self, done: int, total: int | None, what: str) -> None:
        self.left -= 1
        if self.left < 0:
            os._exit(KILLED)


def make_backup(folder: Path, progress: Deadline) -> None:
    with open_store(folder / "store") as memory:
        memory.backup(folder / "out.zip", progress=progress)


def restore(folder: Path, progress: Deadline) -> None:
    (backup,) = (folder / "store" / "backups").glob("*.zip")
    restore_backup(backup, folder / "restored", progress=progress)


def check_files(template: Path, folder: Path) -> tuple[int, list[str]]:
    """Backups and restores, killed at each report of progress: a whole file, a whole store, or nothing."""
    kills = 0
    wrong: list[str] = []
    for act in (make_backup, restore):
        code, limit = KILLED, 0
        while code != DONE:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(template, folder / "store")
            code = in_child(partial(act, folder, Deadline(limit)))
            limit += 1
            kills += code == KILLED
            if code not in (KILLED, DONE):
                return kills, [*wrong, f"{act.__name__}: does not run"]
            if code == KILLED and ((folder / "out.zip").exists() or (folder / "restored").exists()):
                wrong.append(f"{act.__name__}: killed at report {limit}, something half done has its final name")
    return kills, wrong


def main(folder: Path) -> int:
    """Kills every verb; prints what was wrong and how many kills there were."""
    template = folder / "template"
    build(template)
    kills = 0
    wrong: list[str] = []
    for name, verb in VERBS.items():
        work = folder / "work"
        work.mkdir()
        count, found = check_verb(name, verb, template, work)
        kills, wrong = kills + count, wrong + found
        shutil.rmtree(work)
    count, found = check_files(template, folder / "files")
    print(json.dumps({"kills": kills + count, "wrong": wrong + found}, indent=1))
    return 1 if wrong or found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
