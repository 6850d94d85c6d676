"""What the command line prints, kept as files: help texts and JSON. `GRAYMATTER_UPDATE_GOLDEN=1` writes them anew."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gm_engine import Memory, Message
from gm_engine.cli.examples import EXAMPLES
from gm_engine.cli.main import cli
from gm_engine.clock import format_ns
from gm_engine.records import Origin, SourceRef
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run
from tests.fakes.embedder import ScriptedEmbedder

FOLDER = Path(__file__).resolve().parent / "command_line"


def check(name: str, text: str) -> None:
    """Compares with the stored file, or writes it when asked to."""
    path = FOLDER / name
    if os.environ.get("GRAYMATTER_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _same_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data_dir = tmp_path_factory.mktemp("golden") / "store"
    origin = Origin("mcp", client="assistant", client_version="2.1", session="s-1")
    with Memory.open(
        data_dir, background=False, clock=FrozenClock(), embedder=ScriptedEmbedder(), origin=origin
    ) as memory:
        first = memory.remember("ops", "Rollbacks take ten minutes.", confidence="verified")
        second = memory.revise("ops", [first.id], "Rollbacks take five minutes.")
        memory.pin("ops", [second.id])
        note = Origin("vault", sources=(SourceRef("note", "Ops/Night shift"), SourceRef("fact", first.id)))
        memory.remember("ops", "Who is on call? → see [[Night shift]] — 当番", origin=note)
        memory.remember_shared("Amounts carry a currency.", confidence="inferred")
        memory.alias("ops", "k8s", ["kubernetes"])
        third = memory.remember("sales", "Ana wants the quote.", confidence="unverified")
        memory.retire("sales", [third.id])
        memory.undo(memory.last_seq())
        memory.retire("sales", [third.id])
        memory.checkpoints.save(
            "ops", state={"step": 2, "open": ["a", "b"]}, messages=(Message("user", "Go on."),), metadata={"task": "t"}
        )
    return data_dir


def test_the_help_of_the_program() -> None:
    check("help.txt", run("--help").out)


def paths(command: click.Command, above: click.Context | None = None, path: str = "") -> Iterator[str]:
    """Every subcommand, and those inside it, as they are typed."""
    context = click.Context(command, parent=above)
    if path:
        yield path
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from paths(inner, context, f"{path} {name}".strip())


EVERY_COMMAND = tuple(paths(cli))


@pytest.mark.parametrize("path", EVERY_COMMAND)
def test_the_help_of_a_command(path: str) -> None:
    answer = run(*path.split(), "--help")
    assert answer.code == 0
    assert f"  graymatter {path.split(maxsplit=1)[0]}" in answer.out.partition("\n")[2], "an example"
    assert "--json" in answer.out
    check(f"help-{path.replace(' ', '-')}.txt", answer.out)


def test_the_examples_are_of_commands_that_exist() -> None:
    assert set(EXAMPLES) - set(EVERY_COMMAND) == set()


@pytest.mark.parametrize(
    "line", [line for lines in EXAMPLES.values() for line in lines if not line.startswith("printf ")]
)
def test_an_example_is_understood_as_it_stands(line: str) -> None:
    command: click.Command = cli
    context = cli.make_context("graymatter", shlex.split(line))
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None
        assert name is not None
        context, command = found.make_context(name, rest, parent=context), found
    assert command.params


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("agents", ["agents"]),
        ("list-all", ["list", "--all"]),
        ("list-agent", ["list", "ops"]),
        ("journal", ["journal", "--limit", "100"]),
        ("checkpoints", ["checkpoint", "list"]),
    ],
)
def test_json_and_plain_output(store: Path, name: str, arguments: list[str]) -> None:
    check(f"{name}.json", run("--data-dir", store, "--json", *arguments).out)
    check(f"{name}.txt", run("--data-dir", store, *arguments).out)


def test_a_checkpoint(store: Path) -> None:
    checkpoint_id = run("--data-dir", store, "--json", "checkpoint", "list").json[0]["id"]
    check("checkpoint.json", run("--data-dir", store, "--json", "checkpoint", "show", checkpoint_id).out)


def test_what_differs_between_two_checkpoints(store: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(store, tmp_path / "store"))
    with Memory.open(own, background=False, clock=FrozenClock(), embedder=ScriptedEmbedder()) as memory:
        first = memory.checkpoints.list()[0].id
        edited = memory.checkpoints.edit(first, state={"step": 3, "open": ["b", "a"], "by": None})
        memory.checkpoints.review(edited.id, "approved", note="Step 3 was agreed.")
    compared = ["--data-dir", own, "checkpoint", "compare", first, edited.id]
    check("checkpoint-compare.json", run("--json", *compared).out)
    check("checkpoint-compare.txt", run(*compared).out)


@pytest.mark.parametrize("name", ["compare", "review", "make-current", "delete", "export"])
def test_the_help_of_a_checkpoint_command(name: str) -> None:
    check(f"help-checkpoint-{name}.txt", run("checkpoint", name, "--help").out)


def test_the_status(store: Path) -> None:
    answer = run("--data-dir", store, "--json", "status").out
    check("status.json", answer.replace(str(store), "STORE"))


def test_the_golden_times_are_those_of_the_clock(store: Path) -> None:
    first = run("--data-dir", store, "--json", "list", "--all").json[-1]
    assert first["created_at"] > format_ns(FrozenClock().at_ns)
