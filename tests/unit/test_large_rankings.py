"""Ranking where there is much: tables of very many facts, many changes at once, two states of one namespace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gm_engine import SignalWeights
from gm_engine.ranking import snapshot as snapshot_module
from gm_engine.ranking.postings import _stable_order
from gm_engine.ranking.rank_table import make_rank_table
from gm_engine.ranking.recall import Ranker, RecallRequest
from gm_engine.ranking.snapshot import Snapshot, follow, load_snapshot
from gm_engine.records import Origin
from gm_engine.store.database import Ledger
from gm_engine.store.facts import NewFact, insert_facts
from tests.fakes.clock import FrozenClock

COUNT = 2500


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path, clock=FrozenClock()) as opened:
        yield opened


def add(ledger: Ledger, texts: list[str], *, first: int = 0) -> None:
    """Facts of one namespace, one second apart."""
    origin = Origin("library")
    new = [NewFact(f"f{n:05}", "ana", text, n * 10**9, origin) for n, text in enumerate(texts, first)]
    with ledger.write("remember", origin=origin) as tx:
        insert_facts(tx, new, language="english")


def asking(weights: SignalWeights, top_k: int) -> RecallRequest:
    return RecallRequest("ana", "gate", top_k, None, 0.0, weights, 0.0, 0.0, now_ns=10**15)


@pytest.mark.parametrize("copies", [1, 40])
@pytest.mark.parametrize("weights", [SignalWeights(0.0, 1.0, 0.2), SignalWeights(0.0, 0.2, 1.0)])
def test_a_table_of_some_places_gives_the_same_places_as_a_search_of_very_many_facts(
    ledger: Ledger, copies: int, weights: SignalWeights
) -> None:
    words = ["gate", "gate gate quay", "quay", "gate and a longer text about the quay"]
    add(ledger, [f"{words[n * 7 % 4]} {n // copies * 31 % COUNT}" for n in range(COUNT)])
    ranker = Ranker(ledger, None, None)
    table = make_rank_table(ranker, asking(SignalWeights(), 10), deepest=10)
    assert len(table.facts) < COUNT
    wanted = [hit.id for hit in ranker.recall(asking(weights, 10)).facts()]
    assert [standing.fact.id for standing in table.rerank(signal_weights=weights)] == wanted
    assert len(wanted) == 10


def state(snapshot: Snapshot) -> tuple[list[str], list[bool]]:
    return list(snapshot.ids[: snapshot.size]), snapshot.live.tolist()


def test_two_searches_that_follow_one_state_grow_apart(ledger: Ledger) -> None:
    add(ledger, ["one", "two"])
    with ledger.read() as connection:
        known = load_snapshot(connection, "ana", ledger.last_seq())
    add(ledger, ["three"], first=2)
    with ledger.read() as connection:
        first = follow(connection, known, ledger.last_seq())
    add(ledger, ["four"], first=3)
    with ledger.read() as connection:
        second = follow(connection, known, ledger.last_seq())
        fresh = load_snapshot(connection, "ana", ledger.last_seq())
    assert state(known) == (["f00000", "f00001"], [True, True])
    assert state(first)[0] == ["f00000", "f00001", "f00002"]
    assert state(second) == state(fresh)


def test_a_namespace_of_which_very_much_changed_is_read_anew(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_module, "_RELOAD_AT", 3)
    add(ledger, ["one"])
    with ledger.read() as connection:
        known = load_snapshot(connection, "ana", ledger.last_seq())
    for count in (2, 5):
        add(ledger, [f"more {n}" for n in range(count)], first=known.size)
        with ledger.read() as connection:
            known = follow(connection, known, ledger.last_seq())
            assert state(known) == state(load_snapshot(connection, "ana", ledger.last_seq()))


@pytest.mark.parametrize("scale", [1, 70_000])
def test_numbers_of_any_size_are_put_in_a_stable_order(scale: int) -> None:
    values = np.array([3, 1, 2, 1, 0, 3, 1], np.uint32) * np.uint32(scale)
    assert _stable_order(values).tolist() == [4, 1, 3, 6, 2, 0, 5]
