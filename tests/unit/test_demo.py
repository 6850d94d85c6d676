"""The demo store: the same for the same clock, rich enough to look around in, sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from gm_engine import FactQuery, Memory
from gm_engine.cli.payloads import entry_payload, fact_payload
from gm_engine.demo import build_demo
from gm_engine.doctor import Verdict, examine
from gm_engine.errors import InvalidInput
from tests.fakes.clock import FrozenClock


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data_dir = tmp_path_factory.mktemp("demo") / "store"
    build_demo(data_dir, clock=FrozenClock())
    return data_dir


def test_it_has_agents_facts_lineage_pins_aliases_checkpoints_and_a_graph(demo: Path) -> None:
    with Memory.open(demo, read_only=True, background=False) as memory:
        agents = {agent.agent_id: agent for agent in memory.agents()}
        assert {"support-desk", "sales-scout", "release-pilot", "workshop-planner", "__shared__"} == set(agents)
        assert sum(agent.live for agent in agents.values()) > 150
        assert (
            min(sum(getattr(agent, kind) for agent in agents.values()) for kind in ("retired", "pinned", "aliases")) > 3
        )
        deliveries = memory.fact_ids(FactQuery(agent_id="support-desk", text="Delivery inside Germany takes three"))
        assert len(memory.lineage(deliveries[0]).supersedes) == 2
        assert len(memory.checkpoints.list()) == 6
        assert len(memory.graph.entities()) > 30
        assert any(edge.sources for edge in memory.graph.edges())
        assert any(entry.verb == "undo" for entry in memory.journal(limit=1000))
        labels = {fact.confidence for fact in memory.facts(memory.fact_ids(FactQuery()))}
        assert labels == {"", "verified", "inferred", "unverified"}


def test_some_facts_have_been_used_and_the_others_have_faded(demo: Path) -> None:
    with Memory.open(demo, read_only=True, background=False) as memory:
        facts = memory.facts(memory.fact_ids(FactQuery()))
    assert any(fact.access_count for fact in facts)
    assert all(fact.weight == 1.0 for fact in facts if fact.pinned)
    assert min(fact.weight for fact in facts) < 0.2 < max(fact.weight for fact in facts if not fact.pinned) <= 1.0


def test_a_cycle_has_put_a_duplicate_a_near_one_and_a_contradiction_into_the_inbox(demo: Path) -> None:
    with Memory.open(demo, read_only=True, background=False) as memory:
        proposed = memory.inbox.list(source="consolidation")
        assert [card.kind for card in proposed] == ["exact_duplicate", "near_duplicate", "contradiction"]
        assert [bool(report.pruned) for report in memory.cycles()] == [False] * 5


def test_a_program_under_review_waits_with_three_facts(demo: Path) -> None:
    with Memory.open(demo, read_only=True, background=False) as memory:
        (client,) = memory.clients.waiting()
        assert (client.count, memory.clients.access(client.client)) == (3, "review")
        assert [card.kind for card in memory.inbox.list(source="review")] == ["write"] * 3
        assert memory.clients.list() == ()


def test_two_demo_stores_of_one_clock_are_alike_to_the_last_id(demo: Path, tmp_path: Path) -> None:
    build_demo(tmp_path / "again", clock=FrozenClock())
    stores = []
    for data_dir in (demo, tmp_path / "again"):
        with Memory.open(data_dir, read_only=True, background=False) as memory:
            facts = [fact_payload(fact) for fact in memory.facts(memory.fact_ids(FactQuery(status="all")))]
            stores.append((facts, [entry_payload(entry) for entry in memory.journal(limit=1000)]))
    assert stores[0] == stores[1]


def test_it_is_sound(demo: Path) -> None:
    assert [finding for finding in examine(demo) if finding.verdict is Verdict.BROKEN] == []


def test_it_never_overwrites_a_store(demo: Path) -> None:
    with pytest.raises(InvalidInput, match="already"):
        build_demo(demo, clock=FrozenClock())
