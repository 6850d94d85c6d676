"""The real window under Xvfb, driven by keys as a person would: demo, search, Why this?, revise, undo, publish."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage

from gm_desktop.theme import load_tokens
from gm_engine import Fact, FactQuery, Memory
from gm_engine.proposals import PROPOSAL_STATES

TOOLS = ("Xvfb", "openbox", "xdotool")
pytestmark = [
    pytest.mark.end2end,
    pytest.mark.skipif(any(shutil.which(tool) is None for tool in TOOLS), reason=f"needs {', '.join(TOOLS)}"),
]
ROOT = Path(__file__).parents[2]
PATIENCE_S = 90.0
LOOK_EVERY_S = 0.2
INSPECTOR = 320
CAMERA = """
import sys
from PySide6.QtGui import QGuiApplication
camera = QGuiApplication([])
sys.exit(not camera.primaryScreen().grabWindow(int(sys.argv[1])).save(sys.argv[2]))
"""


@dataclass(frozen=True, slots=True)
class Window:
    """A running desktop on a display of its own."""

    environment: dict[str, str]
    process: subprocess.Popen[bytes]
    data_dir: Path
    scratch: Path

    def xdotool(self, *arguments: str) -> str:
        run = subprocess.run(
            ["xdotool", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        return run.stdout.strip()

    def press(self, *keys: str) -> None:
        self.xdotool("key", "--clearmodifiers", "--delay", "40", *keys)

    def write(self, text: str) -> None:
        self.xdotool("type", "--clearmodifiers", "--delay", "15", text)

    def picture(self, name: str) -> QImage:
        path = self.scratch / f"{name}.png"
        command = [sys.executable, "-c", CAMERA, self.xdotool("getactivewindow"), str(path)]
        subprocess.run(command, env=self.environment, timeout=PATIENCE_S, check=True)
        return QImage(str(path))

    def facts(self) -> dict[str, Fact]:
        """The live facts, read from outside."""
        with Memory.open(self.data_dir, read_only=True, background=False) as memory:
            return {fact.id: fact for fact in memory.facts(memory.fact_ids(FactQuery()))}


def until(condition: Callable[[], bool], what: str) -> None:
    """Looks again and again until `condition` holds."""
    pause = threading.Event()
    for _ in range(round(PATIENCE_S / LOOK_EVERY_S)):
        if condition():
            return
        pause.wait(LOOK_EVERY_S)
    pytest.fail(f"gave up waiting until {what}")


@pytest.fixture
def display() -> Iterator[str]:
    """An X server with a window manager (without one, typing is lost)."""
    read_end, write_end = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "1400x900x24", "-nolisten", "tcp"],
        pass_fds=[write_end],
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        name = f":{pipe.readline().strip()}"
    manager = subprocess.Popen(["openbox"], env={**os.environ, "DISPLAY": name}, stderr=subprocess.DEVNULL)
    yield name
    for process in (manager, server):
        process.terminate()
        process.wait(PATIENCE_S)


@pytest.fixture
def window(display: str, tmp_path: Path) -> Iterator[Window]:
    """The desktop over a fresh demo store."""
    environment = {
        **os.environ,
        "DISPLAY": display,
        "QT_QPA_PLATFORM": "xcb",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    command = [sys.executable, "-m", "gm_desktop", "--demo", "--data-dir", str(tmp_path / "store")]
    with (tmp_path / "output").open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
        yield Window(environment, process, tmp_path / "store", tmp_path)
        if process.poll() is None:
            process.kill()
            process.wait(PATIENCE_S)


def _has(picture: QImage, role: str, left: int, right: int) -> bool:
    wanted = load_tokens("light").color(role)
    return any(
        QColor(picture.pixel(x, y)) == wanted for x in range(left, right, 2) for y in range(0, picture.height(), 2)
    )


def test_a_person_finds_out_why_corrects_takes_back_and_publishes(window: Window, tmp_path: Path) -> None:
    window.xdotool("search", "--sync", "--onlyvisible", "--name", "GrayMatter")
    until(lambda: "store" in _title(window), "the demo is open")
    before = {fact_id: fact.text for fact_id, fact in window.facts().items()}

    window.press("ctrl+2")
    window.write("delivery inside Germany")
    until(lambda: _explains(window), "the inspector shows why the first hit came back")

    window.press("ctrl+1", "Down", "Return")
    until(lambda: "Revise" in _title(window), "the editor is open")
    until(lambda: _rewrote(window, "The night shift starts at eleven"), "the new text can be saved")
    window.press("ctrl+Return")
    until(lambda: "The night shift starts at eleven" in _texts(window), "the revision is in the store")
    revised = _texts(window)
    assert len(set(before.values()) - revised) == 1

    window.press("ctrl+z")
    until(lambda: _texts(window) == set(before.values()), "the revision is taken back")

    vault = tmp_path / "vault"
    go(window, "Vault")
    window.write(str(vault))
    window.press("Return")
    until((vault / "Memory" / ".graymatter" / "manifest.json").is_file, "everything is published")
    assert (vault / "Memory" / "Memory.md").is_file()

    until(lambda: _quits(window), "the window is closed")
    assert window.process.returncode == 0
    assert (tmp_path / "output").read_text(errors="replace").count("Traceback") == 0
    assert "store" in (tmp_path / "config" / "graymatter" / "preferences.ini").read_text()


def test_a_person_merges_a_duplicate_by_one_key_and_takes_it_back(window: Window) -> None:
    window.xdotool("search", "--sync", "--onlyvisible", "--name", "GrayMatter")
    until(lambda: "store" in _title(window), "the demo is open")
    with Memory.open(window.data_dir, background=False) as agent:
        twins = [agent.remember("release-pilot", "The bell rings at noon.").id for _ in range(2)]
    go(window, "Consolidate")
    window.press("ctrl+shift+d")
    until(lambda: _has(window.picture("dry"), "accent", 200, 1300), "the dry run says what it would do")
    assert _cards(window) == []

    window.press("ctrl+r")
    until(lambda: _cards(window) == [("exact_duplicate", "open")], "the duplicate is in the inbox")
    until(lambda: _presses(window, "Right", ("exact_duplicate", "accepted")), "the duplicate is merged")
    assert twins[1] not in window.facts()

    window.press("ctrl+z")
    until(lambda: set(twins) <= set(window.facts()), "the merge is taken back")
    assert _cards(window) == [("exact_duplicate", "open")]


def test_a_person_sees_what_changed_approves_and_takes_it_back_from_the_journal(window: Window) -> None:
    window.xdotool("search", "--sync", "--onlyvisible", "--name", "GrayMatter")
    until(lambda: "store" in _title(window), "the demo is open")
    go(window, "Checkpoints")
    window.press("Down", "d")  # the second one has one before it
    until(lambda: _has(window.picture("changes"), "accent_soft", 560, 700), "a change is shown")
    window.press("a")
    until(lambda: _verdicts(window) == ["approved"], "the checkpoint is approved")

    go(window, "Activity")
    until(lambda: _presses_until(window, "u", lambda: _verdicts(window) == []), "the approval is taken back")


def test_a_person_merges_two_entities_by_keys_and_takes_it_back(window: Window) -> None:
    window.xdotool("search", "--sync", "--onlyvisible", "--name", "GrayMatter")
    until(lambda: "store" in _title(window), "the demo is open")
    until(lambda: {"Heron", "Wren"} <= _entities(window), "the demo has a graph")
    go(window, "Graph")
    until(lambda: _has(window.picture("graph"), "entity_place", 450, 950), "the graph is drawn")
    window.write("Wren")
    window.press("Return")
    until(lambda: _has(window.picture("near"), "accent", 450, 950), "what is around the entity is drawn")
    window.press("m")
    until(lambda: "Merge" in _title(window), "it asks which other entity is meant")
    window.write("Heron")
    window.press("Return")
    until(lambda: "Wren" not in _entities(window), "both are one")

    window.press("ctrl+z")
    until(lambda: {"Heron", "Wren"} <= _entities(window), "both are back")


def _entities(window: Window) -> set[str]:
    """The graph's labels, read from outside."""
    with Memory.open(window.data_dir, read_only=True, background=False) as memory:
        return {entity.label for entity in memory.graph.entities()}


