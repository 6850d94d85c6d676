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


def test_a_vault_is_named_by_its_path_its_profile_or_because_there_is_only_one(store: Path, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    status = ("--data-dir", store, "vault", "status", "--json")
    nothing = run(*status)
    assert (nothing.code, "--vault DIR or --profile NAME" in nothing.err) == (2, True)
    run("--data-dir", store, "vault", "profile", "save", "home", "--vault", vault, "--folder", "Brain")
    assert [run(*status, *which).json["folder"] for which in ((), ("--profile", "home"), ("--vault", vault))] == [
        "Brain",
        "Brain",
        "Brain",
    ]
    other = run(*status, "--vault", tmp_path / "other").json
    assert (other["vault"], other["folder"]) == (str(tmp_path / "other"), "Memory")
    assert (
        run(*status, "--vault", tmp_path / "other", "--profile", "home", "--folder", "Notes").json["plan"]["new"] == 4
    )
    run("--data-dir", store, "vault", "profile", "save", "second", "--vault", tmp_path / "w")
    assert run(*status).code == 2
    unknown = run(*status, "--profile", "third")
    assert (unknown.code, unknown.error["code"]) == (3, "not_found")


def test_a_folder_of_a_vault_is_published_as_its_own_profile_says(store: Path, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    assert run("--data-dir", store, "remember", "miner", "Dig here.").code == 0
    for name, folder, agent in (("one", "One", "scout"), ("two", "Two", "miner")):
        save = ("vault", "profile", "save", name, "--vault", vault, "--folder", folder, "--agent", agent)
        assert run("--data-dir", store, *save).code == 0
        assert run("--data-dir", store, "export", "obsidian", "--profile", name).code == 0
    for folder in ("One", "Two"):
        plan = run("--data-dir", store, "vault", "status", "--vault", vault, "--folder", folder, "--json").json["plan"]
        assert (plan["new"], plan["orphaned"]) == (0, 0)
    third = run("--data-dir", store, "vault", "status", "--vault", vault, "--folder", "Three", "--json").json
    assert (third["folder"], third["plan"]["new"]) == ("Three", 6)
    either = run("--data-dir", store, "vault", "tidy", "--vault", vault)
    assert (either.code, "--profile NAME" in either.err) == (2, True)


def test_a_vault_is_the_same_wherever_it_is_named_from(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = tmp_path / "v"
    run("--data-dir", store, "vault", "profile", "save", "home", "--vault", vault, "--folder", "Brain")
    run("--data-dir", store, "export", "obsidian", "--profile", "home")
    (note,) = (vault / "Brain" / "Facts" / "scout").iterdir()
    note.unlink()
    monkeypatch.chdir(tmp_path)
    for named in ("v", vault / ".." / "v", vault):
        cards = run("--data-dir", store, "vault", "inbox", "--vault", named, "--json").json["proposals"]
        assert [card["kind"] for card in cards] == ["retire"]


def test_store_and_vault_are_merged_by_hand_one_card_at_a_time(store: Path, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    for text in ("The gate opens at nine.", "The lift is broken."):
        run("--data-dir", store, "remember", "scout", text)
    run("--data-dir", store, "vault", "profile", "save", "home", "--vault", vault)
    run("--data-dir", store, "export", "obsidian", "--profile", "home")
    for name, old, new in (("The gate opens at nine", "nine", "ten"), ("The lift is broken", "broken", "fast")):
        note = vault / "Memory" / "Facts" / "scout" / f"{name}.md"
        note.write_text(note.read_text().replace(f"> {name}", f"> {name}".replace(old, new)))
    said = run("--data-dir", store, "vault", "inbox").out
    assert "The gate opens at ten." in said
    assert "its text was edited in the vault" in said
    gate, lift = sorted(
        run("--data-dir", store, "vault", "inbox", "--json").json["proposals"], key=lambda card: str(card["text"])
    )
    both = run("--data-dir", store, "vault", "accept", gate["id"], lift["id"], "--edit", "One.")
    assert (both.code, "--edit is for one card" in both.err) == (2, True)
    merged = run("--data-dir", store, "vault", "accept", gate["id"], "--edit", "The gate opens at half past nine.")
    assert (merged.code, merged.out.startswith("accepted 1; undo with")) == (0, True)
    again = run("--data-dir", store, "vault", "accept", gate["id"], "--json").json
    assert (again["accepted"], [left["id"] for left in again["left"]], again["undo"]) == ([], [gate["id"]], None)
    run("--data-dir", store, "export", "obsidian", "--profile", "home")
    (note,) = (vault / "Memory" / "Facts" / "scout").glob("The gate*half*")
    assert run("vault", "read", note).out == "The gate opens at half past nine.\n"


def test_a_vault_is_tidied_and_what_went_to_the_trash_is_counted(store: Path, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    run("--data-dir", store, "export", "obsidian", "--vault", vault)
    (fact,) = run("--data-dir", store, "list", "scout", "--json").json
    assert run("--data-dir", store, "forget", "scout", fact["id"]).code == 0
    assert run("--data-dir", store, "vault", "tidy", "--vault", vault).out.startswith("1 moved to .trash, ")
    assert run("--data-dir", store, "vault", "tidy", "--vault", vault, "--json").json["removed"] == 0
    assert len(list((vault / ".trash").rglob("*.md"))) == 1


def test_what_is_wrong_in_a_vault_is_said_line_by_line(store: Path, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    for text in ("The gate opens at nine.", "The lift is broken."):
        run("--data-dir", store, "remember", "scout", text)
    run("--data-dir", store, "export", "obsidian", "--vault", vault)
    facts = vault / "Memory" / "Facts" / "scout"
    damaged = facts / "The gate opens at nine.md"
    damaged.write_text(damaged.read_text().replace("mem_agent", "\tmem_agent"))
    (facts / "The lift is broken.md").rename(vault / "Memory" / "Lift.md")
    said = run("--data-dir", store, "vault", "status", "--vault", vault).out
    assert "problem: Memory/Facts/scout/The gate opens at nine.md: it cannot be read" in said
    assert "moved: Memory/Facts/scout/The lift is broken.md → Memory/Lift.md" in said
    assert "problem: Memory/Facts/scout/" in run("--data-dir", store, "vault", "inbox", "--vault", vault).out


def test_files_beside_the_notes_are_counted_as_what_they_are(store: Path, tmp_path: Path) -> None:
    told = run("--data-dir", store, "export", "obsidian", "--vault", tmp_path / "v").out.splitlines()
    payload = run("--data-dir", store, "export", "obsidian", "--vault", tmp_path / "w", "--json").json
    assert f"files beside the notes: {payload['files']}" in told
    assert f"written: {payload['written']}" in told
