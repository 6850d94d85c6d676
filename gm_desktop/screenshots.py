"""`--screenshots DIR`: every page in both themes, full and empty, as PNG files. Works without a display."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QObject, QSize, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from gm_desktop.app import App, Places
from gm_desktop.screenshot_sources import configure_sources
from gm_desktop.theme import Mode
from gm_engine.clock import SystemClock
from gm_engine.errors import GrayMatterError

STEP_MS = 40
SETTLE_MS = 250  # layouts, cursors and hover effects come to rest
WAIT_S = 90.0
DIALOGS = ("fact.add", "store.purge", "shortcuts.show", "help.show")
THEMES: tuple[Mode, ...] = ("light", "dark")

Condition = Callable[[], bool]


def take_screenshots(
    qt: QApplication, target: Path, *, data_dir: Path | None, size: tuple[int, int], language: str = "en"
) -> int:
    """Writes the pictures into `target`; returns 0, or 1 when a page did not come to rest (its picture is still made)
    or the store cannot be opened.

    Without `data_dir` a demo store is made up; with it, a copy of that store is shown, so that nothing is written to
    it. Preferences, vault and the empty store are temporary.
    """
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="graymatter-") as scratch_name:
        scratch = Path(scratch_name)
        places = Places(scratch / "preferences", scratch / "logs")
        app = App(qt, places=places, clock=SystemClock(), theme_mode="light", language=language)
        app.window.resize(QSize(*size))
        show = Show(app, target, scratch, data_dir)
        show.finished.append(qt.exit)
        app.window.show()
        QTimer.singleShot(0, show, show.start)
        code = qt.exec()
        app.close()
        app.window.deleteLater()
    return code


class Show(QObject):
    """Walks through the program: a generator that yields what to wait for."""

    def __init__(self, app: App, target: Path, scratch: Path, data_dir: Path | None) -> None:
        super().__init__()
        self.finished: list[Callable[[int], None]] = []
        self._app, self._target, self._scratch, self._data_dir = app, target, scratch, data_dir
        self._pending = -1
        self._failures: list[str] = []
        self._script = self._play()
        self._condition: Condition = lambda: True
        self._waiting_since_s = monotonic()
        self._timer = QTimer(self)
        self._timer.setInterval(STEP_MS)
        self._timer.timeout.connect(self._on_step)

    def start(self) -> None:
        """Begins the walk."""
        self._timer.start()

    def shoot(self, name: str, window: QWidget | None = None) -> Iterator[Condition]:
        """Takes the picture of a window, the program's by default, in each theme, once its page is at rest."""
        for theme in THEMES:
            self._app.theme.set_mode(theme)
            yield _rest(SETTLE_MS)
            yield self._is_at_rest  # what a page draws in pieces is drawn anew in the other colours
            _grab(window or self._app.window, self._target / f"{name}-{theme}.png")

    def _on_step(self) -> None:
        if not self._condition():
            if monotonic() - self._waiting_since_s < WAIT_S:
                return
            self._failures.append(f"gave up waiting on {self._app.window.page_id or 'the first page'}")
            self._app.host.tasks.cancel_all()  # a cycle over a large store would change what the next pages show
        try:
            self._condition = next(self._script)
        except StopIteration:
            self._end()
        except GrayMatterError as error:
            self._failures.append(error.message)
            self._end()
        self._waiting_since_s = monotonic()

    def _end(self) -> None:
        self._timer.stop()
        for line in self._failures:
            sys.stderr.write(f"{line}\n")
        for done in self.finished:
            done(1 if self._failures else 0)

    def _play(self) -> Iterator[Condition]:
        app, host = self._app, self._app.host
        yield from self.shoot("welcome")
        if self._data_dir is None:
            app.flow.open_demo(self._scratch / "demo")
        else:
            host.open_store(_copied(self._data_dir, self._scratch))
        yield lambda: host.is_open
        host.start_indexing()
        yield from self._wait_for_vectors()
        vault = self._scratch / "vault"
        vault.mkdir()
        app.publishing.choose(vault=str(vault))
        configure_sources(self._scratch / "preferences" / "sources.toml", self._scratch / "sources")
        yield from self._tour()  # on pages that nobody has used, as a new person sees it
        yield from self._pages("")
        app.window.palette_popup.open()
        yield from self.shoot("palette")
        app.window.palette_popup.close_palette()
        yield from self._dialogs()
        host.close_store()
        yield lambda: not host.is_open
        app.flow.open_new(self._scratch / "empty")
        yield lambda: host.is_open
        yield from self._pages("-empty")

    def _pages(self, suffix: str) -> Iterator[Condition]:
        for page_id, page in self._app.window.pages.items():
            self._app.show_page(page_id)
            yield page.is_settled
            if suffix:
                page.prepare_empty_screenshot()
                yield _rest(SETTLE_MS)
                yield page.is_settled
                yield from self.shoot(page_id + suffix)
                continue
            page.prepare_screenshot()
            yield _rest(SETTLE_MS)
            yield page.is_settled
            yield from self.shoot(page_id)
            for name, prepare in page.screenshot_scenes():
                prepare()
                yield _rest(SETTLE_MS)
                yield page.is_settled
                yield from self.shoot(f"{page_id}-{name}")

    def _tour(self) -> Iterator[Condition]:
        self._app.show_page("memory")
        self._app.tour.begin()
        while (card := self._app.tour.card) is not None:
            page = self._app.window.built_pages[self._app.window.page_id or ""]
            yield page.is_settled
            yield from self.shoot(f"tour-{page.page_id}")
            card.next.click()

    def _dialogs(self) -> Iterator[Condition]:
        self._app.show_page("memory")
        for name in DIALOGS:
            self._app.actions.run(name)
            yield _rest(SETTLE_MS)
            for window in QApplication.topLevelWidgets():
                if window.isVisible() and window is not self._app.window:
                    yield from self.shoot(name.replace(".", "-"), window)
                    window.close()

    def _is_at_rest(self) -> bool:
        page_id = self._app.window.page_id
        return page_id is None or self._app.window.built_pages[page_id].is_settled()

    def _wait_for_vectors(self) -> Iterator[Condition]:
        answers: list[int] = [1]
        until_s = monotonic() + WAIT_S / 2
        while answers[-1] and monotonic() < until_s:
            asked = len(answers)
            self._app.host.read(lambda memory: memory.status().vectors.pending, answers.append)
            yield _longer_than(answers, asked)
            yield _rest(SETTLE_MS)
        yield lambda: not self._app.window.strip.is_indexing


def _copied(data_dir: Path, scratch: Path) -> Path:
    """A copy of the store, made while others may write to it. The window is not in use yet: this may take its time."""
    from gm_engine import Memory, restore_backup

    with Memory.open(data_dir, read_only=True) as memory:
        backup = memory.backup(scratch / "shown.zip")
    copy = scratch / "shown"
    restore_backup(Path(backup.path), copy)
    return copy


def _longer_than(items: list[int], count: int) -> Condition:
    return lambda: len(items) > count


def _rest(ms: int) -> Condition:
    until_s = monotonic() + ms / 1000
    return lambda: monotonic() >= until_s


def _grab(window: QWidget, path: Path) -> None:
    if not window.grab().save(str(path)):
        raise OSError(f"{path} could not be written")
