"""Publishing to a vault: what is written, what is left alone, what survives."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from exporters.obsidian.checking import check_links
from exporters.obsidian.folder import locked, open_folder
from exporters.obsidian.publish import ObsidianExporter, PublishReport, preview, publish
from exporters.obsidian.reading import read_note
from exporters.plan import summary
from gm_engine import Cancelled, CancelToken, DiskFull, InvalidInput, Memory, NotFound, PublishRefused
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

GATE = "The gate opens at nine."
LIFT = "The lift is broken on Mondays."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        opened.remember("scout", GATE)
        opened.remember("scout", LIFT)
        yield opened


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


def note(vault: Path, text: str) -> Path:
    """The one note whose fact says `text`."""
    (found,) = (path for path in (vault / "Memory").rglob("*.md") if f"> {text}" in path.read_text())
    return found


def state(root: Path) -> dict[str, tuple[bytes, int, int]]:
    """Content, modification time and inode of every file under `root`."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def contents(root: Path) -> dict[str, bytes]:
    return {name: data for name, (data, _, _) in state(root).items() if not name.endswith("files.json")}


def frontmatter(path: Path) -> dict[str, object]:
    loaded: dict[str, object] = yaml.safe_load(path.read_text().split("---\n")[1])
    return loaded


def fact_id(memory: Memory, text: str) -> str:
    return memory.resolve("scout", text)[0]


def statuses(report: PublishReport) -> dict[str, str]:
    return {Path(left.note).name: left.status for left in report.left}


# --- writing what is needed, nothing else ----------------------------------------------------------------------------


def test_the_first_publish_writes_a_note_for_everything_and_every_link_leads_somewhere(
    memory: Memory, vault: Path
) -> None:
    report = publish(memory, vault)
    assert (report.written, report.unchanged, report.broken_links, report.left) == (4, 0, (), ())
    assert {str(path.relative_to(vault)) for path in vault.rglob("*.md")} == {
        "Memory/Memory.md",
        "Memory/Agents/scout.md",
        "Memory/Facts/scout/The gate opens at nine.md",
        "Memory/Facts/scout/The lift is broken on Mondays.md",
    }


