"""The Sources page with its view-model, and where both find the user's configuration."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_state_path
from PySide6.QtCore import QObject, SignalInstance

from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notices
from gm_desktop.page import Page
from gm_desktop.paths import default_preferences_dir
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.sources import Places, SourcesViewModel

_VARIABLE = "GRAYMATTER_SOURCES"  # as the command line reads it


class SourcesDesk:
    """Everything about other sources in one window."""

    def __init__(
        self, host: EngineHost, undo: UndoController, notices: Notices, *, preferences: Path, parent: QObject
    ) -> None:
        self.viewmodel = SourcesViewModel(host, undo, notices, source_places(preferences), parent)

    def page(self, theme: Theme) -> Page:
        """The page."""
        from gm_desktop.views.sources import SourcesPage

        return SourcesPage(self.viewmodel, theme)

    def signals(self) -> tuple[SignalInstance, ...]:
        """What changes what can be done."""
        return (self.viewmodel.listed, self.viewmodel.answered, self.viewmodel.opened)


def source_places(preferences: Path) -> Places:
    """The file beside the preferences (or the one that is named), and the adapters' own place."""
    named = os.environ.get(_VARIABLE)
    file = Path(named).expanduser() if named else preferences / "sources.toml"
    is_usual = preferences == default_preferences_dir()
    state = user_state_path("graymatter", appauthor=False) if is_usual else preferences
    return Places(file, state / "sources")
