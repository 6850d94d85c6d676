"""Publishing and reading notes back from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.command_line import run

TEXT = "cr\r [[x]] — ünï"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    assert run("--data-dir", path, "init").code == 0
    assert run("--data-dir", path, "remember", "scout", TEXT).code == 0
    return path


def test_a_dry_run_says_what_would_be_written_and_writes_nothing(store: Path, tmp_path: Path) -> None:
    answer = run("--data-dir", store, "export", "obsidian", "--vault", tmp_path / "v", "--dry-run", "--json")
    assert (answer.code, len(answer.json["new"]), answer.json["unchanged"]) == (0, 4, 0)
    assert not (tmp_path / "v").exists()


def test_an_export_prints_its_report_and_a_second_one_writes_nothing(store: Path, tmp_path: Path) -> None:
    export = ("--data-dir", store, "export", "obsidian", "--vault", tmp_path / "v", "--json")
    report = {"vault": str(tmp_path / "v"), "removed": 0, "broken_links": []}
    assert run(*export).json == {**report, "written": 3, "unchanged": 0, "files": 1}
    assert run(*export).json == {**report, "written": 0, "unchanged": 3}


def test_a_note_gives_back_the_exact_text(store: Path, tmp_path: Path) -> None:
    run("--data-dir", store, "export", "obsidian", "--vault", tmp_path / "v")
    (note,) = (tmp_path / "v" / "Memory" / "Facts" / "scout").iterdir()
    answer = run("vault", "read", note, "--json")
    assert (answer.json["text"], answer.json["agent_id"], answer.json["kind"]) == (TEXT, "scout", "fact")
    missing = run("vault", "read", tmp_path / "none.md", "--json")
    assert (missing.code, missing.error["code"]) == (3, "not_found")


def test_a_folder_outside_the_vault_is_refused_in_one_line(store: Path, tmp_path: Path) -> None:
    answer = run("--data-dir", store, "export", "obsidian", "--vault", tmp_path / "v", "--folder", "../x", "--json")
    assert (answer.code, answer.error["code"]) == (1, "publish_refused")


def test_edits_in_a_vault_are_listed_accepted_and_rejected(store: Path, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    run("--data-dir", store, "remember", "scout", "The gate opens at nine.")
    run("--data-dir", store, "vault", "profile", "save", "home", "--vault", vault)
    assert run("--data-dir", store, "export", "obsidian", "--profile", "home", "--json").json["written"] == 4
    note = vault / "Memory" / "Facts" / "scout" / "The gate opens at nine.md"
    note.write_text(note.read_text().replace("> The gate opens at nine.", "> The gate opens at ten."))
    status = run("--data-dir", store, "vault", "status", "--json").json
    assert ([edit["text"] for edit in status["edits"]], status["plan"]["conflict"]) == (["The gate opens at ten."], 1)
    (card,) = run("--data-dir", store, "vault", "inbox", "--json").json["proposals"]
    assert card["kind"] == "revise"
    assert run("--data-dir", store, "vault", "accept", card["id"], "--json").json["left"] == []
    assert run("--data-dir", store, "vault", "inbox", "--json").json["proposals"] == []
    run("--data-dir", store, "export", "obsidian", "--profile", "home")
    renamed = note.with_name("The gate opens at ten.md")
    assert run("vault", "read", renamed, "--json").json["text"] == "The gate opens at ten."
    renamed.unlink()
    (card,) = run("--data-dir", store, "vault", "inbox", "--json").json["proposals"]
    assert (card["kind"], run("--data-dir", store, "vault", "reject", card["id"]).code) == ("retire", 0)
    run("--data-dir", store, "export", "obsidian", "--profile", "home")
    assert renamed.exists()


def test_a_profile_that_accepts_edits_needs_no_review(store: Path, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    saved = ("vault", "profile", "save", "home", "--vault", vault, "--auto-accept", "write")
    assert run("--data-dir", store, *saved).code == 0
    run("--data-dir", store, "export", "obsidian", "--profile", "home")
    (vault / "Memory" / "Facts" / "scout" / "Mine.md").write_text("My own thought.")
    answer = run("--data-dir", store, "vault", "inbox", "--json").json
    assert ([card["text"] for card in answer["accepted"]], answer["proposals"]) == (["My own thought."], [])
    assert run("--data-dir", store, "vault", "profile", "delete", "home").code == 0
    assert run("--data-dir", store, "vault", "profile", "list", "--json").json == []


@pytest.mark.parametrize("name", ["markdown", "json", "canvas", "dot", "html"])
def test_the_other_formats_are_written_once(name: str, store: Path, tmp_path: Path) -> None:
    first = run("--data-dir", store, "export", name, "--out", tmp_path / "out", "--json")
    assert (first.code, len(first.json["written"]), first.json["unchanged"]) == (0, 1, 0)
    again = run("--data-dir", store, "export", name, "--out", tmp_path / "out", "--json")
    assert (again.json["written"], again.json["unchanged"]) == ([], 1)
    dry = run("--data-dir", store, "export", name, "--out", tmp_path / "other", "--dry-run", "--json")
    assert (len(dry.json["new"]), (tmp_path / "other").exists()) == (1, False)
