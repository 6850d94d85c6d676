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
    assert (answer.code, len(answer.json["new"]), answer.json["unchanged"]) == (0, 3, 0)
    assert not (tmp_path / "v").exists()


def test_an_export_prints_its_report_and_a_second_one_writes_nothing(store: Path, tmp_path: Path) -> None:
    export = ("--data-dir", store, "export", "obsidian", "--vault", tmp_path / "v", "--json")
    report = {"vault": str(tmp_path / "v"), "removed": 0, "broken_links": []}
    assert run(*export).json == {**report, "written": 3, "unchanged": 0}
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
