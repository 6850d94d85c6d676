"""Our entry in other programs' configuration: nothing else changes, nothing invalid is touched, nothing is lost."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gm_engine.errors import InvalidInput, WiringRefused
from gm_engine.records import JsonValue
from gm_engine.wiring import (
    CLIENTS,
    Client,
    Places,
    Server,
    carry_out,
    client,
    plan_connect,
    plan_disconnect,
    snippet,
    survey,
)
from gm_engine.wiring.json_text import NoJson, entry_at, parse, with_entry, without_entry
from tests.fakes.clock import FrozenClock

SERVER = Server("/opt/gm/graymatter", ("mcp", "serve"))
ENTRY: JsonValue = {"command": "/opt/gm/graymatter", "args": ["mcp", "serve"]}
OTHERS = """{
  // my servers, do not sort
  "theme": "One Dark", /* dark */
  "context_servers": {
    "files": { "source": "custom", "command": "npx", "args": ["-y", "files"] }, // keep, please
  },
  "vim_mode": true,
}
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return Places(tmp_path / "home", "linux", {}, tmp_path / "project")


def put(known: Client, places: Places, content: str | bytes) -> Path:
    path = known.path("user", places)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def connect(known: Client, places: Places) -> Path | None:
    return carry_out(plan_connect(known, places, SERVER), clock=FrozenClock()).backup


@pytest.mark.parametrize("known", CLIENTS, ids=lambda known: known.name)
def test_a_client_without_a_configuration_gets_one(known: Client, places: Places) -> None:
    plan = plan_connect(known, places, SERVER)
    assert (plan.action, plan.before) == ("create", None)
    assert "graymatter" in plan.diff
    carry_out(plan, clock=FrozenClock())
    text = plan.path.read_text()
    whole = tomllib.loads(text) if known.form == "toml" else json.loads(text)
    assert "/opt/gm/graymatter" in json.dumps(whole[known.keys[0]]["graymatter"])
    assert plan_connect(known, places, SERVER).action == "nothing"
    found = {one.client.name: one.state for one in survey(places, SERVER)}
    assert found.pop(known.name) == "connected"
    assert set(found.values()) == {"not_connected"}
    assert plan.path.read_text() == snippet(known, SERVER)


@pytest.mark.parametrize("known", CLIENTS, ids=lambda known: known.name)
def test_connecting_and_disconnecting_leaves_other_entries_as_they_were(known: Client, places: Places) -> None:
    key = known.keys[0]
    if known.form == "toml":
        before = f'model = "x"  # mine\n\n[{key}.other]\ncommand = "a"\n\n[profiles.p]\nmodel = "y"\n'
    else:
        before = json.dumps({"z": 1, key: {"other": {"command": "a"}}, "a": [1, 2]}, indent=4)
    path = put(known, places, before)
    connect(known, places)
    after = path.read_text()
    assert all(line.rstrip(",") in after for line in before.splitlines())
    carry_out(plan_disconnect(known, places), clock=FrozenClock())
    assert path.read_text().rstrip("\n") == before.rstrip("\n")
    assert plan_disconnect(known, places).action == "nothing"


def test_comments_and_layout_of_settings_stay(places: Places) -> None:
    zed = client("zed")
    path = put(zed, places, OTHERS)
    connect(zed, places)
    written = path.read_text()
    head, entry, tail = written.partition('\n    "graymatter"')
    assert head + tail[tail.index("\n  },") :] == OTHERS
    assert entry
    found = entry_at(written, ("context_servers", "graymatter"), is_lenient=True)
    assert found == {"source": "custom", "command": SERVER.command, "args": ["mcp", "serve"], "env": {}}
    carry_out(plan_disconnect(zed, places), clock=FrozenClock())
    assert path.read_text() == OTHERS


def test_a_copy_is_kept_beside_and_never_overwritten(places: Places) -> None:
    cursor = client("cursor")
    path = put(cursor, places, "{}")
    first = connect(cursor, places)
    path.write_text('{"mcpServers": {"graymatter": {"command": "old"}}}')
    second = connect(cursor, places)
    assert first is not None
    assert second is not None
    assert first.parent == path.parent
    assert first.read_text() == "{}"
    assert "old" in second.read_text()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_mode_is_kept_on_file_and_copy(places: Places, mode: int) -> None:
    code = client("claude-code")
    path = put(code, places, '{"token": "secret"}')
    path.chmod(mode)
    backup = connect(code, places)
    assert backup is not None
    assert {stat.S_IMODE(one.stat().st_mode) for one in (path, backup)} == {mode}
    assert sorted(one.name for one in path.parent.iterdir()) == sorted([path.name, backup.name])


