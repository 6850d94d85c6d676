"""The store as it was: lists, recall, graph, checkpoints, and what differs between two moments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import AsOfUnsupported, FactQuery, InvalidInput, Memory, NotFound, ReadOnlyStore
from gm_engine.clock import NS_PER_S, format_ns
from gm_engine.records import Edge, Entity, Origin
from gm_engine.store.database import Ledger
from gm_engine.store.entities import upsert_edges, upsert_entities
from tests.fakes.clock import FrozenClock, instant
from tests.fakes.command_line import run
from tests.fakes.embedder import ScriptedEmbedder

HOUR = 3600 * NS_PER_S


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=clock, embedder=ScriptedEmbedder(), background=False) as opened:
        yield opened


def later(clock: FrozenClock) -> int:
    """A moment after everything so far, with an hour of silence around it."""
    clock.advance(1800)
    at_ns = clock.at_ns
    clock.advance(1800)
    return at_ns


def texts(source: Memory, at_ns: int, query: FactQuery | None = None) -> list[str]:
    with source.at(at_ns) as view:
        return [fact.text for fact in view.facts(view.fact_ids(query or FactQuery()))]


def test_a_revised_retired_and_moved_fact_shows_as_it_was(memory: Memory, clock: FrozenClock) -> None:
    first = memory.remember("scout", "The gate opens at nine.", confidence="verified")
    second = memory.remember("scout", "The bridge is closed.")
    memory.pin("scout", [second.id])
    then = later(clock)
    memory.revise("scout", [first.id], "The gate opens at ten.")
    memory.retire("scout", [second.id])
    memory.label("scout", [second.id], "unverified")
    memory.move("scout", [second.id], "miner")
    with memory.at(then) as view:
        assert [fact.id for fact in view.list_facts(FactQuery(agent_id="scout"))] == [second.id, first.id]
        assert view.get(second.id).pinned
        assert view.get(second.id).confidence == ""
        assert not view.reconstructed
        assert [agent.agent_id for agent in view.agents()] == ["scout"]
        assert view.stats("scout").fact_count == 2
        assert view.lineage(first.id).superseded_by == ()
    assert texts(memory, clock.at_ns) == ["The gate opens at ten."]


def test_a_fact_that_was_undone_shows_while_it_existed_and_not_before(memory: Memory, clock: FrozenClock) -> None:
    start = later(clock)
    fact = memory.remember("scout", "Short-lived \0 fact.")
    during = later(clock)
    undone = memory.undo(fact.version)
    gone = later(clock)
    memory.redo(undone.seq)
    assert [texts(memory, at) for at in (start, during, gone, clock.at_ns)] == [[], [fact.text], [], [fact.text]]
    with memory.at(during) as view:
        assert view.facts([fact.id]) == [fact]
        assert view.fact_ids(FactQuery(text="lived \0")) == [fact.id]
    with memory.at(gone) as view, pytest.raises(NotFound):
        view.get(fact.id)


def test_recall_answers_from_the_moment_and_counts_nothing(memory: Memory, clock: FrozenClock) -> None:
    old = memory.remember("scout", "The gate opens at nine.")
    then = later(clock)
    memory.revise("scout", [old.id], "The gate opens at ten.")
    with memory.at(then) as view:
        assert view.can_recall
        assert [fact.text for fact in view.recall("scout", "gate opens").facts] == ["The gate opens at nine."]
        assert [r.fact.text for r in view.recall_explain("scout", "gate").receipts] == ["The gate opens at nine."]
    assert memory.get(old.id).access_count == 0


def write_export(path: Path, *facts: tuple[str, str, str]) -> Path:
    records = [
        {"id": fact_id, "agent_id": "scout", "text": text, "created_at": at, "weight": 1.0, "access_count": 0}
        for fact_id, text, at in facts
    ]
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def test_before_the_journal_begins_imported_facts_are_reconstructed(
    memory: Memory, clock: FrozenClock, tmp_path: Path
) -> None:
    source = write_export(
        tmp_path / "memories.json",
        ("f1", "Written in spring.", "2026-04-01T00:00:00Z"),
        ("f2", "Written in autumn.", "2026-10-01T00:00:00Z"),
    )
    memory.import_store(source)
    memory.retire("scout", ["f1"])
    memory.remember("scout", "Written here.")
    with memory.at(instant("2026-06-01T00:00:00Z")) as view:
        assert view.reconstructed
        assert [fact.text for fact in view.list_facts(FactQuery())] == ["Written in spring."]
        assert not view.can_recall
        with pytest.raises(AsOfUnsupported):
            view.recall("scout", "spring")
    with memory.at(before_seq=memory.last_seq()) as view:
        assert not view.reconstructed
        assert [fact.text for fact in view.list_facts(FactQuery())] == ["Written in autumn."]


def test_a_reconstructed_fact_is_as_it_came_in_whatever_happened_since(
    memory: Memory, clock: FrozenClock, tmp_path: Path
) -> None:
    source = write_export(
        tmp_path / "m.json",
        *((f"f{n}", f"Old fact {n}.", "2026-04-01T00:00:00Z") for n in range(4)),
        ("late", "A later fact.", "2026-10-01T00:00:00Z"),
    )
    memory.import_store(source)
    came_in = memory.facts([f"f{n}" for n in range(4)])
    memory.label("scout", ["f0"], "verified")
    memory.move("scout", ["f1", "late"], "miner")
    memory.revise("scout", ["f2"], "A newer wording.")
    summer = instant("2026-06-01T00:00:00Z")
    with memory.at(summer) as view:
        assert view.facts([f"f{n}" for n in range(4)]) == came_in
        assert view.fact_ids(FactQuery(status="all", descending=False)) == ["f0", "f1", "f2", "f3"]
        memory.pin("scout", ["f3"])
        memory.purge("Old fact 0.")
        assert view.facts([f"f{n}" for n in range(4)]) == came_in[1:]


def test_the_store_before_the_last_entries_is_found_by_their_number(memory: Memory, clock: FrozenClock) -> None:
    facts = [memory.remember("scout", f"Fact {n}.") for n in range(5)]
    with memory.at(before_seq=facts[2].version) as view:
        assert view.fact_ids(FactQuery(descending=False)) == [facts[0].id, facts[1].id]
    with memory.at(before_seq=1) as view:
        assert view.fact_ids(FactQuery(status="all")) == []


def test_two_entries_of_one_instant_are_told_apart_by_their_number(tmp_path: Path) -> None:
    clock = FrozenClock(tick_s=0)
    with Memory.open(tmp_path, clock=clock, embedder=ScriptedEmbedder(), background=False) as memory:
        first, second = memory.remember("scout", "One."), memory.remember("scout", "Two.")
        with memory.at(before_seq=second.version) as view:
            assert view.fact_ids(FactQuery()) == [first.id]
            with pytest.raises(AsOfUnsupported):
                view.recall("scout", "one")
        with memory.at(clock.at_ns) as view:
            assert len(view.fact_ids(FactQuery())) == 2


def test_a_view_that_stays_open_ignores_what_is_written_later(memory: Memory, clock: FrozenClock) -> None:
    kept, changed = memory.remember("scout", "Kept."), memory.remember("scout", "Changed.")
    with memory.at(later(clock)) as view:
        before = view.facts(view.fact_ids(FactQuery(status="all")))
        memory.revise("scout", [changed.id], "Changed twice.")
        memory.retire("scout", [kept.id])
        memory.undo(memory.last_seq())
        memory.undo(kept.version)
        assert view.facts(view.fact_ids(FactQuery(status="all"))) == before


def test_the_graph_shows_entities_and_links_as_they_were(tmp_path: Path, clock: FrozenClock) -> None:
    with Memory.open(tmp_path, clock=clock, embedder=ScriptedEmbedder(), background=False) as memory:
        fact = memory.remember("scout", "Ana lives in Faro.")
        ana = Entity("ana", "Ana", "person", None, None, 0.5, "person")
        with Ledger.open(tmp_path, clock=clock) as ledger:
            with ledger.write("link", origin=Origin("library")) as tx:
                upsert_entities(tx, [ana])
                upsert_edges(tx, [Edge("ana", "faro", "lives in", 1, 0.5, "person", (fact.id,))])
            then = later(clock)
            with ledger.write("link", origin=Origin("library")) as tx:
                upsert_entities(tx, [Entity("ana", "Ana", "person", None, 9, 0.9, "person")])
                upsert_entities(tx, [Entity("faro", "Faro", "place", None, None, 0.9, "person")])
                upsert_edges(tx, [Edge("ana", "faro", "lives in", 1, 0.9, "person", (fact.id, "other"))])
        with memory.at(then) as view:
            assert view.graph.entities() == (ana,)
            (edge,) = view.graph.edges()
            assert (edge.weight, edge.sources) == (0.5, (fact.id,))
        assert len(memory.graph.entities()) == 2


def test_checkpoints_show_from_when_they_were_saved_until_they_were_undone(memory: Memory, clock: FrozenClock) -> None:
    start = later(clock)
    saved = memory.checkpoints.save("scout", state={"step": 1})
    during = later(clock)
    memory.undo(memory.last_seq())
    with memory.at(start) as view:
        assert view.checkpoints.list() == ()
    with memory.at(during) as view:
        assert [found.id for found in view.checkpoints.list("scout")] == [saved.id]
        assert view.checkpoints.load(saved.id) == saved
        with pytest.raises(ReadOnlyStore):
            view.checkpoints.save("scout", state={})
    assert memory.checkpoints.list() == ()


def test_the_difference_of_two_moments_says_what_happened_to_each_fact(memory: Memory, clock: FrozenClock) -> None:
    names = ("revised", "retired", "moved", "labelled", "removed", "restored", "untouched", "retired and moved")
    facts = {name: memory.remember("scout", name) for name in names}
    memory.retire("scout", [facts["restored"].id])
    then = later(clock)
    new = memory.revise("scout", [facts["revised"].id], "revision")
    memory.retire("scout", [facts["retired"].id])
    memory.move("scout", [facts["moved"].id], "miner")
    memory.label("scout", [facts["labelled"].id], "verified")
    memory.undo(facts["removed"].version)
    memory.restore("scout", [facts["restored"].id])
    memory.retire("scout", [facts["retired and moved"].id])
    memory.move("scout", [facts["retired and moved"].id], "miner")
    memory.pin("scout", [facts["untouched"].id])
    memory.undo(memory.last_seq())
    found = {difference.fact_id: difference for difference in memory.diff(then, clock.at_ns)}
    assert {fact_id: difference.kinds for fact_id, difference in found.items()} == {
        facts["revised"].id: ("retired",),
        new.id: ("added",),
        facts["retired"].id: ("retired",),
        facts["moved"].id: ("moved",),
        facts["labelled"].id: ("changed",),
        facts["removed"].id: ("removed",),
        facts["restored"].id: ("restored",),
        facts["retired and moved"].id: ("retired", "moved"),
    }
    labelled = found[facts["labelled"].id]
    assert (labelled.before, labelled.after) == (facts["labelled"], memory.get(facts["labelled"].id))
    assert memory.diff(then, then) == ()


def test_the_difference_knows_facts_that_a_later_import_dates_between_the_moments(
    memory: Memory, tmp_path: Path
) -> None:
    memory.import_store(write_export(tmp_path / "m.json", ("f1", "Spring.", "2026-04-01T00:00:00Z")))
    (found,) = memory.diff(instant("2026-03-01T00:00:00Z"), instant("2026-05-01T00:00:00Z"))
    assert (found.fact_id, found.kinds) == ("f1", ("added",))


def test_a_moment_is_named_once(memory: Memory) -> None:
    for wrong in ({}, {"at_ns": 1, "before_seq": 1}):
        with pytest.raises(InvalidInput):
            memory.at(**wrong)
    with pytest.raises(InvalidInput):
        memory.diff(2, 1)


def test_an_empty_store_was_always_empty(memory: Memory) -> None:
    with memory.at(0) as view:
        assert view.fact_ids(FactQuery(status="all")) == []
        assert view.horizon_ns is None
        assert view.counts().facts == 0


def test_the_command_line_lists_a_past_moment_and_what_differs(tmp_path: Path) -> None:
    store = ("--data-dir", tmp_path / "store")
    clock = FrozenClock()
    with Memory.open(tmp_path / "store", clock=clock, embedder=ScriptedEmbedder(), background=False) as memory:
        first = memory.remember("ops", "Rollbacks take ten minutes.")
        then = later(clock)
        second = memory.revise("ops", [first.id], "Rollbacks take five minutes.")
    was = run(*store, "--json", "list", "ops", "--at", format_ns(then)).json
    assert [fact["id"] for fact in was] == [first.id]
    by_entry = run(*store, "--json", "list", "ops", "--at", f"#{second.version}").json
    assert by_entry == was
    differs = run(*store, "--json", "diff", format_ns(then), "now")
    assert [(item["fact_id"], item["kinds"]) for item in differs.json] == [
        (first.id, ["retired"]),
        (second.id, ["added"]),
    ]
    assert "retired" in run(*store, "diff", f"#{second.version}", "now").out
    assert run(*store, "list", "ops", "--at", "last tuesday").code == 2


def test_a_link_that_got_its_first_receipt_later_had_none(memory: Memory, clock: FrozenClock) -> None:
    fact = memory.remember("scout", "Ana works in Faro.")
    memory.graph.add("Ana", "person")
    memory.graph.add("Faro", "place")
    memory.graph.link("ana", "faro", "works in")
    then = later(clock)
    memory.graph.link("ana", "faro", "works in", sources=[fact.id])
    with memory.at(then) as view:
        assert [edge.sources for edge in view.graph.edges()] == [()]
    assert [edge.sources for edge in memory.graph.edges()] == [(fact.id,)]
