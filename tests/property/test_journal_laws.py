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

from gm_engine import Config, EmbeddingMode, FactChanged, FactQuery, InvalidInput, Memory, NotFound, UndoConflict
from gm_engine.records import Fact
from gm_engine.store.facts import BOOKKEEPING, fact_image
from tests.fakes.clock import FrozenClock
from tests.fakes.replay import replay

AGENTS = ("scout", "miner")
TEXTS = ("The gate opens.", "the gate opens.", "x²", "x2", "[[a]] --- \0", "東京の会議", "café", "cafe\u0301")
Step = tuple[int, str, int, int]
STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(
            ("remember", "revise", "retire", "restore", "pin", "unpin", "label", "move", "copy", "alias", "undo")
        ),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    max_size=25,
)


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
            case "undo":
                memory.undo(1 + (a * 31 + b) % max(1, memory.last_seq()))
            case _:
                getattr(memory, verb)(agent, some)
    except (FactChanged, InvalidInput, NotFound, UndoConflict):
        pass


def everything(memory: Memory) -> dict[str, tuple[int, dict[str, object]]]:
    facts = memory.facts(memory.fact_ids(FactQuery(status="all")))
    return {fact.id: (fact.version, journalled(fact)) for fact in facts}


def journalled(fact: Fact) -> dict[str, object]:
    return {name: value for name, value in fact_image(fact).items() if name not in BOOKKEEPING}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
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


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, seq=st.integers(0, 1000))
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
