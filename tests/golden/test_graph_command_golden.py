"""What `graymatter kg` prints, kept as files beside those of the other commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, Memory
from gm_engine.cli.kg import dictionary, kg
from gm_engine.graph.records import DictionaryEntry
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run
from tests.golden.test_command_line_golden import check


@pytest.fixture(autouse=True)
def _same_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data_dir = tmp_path_factory.mktemp("golden") / "graph"
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(data_dir, background=False, clock=FrozenClock(), config=config) as memory:
        memory.remember("ops", "Grace Lin met Tom Becker of Acme Corp in Lisbon on 14 March 2026.")
        gone = memory.remember("ops", "Tom Becker works at Globex. → [[Night shift]]")
        memory.remember("sales", "Ana prefers short answers.")
        memory.graph.define(
            [DictionaryEntry("Acme", "organization", ("Acme Corp",)), DictionaryEntry("x", ignore=True)]
        )
        memory.graph.extract()
        memory.graph.link("ana", "grace lin", "knows")
        memory.retire("ops", [gone.id])
        memory.graph.add("Alone \N{RIGHT-TO-LEFT OVERRIDE}\n", "person", names=["שלום"])
        memory.graph.mentions()
    return data_dir


@pytest.mark.parametrize("name", sorted(kg.commands))
def test_the_help_of_a_graph_command(name: str) -> None:
    check(f"help-kg-{name}.txt", run("kg", name, "--help").out)


@pytest.mark.parametrize("name", sorted(dictionary.commands))
def test_the_help_of_a_dictionary_command(name: str) -> None:
    check(f"help-kg-dictionary-{name}.txt", run("kg", "dictionary", name, "--help").out)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("kg-list", ["list"]),
        ("kg-edges", ["list", "--edges"]),
        ("kg-show", ["show", "Tom Becker"]),
        ("kg-path", ["path", "Ana", "Lisbon"]),
        ("kg-overview", ["overview"]),
        ("kg-dictionary", ["dictionary", "list"]),
    ],
)
def test_json_and_plain_output(store: Path, name: str, arguments: list[str]) -> None:
    check(f"{name}.json", run("--data-dir", store, "--json", "kg", *arguments).out)
    check(f"{name}.txt", run("--data-dir", store, "kg", *arguments).out)


def test_the_dictionary_as_a_file(store: Path) -> None:
    check("kg-dictionary-file.json", run("--data-dir", store, "kg", "dictionary", "export", "-").out)
