"""Recall as of a moment: facts that went elsewhere since, came in later, or are gone for good."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, Memory
from gm_engine.ranking import recall as recall_module
from tests.fakes.clock import FrozenClock


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Memory]:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=clock, config=config, background=False) as opened:
        yield opened


def later(clock: FrozenClock) -> int:
    """A moment after everything so far."""
    clock.advance(1800)
    at_ns = clock.at_ns
    clock.advance(1800)
    return at_ns


def found(memory: Memory, agent_id: str, query: str, at_ns: int | None = None) -> tuple[str, ...]:
    return memory.recall(agent_id, query, as_of_ns=at_ns, preview=True).texts


def test_a_fact_that_moved_away_since_is_found_where_it_was(memory: Memory, clock: FrozenClock) -> None:
    gate = memory.remember("scout", "The gate opens at nine.")
    memory.remember("scout", "The bridge is closed.")
    then = later(clock)
    memory.move("scout", [gate.id], "miner")
    assert found(memory, "scout", "gate nine") == ("The bridge is closed.",)
    assert found(memory, "scout", "gate nine", then)[0] == "The gate opens at nine."
    assert found(memory, "miner", "gate nine", then) == ()
    assert found(memory, "miner", "gate nine") == ("The gate opens at nine.",)


def test_a_retired_fact_that_came_back_from_another_agent_is_found_by_neither(
    memory: Memory, clock: FrozenClock
) -> None:
    gate = memory.remember("scout", "The gate opens at nine.")
    memory.remember("miner", "The bridge is closed.")
    memory.retire("scout", [gate.id])
    then = later(clock)
    memory.restore("scout", [gate.id])
    memory.move("scout", [gate.id], "miner")
    assert found(memory, "scout", "gate", then) == ()
    assert found(memory, "miner", "gate", then) == ("The bridge is closed.",)


def test_a_purged_text_is_found_at_no_moment(memory: Memory, clock: FrozenClock) -> None:
    memory.remember("scout", "The gate code is 4711.")
    memory.remember("scout", "The bridge is closed.")
    then = later(clock)
    memory.purge("The gate code is 4711.")
    assert found(memory, "scout", "gate code", then) == ("The bridge is closed.",)


def test_what_an_import_brings_is_found_since_its_own_time(memory: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    memory.remember("scout", "The bridge is closed.")
    then = later(clock)
    rows = [
        {"id": number, "agent_id": "scout", "text": text, "created_at": f"{year}-01-01T00:00:00Z", "weight": 1.0}
        for number, text, year in (
            ("01ARZ3NDEKTSV4RRFFQ69G5FA1", "The old gate opens at nine.", 2020),
            ("01ARZ3NDEKTSV4RRFFQ69G5FA2", "The new gate opens at ten.", 2090),
        )
    ]
    (tmp_path / "memories.json").write_text(json.dumps(rows))
    memory.import_store(tmp_path / "memories.json")
    assert len(found(memory, "scout", "gate")) == 3
    assert set(found(memory, "scout", "gate", then)) == {"The old gate opens at nine.", "The bridge is closed."}


def test_more_namespaces_and_moments_than_are_kept_in_memory_are_answered_alike(
    memory: Memory, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_module, "_NAMESPACES_KEPT", 2)
    monkeypatch.setattr(recall_module, "_PASTS_KEPT", 2)
    moments = []
    for number in range(4):
        memory.remember(f"agent {number}", f"The gate has number {number}.")
        moments.append(later(clock))
    for _ in range(2):
        for number, at_ns in enumerate(moments):
            wanted = (f"The gate has number {number}.",)
            assert found(memory, f"agent {number}", "gate") == wanted
            assert found(memory, f"agent {number}", "gate", at_ns) == wanted
            assert found(memory, "agent 3", "gate", at_ns) == (wanted if number == 3 else ())