@pytest.mark.parametrize("name", ["claude-desktop", "zed", "codex"])
def test_byte_order_mark_and_line_ends_are_kept(places: Places, name: str) -> None:
    known = client(name)
    text = 'model = "x"\r\n' if known.form == "toml" else '{\r\n  "a": 1\r\n}\r\n'
    path = put(known, places, b"\xef\xbb\xbf" + text.encode())
    connect(known, places)
    raw = path.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    assert raw.count(b"\n") == raw.count(b"\r\n") > 2
    assert raw.count(b"\xef\xbb\xbf") == 1


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("claude-desktop", '{"a": 1', "no valid JSON"),
        ("claude-desktop", '{"a": 1} // why', "holds a comment"),
        ("claude-desktop", '{"a": 1,}', "a comma stands before the end"),
        ("claude-desktop", "[]", "no JSON object"),
        ("claude-desktop", '{"mcpServers": []}', "is no object"),
        ("claude-desktop", '{"mcpServers": {}, "mcpServers": {}}', "twice"),
        ("windsurf", '{"a": NaN}', "no valid JSON"),
        ("zed", "{ /* open", "no valid JSON"),
        ("zed", "{" + '"a": {' * 500, "nested too deeply"),
        ("zed", b"\xff\xfe{\x00}\x00", "not UTF-8"),
        ("codex", "[mcp_servers", "no valid TOML"),
        ("codex", "mcp_servers = 3\n", "no table"),
        ("codex", "[a]\n[a]\n", "no valid TOML"),
    ],
)
def test_an_invalid_file_is_refused_and_left_as_it_is(
    places: Places, name: str, content: str | bytes, reason: str
) -> None:
    known = client(name)
    path = put(known, places, content)
    before = path.read_bytes()
    with pytest.raises(WiringRefused, match=reason) as refused:
        plan_connect(known, places, SERVER)
    assert refused.value.fields["reason"] == "invalid"
    with pytest.raises(WiringRefused):
        plan_disconnect(known, places)
    assert path.read_bytes() == before
    (one,) = [one for one in survey(places, SERVER) if one.client == known]
    assert one.state == "unreadable"
    assert one.problem
    assert len(list(path.parent.iterdir())) == 1


def test_a_read_only_file_is_reported(places: Places) -> None:
    cursor = client("cursor")
    path = put(cursor, places, "{}")
    path.chmod(0o444)
    with pytest.raises(WiringRefused, match="read-only") as refused:
        connect(cursor, places)
    assert refused.value.fields["reason"] == "read_only"
    assert path.read_text() == "{}"


def test_a_file_that_changed_after_the_look_is_not_overwritten(places: Places) -> None:
    cursor = client("cursor")
    path = put(cursor, places, "{}")
    plan = plan_connect(cursor, places, SERVER)
    path.write_text('{"mcpServers": {"new": {}}}')
    with pytest.raises(WiringRefused, match="changed meanwhile"):
        carry_out(plan, clock=FrozenClock())
    assert path.read_text() == '{"mcpServers": {"new": {}}}'


def test_a_persons_link_is_followed_and_stays_a_link(places: Places) -> None:
    cursor = client("cursor")
    real = places.home / "dotfiles" / "cursor.json"
    real.parent.mkdir()
    real.write_text('{"a": 1}')
    link = places.home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    backup = connect(cursor, places)
    assert link.is_symlink()
    assert json.loads(real.read_text())["a"] == 1
    assert "graymatter" in real.read_text()
    assert backup is not None
    assert backup.parent == real.parent
    real.unlink()
    with pytest.raises(WiringRefused, match="link to nothing"):
        plan_connect(cursor, places, SERVER)


def test_a_link_that_leads_to_itself_is_a_link_to_nothing(places: Places) -> None:
    path = places.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.symlink_to(path)
    assert "link to nothing" in next(one.problem for one in survey(places, SERVER) if one.path == path)


def test_a_link_that_leads_out_of_a_project_is_refused(places: Places) -> None:
    assert places.project is not None
    outside = places.home / "private.json"
    outside.write_text("{}")
    (places.project / ".mcp.json").symlink_to(outside)
    (places.project / ".vscode").symlink_to(places.home, target_is_directory=True)
    for name in ("claude-code", "vscode"):
        with pytest.raises(WiringRefused, match="out of the project"):
            plan_connect(client(name), places, SERVER, scope="project")
    assert outside.read_text() == "{}"
    assert not (places.home / "mcp.json").exists()


def test_a_folder_and_a_pipe_are_no_configuration(places: Places) -> None:
    path = client("cursor").path("user", places)
    assert path is not None
    path.mkdir(parents=True)
    with pytest.raises(WiringRefused, match="not a regular file"):
        plan_connect(client("cursor"), places, SERVER)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(WiringRefused, match="not a regular file"):
        plan_connect(client("cursor"), places, SERVER)


def test_a_program_without_a_project_configuration_says_so(places: Places) -> None:
    with pytest.raises(WiringRefused, match="no configuration for a project"):
        plan_connect(client("windsurf"), places, SERVER, scope="project")
    assert {one.client.name for one in survey(places, SERVER, scope="project")} == {
        "claude-code",
        "cursor",
        "vscode",
        "codex",
        "opencode",
        "zed",
    }


