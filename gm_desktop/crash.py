"""Bugs end here: the traceback goes to the log and into a report that is ready to copy. Committed work is safe."""

from __future__ import annotations

import faulthandler
import logging
import platform
import sys
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path
from traceback import format_exception
from types import TracebackType
from typing import TextIO

from PySide6.QtCore import QObject, Signal, qVersion

from gm_engine.version import __version__

LOG_NAME = "desktop.log"
FATAL_NAME = "fatal.log"
REPORT_NAME = "last-crash.txt"
LOG_BYTES, LOG_FILES = 1_000_000, 3
TAIL_LINES = 60

log = logging.getLogger("graymatter")


class _Fatal:
    """Where the stacks of a hard crash go (a damaged index can end the process without an exception)."""

    def __init__(self) -> None:
        self._file: TextIO | None = None

    def open_in(self, log_dir: Path) -> None:
        self.close()
        if faulthandler.is_enabled():  # whoever runs us wants the stacks
            return
        self._file = (log_dir / FATAL_NAME).open("a", encoding="utf-8")
        faulthandler.enable(self._file)

    def close(self) -> None:
        if self._file is not None:
            faulthandler.disable()
            self._file.close()
            self._file = None


_FATAL = _Fatal()


def start_log(log_dir: Path) -> Path | None:
    """Logs to `log_dir`/desktop.log, in three files of 1 MB at most. None when the directory can't be written."""
    path = log_dir / LOG_NAME
    stop_log()
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8", delay=False)
    except OSError:
        return None
    _FATAL.open_in(log_dir)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(threadName)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    return path


def stop_log() -> None:
    """Closes the log files."""
    _FATAL.close()
    for handler in list(log.handlers):
        log.removeHandler(handler)
        handler.close()


class CrashReporter(QObject):
    """Turns an exception nobody expected into a report. `reported(text)` asks the window to show it."""

    reported = Signal(str)

    def __init__(self, log_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._log_dir = log_dir
        self._previous: Callable[[type[BaseException], BaseException, TracebackType | None], object] | None = None

    def install(self) -> None:
        """Catches what would otherwise only be printed."""
        self._previous = sys.excepthook
        sys.excepthook = self._on_exception

    def uninstall(self) -> None:
        """Puts the previous hook back."""
        if self._previous is not None:
            sys.excepthook = self._previous
            self._previous = None

    def report(self, error: BaseException) -> str:
        """Logs and saves a report, emits it, and returns it."""
        trace = "".join(format_exception(error))
        log.error("unexpected error\n%s", trace)
        text = f"{_machine()}\n\n{trace}\n--- log ---\n{self._tail()}"
        try:
            (self._log_dir / REPORT_NAME).write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as failure:
            log.warning("the report could not be saved: %s", failure)
        self.reported.emit(text)
        return text

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        self.report(error.with_traceback(trace))

    def _tail(self) -> str:
        try:
            lines = (self._log_dir / LOG_NAME).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return "(no log)"
        return "\n".join(lines[-TAIL_LINES:])


def _machine() -> str:
    return (
        f"GrayMatter Desktop {__version__}\n"
        f"Python {platform.python_version()}, Qt {qVersion()}, {platform.system()} {platform.release()}"
    )
