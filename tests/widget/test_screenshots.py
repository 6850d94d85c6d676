"""Screenshots of a store that cannot be opened, and when a picture is taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gm_desktop import screenshots
from gm_desktop.app import App
from gm_desktop.screenshots import Show, take_screenshots
from gm_desktop.views.graph import GraphPage
from gm_engine import Memory
from gm_engine.progress import CancelToken, Progress


def test_a_store_that_is_not_there_ends_with_a_sentence(
    qapp: QApplication, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = tmp_path / "nowhere"
    assert take_screenshots(qapp, tmp_path / "pictures", data_dir=nowhere, size=(1280, 800)) == 1
    assert str(nowhere) in capsys.readouterr().err
    assert not nowhere.exists()


def test_the_graph_is_drawn_in_the_colours_of_a_theme_before_its_picture_is_taken(
    open_app: App, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screenshots, "SETTLE_MS", 0)  # nothing but the page itself says when it is drawn
    with qtbot.waitSignal(open_app.host.changed):
        open_app.host.write(lambda memory: memory.graph.add("Rotterdam", "place"), lambda _: None)
    open_app.show_page("graph")
    page = open_app.window.pages["graph"]
    assert isinstance(page, GraphPage)
    qtbot.waitUntil(lambda: page.is_settled() and page.stage.canvas.isVisible())
    taken: list[bool] = []
    monkeypatch.setattr(screenshots, "_grab", lambda _window, _path: taken.append(page.is_settled()))
    show = Show(open_app, tmp_path, tmp_path, None)
    for is_ready in show.shoot("graph"):
        qtbot.waitUntil(is_ready)
    show.deleteLater()
    assert taken == [True, True]


def test_work_that_a_page_did_not_end_in_time_does_not_go_on_under_the_next_pages(
    open_app: App, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def until_cancelled(_memory: Memory, _progress: Progress, cancel: CancelToken) -> None:
        while True:
            cancel.check()

    monkeypatch.setattr(screenshots, "WAIT_S", 0.0)
    host, ended = open_app.host, list[bool]()
    host.run_task("Endless", until_cancelled, lambda _: None)
    show = Show(open_app, tmp_path, tmp_path, None)
    monkeypatch.setattr(show, "_script", iter([lambda: not host.tasks.running]))
    monkeypatch.setattr(show, "_condition", lambda: False)
    show.finished.append(lambda code: ended.append(bool(code)))
    show.start()
    qtbot.waitUntil(lambda: bool(ended) and not host.tasks.running)
    show.deleteLater()
    assert ended == [True]
    assert "gave up waiting" in capsys.readouterr().err
