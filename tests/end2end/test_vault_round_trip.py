"""Six things a person does in Obsidian, seen in the inbox, accepted, and published again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.obsidian.proposals import scope_of, to_proposals
from exporters.obsidian.publish import publish
from exporters.obsidian.reading import read_note
from exporters.obsidian.round_trip import read_edits
from gm_engine import Fact, FactQuery, InboxRefresh, Memory
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

GRAY = Path(__file__).parent.parent / "fixtures" / "graymatter" / "gray.db"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        opened.import_store(GRAY)
        yield opened


def refresh(memory: Memory, vault: Path) -> InboxRefresh:
    edits = read_edits(memory, vault)
    assert edits.problems == ()
    return memory.inbox.refresh("vault", scope_of(edits), to_proposals(edits))


def state(root: Path) -> dict[str, tuple[bytes, int, int]]:
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def notes_of(vault: Path) -> dict[str, Path]:
    found = {}
    for path in (vault / "Memory" / "Facts").rglob("*.md"):
        found[read_note(path).fact_id] = path
    return found


def replace_text(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new, 1))


def test_six_edits_come_back_as_reviewed_changes_and_the_vault_comes_to_rest(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    publish(memory, vault)
    plain = [
        fact
        for fact in memory.facts(memory.fact_ids(FactQuery(kind="content", pinned=False)))
        if fact.text.isascii() and fact.text.replace(" ", "").replace(".", "").isalnum()
    ]
    edited, pinned, deleted, renamed, contested = plain[:5]
    notes = notes_of(vault)
    agent_folder = notes[edited.id].parent

    replace_text(notes[edited.id], f"> {edited.text}", f"> {edited.text} Seen again in May.")
    replace_text(notes[pinned.id], "mem_pinned: false", "mem_pinned: true")
    notes[deleted.id].unlink()
    (agent_folder / "Idea.md").write_text("A thought of my own.\n")
    moved = notes[renamed.id].with_name("My own name.md")
    notes[renamed.id].rename(moved)
    replace_text(notes[contested.id], f"> {contested.text}", f"> {contested.text} Says the vault.")
    theirs = memory.revise(contested.agent_id, [contested.id], f"{contested.text} Says the store.")

    refreshed = refresh(memory, vault)
    cards = {proposal.kind: proposal for proposal in refreshed.added if not proposal.details["conflict"]}
    (clash,) = (proposal for proposal in refreshed.added if proposal.details["conflict"])
    assert len(refreshed.added) == 5
    assert set(cards) == {"revise", "pin", "retire", "write"}
    assert (cards["revise"].facts, cards["pin"].facts, cards["retire"].facts) == (
        (edited.id,),
        (pinned.id,),
        (deleted.id,),
    )
    assert (cards["write"].text, cards["write"].agent_id) == ("A thought of my own.", edited.agent_id)
    assert (clash.kind, clash.facts, clash.text) == ("revise", (theirs.id,), f"{contested.text} Says the vault.")
    assert refresh(memory, vault) == InboxRefresh(waiting=5)

    decision = memory.inbox.accept_many([proposal.id for proposal in memory.inbox.list(source="vault")])
    assert (len(decision.accepted), decision.left) == (5, ())
    live = {fact.text: fact for fact in memory.facts(memory.fact_ids(FactQuery()))}
    new_texts = [f"{edited.text} Seen again in May.", "A thought of my own.", f"{contested.text} Says the vault."]
    assert {live[text].origin.channel for text in new_texts} == {"vault"}
    assert memory.entry(decision.seq or 0).actor.channel == "vault"
    assert memory.get(pinned.id).pinned
    assert memory.get(deleted.id).is_superseded
    assert memory.get(theirs.id).superseded_by == live[new_texts[2]].id
    assert refresh(memory, vault) == InboxRefresh()

    before = state(vault)
    report = publish(memory, vault)
    assert (report.left, report.broken_links, report.orphaned) == ((), (), ())
    after = state(vault)
    touched = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    changed_facts = {name for name in touched if name.startswith("Memory/Facts/")}
    expected: set[Fact] = {live[text] for text in new_texts} | {memory.get(pinned.id)}
    now = notes_of(vault)
    renamed_away = {name for name in changed_facts if name not in after}
    assert changed_facts - renamed_away == {now[fact.id].relative_to(vault).as_posix() for fact in expected}
    assert {name for name in touched if name.startswith("Memory/Checkpoints/")} == set()
    assert now[live["A thought of my own."].id] == agent_folder / "Idea.md"
    assert (now[renamed.id], deleted.id in now, contested.id in now, edited.id in now) == (moved, False, False, False)
    for text in new_texts:
        assert read_note(now[live[text].id]).text == text

    rest = state(vault)
    final = publish(memory, vault)
    assert (final.written, state(vault)) == (0, rest)
    assert refresh(memory, vault) == InboxRefresh()


def test_a_rejected_edit_keeps_the_store_and_the_vaults_words_go_to_the_trash(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    publish(memory, vault)
    fact = memory.facts(memory.fact_ids(FactQuery(kind="content", pinned=False)))[0]
    note = notes_of(vault)[fact.id]
    text = note.read_text()
    note.write_text(text.replace("\n> ", "\n> No: ", 1) + "\nBelow, mine.\n")
    (proposal,) = refresh(memory, vault).added
    published = publish(memory, vault)
    assert [left.status for left in published.left] == ["edited"]
    memory.inbox.reject(proposal.id)
    assert refresh(memory, vault).added == ()
    assert publish(memory, vault).left == ()
    assert read_note(note).text == fact.text
    assert note.read_text().endswith("\nBelow, mine.\n")
    (kept,) = (vault / ".trash").rglob("*.md")
    assert "> No: " in kept.read_text()


def test_a_rejected_deletion_brings_the_note_back(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    publish(memory, vault)
    fact = memory.facts(memory.fact_ids(FactQuery()))[0]
    note = notes_of(vault)[fact.id]
    note.unlink()
    (proposal,) = refresh(memory, vault).added
    memory.inbox.reject(proposal.id)
    assert publish(memory, vault).left == ()
    assert note.exists()


def test_a_link_a_copy_and_an_unreadable_note_are_told_apart(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    first = memory.graph.add("Zeta Works", type="organisation").entities[0]
    second = memory.graph.add("Omega Yard", type="place").entities[0]
    fact, other, broken = (memory.remember("scout", text) for text in ("Zeta Works grows.", "Plain.", "Third."))
    publish(memory, vault)
    notes = notes_of(vault)
    replace_text(notes[fact.id], "\n%% graymatter:end", "- [[Memory/Entities/Omega Yard|yard]]\n%% graymatter:end")
    copy = notes[other.id].with_name("Plain (Conflicted copy 2026).md")
    copy.write_text(notes[other.id].read_text().replace("> Plain.", "> Plainer."))
    replace_text(notes[broken.id], "mem_agent", "\tmem_agent")
    edits = read_edits(memory, vault)
    assert [problem.note for problem in edits.problems] == [notes[broken.id].relative_to(vault).as_posix()]
    cards = {card.kind: card for card in memory.inbox.refresh("vault", scope_of(edits), to_proposals(edits)).added}
    assert set(cards) == {"link", "revise"}
    assert cards["revise"].details["conflict"] is True
    memory.inbox.accept_many([card.id for card in cards.values()])
    (edge,) = (edge for edge in memory.graph.edges() if edge.to_id == second.id)
    assert (edge.from_id, edge.relation, edge.sources) == (first.id, "related_to", (fact.id,))
    report = publish(memory, vault)
    assert ([left.status for left in report.left], report.broken_links) == (["unreadable"], ())
    assert "Omega Yard" in notes[fact.id].read_text().split("graymatter:end")[1]
