"""A purge while a store is being published: whatever was written keeps nothing of the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporters.obsidian import writing
from exporters.obsidian.publish import publish
from gm_engine import Memory, Progress
from tests.fakes.vault_notes import GATE, LIFT, fact_id, note, scouts_store

SECRET = "The code of the safe is 4711."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with scouts_store(tmp_path / "store") as opened:
        opened.remember("scout", SECRET)
        yield opened


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


def purge_at(memory: Memory, stage: str, *texts: str) -> Progress:
    """A progress that purges one text whenever a stage begins, as another window may."""
    left = list(texts)

    def purge(done: int, total: int | None, what: str) -> None:
        if what == stage and done == 0 and left:
            memory.purge(left.pop(0))

    return purge


def once_written(file: Path, act: Callable[[], None]) -> Progress:
    """A progress that acts once, when a note was written while others are still to be."""
    left = [act]

    def look(done: int, total: int | None, what: str) -> None:
        if what == "Writing notes" and file.exists() and left:
            left.pop()()

    return look


def holding(vault: Path, word: str) -> list[str]:
    """Every file of the vault with this word in its name or content."""
    files = (path for path in vault.rglob("*") if path.is_file())
    return [str(path) for path in files if word in path.name or word.encode() in path.read_bytes()]


@pytest.mark.parametrize("stage", ["Reading facts", "Comparing notes", "Writing notes"])
@pytest.mark.parametrize("remove_orphans", [False, True])
def test_a_text_purged_while_publishing_is_in_no_file_afterwards(
    memory: Memory, vault: Path, stage: str, remove_orphans: bool
) -> None:
    report = publish(memory, vault, progress=purge_at(memory, stage, SECRET), remove_orphans=remove_orphans)
    assert holding(vault, "4711") == holding(vault, "code of the safe") == []
    assert holding(vault, "gate") != []
    assert (report.orphaned, report.broken_links, report.left, report.removed) == ((), (), (), 0)
    notes = len(list((vault / "Memory").rglob("*.md")))
    assert (report.written, report.unchanged) == (notes, 0)
    again = publish(memory, vault)
    assert (again.written, again.unchanged) == (0, notes)


def test_a_second_purge_while_the_first_is_put_right_counts_as_well(memory: Memory, vault: Path) -> None:
    publish(memory, vault, progress=purge_at(memory, "Writing notes", SECRET, GATE))
    assert holding(vault, "4711") == holding(vault, "gate") == []
    assert holding(vault, "lift") != []


def test_a_note_that_a_person_wrote_in_stays_and_is_named(memory: Memory, vault: Path) -> None:
    publish(memory, vault)
    (path,) = (each for each in (vault / "Memory" / "Facts").rglob("*.md") if "lift" in each.name)
    path.write_text(path.read_text() + "My own words.\n")
    memory.pin("scout", [fact_id(memory, LIFT)])
    report = publish(memory, vault, progress=purge_at(memory, "Writing notes", LIFT))
    assert report.orphaned == (path.relative_to(vault).as_posix(),)
    assert path.read_text().endswith("My own words.\n")


def test_a_fact_retired_beside_the_purge_keeps_its_note(memory: Memory, vault: Path) -> None:
    purge, gate = purge_at(memory, "Writing notes", SECRET), fact_id(memory, GATE)

    def retire_and_purge(done: int, total: int | None, what: str) -> None:
        if what == "Writing notes" and done == 0 and not memory.get(gate).is_superseded:
            memory.retire("scout", [gate])
        purge(done, total, what)

    report = publish(memory, vault, progress=retire_and_purge)
    assert holding(vault, "4711") == []
    assert report.orphaned == ("Memory/Facts/scout/The gate opens at nine.md",)
    assert (vault / report.orphaned[0]).is_file()


@pytest.fixture
def told_of_every_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_EVERY", 1)


@pytest.mark.usefixtures("told_of_every_note")
def test_words_typed_into_a_note_while_others_are_written_stay(memory: Memory, vault: Path) -> None:
    path = note(vault, SECRET)

    def type_and_purge() -> None:
        path.write_text(path.read_text() + "My own words.\n")
        memory.purge(SECRET)

    report = publish(memory, vault, progress=once_written(path, type_and_purge))
    assert path.read_text().endswith("My own words.\n")
    assert report.orphaned == (path.relative_to(vault).as_posix(),)


@pytest.mark.usefixtures("told_of_every_note")
def test_a_note_renamed_within_the_folder_while_others_are_written_keeps_nothing(memory: Memory, vault: Path) -> None:
    path = note(vault, SECRET)

    def rename_and_purge() -> None:
        path.rename(path.with_name("The safe.md"))
        memory.purge(SECRET)

    report = publish(memory, vault, progress=once_written(path, rename_and_purge))
    assert holding(vault, "4711") == holding(vault, "safe") == []
    assert report.orphaned == ()


@pytest.mark.usefixtures("told_of_every_note")
def test_a_note_moved_out_while_others_are_written_stays_and_so_does_what_its_path_names_outside_the_vault(
    memory: Memory, vault: Path, tmp_path: Path
) -> None:
    path, diary = note(vault, SECRET), tmp_path / "Diary.md"
    diary.write_text("Nobody's business.\n")
    moved = vault / diary.relative_to(diary.anchor)

    def move_and_purge() -> None:
        moved.parent.mkdir(parents=True)
        path.rename(moved)
        memory.purge(SECRET)

    report = publish(memory, vault, progress=once_written(path, move_and_purge))
    assert diary.read_text() == "Nobody's business.\n"
    assert report.orphaned == (moved.relative_to(vault).as_posix(),)
    assert moved.is_file()
