"""A real window on a display of its own, driven by keys: what every test under Xvfb stands on.

A key that was pressed while the program was busy is not lost, but nobody knows when it acts. So every wait is for
something that can be seen from outside (the title, a colour, the store), and a key is pressed again only by `insist`,
which is for keys that do no harm when they act twice.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QImage

from gm_desktop.preferences import Preferences
from gm_desktop.theme import load_tokens
from gm_engine import Fact, FactQuery, Memory

TOOLS = ("Xvfb", "openbox", "xdotool")
needs_display = [
    pytest.mark.end2end,
    pytest.mark.skipif(any(shutil.which(tool) is None for tool in TOOLS), reason=f"needs {', '.join(TOOLS)}"),
]
ROOT = Path(__file__).parents[2]
PATIENCE_S = 180.0
LOOK_EVERY_S = 0.1
STARTS = 5
WINDOW_MANAGER_S = 30.0
RUN_IT = QRect(1100, 100, 170, 120)  # px: where the report above the cards offers to do what it says
HARMFUL = {"ctrl+z", "u", "Right", "Left", "ctrl+r"}  # acting twice they would undo, decide or run something else
LOST_S = 60.0  # after which one of those must have been lost
AGAIN_S = 5.0  # how long a key may take to act before it counts as lost
CAMERA = """
import sys
from PySide6.QtGui import QGuiApplication
camera = QGuiApplication([])
print("ready", flush=True)
for line in sys.stdin:
    window, path = line.rstrip("\\n").split(" ", 1)
    done = camera.primaryScreen().grabWindow(int(window)).save(path)
    print("done" if done else "failed", flush=True)
"""


def until(condition: Callable[[], bool], what: str, *, patience_s: float = PATIENCE_S) -> None:
    """Looks again and again until `condition` holds."""
    if not holds(condition, patience_s):
        pytest.fail(f"gave up waiting until {what}")


def holds(condition: Callable[[], bool], patience_s: float) -> bool:
    """Whether `condition` holds within so many seconds."""
    pause, end_s = threading.Event(), monotonic() + patience_s
    while not condition():
        if monotonic() > end_s:
            return False
        pause.wait(LOOK_EVERY_S)
    return True


def shows(picture: QImage, role: str, left: int, right: int) -> bool:
    """Whether a colour of the light theme is anywhere between two columns of pixels."""
    wanted = load_tokens("light").color(role)
    right = min(right, picture.width())
    return any(
        QColor(picture.pixel(x, y)) == wanted for x in range(left, right, 2) for y in range(0, picture.height(), 2)
    )


@contextmanager
def a_display() -> Iterator[str]:
    """An X server with a window manager (without one, typing is lost); a key that is held down does not repeat."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        name = ""
        while not name:  # another one may have taken the same number at the same moment
            assert len(running) < STARTS, "no X server starts"
            name = _start_server(running)
        environment = {**os.environ, "DISPLAY": name}
        is_managed = False
        while not is_managed:
            assert len(running) < 2 * STARTS, "no window manager starts"
            running.append(subprocess.Popen(["openbox"], env=environment, stderr=subprocess.DEVNULL))
            is_managed = holds(partial(_answers, ["xdotool", "get_num_desktops"], environment), WINDOW_MANAGER_S)
        yield name
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(PATIENCE_S)


def _start_server(running: list[subprocess.Popen[bytes]]) -> str:
    """The name of the display; nothing when the server ended at once."""
    read_end, write_end = os.pipe()
    command = ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "1400x900x24", "-nolisten", "tcp", "-r"]
    running.append(subprocess.Popen(command, pass_fds=[write_end], stderr=subprocess.DEVNULL))
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        number = pipe.readline().strip()
    return f":{number}" if number else ""


def _answers(command: Sequence[str], environment: dict[str, str]) -> bool:
    try:
        return subprocess.run(command, env=environment, capture_output=True, check=False, timeout=10).returncode == 0
    except subprocess.TimeoutExpired:
        return False


