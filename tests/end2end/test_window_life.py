"""The life of an imported memory through the real window: reviewed, undone, blocked, restored, purged."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage

from gm_engine import BlockedValue, FactQuery, Memory
from gm_engine.clock import SystemClock
from tests.end2end.driving import AGAIN_S, ROOT, Window, a_window, holds, needs_display, shows

pytestmark = needs_display
FIXTURES = ROOT / "tests" / "fixtures" / "graymatter"
AGENT = "release-manager"
TWIN = "Rollback means redeploying the previous tag, never reverting on main."
CODE = "The vault code is 1234."
RAIL, STRIP = 184, 130  # px: what is beside and above the lists
INSPECTOR = QRect(980, 120, 280, 300)
LONG_S = 60.0  # for keys that would do something else if they acted twice
SECRET = "Spaces around this namespace are part of it."


@pytest.fixture
def window(display: str, tmp_path: Path) -> Iterator[Window]:
    """The desktop over both stores of the Go program, imported into one."""
    data_dir = tmp_path / "store"
    with Memory.open(data_dir, background=False) as memory:
        for name in ("gray.db", "contract.db"):
            memory.import_store(FIXTURES / name)
    with a_window(display, tmp_path, data_dir) as made:
        yield made


def test_a_person_reviews_a_duplicate_merges_entities_and_approves_a_checkpoint(window: Window) -> None:
    twins = _ids(window, TWIN)
    assert len(twins) == 3
    window.go("Consolidate")
    told = "the dry run says what it would do"
    assert not window.says_dry_run()
    window.insist("ctrl+shift+d", until=window.says_dry_run, what=told)
    assert _open_cards(window) == []
    listed = "the duplicate is in the inbox"
    window.insist("ctrl+r", until=lambda: "exact_duplicate" in _open_cards(window), what=listed)
    window.insist("ctrl+shift+m", until=lambda: len(_ids(window, TWIN)) == 1, what="the duplicate is merged")
    window.insist("ctrl+z", until=lambda: _ids(window, TWIN) == twins, what="the merge is taken back")

    before = _labels(window)
    window.go("Graph")
    window.until(lambda: window.shows("entity_person", 450, 950), "the graph is drawn")
    window.write("Omar Haddad")
    window.press("Return")
    window.insist("m", until=lambda: "Merge" in window.title, what="it asks which other entity is meant")
    window.press("ctrl+a")  # a second key that came late would stand before the name
    window.write("Tom Becker")
    window.press("Return")
    window.until(lambda: _labels(window) == before - {"Omar Haddad"}, "both are one")
    window.insist("ctrl+z", until=lambda: _labels(window) == before, what="both are back")

    window.go("Checkpoints")
    window.insist("Home", "d", until=lambda: window.shows("accent_soft", 560, 700), what="a change is shown")
    window.press("a")
    window.until(lambda: _verdicts(window) == ["approved"], "the checkpoint is approved")
    window.quit()
    assert "Traceback" not in window.output


def test_a_person_blocks_a_value_restores_a_fact_and_purges_a_text(window: Window) -> None:
    retired = _retired(window)
    window.go("Settings")
    window.call("Settings: Blocked values")
    window.insist("Tab", "space", until=lambda: "Block a value" in window.title, what="it asks for the value")
    window.write(CODE)
    window.press("ctrl+Return")
    window.until(lambda: _attempts(window) == [0], "the value is blocked")
    with Memory.open(window.data_dir, background=False) as agent, pytest.raises(BlockedValue):
        agent.remember(AGENT, CODE)
    window.go("Memory")
    window.insist("ctrl+n", until=lambda: "Add a fact" in window.title, what="it asks for a new fact")
    window.write(CODE)
    window.press("ctrl+Return")
    window.until(lambda: _attempts(window) == [2], "the person is refused as the agent was")
    assert CODE not in window.texts()

    window.insist("Escape", until=lambda: window.page == "Memory", what="the dialog is closed")
    window.go("Overview")
    _open_retired(window)
    window.until(lambda: _restores(window, retired), "a retired fact is back")

    assert _files_with(window, SECRET)
    window.call("Remove a text for good…")
    window.until(lambda: "Remove a text" in window.title, "it asks for the text")
    window.write(SECRET)
    window.press("Tab", "Tab", "Tab", "Tab")
    window.write("remove")
    window.until(lambda: window.shows("danger", 300, 600), "the button works")
    window.press("Tab", "Tab", "space")
    window.until(lambda: SECRET not in window.texts(), "the text is gone from the store")
    window.until(lambda: _files_with(window, SECRET) == [], "the text is nowhere in the data directory")


def test_a_person_looks_back_before_the_last_ten_changes_and_to_last_month(window: Window) -> None:
    with Memory.open(window.data_dir, background=False) as agent:
        newest = agent.facts(agent.fact_ids(FactQuery(kind="content")))[:11]
        for fact in newest:
            agent.retire(fact.agent_id, [fact.id])
    last_ten = {fact.id for fact in newest[1:]}
    pinned = _pinned(window)
    month_ago_ns = SystemClock().now_ns() - 30 * 86_400 * 1_000_000_000
    window.go("Past")  # its actions are known once it was built
    window.go("Activity")
    _look_back(window, "a month ago")
    window.until(lambda: _is_past(window) and _is_reconstructed(window), "last month is reconstructed")
    window.insist("Escape", until=lambda: window.page == "Activity", what="one is back where one came from")
    _look_back(window, "a month ago")
    _open_first(window)
    window.until(lambda: _pins_shown(window, pinned), "the fact of last month is pinned")
    (new,) = _pinned(window).keys() - pinned.keys()
    assert _pinned(window)[new] <= month_ago_ns + 3600 * 1_000_000_000

    _look_back(window, "before the last 10 changes")
    window.until(lambda: _is_past(window) and not _is_reconstructed(window), "the journal knows that moment")
    _open_first(window)
    window.until(lambda: _restores_shown(window, last_ten), "the fact that was live then is live again")
    window.quit()
    assert "Traceback" not in window.output


def _look_back(window: Window, when: str) -> None:
    """Opens the store as it was, through the palette."""

    def opened() -> bool:
        window.call(f"Show the store as it was: {when}")
        return holds(lambda: window.page == "Past", LONG_S)

    window.until(opened, f"the store is shown as it was {when}")


def _open_first(window: Window) -> None:
    """Opens the first fact of then as it is now, and waits until the Memory page has it in the inspector."""
    window.insist("Home", until=lambda: _inspects(window, "border_strong"), what="the first fact is shown")

    def opened() -> bool:
        window.press("ctrl+Return")
        return holds(lambda: window.page == "Memory", LONG_S)

    window.until(opened, "the fact is opened on the Memory page")
    window.until(lambda: _inspects(window, "accent"), "the fact is in the inspector")


def _inspects(window: Window, role: str) -> bool:
    """Whether the button that only a shown fact has can be seen: its frame on the page Past, its ground on Memory."""
    picture = window.picture("inspector").copy(INSPECTOR)
    return shows(picture, role, 0, picture.width())


def _strip(window: Window) -> QImage:
    """The top of the page, where it says which moment it shows."""
    picture = window.picture("strip")
    return picture.copy(RAIL, 0, picture.width() - RAIL, STRIP)


def _is_past(window: Window) -> bool:
    strip = _strip(window)
    return shows(strip, "info_soft", 0, strip.width())


def _is_reconstructed(window: Window) -> bool:
    strip = _strip(window)
    return shows(strip, "warning_soft", 0, strip.width())


def _restores_shown(window: Window, retired: set[str]) -> bool:
    """While another fact is in the inspector still, there is nothing to restore."""
    window.call("Restore")
    return holds(lambda: bool(retired & window.facts().keys()), AGAIN_S)


def _pins_shown(window: Window, pinned: dict[str, int]) -> bool:
    window.call("Pin")
    return holds(lambda: _pinned(window).keys() > pinned.keys(), AGAIN_S)


def _pinned(window: Window) -> dict[str, int]:
    """When each pinned fact was written."""
    return {fact_id: fact.created_ns for fact_id, fact in window.facts().items() if fact.pinned}


def _open_retired(window: Window) -> None:
    """From the first number on the Overview to the second, and to its list."""
    window.until(lambda: window.shows("focus", 200, 1300), "the first number has the keyboard")
    window.press("Tab", "Return")
    window.until(lambda: window.page == "Memory", "the retired facts are listed")


def _restores(window: Window, retired: set[str]) -> bool:
    """Selects a row, as soon as there are rows, and restores it.

    Before there are, the palette knows no better action of that name than to restore a backup, and asks for the file.
    """
    if not window.page:
        window.press("Escape")
        return False
    window.press("Down")
    window.call("Restore")
    return holds(lambda: _retired(window) < retired, AGAIN_S)


def _ids(window: Window, text: str) -> set[str]:
    """The live facts of the agent with this text."""
    return {each.id for each in window.facts().values() if (each.agent_id, each.text) == (AGENT, text)}


def _retired(window: Window) -> set[str]:
    with window.store() as memory:
        return set(memory.fact_ids(FactQuery(status="retired", kind="content")))


def _open_cards(window: Window) -> list[str]:
    with window.store() as memory:
        return [card.kind for card in memory.inbox.list("open")]


def _labels(window: Window) -> set[str]:
    with window.store() as memory:
        return {entity.label for entity in memory.graph.entities()}


def _verdicts(window: Window) -> list[str]:
    with window.store() as memory:
        return [each.verdict for each in memory.checkpoints.list() if each.verdict]


def _attempts(window: Window) -> list[int]:
    with window.store() as memory:
        return [each.attempts for each in memory.blocked.list()]


def _files_with(window: Window, text: str) -> list[str]:
    """What `grep -r` finds below the data directory."""
    command = ["grep", "-rlaF", "--", text, str(window.data_dir)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
