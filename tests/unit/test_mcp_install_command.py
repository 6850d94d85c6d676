"""`graymatter mcp install`, `uninstall` and `status` over a made-up person's folders."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.fakes.command_line import run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    (folder / ".cursor").mkdir(parents=True)
    (folder / "project").mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    for name in ("XDG_CONFIG_HOME", "APPDATA", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder / "project")
    return folder


def test_only_the_clients_that_are_here_are_connected(home: Path) -> None:
    states = {one["client"]: (one["present"], one["state"]) for one in run("--json", "mcp", "status").json}
    assert states["cursor"] == (True, "not_connected")
    assert states["zed"] == (False, "not_connected")
    (done,) = run("mcp", "install", "--json").json
    assert (done["client"], done["action"], done["written"]) == ("cursor", "create", True)
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["graymatter"]
    assert entry["args"][-2:] == ["mcp", "serve"]
    assert Path(entry["command"]).is_absolute()
    assert run("mcp", "install").out.startswith("cursor: nothing to do")


def test_a_dry_run_shows_the_change_and_writes_nothing(home: Path) -> None:
    (home / ".cursor" / "mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}}}\n')
    answer = run("mcp", "install", "--dry-run", "--client", "cursor", "--client", "zed")
    assert answer.code == 0
    assert "cursor: would add to" in answer.out
    assert '+{"mcpServers": {"a": {"command": "x"}, "graymatter":' in answer.out
    assert "zed: would create" in answer.out
    assert not (home / ".config").exists()
    assert (home / ".cursor" / "mcp.json").read_text() == '{"mcpServers": {"a": {"command": "x"}}}\n'


def test_the_chosen_store_is_named_to_the_client(home: Path, tmp_path: Path) -> None:
    run("--data-dir", tmp_path / "own", "mcp", "install", "--client", "cursor")
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["graymatter"]
    assert entry["args"][-4:] == ["--data-dir", str(tmp_path / "own"), "mcp", "serve"]


def test_the_store_that_the_environment_names_is_named_to_clients_that_do_not_know_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAYMATTER_DIR", str(tmp_path / "own"))
    run("mcp", "install", "--client", "cursor")
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["graymatter"]
    assert entry["args"][-4:] == ["--data-dir", str(tmp_path / "own"), "mcp", "serve"]
    states = {one["client"]: one["state"] for one in run("--json", "mcp", "status").json}
    assert states["cursor"] == "connected"
    run("mcp", "install", "--scope", "project", "--client", "claude-code")
    assert "own" not in (home / "project" / ".mcp.json").read_text()


def test_a_projects_file_names_no_folder_of_one_machine(home: Path) -> None:
    (done,) = run("--json", "mcp", "install", "--scope", "project", "--client", "claude-code").json
    assert done["path"] == str(home / "project" / ".mcp.json")
    text = (home / "project" / ".mcp.json").read_text()
    assert json.loads(text)["mcpServers"]["graymatter"]["command"] == "graymatter"
    assert str(home) not in text


def test_uninstall_gives_the_file_back(home: Path) -> None:
    before = '{\n  "mcpServers": {\n    "a": {\n      "command": "x"\n    }\n  }\n}\n'
    path = home / ".cursor" / "mcp.json"
    path.write_text(before)
    run("mcp", "install", "--client", "cursor")
    answer = run("mcp", "uninstall", "--client", "cursor")
    assert "cursor: remove from" in answer.out
    assert "the file as it was:" in answer.out
    assert path.read_text() == before


def test_one_invalid_file_does_not_stop_the_others_and_is_an_error(home: Path) -> None:
    (home / ".cursor" / "mcp.json").write_text("{")
    answer = run("--json", "mcp", "install", "--client", "cursor", "--client", "windsurf")
    assert answer.code == 1
    assert {one["client"]: one["action"] for one in answer.json} == {"cursor": "refused", "windsurf": "create"}
    assert answer.error["code"] == "wiring_refused"
    assert (home / ".cursor" / "mcp.json").read_text() == "{"


def test_without_any_client_the_command_says_how_to_name_one(home: Path) -> None:
    (home / ".cursor").rmdir()
    answer = run("mcp", "install")
    assert (answer.code, answer.out) == (3, "")
    assert "--client" in answer.err
    assert run("mcp", "install", "--client", "emacs").code == 2


def test_without_a_console_script_the_interpreter_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    run("mcp", "install", "--client", "cursor")
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["graymatter"]
    assert (entry["command"], entry["args"]) == (sys.executable, ["-P", "-m", "gm_engine.cli", "mcp", "serve"])


@pytest.mark.parametrize(("answered", "code", "written"), [(b"n\n", 130, False), (b"y\n", 0, True)])
def test_on_a_terminal_the_change_is_shown_before_it_is_written(
    home: Path, monkeypatch: pytest.MonkeyPatch, answered: bytes, code: int, written: bool
) -> None:
    monkeypatch.setattr("gm_engine.cli.mcp_install._has_person", lambda: True)
    answer = run("mcp", "install", "--client", "cursor", stdin=answered)
    assert answer.code == code
    assert '+    "graymatter": {' in answer.err
    assert "Write this?" in answer.err
    assert (home / ".cursor" / "mcp.json").exists() is written
