"""The journal as a person reads it: one line per action, filtered, paged, with what is undone said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gm_engine import Memory, Origin
from gm_engine.errors import NotFound
from gm_engine.records import ActivityQuery
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

CLAUDE = Origin("mcp", client="claude", client_version="2.1")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(
        tmp_path / "store", background=False, clock=FrozenClock(), embedder=ScriptedEmbedder(), origin=Origin("desktop")
    ) as opened:
        yield opened


def test_an_action_of_several_entries_is_one_line(memory: Memory) -> None:
    first = memory.remember("ops", "one")
    second = memory.remember("sales", "two")
    pinned = memory.pin("ops", [first.id])[0]
    group = memory.entry(pinned.version).group_id
    memory.pin("sales", [second.id], group_id=group)
    newest = memory.activity.list()[0]
    assert (newest.verb, newest.changes, newest.seq, newest.last_seq) == ("pin", 2, 3, 4)
    assert [each.verb for each in memory.activity.list()] == ["pin", "remember", "remember"]
    assert [each.target for each in memory.activity.targets(group)] == [first.id, second.id]
    assert memory.activity.entry(4) == newest
    with pytest.raises(NotFound):
        memory.activity.entry(99)


def test_a_line_shows_the_first_things_it_changed_without_their_long_parts(memory: Memory) -> None:
    text = "long " * 10_000
    fact = memory.remember("ops", text, origin=CLAUDE)
    memory.label("ops", [fact.id], "verified")
    labelled, written = memory.activity.list()
    (target,) = written.targets
    assert (target.kind, target.target, target.agent_id, target.is_new) == ("fact", fact.id, "ops", True)
    assert target.text == text[:400]
    assert "text" not in target.after
    assert "origin" not in target.after
    assert written.actor == CLAUDE
    (target,) = labelled.targets
    assert (target.before, target.after, target.text) == ({"confidence": ""}, {"confidence": "verified"}, text[:400])


def test_many_changes_are_counted_and_paged(memory: Memory) -> None:
    ids = [memory.remember("ops", f"fact {n}").id for n in range(250)]
    memory.retire("ops", ids)
    newest = memory.activity.list(limit=1)[0]
    assert (newest.changes, len(newest.targets)) == (250, 3)
    pages = [memory.activity.targets(newest.group_id, skip=skip, limit=100) for skip in (0, 100, 200)]
    assert [each.target for page in pages for each in page] == ids


def test_pages_follow_each_other_without_a_gap(memory: Memory) -> None:
    for n in range(10):
        memory.remember("ops", f"fact {n}")
    seen: list[int] = []
    before = None
    while page := memory.activity.list(before_seq=before, limit=3):
        seen.extend(each.seq for each in page)
        before = page[-1].seq
    assert seen == list(range(10, 0, -1))


def test_filters_by_client_agent_verb_time_and_target(memory: Memory) -> None:
    first = memory.remember("ops", "one", origin=CLAUDE)
    second = memory.remember("sales", "two")
    moved = memory.move("sales", [second.id], "ops")[0]
    memory.pin("ops", [first.id])

    def verbs(query: ActivityQuery) -> list[str]:
        return [each.verb for each in memory.activity.list(query)]

    assert verbs(ActivityQuery(channel="mcp", client="claude")) == ["remember"]
    assert verbs(ActivityQuery(channel="mcp", client="")) == []
    assert verbs(ActivityQuery(channel="desktop")) == ["pin", "move", "remember"]
    assert verbs(ActivityQuery(agent_id="ops")) == ["pin", "move", "remember"]
    assert verbs(ActivityQuery(agent_id="sales")) == ["move", "remember"]
    assert verbs(ActivityQuery(verbs=frozenset({"pin", "move"}))) == ["pin", "move"]
    assert verbs(ActivityQuery(target=first.id)) == ["pin", "remember"]
    at_ns = memory.entry(moved.version).at_ns
    assert verbs(ActivityQuery(from_ns=at_ns)) == ["pin", "move"]
    assert verbs(ActivityQuery(until_ns=at_ns)) == ["remember", "remember"]


def test_what_is_undone_says_so_and_an_undo_says_what_it_undid(memory: Memory) -> None:
    fact = memory.remember("ops", "one")
    pinned = memory.pin("ops", [fact.id])[0]
    undo = memory.undo(pinned.version)
    undone, pin, _ = memory.activity.list()
    assert (pin.is_undone, undone.is_undone) == (True, False)
    assert (undone.verb, undone.undone_verb, undone.is_redo) == ("undo", "pin", False)
    memory.redo(undo.seq)
    redone, undone, pin, _ = memory.activity.list()
    assert (pin.is_undone, undone.is_undone, redone.is_undone) == (False, True, False)
    assert (redone.undone_verb, redone.is_redo) == ("pin", True)
    memory.undo(pinned.version)
    assert memory.activity.entry(pinned.version).is_undone
    assert memory.activity.list()[0].undone_verb == "pin"


def test_of_many_entries_those_that_are_undone_now_are_told_at_once(memory: Memory) -> None:
    first, second = memory.remember("ops", "one"), memory.remember("sales", "two")
    pinned = memory.pin("ops", [first.id])[0]
    with_it = memory.pin("sales", [second.id], group_id=memory.entry(pinned.version).group_id)[0]
    seqs = range(1, 99)
    assert memory.activity.undone(seqs) == frozenset()
    undo = memory.undo(pinned.version)
    assert memory.activity.undone(seqs) == {pinned.version, with_it.version}
    assert memory.activity.undone([with_it.version]) == {with_it.version}
    assert memory.activity.undone([]) == frozenset()
    memory.redo(undo.seq)
    assert memory.activity.undone(seqs) == {undo.seq}


def test_a_removed_fact_is_told_from_its_image(memory: Memory) -> None:
    fact = memory.remember("ops", "gone with the wind")
    memory.undo(fact.version)
    undo, written = memory.activity.list()
    assert [each.text for each in (*undo.targets, *written.targets)] == ["gone with the wind"] * 2
    assert (undo.targets[0].is_gone, written.targets[0].is_new) == (True, True)


def test_other_kinds_of_record_are_told_too(memory: Memory) -> None:
    memory.set_settings(replace(memory.settings, min_relevance=0.2))
    saved = memory.checkpoints.save("ops", state={})
    memory.checkpoints.review(saved.id, "approved", note="good")
    review, made, settings = memory.activity.list()
    assert (settings.targets[0].kind, settings.targets[0].target) == ("setting", "min_relevance")
    assert (made.verb, made.targets[0].kind, made.targets[0].text) == ("checkpoint", "checkpoint", "")
    assert review.targets[0].after["verdict"] == "approved"


def test_writers_and_verbs_are_counted(memory: Memory) -> None:
    memory.remember("ops", "one", origin=CLAUDE)
    memory.remember("ops", "two", origin=replace(CLAUDE, session="other"))
    memory.remember("ops", "three")
    desktop, claude = memory.activity.writers()
    assert (claude.channel, claude.client, claude.entries) == ("mcp", "claude", 2)
    assert (desktop.channel, desktop.client, desktop.entries) == ("desktop", "", 1)
    assert desktop.last_ns > claude.last_ns
    assert memory.activity.verbs() == {"remember": 3}


def test_an_empty_journal_has_no_activity(memory: Memory) -> None:
    assert (memory.activity.list(), memory.activity.writers(), memory.activity.verbs()) == ((), (), {})
