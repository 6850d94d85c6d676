"""The folder of a vault: links and other vaults in it, locks, the trash, a disk that fills up, damaged records."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.obsidian import folder as folder_module
from exporters.obsidian.checking import check_links
from exporters.obsidian.folder import is_locked, locked, open_folder, uses_markdown_links
from exporters.obsidian.publish import preview, publish
from exporters.obsidian.round_trip import read_edits
from exporters.profiles import PublishOptions
from gm_engine import DiskFull, Memory, PublishRefused
from tests.fakes.vault_notes import GATE, LIFT, change, fact_id, note, scouts_store


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with scouts_store(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def vault(memory: Memory, tmp_path: Path) -> Path:
    publish(memory, tmp_path / "vault")
    return tmp_path / "vault"


# --- what lies in it -------------------------------------------------------------------------------------------------


def test_a_link_that_stays_inside_the_folder_is_no_note_and_no_reason_to_refuse(memory: Memory, vault: Path) -> None:
    link = vault / "Memory" / "Favourite.md"
    link.symlink_to(note(vault, GATE))
    report = publish(memory, vault)
    assert (report.left, link.is_symlink()) == ((), True)
    assert read_edits(memory, vault).edits == ()


def test_a_folder_that_is_a_vault_itself_and_records_behind_a_link_are_refused(memory: Memory, vault: Path) -> None:
    (vault / "Memory" / ".obsidian").mkdir()
    with pytest.raises(PublishRefused, match="is another vault"):
        publish(memory, vault)
    (vault / "Memory" / ".obsidian").rmdir()
    (vault / "Memory" / ".graymatter").rename(vault / "records")
    (vault / "Memory" / ".graymatter").symlink_to(vault / "records")
    with pytest.raises(PublishRefused, match="leads out of the folder"):
        publish(memory, vault)


def test_a_pipe_is_no_note_and_nobody_waits_for_what_it_says(memory: Memory, vault: Path) -> None:
    os.mkfifo(vault / "Memory" / "Facts" / "scout" / "A pipe.md")
    os.mkfifo(vault / "A pipe.md")
    note(vault, LIFT).rename(vault / "Lift.md")
    memory.remember("scout", "A pipe.")
    report = publish(memory, vault)
    assert [left.status for left in report.left] == ["elsewhere"]
    assert note(vault, "A pipe 1").is_file()
    assert [edit.kind for edit in read_edits(memory, vault).edits] == []
    assert check_links(vault).broken == ()


def test_links_that_go_in_a_circle_are_refused(memory: Memory, vault: Path) -> None:
    circle = vault / "Memory" / "circle"
    circle.symlink_to(circle)
    with pytest.raises(PublishRefused, match="Memory/circle is a link that leads out of the folder"):
        publish(memory, vault)
    around = vault.parent / "around"
    around.symlink_to(around)
    with pytest.raises(PublishRefused, match="around cannot be written"):
        preview(memory, around)


def test_records_and_vaults_that_are_no_folders_are_refused(memory: Memory, vault: Path, tmp_path: Path) -> None:
    records = vault / "Memory" / ".graymatter"
    records.rename(vault / "records")
    records.write_text("mine")
    with pytest.raises(PublishRefused, match=r"Memory/\.graymatter cannot be read: Not a directory"):
        publish(memory, vault)
    with pytest.raises(PublishRefused, match="cannot be read: Not a directory"):
        preview(memory, records / "vault")
    assert records.read_text() == "mine"


def test_a_file_that_goes_while_the_folder_is_listed_is_not_there(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    young = vault / "Memory" / "Facts" / "scout" / "young.tmp"
    young.touch()
    listed = folder_module._entries

    def listing(directory: Path) -> list[os.DirEntry[str]]:
        found = listed(directory)
        if directory == young.parent:
            young.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(folder_module, "_entries", listing)
    assert publish(memory, vault).left == ()
    assert not young.exists()


def test_the_store_is_not_published_into_itself(memory: Memory, vault: Path) -> None:
    store = memory.data_dir
    before = {*store.iterdir()}
    for act in (publish, preview, read_edits):
        with pytest.raises(PublishRefused, match="holds the store itself"):
            act(memory, store.parent, folder=store.name)
    assert {*store.iterdir()} == before


def test_links_of_a_vault_that_may_not_be_read_are_refused_in_words(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "is_dir", forbidden)
    with pytest.raises(PublishRefused, match=r"vault cannot be read: Permission denied"):
        check_links(vault)


def test_a_file_that_may_not_be_read_is_refused_in_words(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(note(vault, GATE), GATE, "The gate opens at ten.")
    opened = Path.open

    def forbidden(self: Path, mode: str) -> object:
        if self.name.startswith("The gate"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(self, mode)

    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(PublishRefused, match=r"The gate opens at nine.md cannot be read: Permission denied"):
        publish(memory, vault)


def test_folders_that_may_not_be_read_are_refused_inside_and_passed_over_outside(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, elsewhere = vault / "Memory" / "secret", vault / "lost+found"
    elsewhere.mkdir()
    (vault / "Archive").mkdir()
    note(vault, GATE).rename(vault / "Archive" / "Gate.md")
    scanned = os.scandir

    def forbidden(path: Path) -> Iterator[os.DirEntry[str]]:
        if path in (secret, elsewhere):
            raise PermissionError(errno.EACCES, "Permission denied")
        return scanned(path)

    monkeypatch.setattr(os, "scandir", forbidden)
    assert [left.status for left in publish(memory, vault).left] == ["elsewhere"]
    secret.mkdir()
    with pytest.raises(PublishRefused, match=r"Memory/secret cannot be read: Permission denied"):
        publish(memory, vault)


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({}, False),
        ({".obsidian": "{}"}, False),
        ({".obsidian": '{"useMarkdownLinks": 1}'}, False),
        ({".obsidian": '{"useMarkdownLinks": true}'}, True),
        ({".renamed": '{"useMarkdownLinks": true}'}, True),
        ({".obsidian": "{", ".renamed": '{"useMarkdownLinks": true}'}, True),
        ({".obsidian": "[]", ".renamed": '{"useMarkdownLinks": true}'}, True),
        ({".obsidian": "{}", ".renamed": '{"useMarkdownLinks": true}'}, False),
        ({".trash": '{"useMarkdownLinks": true}', ".graymatter": '{"useMarkdownLinks": true}'}, False),
    ],
)
def test_links_are_written_as_the_first_settings_that_can_be_read_say(
    tmp_path: Path, files: dict[str, str], wanted: bool
) -> None:
    for folder, text in files.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "app.json").write_text(text)
    assert uses_markdown_links(tmp_path) is wanted


# --- locks -----------------------------------------------------------------------------------------------------------


def test_a_file_system_without_locks_is_published_to_all_the_same(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    memory.remember("scout", "More.")
    assert publish(memory, vault).written == 3
    assert not is_locked(open_folder(vault, "Memory"))


def test_a_lock_is_let_go_whatever_happens_and_leaves_no_open_file(vault: Path) -> None:
    folder = open_folder(vault, "Memory")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with locked(folder):
        assert is_locked(folder)
        with pytest.raises(PublishRefused), locked(folder):
            pass
    with pytest.raises(KeyError), locked(folder):
        raise KeyError
    assert not is_locked(folder)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# --- the trash -------------------------------------------------------------------------------------------------------


def test_a_trash_that_leads_out_of_the_vault_takes_nothing(memory: Memory, vault: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (vault / ".trash").symlink_to(elsewhere)
    path = note(vault, GATE)
    memory.retire("scout", [fact_id(memory, GATE)])
    with pytest.raises(PublishRefused, match=r"\.trash is a link that leads out of the vault"):
        publish(memory, vault, remove_orphans=True)
    assert (path.is_file(), [*elsewhere.iterdir()]) == (True, [])


def test_what_lies_in_the_trash_already_stays_there(memory: Memory, vault: Path) -> None:
    trash = vault / ".trash" / "Memory" / "Facts" / "scout"
    for words in ("First.", "Second.", "Third."):
        path = note(vault, GATE)
        path.write_text(path.read_text() + words)
        memory.retire("scout", [fact_id(memory, GATE)])
        assert publish(memory, vault, remove_orphans=True).removed == 1
        assert not path.exists()
        memory.remember("scout", GATE)
        publish(memory, vault)
    found = {path.name: path.read_text().rpartition("\n")[2] for path in trash.iterdir()}
    assert found == {
        "The gate opens at nine.md": "First.",
        "The gate opens at nine 1.md": "Second.",
        "The gate opens at nine 2.md": "Third.",
    }


# --- the disk --------------------------------------------------------------------------------------------------------


def test_a_disk_that_turns_out_full_when_it_is_asked_for_certainty_is_said(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.label("scout", [fact_id(memory, GATE)], "verified")

    def full(handle: int) -> None:
        raise OSError(errno.EDQUOT, "Quota exceeded")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DiskFull, match="disk is full"):
            publish(memory, vault)
    report = publish(memory, vault)
    assert (report.left, "mem_confidence: verified" in note(vault, GATE).read_text()) == ((), True)


def test_a_disk_that_promises_nothing_is_written_to_all_the_same(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.label("scout", [fact_id(memory, GATE)], "verified")
    opened = os.open

    def unsupported(handle: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    def no_directories(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags == os.O_RDONLY and path.is_dir() and path.name != "Memory":
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, flags, mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", unsupported)
        patch.setattr(os, "open", no_directories)
        assert publish(memory, vault).written == 1
    assert publish(memory, vault).written == 0


def test_everything_that_was_written_is_brought_to_the_disk_before_the_records_and_then_these(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.label("scout", [fact_id(memory, GATE)], "verified")
    synced: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def seen(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    def replaced(self: Path, target: Path) -> Path:
        synced.append(f"write {target.name}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", seen)
    monkeypatch.setattr(Path, "replace", replaced)
    publish(memory, vault)
    name = "The gate opens at nine.md"
    assert synced == [
        f"write {name}",
        name,
        "scout",
        "write manifest.json",
        "manifest.json",
        ".graymatter",
        "write files.json",
    ]


# --- damaged records -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"a": [1]}', b'{"a": ["1", 2, 3, 4]}', b'{"a": 1}', b"\xff"])
def test_without_the_times_of_its_files_a_vault_is_read_again_and_nothing_is_rewritten(
    memory: Memory, vault: Path, damage: bytes
) -> None:
    path = note(vault, GATE)
    before = path.stat()
    (vault / "Memory" / ".graymatter" / "files.json").write_bytes(damage)
    assert publish(memory, vault).written == 0
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert read_edits(memory, vault).edits == ()


def test_a_manifest_that_another_program_laid_out_anew_is_understood(memory: Memory, vault: Path) -> None:
    manifest = vault / "Memory" / ".graymatter" / "manifest.json"
    before = manifest.read_bytes()
    manifest.write_bytes(before.replace(b"\n", b" "))
    memory.label("scout", [fact_id(memory, GATE)], "verified")
    assert publish(memory, vault).written == 1
    memory.label("scout", [fact_id(memory, GATE)], "unverified")
    publish(memory, vault)
    assert len(manifest.read_bytes().split(b"\n")) == len(before.split(b"\n"))


def test_a_check_of_links_passes_over_notes_that_are_none_of_ours(memory: Memory, vault: Path) -> None:
    (vault / "Memory" / "mine.md").write_text("[[Nowhere]]")
    (vault / "Memory" / "also mine.md").write_text("---\ntitle: x\n---\n[[Nowhere]]")
    found = check_links(vault)
    assert (found.notes, found.broken) == (4, ())


# --- files beside the notes ------------------------------------------------------------------------------------------


def test_a_table_that_may_not_be_written_is_a_conflict_of_the_plan_and_stays(memory: Memory, vault: Path) -> None:
    table = vault / "Memory" / "Memory.base"
    table.write_text("views: []\n")
    table.chmod(0o444)
    memory.remember("scout", "More.")
    (item,) = (item for item in preview(memory, vault).of("conflict") if item.path == "Memory/Memory.base")
    assert item.reason == "the file is read-only"
    publish(memory, vault)
    assert table.read_text() == "views: []\n"


def test_settings_that_are_refused_are_a_conflict_of_the_plan(memory: Memory, vault: Path) -> None:
    plan = preview(memory, vault, options=PublishOptions(colours=True))
    (item,) = plan.of("conflict")
    assert (item.path, item.reason) == (
        ".obsidian/graph.json",
        "the vault has no settings yet: open it in Obsidian once",
    )


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"nodes": 5, "edges": "x"}', b'{"nodes": [1]}', b"\xff"])
def test_a_canvas_that_is_none_is_written_anew(memory: Memory, vault: Path, tmp_path: Path, content: bytes) -> None:
    memory.graph.add("Zeta Works", type="organisation")
    publish(memory, tmp_path / "clean")
    canvas = vault / "Memory" / "Memory.canvas"
    canvas.write_bytes(content)
    publish(memory, vault)
    assert canvas.read_bytes() == (tmp_path / "clean" / "Memory" / "Memory.canvas").read_bytes()
