"""The watcher of a vault: one call for a burst, none for our own records, none after it was closed."""

from __future__ import annotations

import threading
from pathlib import Path

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
