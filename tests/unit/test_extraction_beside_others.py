"""Extraction while another program writes, and under new rules: what no longer holds is taken back, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, Memory
from gm_engine.graph.extraction import Extractor, KnownNames, Reading
from gm_engine.graph.records import DictionaryEntry
from tests.fakes.clock import FrozenClock


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Memory, Memory]]:
    """One store, open twice."""
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with (
        Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as memory,
        Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as other,
    ):
        yield memory, other


def links(memory: Memory) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(edge.from_id, edge.to_id): edge.sources for edge in memory.graph.edges()}


def while_reading(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """`act` happens once, when a text has been read and not been written."""
    read, left = Extractor.read, [act]

    def reads(self: Extractor, text: str, known: KnownNames) -> Reading:
        reading = read(self, text, known)
        if left:
            left.pop()()
        return reading

    monkeypatch.setattr(Extractor, "read", reads)


def test_new_rules_take_back_the_links_that_no_fact_bears_out_any_more(
    pair: tuple[Memory, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, _ = pair
    visit = memory.remember("ops", "Grace Lin met Tom Becker in Lisbon.")
    meeting = memory.remember("ops", "Grace Lin met Tom Becker.")
    memory.graph.extract()
    both = {visit.id, meeting.id}
    assert set(links(memory)[("grace lin", "tom becker")]) == both
    assert links(memory)[("grace lin", "lisbon")] == (visit.id,)
    before = links(memory)
    read = Extractor.read

    def reads(self: Extractor, text: str, known: KnownNames) -> Reading:
        reading = read(self, text, known)
        return replace(reading, links=()) if "Lisbon" in text else reading

    monkeypatch.setattr(Extractor, "read", reads)
    monkeypatch.setattr("gm_engine.graph.feeding.EXTRACTION_RULES", 99)
    memory.remember("ops", "nothing")
    assert memory.graph.extract().facts == 3
    assert links(memory) == {("grace lin", "tom becker"): (meeting.id,)}
    memory.undo(memory.last_seq())
    assert set(links(memory)) == set(before)


def test_a_fact_that_is_retired_while_it_is_read_says_nothing(
    pair: tuple[Memory, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = pair
    fact = memory.remember("ops", "Grace Lin met Tom Becker.")
    while_reading(monkeypatch, lambda: other.retire("ops", [fact.id]))
    memory.graph.extract()
    assert memory.graph.entities() == ()
    memory.restore("ops", [fact.id])
    assert memory.graph.extract().entities == 2


def test_an_entity_that_got_another_name_meanwhile_is_still_the_one_that_was_meant(
    pair: tuple[Memory, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = pair
    memory.graph.add("Tom Becker", "person")
    memory.graph.add("Grace Lin", "person")
    memory.remember("ops", "Grace Lin met Tom Becker.")

    while_reading(monkeypatch, lambda: other.graph.rename("tom becker", "Thomas Becker"))
    memory.graph.extract()
    assert {entity.label for entity in memory.graph.entities()} == {"Thomas Becker", "Grace Lin"}
    assert set(links(memory)) == {("grace lin", "tom becker")}


def test_a_name_that_another_program_gives_while_a_text_is_read_is_known_for_the_next(
    pair: tuple[Memory, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = pair
    memory.remember("ops", "Grace Lin met Tom Becker.")
    while_reading(monkeypatch, lambda: other.graph.add("Hedgerow", "project", names=["the hedge"]))
    memory.graph.extract()
    fact = memory.remember("ops", "Grace Lin cares for the hedge.")
    memory.graph.extract()
    assert fact.id in memory.graph.mentioned_in("hedgerow")


def test_an_entry_of_the_dictionary_that_says_the_same_again_changes_nothing(pair: tuple[Memory, Memory]) -> None:
    memory, other = pair
    entry = DictionaryEntry("Hedgerow", "project", ("the hedge",))
    memory.graph.define(entry)
    seq = memory.last_seq()
    other.graph.define(entry)
    assert memory.last_seq() == seq
    assert memory.graph.dictionary() == (entry,)
