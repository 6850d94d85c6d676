"""What the command line prints for a reader, and what a person meets who makes a mistake or goes away."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from gm_engine import FactQuery, Memory, Origin
from gm_engine.cli import plain as plain_words
from gm_engine.cli import session
from gm_engine.cli.main import CHILD_FLAG, main
from gm_engine.cli.plain import ProgressLine
from gm_engine.embedding.minilm import MiniLM
from gm_engine.resources import resource
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = ScriptedEmbedder(dims=MiniLM.dims)
    monkeypatch.setattr(MiniLM, "embed", lambda _, texts: scripted.embed(texts))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    data_dir = tmp_path / "store"
    with Memory.open(data_dir, background=False, clock=FrozenClock("2020-11-30T09:00:00Z")) as memory:
        old = memory.remember("ops", "Rollbacks take ten minutes.")
        memory.revise("ops", [old.id], "Rollbacks take five minutes.", confidence="verified")
        pinned = memory.remember("ops", "Rollbacks need two people.")
        memory.pin("ops", [pinned.id])
        memory.remember("ops", "The Okafor contract is signed.")
        memory.remember("sales", "Rollbacks need two people.")
    return data_dir


def test_an_explained_search_shows_the_sum_behind_each_place(store: Path) -> None:
    said = run("recall", "ops", "rollbacks", "--explain", "--preview", "--data-dir", store).out
    assert "/(60+1) keyword" in said
    assert "written 2020-11-30 09:00Z" in said
    assert "pinned" in said
    assert "matched Rollbacks" in said
    assert "replaces " in said
    weighed = run("recall", "ops", "rollbacks", "--explain", "--confidence-weight", "0.2", "--data-dir", store).out
    assert "(verified, weight 0.2)" in weighed
    assert "policy confidence-v1: no filter, confidence weight 0.2" in weighed


def test_a_search_that_finds_nothing_says_so(store: Path) -> None:
    assert run("recall", "nobody", "rollbacks", "--data-dir", store).out.startswith("No memories found.\n")
    several = run("recall", "nobody", "rollbacks", "--query", "okafor", "--data-dir", store).out
    assert several.count("    No memories found.") == 2


def test_a_store_that_cannot_be_written_is_searched_all_the_same(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gm_engine.errors import ReadOnlyStore

    opened = Memory.open

    def read_only(data_dir: Path, **options: object) -> Memory:
        if not options.get("read_only"):
            raise ReadOnlyStore("The folder cannot be written.")
        return opened(data_dir, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Memory, "open", read_only)
    assert "Rollbacks take five minutes." in run("recall", "ops", "rollbacks", "--data-dir", store).out
    refused = run("remember", "ops", "x", "--json", "--data-dir", store)
    assert (refused.code, refused.error["code"]) == (1, "read_only")


def test_why_not_explains_a_copy_that_stands_above(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        twin = memory.remember("ops", "Rollbacks need two people.")
    said = run("why-not", "ops", "rollbacks people", twin.id, "--data-dir", store).out
    assert "A fact with the same text stands above it." in said
    assert "the same text: " in said
    elsewhere = run("why-not", "ops", "rollbacks", "Rollbacks need two people.", "--data-dir", store).out
    assert "It is in the answer." in elsewhere


def test_the_demo_is_made_once_with_its_vectors(tmp_path: Path) -> None:
    made = run("demo", "--json", "--data-dir", tmp_path / "demo")
    assert made.code == 0
    vectors = made.json["vectors"]
    assert vectors["embedded"] > 100
    assert vectors["pending"] == 0
    again = run("demo", "--json", "--data-dir", tmp_path / "demo")
    assert (again.code, again.error["code"]) == (2, "invalid_input")
    said = run("status", "--data-dir", tmp_path / "demo").out
    assert f"{vectors['embedded']:,} texts embedded, 0 pending" in said


def test_a_store_whose_cycles_ran_says_so(store: Path) -> None:
    run("remember", "ops", "Rollbacks need two people.", "--data-dir", store)
    run("consolidate", "ops", "--no-prune", "--apply", "exact_duplicate", "--data-dir", store)
    said = run("status", "--data-dir", store).out
    assert "1 consolidations consumed 1 facts" in said
    assert "ops: 3 live, 2 retired, 1 pinned, 0 aliases" in said


# Removing for good ----------------------------------------------------------------------------------------------------


def test_a_purge_is_never_done_without_being_asked_for_twice(store: Path) -> None:
    for options in ([], ["--json"]):
        refused = run("purge", "Rollbacks need two people.", *options, "--data-dir", store)
        assert refused.code == 2
        assert "--yes" in refused.err
    assert "Rollbacks need two people." in run("list", "--all", "--data-dir", store).out


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "code", "left"), [(b"n\n", 130, 1), (b"y\n", 0, 0)])
def test_a_person_at_a_terminal_is_asked(
    store: Path, monkeypatch: pytest.MonkeyPatch, typed: bytes, code: int, left: int
) -> None:
    monkeypatch.setattr(sys, "stdin", _Terminal(io.BytesIO(typed), encoding="utf-8"))
    told = io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)
    assert main(["purge", "The Okafor contract is signed.", "--data-dir", str(store)]) == code
    assert "Remove for good: The Okafor contract is signed." in told.getvalue()
    with Memory.open(store, background=False, read_only=True) as memory:
        assert len([fact for fact in memory.list_facts(FactQuery()) if "Okafor" in fact.text]) == left


def test_a_purge_tells_what_it_removed_and_what_it_had_to_leave(store: Path) -> None:
    with Memory.open(store, background=False, origin=Origin("cli")) as memory:
        memory.checkpoints.save("ops", state={"note": "The Okafor contract is signed. Call them."})
        memory.backup()
    said = run("purge", "The Okafor contract is signed.", "--yes", "--data-dir", store).out
    assert "removed " in said
    assert "1 facts" in said
    assert "rewritten or deleted: " in said
    assert "left, because it holds the text within something longer: checkpoint " in said
    assert "(--checkpoints removes it)" in said
    rest = run("purge", "The Okafor contract is signed.", "--checkpoints", "--yes", "--json", "--data-dir", store).json
    assert (rest["facts"], rest["checkpoints"], rest["still_in"]) == (0, 1, [])
    assert "removed 0 checkpoints" not in said


# Moments, checkpoints, backups ----------------------------------------------------------------------------------------


def test_two_moments_are_compared_in_lines(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        before = memory.last_seq() + 1
        (quote,) = memory.resolve("sales", "Rollbacks need two people.")
        memory.move("sales", [quote], "crm")
    said = run("diff", f"#{before}", "--data-dir", store).out
    assert "moved" in said
    assert "sales → crm: Rollbacks need two people." in said
    assert run("diff", "now", "now", "--data-dir", store).out == "nothing differs\n"
    zero = run("diff", "0001-01-01T00:00:00Z", "--json", "--data-dir", store)
    assert (zero.code, zero.error["code"]) == (2, "invalid_input")


def test_a_checkpoint_is_shown_in_lines(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        kept = memory.checkpoints.save("ops", state={"step": 3}, metadata={"branch": "main"})
    said = run("checkpoint", "show", kept.id, "--data-dir", store).out
    assert '"step": 3' in said
    assert "branch = main" in said


def test_backups_take_a_path_or_a_question_and_say_what_they_are(store: Path, tmp_path: Path) -> None:
    refused = run("backup", tmp_path / "copy.db", "--list", "--data-dir", store)
    assert refused.code == 2
    assert run("backup", "--every", "0", "--data-dir", store).out == "no scheduled backups\n"
    assert run("backup", "--if-due", "--data-dir", store).out == "nothing is due\n"
    assert run("backup", "--data-dir", store).out.startswith("made ")
    listed = run("backup", "--list", "--data-dir", store).out
    assert listed.count("\n") == 1
    assert "5 facts  by hand" in listed


# The program itself ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_names_the_program(shell: str) -> None:
    answer = run("completion", shell, "--json").json
    assert answer["shell"] == shell
    assert "_GRAYMATTER_COMPLETE" in answer["script"]
    assert run("completion", shell).out.rstrip("\n") == answer["script"].rstrip("\n")


def test_a_package_that_is_not_installed_is_named_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert run("--version", "--json").json["chromadb"] == "not installed"


def test_a_child_program_that_is_none_of_ours_is_not_run() -> None:
    assert main([CHILD_FLAG, "os", "folder"]) == 2


def test_streams_that_whoever_starts_it_closed_are_no_bug(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    code = main(["--data-dir", str(store), "remember", "ops", "The gate opens at nine."])
    empty = main(["--data-dir", str(store), "remember", "ops", "-"])
    unasked = main(["--data-dir", str(store), "purge", "The gate opens at nine."])
    for stream in (sys.stdout, sys.stderr):
        stream.close()
    monkeypatch.undo()
    assert (code, empty, unasked) == (0, 2, 2)
    assert "The gate opens at nine." in run("--data-dir", store, "list", "ops").out


def test_a_data_directory_that_is_no_text_is_refused_in_words(tmp_path: Path) -> None:
    for arguments in (["status"], ["remember", "ops", "x"], ["import", str(tmp_path)]):
        told = run(*arguments, "--json", "--data-dir", tmp_path / "latin-\udce9")
        assert (told.code, told.error["code"]) == (2, "invalid_input")


def test_a_file_that_cannot_be_written_is_named_without_a_number(
    store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRAYMATTER_SOURCES", str(tmp_path / "file" / "sources.toml"))
    told = run("sources", "add", "notes", "true")
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("graymatter: ")
    assert str(tmp_path / "file") in told.err
    assert "Errno" not in told.err


def test_a_disk_that_fails_is_one_line(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> Memory:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Memory, "open", failing)
    told = run("status", "--json", "--data-dir", store)
    assert (told.code, told.error["code"]) == (1, "io_error")


def test_an_interrupted_command_ends_with_one_line(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> Memory:
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "open", interrupted)
    told = run("status", "--json", "--data-dir", store)
    assert told.code == 130
    assert json.loads(told.err)["error"]["code"] == "cancelled"


def test_whoever_reads_no_further_ends_the_program_quietly(
    store: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as nobody:
        monkeypatch.setattr(sys, "stdout", nobody)
        assert main(["list", "--all", "--data-dir", str(store)]) == 1
        nobody.write("and more")  # what the interpreter still has to say goes nowhere
    assert "Traceback" not in capfd.readouterr().err


def test_progress_is_rewritten_on_a_terminal_and_cleared_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.StringIO()
    told.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", told)
    with ProgressLine(quiet=True) as progress:
        progress(3, 7, "embedding")
    clear = plain_words._CLEAR_LINE
    assert told.getvalue() == f"{clear}embedding: 3 of 7{clear}"


def test_filling_the_index_tells_how_far_it_is(store: Path) -> None:
    told: list[str] = []
    with Memory.open(store, background=False, embedder=ScriptedEmbedder(dims=MiniLM.dims)) as memory:
        session.finish_index(memory, lambda _done, _total, what: told.append(what))
        assert memory.status().vectors.pending == 0
    assert "embedding" in told


@pytest.mark.parametrize("language", ["", "de", "es"])
def test_what_the_help_prints_about_the_past_and_the_inbox_runs_as_it_stands(store: Path, language: str) -> None:
    pages = [resource("help", language, f"{name}.md").read_text(encoding="utf-8") for name in ("past", "review")]
    printed = [line for page in pages for line in re.findall("`graymatter ([^`]+)`", page)]
    assert len(printed) == 4
    for line in printed:
        told = run("--data-dir", store, *shlex.split(line.replace("#120", "#2")))
        assert (told.code, told.err) == (0, ""), line
