"""How much a publish looks at: nothing where nothing happened, else the notes that a change may show in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from exporters.obsidian import extras, folder, plan
from exporters.obsidian.checking import check_links
from exporters.obsidian.manifest import Stamp
from exporters.obsidian.publish import preview, publish
from exporters.plan import summary
from exporters.profiles import PublishOptions
from gm_engine import Cancelled, CancelToken, FactQuery, Memory, no_progress
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.fakes.vault_notes import note

GATE, LIFT = "The gate opens at nine.", "The lift is broken."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        opened.remember("scout", GATE)
        opened.remember("scout", LIFT)
        yield opened


@pytest.fixture
def vault(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault whose files are known by their stamps at once, not only when they are some milliseconds old."""
    monkeypatch.setattr(folder, "_TICK_NS", -1_000_000_000)
    publish(memory, tmp_path / "vault")
    return tmp_path / "vault"


def fact_id(memory: Memory, text: str) -> str:
    (found,) = memory.resolve("scout", text)
    return found


class Looked(Exception):
    """The store was read."""


def will_look(memory: Memory, vault: Path, options: PublishOptions | None = None) -> bool:
    """Whether a preview has to read the store, or knows from the files' stamps that everything is as it was."""

    def look(*_: object, **__: object) -> None:
        raise Looked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "read_contents", look)
        try:
            preview(memory, vault, options=options)
        except Looked:
            return True
        return False


def test_a_vault_in_which_nothing_happened_is_not_compared_with_the_store(memory: Memory, vault: Path) -> None:
    assert not will_look(memory, vault)
    (vault / "diary.md").write_text("Mine.")
    (vault / "Memory" / "mine.md").write_text("Mine.")
    assert not will_look(memory, vault)
    assert summary(preview(memory, vault)).unchanged == 4


def test_a_note_of_a_retired_fact_that_a_person_deleted_is_forgotten(memory: Memory, vault: Path) -> None:
    memory.retire("scout", [fact_id(memory, GATE)])
    publish(memory, vault)
    note(vault, GATE).unlink()
    publish(memory, vault)
    assert not will_look(memory, vault)


@pytest.mark.parametrize("name", ["moved", "deleted", "edited", "copied", "table", "table gone"])
def test_whatever_a_person_did_in_the_folder_is_looked_at(memory: Memory, vault: Path, name: str) -> None:
    path, table = note(vault, GATE), vault / "Memory" / "Memory.base"
    match name:
        case "moved":
            path.rename(vault / "Memory" / "Gate.md")
        case "deleted":
            path.unlink()
        case "edited":
            path.write_text(path.read_text() + "Mine.")
        case "copied":
            path.with_name("Copy.md").write_text(path.read_text())
        case "table":
            table.write_text("views: []\n")
        case _:
            table.unlink()
    assert will_look(memory, vault)


def test_whatever_happened_in_the_store_or_was_asked_for_is_looked_at(memory: Memory, vault: Path) -> None:
    assert will_look(memory, vault, PublishOptions(links="markdown"))
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "app.json").write_text('{"useMarkdownLinks": true}')
    assert will_look(memory, vault)
    memory.label("scout", [fact_id(memory, GATE)], "verified")
    assert will_look(memory, vault)


def test_settings_that_a_person_changed_are_no_reason_to_look_again(memory: Memory, vault: Path) -> None:
    (vault / ".obsidian").mkdir()
    tinted = PublishOptions(colours=True)
    publish(memory, vault, options=tinted)
    (vault / ".obsidian" / "graph.json").write_text("{}")
    assert not will_look(memory, vault, tinted)


def steps(memory: Memory, vault: Path, options: PublishOptions | None = None) -> set[str]:
    """The notes that a publish makes anew and compares."""
    place = folder.open_folder(vault, "Memory", create=False)
    made = plan.make_plan(
        memory, place, options=options or PublishOptions(), progress=no_progress, cancel=CancelToken()
    )
    return {Path(step.note.place.path).stem for step in made.steps}


def test_a_changed_fact_is_compared_with_the_notes_that_show_it_and_no_others(memory: Memory, vault: Path) -> None:
    memory.remember("porter", "Somebody else's.")
    memory.graph.add("Zeta Works", type="organisation")
    publish(memory, vault)
    memory.label("scout", [fact_id(memory, GATE)], "verified")
    assert steps(memory, vault) == {"The gate opens at nine", "scout", "Memory"}
    publish(memory, vault)
    memory.revise("scout", [fact_id(memory, GATE)], "Zeta Works opens at nine.")
    assert steps(memory, vault) == {
        "The gate opens at nine",
        "Zeta Works opens at nine",
        "Zeta Works",
        "scout",
        "Memory",
    }


