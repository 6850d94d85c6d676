"""The verbs of a store through its door."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import (
    FactChanged,
    FactQuery,
    InvalidInput,
    Memory,
    NotFound,
    ReadOnlyStore,
    SignalWeights,
    StoreDamaged,
    StoreSettings,
    StoreTooNew,
    StoreUnavailable,
    UndoConflict,
)
from gm_engine.records import Origin, SourceRef
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        yield opened


def test_a_remembered_fact_is_returned_as_it_was_committed(memory: Memory) -> None:
    fact = memory.remember("scout", "  The gate opens at nine. ")
    assert fact == memory.get(fact.id)
    assert (fact.text, fact.confidence, fact.weight, fact.access_count) == ("  The gate opens at nine. ", "", 1.0, 0)
    assert fact.version == memory.last_seq() == 1


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\ud800"])
def test_text_that_says_nothing_or_is_no_unicode_is_refused(memory: Memory, text: str) -> None:
    with pytest.raises(InvalidInput):
        memory.remember("scout", text)
    assert memory.last_seq() == 0


@pytest.mark.parametrize("agent", ["", " \t"])
def test_a_blank_agent_is_refused(memory: Memory, agent: str) -> None:
    with pytest.raises(InvalidInput):
        memory.remember(agent, "x")


@pytest.mark.parametrize("label", ["", "Verified", "gospel"])
def test_an_unknown_explicit_label_is_refused_before_any_effect(memory: Memory, label: str) -> None:
    with pytest.raises(InvalidInput, match="confidence"):
        memory.remember("scout", "x", confidence=label)
    assert memory.last_seq() == 0


@pytest.mark.parametrize(
    "agent", [" a ", "../x", "con", "x" * 300, "__shared__", "代理", "a\0b", "A", "a", "👩‍🚀", "\u202eevil"]
)
def test_any_other_agent_name_is_a_namespace_of_its_own(memory: Memory, agent: str) -> None:
    memory.remember(agent.strip() + "!", "elsewhere")
    fact = memory.remember(agent, "here")
    assert memory.fact_ids(FactQuery(agent_id=agent)) == [fact.id]


@pytest.mark.parametrize("text", ["a\0b", "x" * 1_000_000, "\u202ertl שלום", "<b>[[x]]</b>\n---\n", "😀" * 5000])
def test_hostile_text_is_kept_exactly(memory: Memory, text: str) -> None:
    fact = memory.remember("scout", text)
    assert memory.get(fact.id).text == text
    assert memory.fact_ids(FactQuery(text=text[:40])) == [fact.id]


def test_revising_by_text_retires_every_live_exact_match_toward_one_replacement(memory: Memory) -> None:
    first, second = memory.remember("scout", "Two gates."), memory.remember("scout", "Two gates.")
    other = memory.remember("miner", "Two gates.")
    new = memory.revise("scout", "Two gates.", "Three gates.")
    assert [memory.get(i).superseded_by for i in (first.id, second.id, other.id)] == [new.id, new.id, ""]
    assert {fact.id for fact in memory.lineage(new.id).supersedes} == {first.id, second.id}
    assert [fact.id for fact in memory.lineage(first.id).superseded_by] == [new.id]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(("verified",), "inferred"), ((None,), "inferred"), (("verified", "unverified"), "unverified")],
)
def test_a_revision_without_a_label_claims_no_more_than_inferred(
    memory: Memory, labels: tuple[str | None, ...], expected: str
) -> None:
    ids = [memory.remember("scout", f"text {i}", confidence=label).id for i, label in enumerate(labels)]
    assert memory.revise("scout", ids, "new").confidence == expected


def test_a_revision_inherits_no_pin_but_the_sources(memory: Memory) -> None:
    origin = Origin("library", sources=(SourceRef("file", "notes.md"),))
    old = memory.remember("scout", "old", origin=origin)
    memory.pin("scout", [old.id])
    new = memory.revise("scout", [old.id], "new", confidence="verified")
    assert (new.pinned, new.origin.sources, new.confidence) == (False, origin.sources, "verified")


def test_a_stale_version_is_a_conflict_and_writes_nothing(memory: Memory) -> None:
    fact = memory.remember("scout", "old")
    memory.pin("scout", [fact.id])
    before = memory.last_seq()
    with pytest.raises(FactChanged):
        memory.revise("scout", [fact.id], "new", expected={fact.id: fact.version})
    assert (memory.last_seq(), memory.get(fact.id).is_superseded) == (before, False)


def test_a_retired_fact_cannot_be_revised_or_pinned_but_unpinned_and_restored(memory: Memory) -> None:
    fact = memory.remember("scout", "old")
    memory.pin("scout", [fact.id])
    memory.retire("scout", [fact.id])
    with pytest.raises(FactChanged):
        memory.revise("scout", [fact.id], "new")
    with pytest.raises(InvalidInput):
        memory.pin("scout", [fact.id])
    (unpinned,) = memory.unpin("scout", [fact.id])
    assert (unpinned.pinned, unpinned.superseded_by) == (False, "agent")
    (restored,) = memory.restore("scout", [fact.id])
    assert not restored.is_superseded


def test_single_field_verbs_leave_a_tombstone_a_tombstone(memory: Memory) -> None:
    fact = memory.remember("scout", "x", confidence="verified")
    memory.retire("scout", [fact.id])
    (labelled,) = memory.label("scout", [fact.id], "unverified")
    (moved,) = memory.move("scout", [fact.id], "miner")
    assert (labelled.superseded_by, moved.superseded_by, moved.agent_id, moved.id) == (
        "agent",
        "agent",
        "miner",
        fact.id,
    )


def test_a_fact_of_another_agent_is_not_found(memory: Memory) -> None:
    fact = memory.remember("scout", "x")
    with pytest.raises(NotFound):
        memory.retire("miner", [fact.id])
    with pytest.raises(NotFound):
        memory.resolve("miner", "x")
    assert memory.resolve("scout", fact.id) == memory.resolve("scout", "x") == (fact.id,)


def test_copies_name_their_originals(memory: Memory) -> None:
    fact = memory.remember("scout", "x", confidence="verified")
    (copied,) = memory.copy("scout", [fact.id], "miner")
    assert (copied.text, copied.confidence, copied.origin.sources) == ("x", "verified", (SourceRef("fact", fact.id),))
    assert copied.id != fact.id


def test_asking_for_what_already_is_writes_nothing(memory: Memory) -> None:
    fact = memory.remember("scout", "x")
    before = memory.last_seq()
    assert memory.unpin("scout", [fact.id]) == memory.restore("scout", [fact.id]) == ()
    assert memory.last_seq() == before


def test_undo_walks_back_edit_by_edit_and_redo_forward(memory: Memory) -> None:
    fact = memory.remember("scout", "x")
    first = memory.label("scout", [fact.id], "verified")[0]
    second = memory.label("scout", [fact.id], "unverified")[0]
    undone = memory.undo(second.version)
    assert memory.get(fact.id) == first
    memory.undo(first.version)
    assert memory.get(fact.id) == fact
    with pytest.raises(UndoConflict):
        memory.redo(undone.seq)
    memory.undo(fact.version)
    with pytest.raises(NotFound):
        memory.get(fact.id)


def test_redo_restores_a_removed_fact_with_its_words(memory: Memory) -> None:
    fact = memory.remember("scout", "walnut gate", origin=Origin("cli", sources=(SourceRef("note", "a.md"),)))
    undone = memory.undo(fact.version)
    memory.redo(undone.seq)
    assert memory.get(fact.id) == fact
    assert [hit.id for hit in memory.recall("scout", "walnut", preview=True).facts] == [fact.id]


def test_a_bulk_action_is_one_step(memory: Memory) -> None:
    ids = [memory.remember("scout", f"fact {i}").id for i in range(20)]
    pinned = memory.pin("scout", ids)
    assert len({fact.version for fact in pinned}) == 1
    memory.undo(pinned[0].version)
    assert not any(fact.pinned for fact in memory.facts(ids))


def test_undoing_a_move_names_both_namespaces_in_what_changed(memory: Memory) -> None:
    fact = memory.remember("scout", "x")
    (moved,) = memory.move("scout", [fact.id], "miner")
    seq = memory.last_seq()
    memory.undo(moved.version)
    changed = memory.changes_since(seq)
    assert (changed.agent_ids, changed.fact_ids) == (frozenset({"scout", "miner"}), frozenset({fact.id}))
    assert memory.get(fact.id).agent_id == "scout"


def test_only_an_undo_can_be_redone(memory: Memory) -> None:
    fact = memory.remember("scout", "x")
    with pytest.raises(InvalidInput):
        memory.redo(fact.version)
    with pytest.raises(NotFound):
        memory.undo(99)


def test_settings_are_journalled_and_undone(memory: Memory) -> None:
    memory.set_settings(StoreSettings(signal_weights=SignalWeights(1, 1, 0.1), coverage_gate=0.2))
    assert memory.settings.coverage_gate == 0.2
    memory.undo(memory.last_seq())
    assert memory.settings == StoreSettings()
    with pytest.raises(InvalidInput):
        memory.set_settings(StoreSettings(confidence_weight=0.6))


def test_pages_by_key_hold_every_fact_once_in_order(memory: Memory) -> None:
    for i in range(25):
        memory.remember("scout", f"fact {i % 7}")
    for sort in ("created", "text", "uses", "origin", "weight"):
        query = FactQuery(agent_id="scout", sort=sort)
        ids = memory.fact_ids(query)
        paged: list[str] = []
        while page := memory.list_facts(query, after=paged[-1] if paged else None, limit=4):
            paged.extend(fact.id for fact in page)
        assert paged == ids
        assert len(set(ids)) == 25


def test_agents_count_live_retired_pinned_and_aliases(memory: Memory) -> None:
    kept, gone = memory.remember("scout", "kept"), memory.remember("scout", "gone")
    memory.pin("scout", [kept.id])
    memory.retire("scout", [gone.id])
    memory.alias("scout", "gate", ["door"])
    (agent,) = memory.agents()
    assert (agent.live, agent.retired, agent.pinned, agent.aliases) == (1, 1, 1, 1)
    assert memory.stats("scout").fact_count == 2


@pytest.mark.parametrize("words", [[], [""], ["a=b"], ["a,b"], ["a\nb"]])
def test_a_malformed_alias_is_refused(memory: Memory, words: list[str]) -> None:
    with pytest.raises(InvalidInput):
        memory.alias("scout", "gate", words)


def test_the_journal_says_who_did_what_with_images(memory: Memory) -> None:
    fact = memory.remember("scout", "x")
    memory.label("scout", [fact.id], "verified")
    newest, oldest = memory.journal(target=fact.id)
    assert (newest.verb, newest.actor.channel, newest.changes[0].before) == ("label", "library", {"confidence": ""})
    assert oldest.changes[0].after is not None
    assert oldest.changes[0].after["text"] == "x"
    assert memory.journal(agent_id="nobody") == ()


def test_time_never_goes_backwards_in_the_journal(tmp_path: Path) -> None:
    clock = FrozenClock()
    with Memory.open(tmp_path, clock=clock, embedder=ScriptedEmbedder(), background=False) as memory:
        memory.remember("scout", "x")
        clock.advance(-3600)
        memory.remember("scout", "y")
        newer, older = memory.journal()
    assert newer.at_ns == older.at_ns


def test_a_read_only_store_refuses_every_write_and_registers_nobody(tmp_path: Path) -> None:
    with Memory.open(tmp_path, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
        fact = memory.remember("scout", "x")
        assert len(memory.processes()) == 1
    with Memory.open(tmp_path, read_only=True, embedder=ScriptedEmbedder()) as memory:
        assert memory.processes() == ()
        assert memory.recall("scout", "x").facts[0].id == fact.id
        with pytest.raises(ReadOnlyStore):
            memory.pin("scout", [fact.id])
    with pytest.raises(StoreUnavailable):
        Memory.open(tmp_path / "absent", read_only=True)


def test_a_file_that_is_no_ledger_is_reported_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreDamaged):
        Memory.open(tmp_path)
    assert (tmp_path / "ledger.sqlite").read_bytes() == b"not a database at all" * 100


def test_a_newer_store_is_refused_even_while_it_is_open(tmp_path: Path) -> None:
    from gm_engine.store.database import Ledger

    with Memory.open(tmp_path, embedder=ScriptedEmbedder(), background=False) as memory:
        with Ledger.open(tmp_path, clock=FrozenClock()) as other, other.bookkeep() as connection:
            connection.exec_driver_sql("PRAGMA user_version=999")
        with pytest.raises(StoreTooNew):
            memory.remember("scout", "x")
    with pytest.raises(StoreTooNew, match="update and restart"):
        Memory.open(tmp_path)


def test_two_open_stores_see_each_others_writes(tmp_path: Path) -> None:
    clock = FrozenClock()
    with (
        Memory.open(tmp_path, clock=clock, embedder=ScriptedEmbedder(), background=False) as one,
        Memory.open(tmp_path, clock=clock, embedder=ScriptedEmbedder(), background=False) as two,
    ):
        assert two.last_seq() == 0
        fact = one.remember("scout", "x")
        assert two.last_seq() == 1
        assert two.get(fact.id) == fact
        assert two.changes_since(0).fact_ids == {fact.id}
        assert len(two.processes()) == 2
