"""Laws of journal and undo, on random sequences of verbs by two writers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gm_engine import (
    BlockedValue,
    Config,
    EmbeddingMode,
    FactChanged,
    FactQuery,
    InvalidInput,
    Memory,
    MemoryView,
    NotFound,
    UndoConflict,
)
from gm_engine.records import Fact, SortColumn
from gm_engine.store.blocked import block_key
from gm_engine.store.facts import BOOKKEEPING, fact_image
from tests.fakes.clock import FrozenClock
from tests.fakes.replay import replay

AGENTS = ("scout", "miner")
TEXTS = ("The gate opens.", "the gate opens.", "x²", "x2", "[[a]] --- \0", "東京の会議", "café", "cafe\u0301")
SORTS: tuple[SortColumn, ...] = ("created", "text", "confidence", "origin", "status")
Step = tuple[int, str, int, int]
VERBS = ("remember", "revise", "retire", "restore", "pin", "unpin", "label", "move", "copy", "alias", "undo")


def steps_of(*verbs: str) -> st.SearchStrategy[list[Step]]:
    step = st.tuples(st.integers(0, 1), st.sampled_from(verbs), st.integers(0, 30), st.integers(0, 30))
    return st.lists(step, max_size=25)


STEPS = steps_of(*VERBS, "block")
UNDOABLE = steps_of(*VERBS)
"""Without blocks: going back to where a blocked text was live is refused, which is a law of its own."""
LAW = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store"
    Memory.open(path, background=False, config=Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)).close()
    return path


@contextmanager
def two_writers(template: Path) -> Iterator[tuple[Memory, Memory]]:
    clock, config = FrozenClock(), Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        shutil.copytree(template, path)
        with (
            Memory.open(path, clock=clock, config=config, background=False) as one,
            Memory.open(path, clock=clock, config=config, background=False) as two,
        ):
            yield one, two


def do(memory: Memory, verb: str, a: int, b: int) -> None:
    """One verb on whatever facts there are; refusals are part of the game."""
    agent, text = AGENTS[a % 2], TEXTS[b % len(TEXTS)]
    ids = memory.fact_ids(FactQuery(agent_id=agent, status="all"))
    some = [ids[(a + i) % len(ids)] for i in range(1 + b % 3)] if ids else ["none"]
    try:
        match verb:
            case "remember":
                memory.remember(agent, text, confidence=("verified", None, "unverified")[b % 3])
            case "revise":
                memory.revise(agent, text if a % 2 else some, f"{text} {a}")
            case "label":
                memory.label(agent, some, ("verified", "inferred", "unverified")[b % 3])
            case "move" | "copy":
                getattr(memory, verb)(agent, some, AGENTS[b % 2])
            case "alias":
                memory.alias(agent, "gate", ["door"])
            case "block":
                if b % 2:
                    memory.retire(agent, some, block=True)
                else:
                    memory.blocked.remove(text)
            case "undo":
                memory.undo(1 + (a * 31 + b) % max(1, memory.last_seq()))
            case "redo":
                undone = [entry.seq for entry in memory.journal() if entry.undoes is not None]
                memory.redo(undone[b % len(undone)] if undone else 0)
            case _:
                getattr(memory, verb)(agent, some)
    except (BlockedValue, FactChanged, InvalidInput, NotFound, UndoConflict):
        pass


def everything(memory: Memory | MemoryView) -> dict[str, tuple[int, dict[str, object]]]:
    facts = memory.facts(memory.fact_ids(FactQuery(status="all")))
    return {fact.id: (fact.version, journalled(fact)) for fact in facts}


def journalled(fact: Fact) -> dict[str, object]:
    return {name: value for name, value in fact_image(fact).items() if name not in BOOKKEEPING}


@LAW
@given(steps=STEPS)
def test_replaying_the_journal_gives_the_facts(template: Path, steps: list[Step]) -> None:
    with two_writers(template) as writers:
        for who, verb, a, b in steps:
            do(writers[who], verb, a, b)
        entries = writers[0].journal(limit=10_000)
        replayed = {
            target: (version, {k: v for k, v in image.items() if k not in BOOKKEEPING})
            for target, (version, image) in replay(reversed(entries), kind="fact").items()
        }
        assert replayed == everything(writers[1])


@LAW
@given(steps=UNDOABLE)
def test_undoing_every_action_newest_first_leads_back_to_the_start(template: Path, steps: list[Step]) -> None:
    with two_writers(template) as writers:
        kept = writers[0].remember("scout", "kept")
        start, start_seq = everything(writers[0]), writers[0].last_seq()
        for who, verb, a, b in steps:
            do(writers[who], verb, a, b)
        for seq in range(writers[0].last_seq(), start_seq, -1):
            writers[1].undo(seq)
        assert everything(writers[0]) == start
        assert writers[1].get(kept.id) == kept


@LAW
@given(steps=UNDOABLE, seq=st.integers(0, 1000))
def test_undo_then_redo_changes_nothing(template: Path, steps: list[Step], seq: int) -> None:
    with two_writers(template) as (one, two):
        one.remember("scout", "first")
        for _, verb, a, b in steps:
            do(one, verb, a, b)
        before = everything(one)
        try:
            undone = two.undo(1 + seq % one.last_seq())
        except UndoConflict:
            assert everything(one) == before
            return
        two.redo(undone.seq)
        assert everything(one) == before


@LAW
@given(steps=STEPS)
def test_every_past_moment_shows_what_was_seen_then(template: Path, steps: list[Step]) -> None:
    with two_writers(template) as (one, two):
        seen = []
        for who, verb, a, b in steps:
            do((one, two)[who], verb, a, b)
            seen.append((one.last_seq(), everything(one), listed(one)))
        for seq, facts, ids in seen:
            with two.at(before_seq=seq + 1) as view:
                assert everything(view) == facts
                assert listed(view) == ids


@LAW
@given(steps=STEPS, first=st.integers(0, 24), more=st.integers(0, 24))
def test_the_difference_of_two_moments_is_what_the_moments_say(
    template: Path, steps: list[Step], first: int, more: int
) -> None:
    with two_writers(template) as (one, two):
        for who, verb, a, b in steps:
            do((one, two)[who], verb, a, b)
        start = 1 + min(first, one.last_seq())
        with one.at(before_seq=start) as before, one.at(before_seq=min(start + more, one.last_seq() + 1)) as after:
            old, new = everything(before), everything(after)
            found = {difference.fact_id: difference for difference in before.diff(after)}
        differing = {fact_id for fact_id in old.keys() | new.keys() if columns(old, fact_id) != columns(new, fact_id)}
        assert found.keys() == differing
        for fact_id, difference in found.items():
            assert (difference.before is None, difference.after is None) == (fact_id not in old, fact_id not in new)
            assert difference.kinds


@LAW
@given(steps=STEPS, later=STEPS)
def test_a_view_that_stays_open_never_changes(template: Path, steps: list[Step], later: list[Step]) -> None:
    with two_writers(template) as (one, two):
        for who, verb, a, b in steps:
            do((one, two)[who], verb, a, b)
        with one.at(before_seq=one.last_seq() + 1) as view:
            facts = everything(view)
            assert facts == everything(one)
            for who, verb, a, b in later:
                do((one, two)[who], verb, a, b)
                assert everything(view) == facts


def listed(source: Memory | MemoryView) -> list[list[str]]:
    queries = [FactQuery(agent_id=agent, sort=sort) for agent in (None, *AGENTS) for sort in SORTS]
    return [
        source.fact_ids(query) for query in (*queries, FactQuery(status="all", text="gate"), FactQuery(pinned=True))
    ]


def columns(facts: dict[str, tuple[int, dict[str, object]]], fact_id: str) -> object:
    """What a difference looks at: the columns, not the version."""
    return facts[fact_id][1] if fact_id in facts else None


@LAW
@given(steps=STEPS, seq=st.integers(0, 1000))
def test_no_undo_brings_a_blocked_text_to_life(template: Path, steps: list[Step], seq: int) -> None:
    with two_writers(template) as (one, two):
        one.remember("scout", TEXTS[0])
        for who, verb, a, b in steps:
            do((one, two)[who], verb, a, b)
        before, live = everything(one), set(one.fact_ids(FactQuery()))
        try:
            two.undo(1 + seq % one.last_seq())
        except (BlockedValue, UndoConflict):
            assert everything(one) == before
            return
        blocked = {block.key for block in one.blocked.list()}
        risen = [fact.text for fact in one.list_facts(FactQuery(), limit=1000) if fact.id not in live]
        assert blocked.isdisjoint(block_key(text).hex() for text in risen)
