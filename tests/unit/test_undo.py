"""Undo of groups: whole or not at all, in a number of statements that does not grow with the group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gm_engine import BlockedValue, FactQuery, Memory, UndoConflict
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        yield opened


def statements(memory: Memory, act: Callable[[], object]) -> int:
    """How many different pieces of work the writer is asked for: many rows for one statement count once."""
    seen: list[str] = []
    writer = memory._ledger._writer
    assert writer is not None
    with writer.connect() as connection:
        raw: Any = connection.connection.driver_connection
    raw.set_trace_callback(lambda sql: seen.append(sql.split(" VALUES ")[0].split(" WHERE ")[0]))
    act()
    raw.set_trace_callback(None)
    return sum(1 for n, sql in enumerate(seen) if n == 0 or sql.split("=")[0] != seen[n - 1].split("=")[0])


@pytest.mark.parametrize("verb", ["retire", "pin", "copy", "label", "move"])
def test_the_number_of_statements_does_not_grow_with_the_group(memory: Memory, verb: str) -> None:
    counts = []
    for size in (3, 40):
        ids = [memory.remember("scout", f"{verb} {size} {n}").id for n in range(size)]
        match verb:
            case "copy" | "move":
                getattr(memory, verb)("scout", ids, "miner")
            case "label":
                memory.label("scout", ids, "verified")
            case _:
                getattr(memory, verb)("scout", ids)
        seq = memory.last_seq()
        counts.append(statements(memory, partial(memory.undo, seq)))
    assert counts[0] == counts[1]


def test_a_group_with_one_changed_fact_is_not_undone_at_all(memory: Memory) -> None:
    facts = [memory.remember("scout", f"Fact {n}") for n in range(5)]
    retired = memory.retire("scout", [fact.id for fact in facts])
    memory.restore("scout", [facts[3].id])
    with pytest.raises(UndoConflict) as conflict:
        memory.undo(retired[0].version)
    assert conflict.value.fields["ids"] == [facts[3].id]
    assert len(memory.fact_ids(FactQuery(status="retired"))) == 4


def test_several_verbs_of_one_action_are_undone_together_whatever_they_did(memory: Memory) -> None:
    fact = memory.remember("scout", "Move me.")
    before = memory.get(fact.id)
    group = memory.entry(memory.move("scout", [fact.id], "miner")[0].version).group_id
    memory.label("miner", [fact.id], "verified", group_id=group)
    memory.retire("miner", [fact.id], group_id=group)
    memory.copy("miner", [fact.id], "scout", group_id=group)
    undone = memory.undo(group)
    assert memory.get(fact.id) == before
    assert memory.fact_ids(FactQuery(status="all")) == [fact.id]
    assert [change.version_after for change in undone.changes][-1] == fact.version
    memory.redo(undone.seq)
    assert len(memory.fact_ids(FactQuery(status="all"))) == 2
    assert memory.get(fact.id).agent_id == "miner"


def test_the_entry_that_undo_returns_is_the_one_that_the_journal_keeps(memory: Memory) -> None:
    facts = [memory.remember("scout", f"Fact {n}") for n in range(3)]
    undone = memory.undo(memory.retire("scout", [fact.id for fact in facts])[0].version)
    assert undone == memory.journal(limit=1)[0]


def test_one_blocked_fact_keeps_the_whole_group_from_coming_back(memory: Memory) -> None:
    facts = [memory.remember("scout", f"Fact {n}") for n in range(3)]
    retired = memory.retire("scout", [fact.id for fact in facts])
    memory.blocked.add("Fact 1")
    with pytest.raises(BlockedValue):
        memory.undo(retired[0].version)
    assert memory.fact_ids(FactQuery()) == []
