"""`graymatter sources`: configured in the user's own file, asked together, honest about who did not answer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, Memory
from tests.fakes.command_line import ROOT, Answer, run

OTHER = str(ROOT / "tests" / "fakes" / "other_source.py")


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAYMATTER_SOURCES", str(tmp_path / "sources.toml"))
    monkeypatch.setenv("GRAYMATTER_EMBEDDING_MODE", "keyword-only")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", config=config, background=False) as memory:
        memory.remember("ops", "Rollbacks take five minutes.")
    return tmp_path / "store"


def sources(*arguments: object, store: Path | None = None) -> Answer:
    where = () if store is None else ("--data-dir", store)
    return run("sources", *arguments, *where)


def add(mode: str, *more: str) -> Answer:
    return sources("add", mode, sys.executable, "--arg", OTHER, "--arg", mode, *more)


def test_a_healthy_and_a_silent_source_beside_memory(store: Path) -> None:
    add("notes")
    add("slow", "--deadline", "0.5")
    answer = sources("search", "rollback", "--json", store=store)
    assert answer.code == 0
    assert answer.json["coverage"] == "degraded"
    assert {each["source_id"]: each["state"] for each in answer.json["sources"]} == {
        "memory": "answered",
        "notes": "answered",
        "slow": "failed",
    }
    assert [hit["source_id"] for hit in answer.json["hits"]][:2] == ["memory", "notes"]
    (warning,) = answer.err.splitlines()
    assert warning.startswith("warning: slow failed (timeout): 0 hits")


def test_words_for_a_reader(store: Path) -> None:
    add("notes")
    answer = sources("search", "rollback", "--limit", "2", store=store)
    assert answer.err == ""
    lines = answer.out.splitlines()
    assert lines[0] == "  1. Rollbacks take five minutes."
    assert lines[-2].startswith("memory answered: 1 hits")
    assert lines[-1].startswith("notes answered: 2 hits")


def test_nothing_is_said_of_nothing(store: Path) -> None:
    add("nothing")
    assert "nothing found" in sources("search", "zeppelin", store=store).out
    add("broken")
    assert "not every source has looked" in sources("search", "zeppelin", store=store).out


def test_filters_go_to_every_source(store: Path) -> None:
    add("notes")
    answer = sources("search", "rollback", "--as-of", "2001-01-01T00:00:00Z", "--json", store=store)
    assert {each["source_id"]: each["reason"] for each in answer.json["sources"]} == {
        "memory": "as_of_unsupported",
        "notes": "as_of_unsupported",
    }
    typed = sources("search", "rollback", "--source", "memory", "--type", "checkpoint", "--json", store=store)
    assert typed.json["found_nothing"] is True
    assert sources("search", "x", "--since", "yesterday", store=store).code == 2
    assert sources("search", "x", "--source", "nobody", store=store).code == 3


def test_the_list_shows_what_is_configured_and_starts_nothing() -> None:
    assert sources("list").out.startswith("no sources in ")
    made = add("notes", "--set", "depth=2", "--set", "folder=here", "--ceiling", "internal", "--json")
    assert made.json["settings"] == {"depth": 2, "folder": "here"}
    assert sources("list", "--json").json == [made.json]
    assert "ceiling internal" in sources("list").out
    assert add("notes").code == 2
    assert add("Bad name").code == 2
    assert add("more", "--set", "nonsense").code == 2
    assert add("more", "--set", "depth=null").code == 2
    assert add("more", "--set", "depth=NaN").code == 2
    assert sources("remove", "notes").out == "removed notes\n"
    assert sources("remove", "notes").code == 3


def test_health_names_what_was_said_and_what_failed(store: Path) -> None:
    add("partial")
    sources("add", "absent", "no-such-program-anywhere")
    out = sources("health", store=store).out
    assert "memory           healthy, coverage complete, 1 records" in out
    assert "partial          degraded, coverage partial, 2 records" in out
    assert "said last: reading notes in mode partial" in out
    assert "absent           failed: not_started" in out
    (memory,) = sources("health", "memory", "--json", store=store).json
    assert "semantic" not in memory["manifest"]["query_modes"]  # no model is configured
    payload = sources("health", "partial", "--refresh", "--json", store=store).json
    assert payload[0]["manifest"]["adapter_id"] == "test-notes"
    assert payload[0]["health"]["coverage"] == "partial"


def test_a_hit_is_shown_and_kept(store: Path) -> None:
    add("notes")
    assert sources("expand", "notes:note/n1", store=store).out.startswith("Rollback notes")
    cut = sources("expand", "notes:note/n1", "--budget", "8", "--json", store=store)
    assert cut.json == {"locator": "notes:note/n1", "content": "Rollback", "truncated": False}
    kept = sources("keep", "notes:note/n1", "--agent", "ops", "--confidence", "verified", "--json", store=store)
    assert kept.json["text"].startswith("Rollback notes")
    found = sources("search", "drill", "--source", "memory", "--json", store=store).json["hits"][0]
    assert found["derived_from"] == ["notes:note/n1"]
    assert sources("expand", "notes:note/n9", store=store).code == 1
    assert sources("expand", "nobody:x", "--json", store=store).error["code"] == "recall_refused"


def test_without_a_store_the_others_are_asked(tmp_path: Path) -> None:
    add("notes")
    answer = sources("search", "rollback", "--json", store=tmp_path / "no store")
    assert [each["source_id"] for each in answer.json["sources"]] == ["notes"]
    assert sources("keep", "notes:note/n1", "--agent", "ops", store=tmp_path / "no store").code == 3


def test_a_file_that_others_may_write_starts_nothing(tmp_path: Path, store: Path) -> None:
    add("notes")
    (tmp_path / "sources.toml").chmod(0o666)
    answer = sources("search", "rollback", store=store)
    assert (answer.code, answer.out) == (2, "")
    assert "chmod 600" in answer.err


def test_a_hit_that_was_kept_names_both_places_and_a_long_one_is_cut_with_a_word(store: Path) -> None:
    add("notes")
    kept = sources("keep", "notes:note/n1", "--agent", "ops", "--json", store=store).json
    said = sources("search", "drill harbour", store=store).out
    assert "     also in " in said
    cut = sources("expand", f"memory:fact/{kept['id']}", "--budget", "8", store=store)
    assert (cut.code, cut.err) == (0, "warning: cut at the budget\n")
    assert len(cut.out) <= 9


def test_a_source_that_did_not_see_everything_says_what_it_left(store: Path) -> None:
    add("partial")
    answer = sources("search", "drill", "--source", "partial", "--json", store=store).json
    assert answer["coverage"] == "degraded"
    assert answer["sources"][0]["diagnostics"] == {"folders_unread": 2}
