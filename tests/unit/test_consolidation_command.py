"""`graymatter consolidate` and `graymatter inbox`: what they print, what they refuse, and how they end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.command_line import run
from tests.fakes.model_server import model_server, openai


@pytest.fixture
def store(tmp_path: Path) -> Path:
    data_dir = tmp_path / "store"
    for text in ("The gate opens at nine.", "The gate opens at nine.", "The gate opens at ten."):
        assert run("--data-dir", data_dir, "remember", "ops", text).code == 0
    return data_dir


def test_a_dry_run_writes_nothing(store: Path) -> None:
    answer = run("--data-dir", store, "--json", "consolidate", "ops", "--dry-run")
    assert answer.code == 0
    assert answer.json["proposed"] == {"exact_duplicate": 1, "contradiction": 1}
    assert [card["kind"] for card in answer.json["proposals"]] == ["exact_duplicate", "contradiction"]
    assert run("--data-dir", store, "--json", "inbox", "list").json == []
    assert run("--data-dir", store, "consolidate", "ops", "--dry-run").out.startswith("a cycle would be: 3 facts")


def test_a_duplicate_is_found_accepted_and_undone(store: Path) -> None:
    assert run("--data-dir", store, "consolidate", "ops").code == 0
    cards = run("--data-dir", store, "--json", "inbox", "list", "ops", "--kind", "exact_duplicate").json
    answer = run("--data-dir", store, "--json", "inbox", "accept", cards[0]["id"])
    assert answer.code == 0
    assert answer.json["proposal"]["state"] == "accepted"
    assert [fact.get("superseded_by", "") for fact in answer.json["facts"]] == ["", cards[0]["facts"][0]]
    assert run("--data-dir", store, "undo", answer.json["undo"]).code == 0
    again = run("--data-dir", store, "--json", "inbox", "list", "ops", "--kind", "exact_duplicate").json
    assert [card["id"] for card in again] == [cards[0]["id"]]


def test_a_kind_is_applied_at_once(store: Path) -> None:
    answer = run("--data-dir", store, "--json", "consolidate", "ops", "--apply", "exact_duplicate")
    assert answer.json["applied"] == {"exact_duplicate": 1}
    history = run("--data-dir", store, "--json", "consolidate", "ops", "--history").json
    assert [cycle["entry"] for cycle in history] == [answer.json["entry"]]
    assert run("--data-dir", store, "--json", "status").json["consolidations"] == {"cycles": 1, "facts": 1}


def test_cards_are_put_off_rejected_and_reopened(store: Path) -> None:
    run("--data-dir", store, "consolidate", "ops")
    ids = [card["id"] for card in run("--data-dir", store, "--json", "inbox", "list").json]
    for verb, state in (("later", "later"), ("reopen", "open"), ("reject", "rejected"), ("never-again", "never")):
        assert run("--data-dir", store, "inbox", verb, *ids).code == 0
        found = run("--data-dir", store, "--json", "inbox", "list", "--state", state).json
        assert sorted(card["id"] for card in found) == sorted(ids)
    assert run("--data-dir", store, "inbox", "accept", ids[0]).code == 4


def test_several_cards_are_one_step(store: Path) -> None:
    run("--data-dir", store, "consolidate", "ops")
    ids = [card["id"] for card in run("--data-dir", store, "--json", "inbox", "list").json]
    answer = run("--data-dir", store, "--json", "inbox", "accept", *ids)
    assert [card["id"] for card in answer.json["accepted"]] == ids
    run("--data-dir", store, "undo", answer.json["undo"])
    assert [card["id"] for card in run("--data-dir", store, "--json", "inbox", "list").json] == ids
    run("--data-dir", store, "inbox", "reject", ids[0])
    answer = run("--data-dir", store, "--json", "inbox", "accept", *ids)
    assert [card["id"] for card in answer.json["accepted"]] == ids[1:]
    assert [left["id"] for left in answer.json["left"]] == ids[:1]
    assert run("--data-dir", store, "inbox", "accept", *ids, "--edit", "x").code == 2


def test_a_card_whose_fact_changed_is_a_conflict(store: Path) -> None:
    run("--data-dir", store, "consolidate", "ops")
    card = run("--data-dir", store, "--json", "inbox", "list").json[0]
    run("--data-dir", store, "pin", "ops", card["facts"][1])
    answer = run("--data-dir", store, "--json", "inbox", "accept", card["id"])
    assert (answer.code, answer.error["code"]) == (4, "fact_changed")
    assert run("--data-dir", store, "--json", "inbox", "list").json[0]["stale"] is True
    assert "[stale]" in run("--data-dir", store, "inbox", "list").out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["consolidate"], 2),
        (["consolidate", " "], 2),
        (["consolidate", "ops", "--apply", "prune"], 2),
        (["inbox", "accept"], 2),
        (["inbox", "accept", "nobody"], 3),
        (["inbox", "reject", "nobody"], 3),
        (["inbox", "list", "--state", "nowhere"], 2),
    ],
)
def test_bad_arguments_are_named(store: Path, arguments: list[str], code: int) -> None:
    answer = run("--data-dir", store, *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err


def test_without_a_store_there_is_nothing_to_consolidate(tmp_path: Path) -> None:
    for arguments in (["consolidate", "ops"], ["inbox", "list"]):
        assert run("--data-dir", tmp_path / "none", *arguments).code == 3
    assert not (tmp_path / "none").exists()


def test_a_model_that_the_environment_names_is_asked(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(20):
        run("--data-dir", store, "remember", "ops", f"Note {chr(65 + n)}{n} about {chr(75 + n)}.")
    with model_server(openai("I would rather not.")) as server:
        monkeypatch.setenv("GRAYMATTER_LLM_URL", server.url)
        monkeypatch.setenv("GRAYMATTER_LLM_MODEL", "small")
        answer = run("--data-dir", store, "--json", "consolidate", "ops")
    assert answer.code == 0
    assert len(answer.json["errors"]) == 1
    monkeypatch.setenv("GRAYMATTER_LLM_URL", "nowhere")
    assert run("--data-dir", store, "consolidate", "ops").code == 2
