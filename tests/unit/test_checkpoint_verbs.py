"""What a person does with checkpoints: compare, review, make current, edit, delete, export; all of it can be undone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from gm_engine import Memory
from gm_engine.errors import (
    CheckpointDamaged,
    InvalidInput,
    NotFound,
    ReadOnlyStore,
    StoreDamaged,
    StoreUnavailable,
    UndoConflict,
)
from gm_engine.records import JsonValue, Message, Verdict, json_pointer
from gm_engine.store.checkpoint_payload import parse_json
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

DAMAGE = {
    "invalid UTF-8": b'{"id": "\xff"}',
    "NaN": b'{"id": "x", "state": {"v": NaN}}',
    "cut off": b'{"id": "x", "sta',
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", background=False, clock=FrozenClock(), embedder=ScriptedEmbedder()) as opened:
        yield opened


def damage(memory: Memory, checkpoint_id: str, payload: bytes) -> None:
    with sqlite3.connect(memory.data_dir / "ledger.sqlite") as ledger:
        ledger.execute(
            "UPDATE checkpoints SET payload = ?, message_count = NULL WHERE id = ?", (payload, checkpoint_id)
        )
    ledger.close()


def two(memory: Memory) -> tuple[str, str]:
    first = memory.checkpoints.save("ops", state={"step": 1, "open": ["a", "b"]}, messages=[Message("user", "Go")])
    second = memory.checkpoints.save(
        "ops", state={"step": 2, "open": ["b", "a"]}, messages=[Message("user", "Go"), Message("assistant", "Done")]
    )
    return first.id, second.id


def test_two_checkpoints_are_compared_in_state_messages_and_metadata(memory: Memory) -> None:
    first, second = two(memory)
    found = memory.checkpoints.compare(first, second)
    assert (found.before.id, found.after.id) == (first, second)
    assert [(change.kind, json_pointer(change.path)) for change in found.changes] == [
        ("changed", "/state/step"),
        ("moved", "/state/open/0"),
        ("added", "/messages/1"),
    ]
    assert found.count("moved") == 1
    assert memory.checkpoints.compare(first, first).changes == ()


def test_a_verdict_is_kept_with_its_note_and_can_be_changed_and_taken_back(memory: Memory) -> None:
    first, _ = two(memory)
    approved = memory.checkpoints.review(first, "approved", note="Looks right.")
    assert (approved.verdict, approved.note) == ("approved", "Looks right.")
    assert approved.reviewed_ns is not None
    again = memory.checkpoints.review(first, "approved", note="Looks right.")
    assert again == approved
    other = memory.checkpoints.review(first, "needs_work")
    assert (other.verdict, other.note) == ("needs_work", "")
    none = memory.checkpoints.review(first, None, note="dropped")
    assert (none.verdict, none.note, none.reviewed_ns) == ("", "", None)
    for _ in range(2):
        memory.undo(memory.checkpoints.summary(first).version)
    assert memory.checkpoints.summary(first) == approved


def test_a_review_under_another_one_is_not_undone(memory: Memory) -> None:
    first, _ = two(memory)
    older = memory.checkpoints.review(first, "rejected")
    memory.checkpoints.review(first, "approved")
    with pytest.raises(UndoConflict):
        memory.undo(older.version)


@pytest.mark.parametrize("verdict", ["Approved", "", "maybe"])
def test_another_verdict_is_refused(memory: Memory, verdict: str) -> None:
    first, _ = two(memory)
    seq = memory.last_seq()
    with pytest.raises(InvalidInput):
        memory.checkpoints.review(first, cast("Verdict", verdict))
    for note in ("\ud800", "x" * 10_001):
        with pytest.raises(InvalidInput):
            memory.checkpoints.review(first, "approved", note=note)
    assert memory.last_seq() == seq


def test_making_a_checkpoint_current_saves_a_copy_that_names_its_origin(memory: Memory) -> None:
    first, second = two(memory)
    copy = memory.checkpoints.make_current(first)
    assert memory.checkpoints.latest("ops") == copy
    assert copy.metadata == {"restored_from": first}
    original = memory.checkpoints.load(first)
    assert (copy.state, copy.messages) == (original.state, original.messages)
    summary = memory.checkpoints.summary(copy.id)
    assert summary.restored_from == first
    memory.undo(summary.version)
    assert [each.id for each in memory.checkpoints.list()] == [second, first]


def test_an_edit_makes_a_new_checkpoint_and_the_old_one_stays(memory: Memory) -> None:
    first, _ = two(memory)
    old = memory.checkpoints.load(first)
    state: dict[str, JsonValue] = {**old.state, "step": 10**30}
    preview = memory.checkpoints.preview_edit(first, state=state)
    assert [(each.kind, json_pointer(each.path)) for each in preview] == [("changed", "/state/step")]
    new = memory.checkpoints.edit(first, state=state)
    assert new.state == state
    assert (new.messages, new.metadata) == (old.messages, {"edited_from": first})
    assert memory.checkpoints.load(first) == old
    named = memory.checkpoints.edit(new.id, metadata={"branch": "main"})
    assert named.metadata == {"branch": "main", "edited_from": new.id}
    current = memory.checkpoints.make_current(first)
    assert memory.checkpoints.edit(current.id, state={}).metadata == {"edited_from": current.id}


def test_an_edit_that_changes_nothing_or_cannot_be_kept_is_refused(memory: Memory) -> None:
    first, _ = two(memory)
    seq = memory.last_seq()
    with pytest.raises(InvalidInput, match="the same"):
        memory.checkpoints.edit(first, state=dict(memory.checkpoints.load(first).state))
    with pytest.raises(InvalidInput):
        memory.checkpoints.edit(first, state={"v": float("nan")})
    with pytest.raises(InvalidInput):
        memory.checkpoints.edit(first, metadata=cast("dict[str, str]", {"n": 1}))
    assert memory.last_seq() == seq


def test_a_deleted_checkpoint_is_absent_until_the_deletion_is_undone(memory: Memory) -> None:
    first, second = two(memory)
    memory.checkpoints.review(first, "approved", note="kept")
    before = memory.checkpoints.summary(first)
    gone = memory.checkpoints.delete(first)
    assert [each.id for each in memory.checkpoints.list()] == [second]
    for absent in (
        lambda: memory.checkpoints.load(first),
        lambda: memory.checkpoints.delete(first),
        lambda: memory.checkpoints.review(first, "approved"),
        lambda: memory.checkpoints.make_current(first),
        lambda: memory.checkpoints.compare(second, first),
    ):
        with pytest.raises(NotFound):
            absent()
    entry = memory.undo(gone.version)
    assert memory.checkpoints.summary(first) == before
    memory.redo(entry.seq)
    assert [each.id for each in memory.checkpoints.list()] == [second]


def test_a_deleted_checkpoint_is_there_in_the_past(memory: Memory) -> None:
    first, second = two(memory)
    memory.checkpoints.review(first, "approved")
    gone = memory.checkpoints.delete(first)
    with memory.at(before_seq=gone.version) as view:
        assert [(each.id, each.verdict) for each in view.checkpoints.list()] == [(second, ""), (first, "approved")]
        assert view.checkpoints.load(first).state["step"] == 1


@pytest.mark.parametrize("kind", sorted(DAMAGE))
def test_a_damaged_checkpoint_can_be_reviewed_rescued_and_deleted_but_not_used(
    memory: Memory, tmp_path: Path, kind: str
) -> None:
    first, second = two(memory)
    damage(memory, first, DAMAGE[kind])
    for used in (
        lambda: memory.checkpoints.load(first),
        lambda: memory.checkpoints.make_current(first),
        lambda: memory.checkpoints.compare(second, first),
        lambda: memory.checkpoints.edit(first, state={}),
        lambda: memory.checkpoints.export(first, tmp_path / "no.json"),
    ):
        with pytest.raises(CheckpointDamaged) as caught:
            used()
        assert caught.value.fields["checkpoint_id"] == first
    assert not (tmp_path / "no.json").exists()
    memory.checkpoints.review(first, "rejected", note="damaged")
    assert memory.checkpoints.export(first, tmp_path / "raw.json", raw=True) == len(DAMAGE[kind])
    assert (tmp_path / "raw.json").read_bytes() == DAMAGE[kind]
    memory.checkpoints.delete(first)
    assert [each.id for each in memory.checkpoints.list()] == [second]


def test_absent_damaged_and_unreachable_are_three_errors(memory: Memory, tmp_path: Path) -> None:
    first, _ = two(memory)
    damage(memory, first, b"{")
    codes = []
    for checkpoint_id in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", first):
        with pytest.raises((NotFound, CheckpointDamaged)) as caught:
            memory.checkpoints.load(checkpoint_id)
        codes.append(caught.value.code)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "ledger.sqlite").write_bytes(b"no database at all, not even nearly" * 100)
    with pytest.raises((StoreDamaged, StoreUnavailable)) as unreachable:
        Memory.open(tmp_path / "broken", background=False)
    assert len({*codes, unreachable.value.code}) == 3


def test_an_exported_file_holds_what_was_saved(memory: Memory, tmp_path: Path) -> None:
    state: dict[str, JsonValue] = {"big": 12345678901234567890123, "text": "\0 \u202e 😀 </script> [[x]]", "none": None}
    saved = memory.checkpoints.save("ops", state=state, messages=[Message("user", "é")], metadata={"k": "v"})
    path = tmp_path / "checkpoint.json"
    size_bytes = memory.checkpoints.export(saved.id, path)
    assert path.stat().st_size == size_bytes
    record = json.loads(path.read_text(encoding="utf-8"))
    assert (record["id"], record["state"], record["metadata"]) == (saved.id, state, {"k": "v"})
    with pytest.raises(InvalidInput, match="exists already"):
        memory.checkpoints.export(saved.id, path)
    memory.checkpoints.export(saved.id, path, overwrite=True)
    for impossible in (tmp_path, tmp_path / "no folder" / "x.json"):
        with pytest.raises(InvalidInput):
            memory.checkpoints.export(saved.id, impossible)
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["checkpoint.json"]


def test_a_checkpoint_of_twenty_megabytes(memory: Memory) -> None:
    state: dict[str, JsonValue] = {f"part {n}": {"text": "0123456789" * 100, "n": n} for n in range(20_000)}
    saved = memory.checkpoints.save("ops", state=state)
    assert memory.checkpoints.summary(saved.id).size_bytes > 20_000_000
    assert memory.checkpoints.load(saved.id).state == state
    state["part 7"] = None
    edited = memory.checkpoints.edit(saved.id, state=state)
    (changed, *_), others = memory.checkpoints.compare(saved.id, edited.id).changes, ["edited_from"]
    assert json_pointer(changed.path) == "/state/part 7"
    assert others == list(edited.metadata)


def test_a_checkpoint_of_a_hundred_thousand_keys(memory: Memory) -> None:
    state: dict[str, JsonValue] = {f"key {n}": n for n in range(100_000)}
    saved = memory.checkpoints.save("ops", state=state)
    found = memory.checkpoints.load(saved.id)
    assert len(found.state) == 100_000
    other = memory.checkpoints.save("ops", state={f"key {n}": n + n % 2 for n in range(100_000)})
    assert len(memory.checkpoints.compare(saved.id, other.id).changes) == 50_000


LARGE = "x" * 6_000_001


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2.5, {"b": [[], {}, [[[[["deep"]]]]]]}], "c": null, "d": true, "e\\"": "\\u00e9"}',
        "[]",
        " [ 1 , 2 ] ",
        "{}",
        '{ "a" : { } , "a" : 2 }',
    ],
)
def test_a_large_record_is_read_like_a_small_one(text: str) -> None:
    large = f'{{"pad": "{LARGE}", "value": {text}}}'.encode()
    assert parse_json(large)["value"] == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2",
        "[1 2]",
        "[1,]",
        '{"a": 1,}',
        '{"a" 1}',
        "{1: 2}",
        "[1] x",
        "nul",
        '{"a": NaN}',
        "1e999",
        "",
        '"\\ud800"',
    ],
)
def test_a_large_damaged_record_is_damaged(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (both are kinds of it: JSON and Unicode)
        parse_json(f'{{"pad": "{LARGE}", "value": {text}}}'.encode())


def test_a_read_only_store_keeps_its_checkpoints_as_they_are(memory: Memory) -> None:
    first, _ = two(memory)
    with Memory.open(memory.data_dir, read_only=True, background=False) as reading:
        for write in (
            lambda: reading.checkpoints.review(first, "approved"),
            lambda: reading.checkpoints.delete(first),
            lambda: reading.checkpoints.make_current(first),
            lambda: reading.checkpoints.edit(first, state={}),
        ):
            with pytest.raises(ReadOnlyStore):
                write()
