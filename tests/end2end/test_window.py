"""The real window under Xvfb, driven by keys as a person would: demo, search, Why this?, revise, undo, publish."""

from __future__ import annotations

import threading
from pathlib import Path

from gm_engine import Memory
from gm_engine.proposals import PROPOSAL_STATES
from tests.end2end.driving import Window, needs_display, shows

pytestmark = needs_display
INSPECTOR = 320


def test_a_person_finds_out_why_corrects_takes_back_and_publishes(window: Window, tmp_path: Path) -> None:
    before = {fact_id: fact.text for fact_id, fact in window.facts().items()}
    window.go("Search")
    window.write("delivery inside Germany")
    window.until(lambda: _explains(window), "the inspector shows why the first hit came back")

    window.go("Memory")
    window.insist("Down", "Return", until=lambda: "Revise" in window.title, what="the editor is open")
    window.until(lambda: _rewrote(window, "The night shift starts at eleven"), "the new text can be saved")
    window.press("ctrl+Return")
    window.until(lambda: "The night shift starts at eleven" in window.texts(), "the revision is in the store")
    assert len(set(before.values()) - window.texts()) == 1

    window.insist("ctrl+z", until=lambda: window.texts() == set(before.values()), what="the revision is taken back")

    vault = tmp_path / "vault"
    window.go("Vault")
    window.write(str(vault))
    window.press("Return", "ctrl+Return")
    window.until((vault / "Memory" / ".graymatter" / "manifest.json").is_file, "everything is published")
    assert (vault / "Memory" / "Memory.md").is_file()

    window.quit()
    assert window.process.returncode == 0
    assert "Traceback" not in window.output
    assert "store" in (tmp_path / "config" / "graymatter" / "preferences.ini").read_text()


def test_a_person_merges_a_duplicate_by_one_key_and_takes_it_back(window: Window) -> None:
    waiting = _cards(window)
    assert waiting[0] == ("exact_duplicate", "open"), "the demo holds a duplicate"
    with Memory.open(window.data_dir, background=False) as agent:
        twins = agent.inbox.list(kind="exact_duplicate")[0].facts
        for _ in range(2):
            agent.remember("release-pilot", "The bell rings at noon.")
    window.go("Consolidate")
    told = "the dry run says what it would do"
    assert not window.says_dry_run()
    window.insist("ctrl+shift+d", until=window.says_dry_run, what=told)
    assert _cards(window) == waiting

    more = sorted([*waiting, ("exact_duplicate", "open")])
    window.insist("ctrl+r", until=lambda: sorted(_cards(window)) == more, what="the new duplicate is in the inbox")
    window.until(lambda: _rests(window), "every agent's cycle has ended")
    merged = ("exact_duplicate", "accepted")
    window.insist("Right", until=lambda: merged in _cards(window), what="the first duplicate is merged")
    assert len(set(twins) & set(window.facts())) == 1

    window.insist("ctrl+z", until=lambda: set(twins) <= set(window.facts()), what="the merge is taken back")
    assert sorted(_cards(window)) == more


def test_a_person_sees_what_changed_approves_and_takes_it_back_from_the_journal(window: Window) -> None:
    window.go("Checkpoints")
    window.insist("Home", "Down", "d", until=lambda: window.shows("accent_soft", 560, 700), what="a change is shown")
    window.press("a")
    window.until(lambda: _verdicts(window) == ["approved"], "the checkpoint is approved")

    window.go("Activity")
    window.insist("u", until=lambda: _verdicts(window) == [], what="the approval is taken back")
    window.go("Overview")
    window.insist("Return", until=lambda: window.page == "Memory", what="a number opened its list")


def test_a_person_merges_two_entities_by_keys_and_takes_it_back(window: Window) -> None:
    assert {"Heron", "Wren"} <= _entities(window), "the demo has a graph"
    window.go("Graph")
    window.until(lambda: window.shows("entity_place", 450, 950), "the graph is drawn")
    window.write("Wren")
    window.press("Return")
    window.insist("m", until=lambda: "Merge" in window.title, what="it asks which other entity is meant")
    window.press("ctrl+a")  # a second key that came late would stand before the name
    window.write("Heron")
    window.press("Return")
    window.until(lambda: "Wren" not in _entities(window), "both are one")

    window.insist("ctrl+z", until=lambda: {"Heron", "Wren"} <= _entities(window), what="both are back")


def _entities(window: Window) -> set[str]:
    """The graph's labels, read from outside."""
    with window.store() as memory:
        return {entity.label for entity in memory.graph.entities()}


def _rests(window: Window) -> bool:
    """Whether nothing is written any more: a cycle that still runs withdraws cards by what it read before."""
    seen: list[int] = []
    for _ in range(2):
        with window.store() as memory:
            seen.append(memory.last_seq())
        threading.Event().wait(4.0)
    return seen[0] == seen[1]


def _verdicts(window: Window) -> list[str]:
    with window.store() as memory:
        return [each.verdict for each in memory.checkpoints.list() if each.verdict]


def _cards(window: Window) -> list[tuple[str, str]]:
    """What is in the inbox, read from outside: kind and state."""
    with window.store() as memory:
        return [(card.kind, card.state) for state in PROPOSAL_STATES for card in memory.inbox.list(state)]


def _rewrote(window: Window, text: str) -> bool:
    window.press("ctrl+a")
    window.write(text)
    picture = window.picture("editor")
    return all(shows(picture, role, 0, picture.width()) for role in ("accent", "diff_removed"))


def _explains(window: Window) -> bool:
    picture = window.picture("why")
    left = picture.width() - INSPECTOR + 8
    return all(shows(picture, role, left, picture.width()) for role in ("signal_keyword", "signal_recency", "match"))
