"""What a person did in a published folder, read as edits: to notes of facts, to copies, to notes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporters.obsidian import round_trip
from exporters.obsidian.edits import VaultEdits
from exporters.obsidian.folder import locked, open_folder
from exporters.obsidian.proposals import to_proposals
from exporters.obsidian.publish import publish
from exporters.obsidian.round_trip import read_edits
from gm_engine import Cancelled, CancelToken, Memory, PublishRefused
from tests.fakes.vault_notes import GATE, LIFT, ZETA, add_line, change, fact_id, named_store, note, only, problems


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with named_store(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def vault(memory: Memory, tmp_path: Path) -> Path:
    publish(memory, tmp_path / "vault")
    return tmp_path / "vault"


# --- notes of facts --------------------------------------------------------------------------------------------------


def test_an_edited_text_names_its_fact_and_the_state_it_was_compared_with(memory: Memory, vault: Path) -> None:
    change(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")
    edit = only(read_edits(memory, vault))
    fact = memory.get(fact_id(memory, GATE))
    assert (edit.kind, edit.text, edit.is_conflict) == ("text", "The gate opens at ten.", False)
    assert (edit.note, edit.agent_id) == ("Memory/Facts/scout/The gate opens at nine.md", "scout")
    assert (edit.fact_id, edit.version) == (fact.id, fact.version)
    assert (edit.pinned, edit.confidence, edit.link) == (None, None, None)


def test_a_text_that_the_store_changed_as_well_is_a_conflict(memory: Memory, vault: Path) -> None:
    change(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")
    new = memory.revise("scout", [fact_id(memory, GATE)], "The gate opens at eight.")
    edit = only(read_edits(memory, vault))
    assert (edit.fact_id, edit.version, edit.text, edit.is_conflict) == (
        new.id,
        new.version,
        "The gate opens at ten.",
        True,
    )
    (proposal,) = to_proposals(read_edits(memory, vault))
    assert "the store changed as well" in proposal.reason


def test_a_text_that_both_sides_say_by_now_is_no_edit(memory: Memory, vault: Path) -> None:
    change(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")
    first = memory.revise("scout", [fact_id(memory, GATE)], "The gate opens at eleven.")
    memory.revise("scout", [first.id], "The gate opens at ten.")
    assert read_edits(memory, vault) == VaultEdits(str(vault), "Memory")


def test_an_edited_note_of_a_fact_that_was_retired_is_a_conflict(memory: Memory, vault: Path) -> None:
    change(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")
    change(note(vault, GATE), "mem_pinned: false", "mem_pinned: true")
    retired = fact_id(memory, GATE)
    memory.retire("scout", [retired])
    edit = only(read_edits(memory, vault))
    assert (edit.kind, edit.fact_id, edit.is_conflict, edit.pinned) == ("text", retired, True, None)


def test_a_pin_and_a_label_are_one_edit_and_each_says_what_accepting_does(memory: Memory, vault: Path) -> None:
    change(note(vault, GATE), "mem_pinned: false", "mem_pinned: true")
    change(note(vault, LIFT), 'mem_confidence: ""', "mem_confidence: verified")
    change(note(vault, ZETA), "mem_pinned: false", "mem_pinned: true")
    change(note(vault, ZETA), 'mem_confidence: ""', "mem_confidence: unverified")
    edits = read_edits(memory, vault)
    assert edits.problems == ()
    assert {(edit.kind, edit.fact_id, edit.pinned, edit.confidence, edit.is_conflict) for edit in edits.edits} == {
        ("properties", fact_id(memory, GATE), True, None, False),
        ("properties", fact_id(memory, LIFT), None, "verified", False),
        ("properties", fact_id(memory, ZETA), True, "unverified", False),
    }
    assert [(card.kind, card.reason.partition(":")[0], card.details) for card in to_proposals(edits)] == [
        ("pin", "it was pinned in the vault", {"note": edits.edits[0].note, "conflict": False, "pinned": True}),
        (
            "label",
            "it was labelled verified in the vault",
            {"note": "Memory/Facts/scout/The lift is broken.md", "conflict": False, "confidence": "verified"},
        ),
        (
            "label",
            "it was pinned and labelled unverified in the vault",
            {
                "note": "Memory/Facts/scout/Zeta Works grows.md",
                "conflict": False,
                "pinned": True,
                "confidence": "unverified",
            },
        ),
    ]


def test_a_text_and_a_label_edited_together_are_one_edit_and_a_conflict_of_either_is_one_of_both(
    memory: Memory, vault: Path
) -> None:
    change(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")
    change(note(vault, GATE), 'mem_confidence: ""', "mem_confidence: verified")
    edit = only(read_edits(memory, vault))
    assert (edit.kind, edit.text, edit.confidence, edit.is_conflict) == (
        "text",
        "The gate opens at ten.",
        "verified",
        False,
    )
    memory.label("scout", [fact_id(memory, GATE)], "unverified")
    edit = only(read_edits(memory, vault))
    assert (edit.text, edit.confidence, edit.is_conflict) == ("The gate opens at ten.", "verified", True)


def test_an_unpinned_note_says_so(memory: Memory, vault: Path) -> None:
    memory.pin("scout", [fact_id(memory, GATE)])
    publish(memory, vault)
    change(note(vault, GATE), "mem_pinned: true", "mem_pinned: false")
    (card,) = to_proposals(read_edits(memory, vault))
    assert (card.kind, card.details["pinned"]) == ("pin", False)
    assert card.reason == "it was unpinned in the vault: Memory/Facts/scout/The gate opens at nine.md"


def test_a_pin_that_the_store_gained_is_no_edit_of_a_note_that_was_written_before(memory: Memory, vault: Path) -> None:
    add_line(note(vault, GATE), "A line of mine.")
    memory.pin("scout", [fact_id(memory, GATE)])
    memory.label("scout", [fact_id(memory, GATE)], "verified")
    assert read_edits(memory, vault) == VaultEdits(str(vault), "Memory")


def test_an_emptied_or_deleted_property_says_nothing(memory: Memory, vault: Path) -> None:
    memory.label("scout", [fact_id(memory, GATE), fact_id(memory, LIFT)], "verified")
    publish(memory, vault)
    change(note(vault, GATE), "mem_confidence: verified", "mem_confidence:")
    change(note(vault, LIFT), "mem_confidence: verified\nmem_pinned: false\n", "")
    assert read_edits(memory, vault) == VaultEdits(str(vault), "Memory")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("mem_pinned: false", "mem_pinned: maybe", "mem_pinned is neither true nor false"),
        ('mem_confidence: ""', "mem_confidence: sure", "mem_confidence must be one of "),
        (f"> {GATE}", GATE, "its text is gone; delete the note to retire the fact"),
        ("mem_agent", "\tmem_agent", "it cannot be read: "),
    ],
)
def test_what_cannot_be_understood_is_told_and_is_no_edit(
    memory: Memory, vault: Path, old: str, new: str, reason: str
) -> None:
    change(note(vault, GATE), old, new)
    edits = read_edits(memory, vault)
    ((name, found),) = problems(edits).items()
    assert (edits.edits, name, found[: len(reason)]) == ((), "The gate opens at nine", reason)


def test_a_pin_beside_a_label_that_is_none_still_counts(memory: Memory, vault: Path) -> None:
    change(note(vault, GATE), "mem_pinned: false", "mem_pinned: true")
    change(note(vault, GATE), 'mem_confidence: ""', "mem_confidence: sure")
    edits = read_edits(memory, vault)
    assert [(edit.kind, edit.pinned, edit.confidence) for edit in edits.edits] == [("properties", True, None)]
    assert len(edits.problems) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.decode().encode("utf-16"),
        lambda data: data[: len(data) // 4],
        lambda data: b"---",
        lambda data: bytes(len(data)),
        lambda data: data.replace(b"\n", b"\r"),
    ],
    ids=["utf-16", "cut off", "begun", "zeros", "old line ends"],
)
def test_a_note_that_a_crash_damaged_is_told_of_and_left_alone(
    memory: Memory, vault: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = note(vault, GATE)
    path.write_bytes(damaged := damage(path.read_bytes()))
    found = read_edits(memory, vault)
    assert (found.edits, [Path(each.note).stem for each in found.problems]) == ((), [path.stem])
    assert [left.status for left in publish(memory, vault).left] == ["unreadable"]
    assert path.read_bytes() == damaged


def test_a_damaged_file_without_a_note_is_no_new_fact(memory: Memory, vault: Path) -> None:
    facts = vault / "Memory" / "Facts" / "scout"
    (facts / "zeros.md").write_bytes(bytes(100))
    (facts / "cut.md").write_bytes(note(vault, GATE).read_bytes()[:40])
    found = read_edits(memory, vault)
    assert (found.edits, {*problems(found)}) == ((), {"zeros", "cut"})
    (facts / "ruled.md").write_text("---\nBelow a line.\n")
    assert [edit.text for edit in read_edits(memory, vault).edits] == ["---\nBelow a line."]


def test_only_notes_of_facts_can_be_edited_and_words_below_the_block_are_nobodys_business(
    memory: Memory, vault: Path
) -> None:
    for path in ("Agents/scout.md", "Entities/Zeta Works.md", "Memory.md"):
        add_line(vault / "Memory" / path, "Mine.")
    note(vault, GATE).write_text(note(vault, GATE).read_text() + "\nMine, below.\n")
    edits = read_edits(memory, vault)
    assert edits.edits == ()
    assert set(problems(edits)) == {"scout", "Zeta Works", "Memory"}
    assert set(problems(edits).values()) == {"only notes of facts can be edited; write below the managed block"}


def test_an_edited_note_of_a_purged_fact_brings_nothing_back(memory: Memory, vault: Path) -> None:
    change(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")
    note(vault, LIFT).unlink()
    memory.purge(GATE)
    memory.purge(LIFT)
    assert read_edits(memory, vault) == VaultEdits(str(vault), "Memory")


# --- copies, deletions, moves ----------------------------------------------------------------------------------------


def copy_of(path: Path, old: str = "", new: str = "") -> Path:
    copy = path.with_name(f"{path.stem} (Conflicted copy).md")
    copy.write_text(path.read_text().replace(old, new))
    return copy


def test_a_copy_with_other_words_is_proposed_as_a_conflict_whatever_else_it_says(memory: Memory, vault: Path) -> None:
    copy_of(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")
    change(next(note(vault, GATE).parent.glob("*copy*")), "mem_pinned: false", "mem_pinned: true")
    edit = only(read_edits(memory, vault))
    assert (edit.kind, edit.text, edit.is_conflict, edit.pinned) == ("text", "The gate opens at ten.", True, None)
    assert edit.note.endswith("(Conflicted copy).md")


def test_copies_that_say_nothing_new_are_told_of(memory: Memory, vault: Path) -> None:
    copy_of(note(vault, GATE))
    copy_of(vault / "Memory" / "Agents" / "scout.md")
    copy_of(note(vault, LIFT), "mem_agent", "\tmem_agent")
    edits = read_edits(memory, vault)
    assert edits.edits == ()
    assert problems(edits)["The gate opens at nine (Conflicted copy)"] == (
        "it is a copy of Memory/Facts/scout/The gate opens at nine.md: keep one of the two"
    )
    assert "keep one of the two" in problems(edits)["scout (Conflicted copy)"]
    assert problems(edits)["The lift is broken (Conflicted copy)"].startswith("it cannot be read: ")


def test_a_deleted_note_is_an_edit_and_a_conflict_when_the_fact_changed_since(memory: Memory, vault: Path) -> None:
    note(vault, GATE).unlink()
    edit = only(read_edits(memory, vault))
    assert (edit.kind, edit.fact_id, edit.is_conflict) == ("deleted", fact_id(memory, GATE), False)
    (card,) = to_proposals(read_edits(memory, vault))
    assert (card.kind, card.reason.partition(":")[0]) == ("retire", "its note was deleted in the vault")
    memory.pin("scout", [fact_id(memory, GATE)])
    assert only(read_edits(memory, vault)).is_conflict


def test_deleted_notes_of_retired_facts_and_of_records_are_no_edits(memory: Memory, vault: Path) -> None:
    note(vault, GATE).unlink()
    (vault / "Memory" / "Agents" / "scout.md").unlink()
    memory.retire("scout", [fact_id(memory, GATE)])
    assert read_edits(memory, vault) == VaultEdits(str(vault), "Memory")


@pytest.mark.parametrize(("kept", "deletions"), [(23, 20), (22, 21), (21, 0)])
def test_a_folder_that_lost_most_of_its_notes_is_told_of_once(
    memory: Memory, tmp_path: Path, kept: int, deletions: int
) -> None:
    for number in range(35):
        memory.remember("scout", f"Fact number {number}.")
    vault = tmp_path / "large"
    publish(memory, vault)
    notes = sorted((vault / "Memory").rglob("*.md"))
    facts = [path for path in notes if "Facts" in path.parts]
    assert len(notes) == 43
    for path in facts[: len(notes) - kept]:
        path.unlink()
    edits = read_edits(memory, vault)
    assert len(edits.edits) == deletions
    assert problems(edits) == ({} if deletions else {"Memory": "most notes are gone; publishing brings them back"})


def test_a_note_that_only_moved_is_told_from_where_to_where(memory: Memory, vault: Path) -> None:
    note(vault, GATE).rename(vault / "Memory" / "My gate.md")
    (vault / "Archive").mkdir()
    note(vault, LIFT).rename(vault / "Archive" / "Lift.md")
    assert read_edits(memory, vault) == VaultEdits(
        str(vault),
        "Memory",
        moved=(
            ("Memory/Facts/scout/The gate opens at nine.md", "Memory/My gate.md"),
            ("Memory/Facts/scout/The lift is broken.md", "Archive/Lift.md"),
        ),
    )


# --- a person's own notes --------------------------------------------------------------------------------------------


def test_a_note_in_an_agents_folder_is_a_new_fact_of_that_agent(memory: Memory, vault: Path) -> None:
    facts = vault / "Memory" / "Facts"
    (facts / "scout" / "Idea.md").write_text("---\nmem_pinned: true\nmem_confidence: verified\n---\n\nA thought.\n\n")
    (facts / "Porter").mkdir()
    (facts / "Porter" / "Idea.md").write_text("Another.")
    (facts / "SCOUT").mkdir()
    (facts / "SCOUT" / "Third.md").write_text("---\nmem_pinned: 1\n---\nThird.")
    edits = read_edits(memory, vault)
    assert edits.problems == ()
    assert {(edit.kind, edit.agent_id, edit.text, edit.pinned, edit.confidence) for edit in edits.edits} == {
        ("new", "scout", "A thought.", True, "verified"),
        ("new", "Porter", "Another.", None, None),
        ("new", "scout", "Third.", None, None),
    }
    assert {(edit.fact_id, edit.version) for edit in edits.edits} == {("", 0)}
    assert len({edit.key for edit in edits.edits}) == 3
    cards = to_proposals(edits)
    assert [(card.kind, card.facts, card.base) for card in cards] == [("write", (), {})] * 3
    assert cards[0].reason == "a note was written in the vault: Memory/Facts/Porter/Idea.md"


def test_notes_elsewhere_in_the_folder_and_empty_ones_are_no_facts(memory: Memory, vault: Path) -> None:
    for path in ("Idea.md", "Facts/Idea.md", "Entities/scout/Idea.md"):
        (vault / "Memory" / path).parent.mkdir(exist_ok=True)
        (vault / "Memory" / path).write_text("A thought.")
    (vault / "Memory" / "Facts" / "scout" / "Empty.md").write_text("---\ntitle: x\n---\n \n")
    assert read_edits(memory, vault) == VaultEdits(str(vault), "Memory")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xfe", "it cannot be read: it is not UTF-8 text"),
        (b"---\na: [\n---\nA thought.", "it cannot be read: "),
        (b"x" * (round_trip.MAX_NOTE_BYTES + 1), "it cannot be read: it is too long for a fact"),
    ],
)
def test_an_own_note_that_cannot_be_a_fact_is_told_of(memory: Memory, vault: Path, data: bytes, reason: str) -> None:
    (vault / "Memory" / "Facts" / "scout" / "Idea.md").write_bytes(data)
    edits = read_edits(memory, vault)
    assert edits.edits == ()
    assert problems(edits)["Idea"].startswith(reason)


def test_an_own_note_of_just_the_longest_length_is_a_fact(memory: Memory, vault: Path) -> None:
    (vault / "Memory" / "Facts" / "scout" / "Idea.md").write_bytes(b"x" * round_trip.MAX_NOTE_BYTES)
    assert len(only(read_edits(memory, vault)).text or "") == round_trip.MAX_NOTE_BYTES


def test_a_label_that_is_none_is_told_of_and_the_note_is_proposed_without(memory: Memory, vault: Path) -> None:
    (vault / "Memory" / "Facts" / "scout" / "Idea.md").write_text("---\nmem_confidence: sure\n---\nA thought.")
    edits = read_edits(memory, vault)
    assert [(edit.text, edit.confidence) for edit in edits.edits] == [("A thought.", None)]
    assert problems(edits)["Idea"].startswith("mem_confidence must be one of ")


def test_an_own_note_with_the_text_of_a_fact_that_has_no_note_yet_waits_for_publishing(
    memory: Memory, vault: Path
) -> None:
    own = vault / "Memory" / "Facts" / "scout" / "Idea.md"
    own.write_text("A thought.")
    memory.remember("scout", "A thought.")
    assert read_edits(memory, vault) == VaultEdits(str(vault), "Memory")
    own.write_text(GATE)
    assert only(read_edits(memory, vault)).text == GATE


# --- when it is no time to look --------------------------------------------------------------------------------------


def test_a_folder_that_was_never_published_has_no_edits_and_is_not_made(memory: Memory, tmp_path: Path) -> None:
    assert read_edits(memory, tmp_path / "other") == VaultEdits(str(tmp_path / "other"), "Memory")
    assert not (tmp_path / "other").exists()


def test_a_folder_that_is_being_published_is_not_read(memory: Memory, vault: Path) -> None:
    with locked(open_folder(vault, "Memory")), pytest.raises(PublishRefused, match="Another program"):
        read_edits(memory, vault)
    assert read_edits(memory, vault).edits == ()


def test_a_publish_that_ended_in_between_is_noticed(memory: Memory, vault: Path) -> None:
    def publish_again(done: int, total: int | None, what: str) -> None:
        memory.remember("scout", "One more.")
        publish(memory, vault)

    with pytest.raises(PublishRefused, match="Another program"):
        read_edits(memory, vault, progress=publish_again)


def edit_a_note(vault: Path) -> None:
    change(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")


def write_a_note(vault: Path) -> None:
    (vault / "Memory" / "Facts" / "scout" / "Idea.md").write_text("A thought.")


@pytest.mark.parametrize("prepare", [edit_a_note, write_a_note])
def test_looking_can_be_cancelled(memory: Memory, vault: Path, prepare: Callable[[Path], None]) -> None:
    prepare(vault)
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        read_edits(memory, vault, cancel=token)
