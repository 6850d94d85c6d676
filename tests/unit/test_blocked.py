"""Blocked values: refused on every path, counted by client, undone by undoing the block."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gm_engine import BlockedValue, FactQuery, InvalidInput, Memory, NotFound
from gm_engine.records import Origin
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run
from tests.fakes.embedder import ScriptedEmbedder

TEXT = "The door code is 4711."


def open_store(path: Path, *, client: str = "") -> Memory:
    origin = Origin("mcp", client=client) if client else None
    return Memory.open(path, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False, origin=origin)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_store(tmp_path / "store") as opened:
        yield opened


@pytest.mark.parametrize(
    ("blocked", "written"),
    [
        (TEXT, TEXT),
        (TEXT, "  The\tdoor code\n is  4711. "),
        ("café", "cafe\u0301"),
        ("a\u00a0b", "a b"),
        ("x\0y", "x\0y"),
        ("👩‍🚀 --- [[x]]", "👩‍🚀 --- [[x]]"),
    ],
)
def test_a_blocked_value_is_refused_however_it_is_spaced_or_composed(
    memory: Memory, blocked: str, written: str
) -> None:
    memory.blocked.add(blocked)
    seq = memory.last_seq()
    with pytest.raises(BlockedValue):
        memory.remember("scout", written)
    assert memory.last_seq() == seq
    assert memory.fact_ids(FactQuery(status="all")) == []


@pytest.mark.parametrize(
    ("blocked", "written"), [("x²", "x2"), ("Word", "word"), ("v1", "v2"), ("ab", "a b"), ("ﬁ", "fi"), ("①", "1")]
)
def test_case_digits_and_superscripts_are_never_folded(memory: Memory, blocked: str, written: str) -> None:
    memory.blocked.add(blocked)
    assert memory.remember("scout", written).text == written


def test_every_verb_that_could_store_it_is_refused(memory: Memory) -> None:
    live = memory.remember("scout", TEXT)
    other = memory.remember("scout", "Something else.")
    retired = memory.remember("miner", TEXT)
    memory.retire("miner", [retired.id])
    memory.blocked.add(TEXT)
    attempts: list[Callable[[], object]] = [
        lambda: memory.remember_shared(TEXT),
        lambda: memory.revise("scout", [other.id], TEXT),
        lambda: memory.copy("scout", [live.id], "miner"),
        lambda: memory.restore("miner", [retired.id]),
        lambda: memory.move("scout", [live.id], "miner"),
    ]
    for attempt in attempts:
        with pytest.raises(BlockedValue):
            attempt()
    assert memory.get(other.id) == other
    assert memory.get(retired.id).is_superseded
    assert memory.blocked.list()[0].attempts == len(attempts)


def test_a_block_for_one_agent_leaves_the_others_alone(memory: Memory) -> None:
    memory.blocked.add(TEXT, "scout")
    fact = memory.remember("miner", TEXT)
    with pytest.raises(BlockedValue):
        memory.copy("miner", [fact.id], "scout")
    with pytest.raises(BlockedValue):
        memory.move("miner", [fact.id], "scout")
    assert memory.get(fact.id).agent_id == "miner"


def test_undo_never_brings_a_blocked_value_back(memory: Memory) -> None:
    made = memory.remember("scout", TEXT)
    memory.retire("scout", [made.id])
    retired_seq = memory.last_seq()
    block = memory.blocked.add(TEXT)
    with pytest.raises(BlockedValue):
        memory.undo(retired_seq)
    assert memory.get(made.id).is_superseded
    memory.undo(block.version)
    memory.undo(retired_seq)
    assert not memory.get(made.id).is_superseded


def test_redoing_a_remember_of_a_blocked_value_is_refused(memory: Memory) -> None:
    made = memory.remember("scout", TEXT)
    undone = memory.undo(made.version)
    memory.blocked.add(TEXT)
    with pytest.raises(BlockedValue):
        memory.redo(undone.seq)
    with pytest.raises(NotFound):
        memory.get(made.id)


def test_retiring_for_ever_is_one_action_and_undoing_it_restores_and_unblocks(memory: Memory) -> None:
    made = memory.remember("scout", TEXT)
    (retired,) = memory.retire("scout", [made.id], block=True)
    assert memory.blocked.list()[0].text == TEXT
    undone = memory.undo(retired.version)
    assert memory.blocked.list() == ()
    assert not memory.get(made.id).is_superseded
    memory.redo(undone.seq)
    assert memory.get(made.id).is_superseded
    with pytest.raises(BlockedValue):
        memory.remember("miner", TEXT)


def test_undoing_the_removal_of_a_block_blocks_again(memory: Memory) -> None:
    memory.blocked.add(TEXT)
    before = memory.blocked.list()
    memory.blocked.remove(TEXT)
    memory.undo(memory.last_seq())
    assert memory.blocked.list() == before


def test_blocking_twice_is_one_block_and_no_second_entry(memory: Memory) -> None:
    first = memory.blocked.add(TEXT)
    seq = memory.last_seq()
    assert memory.blocked.add(f" {TEXT}") == first
    assert memory.last_seq() == seq


def test_a_block_is_removed_by_its_text_or_its_key(memory: Memory) -> None:
    block = memory.blocked.add(TEXT)
    assert memory.blocked.remove(block.key) == block
    memory.blocked.add(TEXT, "scout")
    with pytest.raises(NotFound):
        memory.blocked.remove(TEXT)
    assert memory.blocked.remove(TEXT, "scout").agent_id == "scout"
    assert memory.remember("scout", TEXT).text == TEXT


@pytest.mark.parametrize("text", ["", " \n", "\ud800"])
def test_a_blank_or_broken_text_cannot_be_blocked(memory: Memory, text: str) -> None:
    with pytest.raises(InvalidInput):
        memory.blocked.add(text)


def test_attempts_are_counted_by_client(tmp_path: Path) -> None:
    with open_store(tmp_path / "store", client="claude") as one, open_store(tmp_path / "store", client="codex") as two:
        block = one.blocked.add(TEXT)
        for memory in (one, two, two):
            with pytest.raises(BlockedValue) as refusal:
                memory.remember("scout", TEXT)
            assert refusal.value.fields["keys"] == (block.key,)
        counts = {attempt.client: attempt.count for attempt in one.blocked.attempts()}
        assert counts == {"claude": 1, "codex": 2}
        assert one.blocked.list()[0].attempts == 3


def test_an_import_lists_blocked_texts_as_skipped_and_brings_the_rest(memory: Memory, tmp_path: Path) -> None:
    facts = [
        {"id": f"f{n}", "agent_id": "scout", "text": text, "created_at": "2026-01-01T00:00:00Z", "weight": 1.0}
        for n, text in enumerate((TEXT, "Fine."))
    ]
    source = tmp_path / "memories.json"
    source.write_text(json.dumps(facts), encoding="utf-8")
    memory.blocked.add(TEXT)
    preview = memory.import_preview(source)
    report = memory.import_store(source)
    assert preview == report
    assert report.imported.facts == 1
    assert [(skip.id, "blocked" in skip.reason) for skip in report.skipped] == [("f0", True)]
    assert [fact.text for fact in memory.list_facts(FactQuery())] == ["Fine."]
    assert [(attempt.client, attempt.count) for attempt in memory.blocked.attempts()] == [("import", 1)]


def test_the_command_line_blocks_refuses_lists_and_allows_again(tmp_path: Path) -> None:
    store = ("--data-dir", tmp_path / "store")
    run(*store, "remember", "ops", TEXT)
    forgotten = run(*store, "--json", "forget", "ops", TEXT, "--never-again")
    assert (forgotten.code, forgotten.json["count"]) == (0, 1)
    refused = run(*store, "--json", "remember", "sales", TEXT)
    assert (refused.code, refused.error["code"]) == (4, "blocked_value")
    (listed,) = run(*store, "--json", "blocked", "list").json
    assert (listed["text"], listed["attempts"], listed["by_client"][0]["client"]) == (TEXT, 1, "graymatter")
    assert "graymatter 1 times" in run(*store, "blocked", "list").out
    assert run(*store, "blocked", "remove", listed["key"]).code == 0
    assert run(*store, "remember", "sales", TEXT).code == 0
    assert run(*store, "blocked", "remove", TEXT).code == 3
    added = run(*store, "--json", "blocked", "add", "x²", "--agent", "ops")
    assert (added.json["agent_id"], added.json["text"]) == ("ops", "x²")
