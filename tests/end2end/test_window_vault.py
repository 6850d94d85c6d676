"""The real window under Xvfb: publish, six things done in Obsidian, the inbox, accept all, publish again, rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.obsidian.reading import read_note
from gm_desktop.preferences import Preferences
from gm_engine import Fact, FactQuery, Memory, Proposal
from tests.end2end.driving import Window, a_display, a_window, needs_display

pytestmark = needs_display
GRAY = Path(__file__).parent.parent / "fixtures" / "graymatter" / "gray.db"
LEFTOVER = ".graymatter-write-0"  # what a killed publish leaves: the next one takes it away, also when it has no work
THOUGHT = "A thought of my own."
State = dict[str, tuple[bytes, int, int]]


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Window]:
    """The desktop over an imported store; the vault was chosen in an earlier session."""
    with Memory.open(tmp_path / "store", background=False) as memory:
        memory.import_store(GRAY)
    (tmp_path / "vault").mkdir()
    preferences = Preferences(tmp_path / "config" / "graymatter")
    preferences.vault = str(tmp_path / "vault")
    preferences.save()
    with a_display() as display, a_window(display, tmp_path, tmp_path / "store") as opened:
        yield opened


def state(vault: Path) -> State:
    """Content, time and inode of every file of the vault."""
    return {
        path.relative_to(vault).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(vault.rglob("*"))
        if path.is_file()
    }


def notes_of(vault: Path) -> dict[str, Path]:
    return {read_note(path).fact_id: path for path in (vault / "Memory" / "Facts").rglob("*.md")}


def is_published(window: Window, vault: Path) -> bool:
    """Whether the vault shows the store as it is now, without exception; its own records are written last."""
    records = vault / "Memory" / ".graymatter"
    if not (records / "files.json").exists():
        return False
    if (records / "files.json").stat().st_mtime_ns < (records / "manifest.json").stat().st_mtime_ns:
        return False
    with window.store() as memory:
        complete = json.loads((records / "manifest.json").read_text())["complete"]
        return str(complete).startswith(f"{memory.last_seq()}-")


def waiting(window: Window) -> tuple[Proposal, ...]:
    with window.store() as memory:
        return memory.inbox.list("waiting", source="vault")


def seen(cards: tuple[Proposal, ...]) -> list[tuple[str, str, bool]]:
    """What is proposed: the kind, the text, whether the store changed too."""
    return sorted((card.kind, card.text, bool(card.details.get("conflict"))) for card in cards)


def replace_text(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def do_six_things(window: Window, vault: Path) -> tuple[dict[str, Fact], list[tuple[str, str, bool]]]:
    """What a person does in Obsidian, and an agent in the store; which facts, and what the inbox will hold."""
    plain = [fact for fact in window.facts().values() if fact.text.isascii() and fact.kind != "alias"]
    plain = [fact for fact in plain if fact.text.replace(" ", "").replace(".", "").isalnum() and not fact.pinned]
    edited, pinned, deleted, renamed, contested = sorted(plain, key=lambda fact: fact.id)[:5]
    notes = notes_of(vault)
    with Memory.open(window.data_dir, background=False) as memory:
        memory.revise(contested.agent_id, [contested.id], f"{contested.text} Says the store.")
    replace_text(notes[contested.id], f"> {contested.text}", f"> {contested.text} Says the vault.")
    replace_text(notes[edited.id], f"> {edited.text}", f"> {edited.text} Seen again in May.")
    replace_text(notes[pinned.id], "mem_pinned: false", "mem_pinned: true")
    notes[deleted.id].unlink()
    (notes[edited.id].parent / "Idea.md").write_text(f"{THOUGHT}\n")
    notes[renamed.id].rename(notes[renamed.id].with_name("My own name.md"))
    facts = {"edited": edited, "pinned": pinned, "deleted": deleted, "renamed": renamed, "contested": contested}
    expected = [
        ("revise", f"{contested.text} Says the vault.", True),
        ("revise", f"{edited.text} Seen again in May.", False),
        ("pin", "", False),
        ("retire", "", False),
        ("write", THOUGHT, False),
    ]
    return facts, sorted(expected)


def test_six_things_done_in_obsidian_come_back_through_the_window(window: Window, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    window.go("Vault")
    window.insist("ctrl+Return", until=lambda: is_published(window, vault), what="the store is published")

    facts, expected = do_six_things(window, vault)
    window.until(lambda: seen(waiting(window)) == expected, f"exactly this waits in the inbox: {expected}")
    window.picture("inbox")

    window.insist("ctrl+j", "Right", until=lambda: len(waiting(window)) < 5, what="one edit is accepted by one key")
    conflict = [card for card in expected if card[2]]
    window.insist(
        "ctrl+shift+m", until=lambda: seen(waiting(window)) in ([], conflict), what="all but the conflict are accepted"
    )
    window.insist("Right", until=lambda: waiting(window) == (), what="the vault's side of the conflict is kept")
    check_store(window, facts)
    with Memory.open(window.data_dir, background=False) as memory:
        while memory.graph.extract_step():  # the names in what was accepted are found before the publish, not after it
            pass

    before = state(vault)
    window.insist("ctrl+Return", until=lambda: is_published(window, vault), what="the accepted edits are published")
    after = state(vault)
    touched = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    live = {fact.text: fact for fact in window.facts().values()}
    now = notes_of(vault)
    new = [f"{facts['edited'].text} Seen again in May.", THOUGHT, f"{facts['contested'].text} Says the vault."]
    expected_notes = {now[live[text].id] for text in new} | {now[facts["pinned"].id]}
    in_facts = {name for name in touched if name.startswith("Memory/Facts/") and name in after}
    assert in_facts == {path.relative_to(vault).as_posix() for path in expected_notes}
    assert now[facts["renamed"].id].name == "My own name.md"
    assert {text: read_note(now[live[text].id]).text for text in new} == {text: text for text in new}

    (vault / "Memory" / LEFTOVER).write_bytes(b"x")
    window.insist(
        "ctrl+Return", until=lambda: not (vault / "Memory" / LEFTOVER).exists(), what="a last publish has looked"
    )
    window.quit()
    assert state(vault) == after
    assert "Traceback" not in window.output


def check_store(window: Window, facts: dict[str, Fact]) -> None:
    """The store holds what was done, with the vault as its origin."""
    live = {fact.text: fact for fact in window.facts().values()}
    for text in (f"{facts['edited'].text} Seen again in May.", THOUGHT, f"{facts['contested'].text} Says the vault."):
        assert live[text].origin.channel == "vault"
    assert live[facts["pinned"].text].pinned
    with window.store() as memory:
        assert memory.get(facts["deleted"].id).is_superseded
        assert facts["deleted"].id not in memory.fact_ids(FactQuery())
