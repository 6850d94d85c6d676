"""`--self-test`: the installed program does its main job once, in a real window, and says how it went.

Meant for a build that was just made or installed: it needs nothing but the program, and leaves nothing behind.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from gm_desktop.app import App, Places
from gm_desktop.viewmodels.publish import Published
from gm_engine.clock import SystemClock
from gm_engine.records import ImportReport, RecallExplainResult, VectorExam

STEP_MS = 40
PATIENCE_S = 180.0
AGENT, QUESTION, ANSWER = "support-desk", "how long does delivery inside Germany take", "three working days"

Condition = Callable[[], bool]
Step = tuple[str, Condition]


def self_test(qt: QApplication, *, import_file: Path | None = None) -> int:
    """Opens the demo, embeds, compares Chroma with the exact scan, searches, publishes; returns 0, or 1 with a reason.

    With `import_file` (a `gray.db` or `memories.json`) that file is imported, too.
    """
    with tempfile.TemporaryDirectory(prefix="graymatter-") as scratch:
        app = App(qt, places=Places(Path(scratch, "preferences"), Path(scratch, "logs")), clock=SystemClock())
        walk = _Walk(app, Path(scratch), import_file)
        app.window.show()
        QTimer.singleShot(0, walk, walk.start)
        qt.exec()
        app.close()
        app.window.deleteLater()
    if walk.failure:
        sys.stderr.write(f"self-test failed: {walk.failure}\n")
        return 1
    sys.stdout.write("self-test passed\n")
    return 0


class SelfTestFailed(Exception):
    """A step ended otherwise than it should."""


class _Walk(QObject):
    """One step after the other; each has a name and ends when its condition holds."""

    def __init__(self, app: App, scratch: Path, import_file: Path | None) -> None:
        super().__init__()
        self.failure = ""
        self._app, self._scratch, self._import_file = app, scratch, import_file
        self._steps = self._play()
        self._name = "the window is painted"
        self._condition: Condition = _at_once
        self._since_s = monotonic()
        self._timer = QTimer(self)
        self._timer.setInterval(STEP_MS)
        self._timer.timeout.connect(self._on_step)
        app.host.failed.connect(lambda error: self._end(f"{self._name}: {error}"))
        app.reporter.reported.connect(lambda _report: self._end(f"{self._name}: the program crashed, see its log"))

    def start(self) -> None:
        """Begins with the first step."""
        self._timer.start()

    def _on_step(self) -> None:
        waited_s = monotonic() - self._since_s
        try:
            if not self._condition():
                if waited_s > PATIENCE_S:
                    self._end(f"gave up waiting until {self._name}")
                return
            following = next(self._steps, None)
        except SelfTestFailed as error:
            self._end(f"{self._name}: {error}")
            return
        sys.stdout.write(f"{waited_s:6.1f} s  {self._name}\n")
        sys.stdout.flush()
        if following is None:
            self._end("")
            return
        (self._name, self._condition), self._since_s = following, monotonic()

    def _end(self, failure: str) -> None:
        self.failure = self.failure or failure
        self._timer.stop()
        QApplication.exit(0)

    def _play(self) -> Iterator[Step]:
        app, host = self._app, self._app.host
        app.flow.open_demo(self._scratch / "demo")
        yield "the demo is open", lambda: host.is_open
        host.start_indexing()
        waited: list[bool] = []
        host.run_task("", lambda memory, _p, token: memory.wait_for_embeddings(cancel=token), waited.append)
        yield "every fact has a vector", lambda: bool(waited)
        exams: list[VectorExam] = []
        host.run_task("", lambda memory, _p, token: memory.examine_vectors(cancel=token), exams.append)
        yield "Chroma and the exact scan answer alike", lambda: bool(exams) and _alike(exams[0])
        found: list[RecallExplainResult] = []
        host.read(lambda memory: memory.recall_explain(AGENT, QUESTION, preview=True), found.append)
        yield "the search finds the fact", lambda: bool(found) and _finds(found[0])
        app.publishing.choose(vault=str(self._vault()))
        app.publishing.publish()
        yield "a vault is published", lambda: isinstance(app.publishing.state, Published)
        notes = len(list(self._vault().rglob("*.md")))
        yield f"{notes} notes are in it", lambda: _holds(notes > 0, "no note was written")
        if self._import_file is not None:
            yield from self._import(self._import_file)
        host.close_store()
        yield "the store is closed", lambda: not host.is_open

    def _import(self, path: Path) -> Iterator[Step]:
        reports: list[ImportReport] = []
        self._app.host.run_task("", lambda memory, _p, _c: memory.import_store(path), reports.append)
        yield f"{path.name} is imported", lambda: bool(reports) and _holds(reports[0].imported.facts > 0, "no fact")

    def _vault(self) -> Path:
        vault = self._scratch / "vault"
        vault.mkdir(exist_ok=True)
        return vault


def _at_once() -> bool:
    return True


def _holds(condition: bool, otherwise: str) -> bool:
    if not condition:
        raise SelfTestFailed(otherwise)
    return True


def _alike(exam: VectorExam) -> bool:
    return _holds(exam.queries > 0 and exam.different == 0, exam.reason or f"{exam.different} answers differ")


def _finds(answer: RecallExplainResult) -> bool:
    texts = [receipt.fact.text for receipt in answer.receipts]
    return _holds(bool(texts) and ANSWER in texts[0], f"the first hit is {texts[:1]}")
