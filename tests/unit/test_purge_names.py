"""Purging names: what a person said of them goes with them, what others are called stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, Memory
from tests.fakes.clock import FrozenClock


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as opened:
        yield opened


def holds(memory: Memory, *words: str) -> bool:
    """Whether a file of the store holds one of the words, however it is spelled."""
    files = [path.read_bytes().lower() for path in memory.data_dir.glob("ledger.sqlite*")]
    return any(word.encode() in data for data in files for word in words)


def test_a_link_that_a_person_took_away_is_forgotten_with_its_end_and_others_stay_away(memory: Memory) -> None:
    memory.remember("scout", "Grace Lin met Tom Becker.")
    secret = memory.remember("scout", "Grace Lin met Bartholomew Quux.")
    memory.graph.extract()
    for other in ("tom becker", "bartholomew quux"):
        memory.graph.unlink("grace lin", other)
    assert memory.graph.edges() == ()
    assert holds(memory, "quux")
    report = memory.purge(secret.text)
    assert (report.facts, report.entities, report.incomplete) == (1, 1, ())
    assert not holds(memory, "quux", "bartholomew")
    memory.graph.extract(everything=True)
    assert {entity.label for entity in memory.graph.entities()} == {"Grace Lin", "Tom Becker"}
    assert memory.graph.edges() == ()


def test_an_entity_of_another_label_loses_the_purged_name_only(memory: Memory) -> None:
    memory.graph.add("Depot", "place", names=["Xyzzy vault", "the depot"])
    memory.remember("scout", "Xyzzy vault")
    report = memory.purge("Xyzzy vault")
    assert (report.facts, report.entities) == (1, 0)
    assert memory.graph.get("depot").label == "Depot"
    assert set(memory.graph.names("depot")) == {"depot", "the depot"}
    assert not holds(memory, "xyzzy")


def test_names_that_other_facts_say_too_stay(memory: Memory) -> None:
    memory.remember("scout", "Grace Lin works with Tom Becker.")
    memory.remember("scout", "Nobody owns the wiki.")
    secret = memory.remember("scout", "Grace Lin met Tom Becker at the vault.")
    memory.graph.extract()
    report = memory.purge(secret.text)
    assert report.entities == 0
    assert {entity.label for entity in memory.graph.entities()} == {"Grace Lin", "Tom Becker"}


def test_of_very_many_places_that_still_hold_a_text_some_are_named(memory: Memory) -> None:
    for number in range(25):
        memory.remember("scout", f"Note {number}: the code is 4711.")
    memory.remember("scout", "the code is 4711")
    report = memory.purge("the code is 4711")
    assert report.facts == 1
    assert len(report.still_in) == 21
    assert report.still_in[-1] == "5 more of fact"
