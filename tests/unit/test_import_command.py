"""`graymatter import` of what other programs remember."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.command_line import run

SAMPLES = Path(__file__).resolve().parent.parent / "fixtures" / "importing"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    run("--data-dir", tmp_path / "store", "init")
    return tmp_path / "store"


def test_everything_can_go_to_one_agent(store: Path) -> None:
    answer = run("--data-dir", store, "import", SAMPLES / "mem0.json", "--as", "archive", "--no-wait", "--json")
    assert answer.code == 0
    assert (answer.json["format"], answer.json["agents"]) == ("mem0", ["archive"])
    assert answer.json["imported"] == {"facts": 3, "checkpoints": 0, "entities": 2, "edges": 1}
    (agent,) = run("--data-dir", store, "agents", "--json").json
    assert (agent["agent_id"], agent["live"]) == ("archive", 3)


def test_a_dry_run_says_what_would_come_and_what_stays_out(store: Path) -> None:
    answer = run("--data-dir", store, "import", SAMPLES / "claude_mem.json", "--dry-run")
    lines = answer.out.splitlines()
    assert lines[0] == "would import 4 facts, 0 checkpoints, 0 entities, 0 links"
    assert lines[1].endswith("claude_mem.json (claude-mem)")
    assert lines[2] == "for freight"
    assert "  skipped prompts : 2 not imported: what somebody asked is nothing to remember" in lines
    assert run("--data-dir", store, "agents", "--json").json == []


def test_a_dry_run_without_a_store_makes_none(tmp_path: Path) -> None:
    answer = run("--data-dir", tmp_path / "none", "import", SAMPLES / "notes", "--dry-run", "--json")
    assert answer.json["imported"]["facts"] == 5
    assert not (tmp_path / "none").exists()


def test_columns_are_named_on_the_command_line(store: Path) -> None:
    given = ["--map", "text=body", "--map", "agent=who", "--map", "created=written"]
    answer = run("--data-dir", store, "--json", "import", SAMPLES / "facts.csv", *given, "--no-wait")
    assert answer.json["agents"] == ["ops", "sales", "imported"]
    listed = run("--data-dir", store, "list", "ops", "--json").json
    assert listed[-1]["created_at"] == "2026-01-05T00:00:00Z"
    assert listed[-1]["origin"]["sources"] == [{"kind": "file", "ref": "facts.csv"}]


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        (["facts.csv", "--map", "text=gone"], 1, "no column 'gone'; its columns: id, who, body"),
        (["facts.csv", "--map", "text"], 2, "FIELD=COLUMN"),
        (["facts.csv", "--map", "body=text"], 2, "Unknown field 'body'"),
        (["mem0.json", "--map", "text=memory"], 2, "no columns to map"),
        (["mem0.json", "--format", "mem1"], 2, "known: graymatter, mcp-memory"),
        (["mem0.json", "--as", " "], 2, "agent's name is empty"),
        (["nowhere.json"], 3, "There is no file"),
        (["../graymatter/memories.json", "--as", "a"], 2, "keeps its own agents"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(store: Path, given: list[str], code: int, says: str) -> None:
    answer = run("--data-dir", store, "import", SAMPLES / given[0], *given[1:])
    assert (answer.code, answer.out) == (code, "")
    assert says in answer.err
    assert len(answer.err.splitlines()) == 1


def test_control_characters_of_a_file_do_not_reach_the_terminal(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text('{"text": "", "id": 1}\n\x1b[2Jnonsense\n', encoding="utf-8")
    answer = run("--data-dir", store, "import", path, "--dry-run")
    assert "\x1b" not in answer.out
    assert "skipped fact line 1: text holds no text" in answer.out