def test_an_unknown_client_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="known: claude-code, claude-desktop"):
        client("emacs")


@pytest.mark.parametrize(
    ("platform", "environ", "paths"),
    [
        (
            "linux",
            {"XDG_CONFIG_HOME": "/cfg"},
            {"claude-desktop": "/cfg/Claude/claude_desktop_config.json", "zed": "/cfg/zed/settings.json"},
        ),
        (
            "darwin",
            {},
            {
                "claude-desktop": "/me/Library/Application Support/Claude/claude_desktop_config.json",
                "vscode": "/me/Library/Application Support/Code/User/mcp.json",
                "zed": "/me/.config/zed/settings.json",
            },
        ),
        (
            "win32",
            {"APPDATA": "/me/Roaming"},
            {
                "claude-desktop": "/me/Roaming/Claude/claude_desktop_config.json",
                "zed": "/me/Roaming/Zed/settings.json",
                "cursor": "/me/.cursor/mcp.json",
            },
        ),
        ("linux", {"CODEX_HOME": "/codex"}, {"codex": "/codex/config.toml"}),
    ],
)
def test_where_each_system_keeps_the_configuration(
    platform: str, environ: dict[str, str], paths: dict[str, str]
) -> None:
    places = Places(Path("/me"), platform, environ)
    assert {name: str(client(name).path("user", places)) for name in paths} == paths


def test_codex_reads_the_folder_that_its_variable_names_and_no_other(places: Places) -> None:
    (places.home / ".codex").mkdir()
    (places.home / ".codex" / "config.toml").touch()
    moved = replace(places, environ={"CODEX_HOME": str(places.home / "elsewhere")})
    assert client("codex").path("user", moved) == places.home / "elsewhere" / "config.toml"
    assert client("codex").path("user", places) == places.home / ".codex" / "config.toml"


def test_an_existing_variant_of_the_file_is_the_one_that_is_changed(places: Places) -> None:
    opencode = client("opencode")
    lenient = places.home / ".config" / "opencode" / "opencode.jsonc"
    lenient.parent.mkdir(parents=True)
    lenient.write_text("{ } // mine\n")
    connect(opencode, places)
    assert lenient.read_text().endswith("} // mine\n")
    assert not lenient.with_suffix(".json").exists()
    assert '"command": [' in lenient.read_text()


def test_another_command_is_told_apart_and_corrected(places: Places) -> None:
    desktop = client("claude-desktop")
    path = put(desktop, places, '{\n\t"mcpServers": {\n\t\t"graymatter": {"command": "old"},\n\t\t"b": {}\n\t}\n}')
    (one,) = [one for one in survey(places, SERVER) if one.client == desktop]
    assert one.state == "differs"
    plan = plan_connect(desktop, places, SERVER)
    assert plan.action == "replace"
    carry_out(plan, clock=FrozenClock())
    assert json.loads(path.read_text()) == {"mcpServers": {"graymatter": ENTRY, "b": {}}}
    assert path.read_text().startswith('{\n\t"mcpServers": {\n\t\t"graymatter": {\n')
    assert path.read_text().endswith(',\n\t\t"b": {}\n\t}\n}')


def test_a_toml_table_in_one_line_is_understood(places: Places) -> None:
    codex = client("codex")
    path = put(codex, places, 'mcp_servers = { a = { command = "x" } } # mine\n')
    connect(codex, places)
    values = tomllib.loads(path.read_text())
    assert values["mcp_servers"]["a"] == {"command": "x"}
    assert values["mcp_servers"]["graymatter"]["command"] == SERVER.command
    assert "# mine" in path.read_text()


# --- laws -------------------------------------------------------------------------------------------------------------

_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(lambda name: name != "graymatter")
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | _names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=12,
)


@given(
    whole=st.dictionaries(_names, _values, max_size=4),
    servers=st.dictionaries(_names, _values, max_size=3),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_any_object_takes_the_entry_and_gives_it_back(
    whole: dict[str, JsonValue], servers: dict[str, JsonValue], indent: int | str | None, newline: str
) -> None:
    text = json.dumps({**whole, "mcpServers": servers}, indent=indent).replace("\n", newline)
    path = ("mcpServers", "graymatter")
    changed = with_entry(text, path, ENTRY, is_lenient=False)
    assert json.loads(changed) == {**whole, "mcpServers": {**servers, "graymatter": ENTRY}}
    assert with_entry(changed, path, ENTRY, is_lenient=False) == changed
    back = without_entry(changed, path, is_lenient=False)
    assert back == text or (not servers and json.loads(back) == json.loads(text))


@given(text=st.text(alphabet='{}[]",:/*\\ \n\ta1-', max_size=40))
def test_what_the_scanner_takes_for_strict_json_is_json(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    try:
        found = parse(text, is_lenient=False).value
    except NoJson:
        found = None
    assert found == (expected if isinstance(expected, dict) else None)
