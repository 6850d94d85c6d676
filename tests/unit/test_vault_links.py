"""Links to entities that a person added to notes of facts, read as links of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.obsidian.edits import VaultEdits
from exporters.obsidian.proposals import to_proposals
from exporters.obsidian.publish import publish
from exporters.obsidian.round_trip import read_edits
from gm_engine import Memory
from tests.fakes.vault_notes import GATE, ZETA, add_line, fact_id, named_store, note, only, problems


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with named_store(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def vault(memory: Memory, tmp_path: Path) -> Path:
    publish(memory, tmp_path / "vault")
    return tmp_path / "vault"


@pytest.mark.parametrize(
    ("line", "link"),
    [
        (
            "- [[Memory/Entities/Omega Yard|the yard]] → houses → [[Memory/Entities/Delta Hall]]",
            "omega yard>delta hall",
        ),
        ("- [[Memory/Entities/Omega Yard]] [[/Memory/Entities/Delta Hall.md]]", "omega yard related_to delta hall"),
        ("- see [[Memory/Entities/Omega Yard]]", "zeta works related_to omega yard"),
        ("- see [[memory/entities/OMEGA YARD#History]]", "zeta works related_to omega yard"),
    ],
)
def test_a_line_that_names_entities_is_a_link_between_them(memory: Memory, vault: Path, line: str, link: str) -> None:
    add_line(note(vault, ZETA), line)
    edit = only(read_edits(memory, vault))
    assert edit.link is not None
    assert " ".join(edit.link) == link.replace(">", " houses ")
    assert (edit.kind, edit.fact_id, edit.is_conflict) == ("link", fact_id(memory, ZETA), False)
    (card,) = to_proposals(read_edits(memory, vault))
    assert (card.kind, card.details["from"], card.details["to"]) == ("link", edit.link[0], edit.link[2])
    assert card.reason.startswith("a link to an entity was added in the vault: ")


def test_the_same_link_twice_is_one_edit_and_two_lines_are_two(memory: Memory, vault: Path) -> None:
    for line in (
        "[[Memory/Entities/Omega Yard]]",
        "[[Memory/Entities/Omega Yard]] again",
        "[[Memory/Entities/Delta Hall]]",
    ):
        add_line(note(vault, ZETA), line)
    links = [edit.link for edit in read_edits(memory, vault).edits]
    assert sorted(link[2] for link in links if link is not None) == ["delta hall", "omega yard"]


def test_a_relation_of_any_length_is_cut(memory: Memory, vault: Path) -> None:
    words = "far " * 40
    add_line(note(vault, ZETA), f"[[Memory/Entities/Omega Yard]] {words}[[Memory/Entities/Delta Hall]]")
    edit = only(read_edits(memory, vault))
    assert edit.link is not None
    assert (edit.link[1], len(edit.link[1])) == (words[:80], 80)


@pytest.mark.parametrize(
    "line",
    [
        "[[Memory/Facts/scout/The lift is broken]]",
        "[[Memory/Entities/Zeta Works]] is [[Memory/Entities/Zeta Works]]",
        "[[Nowhere]] and no entity",
        "[[Memory/Entities/Omega Yard]] near [[Memory/Entities/Delta Hall]]",
        "[[Memory/Entities/Delta Hall]] near [[Memory/Entities/Omega Yard]]",
    ],
)
def test_links_that_are_known_or_lead_to_no_other_entity_are_no_edits(memory: Memory, vault: Path, line: str) -> None:
    memory.graph.link("omega yard", "delta hall", "near")
    add_line(note(vault, ZETA), line)
    assert read_edits(memory, vault) == VaultEdits(str(vault), "Memory")


def test_a_link_in_a_note_that_mentions_nothing_is_told_of(memory: Memory, vault: Path) -> None:
    add_line(note(vault, GATE), "[[Memory/Entities/Omega Yard]]")
    edits = read_edits(memory, vault)
    assert edits.edits == ()
    assert "mentions no other one" in problems(edits)["The gate opens at nine"]
