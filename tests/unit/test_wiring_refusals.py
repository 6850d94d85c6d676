"""Configurations that cannot be read or written, and entries that stand in them already."""

from __future__ import annotations

import errno
import os
import sys
import tomllib
from pathlib import Path

import pytest

from gm_engine.errors import WiringRefused
from gm_engine.records import JsonValue
from gm_engine.wiring import Places, Server, carry_out, client, plan_connect, plan_disconnect, toml_text
from gm_engine.wiring import plans as plans_module
from gm_engine.wiring.json_text import NoJson, with_entry, without_entry
from tests.fakes.clock import FrozenClock

SERVER = Server("/opt/gm/graymatter", ("mcp", "serve"))
OLD = '[mcp_servers.graymatter]\ncommand = "/old"\nextra = 1 # gone with it\n\n[other]\nkeep = "me" # mine\n'


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "home").mkdir()
    return Places(tmp_path / "home", "linux", {}, tmp_path)


def codex(places: Places, content: str) -> Path:
    path = client("codex").path("user", places)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def connect(places: Places) -> str:
    return carry_out(plan_connect(client("codex"), places, SERVER), clock=FrozenClock()).plan.action


def refused(places: Places) -> str:
    with pytest.raises(WiringRefused) as caught:
        connect(places)
    assert "codex" in str(caught.value.fields["path"])
    return str(caught.value.fields["reason"])


def test_an_older_entry_in_a_toml_file_is_replaced_and_all_else_stays(places: Places) -> None:
    path = codex(places, OLD)
    assert connect(places) == "replace"
    values = tomllib.loads(path.read_text())
    assert values["mcp_servers"]["graymatter"] == {"command": SERVER.command, "args": ["mcp", "serve"]}
    assert 'keep = "me" # mine' in path.read_text()
    assert connect(places) == "nothing"
    carry_out(plan_disconnect(client("codex"), places), clock=FrozenClock())
    assert tomllib.loads(path.read_text())["other"] == {"keep": "me"}
    assert plan_disconnect(client("codex"), places).action == "nothing"


def test_a_name_that_stands_for_something_else_is_no_table(places: Places) -> None:
    path = codex(places, 'mcp_servers = "none"\n')
    assert refused(places) == "invalid"
    assert path.read_text() == 'mcp_servers = "none"\n'


def test_what_is_no_file_or_too_large_is_left_alone(places: Places) -> None:
    path = codex(places, "")
    path.unlink()
    path.mkdir()
    assert refused(places) == "not_regular"
    path.rmdir()
    with path.open("wb") as file:
        file.truncate(plans_module._LARGEST + 1)
    assert refused(places) == "too_large"


def test_a_file_that_is_no_text_is_left_alone(places: Places) -> None:
    path = codex(places, "")
    path.write_bytes(b'model = "\xff"\n')
    assert refused(places) == "invalid"
    assert path.read_bytes() == b'model = "\xff"\n'


def test_a_file_that_the_disk_does_not_give_is_told(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    codex(places, OLD)

    def failing(_: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", failing)
        assert refused(places) == "unreadable"


def test_a_full_disk_leaves_the_file_and_no_half_one_beside_it(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    path = codex(places, OLD)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert refused(places) == "not_writable"
    assert path.read_text() == OLD
    assert [each.name for each in path.parent.iterdir() if each.name.startswith(".config")] == []
    assert connect(places) == "replace"


def test_a_second_backup_of_the_same_second_gets_a_name_of_its_own(places: Places) -> None:
    path = codex(places, OLD)
    first = carry_out(plan_connect(client("codex"), places, SERVER), clock=FrozenClock()).backup
    second = carry_out(plan_disconnect(client("codex"), places), clock=FrozenClock()).backup
    assert first is not None
    assert second is not None
    assert first != second
    assert first.read_text() == OLD
    assert path.exists()


@pytest.mark.parametrize(
    "text",
    ['{"mcpServers": []}', '{"mcpServers": 7}', '{"mcpServers": {"graymatter": }}', '{"a": 01}', '{"a": "\\x"}', "{"],
)
def test_a_json_text_that_has_no_room_for_the_entry_is_refused(text: str) -> None:
    with pytest.raises(NoJson):
        with_entry(text, ("mcpServers", "graymatter"), {"command": "x"}, is_lenient=False)


def test_removing_what_is_not_there_changes_nothing() -> None:
    for text in ("", "  \n", '{"other": {}}', '{"mcpServers": {"files": {}}}'):
        assert without_entry(text, ("mcpServers", "graymatter"), is_lenient=True) == text


def test_the_last_entry_is_removed_with_its_comma_and_the_comments_of_others_stay() -> None:
    text = '{"mcpServers": {"a": {} /* one, two */, // first\n "graymatter": {"command": "x"},\n}}'
    back = without_entry(text, ("mcpServers", "graymatter"), is_lenient=True)
    assert "/* one, two */" in back
    assert "graymatter" not in back
    assert with_entry(back, ("mcpServers", "graymatter"), {"command": "x"}, is_lenient=True).count("graymatter") == 1


def test_a_json_object_whose_names_are_no_texts_is_refused() -> None:
    with pytest.raises(NoJson, match="a name that is no text"):
        with_entry("{\n7: {}}", ("mcpServers", "graymatter"), {}, is_lenient=True)


def test_the_first_entry_is_removed_with_the_comma_behind_its_comment() -> None:
    text = '{"mcpServers": {"graymatter": {"command": "x"} /* ours, once */, "files": {}}}'
    back = without_entry(text, ("mcpServers", "graymatter"), is_lenient=True)
    assert back == '{"mcpServers": { "files": {}}}'


def test_an_entry_in_a_toml_file_keeps_what_already_says_the_same() -> None:
    text = '[mcp_servers.graymatter]\ncommand = "/opt" # as installed\nargs = ["old"]\n'
    wanted: dict[str, JsonValue] = {"command": "/opt", "args": ["mcp"]}
    changed = toml_text.with_entry(text, "mcp_servers", "graymatter", wanted)
    assert 'command = "/opt" # as installed' in changed
    assert toml_text.values(changed) == {"mcp_servers": {"graymatter": wanted}}
    assert toml_text.with_entry(changed, "mcp_servers", "graymatter", wanted) == changed
    assert toml_text.without_entry(changed, "mcp_servers", "files") == changed


def test_a_file_that_the_system_keeps_from_writing_is_left_alone(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = codex(places, OLD)
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda *_: False)
        assert refused(places) == "read_only"
    assert path.read_text() == OLD


def test_a_change_that_would_touch_anything_else_is_not_written(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = codex(places, OLD)
    with monkeypatch.context() as patched:
        patched.setattr(toml_text, "with_entry", lambda *_: '[mcp_servers.graymatter]\ncommand = "x"\n')
        assert refused(places) == "unsafe"
    assert path.read_text() == OLD


def test_a_frozen_program_is_its_own_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = str(tmp_path / "GrayMatter")
    monkeypatch.setattr(sys, "executable", program)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert Server.here() == Server(program, ("mcp", "serve"))