def test_a_note_that_a_person_touched_is_compared_beside_those_of_a_changed_fact(memory: Memory, vault: Path) -> None:
    note(vault, LIFT).write_text(note(vault, LIFT).read_text() + "Mine.")
    memory.remember("porter", "New.")
    assert steps(memory, vault) == {"The lift is broken", "New", "porter", "Memory"}


def test_everything_is_compared_when_a_note_lies_elsewhere(memory: Memory, vault: Path) -> None:
    memory.label("scout", [fact_id(memory, GATE)], "verified")
    assert steps(memory, vault) == {"The gate opens at nine", "scout", "Memory"}
    note(vault, LIFT).rename(vault / "Memory" / "Lift.md")
    assert steps(memory, vault) == {"The gate opens at nine", "Lift", "scout", "Memory"}


def test_everything_is_compared_when_the_note_of_a_changed_fact_cannot_tell_what_it_linked(
    memory: Memory, vault: Path
) -> None:
    memory.remember("porter", "Somebody else's.")
    publish(memory, vault)
    (vault / "Archive").mkdir()
    note(vault, GATE).rename(vault / "Archive" / "Gate.md")
    memory.label("scout", [fact_id(memory, GATE)], "verified")
    assert {"The lift is broken", "Somebody else's", "porter"} <= steps(memory, vault)


def test_everything_is_compared_after_more_than_a_hundred_changes(memory: Memory, vault: Path) -> None:
    for number in range(100):
        memory.remember("porter", f"Fact {number}.")
    assert "The lift is broken" not in steps(memory, vault)
    memory.remember("porter", "Fact 100.")
    assert {"The gate opens at nine", "The lift is broken", "scout"} <= steps(memory, vault)


