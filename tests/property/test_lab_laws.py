"""Laws of the desktop's lab: what moves live under a slider is what a recall with that setting returns."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gm_desktop.viewmodels.answers import answer_question
from gm_desktop.viewmodels.live_ranking import LiveRanking
from gm_desktop.viewmodels.question import Question, RankSetting, Trial, saved_setting
from gm_engine import Memory
from gm_engine.records import FactQuery, StoreSettings
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.property.recall_stores import WORDS, template

NOW_NS = FrozenClock().at_ns
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
facts = st.lists(st.tuples(texts, st.sampled_from(["verified", "inferred", "unverified", ""])), max_size=10)
weights = st.sampled_from([0.0, 0.05, 0.5, 1.0, 2.5, 40.0])
live_numbers = st.fixed_dictionaries(
    {},
    optional={
        "vector": weights,
        "keyword": weights,
        "recency": weights,
        "confidence_weight": st.sampled_from([0.0, 0.13, 0.5]),
        "min_relevance": st.sampled_from([0.0, 0.5, 0.97, 1.0]),
    },
)
questions = st.builds(
    lambda query, numbers, gate, least, top_k: Question(
        "a", query, trial=Trial(numbers if gate is None else {**numbers, "coverage_gate": gate}, least, top_k)
    ),
    texts,
    live_numbers,
    st.sampled_from([None, 0.0, 1.0]),
    st.sampled_from(["", "inferred", "verified"]),
    st.integers(1, 6),
)
stores = st.sampled_from([StoreSettings(), StoreSettings(confidence_weight=0.2, min_relevance=0.5, coverage_gate=0.1)])


@contextmanager
def memory_of(written: list[tuple[str, str]], settings: StoreSettings) -> Iterator[Memory]:
    directory = Path(tempfile.mkdtemp(prefix="graymatter-lab-"))
    shutil.copy(template(), directory / "ledger.sqlite")
    try:
        with Memory.open(directory, background=False, clock=FrozenClock(), embedder=ScriptedEmbedder()) as memory:
            memory.set_settings(settings)
            for text, label in written:
                memory.remember("a", text, confidence=label or None)
            memory.wait_for_embeddings()
            yield memory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def live_answer(memory: Memory, question: Question) -> tuple[LiveRanking, RankSetting]:
    answer = answer_question(question, NOW_NS, memory, with_live=True)
    assert answer.live is not None
    return answer.live, answer.saved


@given(facts, stores, questions, st.lists(live_numbers, min_size=1, max_size=4))
def test_the_live_order_is_that_of_a_recall_with_the_setting(
    written: list[tuple[str, str]], settings: StoreSettings, question: Question, moves: list[dict[str, float]]
) -> None:
    with memory_of(written, settings) as memory:
        live, saved = live_answer(memory, question)
        kept = {name: value for name, value in question.trial.numbers.items() if name == "coverage_gate"}
        for numbers in moves:
            moved = replace(question, trial=replace(question.trial, numbers={**numbers, **kept}).settled(saved))
            assert live.answers(moved)
            shown = [hit.id for hit in live.hits(moved.trial.over(saved))]
            assert shown == [fact.id for fact in memory.recall("a", question.query, **moved.options(saved)).facts]
        assert all(fact.access_count == 0 for fact in memory.list_facts(FactQuery()))


@given(facts, stores, questions)
def test_places_are_compared_with_the_stores_own_ranking(
    written: list[tuple[str, str]], settings: StoreSettings, question: Question
) -> None:
    with memory_of(written, settings) as memory:
        live, saved = live_answer(memory, question)
        plain = Question("a", question.query, trial=Trial(top_k=question.top_k))
        places = {
            fact.id: place
            for place, fact in enumerate(memory.recall("a", question.query, **plain.options(saved)).facts, 1)
        }
        hits = live.hits(question.trial.settled(saved).over(saved))
        for hit in hits:
            before = places.get(hit.id)
            if before is None:
                assert hit.moved
            elif before == hit.position:
                assert hit.moved == ""
            else:
                arrow = "▲" if before > hit.position else "▼"
                assert hit.moved == f"{arrow} {abs(before - hit.position)}"
        shown = {hit.id for hit in hits}
        assert [left.id for left in live.left(hits)] == [each for each in places if each not in shown]


@given(stores, live_numbers)
def test_a_trial_equal_to_the_stores_setting_asks_for_nothing(
    settings: StoreSettings, numbers: dict[str, float]
) -> None:
    saved = saved_setting(settings)
    trial = Trial({**saved.numbers, **numbers}).settled(saved)
    assert trial.numbers == {name: value for name, value in numbers.items() if value != saved.numbers[name]}
    assert trial.over(saved).numbers == {**saved.numbers, **numbers}
    options = Question("a", "x", trial=Trial(dict(saved.numbers)).settled(saved)).options(saved)
    assert options == {"preview": True, "top_k": 8}
