"""`graymatter checkpoint` as a person types it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from gm_engine import Memory, Message
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    data_dir = tmp_path / "store"
    with Memory.open(data_dir, background=False, clock=FrozenClock(), embedder=ScriptedEmbedder()) as memory:
        memory.checkpoints.save("ops", state={"step": 1, "open": ["a", "b"]}, metadata={"task": "t"})
        memory.checkpoints.save(
            "ops", state={"step": 2, "open": ["a", "b", "\x1b[31mred"]}, messages=(Message("user", "Go on."),)
        )
    return data_dir


def ids(store: Path) -> list[str]:
    """Newest first."""
    return [each["id"] for each in run("--data-dir", store, "--json", "checkpoint", "list").json]


def test_two_checkpoints_are_compared(store: Path) -> None:
    newer, older = ids(store)
    shown = run("--data-dir", store, "checkpoint", "compare", older, newer)
    assert shown.code == 0
    assert shown.out.splitlines() == [
        "~ /state/step: 1 → 2",
        '+ /state/open/2: "\\u001b[31mred"',
        '+ /messages/0: {"role": "user", "content": "Go on."}',
        '- /metadata/task: "t"',
    ]
    answer = run("--data-dir", store, "--json", "checkpoint", "compare", older, newer).json
    assert [each["kind"] for each in answer["changes"]] == ["changed", "added", "added", "removed"]
    assert (answer["before"]["id"], answer["after"]["id"]) == (older, newer)
    assert run("--data-dir", store, "checkpoint", "compare", older, older).out == "nothing differs\n"


def test_a_checkpoint_is_reviewed_and_the_list_says_so(store: Path) -> None:
    newer, _ = ids(store)
    answer = run("--data-dir", store, "checkpoint", "review", newer, "needs-work", "--note", "Step 2 is\nwrong")
    assert answer.code == 0
    assert answer.out.endswith("needs work: Step 2 is⏎wrong\n")
    listed = run("--data-dir", store, "--json", "checkpoint", "list").json[0]
    assert (listed["verdict"], listed["note"]) == ("needs_work", "Step 2 is\nwrong")
    assert run("--data-dir", store, "checkpoint", "review", newer, "none").code == 0
    assert "verdict" not in run("--data-dir", store, "--json", "checkpoint", "list").json[0]
    assert run("--data-dir", store, "checkpoint", "review", newer, "perfect").code == 2


def test_an_older_checkpoint_is_made_current(store: Path) -> None:
    _, older = ids(store)
    made = run("--data-dir", store, "--json", "checkpoint", "make-current", older).json
    assert made["restored_from"] == older
    assert ids(store)[0] == made["id"]


def test_a_deleted_checkpoint_comes_back_with_undo(store: Path) -> None:
    newer, older = ids(store)
    gone = run("--data-dir", store, "--json", "checkpoint", "delete", newer).json
    assert ids(store) == [older]
    absent = run("--data-dir", store, "--json", "checkpoint", "show", newer)
    assert (absent.code, absent.error["code"]) == (3, "not_found")
    assert run("--data-dir", store, "undo", gone["undo"]).code == 0
    assert ids(store) == [newer, older]


def test_a_checkpoint_is_written_to_a_file_once(store: Path, tmp_path: Path) -> None:
    newer, _ = ids(store)
    path = tmp_path / "out.json"
    assert run("--data-dir", store, "checkpoint", "export", newer, path).code == 0
    assert json.loads(path.read_text(encoding="utf-8"))["state"]["step"] == 2
    again = run("--data-dir", store, "--json", "checkpoint", "export", newer, path)
    assert (again.code, again.error["code"]) == (2, "invalid_input")
    assert run("--data-dir", store, "checkpoint", "export", newer, path, "--force").code == 0


def test_damaged_is_another_answer_than_absent(store: Path, tmp_path: Path) -> None:
    newer, older = ids(store)
    with sqlite3.connect(store / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE checkpoints SET payload = ?, message_count = NULL WHERE id = ?", (b"\xff{", newer))
    ledger.close()
    damaged = run("--data-dir", store, "--json", "checkpoint", "compare", older, newer)
    assert (damaged.code, damaged.error["code"]) == (1, "checkpoint_damaged")
    assert newer in damaged.error["message"]
    path = tmp_path / "rescued"
    assert run("--data-dir", store, "checkpoint", "export", newer, path).code == 1
    assert run("--data-dir", store, "checkpoint", "export", newer, path, "--raw").code == 0
    assert path.read_bytes() == b"\xff{"
