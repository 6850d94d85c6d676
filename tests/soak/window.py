"""The desktop of a soak: opens a store, watches its own stalls, and does what the lines on standard input say.

    python -m tests.soak.window STORE VAULT

Says `watching` once the table of facts is on screen. A line `publish` publishes into VAULT as the Vault page does;
`minute` tells of the stalls since the last one and the growth of the table, `finish ROWS` the same once so many rows
are shown, and ends the window. The end of the input ends it as well.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from time import monotonic

from gm_desktop import quick_start

quick_start.begin()  # as the program does

from PySide6.QtCore import QObject, QSocketNotifier, QTimer  # noqa: E402 — after the collector is off
from PySide6.QtWidgets import QApplication  # noqa: E402

from gm_desktop.__main__ import SWITCH_INTERVAL_S  # noqa: E402
from gm_desktop.app import App, Places  # noqa: E402
from gm_desktop.stall_watch import StallWatch  # noqa: E402
from gm_desktop.viewmodels.publish import Published, Stopped  # noqa: E402
from gm_engine.clock import SystemClock  # noqa: E402
from tests.soak.witness import Witness  # noqa: E402

LOOK_MS = 20
SETTLE_MS = 4_000
BEGIN_MS = 1_000
PATIENCE_S = 30.0


def say(word: str, value: object) -> None:
    """One line, at once."""
    sys.stdout.write(f"{word} {json.dumps(value)}\n")
    sys.stdout.flush()


class Led(QObject):
    """Does what it is told, and tells what it saw."""

    def __init__(self, qt: QApplication, app: App, vault: Path) -> None:
        super().__init__(app)
        self._qt, self._app, self._vault = qt, app, vault
        self._clock = SystemClock()
        self._rows: list[tuple[int, int]] = []
        self._stalls: list[tuple[float, float, str]] = []
        self._since_s = self._asked_s = 0.0
        self._finish: tuple[int, float] | None = None
        self._is_told = False
        self._heard = b""
        self._watch = StallWatch(parent=self)
        self._watch.stalled.connect(self._on_stalled)
        self._witness = Witness(lambda: self._watch._last_s)
        self._look = QTimer(self, interval=LOOK_MS)
        self._look.timeout.connect(self._on_look)
        self._input = QSocketNotifier(sys.stdin.fileno(), QSocketNotifier.Type.Read, self)
        self._input.activated.connect(self._on_input)
        app.host.store_opened.connect(lambda: QTimer.singleShot(SETTLE_MS, self._show))
        app.host.open_failed.connect(lambda error: say("problem", str(error)))
        app.host.failed.connect(lambda error: say("problem", str(error)))
        app.reporter.reported.connect(lambda report: say("problem", report))
        app.publishing.changed.connect(self._on_publishing)

    def _show(self) -> None:
        self._app.show_page("memory")
        self._look.start()
        QTimer.singleShot(BEGIN_MS, self._begin)

    def _begin(self) -> None:
        self._app.publishing.choose(vault=str(self._vault))
        self._restart()
        self._witness.start()
        say("watching", self._app.remembering.table.rowCount())

    def _restart(self) -> None:
        self._rows, self._stalls, self._since_s = [], [], monotonic()
        self._watch.start()

    def _on_input(self) -> None:
        data = os.read(sys.stdin.fileno(), 4096)
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            match line.decode().split():
                case ["publish"]:
                    self._publish()
                case ["minute"]:
                    self._tell("minute")
                case ["finish", rows]:
                    self._finish = int(rows), monotonic() + PATIENCE_S
        if not data:
            self._input.setEnabled(False)
            self._qt.quit()

    def _publish(self) -> None:
        publishing = self._app.publishing
        self._asked_s, self._is_told = monotonic(), True
        if publishing.can_publish:
            publishing.publish()
        else:
            self._tell_published(error="it cannot publish now")

    def _on_publishing(self) -> None:
        match self._app.publishing.state:
            case Published() as done if self._is_told:
                complaints = [f"{notes.title}: {', '.join(notes.lines[:3])}" for notes in done.notes]
                self._tell_published(written=done.figures[0][0], error="; ".join(complaints))
            case Stopped(sentence) if self._is_told:
                self._tell_published(error=sentence)

    def _tell_published(self, *, written: int = 0, error: str = "") -> None:
        self._is_told = False
        say("published", {"seconds": monotonic() - self._asked_s, "written": written, "error": error})

    def _on_stalled(self, gap_ms: float) -> None:
        app, doing = self._app, []
        doing += ["publishing"] if app.publishing.is_publishing else []
        doing += ["reading the vault"] if app.vault.watch.is_waiting else []
        what = f"{' and '.join(doing) or 'nothing'}: {self._witness.take()}"
        self._stalls.append((monotonic() - self._since_s, gap_ms, what))

    def _on_look(self) -> None:
        count = self._app.remembering.table.rowCount()
        if not self._rows or self._rows[-1][1] < count:
            self._rows.append((self._clock.now_ns(), count))
        if self._finish is not None and (count >= self._finish[0] or monotonic() > self._finish[1]):
            self._look.stop()
            self._tell("rows")
            self._qt.quit()

    def _tell(self, word: str) -> None:
        say(word, {"longest_ms": self._watch.longest_ms, "stalls": self._stalls, "rows": self._rows})
        self._restart()

    def stop(self) -> None:
        """Watches no longer."""
        self._look.stop()
        self._watch.stop()
        if self._witness.is_alive():
            self._witness.end()


def main(arguments: list[str]) -> int:
    """One window with throw-away preferences, beside the store."""
    store, vault = map(Path, arguments)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    qt = QApplication(["window"])
    with tempfile.TemporaryDirectory(prefix="window-", dir=store.parent) as scratch:
        app = App(qt, places=Places(Path(scratch) / "preferences", Path(scratch) / "logs"), clock=SystemClock())
        app.window.resize(1280, 800)
        app.window.first_painted.connect(quick_start.end)
        led = Led(qt, app, vault)
        app.window.show()
        app.start(store)
        qt.exec()
        led.stop()
        app.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
