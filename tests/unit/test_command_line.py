"""The command line: shapes, exit codes, options on both sides, one-line errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gm_engine import Memory
from gm_engine.cli.plain import plain
from gm_engine.errors import EmbeddingFailed
from gm_engine.records import BALANCED_WEIGHTS, Origin, SignalWeights, SourceRef
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run

FACT_KEYS = ["id", "agent_id", "text", "created_at", "accessed_at", "access_count", "weight", "origin"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a handful of facts of two agents, made at known times."""
    data_dir = tmp_path / "store"
    with Memory.open(data_dir, background=False, clock=FrozenClock(), origin=Origin("mcp", client="tester")) as memory:
        memory.remember("ops", "The staging cluster has three nodes.", confidence="verified")
        old = memory.remember("ops", "Rollbacks take ten minutes.")
        memory.revise("ops", [old.id], "Rollbacks take five minutes.")
        memory.remember("ops", "Nobody owns the wiki.", confidence="unverified")
        memory.remember(
            "sales", "Ana wants the quote.", origin=Origin("mcp", client="t", sources=(SourceRef("file", "a.md"),))
        )
        memory.alias("ops", "k8s", ["kubernetes"])
    return data_dir


def test_list_prints_the_keys_of_the_export_and_the_origin(store: Path) -> None:
    facts = run("--data-dir", store, "--json", "list", "sales").json
    assert [list(fact) for fact in facts] == [FACT_KEYS]
    assert facts[0]["accessed_at"] == "0001-01-01T00:00:00Z"
    assert facts[0]["weight"] == 1.0
    assert facts[0]["origin"] == {"channel": "mcp", "client": "t", "sources": [{"kind": "file", "ref": "a.md"}]}


def test_list_all_without_an_agent_prints_tombstones_and_aliases_of_every_agent(store: Path) -> None:
    facts = run("list", "--all", "--json", "--data-dir", store).json
    assert sorted(fact["agent_id"] for fact in facts) == ["ops"] * 5 + ["sales"]
    old, new = (next(f for f in facts if minutes in f["text"]) for minutes in ("ten minutes", "five minutes"))
    assert old["superseded_by"] == new["id"]
    assert [fact["kind"] for fact in facts if "kind" in fact] == ["alias"]


def test_list_shows_live_content_only_unless_asked(store: Path) -> None:
    live = run("list", "ops", "--data-dir", store)
    assert live.out.count("\n") == 3
    assert "ten minutes" not in live.out
    assert "ten minutes" in run("list", "ops", "--retired", "--data-dir", store).out
    assert len(run("list", "ops", "--limit", 2, "--json", "--data-dir", store).json) == 2


def test_list_of_nothing_is_an_empty_array(store: Path) -> None:
    assert run("list", "nobody", "--json", "--data-dir", store).out == "[]\n"


def test_options_are_accepted_before_and_after_the_subcommand(store: Path) -> None:
    before = run("--data-dir", store, "--json", "agents")
    after = run("agents", "--json", "--data-dir", store)
    assert before == after
    assert before.json == [
        {"agent_id": "ops", "live": 3, "retired": 1, "pinned": 0, "aliases": 1},
        {"agent_id": "sales", "live": 1, "retired": 0, "pinned": 0, "aliases": 0},
    ]


