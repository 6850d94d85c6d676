"""A store, a host and a theme for tests of the desktop, and a guard against what they leave behind."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QTimer, SignalInstance
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from pytestqt.wait_signal import SignalBlocker
from shiboken6 import isValid

from gm_desktop.app import App, Places
from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notice, Notices
from gm_desktop.preferences import Preferences
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_engine import Memory, Origin
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.widget.search_desk import Desk, make_desk

PATIENCE_MS = 60_000  # a loaded machine is slow; only a test that fails waits that long
OFFSCREEN_SAYS = r"This plugin does not support (propagateSizeHints|raise)\(\)"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("qt_log_ignore", OFFSCREEN_SAYS)


def open_scripted(data_dir: Path, *, read_only: bool) -> Memory:
    """A real store with a frozen clock and a scripted embedder."""
    return Memory.open(
        data_dir,
        read_only=read_only,
        background=False,
        clock=FrozenClock(),
        embedder=ScriptedEmbedder(),
        origin=Origin("desktop"),
    )


class PatientBot(QtBot):
    """Waits for what will come, however slow the machine is."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = PATIENCE_MS) -> None:
        """Until it holds."""
        super().waitUntil(callback, timeout=max(timeout, PATIENCE_MS))

    def waitSignal(
        self,
        signal: SignalInstance,
        *,
        timeout: int = PATIENCE_MS,
        raising: bool | None = None,
        check_params_cb: Callable[..., bool] | None = None,
    ) -> SignalBlocker:
        """Until it comes; `assertNotEmitted`, which hopes for none, says how long."""
        return super().waitSignal(signal, timeout=timeout, raising=raising, check_params_cb=check_params_cb)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    """A patient one."""
    return PatientBot(request)


@pytest.fixture
def host(qtbot: QtBot) -> Iterator[EngineHost]:
    """A host without a store; closed after the test."""
    made = EngineHost(opener=open_scripted)
    yield made
    made.close()
    made.deleteLater()


@pytest.fixture
def open_host(host: EngineHost, qtbot: QtBot, tmp_path: Path) -> EngineHost:
    """A host with an open, empty store."""
    with qtbot.waitSignal(host.store_opened):
        host.open_store(tmp_path / "store")
    return host


@pytest.fixture
def notices() -> Notices:
    return Notices()


@pytest.fixture
def told(notices: Notices) -> list[Notice]:
    """What the person was told, oldest first."""
    heard: list[Notice] = []
    notices.shown.connect(heard.append)
    return heard


@pytest.fixture
def undo(open_host: EngineHost, notices: Notices) -> UndoController:
    return UndoController(open_host, notices)


@pytest.fixture
def preferences(tmp_path: Path) -> Preferences:
    return Preferences(tmp_path / "preferences")


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    made = Theme(qapp, mode="light")
    yield made
    made.deleteLater()


@pytest.fixture
def asked(qtbot: QtBot) -> Callable[[EngineHost, Callable[[Memory], object]], object]:
    """Runs a job in the read lane and waits for its answer."""

    def ask(host: EngineHost, job: Callable[[Memory], object]) -> object:
        answers: list[object] = []
        host.read(job, answers.append)
        qtbot.waitUntil(lambda: bool(answers))
        return answers[0]

    return ask


@pytest.fixture
def desk(open_host: EngineHost, undo: UndoController, notices: Notices, theme: Theme, qtbot: QtBot) -> Desk:
    """The Search page with a few facts."""
    return make_desk(open_host, undo, notices, theme=theme, qtbot=qtbot)


@pytest.fixture(autouse=True)
def leak_guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves a thread, a running timer or a window behind; looks at tests that use Qt only."""
    if "qapp" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("qapp")
    threads, timers, windows = set(threading.enumerate()), _running_timers(), set(_windows())
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    left_threads = [thread.name for thread in threading.enumerate() if thread not in threads]
    assert not left_threads, f"threads left behind: {left_threads}"
    left_timers = [str(timer.parent()) for timer in _running_timers() - timers]
    assert not left_timers, f"timers left running: {left_timers}"
    left_windows = [repr(window) for window in _windows() if window not in windows]
    assert not left_windows, f"windows left behind: {left_windows}"


def _running_timers() -> set[QTimer]:
    found = (item for item in gc.get_objects() if isinstance(item, QTimer))
    return {timer for timer in found if isValid(timer) and timer.isActive()}


def _windows() -> list[QWidget]:
    return [widget for widget in QApplication.topLevelWidgets() if isValid(widget)]


@pytest.fixture
def app(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> Iterator[App]:
    """The whole desktop over scripted stores, shown, without a store."""
    places = Places(tmp_path / "preferences", tmp_path / "logs")
    made = App(qapp, places=places, clock=FrozenClock(), theme_mode="light", language="en", opener=open_scripted)
    made.window.show()
    qtbot.waitExposed(made.window)
    yield made
    made.window.close_now()
    made.close()
    made.window.deleteLater()
    made.deleteLater()


@pytest.fixture
def open_app(app: App, qtbot: QtBot, tmp_path: Path) -> App:
    """The desktop with a small store open, on its first page; the others are built, too."""
    with open_scripted(tmp_path / "store", read_only=False) as memory:
        for number in range(3):
            memory.remember("sales", f"Fact number {number} about invoices")
        memory.remember("ops", "The night shift starts at ten")
    app.start(tmp_path / "store")
    qtbot.waitUntil(lambda: app.host.is_open and app.building.is_finished)
    return app
