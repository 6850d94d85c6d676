"""The watch on the vault: what the page says of it, and that it begins again where it could not or had to end."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from exporters.obsidian import watching
from exporters.obsidian.folder import locked, open_folder
from exporters.obsidian.publish import publish
from gm_desktop.app import App
from gm_desktop.viewmodels import vault_watch
from gm_desktop.views.publish import PublishPage
from gm_engine import GrayMatterError, Memory

WAIT_MS = 20_000


@pytest.fixture
def vault(open_app: App, qtbot: QtBot, tmp_path: Path) -> Path:
    """A vault that another program published to; the window has chosen it."""
    _publish(open_app, tmp_path / "vault")
    open_app.publishing.choose(vault=str(tmp_path / "vault"))
    return tmp_path / "vault"


def _publish(app: App, vault: Path) -> None:
    assert app.host.data_dir is not None
    with Memory.open(app.host.data_dir, read_only=True, background=False) as memory:
        publish(memory, vault)


def _visit(app: App) -> None:
    app.show_page("memory")
    app.show_page("vault")


def _edit(vault: Path) -> None:
    path = min((vault / "Memory" / "Facts").rglob("*.md"))
    path.write_text(path.read_text().replace("\n> ", "\n> Edited: ", 1))


def _cards(app: App) -> int:
    return len(app.vault.cards.cards.lines)


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


def test_a_folder_that_appears_later_is_watched_once_the_page_is_visited(
    open_app: App, qtbot: QtBot, tmp_path: Path
) -> None:
    open_app.show_page("vault")
    open_app.publishing.choose(vault=str(tmp_path / "vault"))
    watch = open_app.vault.watch
    qtbot.waitUntil(watch._check.isActive)  # it was looked for, and is looked for again
    assert not watch.is_watching
    _publish(open_app, tmp_path / "vault")
    _visit(open_app)
    qtbot.waitUntil(lambda: watch.is_watching and not watch.is_waiting, timeout=WAIT_MS)
    _edit(tmp_path / "vault")
    qtbot.waitUntil(lambda: _cards(open_app) == 1, timeout=WAIT_MS)


def test_a_folder_that_appears_later_is_watched_by_itself(
    open_app: App, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vault_watch, "CHECK_MS", 20)
    open_app.publishing.choose(vault=str(tmp_path / "vault"))
    watch = open_app.vault.watch
    qtbot.waitUntil(watch._check.isActive)  # it was looked for, and is looked for again
    assert not watch.is_watching
    _publish(open_app, tmp_path / "vault")
    qtbot.waitUntil(lambda: watch.is_watching and not watch.is_waiting, timeout=WAIT_MS)


def test_a_vault_that_the_system_would_not_watch_is_looked_at_and_tried_again(
    open_app: App, qtbot: QtBot, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = watching.VaultWatcher

    def refused(*_asked: object) -> watching.VaultWatcher:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(watching, "VaultWatcher", refused)
    _edit(vault)
    open_app.show_page("vault")
    qtbot.waitUntil(lambda: _cards(open_app) == 1, timeout=WAIT_MS)
    assert not open_app.vault.watch.is_watching
    monkeypatch.setattr(watching, "VaultWatcher", begin)
    _visit(open_app)
    qtbot.waitUntil(lambda: open_app.vault.watch.is_watching, timeout=WAIT_MS)


def test_a_folder_that_was_put_back_is_watched_again(open_app: App, qtbot: QtBot, vault: Path) -> None:
    watch = open_app.vault.watch
    open_app.show_page("vault")
    qtbot.waitUntil(lambda: watch.is_watching and not watch.is_waiting, timeout=WAIT_MS)
    shutil.copytree(vault / "Memory", vault / "Restored")
    shutil.rmtree(vault / "Memory")
    _visit(open_app)
    qtbot.waitUntil(lambda: not watch.is_watching and not watch.is_waiting, timeout=WAIT_MS)
    (vault / "Restored").rename(vault / "Memory")
    _visit(open_app)
    qtbot.waitUntil(lambda: watch.is_watching and not watch.is_waiting, timeout=WAIT_MS)
    _edit(vault)
    qtbot.waitUntil(lambda: _cards(open_app) == 1, timeout=WAIT_MS)


def test_an_edit_that_is_made_while_another_program_publishes_is_found_afterwards(
    open_app: App, qtbot: QtBot, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = open_app.vault.watch
    open_app.show_page("vault")
    qtbot.waitUntil(lambda: watch.is_watching and not watch.is_waiting, timeout=WAIT_MS)
    monkeypatch.setattr(vault_watch, "CHECK_MS", 20)
    refused: list[str] = []
    failed = watch._on_failed

    def noted(error: GrayMatterError) -> None:
        refused.append(error.message)
        failed(error)

    monkeypatch.setattr(watch, "_on_failed", noted)
    with locked(open_folder(vault, "Memory")):
        _edit(vault)
        qtbot.waitUntil(lambda: bool(refused), timeout=WAIT_MS)
        assert _cards(open_app) == 0
    qtbot.waitUntil(lambda: _cards(open_app) == 1, timeout=WAIT_MS)
    assert {*refused} == {"Another program is publishing to this folder."}
