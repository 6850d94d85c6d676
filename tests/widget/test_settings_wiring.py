"""Connecting programs from the Settings page: what is here, what would be written, and writing it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notice, Notices
from gm_desktop.theme import Theme
from gm_desktop.viewmodels.settings_wiring import WiringSettings
from gm_desktop.views.settings_wiring import PlanDialog, WiringSection
from gm_engine.wiring import Places
from tests.fakes.clock import FrozenClock


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / ".cursor").mkdir(parents=True)
    return folder


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    made.resize(900, 700)
    qtbot.addWidget(made)
    return made


@pytest.fixture
def section(
    open_host: EngineHost, notices: Notices, theme: Theme, qtbot: QtBot, home: Path, window: QWidget
) -> Iterator[WiringSection]:
    viewmodel = WiringSettings(
        open_host, notices, clock=FrozenClock(), places=lambda: Places(home, "linux", {}), parent=open_host
    )
    made = WiringSection(viewmodel, theme)
    made.setParent(window)
    window.show()
    made.look(True)
    qtbot.waitUntil(lambda: bool(viewmodel.lines.lines))
    yield made
    qtbot.waitUntil(made.is_settled)


def choose(section: WiringSection, name: str) -> None:
    rows = [line.key for line in section._viewmodel.lines.lines]
    section.list.choose(rows.index(name))


def marks(section: WiringSection) -> dict[str, str]:
    return {line.key: line.mark for line in section._viewmodel.lines.lines}


def planned(window: QWidget, qtbot: QtBot) -> PlanDialog:
    qtbot.waitUntil(lambda: window.findChild(PlanDialog) is not None)
    dialog = window.findChild(PlanDialog)
    assert isinstance(dialog, PlanDialog)
    return dialog


def test_programs_that_are_here_come_first(section: WiringSection) -> None:
    assert list(marks(section).items())[:2] == [("cursor", "Not connected"), ("claude-code", "Not found here")]
    assert section.list.view.verticalScrollBar().maximum() == 0  # all of them are seen at once
    assert not section.connect_one.isEnabled()
    choose(section, "cursor")
    assert section.connect_one.isEnabled()
    assert not section.disconnect_one.isEnabled()


def test_a_program_is_connected_after_its_change_was_shown(
    section: WiringSection, window: QWidget, qtbot: QtBot, home: Path, open_host: EngineHost, told: list[Notice]
) -> None:
    path = home / ".cursor" / "mcp.json"
    path.write_text('{\n  "mcpServers": {\n    "a": {}\n  }\n}\n')
    choose(section, "cursor")
    section.connect_one.click()
    dialog = planned(window, qtbot)
    assert '+    "graymatter": {' in dialog.diff.toPlainText()
    assert path.read_text().count("graymatter") == 0
    dialog.write.click()
    qtbot.waitUntil(lambda: marks(section)["cursor"] == "Connected")
    entry = json.loads(path.read_text())["mcpServers"]["graymatter"]
    assert entry["args"][-4:] == ["--data-dir", str(open_host.data_dir), "mcp", "serve"]
    assert told[-1].text == "Cursor uses this memory from its next start on."
    assert section.disconnect_one.isEnabled()
    section.disconnect_one.click()
    planned(window, qtbot).write.click()
    qtbot.waitUntil(lambda: marks(section)["cursor"] == "Not connected")
    assert path.read_text() == '{\n  "mcpServers": {\n    "a": {}\n  }\n}\n'


def test_a_file_that_changed_while_the_dialog_was_open_is_left_alone(
    section: WiringSection, window: QWidget, qtbot: QtBot, home: Path, told: list[Notice]
) -> None:
    choose(section, "cursor")
    section.connect_one.click()
    dialog = planned(window, qtbot)
    (home / ".cursor" / "mcp.json").write_text('{"mine": 1}')
    dialog.write.click()
    qtbot.waitUntil(lambda: bool(told))
    assert "changed meanwhile" in told[-1].text
    assert (home / ".cursor" / "mcp.json").read_text() == '{"mine": 1}'


def test_an_invalid_configuration_says_why_and_cannot_be_connected(
    section: WiringSection, qtbot: QtBot, home: Path
) -> None:
    (home / ".cursor" / "mcp.json").write_text("{ not json")
    section.again.click()
    qtbot.waitUntil(lambda: marks(section)["cursor"] == "Not readable")
    (line,) = [line for line in section._viewmodel.lines.lines if line.key == "cursor"]
    assert "no valid JSON" in line.note
    choose(section, "cursor")
    assert not section.connect_one.isEnabled()


def test_the_configuration_can_be_copied(section: WiringSection, qapp: QApplication) -> None:
    choose(section, "codex")
    section.copy.click()
    assert qapp.clipboard().text().startswith("[mcp_servers.graymatter]\ncommand = ")


def test_the_section_is_on_the_page(app: App) -> None:
    app.building.finish()
    assert any(spec.id == "settings.programs" for spec in app.actions.specs())


def test_a_store_that_the_environment_names_is_named_to_programs_that_do_not_know_it(
    section: WiringSection, open_host: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAYMATTER_DIR", str(open_host.data_dir))
    entry = json.loads(section._viewmodel.configuration("cursor"))["mcpServers"]["graymatter"]
    assert entry["args"][-4:] == ["--data-dir", str(open_host.data_dir), "mcp", "serve"]