def _verdicts(window: Window) -> list[str]:
    with Memory.open(window.data_dir, read_only=True, background=False) as memory:
        return [each.verdict for each in memory.checkpoints.list() if each.verdict]


def _presses_until(window: Window, key: str, condition: Callable[[], bool]) -> bool:
    if not condition():
        window.press(key)
    return condition()


def go(window: Window, page: str) -> None:
    """Opens a page by its name, wherever it stands on the rail."""
    window.press("ctrl+k")
    window.write(page)
    window.press("Return")


def _cards(window: Window) -> list[tuple[str, str]]:
    """What is in the inbox, read from outside: kind and state."""
    with Memory.open(window.data_dir, read_only=True, background=False) as memory:
        return [(card.kind, card.state) for state in PROPOSAL_STATES for card in memory.inbox.list(state)]


def _presses(window: Window, key: str, expected: tuple[str, str]) -> bool:
    """Presses the key until the card has come on screen and is decided."""
    if expected not in _cards(window):
        window.press(key)
    return expected in _cards(window)


def _quits(window: Window) -> bool:
    """Whether Ctrl+Q ended the program; while a task still ends, it asks, and Escape keeps it running."""
    window.press("ctrl+q")
    try:
        window.process.wait(5)
    except subprocess.TimeoutExpired:
        window.press("Escape")
    return window.process.returncode is not None


def _rewrote(window: Window, text: str) -> bool:
    window.press("ctrl+a")
    window.write(text)
    picture = window.picture("editor")
    return _has(picture, "accent", 0, picture.width()) and _has(picture, "diff_removed", 0, picture.width())


def _title(window: Window) -> str:
    return window.xdotool("getactivewindow", "getwindowname")


def _texts(window: Window) -> set[str]:
    return {fact.text for fact in window.facts().values()}


def _explains(window: Window) -> bool:
    picture = window.picture("why")
    left = picture.width() - INSPECTOR + 8
    return all(_has(picture, role, left, picture.width()) for role in ("signal_keyword", "signal_recency", "match"))
