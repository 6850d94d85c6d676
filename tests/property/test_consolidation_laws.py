"""Laws of consolidation: what is never merged, what every cycle and every decision leaves behind."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gm_engine import (
    Config,
    EmbeddingMode,
    FactChanged,
    FactQuery,
    InvalidInput,
    Memory,
    NotFound,
    ProposalDecided,
    UndoConflict,
)
from gm_engine.consolidation.comparison import compare
from gm_engine.consolidation.decay import decayed
from gm_engine.consolidation.neighbours import distinct
from gm_engine.consolidation.steps import run
from gm_engine.consolidation.wording import tokens
from gm_engine.progress import no_progress
from gm_engine.proposals import PROPOSAL_STATES, ProposalSource, ProposalState
from gm_engine.records import Fact
from gm_engine.store.facts import BOOKKEEPING, fact_image
from tests.fakes.clock import FrozenClock
from tests.fakes.replay import replay

SUBJECTS = ("the gate", "our nightly backup", "a rollback", "every deploy", "Orion", "the café")
VERBS = ("opens", "runs", "takes place", "is moved", "can be paused")
PLACES = ("in the yard", "on the north side", "with two keys", "near Berlin", "at the depot")
NUMBERS = ("2", "3", "10", "1,000", "02:00", "0.5", "²")
NAMES = ("Ana", "Ben", "Chidi", "userId", "USERID", "x2", "x²", "MAX_SIZE", "max_size", "v1.2", "#12")
SENTENCES = st.tuples(st.sampled_from(SUBJECTS), st.sampled_from(VERBS), st.sampled_from(PLACES)).map(" ".join)
SIMILARITIES = st.one_of(st.none(), st.floats(0.0, 1.0))
TEXTS = (
    "The gate opens at nine.",
    "the gate opens at nine",
    "The gate opens at ten.",
    "The gate does not open at nine.",
    "x² is used.",
    "x2 is used.",
    "東京の会議は3時",
    "東京の会議は5時",
    "[[a]] --- \0",
)
STEP = st.tuples(
    st.sampled_from(
        ("remember", "revise", "pin", "retire", "cycle", "apply", "accept", "reject", "never", "later", "undo")
    ),
    st.integers(0, 30),
    st.integers(0, 30),
)
STATES: tuple[ProposalState | Literal["waiting"], ...] = ("waiting", *PROPOSAL_STATES)
SOURCES: tuple[ProposalSource | None, ...] = (None, "consolidation", "review")


@given(st.lists(st.lists(st.integers(0, 1 << 40), max_size=30), max_size=5), st.integers(1, 9))
def test_sorting_in_pieces_gives_every_number_once_in_order(parts: list[list[int]], at_once: int) -> None:
    steps = distinct([np.array(part, np.int64) for part in parts], at_once=at_once)
    found = run(steps, progress=no_progress, cancel=None)
    assert found.tolist() == sorted({number for part in parts for number in part})


@given(SENTENCES, st.sampled_from(NUMBERS), st.sampled_from(NUMBERS), SIMILARITIES)
def test_sentences_that_differ_in_a_number_are_never_one(
    sentence: str, one: str, other: str, similarity: float | None
) -> None:
    assume(one != other)
    left, right = tokens(f"{sentence} for {one} hours"), tokens(f"{sentence} for {other} hours")
    assert compare(left, right, similarity).verdict != "near"


@given(SENTENCES, st.sampled_from(NAMES), st.sampled_from(NAMES), SIMILARITIES)
def test_sentences_that_differ_in_a_name_or_in_its_case_are_never_one(
    sentence: str, one: str, other: str, similarity: float | None
) -> None:
    assume(one != other)
    left, right = tokens(f"{sentence}, says {one}"), tokens(f"{sentence}, says {other}")
    assert compare(left, right, similarity).verdict == "different" or one[:1].isdigit()
    left, right = tokens(f"{one}: {sentence}"), tokens(f"{other}: {sentence}")
    assert compare(left, right, similarity).verdict != "near"


@given(
    st.sampled_from(SUBJECTS),
    st.sampled_from(("is not", "is never", "isn't", "isn’t")),
    st.sampled_from(PLACES),
    SIMILARITIES,
)
def test_sentences_that_differ_in_a_negation_contradict(
    subject: str, negated: str, place: str, similarity: float | None
) -> None:
    left, right = tokens(f"{subject} is open {place}"), tokens(f"{subject} {negated} open {place}")
    assert compare(left, right, similarity).verdict == "contradiction"


@given(st.text(max_size=80), st.text(max_size=80), SIMILARITIES)
def test_comparing_is_symmetric_and_survives_any_text(one: str, other: str, similarity: float | None) -> None:
    left, right = tokens(one), tokens(other)
    assert compare(left, right, similarity).verdict == compare(right, left, similarity).verdict


@given(st.floats(0, 1), st.integers(0, 10**18), st.integers(0, 10**18), st.floats(0.1, 10_000))
def test_fading_never_raises_a_weight_and_doing_it_twice_is_doing_it_once(
    weight: float, used_ns: int, now_ns: int, half_life_h: float
) -> None:
    once = decayed(weight, used_ns, now_ns, half_life_h=half_life_h)
    assert 0 <= once <= weight
    assert decayed(once, used_ns, now_ns, half_life_h=half_life_h) == once


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store"
    Memory.open(path, background=False, config=Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)).close()
    return path


@contextmanager
def opened(template: Path) -> Iterator[Memory]:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        shutil.copytree(template, path)
        with Memory.open(path, clock=FrozenClock(), config=config, background=False) as memory:
            yield memory


def do(memory: Memory, verb: str, a: int, b: int) -> None:
    """One verb on whatever facts and cards there are; refusals are part of the game."""
    text = TEXTS[b % len(TEXTS)]
    ids = memory.fact_ids(FactQuery(agent_id="ops"))
    cards = memory.inbox.list("waiting")
    try:
        match verb:
            case "remember":
                memory.remember("ops", text, confidence=("verified", None, "unverified")[a % 3])
            case "revise" if ids:
                memory.revise("ops", [ids[a % len(ids)]], f"{text} {b}")
            case "pin" if ids:
                memory.pin("ops", [ids[a % len(ids)]])
            case "retire" if ids:
                memory.retire("ops", [ids[a % len(ids)]])
            case "cycle":
                memory.consolidate("ops")
            case "apply":
                memory.consolidate("ops", apply=("exact_duplicate", "near_duplicate", "contradiction"))
            case "accept" if cards:
                memory.inbox.accept(cards[a % len(cards)].id, edited=None if b % 3 else f"Edited {text}")
            case "reject" if cards:
                memory.inbox.reject(cards[a % len(cards)].id)
            case "never" if cards:
                memory.inbox.never_again(cards[a % len(cards)].id)
            case "later" if cards:
                memory.inbox.later(cards[a % len(cards)].id)
            case "undo":
                memory.undo(1 + (a * 31 + b) % max(1, memory.last_seq()))
    except (FactChanged, InvalidInput, NotFound, ProposalDecided, UndoConflict):
        pass


def journalled(fact: Fact) -> dict[str, object]:
    return {name: value for name, value in fact_image(fact).items() if name not in BOOKKEEPING}


def everything(memory: Memory) -> dict[str, tuple[int, dict[str, object]]]:
    facts = memory.facts(memory.fact_ids(FactQuery(status="all")))
    return {fact.id: (fact.version, journalled(fact)) for fact in facts}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, max_size=20))
def test_replaying_the_journal_gives_facts_and_cards(template: Path, steps: list[tuple[str, int, int]]) -> None:
    with opened(template) as memory:
        for verb, a, b in steps:
            do(memory, verb, a, b)
        entries = tuple(reversed(memory.journal(limit=10_000)))
        replayed = {
            target: (version, {k: v for k, v in image.items() if k not in BOOKKEEPING})
            for target, (version, image) in replay(entries, kind="fact").items()
        }
        assert replayed == everything(memory)
        for card_id, (version, image) in replay(entries, kind="proposal").items():
            card = memory.inbox.get(card_id)
            assert (card.seq, card.state) == (version, image["state"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, max_size=20))
def test_cards_are_counted_as_they_are_listed_after_every_step(
    template: Path, steps: list[tuple[str, int, int]]
) -> None:
    with opened(template) as memory:
        for text in TEXTS * 2:
            memory.remember("ops", text)
        memory.consolidate("ops")
        for verb, a, b in steps:
            do(memory, verb, a, b)
            for state, source in itertools.product(STATES, SOURCES):
                assert memory.inbox.count(state, source=source) == len(memory.inbox.list(state, source=source))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, max_size=20))
def test_undoing_every_action_newest_first_leads_back_to_the_start(
    template: Path, steps: list[tuple[str, int, int]]
) -> None:
    with opened(template) as memory:
        memory.remember("ops", "kept")
        start, start_seq = everything(memory), memory.last_seq()
        for verb, a, b in steps:
            do(memory, verb, a, b)
        undone: set[str] = set()
        for seq in range(memory.last_seq(), start_seq, -1):
            group = memory.entry(seq).group_id
            if group not in undone:
                undone.add(group)
                memory.undo(seq)
        assert everything(memory) == start
        assert memory.inbox.list("waiting") == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, max_size=15))
def test_a_cycle_settles_what_it_may_apply_loses_no_text_and_consumes_no_pin(
    template: Path, steps: list[tuple[str, int, int]]
) -> None:
    with opened(template) as memory:
        for verb, a, b in steps:
            do(memory, verb, a, b)
        before = memory.facts(memory.fact_ids(FactQuery(agent_id="ops")))
        dry = memory.consolidate("ops", dry_run=True, apply=("exact_duplicate",))
        assert memory.facts(memory.fact_ids(FactQuery(agent_id="ops"))) == before
        report = memory.consolidate("ops", apply=("exact_duplicate",))
        assert report.proposed == dry.proposed
        after = memory.facts(memory.fact_ids(FactQuery(agent_id="ops")))
        assert {fact.text for fact in after} == {fact.text for fact in before}
        assert {fact.id for fact in before if fact.pinned} <= {fact.id for fact in after}
        again = memory.consolidate("ops", apply=("exact_duplicate",))
        assert (again.applied, again.consumed) == ({}, 0)