def test_publishing_again_touches_no_file_at_all(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    before = state(vault)
    report = publish(memory, vault)
    assert (report.written, report.unchanged) == (0, 4)
    assert state(vault) == before


def test_two_vaults_of_one_store_are_the_same_bytes(memory: Memory, tmp_path: Path) -> None:
    publish(memory, tmp_path / "one")
    publish(memory, tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_change_rewrites_only_the_notes_that_show_it(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    before = state(vault)
    memory.label("scout", [fact_id(memory, GATE)], "verified")
    assert publish(memory, vault).written == 1
    changed = {name for name, value in state(vault).items() if before.get(name) != value}
    assert {name for name in changed if name.endswith(".md")} == {"Memory/Facts/scout/The gate opens at nine.md"}
    assert frontmatter(note(vault, GATE))["mem_confidence"] == "verified"


def test_reading_a_note_gives_the_text_back_and_says_what_is_wrong_otherwise(memory: Memory, vault: Path) -> None:
    memory.remember("scout", "cr\rnul\0 [[x]]\n---\nend ")
    publish(memory, vault)
    texts = {read_note(path).text for path in (vault / "Memory" / "Facts").rglob("*.md")}
    assert texts == {GATE, LIFT, "cr\rnul\0 [[x]]\n---\nend "}
    with pytest.raises(NotFound):
        read_note(vault / "nothing.md")
    with pytest.raises(InvalidInput, match="no note of a fact"):
        read_note(vault / "Memory" / "Memory.md")
    path = note(vault, LIFT)
    path.write_text(path.read_text().replace("> ", ""))
    with pytest.raises(InvalidInput, match="lost its text"):
        read_note(path)
    (vault / "mine.md").write_text("no frontmatter")
    with pytest.raises(InvalidInput, match="no frontmatter"):
        read_note(vault / "mine.md")


def test_the_exporter_of_the_entry_point_publishes(memory: Memory, vault: Path) -> None:
    assert ObsidianExporter().export(memory, vault, folder="AI/Memory").written == 4
    assert "[[AI/Memory/Agents/scout|scout]]" in (vault / "AI" / "Memory" / "Memory.md").read_text()


def test_a_moved_fact_takes_its_note_along_with_what_a_person_wrote(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    old = note(vault, GATE)
    old.write_text(old.read_text().replace("tags:\n", "tags:\n  - mine\n") + "my words\n")
    memory.move("scout", [fact_id(memory, GATE)], "porter")
    report = publish(memory, vault)
    new = vault / "Memory" / "Facts" / "porter" / old.name
    assert (report.moved, report.left, report.broken_links, old.exists()) == (1, (), (), False)
    assert new.read_text().endswith("my words\n")
    assert frontmatter(new)["tags"] == ["mine", "memory", "memory/porter"]
    assert publish(memory, vault).written == 0


# --- what a person did in the vault ----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["", "\nMine.\n"])
def test_a_note_with_a_new_title_is_renamed_once_and_keeps_the_old_one_as_an_alias(
    memory: Memory, vault: Path, words: str
) -> None:
    memory.graph.add("Zeta Works")
    (entity,) = memory.graph.entities()
    publish(memory, vault)
    old, new = (vault / "Memory" / "Entities" / name for name in ("Zeta Works.md", "Omega Yard.md"))
    old.write_text(old.read_text() + words)
    memory.graph.rename(entity.id, "Omega Yard")
    report = publish(memory, vault)
    assert (report.moved, report.left, old.exists()) == (1, (), False)
    assert frontmatter(new)["aliases"] == ["Zeta Works", "Omega Yard"]
    assert new.read_text().endswith(f"%%\n{words}")
    again = publish(memory, vault)
    assert (again.moved, again.written, check_links(vault).broken) == (0, 0, ())


def test_words_below_the_block_and_unknown_properties_survive_a_change(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    mine = "rating: 5  # mine\nwhen: 2026-01-01\nempty:\n"
    path.write_text(
        path.read_text().replace("mem_agent:", f"{mine}mem_agent:").replace("%%\n\n>", "%%\n\n>") + "mine\n"
    )
    assert publish(memory, vault).written == 0
    memory.pin("scout", [fact_id(memory, GATE)])
    publish(memory, vault)
    text = path.read_text()
    assert mine in text
    assert text.endswith(" %%\nmine\n")
    assert text.index("mem_id") < text.index("rating") < text.index("mem_agent")
    assert frontmatter(path)["mem_pinned"] is True
    before = state(vault)
    publish(memory, vault)
    assert state(vault) == before


def test_line_ends_and_a_byte_order_mark_are_kept(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n") + b"mine\r\nlast")
    memory.pin("scout", [fact_id(memory, GATE)])
    assert publish(memory, vault).left == ()
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf---\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")
    assert data.endswith(b"%%\r\nmine\r\nlast")
    assert b"mem_pinned: true" in data
    assert read_note(path).text == GATE


def test_an_edited_text_is_left_alone_and_reported(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.write_text(path.read_text().replace("nine", "ten"))
    report = publish(memory, vault)
    assert (report.written, statuses(report)) == (0, {path.name: "edited"})
    memory.pin("scout", [fact_id(memory, GATE)])
    report = publish(memory, vault)
    assert statuses(report) == {path.name: "conflict"}
    assert "opens at ten" in path.read_text()
    assert read_note(path).text == "The gate opens at ten."


def test_an_edited_property_of_ours_is_left_alone_until_the_store_says_the_same(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.write_text(path.read_text().replace("mem_pinned: false", "mem_pinned: true"))
    assert statuses(publish(memory, vault)) == {path.name: "edited"}
    memory.pin("scout", [fact_id(memory, GATE)])
    assert publish(memory, vault).left == ()
    before = state(vault)
    assert publish(memory, vault).written == 0
    assert state(vault) == before


def test_a_tag_of_ours_that_a_person_took_out_stays_out(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.write_text(path.read_text().replace("  - memory/scout\n", ""))
    assert publish(memory, vault).written == 0
    assert frontmatter(path)["tags"] == ["memory"]


def test_permissions_of_a_note_are_kept(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.chmod(0o600)
    memory.pin("scout", [fact_id(memory, GATE)])
    publish(memory, vault)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_note_that_a_person_moved_stays_there_and_links_follow(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    moved = vault / "Memory" / "Important" / "My gate.md"
    moved.parent.mkdir()
    note(vault, GATE).rename(moved)
    memory.pin("scout", [fact_id(memory, GATE)])
    report = publish(memory, vault)
    assert (report.broken_links, report.left, note(vault, GATE)) == ((), (), moved)
    assert "[[Memory/Important/My gate|" in (vault / "Memory" / "Agents" / "scout.md").read_text()
    memory.move("scout", [fact_id(memory, GATE)], "porter")
    publish(memory, vault)
    assert note(vault, GATE) == moved
    assert publish(memory, vault).written == 0


def test_a_folder_that_a_person_renamed_is_recognised_and_its_links_follow(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.write_text(path.read_text() + "mine")
    publish(memory, vault)
    (vault / "Memory").rename(vault / "Brain")
    report = publish(memory, vault, folder="Brain")
    assert (report.broken_links, report.left, len(list(vault.rglob("*.md")))) == ((), (), 4)
    assert "[[Brain/Agents/scout|" in (vault / "Brain" / "Memory.md").read_text()
    assert (vault / "Brain" / "Facts" / "scout" / path.name).read_text().endswith("mine")
    assert publish(memory, vault, folder="Brain").written == 0


def test_a_note_moved_out_of_the_folder_is_linked_but_never_written(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    moved = vault / "Archive" / "Gate.md"
    moved.parent.mkdir()
    note(vault, GATE).rename(moved)
    before = state(vault / "Archive")
    memory.pin("scout", [fact_id(memory, GATE)])
    report = publish(memory, vault)
    assert (statuses(report), report.broken_links) == ({"Gate.md": "elsewhere"}, ())
    assert "[[Archive/Gate|" in (vault / "Memory" / "Agents" / "scout.md").read_text()
    assert not list((vault / "Memory" / "Facts").rglob("*gate*"))
    assert state(vault / "Archive") == before
    again = state(vault)
    publish(memory, vault)
    assert state(vault) == again


def test_a_deleted_note_stays_deleted_until_somebody_decides(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.unlink()
    report = publish(memory, vault)
    assert (statuses(report), report.broken_links, path.exists()) == ({path.name: "deleted"}, (), False)
    assert "“The gate opens at nine.”" in (vault / "Memory" / "Agents" / "scout.md").read_text()
    before = state(vault)
    assert publish(memory, vault).written == 0
    assert state(vault) == before


def test_a_folder_that_lost_most_of_its_notes_at_once_is_published_again(memory: Memory, vault: Path) -> None:
    for number in range(30):
        memory.remember("scout", f"Fact number {number}.")
    publish(memory, vault)
    for path in (vault / "Memory" / "Facts" / "scout").iterdir():
        path.unlink()
    report = publish(memory, vault)
    assert (len(list((vault / "Memory" / "Facts").rglob("*.md"))), report.left) == (32, ())


def test_a_persons_own_notes_are_never_touched_and_keep_their_names(memory: Memory, vault: Path) -> None:
    own = {
        "Memory/Facts/scout/the GATE opens at nine.md": "mine",
        "Memory/Memory.md": "---\ntitle: x\n---\nmine",
        "Memory/Agents/scout.md": "",
        "Memory/broken.md": "---\nmem_id: [\n---\n",
        "Memory/picture.png": "x",
        "other.md": "x",
    }
    for name, text in own.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text)
    before = state(vault)
    report = publish(memory, vault)
    assert {name: value for name, value in state(vault).items() if name in own} == before
    assert report.broken_links == ()
    assert note(vault, GATE).name == "The gate opens at nine 1.md"
    assert (vault / "Memory" / "Memory 1.md").exists()


def test_a_conflict_copy_is_reported_and_both_files_stay(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    copy = path.with_name("The gate opens at nine (Conflicted copy).md")
    copy.write_text(path.read_text() + "other words")
    before = copy.read_bytes()
    report = publish(memory, vault)
    assert statuses(report) == {copy.name: "double"}
    assert copy.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("mem_agent", "\tmem_agent"),
        lambda text: text.replace("mem_agent", "a: b: c\nmem_agent"),
        lambda text: text.replace("mem_kind", "mem_agent: twice\nmem_kind"),
    ],
)
def test_a_note_whose_properties_cannot_be_read_is_left_alone(
    memory: Memory, vault: Path, damage: Callable[[str], str]
) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.write_text(damage(path.read_text()))
    before = path.read_bytes()
    memory.pin("scout", [fact_id(memory, GATE)])
    assert statuses(publish(memory, vault)) == {path.name: "unreadable"}
    assert path.read_bytes() == before


def test_a_note_that_is_no_text_any_more_is_left_alone(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.write_bytes(path.read_bytes() + b"\xff\xfe")
    before = path.read_bytes()
    memory.pin("scout", [fact_id(memory, GATE)])
    assert statuses(publish(memory, vault)) == {path.name: "unreadable"}
    assert path.read_bytes() == before


def test_anchors_comments_and_two_hundred_keys_survive(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    many = "".join(f"key {n}: [&a{n} {n}, *a{n}]\n" for n in range(200))
    mine = f'# first\n"quoted key": |\n  two\n  lines\n{many}'
    path.write_text(path.read_text().replace("---\nmem_id", f"---\n{mine}mem_id", 1))
    memory.pin("scout", [fact_id(memory, GATE)])
    assert publish(memory, vault).left == ()
    assert mine in path.read_text()


def test_a_note_that_changes_while_publishing_is_left_alone(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    memory.pin("scout", [fact_id(memory, GATE)])

    def edit(done: int, total: int | None, what: str) -> None:
        if what == "Writing notes" and done == 0:
            path.write_text(path.read_text() + "just now")

    report = publish(memory, vault, progress=edit)
    assert statuses(report) == {path.name: "conflict"}
    assert path.read_text().endswith("just now")
    assert publish(memory, vault).left == ()
    assert path.read_text().endswith("just now")
    assert frontmatter(path)["mem_pinned"] is True


# --- facts that are retired or gone ----------------------------------------------------------------------------------


def test_a_retired_fact_keeps_its_note_which_says_so_and_the_new_one_names_it(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    old = note(vault, GATE)
    new = memory.revise("scout", GATE, "The gate opens at eight.")
    report = publish(memory, vault)
    assert report.orphaned == (str(old.relative_to(vault)),)
    assert frontmatter(old)["mem_status"] == "retired"
    assert "Superseded by [[Memory/Facts/scout/The gate opens at eight|" in old.read_text()
    assert (
        "**Supersedes**\n\n- 2026-11-30 [[Memory/Facts/scout/The gate opens at nine|"
        in note(vault, new.text).read_text()
    )
    assert (report.broken_links, report.removed) == ((), 0)


def test_a_fact_retired_before_the_first_publish_is_only_told_of(memory: Memory, vault: Path) -> None:
    new = memory.revise("scout", GATE, "The gate opens at eight.")
    report = publish(memory, vault)
    assert report.orphaned == ()
    assert "- 2026-11-30 “The gate opens at nine.” (retired)" in note(vault, new.text).read_text()


def test_orphans_go_to_the_trash_only_with_consent(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    old = note(vault, GATE)
    old.write_text(old.read_text() + "my words")
    memory.retire("scout", [fact_id(memory, GATE)])
    assert publish(memory, vault).removed == 0
    assert old.exists()
    report = publish(memory, vault, remove_orphans=True)
    trashed = vault / ".trash" / "Memory" / "Facts" / "scout" / old.name
    assert (report.removed, report.orphaned, report.broken_links, old.exists()) == (1, (), (), False)
    assert trashed.read_text().endswith("my words")
    before = state(vault)
    assert publish(memory, vault, remove_orphans=True).removed == 0
    assert state(vault) == before


def test_a_note_of_another_store_is_an_orphan_and_stays(memory: Memory, vault: Path, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "other", clock=FrozenClock("2020-01-01T00:00:00Z"), background=False) as other:
        other.remember("scout", "Somebody else's fact.")
        publish(other, vault)
    report = publish(memory, vault)
    assert report.orphaned == ("Memory/Facts/scout/Somebody else's fact.md",)
    assert report.broken_links == ()


def test_stores_as_long_as_each_other_are_told_apart(memory: Memory, vault: Path, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "other", clock=FrozenClock("2020-01-01T00:00:00Z"), background=False) as other:
        other.remember("scout", "First.")
        other.remember("scout", "Second.")
        assert other.last_seq() == memory.last_seq()
        publish(memory, vault)
        assert publish(other, vault).written == 4
    assert publish(memory, vault).written > 0


# --- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_full_disk_is_said_and_the_next_publish_finishes(
    memory: Memory, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    calls = 0

    def full(handle: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls > 2:
            write(handle, bytes(data[:7]))
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(DiskFull, match="disk is full"):
            publish(memory, vault)
    assert not list(vault.rglob(".graymatter-write*"))
    assert publish(memory, vault).written == 2
    publish(memory, tmp_path / "clean")
    assert contents(vault) == contents(tmp_path / "clean")


@pytest.mark.parametrize("survives", range(5))
def test_a_publish_that_was_killed_is_finished_by_the_next(
    memory: Memory, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survives: int
) -> None:
    replace = Path.replace
    calls = 0

    def killed(self: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls > survives:
            raise KeyboardInterrupt  # nothing after it runs, as with a kill
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            publish(memory, vault)
    memory.pin("scout", [fact_id(memory, GATE)])
    report = publish(memory, vault)
    publish(memory, tmp_path / "clean")
    assert (report.left, report.broken_links) == ((), ())
    assert contents(vault) == contents(tmp_path / "clean")


@pytest.mark.parametrize("damage", [None, b"", b"{", b"[]", b'{"notes": [1]}', b'{"notes": [{"id": "x"}]}'])
def test_without_its_manifest_the_vault_is_recognised_and_nothing_is_rewritten(
    memory: Memory, vault: Path, damage: bytes | None
) -> None:
    publish(memory, vault)
    path = vault / "Memory" / ".graymatter" / "manifest.json"
    whole = path.read_bytes()
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    before = {name: value for name, value in state(vault).items() if name.endswith(".md")}
    assert publish(memory, vault).written == 0
    assert {name: value for name, value in state(vault).items() if name.endswith(".md")} == before
    assert path.read_bytes() == whole


def test_a_note_with_a_megabyte_of_properties_is_recognised_without_the_manifest(memory: Memory, vault: Path) -> None:
    memory.remember("scout", "\0" * 1_000_000)
    publish(memory, vault)
    (vault / "Memory" / ".graymatter" / "manifest.json").unlink()
    assert publish(memory, vault).written == 0


def test_a_vault_of_a_newer_program_is_refused(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    (vault / "Memory" / ".graymatter" / "manifest.json").write_text('{"version": 2}')
    before = state(vault)
    with pytest.raises(PublishRefused, match="newer program"):
        publish(memory, vault)
    assert state(vault) == before


def test_cancelling_leaves_whole_notes_and_the_next_publish_finishes(memory: Memory, vault: Path) -> None:
    for number in range(80):
        memory.remember("scout", f"Fact number {number}.")
    token = CancelToken()

    def stop(done: int, total: int | None, what: str) -> None:
        if what == "Writing notes" and done:
            token.cancel()

    with pytest.raises(Cancelled):
        publish(memory, vault, progress=stop, cancel=token)
    written = len(list(vault.rglob("*.md")))
    assert 0 < written < 84
    report = publish(memory, vault)
    assert (report.written, report.unchanged) == (84 - written, written)


def test_a_read_only_note_is_reported(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.chmod(0o444)
    memory.pin("scout", [fact_id(memory, GATE)])
    assert statuses(publish(memory, vault)) == {path.name: "read-only"}
    assert frontmatter(path)["mem_pinned"] is False


def test_a_read_only_vault_is_refused(memory: Memory, vault: Path) -> None:
    vault.mkdir()
    vault.chmod(0o555)
    with pytest.raises(PublishRefused, match="read-only"):
        publish(memory, vault)
    assert list(vault.iterdir()) == []


def test_links_that_leave_the_folder_are_refused(memory: Memory, vault: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    vault.mkdir()
    (vault / "Memory").symlink_to(outside)
    with pytest.raises(PublishRefused, match="leads out"):
        publish(memory, vault)
    (vault / "Memory").unlink()
    (vault / "Memory").mkdir()
    (vault / "Memory" / "Facts").symlink_to(outside)
    with pytest.raises(PublishRefused, match="leads out"):
        publish(memory, vault)
    assert list(outside.iterdir()) == []


def test_a_vault_inside_the_folder_or_around_the_vault_is_refused(memory: Memory, vault: Path) -> None:
    (vault / "Memory" / "inner" / ".obsidian").mkdir(parents=True)
    with pytest.raises(PublishRefused, match="another vault"):
        publish(memory, vault)
    (vault / ".obsidian").mkdir()
    with pytest.raises(PublishRefused, match="lies inside the vault"):
        publish(memory, vault / "Notes")


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/abs", ".hidden", "a/../b", "a|b", "a#b", "con"])
def test_a_folder_name_that_leaves_the_vault_or_breaks_links_is_refused(memory: Memory, vault: Path, name: str) -> None:
    vault.mkdir()
    with pytest.raises(PublishRefused, match="no folder name"):
        publish(memory, vault, folder=name)
    assert list(vault.iterdir()) == []


def test_a_vault_that_is_a_file_is_refused(memory: Memory, vault: Path) -> None:
    vault.write_text("x")
    with pytest.raises(PublishRefused, match="cannot be written"):
        publish(memory, vault)


def test_two_publishes_at_once_do_not_mix(memory: Memory, vault: Path) -> None:
    with locked(open_folder(vault, "Memory")), pytest.raises(PublishRefused, match="Another program"):
        publish(memory, vault)
    assert publish(memory, vault).written == 4


def test_nothing_outside_the_folder_is_written(memory: Memory, vault: Path) -> None:
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian" / "app.json").write_text("{}")
    (vault / "diary.md").write_text("dear diary")
    before = state(vault)
    publish(memory, vault)
    assert {name: value for name, value in state(vault).items() if not name.startswith("Memory/")} == before


# --- the plan --------------------------------------------------------------------------------------------------------


def test_a_preview_writes_and_creates_nothing(memory: Memory, vault: Path) -> None:
    assert ObsidianExporter().preview(memory, vault).new == (
        "Memory/Agents/scout.md",
        "Memory/Facts/scout/The gate opens at nine.md",
        "Memory/Facts/scout/The lift is broken on Mondays.md",
        "Memory/Memory.base",
        "Memory/Memory.md",
    )
    assert not vault.exists()


def test_a_preview_tells_every_kind_of_change_with_its_diff_and_publishing_does_just_that(
    memory: Memory, vault: Path
) -> None:
    for text in ("One.", "Two.", "Three."):
        memory.remember("scout", text)
    publish(memory, vault)
    note(vault, "One.").write_text(note(vault, "One.").read_text().replace("> One.", "> Uno."))
    memory.pin("scout", [fact_id(memory, GATE)])
    memory.retire("scout", [fact_id(memory, LIFT)])
    memory.move("scout", [fact_id(memory, "Two.")], "porter")
    memory.remember("scout", "Four.")
    before = state(vault)
    plan = preview(memory, vault)
    assert state(vault) == before
    found = summary(plan)
    assert found.new == ("Memory/Agents/porter.md", "Memory/Facts/scout/Four.md")
    assert found.moved == ("Memory/Facts/scout/Two.md → Memory/Facts/porter/Two.md",)
    assert found.conflict == ("Memory/Facts/scout/One.md: its managed part was edited in the vault",)
    assert found.orphaned == ("Memory/Facts/scout/The lift is broken on Mondays.md",)
    assert found.unchanged == 2
    assert found.changed == (
        "Memory/Agents/scout.md",
        "Memory/Facts/scout/The gate opens at nine.md",
        "Memory/Facts/scout/The lift is broken on Mondays.md",
        "Memory/Memory.md",
    )
    (gate,) = (item for item in plan.of("changed") if "gate" in item.path)
    changes = [line for line in gate.diff() if line[0] in "+-" and not line.startswith(("+++", "---"))]
    assert changes[:2] == ["-mem_pinned: false", "+mem_pinned: true"]
    assert plan.of("unchanged")[0].diff() == ()
    report = publish(memory, vault)
    assert (report.written, report.moved, report.unchanged, len(report.left)) == (7, 1, 1, 1)
    assert set(preview(memory, vault).counts().items()) >= {("new", 0), ("changed", 0), ("moved", 0)}


def test_what_a_killed_publish_left_behind_is_removed(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    left = [vault / "Memory" / name / ".graymatter-write-1" for name in ("", "Facts/scout", ".graymatter")]
    for path in left:
        path.write_text("half")
    publish(memory, vault)
    assert not any(path.exists() for path in left)


def test_an_edited_note_that_was_moved_stays_linked(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.write_text(path.read_text().replace("nine", "ten"))
    moved = path.rename(path.with_name("mine.md"))
    for _ in range(2):
        report = publish(memory, vault)
        assert (statuses(report), report.broken_links) == ({"mine.md": "edited"}, ())
    before = state(vault)
    publish(memory, vault)
    assert state(vault) == before
    assert moved.exists()


def test_an_edited_note_follows_its_fact_to_another_agent(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    path = note(vault, GATE)
    path.write_text(path.read_text().replace("nine", "ten"))
    edited = path.read_bytes()
    memory.move("scout", [fact_id(memory, GATE)], "porter")
    for moved in (1, 0):
        report = publish(memory, vault)
        assert (statuses(report), report.moved, report.broken_links) == ({path.name: "conflict"}, moved, ())
    assert (vault / "Memory" / "Facts" / "porter" / path.name).read_bytes() == edited
