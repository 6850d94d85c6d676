"""What a published vault must survive: edits at the wrong moment, wrong clocks, two desktops, a full disk."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.obsidian.checking import check_links
from exporters.obsidian.colours import is_open_in_obsidian
from exporters.obsidian.folder import open_folder
from exporters.obsidian.publish import PublishReport, preview, publish
from exporters.obsidian.reading import read_note
from exporters.obsidian.round_trip import read_edits
from exporters.profiles import PublishOptions
from gm_engine import DiskFull, FactQuery, Memory
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

MANY = 200
TINTED = PublishOptions(colours=True)
State = dict[str, tuple[bytes, int, int]]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        for text in ("The gate opens at nine.", "The lift is broken.", "Coffee is in the hall."):
            opened.remember("scout", text)
        yield opened


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


def state(root: Path) -> State:
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def note(vault: Path, text: str) -> Path:
    (found,) = (path for path in (vault / "Memory" / "Facts").rglob("*.md") if f"> {text}" in path.read_text())
    return found


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert f"> {old}" in text
    path.write_text(text.replace(f"> {old}", f"> {new}", 1))


def reasons(report: PublishReport) -> list[str]:
    return sorted(left.status for left in report.left)


def test_many_facts_are_published_a_second_time_without_a_byte(memory: Memory, vault: Path) -> None:
    for number in range(MANY):
        memory.remember(f"agent {number % 7}", f"Fact {number} of the vault.")
    publish(memory, vault)
    before = state(vault)
    assert publish(memory, vault).written == 0
    assert state(vault) == before


@pytest.mark.parametrize("year_s", [0, 4_000_000_000])
def test_wrong_clocks_change_nothing_and_hide_nothing(memory: Memory, vault: Path, year_s: int) -> None:
    publish(memory, vault)
    for path in vault.rglob("*.md"):
        os.utime(path, (year_s, year_s))
    before = state(vault)
    assert publish(memory, vault).written == 0
    assert state(vault) == before
    path = note(vault, "The lift")
    edit(path, "The lift is broken.", "The lift was broken.")
    os.utime(path, (year_s, year_s))
    (found,) = read_edits(memory, vault).edits
    assert found.text == "The lift was broken."


def test_an_edit_that_keeps_size_time_and_file_is_noticed(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, "The lift")
    then = path.stat()
    with path.open("r+b") as file:
        file.seek(path.read_bytes().index(b"> The lift is broken") + len("> The lift is "))
        file.write(b"BROKEN")
    os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_ino) == (
        then.st_size,
        then.st_mtime_ns,
        then.st_ino,
    )
    assert [found.text for found in read_edits(memory, vault).edits] == ["The lift is BROKEN."]
    assert reasons(publish(memory, vault)) == ["edited"]


def test_a_note_edited_while_the_plan_is_on_screen_keeps_its_words(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, "The lift")
    memory.pin("scout", [read_note(path).fact_id])
    plan = preview(memory, vault)
    assert path.relative_to(vault).as_posix() in [item.path for item in plan.of("changed")]
    edit(path, "The lift is broken.", "The lift works.")
    path.write_text(path.read_text() + "\nMine.\n")
    kept = path.read_bytes()
    assert reasons(publish(memory, vault)) == ["conflict"]
    assert path.read_bytes() == kept


def test_a_full_disk_loses_no_edit_that_waits(memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(memory, vault)
    edit(note(vault, "The lift"), "The lift is broken.", "The lift works.")
    mine = note(vault, "Coffee")
    mine.write_text(f"{mine.read_text()}\nBelow, mine.\n")
    memory.pin("scout", memory.fact_ids(FactQuery()))
    before = {name: content for name, (content, _, _) in state(vault).items()}
    write = os.write

    def full(handle: int, data: bytes) -> int:
        write(handle, bytes(data[:5]))
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(DiskFull):
            publish(memory, vault)
    assert {name: content for name, (content, _, _) in state(vault).items()} == before
    assert [found.text for found in read_edits(memory, vault).edits] == ["The lift works."]
    assert reasons(publish(memory, vault)) == ["conflict"]
    assert mine.read_text().endswith("\nBelow, mine.\n")
    assert "mem_pinned: true" in mine.read_text()
    assert [found.text for found in read_edits(memory, vault).edits] == ["The lift works."]


def test_a_folder_that_was_renamed_is_published_to_under_its_new_name(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    mine = note(vault, "Coffee")
    mine.write_text(f"{mine.read_text()}\nBelow, mine.\n")
    (vault / "Memory").rename(vault / "Brain")
    report = publish(memory, vault, folder="Brain")
    assert (report.left, report.broken_links) == ((), ())
    assert not (vault / "Memory").exists()
    notes = {path: path.read_text() for path in (vault / "Brain").rglob("*.md")}
    assert len(notes) == 5
    assert sum("Below, mine." in text for text in notes.values()) == 1
    assert not any("[[Memory/" in text for text in notes.values())
    assert check_links(vault, folder="Brain").broken == ()
    assert publish(memory, vault, folder="Brain").written == 0


def test_two_desktops_take_turns_without_undoing_each_other(memory: Memory, vault: Path, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as other:
        publish(memory, vault)
        other.remember("scout", "Said to the other desktop.")
        assert publish(other, vault).written > 0
        before = state(vault)
        assert publish(memory, vault).written == 0
        edit(note(vault, "The lift"), "The lift is broken.", "The lift works.")
        memory.pin("scout", memory.fact_ids(FactQuery()))
        assert reasons(publish(memory, vault)) == reasons(publish(other, vault)) == ["conflict"]
        assert [found.text for found in read_edits(other, vault).edits] == ["The lift works."]
        assert len(state(vault)) == len(before)


def test_two_programs_that_publish_at_the_same_time_leave_one_whole_vault(
    memory: Memory, vault: Path, tmp_path: Path
) -> None:
    for number in range(12):
        memory.remember("scout", f"Fact {number}.")
    code = (
        "import sys; from pathlib import Path; from exporters.obsidian.publish import publish\n"
        "from gm_engine import Memory, PublishRefused\n"
        "with Memory.open(Path(sys.argv[1]), read_only=True, background=False) as memory:\n"
        "    for _ in range(3):\n"
        "        try: publish(memory, Path(sys.argv[2]))\n"
        "        except PublishRefused: continue\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "store"), str(vault)]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(each.communicate()[1], each.returncode) for each in both] == [("", 0), ("", 0)]
    publish(memory, vault)
    publish(memory, tmp_path / "clean")
    ours, clean = (
        {name: content for name, (content, _, _) in state(root).items() if not name.endswith("files.json")}
        for root in (vault, tmp_path / "clean")
    )
    assert ours == clean


# --- the colours of the graph view -----------------------------------------------------------------------------------


def test_colours_come_only_on_request_and_leave_every_other_setting(memory: Memory, vault: Path) -> None:
    settings = vault / ".obsidian" / "graph.json"
    settings.parent.mkdir(parents=True)
    mine = {"query": "tag:#mine", "color": {"a": 1, "rgb": 1}}
    settings.write_text(json.dumps({"search": "é", "colorGroups": [mine], "scale": 1.5}))
    before = settings.read_bytes()
    publish(memory, vault)
    assert settings.read_bytes() == before
    plan = preview(memory, vault, options=TINTED)
    assert [item.path for item in plan.of("changed")] == [".obsidian/graph.json"]
    assert publish(memory, vault, options=TINTED).files == 1
    after = json.loads(settings.read_bytes())
    assert (after["search"], after["scale"], after["colorGroups"][0]) == ("é", 1.5, mine)
    assert {'path:"Memory/Facts"', 'path:"Memory/Entities"'} <= {group["query"] for group in after["colorGroups"]}
    rest = state(vault)
    publish(memory, vault, options=TINTED)
    assert state(vault) == rest
    settings.write_text(json.dumps({"colorGroups": []}))  # a person took them out: they stay out
    memory.remember("scout", "More.")
    publish(memory, vault, options=TINTED)
    assert json.loads(settings.read_bytes()) == {"colorGroups": []}


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"colorGroups": 1}', b"\xff", None])
def test_settings_that_are_not_understood_are_refused_and_the_notes_are_written(
    memory: Memory, vault: Path, content: bytes | None
) -> None:
    settings = vault / ".obsidian" / "graph.json"
    if content is not None:
        settings.parent.mkdir(parents=True)
        settings.write_bytes(content)
    report = publish(memory, vault, options=TINTED)
    assert (report.written, reasons(report)) == (5, ["settings"])
    assert settings.exists() == (content is not None)
    assert content is None or settings.read_bytes() == content
    settings.parent.mkdir(exist_ok=True)
    settings.unlink(missing_ok=True)
    assert publish(memory, vault, options=TINTED).left == ()
    assert len(json.loads(settings.read_bytes())["colorGroups"]) == 4


def test_colour_groups_that_are_none_of_ours_stay_whatever_they_hold(memory: Memory, vault: Path) -> None:
    settings = vault / ".obsidian" / "graph.json"
    settings.parent.mkdir(parents=True)
    odd = [{"query": ["path:Memory"]}, {"query": {}}, "tag:#mine", None]
    settings.write_text(json.dumps({"colorGroups": odd}))
    assert publish(memory, vault, options=TINTED).left == ()
    assert json.loads(settings.read_bytes())["colorGroups"][: len(odd)] == odd


def test_settings_that_cannot_be_read_are_left_alone_and_the_notes_are_written(memory: Memory, vault: Path) -> None:
    (vault / ".obsidian" / "graph.json").mkdir(parents=True)
    report = publish(memory, vault, options=TINTED)
    assert (report.written, reasons(report)) == (5, ["settings"])


@pytest.mark.parametrize("content", ["[]", "{", '{"vaults": []}', '{"vaults": {"1": null}}', '{"vaults": {"1": {}}}'])
def test_what_obsidian_remembers_may_be_anything(vault: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "lockfile").touch()
    (tmp_path / "obsidian.json").write_text(content)
    assert not is_open_in_obsidian(vault, tmp_path)


def test_settings_are_left_alone_while_obsidian_has_the_vault_open(
    memory: Memory, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "config" / "obsidian"
    home.mkdir(parents=True)
    (vault / ".obsidian").mkdir(parents=True)
    (home / "obsidian.json").write_text(json.dumps({"vaults": {"1": {"path": str(vault), "open": True}}}))
    assert not is_open_in_obsidian(vault.resolve(), home)
    (home / "SingletonLock").symlink_to("host-1")
    assert is_open_in_obsidian(vault.resolve(), home)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.parent))
    monkeypatch.setattr(sys, "platform", "linux")
    assert reasons(publish(memory, vault, options=TINTED)) == ["settings"]
    assert list((vault / ".obsidian").iterdir()) == []


# --- links -----------------------------------------------------------------------------------------------------------


def test_a_check_of_links_names_those_that_lead_nowhere(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    found = check_links(vault)
    assert (found.notes, found.broken) == (5, ())
    assert found.links >= 10
    lift = note(vault, "The lift")
    lift.unlink()
    target = f"Memory/Facts/scout/{lift.stem}"
    broken = check_links(vault).broken
    assert {(link.note, link.target) for link in broken} == {
        ("Memory/Agents/scout.md", target),
        ("Memory/Memory.md", target),
    }
    assert check_links(vault, folder="Other").notes == 0
    assert not open_folder(vault, "Other", create=False).root.exists()
