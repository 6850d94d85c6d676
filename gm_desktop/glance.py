"""The pages that look at the whole store, built together: what happens in it, and what it holds."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, SignalInstance

from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notices
from gm_desktop.page import Page
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.activity import ActivityViewModel
from gm_desktop.viewmodels.memory import MemoryViewModel
from gm_desktop.viewmodels.overview import OverviewViewModel
from gm_desktop.viewmodels.overview_words import Opens
from gm_desktop.views.activity import ActivityPage
from gm_desktop.views.overview import OverviewPage
from gm_engine.clock import Clock


class Glance:
    """Activity and Overview, and the ways from them to the other pages."""

    def __init__(
        self,
        host: EngineHost,
        undo: UndoController,
        notices: Notices,
        *,
        clock: Clock,
        remembering: MemoryViewModel,
        parent: QObject,
    ) -> None:
        self.activity = ActivityViewModel(host, undo, notices, clock, parent)
        self.overview = OverviewViewModel(host, notices, clock, parent)
        self._remembering = remembering

    def pages(
        self,
        theme: Theme,
        *,
        show_page: Callable[[str], None],
        reveal_fact: Callable[[str], None],
        reveal_checkpoint: Callable[[str], None],
    ) -> tuple[Page, Page]:
        """The two pages, wired."""
        activity = ActivityPage(self.activity, theme)
        activity.fact_wanted.connect(reveal_fact)
        activity.checkpoint_wanted.connect(reveal_checkpoint)

        def show_facts(opens: Opens) -> None:
            if opens.facts is not None:
                self._remembering.set_filter(opens.facts)
            if opens.by_uses:
                self._remembering.set_sort("uses", True)
            show_page(opens.page)

        self.overview.facts_wanted.connect(show_facts)
        self.overview.page_wanted.connect(show_page)
        return activity, OverviewPage(self.overview, theme)

    def signals(self) -> tuple[SignalInstance, ...]:
        """What changes what can be done."""
        overview = (self.overview.state_changed, self.overview.health.changed)
        return (self.activity.selection_changed, self.activity.details.changed, *overview)
