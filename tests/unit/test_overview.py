"""The figures of a store: each agrees with the list behind it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import Memory, Origin
from gm_engine.records import WEIGHT_BUCKETS, Confidence, DayCount, FactQuery
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Memory]:
    with Memory.open(
        tmp_path / "store", background=False, clock=clock, embedder=ScriptedEmbedder(), origin=Origin("desktop")
    ) as opened:
        yield opened


def set_weights(memory: Memory, weights: list[float]) -> None:
    ids = [memory.remember("ops", f"fact {n}").id for n in range(len(weights))]
    with sqlite3.connect(memory.data_dir / "ledger.sqlite") as ledger:
        ledger.executemany("UPDATE facts SET weight = ? WHERE id = ?", list(zip(weights, ids, strict=True)))
    ledger.close()


def test_an_empty_store_has_only_zeros(memory: Memory) -> None:
    found = memory.overview()
    assert (found.live, found.retired, found.unused, found.journal_entries) == (0, 0, 0, 0)
    assert found.weights == (0,) * WEIGHT_BUCKETS
    assert (found.agents, found.written, found.recalls, found.channels) == ((), (), (), ())


def test_counts_agree_with_the_lists_behind_them(memory: Memory) -> None:
    first = memory.remember("ops", "Rollbacks take ten minutes", confidence="verified")
    second = memory.remember("ops", "Odd label", origin=Origin("mcp", client="claude"))
    memory.remember("sales", "Nobody asked", confidence="unverified")
    memory.retire("ops", [second.id])
    memory.pin("ops", [first.id])
    memory.alias("ops", "k8s", ["kubernetes"])
    memory.recall("ops", "rollbacks")
    saved = memory.checkpoints.save("ops", state={})
    memory.checkpoints.save("ops", state={})
    memory.checkpoints.review(saved.id, "approved")
    memory.blocked.add("never again")
    found = memory.overview()
    assert (found.live, found.retired, found.aliases, found.pinned) == (2, 1, 1, 1)
    assert found.unused == len(memory.fact_ids(FactQuery(kind="content", unused=True))) == 1
    assert (found.checkpoints_to_review, found.counts.checkpoints, found.blocked) == (1, 2, 1)
    for label in Confidence:
        listed = memory.fact_ids(FactQuery(kind="content", confidence=frozenset({label})))
        assert getattr(found.confidence, label.value) == len(listed)
    assert dict(found.channels) == {"desktop": 2}
    assert found.recalls == (DayCount("2026-11-30", 1),)
    assert [count for _, count in found.recalls_by_client] == [1]
    assert found.journal_entries == memory.last_seq()


def test_every_bar_of_the_weights_counts_what_its_list_shows(memory: Memory) -> None:
    set_weights(memory, [0.0, 0.05, 0.1, 0.15, 0.3, 0.30000000000000004, 0.7, 0.7999999, 0.9, 1.0])
    bars = memory.overview().weights
    assert sum(bars) == 10
    for at, count in enumerate(bars):
        below = None if at == WEIGHT_BUCKETS - 1 else (at + 1) / WEIGHT_BUCKETS
        query = FactQuery(kind="content", weight_from=at / WEIGHT_BUCKETS, weight_below=below)
        assert len(memory.fact_ids(query)) == count
    assert bars == (2, 2, 0, 2, 0, 0, 0, 2, 0, 2)


def test_facts_are_counted_by_the_day_they_were_written(memory: Memory, clock: FrozenClock) -> None:
    memory.remember("ops", "today")
    gone = memory.remember("ops", "today, too")
    memory.retire("ops", [gone.id])
    clock.advance(86_400 * 3)
    memory.remember("ops", "three days later")
    assert memory.overview().written == (DayCount("2026-11-30", 2), DayCount("2026-12-03", 1))


def test_facts_from_before_1970_have_a_day(memory: Memory) -> None:
    memory.remember("ops", "old")
    with sqlite3.connect(memory.data_dir / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE facts SET created_ns = -1")
    ledger.close()
    assert memory.overview().written == (DayCount("1969-12-31", 1),)


def test_embedding_coverage_agrees_with_its_list(memory: Memory) -> None:
    memory.remember("ops", "one")
    memory.remember("ops", "two")
    assert len(memory.fact_ids(FactQuery(without_vector=True))) == memory.overview().vectors.pending == 2
    memory.wait_for_embeddings()
    assert memory.fact_ids(FactQuery(without_vector=True)) == []
    assert memory.overview().vectors.embedded == 2
