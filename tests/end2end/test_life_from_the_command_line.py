"""The life of an imported memory from the command line: reviewed, undone, seen as it was, blocked, restored, purged."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command_line import ROOT, Answer, run

pytestmark = pytest.mark.end2end
FIXTURES = ROOT / "tests" / "fixtures" / "graymatter"
AGENT = "release-manager"
RETIRED = "Deploy windows open at 09:00 on Tuesdays."
SECRET = "Spaces around this namespace are part of it."
LAST_MONTH = "2026-10-15"  # before the import, so that it is put together from what came in


class Store:
    """One store and the commands on it."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    def answer(self, *arguments: object) -> Answer:
        return run("--data-dir", self.data_dir, *arguments, "--json")

    def __call__(self, *arguments: object) -> Any:
        answer = self.answer(*arguments)
        assert answer.code == 0, answer.err
        return answer.json

    def live(self, *options: object) -> set[str]:
        """The ids of the live facts of the agent."""
        return {fact["id"] for fact in self("list", AGENT, *options)}

    def newest(self) -> int:
        """The number of the newest entry in the journal."""
        return int(self("journal", "--limit", 1)[0]["seq"])

    def files_with(self, text: str) -> list[str]:
        """What `grep -r` finds below the data directory."""
        command = ["grep", "-rlaF", "--", text, str(self.data_dir)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Both stores of the Go program, imported into one."""
    made = Store(tmp_path_factory.mktemp("life") / "store")
    for name in ("gray.db", "contract.db"):
        made("import", FIXTURES / name, "--no-wait")
    return made


def test_a_duplicate_is_seen_in_a_dry_cycle_then_merged_and_taken_back(store: Store) -> None:
    before, entry = store.live(), store.newest()
    dry = store("consolidate", AGENT, "--dry-run")
    assert dry["proposed"]["exact_duplicate"] == 1
    assert (store.newest(), store("inbox", "list")) == (entry, [])

    store("consolidate", AGENT, "--no-prune")
    (card,) = store("inbox", "list", AGENT, "--kind", "exact_duplicate")
    store("inbox", "accept", card["id"])
    assert before - store.live() == set(card["facts"]) - {card["keep"]}
    assert not store("inbox", "list", AGENT, "--kind", "exact_duplicate")

    store("undo", store.newest())
    assert store.live() == before
    assert [each["id"] for each in store("inbox", "list", AGENT, "--kind", "exact_duplicate")] == [card["id"]]


def test_two_entities_are_merged_and_parted_again(store: Store) -> None:
    def labels() -> set[str]:
        return {entity["label"] for entity in store("kg", "list")}

    before = labels()
    assert {"Omar Haddad", "Tom Becker"} <= before
    store("kg", "merge", "Omar Haddad", "Tom Becker")
    assert labels() == before - {"Omar Haddad"}
    store("undo", store.newest())
    assert labels() == before


def test_two_checkpoints_are_compared_and_one_is_approved(store: Store) -> None:
    newest, _, oldest = [each["id"] for each in store("checkpoint", "list", AGENT)]
    assert store("checkpoint", "compare", oldest, newest)["changes"]
    store("checkpoint", "review", newest, "approved", "--note", "As agreed")
    reviewed = store("checkpoint", "list", AGENT)[0]
    assert (reviewed["id"], reviewed["verdict"]) == (newest, "approved")


def test_a_blocked_value_is_refused_however_it_is_written_and_a_retired_fact_comes_back(store: Store) -> None:
    store("blocked", "add", "The vault code is 1234.")
    for text in ("The vault code is 1234.", "The  vault code is 1234. "):
        refused = store.answer("remember", AGENT, text)
        assert (refused.code != 0, refused.error["code"]) == (True, "blocked_value")
    assert store("blocked", "list")[0]["attempts"] == 2

    (retired,) = store("list", AGENT, "--retired", "--text", RETIRED)
    store("restore", AGENT, retired["id"])
    assert retired["id"] in store.live()


def test_the_store_is_seen_as_it_was_ten_changes_ago_and_last_month(store: Store) -> None:
    before, entry = store.live(), store.newest()
    for number in range(10):
        store("remember", AGENT, f"Change {number} of ten.")
    ten_ago = store("journal", "--limit", 10)[-1]["seq"]
    assert (store.newest(), ten_ago) == (entry + 10, entry + 1)
    assert store.live("--at", f"#{ten_ago}") == before
    assert len(store.live()) == len(before) + 10

    everybody = {fact["id"]: fact["created_at"] for fact in store("list", "--all", "--at", LAST_MONTH)}
    assert {created[:7] for created in everybody.values()} <= {f"2026-{month:02}" for month in range(6, 11)}
    later = [fact["id"] for fact in store("list", "--all") if fact["created_at"] > LAST_MONTH]
    assert later
    assert not everybody.keys() & set(later)
    told = run("--data-dir", store.data_dir, "list", "--all", "--at", LAST_MONTH)
    assert "as they were when they came in" in told.out + told.err


def test_a_purged_text_is_nowhere_in_the_data_directory(store: Store, tmp_path: Path) -> None:
    assert store.files_with(SECRET)
    store("purge", SECRET, "--never-again", "--yes")
    assert store.files_with(SECRET) == []
    assert store.answer("remember", AGENT, SECRET).error["code"] == "blocked_value"
    assert store.files_with(SECRET) == []
    assert store.answer("doctor").code == 0
