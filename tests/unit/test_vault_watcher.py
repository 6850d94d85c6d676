"""The watcher of a vault: one call for a burst, none for our own records, none after it was closed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from exporters.obsidian import watching
from exporters.obsidian.watching import VaultWatcher

WAIT_S = 20.0


def test_a_burst_of_changes_is_one_call_and_hidden_files_are_none(tmp_path: Path) -> None:
    (tmp_path / "Memory" / ".graymatter").mkdir(parents=True)
    calls: list[int] = []
    called = threading.Event()

    def on_changed() -> None:
        calls.append(len(list((tmp_path / "Memory").glob("*.md"))))
        called.set()

    watcher = VaultWatcher(tmp_path, "Memory", on_changed, settle_s=0.2)
    (tmp_path / "Memory" / ".graymatter" / "manifest.json").write_text("{}")
    (tmp_path / "Memory" / ".graymatter-write-1").write_text("x")
    for number in range(5):
        (tmp_path / "Memory" / f"{number}.md").write_text("x")
    assert called.wait(WAIT_S)
    assert calls == [5]
    called.clear()
    (tmp_path / "Memory" / "0.md").unlink()
    assert called.wait(WAIT_S)
    assert calls == [5, 4]
    watcher.close()
    watcher.close()
    (tmp_path / "Memory" / "9.md").write_text("x")
    assert calls == [5, 4]
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def test_a_long_burst_waits_in_one_thread_and_is_one_call(tmp_path: Path) -> None:
    (tmp_path / "Memory").mkdir()
    called = threading.Event()
    watcher = VaultWatcher(tmp_path, "Memory", called.set, settle_s=60.0)
    before = {*threading.enumerate()}
    for number in range(200):
        watcher._note(str(tmp_path / "Memory" / f"{number}.md"))
    (burst,) = {*threading.enumerate()} - before
    assert (burst.name, called.is_set()) == ("gm-vault-burst", False)
    watcher.close()
    assert (burst.is_alive(), called.is_set()) == (False, False)


def test_a_burst_that_goes_on_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Memory").mkdir()
    called = threading.Event()
    watcher = VaultWatcher(tmp_path, "Memory", called.set, settle_s=60.0)
    seconds = iter((0.0, 59.0, 60.0, 119.0))
    waited: list[float] = []
    monkeypatch.setattr(watching, "monotonic", lambda: next(seconds))

    def wait(left_s: float) -> bool:
        waited.append(left_s)
        if len(waited) == 1:
            watcher._note(str(tmp_path / "Memory" / "b.md"))
        return False

    monkeypatch.setattr(watcher._closed, "wait", wait)
    watcher._note(str(tmp_path / "Memory" / "a.md"))
    assert called.wait(WAIT_S)
    assert waited == [60.0, 59.0]
    watcher.close()


def test_a_watcher_knows_that_its_folder_was_taken_away_or_replaced(tmp_path: Path) -> None:
    place = tmp_path / "Memory"
    place.mkdir()
    watcher = VaultWatcher(tmp_path, "Memory", lambda: None)
    assert watcher.is_whole
    place.rename(tmp_path / "Elsewhere")
    assert not watcher.is_whole
    place.mkdir()
    assert not watcher.is_whole
    (tmp_path / "Elsewhere").rename(tmp_path / "Third")
    place.rmdir()
    (tmp_path / "Third").rename(place)
    assert watcher.is_whole
    watcher.close()
    assert not watcher.is_whole
