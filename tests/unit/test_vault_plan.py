"""What a publish does with notes that a person accepted, replaced, copied or swapped: who owns which file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.obsidian.proposals import scope_of, to_proposals
from exporters.obsidian.publish import PublishReport, preview, publish
from exporters.obsidian.reading import read_note
from exporters.obsidian.round_trip import read_edits
from exporters.profiles import PublishOptions
from gm_engine import Memory, Message, restore_backup
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.fakes.vault_notes import GATE, LIFT, add_line, change, fact_id, note, scouts_store


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with scouts_store(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def vault(memory: Memory, tmp_path: Path) -> Path:
    publish(memory, tmp_path / "vault")
    return tmp_path / "vault"


def statuses(report: PublishReport) -> dict[str, str]:
    return {Path(left.note).name: left.status for left in report.left}


def accept_all(memory: Memory, vault: Path) -> int:
    edits = read_edits(memory, vault)
    assert edits.problems == ()
    memory.inbox.refresh("vault", scope_of(edits), to_proposals(edits))
    decision = memory.inbox.accept_many([card.id for card in memory.inbox.list(source="vault")])
    assert decision.left == ()
    return len(decision.accepted)


def texts(vault: Path) -> dict[str, str]:
    """What the notes of facts say, by file name."""
    return {path.stem: read_note(path).text for path in (vault / "Memory" / "Facts").rglob("*.md")}


def comes_to_rest(memory: Memory, vault: Path) -> None:
    before = {path: (path.read_bytes(), path.stat().st_ino) for path in vault.rglob("*.md")}
    report = publish(memory, vault)
    assert (report.written, report.moved, report.broken_links) == (0, 0, ())
    assert {path: (path.read_bytes(), path.stat().st_ino) for path in vault.rglob("*.md")} == before


# --- notes that find their facts -------------------------------------------------------------------------------------


def test_an_accepted_edit_takes_its_note_along_with_the_words_below_and_the_new_title(
    memory: Memory, vault: Path
) -> None:
    change(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")
    note(vault, GATE).write_text(note(vault, GATE).read_text() + "\nMine.\n")
    assert accept_all(memory, vault) == 1
    report = publish(memory, vault)
    assert (report.left, report.orphaned, report.moved) == ((), (), 1)
    assert texts(vault) == {"The gate opens at ten": "The gate opens at ten.", "The lift is broken": LIFT}
    assert note(vault, "The gate opens at ten.").read_text().endswith("\nMine.\n")
    comes_to_rest(memory, vault)


def test_an_edit_that_the_store_made_by_itself_takes_the_note_only_when_it_says_just_the_same(
    memory: Memory, vault: Path
) -> None:
    change(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")
    change(note(vault, LIFT), f"> {LIFT}", "> The lift works.")
    memory.revise("scout", [fact_id(memory, GATE)], "The gate opens at ten.")
    memory.revise("scout", [fact_id(memory, LIFT)], "The lift was repaired.")
    report = publish(memory, vault)
    assert texts(vault) == {
        "The gate opens at ten": "The gate opens at ten.",
        "The lift is broken": "The lift works.",
        "The lift was repaired": "The lift was repaired.",
    }
    assert statuses(report) == {"The lift is broken.md": "conflict"}


def test_an_edited_note_of_a_retired_fact_that_cannot_be_read_finds_no_other_fact(memory: Memory, vault: Path) -> None:
    change(note(vault, GATE), "mem_agent", "\tmem_agent")
    damaged = note(vault, GATE).read_bytes()
    memory.revise("scout", [fact_id(memory, GATE)], "The gate opens at ten.")
    report = publish(memory, vault)
    assert statuses(report) == {"The gate opens at nine.md": "unreadable"}
    assert note(vault, GATE).read_bytes() == damaged
    assert read_note(note(vault, "The gate opens at ten.")).text == "The gate opens at ten."


def test_an_own_note_becomes_that_of_its_fact_where_it_lies_and_keeps_its_properties(
    memory: Memory, vault: Path
) -> None:
    facts = vault / "Memory" / "Facts" / "scout"
    (facts / "Idea.md").write_text("---\nrating: 5 # mine\n---\n\nA thought.\n\n")
    (facts / "Windows.md").write_bytes(b"\xef\xbb\xbfAnother\r\nthought.\r\n")
    (facts / "Not that.md").write_text("Nobody's thought.")
    (facts / "Damaged.md").write_text("---\na: [\n---\nA thought.")
    memory.remember("scout", "A thought.")
    memory.remember("scout", "Another\nthought.")
    before = {name: (facts / name).read_bytes() for name in ("Not that.md", "Damaged.md")}
    report = publish(memory, vault)
    assert (report.left, report.broken_links, report.moved) == ((), (), 0)
    assert {path.name for path in facts.iterdir()} >= {"Idea.md", "Windows.md", "Not that.md", "Damaged.md"}
    assert len(list(facts.iterdir())) == 6
    idea, windows = (facts / "Idea.md").read_text(), (facts / "Windows.md").read_bytes()
    assert "rating: 5 # mine\n" in idea
    assert b"\r" not in (facts / "Idea.md").read_bytes()
    assert read_note(facts / "Idea.md").fact_id == fact_id(memory, "A thought.")
    assert windows.startswith(b"\xef\xbb\xbf---\r\n")
    assert windows.count(b"\n") == windows.count(b"\r\n")
    assert read_note(facts / "Windows.md").text == "Another\nthought."
    assert {name: (facts / name).read_bytes() for name in before} == before
    comes_to_rest(memory, vault)


def test_an_own_note_that_changes_while_it_is_taken_over_is_left_alone(memory: Memory, vault: Path) -> None:
    own = vault / "Memory" / "Facts" / "scout" / "Idea.md"
    own.write_text("A thought.")
    memory.remember("scout", "A thought.")

    def edit(done: int, total: int | None, what: str) -> None:
        if what == "Comparing notes":
            own.write_text("A second thought.")

    report = publish(memory, vault, progress=edit)
    assert [(left.status, left.reason) for left in report.left] == [("conflict", "it was changed while publishing")]
    assert own.read_text() == "A second thought."


def test_two_facts_with_one_text_take_one_note_each(memory: Memory, vault: Path) -> None:
    facts = vault / "Memory" / "Facts" / "scout"
    for name in ("One", "Two"):
        (facts / f"{name}.md").write_text("A thought.")
    memory.remember("scout", "A thought.")
    memory.remember("porter", "A thought.")
    publish(memory, vault)
    owned = [name for name in ("One", "Two") if "mem_id" in (facts / f"{name}.md").read_text()]
    assert len(owned) == 1
    assert (vault / "Memory" / "Facts" / "porter" / "A thought.md").exists()


def test_a_copy_whose_words_were_accepted_becomes_the_note_of_the_new_fact(memory: Memory, vault: Path) -> None:
    copy = note(vault, GATE).with_name("The gate (copy).md")
    copy.write_text(note(vault, GATE).read_text().replace(f"> {GATE}", "> The gate opens at ten.") + "\nMine.\n")
    agent = vault / "Memory" / "Agents" / "scout.md"
    agent.with_name("scout (copy).md").write_text(agent.read_text())
    edits = read_edits(memory, vault)
    memory.inbox.refresh("vault", scope_of(edits), to_proposals(edits))
    (card,) = memory.inbox.list(source="vault")
    memory.inbox.accept(card.id)
    report = publish(memory, vault)
    assert statuses(report) == {"scout (copy).md": "double"}
    assert report.orphaned == ("Memory/Facts/scout/The gate opens at nine.md",)
    new = fact_id(memory, "The gate opens at ten.")
    (kept,) = (path for path in (vault / "Memory" / "Facts").rglob("*.md") if read_note(path).fact_id == new)
    assert kept.read_text().endswith("\nMine.\n")
    assert not copy.with_name("The gate opens at ten 1.md").exists()


# --- edits that were turned down -------------------------------------------------------------------------------------


def reject_all(memory: Memory, vault: Path) -> None:
    edits = read_edits(memory, vault)
    memory.inbox.refresh("vault", scope_of(edits), to_proposals(edits))
    memory.inbox.reject([card.id for card in memory.inbox.list(source="vault")])


def test_a_text_that_was_turned_down_goes_to_the_trash_and_lines_of_a_person_below_the_block(
    memory: Memory, vault: Path
) -> None:
    path = note(vault, GATE)
    change(path, f"> {GATE}", "> The gate opens at ten.")
    add_line(path, "A line of mine.")
    path.write_text(path.read_text() + "\nBelow.\n")
    edited = path.read_bytes()
    reject_all(memory, vault)
    report = publish(memory, vault)
    assert (report.left, report.written, read_note(path).text) == ((), 1, GATE)
    assert path.read_text().partition("graymatter:end")[2].partition("%%")[2] == "\n\nA line of mine.\n\nBelow.\n"
    (kept,) = (vault / ".trash").rglob("*.md")
    assert kept.read_bytes() == edited
    comes_to_rest(memory, vault)


def test_a_link_that_was_turned_down_goes_below_the_block(memory: Memory, vault: Path) -> None:
    for label in ("Zeta Works", "Omega Yard"):
        memory.graph.add(label, type="organisation")
    memory.remember("scout", "Zeta Works grows.")
    publish(memory, vault)
    path = note(vault, "Zeta Works grows.")
    add_line(path, "See [[Memory/Entities/Omega Yard]].")
    assert statuses(publish(memory, vault)) == {path.name: "edited"}
    reject_all(memory, vault)
    assert publish(memory, vault).left == ()
    assert path.read_text().endswith(" %%\n\nSee [[Memory/Entities/Omega Yard]].\n")
    comes_to_rest(memory, vault)


def test_lines_that_we_wrote_once_are_not_taken_for_a_persons(memory: Memory, vault: Path) -> None:
    memory.graph.add("Zeta Works", type="organisation")
    memory.remember("scout", "Zeta Works grows.")
    publish(memory, vault)
    path = note(vault, "Zeta Works grows.")
    change(path, "> Zeta Works grows.", "> Zeta Works shrinks.")
    reject_all(memory, vault)
    memory.graph.delete("zeta works")
    assert publish(memory, vault).left == ()
    assert path.read_text().partition("graymatter:end")[2].endswith(" %%\n")
    assert "Mentions" not in path.read_text()


def test_lines_that_say_nothing_to_the_store_go_below_the_block_without_a_question(memory: Memory, vault: Path) -> None:
    path = note(vault, GATE)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    path.write_bytes(path.read_bytes().replace(b"\r\n%% graymatter:end", b"One.\r\nTwo.\r\n\r\n%% graymatter:end"))
    assert publish(memory, vault).left == ()
    assert path.read_bytes().endswith(b" %%\r\n\r\nOne.\r\nTwo.\r\n")
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")
    assert not (vault / ".trash").exists()
    comes_to_rest(memory, vault)


def test_a_note_that_goes_to_the_trash_takes_no_link_with_it(memory: Memory, vault: Path) -> None:
    memory.revise("scout", [fact_id(memory, GATE)], "The gate opens at ten.")
    report = publish(memory, vault, remove_orphans=True)
    assert (report.removed, report.broken_links) == (1, ())
    assert "“The gate opens at nine.” (retired)" in note(vault, "The gate opens at ten.").read_text()
    comes_to_rest(memory, vault)


# --- names -----------------------------------------------------------------------------------------------------------


def test_notes_follow_each_other_into_names_that_become_free(memory: Memory, vault: Path) -> None:
    change(note(vault, LIFT), f"> {LIFT}", f"> {GATE}")
    change(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")
    assert accept_all(memory, vault) == 2
    report = publish(memory, vault)
    assert (report.moved, report.left) == (2, ())
    assert texts(vault) == {"The gate opens at nine": GATE, "The gate opens at ten": "The gate opens at ten."}
    comes_to_rest(memory, vault)


def test_a_row_of_notes_moves_up_by_one_name_each(memory: Memory, tmp_path: Path) -> None:
    for text in ("A one.", "B two.", "C three."):
        memory.remember("scout", text)
    vault = tmp_path / "row"
    publish(memory, vault)
    for old, new in (("C three.", "B two."), ("B two.", "A one."), ("A one.", "Free now.")):
        change(note(vault, old), f"> {old}", f"> {new}")
    accept_all(memory, vault)
    report = publish(memory, vault)
    assert (report.moved, report.left) == (3, ())
    assert {name: text for name, text in texts(vault).items() if name[0] in "ABCF"} == {
        "Free now": "Free now.",
        "A one": "A one.",
        "B two": "B two.",
    }
    comes_to_rest(memory, vault)


def test_notes_that_exchanged_their_words_lose_none_of_them(memory: Memory, vault: Path) -> None:
    change(note(vault, GATE), f"> {GATE}", f"> {LIFT}")
    change(note(vault, LIFT), f"> {LIFT}", f"> {GATE}")
    accept_all(memory, vault)
    publish(memory, vault)
    assert sorted(texts(vault).values()) == [GATE, LIFT]


def test_a_name_that_somebody_takes_while_publishing_is_left_to_them(memory: Memory, vault: Path) -> None:
    taken = note(vault, "New words.")
    memory.remember("scout", "New words.")

    def take(done: int, total: int | None, what: str) -> None:
        if what == "Writing notes" and not taken.exists():
            taken.write_text("mine")

    report = publish(memory, vault, progress=take)
    assert statuses(report) == {"New words.md": "conflict"}
    assert [left.reason for left in report.left] == ["its new name is in use"]
    assert taken.read_text() == "mine"
    assert publish(memory, vault).left == ()
    assert (taken.read_text(), texts_of_ours(vault)["New words 1"]) == ("mine", "New words.")


def test_a_lost_note_whose_name_somebody_takes_is_written_by_the_next_publish(memory: Memory, vault: Path) -> None:
    for number in range(30):
        memory.remember("scout", f"Fact {number}.")
    publish(memory, vault)
    for path in (vault / "Memory" / "Facts" / "scout").iterdir():
        path.unlink()

    def take(done: int, total: int | None, what: str) -> None:
        if what == "Writing notes" and done == 0:
            note(vault, GATE).write_text("mine")

    assert statuses(publish(memory, vault, progress=take)) == {"The gate opens at nine.md": "conflict"}
    assert publish(memory, vault).left == ()
    assert (note(vault, GATE).read_text(), texts_of_ours(vault)["The gate opens at nine 1"]) == ("mine", GATE)


def test_a_note_that_was_moved_and_changes_while_publishing_is_reported_where_it_lies(
    memory: Memory, vault: Path
) -> None:
    moved = note(vault, GATE).rename(vault / "Memory" / "My gate.md")
    memory.label("scout", [fact_id(memory, GATE)], "verified")

    def edit(done: int, total: int | None, what: str) -> None:
        if what == "Writing notes" and done == 0:
            moved.write_text(moved.read_text() + "Mine.")

    assert [left.note for left in publish(memory, vault, progress=edit).left] == ["Memory/My gate.md"]


def texts_of_ours(vault: Path) -> dict[str, str]:
    ours = (path for path in (vault / "Memory" / "Facts").rglob("*.md") if "mem_id" in path.read_text())
    return {path.stem: read_note(path).text for path in ours}


# --- files that are not what they were -------------------------------------------------------------------------------


def test_a_note_that_a_person_replaced_by_their_own_words_is_theirs(memory: Memory, vault: Path) -> None:
    note(vault, GATE).write_text("All mine now.")
    report = publish(memory, vault)
    assert statuses(report) == {"The gate opens at nine.md": "deleted"}
    assert note(vault, GATE).read_text() == "All mine now."
    assert {edit.kind for edit in read_edits(memory, vault).edits} == {"deleted", "new"}


def test_a_note_that_a_crash_emptied_is_written_again(memory: Memory, vault: Path) -> None:
    before = note(vault, GATE).read_bytes()
    note(vault, GATE).write_bytes(b"")
    assert read_edits(memory, vault).edits == ()
    assert publish(memory, vault).written == 1
    assert note(vault, GATE).read_bytes() == before


def test_a_note_that_was_moved_out_and_then_deleted_waits_for_a_decision(memory: Memory, vault: Path) -> None:
    (vault / "Archive").mkdir()
    (vault / "Archive" / "Other.txt").write_text("x")
    (vault / "Archive" / "Other.md").write_text("x")
    moved = note(vault, GATE).rename(vault / "Archive" / "Gate.md")
    assert statuses(publish(memory, vault)) == {"Gate.md": "elsewhere"}
    moved.unlink()
    assert set(statuses(publish(memory, vault)).values()) == {"deleted"}
    (edit,) = read_edits(memory, vault).edits
    assert (edit.kind, edit.fact_id) == ("deleted", fact_id(memory, GATE))


def test_a_note_without_its_markers_is_left_alone(memory: Memory, vault: Path) -> None:
    change(note(vault, GATE), "%% graymatter:begin %%", "")
    before = note(vault, GATE).read_bytes()
    memory.label("scout", [fact_id(memory, GATE)], "verified")
    assert statuses(publish(memory, vault)) == {"The gate opens at nine.md": "conflict"}
    assert note(vault, GATE).read_bytes() == before


def test_orphans_that_lie_outside_the_folder_are_left_where_they_are(memory: Memory, vault: Path) -> None:
    (vault / "Archive").mkdir()
    moved = note(vault, GATE).rename(vault / "Archive" / "Gate.md")
    memory.retire("scout", [fact_id(memory, GATE)])
    before = moved.read_bytes()
    assert publish(memory, vault, remove_orphans=True).removed == 0
    assert moved.read_bytes() == before
    assert not (vault / ".trash").exists()


def test_files_beside_the_notes_that_change_while_publishing_wait_for_the_next_time(
    memory: Memory, vault: Path
) -> None:
    (vault / ".obsidian").mkdir()
    settings, canvas = vault / ".obsidian" / "graph.json", vault / "Memory" / "Memory.canvas"
    memory.graph.add("Zeta Works", type="organisation")
    theirs = '{"colorGroups": [], "scale": 3}'

    def edit(done: int, total: int | None, what: str) -> None:
        if what == "Writing notes" and not canvas.exists():
            canvas.write_text('{"nodes": []}')
            settings.write_text(theirs)

    tinted = PublishOptions(colours=True)
    publish(memory, vault, options=tinted, progress=edit)
    assert (canvas.read_text(), settings.read_text()) == ('{"nodes": []}', theirs)
    publish(memory, vault, options=tinted)
    assert ("Zeta Works" in canvas.read_text(), '"scale": 3' in settings.read_text()) == (True, True)
    assert "Memory/Facts" in settings.read_text()


# --- stores that are not what they were ------------------------------------------------------------------------------


def test_a_vault_of_a_store_that_was_put_back_to_an_earlier_day_follows_it(
    memory: Memory, tmp_path: Path, vault: Path
) -> None:
    restore_backup(Path(memory.backup().path), tmp_path / "earlier")
    memory.remember("scout", "Later.")
    publish(memory, vault)
    with Memory.open(
        tmp_path / "earlier", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False
    ) as earlier:
        report = publish(earlier, vault)
        assert report.orphaned == ("Memory/Facts/scout/Later.md",)
        assert "Later" not in (vault / "Memory" / "Agents" / "scout.md").read_text()
        assert publish(earlier, vault, remove_orphans=True).removed == 1
        comes_to_rest(earlier, vault)


def test_a_fact_that_leaves_the_agents_that_are_shown_becomes_an_orphan(memory: Memory, vault: Path) -> None:
    shown = PublishOptions(agents=("scout",))
    publish(memory, vault, options=shown)
    assert publish(memory, vault, options=shown).written == 0
    memory.move("scout", [fact_id(memory, GATE)], "porter")
    assert [item.path for item in preview(memory, vault, options=shown).of("orphaned")] == [
        "Memory/Facts/scout/The gate opens at nine.md"
    ]
    report = publish(memory, vault, options=shown)
    assert report.orphaned == ("Memory/Facts/scout/The gate opens at nine.md",)
    assert "gate" not in (vault / "Memory" / "Agents" / "scout.md").read_text()


def test_a_checkpoint_that_cannot_be_read_is_told_of_and_has_no_note(
    memory: Memory, vault: Path, tmp_path: Path
) -> None:
    checkpoint = memory.checkpoints.save("scout", state={"a": 1}, messages=(Message("user", "hi"),))
    with sqlite3.connect(tmp_path / "store" / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE checkpoints SET payload = ? WHERE id = ?", (b"\xff{", checkpoint.id))
    ledger.close()
    report = publish(memory, vault)
    assert (report.broken_links, (vault / "Memory" / "Checkpoints").exists()) == ((), False)
    assert f"{checkpoint.id} (damaged, cannot be read)" in (vault / "Memory" / "Agents" / "scout.md").read_text()


def test_days_are_written_as_the_profile_says(memory: Memory, vault: Path) -> None:
    publish(memory, vault, options=PublishOptions(date_format="MM/DD/YYYY"))
    assert "- 11/30/2026 [[Memory/Facts/" in (vault / "Memory" / "Agents" / "scout.md").read_text()