def test_a_note_that_shows_the_same_is_not_read_again(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_file = folder.Folder.read
    read: list[str] = []

    def read_and_tell(self: folder.Folder, path: str, size: int = -1) -> bytes | None:
        read.append(Path(path).stem)
        return read_file(self, path, size)

    note(vault, LIFT).write_text(note(vault, LIFT).read_text() + "Mine.")
    memory.graph.add("Zeta Works", type="organisation")
    monkeypatch.setattr(folder.Folder, "read", read_and_tell)
    preview(memory, vault)
    assert ("The lift is broken" in read, "The gate opens at nine" in read) == (True, False)


def test_the_canvas_is_made_again_when_the_graph_changed_and_only_then(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.graph.add("Zeta Works", type="organisation")
    publish(memory, vault)
    memory.graph.add("Omega Yard", type="place")
    publish(memory, vault)
    assert "Omega Yard" in (vault / "Memory" / "Memory.canvas").read_text()

    def make(*_: object) -> bytes:
        raise Looked

    memory.remember("porter", "Somebody else's.")
    with monkeypatch.context() as patch:
        patch.setattr(extras, "canvas", make)
        publish(memory, vault)
        memory.graph.link("zeta works", "omega yard", "near")
        with pytest.raises(Looked):
            publish(memory, vault)


def test_the_times_of_files_are_kept_for_files_that_are_there(memory: Memory, vault: Path) -> None:
    memory.move("scout", [fact_id(memory, GATE)], "porter")
    memory.retire("scout", [fact_id(memory, LIFT)])
    publish(memory, vault, remove_orphans=True)
    records = vault / "Memory" / ".graymatter" / "files.json"
    there = {path.relative_to(vault / "Memory").as_posix() for path in (vault / "Memory").rglob("*.*")}
    assert {*json.loads(records.read_bytes())} == {path for path in there if not path.startswith(".graymatter")}


def test_a_changed_vault_is_remembered_like_one_that_was_written_at_once(
    memory: Memory, vault: Path, tmp_path: Path
) -> None:
    memory.label("scout", [fact_id(memory, GATE)], "verified")
    publish(memory, vault)
    publish(memory, tmp_path / "clean")
    changed, clean = (root / "Memory" / ".graymatter" / "manifest.json" for root in (vault, tmp_path / "clean"))
    assert changed.read_bytes() == clean.read_bytes()


# --- publishes that did not do everything ----------------------------------------------------------------------------


def test_a_table_that_somebody_makes_meanwhile_keeps_no_canvas_from_being_written(memory: Memory, vault: Path) -> None:
    memory.graph.add("Zeta Works", type="organisation")
    table = vault / "Memory" / "Memory.base"
    table.unlink()

    def make(done: int, total: int | None, what: str) -> None:
        if what == "Writing notes" and done == 0:
            table.write_text("views: []\n")

    assert publish(memory, vault, progress=make).files == 1
    assert ((vault / "Memory" / "Memory.canvas").exists(), table.read_text()) == (True, "views: []\n")


@pytest.mark.parametrize("path", [".obsidian/graph.json", "Memory/Memory.canvas"])
def test_a_file_beside_the_notes_that_changes_meanwhile_is_looked_at_again(
    memory: Memory, vault: Path, path: str
) -> None:
    memory.graph.add("Zeta Works", type="organisation")
    (vault / ".obsidian").mkdir()
    tinted = PublishOptions(colours=True)

    def edit(done: int, total: int | None, what: str) -> None:
        if what == "Writing notes" and done == 0:
            (vault / path).write_text("{}")

    assert publish(memory, vault, options=tinted, progress=edit).files == 1
    assert ((vault / path).read_text(), will_look(memory, vault, tinted)) == ("{}", True)
    assert publish(memory, vault, options=tinted).files == 1
    assert ((vault / path).read_text() == "{}", will_look(memory, vault, tinted)) == (False, False)


def test_a_publish_that_was_cancelled_says_what_it_wrote_and_is_not_taken_for_a_whole_one(
    memory: Memory, vault: Path
) -> None:
    for number in range(80):
        memory.remember("scout", f"Fact {number}.")
    publish(memory, vault)
    memory.label("scout", memory.fact_ids(FactQuery()), "verified")
    token = CancelToken()

    def stop(done: int, total: int | None, what: str) -> None:
        if what == "Writing notes" and done:
            token.cancel()

    before = (vault / "Memory" / ".graymatter" / "manifest.json").read_bytes()
    with pytest.raises(Cancelled):
        publish(memory, vault, progress=stop, cancel=token)
    assert (vault / "Memory" / ".graymatter" / "manifest.json").read_bytes() != before
    publish(memory, vault)
    notes = (vault / "Memory" / "Facts" / "scout").iterdir()
    assert {"mem_confidence: verified" in path.read_text() for path in notes} == {True}


@pytest.mark.parametrize("stage", ["Writing notes", "Checking links"])
def test_whoever_cancels_does_not_wait_until_every_note_was_read_again(
    memory: Memory, vault: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    for number in range(80):
        memory.remember("scout", f"Fact {number}.")
    token, looked = CancelToken(), []
    settled = folder.Folder.settled

    def noted(self: folder.Folder, path: str, content: str, now: Stamp) -> Stamp | None:
        looked.append(path)
        return settled(self, path, content, now)

    def stop(done: int, total: int | None, what: str) -> None:
        if what == stage and done:
            token.cancel()

    monkeypatch.setattr(folder.Folder, "settled", noted)
    with suppress(Cancelled):
        publish(memory, vault, progress=stop, cancel=token)
    assert looked == []
    assert (publish(memory, vault).written == 0) == (stage == "Checking links")
    assert publish(memory, vault).written == 0
    assert check_links(vault).broken == ()


def test_orphans_inside_the_folder_go_to_the_trash_whatever_lies_outside(memory: Memory, vault: Path) -> None:
    (vault / "Archive").mkdir()
    note(vault, GATE).rename(vault / "Archive" / "Gate.md")
    memory.retire("scout", memory.fact_ids(FactQuery()))
    report = publish(memory, vault, remove_orphans=True)
    assert (report.removed, note(vault, LIFT).exists(), (vault / "Archive" / "Gate.md").exists()) == (1, False, True)


def test_files_that_are_too_young_are_not_known_by_their_times(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "_TICK_NS", 1_000_000_000_000)
    publish(memory, tmp_path)
    assert json.loads((tmp_path / "Memory" / ".graymatter" / "files.json").read_bytes()) == {}
    assert will_look(memory, tmp_path)
    assert publish(memory, tmp_path).written == 0