def test_the_environment_names_the_store_unless_an_option_does(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAYMATTER_DIR", str(store))
    assert run("agents").code == 0
    assert run("agents", "--data-dir", tmp_path / "elsewhere").code == 3


def test_status_has_the_promised_shape(store: Path) -> None:
    status = run("status", "--json", "--data-dir", store).json
    assert list(status) == ["data_dir", "agents", "checkpoints", "entities", "edges", "vectors", "consolidations"]
    assert list(status["vectors"]) == ["model", "embedded", "pending", "chroma", "path", "answering", "error"]
    assert status["vectors"]["pending"] == 4
    assert status["consolidations"] == {"cycles": 0, "facts": 0}
    assert status["data_dir"] == str(store)


def test_remember_makes_the_store_and_answers_with_the_fact(tmp_path: Path) -> None:
    data_dir = tmp_path / "new" / "store"
    fact = run(
        "remember", "ops", "Port 80 is closed.", "--confidence", "verified", "--json", "--data-dir", data_dir
    ).json
    assert (fact["text"], fact["confidence"]) == ("Port 80 is closed.", "verified")
    assert fact["origin"]["channel"] == "cli"
    with Memory.open(data_dir, read_only=True, background=False) as memory:
        assert memory.settings.signal_weights == SignalWeights()


def test_init_writes_the_balanced_profile_once(tmp_path: Path) -> None:
    first = run("init", "--json", "--data-dir", tmp_path / "s").json
    assert (first["created"], first["profile"]) == (True, "balanced")
    with Memory.open(tmp_path / "s", background=False) as memory:
        assert memory.settings.signal_weights == BALANCED_WEIGHTS
        memory.set_settings(type(memory.settings)())
    again = run("init", "--json", "--data-dir", tmp_path / "s").json
    assert (again["created"], again["profile"]) == (False, "custom")


def test_remember_shared_needs_no_agent(store: Path) -> None:
    alone = run("remember", "--shared", "Dates carry a year.", "--json", "--data-dir", store).json
    with_agent = run("remember", "ops", "Amounts carry a currency.", "--shared", "--json", "--data-dir", store).json
    assert {alone["agent_id"], with_agent["agent_id"]} == {"__shared__"}


def test_revise_and_forget_take_an_id_or_the_exact_text(store: Path) -> None:
    by_text = run("revise", "ops", "Nobody owns the wiki.", "Ana owns the wiki.", "--json", "--data-dir", store).json
    assert by_text["confidence"] == "unverified"
    gone = run("forget", "ops", by_text["id"], "--json", "--data-dir", store).json
    assert (gone["agent_id"], gone["count"]) == ("ops", 1)
    assert gone["facts"][0]["superseded_by"] == "agent"
    back = run("restore", "ops", by_text["id"], "--json", "--data-dir", store).json
    assert "superseded_by" not in back["facts"][0]


def test_pin_label_move_and_copy_answer_with_the_facts_as_they_are_now(store: Path) -> None:
    text = "Ana wants the quote."
    pinned = run("pin", "sales", text, "--json", "--data-dir", store).json["facts"][0]
    assert pinned["pinned"] is True
    assert re.fullmatch(r"20\d\d-.*Z", pinned["pinned_at"])
    unpinned = run("unpin", "sales", text, "--json", "--data-dir", store).json["facts"][0]
    assert not {"pinned", "pinned_at"} & set(unpinned)
    assert run("label", "sales", text, "inferred", "--json", "--data-dir", store).json["facts"][0]["confidence"]
    copied = run("copy", "sales", text, "ops", "--json", "--data-dir", store).json["facts"][0]
    moved = run("move", "sales", text, "crm", "--json", "--data-dir", store).json["facts"][0]
    assert (copied["agent_id"], moved["agent_id"]) == ("ops", "crm")
    assert copied["id"] != moved["id"] == pinned["id"]


def test_undo_and_redo_go_by_the_numbers_of_the_journal(store: Path) -> None:
    fact = run("remember", "ops", "To be undone.", "--json", "--data-dir", store).json
    seq = run("journal", "--limit", 1, "--json", "--data-dir", store).json[0]["seq"]
    undone = run("undo", seq, "--json", "--data-dir", store).json
    assert undone["undoes"]
    assert run("forget", "ops", fact["id"], "--data-dir", store).code == 3
    run("redo", undone["seq"], "--data-dir", store)
    assert run("list", "ops", "--text", "To be undone", "--data-dir", store).out.count("\n") == 1


def test_an_undo_that_a_later_change_stands_on_is_a_conflict(store: Path) -> None:
    fact = run("remember", "ops", "First.", "--json", "--data-dir", store).json
    seq = run("journal", "--limit", 1, "--json", "--data-dir", store).json[0]["seq"]
    run("pin", "ops", fact["id"], "--data-dir", store)
    refused = run("undo", seq, "--json", "--data-dir", store)
    assert refused.code == 4
    assert refused.error["code"] == "undo_conflict"


def test_alias_is_stored_and_named(store: Path) -> None:
    answer = run("alias", "ops", "db", "database", "postgres", "--json", "--data-dir", store).json
    assert answer["equivalents"] == ["database", "postgres"]
    assert answer["stored"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (["lst"], 2, "usage"),
        (["list"], 2, "usage"),
        (["remember", "ops"], 2, "usage"),
        (["remember", "ops", "x", "--confidence", "Verified"], 2, "usage"),
        (["remember", " ", "x"], 2, "invalid_input"),
        (["remember", "ops", ""], 2, "invalid_input"),
        (["remember", "ops", "lone \udc80 surrogate"], 2, "invalid_input"),
        (["forget", "ops", "no such text"], 3, "not_found"),
        (["undo", "999"], 3, "not_found"),
        (["import", "no-such-file.db"], 3, "not_found"),
        (["checkpoint", "show", "nothing"], 3, "not_found"),
        (["export", "obsidiam", "--vault", "v"], 2, "usage"),
    ],
)
def test_errors_are_one_line_with_a_code(store: Path, arguments: list[str], code: int, name: str) -> None:
    told = run(*arguments, "--data-dir", store)
    assert (told.code, told.out) == (code, "")
    assert re.fullmatch(r"graymatter: .+\n", told.err)
    as_json = run(*arguments, "--json", "--data-dir", store)
    assert (as_json.code, as_json.out) == (code, "")
    assert as_json.error["code"] == name
    assert as_json.error["message"]