@dataclass(frozen=True, slots=True)
class Window:
    """A running desktop on a display of its own."""

    environment: dict[str, str]
    process: subprocess.Popen[bytes]
    camera: subprocess.Popen[str]
    data_dir: Path
    scratch: Path

    # --- what a person does ------------------------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        """Presses keys once, one after the other; `ctrl+k` is a key."""
        self._xdotool("key", "--clearmodifiers", "--delay", "40", *keys)

    def write(self, text: str) -> None:
        """Types text where the keyboard is."""
        self._xdotool("type", "--clearmodifiers", "--delay", "15", text)

    def insist(self, *keys: str, until: Callable[[], bool], what: str) -> None:
        """Presses keys until `until` holds, and again when nothing came of it for a while.

        A key that would do harm when it acts twice is pressed again only when it must have been lost.
        """
        again_s = LOST_S if set(keys) & HARMFUL else AGAIN_S
        end_s = monotonic() + PATIENCE_S
        while not until():
            if monotonic() > end_s:
                self.fail(what)
            self.press(*keys)
            holds(until, again_s)

    def go(self, page: str) -> None:
        """Opens a page by its name through the palette, wherever it stands on the rail."""
        self.until_open()
        end_s = monotonic() + PATIENCE_S
        while self.page != page:
            if monotonic() > end_s:
                self.fail(f"the page {page} is open")
            self.press("ctrl+k")
            self.write(page)
            self.press("Return")
            if not holds(lambda: self.page == page, AGAIN_S):
                self.press("Escape")

    def call(self, action: str) -> None:
        """Runs an action by its name through the palette; what it does is for the caller to wait for."""
        self.until_open()
        self.press("ctrl+k")
        self.write(action)
        self.press("Return")

    def quit(self) -> None:
        """Closes the program; while a task still ends, it asks, and Escape keeps it running."""

        def ended() -> bool:
            self.press("ctrl+q")
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.press("Escape")
            return self.process.returncode is not None

        self.until(ended, "the window is closed")

    # --- what can be seen ----------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The title of the window that has the keyboard: a page and the store, or a dialog."""
        run = self._run("xdotool", "getactivewindow", "getwindowname")
        return run.stdout.strip() if run.returncode == 0 else ""

    @property
    def page(self) -> str:
        """The page that is open; nothing while a dialog is."""
        parts = self.title.split(" – ")
        return parts[0] if len(parts) == 3 else ""

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Looks again and again until `condition` holds; tells everything that can be seen when it never does."""
        if not holds(condition, PATIENCE_S):
            self.fail(what)

    def until_open(self) -> None:
        """Waits for a page of an open store, with the keyboard in the window."""
        self.until(lambda: self.page != "", "a page of an open store has the keyboard")

    def picture(self, name: str) -> QImage:
        """The window that has the keyboard, as it looks now; kept as `name`.png.

        For a moment there may be none: one that closes has it no longer, and the next one not yet.
        """
        path = self.scratch / f"{name}.png"
        self.until(lambda: self._is_taken(path), "a window has the keyboard and can be seen")
        return QImage(str(path))

    def _is_taken(self, path: Path) -> bool:
        assert self.camera.stdin is not None
        assert self.camera.stdout is not None
        found = self._run("xdotool", "getactivewindow")
        if found.returncode != 0:
            return False
        self.camera.stdin.write(f"{found.stdout.strip()} {path}\n")
        self.camera.stdin.flush()
        return self.camera.stdout.readline().strip() == "done"

    def shows(self, role: str, left: int, right: int) -> bool:
        """Whether a colour of the theme can be seen between two columns of pixels."""
        return shows(self.picture("look"), role, left, right)

    def says_dry_run(self) -> bool:
        """Whether the Consolidate page shows the report of a dry run: only that one has the button *Run it*."""
        return shows(self.picture("look").copy(RUN_IT), "accent", 0, RUN_IT.width())

    @contextmanager
    def store(self) -> Iterator[Memory]:
        """The store, read from outside."""
        with Memory.open(self.data_dir, read_only=True, background=False) as memory:
            yield memory

    def facts(self) -> dict[str, Fact]:
        """The live facts, read from outside."""
        with self.store() as memory:
            return {fact.id: fact for fact in memory.facts(memory.fact_ids(FactQuery()))}

    def texts(self) -> set[str]:
        """The live facts' texts, read from outside."""
        return {fact.text for fact in self.facts().values()}

    @property
    def output(self) -> str:
        """What the program wrote to its terminal."""
        return (self.scratch / "output").read_text(errors="replace")

    def fail(self, what: str) -> None:
        """Ends the test with all that is known about the window."""
        with self.store() as memory:
            journal = [f"{each.seq} {each.verb} ({each.actor.channel})" for each in memory.journal(limit=6)]
        told = f"title {self.title!r}, newest in the journal {journal}, output {self.output[-2000:]!r}"
        pytest.fail(f"gave up waiting until {what}: {told}")

    def _xdotool(self, *arguments: str) -> str:
        run = self._run("xdotool", *arguments)
        assert run.returncode == 0, run.stderr
        return run.stdout.strip()

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )


@contextmanager
def a_window(display: str, scratch: Path, data_dir: Path, *options: str, with_tour: bool = False) -> Iterator[Window]:
    """The desktop over the store in `data_dir`, with preferences of its own; `options` go to the command.

    They say that the tour was seen, but for `with_tour`.
    """
    if not with_tour:
        Preferences(scratch / "config" / "graymatter").remember_tour()
    environment = {
        **os.environ,
        "DISPLAY": display,
        "QT_QPA_PLATFORM": "xcb",
        "XDG_CONFIG_HOME": str(scratch / "config"),
        "XDG_DATA_HOME": str(scratch / "data"),
        "XDG_STATE_HOME": str(scratch / "state"),
    }
    command = [sys.executable, "-m", "gm_desktop", *options, "--data-dir", str(data_dir)]
    camera = subprocess.Popen(
        [sys.executable, "-c", CAMERA], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with (scratch / "output").open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
    try:
        assert camera.stdout is not None
        assert camera.stdout.readline().strip() == "ready"
        window = Window(environment, process, camera, data_dir, scratch)
        window.until_open()
        yield window
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE_S)
        camera.communicate(timeout=PATIENCE_S)
