"""A recall that may look at some facts only: what is outside of the scope neither ranks nor counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import FactScope, Memory
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    clock = FrozenClock("2026-11-01T09:00:00Z")
    with Memory.open(tmp_path, background=False, clock=clock, embedder=ScriptedEmbedder()) as memory:
        for number in range(6):
            memory.remember("ops", f"Rollback number {number} took five minutes.")
            clock.advance(86_400)
        memory.wait_for_embeddings()
        yield memory


def test_a_range_of_creation_is_half_open(memory: Memory) -> None:
    facts = sorted(memory.recall("ops", "rollback", preview=True).facts, key=lambda fact: fact.created_ns)
    scope = FactScope(created_from_ns=facts[1].created_ns, created_until_ns=facts[4].created_ns)
    answer = memory.recall("ops", "rollback", preview=True, scope=scope)
    assert {fact.id for fact in answer.facts} == {fact.id for fact in facts[1:4]}
    assert answer.coverage.eligible == 3


def test_named_facts_are_found_however_low_they_would_rank(memory: Memory) -> None:
    facts = memory.recall("ops", "rollback number 5", preview=True).facts
    wanted = frozenset([facts[-1].id, "an id that no fact has"])
    answer = memory.recall("ops", "rollback number 5", preview=True, top_k=1, scope=FactScope(ids=wanted))
    assert [fact.id for fact in answer.facts] == [facts[-1].id]


def test_an_empty_scope_finds_nothing(memory: Memory) -> None:
    answer = memory.recall("ops", "rollback", preview=True, scope=FactScope(ids=frozenset()))
    assert (answer.facts, answer.coverage.eligible) == ((), 0)


def test_a_scope_holds_in_the_past_too(memory: Memory) -> None:
    facts = sorted(memory.recall("ops", "rollback", preview=True).facts, key=lambda fact: fact.created_ns)
    memory.retire("ops", [facts[1].id])
    scope = FactScope(created_until_ns=facts[3].created_ns)
    then = facts[2].created_ns
    answer = memory.recall("ops", "rollback", preview=True, as_of_ns=then, scope=scope)
    assert {fact.id for fact in answer.facts} == {fact.id for fact in facts[:3]}