def test_a_word_after_two_dashes_is_text_and_no_option(store: Path) -> None:
    fact = run("remember", "--data-dir", store, "--", "ops", "--json")
    assert fact.out.startswith("kept ")
    assert fact.out.endswith("--json\n")


def test_reading_commands_never_make_a_store(tmp_path: Path) -> None:
    nowhere = tmp_path / "typo"
    for arguments in (["agents"], ["status"], ["doctor"], ["list", "--all"], ["recall", "a", "b"], ["journal"]):
        refused = run(*arguments, "--json", "--data-dir", nowhere)
        assert (refused.code, refused.error["code"]) == (3, "not_found")
    assert not nowhere.exists()


def test_text_of_a_store_cannot_steer_the_terminal(tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07 \x1b[2Jline\nbreak \u202egnp.exe \x9b31m \x00"
    run("remember", "a\x1bb", "-", "--data-dir", tmp_path / "s", stdin=hostile.encode())
    shown = run("list", "--all", "--data-dir", tmp_path / "s").out
    assert shown.count("\n") == 1
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)
    assert run("list", "--all", "--json", "--data-dir", tmp_path / "s").json[0]["text"] == hostile


def test_standard_input_must_be_text(store: Path) -> None:
    refused = run("remember", "ops", "-", "--json", "--data-dir", store, stdin=b"\xff\xfe")
    assert (refused.code, refused.error["code"]) == (2, "invalid_input")


def test_plain_writes_every_control_as_something_visible() -> None:
    assert plain("a\r\n\tb\x07\u2028é😀") == "a␍⏎⇥b\\x07\\u2028é😀"


def test_version_is_the_programs(store: Path) -> None:
    from gm_engine.version import SCHEMA_VERSION, __version__

    first, *others = run("--version").out.splitlines()
    assert first == f"graymatter {__version__}"
    assert others[0] == f"schema {SCHEMA_VERSION}"
    assert [line.split()[0] for line in others] == ["schema", "python", "chromadb", "qt", "mcp"]
    assert all(line.split()[1][0].isdigit() for line in others)
    for arguments in (("--version", "--json"), ("--json", "--version")):
        assert run(*arguments).json["engine"] == __version__


def test_json_keeps_every_character_as_it_is(store: Path) -> None:
    text = 'naïve \u202e \0\x01 \ufeff 😀 \u2028 </script> \\ "'
    run("remember", "u", "-", "--data-dir", store, stdin=text.encode())
    answer = run("list", "u", "--json", "--data-dir", store)
    assert json.loads(answer.out)[0]["text"] == text


@pytest.mark.parametrize("arguments", [["--dry-run"], []])
def test_asking_what_an_import_would_bring_and_a_refused_import_make_no_store(
    tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "x.db").write_bytes(b"no store")
    refused = run("--data-dir", tmp_path / "s", "--json", "import", tmp_path / "x.db", *arguments)
    assert (refused.code, refused.error["code"]) == (1, "import_refused")
    assert not (tmp_path / "s").exists()


def test_a_dry_run_says_what_the_import_then_does(tmp_path: Path) -> None:
    fixture = Path(__file__).parent.parent / "fixtures" / "graymatter" / "memories.json"
    foreseen = run("--data-dir", tmp_path / "s", "--json", "import", fixture, "--dry-run").json
    assert not (tmp_path / "s").exists()
    assert run("--data-dir", tmp_path / "s", "--json", "import", fixture, "--no-wait").json == foreseen
    again = run("--data-dir", tmp_path / "s", "--json", "import", fixture, "--dry-run").json
    assert (again["imported"]["facts"], again["found"]["facts"]) == (0, 200)


def test_without_a_command_the_help_is_printed() -> None:
    assert (run().code, run().out) == (2, run("--help").out)


def test_a_model_that_fails_leaves_words_and_recency(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gm_engine.embedding.minilm import MiniLM

    def fail(*_: object) -> None:
        raise EmbeddingFailed("no model here")

    monkeypatch.setattr(MiniLM, "embed", fail)
    answer = run("recall", "ops", "rollbacks", "--json", "--coverage", "--data-dir", store)
    assert answer.json["facts"][0] == "Rollbacks take five minutes."
    assert answer.json["coverage"]["vector_path"] == "none"
    assert answer.json["coverage"]["reason"]
