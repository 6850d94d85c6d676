"""A program writes over MCP, a person decides in the real window by keys, and the program finds what was accepted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import Memory, Proposal
from tests.end2end.driving import Window, a_window, needs_display
from tests.fakes.mcp_peer import RawServer, raw_server

pytestmark = needs_display
AGENT, PROGRAM = "depot", "scout"
KEPT, WORDED, UNWANTED = "The north gate opens at six.", "The gate's key is lost.", "The gate is never locked."
REWORDED = "The gate's key hangs behind the counter."
DOT, EDITOR, ACCEPT = (200, 500), (900, 1000), (1190, 1250)  # columns of pixels where nothing else has their colour


@pytest.fixture
def window(display: str, tmp_path: Path) -> Iterator[Window]:
    """The desktop over a store that holds nothing."""
    data_dir = tmp_path / "store"
    Memory.open(data_dir, background=False).close()
    with a_window(display, tmp_path, data_dir) as made:
        yield made


def test_a_program_finds_exactly_what_a_person_accepted_of_its_writes(window: Window) -> None:
    with raw_server(window.data_dir) as server:
        server.initialize(PROGRAM, "2.1")
        window.until(lambda: _connected(window) == [PROGRAM], "the program is connected")
        _let_writes_wait(window)
        for text in (KEPT, WORDED, UNWANTED):
            answer = server.call("memory_add", agent_id=AGENT, text=text)
            assert answer["structuredContent"] == {"agent_id": AGENT, "stored": False}
            assert _waiting(window)[-1].id in answer["content"][0]["text"]
        assert _found(server) == []

        window.go("Review")
        window.until(lambda: window.shows("accent", *ACCEPT), "the first write can be accepted")
        window.insist("Right", until=lambda: window.texts() == {KEPT}, what="the first write is in the store")
        window.insist("e", until=lambda: window.shows("focus", *EDITOR), what="the second write is edited")
        window.press("ctrl+a")
        window.write(REWORDED)
        window.press("ctrl+Return")
        window.until(lambda: window.texts() == {KEPT, REWORDED}, "the second write is in the store in other words")
        window.insist("Left", until=lambda: _waiting(window) == [], what="the third write is rejected")

        assert _found(server) == sorted((KEPT, REWORDED))
        assert server.close() == 0
    window.quit()
    assert "Traceback" not in window.output


def _let_writes_wait(window: Window) -> None:
    """From Activity to its clients, and the right of the only one."""
    window.go("Activity")
    window.call("Show the clients")
    window.until(lambda: window.shows("success", *DOT), "the client and its dot are listed")
    window.call("Client everywhere: Writes wait for review")
    window.until(lambda: _access(window) == "review", "its writes wait from now on")


def _connected(window: Window) -> list[str]:
    with window.store() as memory:
        return [client.name for client in memory.clients.list()]


def _access(window: Window) -> str:
    with window.store() as memory:
        return memory.clients.access(PROGRAM)


def _waiting(window: Window) -> list[Proposal]:
    """What waits, oldest first, read from outside."""
    with window.store() as memory:
        return list(memory.inbox.list("open", source="review"))


def _found(server: RawServer) -> list[str]:
    """What the program finds, by its own search."""
    answer = server.call("memory_search", agent_id=AGENT, query="the gate", top_k=50)
    return sorted(answer["structuredContent"]["facts"])
