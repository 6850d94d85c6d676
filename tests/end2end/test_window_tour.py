"""The first start of the real window: the tour comes by itself, is walked by keys, and never comes again."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import QRect

from gm_desktop.preferences import Preferences
from tests.end2end.driving import Window, a_window, holds, needs_display, shows

pytestmark = needs_display
PAGES = ["Memory", "Search", "Consolidate", "Vault", "Settings"]
AGENTS = QRect(188, 400, 10, 100)  # px: the left side of the line around the agents, where they are few
CALM_S = 5.0


def test_the_tour_is_walked_by_keys_on_the_first_start_and_never_comes_again(display: str, tmp_path: Path) -> None:
    config = tmp_path / "config" / "graymatter"
    with a_window(display, tmp_path, tmp_path / "store", "--demo", with_tour=True) as window:
        window.until(lambda: _is_outlined(window), "the tour has begun")
        assert Preferences(config).tour_seen
        before = _newest(window)
        for here, following in pairwise(PAGES):
            assert window.page == here
            key = "Right" if following != "Vault" else "Return"
            window.insist(key, until=partial(_is_on, window, following), what=f"{following} is shown")
        window.insist("Left", until=lambda: window.page == "Vault", what="one step back")
        window.press("Right")
        window.until(lambda: window.page == "Settings", "the last step again")
        window.press("Return")
        window.until(lambda: window.page == "Memory", "one is back where one came from")
        assert not _is_outlined(window)
        assert _newest(window) == before, "the keys of the tour decided about a card"
        window.quit()
        assert "Traceback" not in window.output
    with a_window(display, tmp_path, tmp_path / "store", with_tour=True) as window:
        assert not holds(lambda: _is_outlined(window), CALM_S)
        window.call("Show the tour")
        window.until(lambda: _is_outlined(window), "the tour shows when it is asked for")
        window.insist("Escape", until=lambda: not _is_outlined(window), what="it is skipped")
        window.quit()


def _is_on(window: Window, page: str) -> bool:
    return window.page == page


def _newest(window: Window) -> int:
    """The journal's last entry, read from outside."""
    with window.store() as memory:
        return memory.last_seq()


def _is_outlined(window: Window) -> bool:
    return shows(window.picture("look").copy(AGENTS), "accent", 0, AGENTS.width())
