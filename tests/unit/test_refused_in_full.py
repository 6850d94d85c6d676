"""What the verbs of the engine, its sources and its models refuse, each by its name and before any effect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, InvalidInput, Memory, NotFound
from gm_engine.config import LanguageModelConfig
from gm_engine.errors import LanguageModelFailed
from gm_engine.graph.dictionary import FORMAT, MAX_ENTRIES
from gm_engine.recall_protocol.adapter_settings import read_settings
from gm_engine.recall_protocol.source_config import SourceConfig
from gm_engine.records import FactQuery
from tests.fakes.clock import FrozenClock
from tests.fakes.model_server import Reply, model_server


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as opened:
        opened.graph.add("Orbit Labs", "organization")
        opened.graph.add("Lisbon", "place")
        yield opened


def _too_many() -> str:
    return json.dumps({"format": FORMAT, "entries": [{}] * (MAX_ENTRIES + 1)})


REFUSED: dict[str, tuple[Callable[[Memory], object], type[Exception], str]] = {
    "retire nothing": (lambda m: m.retire("ops", []), InvalidInput, "No fact was named"),
    "delete no entity": (lambda m: m.graph.delete([]), InvalidInput, "Nothing was named"),
    "link with a receipt that is none": (
        lambda m: m.graph.link("orbit labs", "lisbon", "sits in", sources=["nobody"]),
        NotFound,
        "There is no fact nobody",
    ),
    "fade in no time": (lambda m: m.graph.fade(half_life_h=0.0), InvalidInput, "half-life"),
    "a dictionary without end": (
        lambda m: m.graph.import_dictionary(_too_many()),
        InvalidInput,
        "are the most",
    ),
    "the lineage of nothing": (lambda m: m.lineage("nobody"), NotFound, "There is no fact nobody"),
    "a page of nothing": (lambda m: m.list_facts(FactQuery(), limit=0), InvalidInput, "at least one fact"),
    "a page after nothing": (lambda m: m.list_facts(FactQuery(), after="nobody"), NotFound, "to page from"),
    "a vector path that is none": (
        lambda m: m.set_settings(replace(m.settings, vector_path="fast")),  # type: ignore[arg-type]
        InvalidInput,
        "auto or exact",
    ),
    "an inbox in no state": (lambda m: m.inbox.list(state="lost"), InvalidInput, "no state 'lost'"),  # type: ignore[arg-type]
    "a count of cards in no state": (lambda m: m.inbox.count("lost"), InvalidInput, "no state 'lost'"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_refused_call_names_what_is_wrong_and_writes_nothing(memory: Memory, what: str) -> None:
    call, error, words = REFUSED[what]
    seq = memory.last_seq()
    with pytest.raises(error, match=words):
        call(memory)
    assert memory.last_seq() == seq


def test_a_language_model_is_one_of_the_kinds_that_can_be_asked() -> None:
    with pytest.raises(InvalidInput, match="openai or anthropic, not 'gpt'"):
        LanguageModelConfig("gpt", "http://localhost:1", "small")  # type: ignore[arg-type]


def test_a_source_needs_a_command() -> None:
    with pytest.raises(InvalidInput, match="The source notes has no command"):
        SourceConfig("u", "notes", " ")


def test_a_setting_of_the_adapter_is_refused_with_its_rule() -> None:
    with pytest.raises(InvalidInput, match="a setting has a value that it cannot have: sensitivity: "):
        read_settings({"sensitivity": "loud"})


# Keeping a text -------------------------------------------------------------------------------------------------------


def with_model(path: Path, url: str) -> Memory:
    model = LanguageModelConfig("openai", url, "small", retries=0, retry_pause_s=0.0)
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, language_model=model)
    return Memory.open(path, clock=FrozenClock(), config=config, background=False)


def test_a_text_whose_model_fails_is_not_kept_in_part(tmp_path: Path) -> None:
    with model_server(Reply(b"{}", status=500)) as server, with_model(tmp_path, server.url) as memory:
        with pytest.raises(LanguageModelFailed):
            memory.remember_extracted("ops", "Ana leads the team. Bo likes tea.")
        assert memory.list_facts(FactQuery()) == ()
