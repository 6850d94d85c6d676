"""What the way back refuses and what it leaves alone, change by change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gm_engine import FactQuery, InvalidInput, Memory, UndoConflict
from gm_engine.life.rows import apply_nets
from gm_engine.life.undo import Net, undo_group
from gm_engine.records import Change, JournalEntry, JsonValue, Origin
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

EDIT = Change("fact", "f", "scout", 3, 7, {"text": "old"}, {"text": "new"})


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        yield opened


def test_edits_taken_back_one_after_the_other_come_to_the_oldest_values() -> None:
    net = Net(9, 9)
    net.reverse(replace(EDIT, version_before=7, version_after=9, before={"text": "new", "pinned": 0}))
    net.reverse(EDIT)
    assert net == Net(9, 3, {"text": "old", "pinned": 0}, whole=False)


def test_taking_back_a_creation_leaves_no_column_to_write() -> None:
    net = Net(7, 7)
    net.reverse(EDIT)
    net.reverse(replace(EDIT, version_before=0, version_after=3, before=None))
    assert net == Net(7, 0, {}, whole=False)


def test_taking_back_a_removal_brings_the_whole_row() -> None:
    net = Net(0, 0)
    net.reverse(replace(EDIT, version_after=0, before={"text": "all of it"}, after=None))
    assert net == Net(0, 3, {"text": "all of it"}, whole=True)
    net.reverse(replace(EDIT, version_before=2, version_after=3))
    assert net == Net(0, 2, {"text": "old"}, whole=True)


def test_a_change_under_a_later_one_is_refused_and_named() -> None:
    net = Net(8, 8)
    with pytest.raises(UndoConflict, match="Fact f has changed since; undo the later change first") as conflict:
        net.reverse(EDIT)
    assert conflict.value.fields == {"kind": "fact", "ids": ["f"]}
    assert net == Net(8, 8)


@pytest.mark.parametrize("before", [None, {"purged": True}])
@pytest.mark.parametrize("version_after", [0, 7])
def test_what_the_journal_has_forgotten_is_refused_and_named(
    before: dict[str, bool] | None, version_after: int
) -> None:
    with pytest.raises(UndoConflict, match="What fact f was is gone from the journal for good") as conflict:
        Net(7, version_after).reverse(replace(EDIT, version_after=version_after, before=before))
    assert conflict.value.fields == {"kind": "fact", "ids": ["f"]}


def test_a_purge_says_that_nothing_brings_it_back(memory: Memory) -> None:
    kept = memory.remember("scout", "This stays.")
    memory.remember("scout", "A secret.")
    memory.purge("A secret.")
    (purge,) = (entry for entry in memory.journal(limit=10) if entry.verb == "purge")
    with pytest.raises(UndoConflict, match="A purge cannot be undone") as conflict:
        memory.undo(purge.seq)
    assert conflict.value.fields == {"ids": []}
    assert memory.fact_ids(FactQuery()) == [kept.id]


def test_a_kind_that_no_table_holds_is_refused(memory: Memory) -> None:
    change = replace(EDIT, kind="weather")
    entry = JournalEntry(1, 1, "edit", None, "g", Origin("library"), None, None, (change,))
    with (
        pytest.raises(InvalidInput, match="'weather' cannot be undone"),
        memory._ledger.write("undo", origin=Origin("library")) as tx,
    ):
        undo_group(tx, [entry], language="english")
    assert memory.last_seq() == 0


def test_a_saved_checkpoint_is_gone_after_undo_and_back_after_redo(memory: Memory) -> None:
    kept = memory.checkpoints.save("ops", state={"step": 0})
    saved = memory.checkpoints.save("ops", state={"step": 1})
    seq = memory.last_seq()
    memory.checkpoints.delete(kept.id)
    before = memory.checkpoints.summary(saved.id)
    undone = memory.undo(seq)
    assert memory.checkpoints.list() == ()
    memory.redo(undone.seq)
    assert memory.checkpoints.list() == (before,)
    assert memory.checkpoints.load(saved.id).state == {"step": 1}


def test_an_entity_that_was_never_added_is_mentioned_nowhere(memory: Memory) -> None:
    added = memory.graph.add("Acme Corp", "organization").seq
    assert added is not None
    fact = memory.remember("ops", "Nobody has heard of Acme Corp.")
    assert memory.graph.mentioned_in("acme corp") == (fact.id,)
    assert mentions_of(memory, "acme corp") == 1
    memory.undo(added)
    assert "acme corp" not in {entity.id for entity in memory.graph.entities()}
    assert mentions_of(memory, "acme corp") == 0


def mentions_of(memory: Memory, entity_id: str) -> int:
    with memory._ledger.read() as connection:
        counted = connection.exec_driver_sql("SELECT count(*) FROM mentions WHERE entity_id = ?", (entity_id,))
        return int(counted.scalar_one())


def test_an_entity_that_an_older_program_removed_comes_back_under_its_label(memory: Memory) -> None:
    """Images of older programs do not list the names."""
    columns: dict[str, JsonValue] = {"label": "Acme Corp", "type": "organization", "weight": 1.0, "made_by": "person"}
    with memory._ledger.write("undo", origin=Origin("library")) as tx:
        apply_nets(tx.connection, "entity", {"e1": Net(0, tx.seq, columns, whole=True)})
    assert memory.graph.resolve("acme CORP").id == "e1"
    assert memory.graph.names("e1") == ("acme corp",)
