"""`graymatter kg`: every verb on a real store, undone by the number it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, Memory
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    data_dir = tmp_path / "store"
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(data_dir, background=False, clock=FrozenClock(), config=config) as memory:
        memory.remember("ops", "Grace Lin met Tom Becker in Lisbon.")
        memory.remember("ops", "Mr Becker met Ana Sousa.")
    assert run("--data-dir", data_dir, "kg", "extract").out == "read 2 facts: 5 new entities, 4 new links\n"
    return data_dir


def labels(store: Path) -> set[str]:
    return {entity["label"] for entity in run("--data-dir", store, "--json", "kg", "list").json}


def test_every_verb_says_how_to_undo_it(store: Path) -> None:
    fact = run("--data-dir", store, "--json", "kg", "show", "lisbon").json["facts"][0]["id"]
    for arguments in (
        ["add", "Orbit Labs", "--type", "organization", "--name", "Orbit"],
        ["rename", "orbit", "Orbit Laboratories"],
        ["retype", "ORBIT", "Lisbon", "concept"],
        ["merge", "Becker", "Tom Becker"],
        ["split", "Tom Becker", "Tom B.", fact],
        ["link", "orbit", "tom b.", "--relation", "employs", "--fact", fact],
        ["unlink", "Tom B.", "Orbit"],
        ["delete", "Orbit Labs", "Lisbon"],
        ["dictionary", "define", "Grace", "--type", "person", "--name", "Grace Lin"],
        ["dictionary", "remove", "grace"],
    ):
        before = labels(store)
        answer = run("--data-dir", store, "kg", *arguments)
        assert answer.code == 0, answer.err
        seq = answer.out.split("graymatter undo ")[1].split("`")[0]
        after = labels(store)
        assert run("--data-dir", store, "undo", seq).code == 0
        assert labels(store) == before
        redo = run("--data-dir", store, "--json", "journal", "--limit", 1).json[0]["seq"]
        assert run("--data-dir", store, "redo", redo).code == 0
        assert labels(store) == after


def test_a_change_that_changes_nothing_says_so(store: Path) -> None:
    assert run("--data-dir", store, "kg", "rename", "Lisbon", "Lisbon").out.endswith("nothing to change\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["show", "nobody"], 3),
        (["path", "Lisbon", "Ana Sousa"], 3),
        (["unlink", "Lisbon", "Ana Sousa"], 3),
        (["add", "  "], 2),
        (["add", "lisbon"], 2),
        (["link", "Lisbon", "Lisbon"], 2),
        (["dictionary", "remove", "nobody"], 3),
        (["dictionary", "import", "-"], 2),
        (["merge"], 2),
    ],
)
def test_refusals_have_their_exit_codes(store: Path, arguments: list[str], code: int) -> None:
    answer = run("--data-dir", store, "kg", *arguments, stdin=b"\xff")
    assert (answer.code, answer.out) == (code, "")
    assert len(answer.err.splitlines()) == 1


def test_a_dictionary_goes_out_to_a_file_and_comes_back(store: Path, tmp_path: Path) -> None:
    run("--data-dir", store, "kg", "dictionary", "define", "Becker & Co", "--type", "organization", "--name", "B&C")
    file = tmp_path / "names.json"
    assert run("--data-dir", store, "kg", "dictionary", "export", file).out == "wrote 1 entry\n"
    run("--data-dir", store, "kg", "dictionary", "remove", "becker & co")
    assert run("--data-dir", store, "kg", "dictionary", "import", file).code == 0
    listed = run("--data-dir", store, "--json", "kg", "dictionary", "list").json
    assert listed == [{"label": "Becker & Co", "type": "organization", "names": ["B&C"], "ignore": False}]


def test_the_shape_and_the_way_are_told(store: Path) -> None:
    shape = run("--data-dir", store, "--json", "kg", "overview").json
    assert (shape["entities"], shape["components"]) == (5, [3, 2])
    way = run("--data-dir", store, "kg", "path", "Grace Lin", "lisbon").out
    assert way == "Grace Lin (person)  [grace lin]\n  -co_mentioned- Lisbon (place)  [lisbon]\n"
