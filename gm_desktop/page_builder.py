"""Builds the pages that nobody asked for yet, one at a time, while the window has nothing better to do."""

from __future__ import annotations

import sys
from importlib import import_module

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.main_window import MainWindow

EVERY_MS = 15  # between two pages the window answers the person
CALM_TICKS = 2  # what has just arrived is painted first
VIEWS = {"vault": "gm_desktop.views.publish"}  # where the module is not called like the page
PATIENCE_TICKS = 200  # a page that is not settled by then waits for something else than the window


class PageBuilder(QObject):
    """`start()` once the window was painted; `finished` follows when every page is there."""

    finished = Signal()

    def __init__(self, window: MainWindow, host: EngineHost, parent: QObject) -> None:
        super().__init__(parent)
        self._window, self._host = window, host
        self._calm = self._waited = 0
        self._timer = QTimer(self, interval=EVERY_MS)
        self._timer.timeout.connect(self._on_tick)

    @property
    def is_finished(self) -> bool:
        """Whether every page is there."""
        return len(self._window.built_pages) == len(self._window.pages)

    def start(self) -> None:
        """Begins; pages are built from now on."""
        self._timer.start()

    def stop(self) -> None:
        """Builds no more."""
        self._timer.stop()

    def finish(self) -> None:
        """Builds what is missing at once."""
        for page_id in self._window.pages:
            self._window.build_page(page_id)

    def _on_tick(self) -> None:
        self._calm = self._calm + 1 if self._is_calm() else 0
        if self._calm >= CALM_TICKS:
            self._build_one()

    def _is_calm(self) -> bool:
        """Whether the start page shows, or the open page has what it asked for."""
        page = self._window.built_pages.get(self._window.page_id or "")
        self._waited += 1
        return page is None or (self._host.is_open and page.is_settled()) or self._waited > PATIENCE_TICKS

    def _build_one(self) -> None:
        missing = next((page_id for page_id in self._window.pages if page_id not in self._window.built_pages), None)
        if missing is None:
            self._timer.stop()
            self.finished.emit()
        elif (module := VIEWS.get(missing, f"gm_desktop.views.{missing}")) not in sys.modules:
            import_module(module)  # a step of its own: importing and building together hold the window up
        else:
            self._window.build_page(missing)
