"""What the page says of the watch on the vault: nothing while the watcher still takes its first look."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from exporters.obsidian import watching
from gm_desktop.app import App
from gm_desktop.views.publish import PublishPage


def test_while_the_watcher_begins_the_page_does_not_ask_to_publish_first(
    open_app: App, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    class Slow(watching.VaultWatcher):
        def __init__(self, vault: Path, folder: str, on_changed: Callable[[], None]) -> None:
            go.wait(60)
            super().__init__(vault, folder, on_changed)

    monkeypatch.setattr(watching, "VaultWatcher", Slow)
    (tmp_path / "vault").mkdir()
    open_app.show_page("vault")
    page = open_app.window.pages["vault"]
    assert isinstance(page, PublishPage)
    sentence, watch = page.inbox.watching, open_app.vault.watch
    assert sentence.text().startswith("Not watching")
    open_app.publishing.choose(vault=str(tmp_path / "vault"))
    open_app.publishing.publish()
    qtbot.waitUntil(lambda: watch.is_beginning)
    assert sentence.text() == ""
    go.set()
    qtbot.waitUntil(lambda: watch.is_watching and not watch.is_waiting)
    assert sentence.text().startswith("Watching the vault")
    open_app.host.close_store()
    assert sentence.text().startswith("Not watching")
