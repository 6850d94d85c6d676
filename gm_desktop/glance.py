"""The pages that look at the whole store, built together: what happens in it, what it holds, and what it held."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, SignalInstance

from gm_desktop.engine_host import EngineHost
from gm_desktop.main_window import MainWindow
from gm_desktop.notices import Notices
from gm_desktop.page import Page
from gm_desktop.past_desk import PastDesk
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.activity import ActivityViewModel
from gm_desktop.viewmodels.clients import ClientsViewModel
from gm_desktop.viewmodels.inbox import InboxViewModel
from gm_desktop.viewmodels.inbox_subjects import review_writes
from gm_desktop.viewmodels.memory import MemoryViewModel
from gm_desktop.viewmodels.overview import OverviewViewModel
from gm_desktop.viewmodels.overview_words import Opens
from gm_desktop.views.activity import ActivityPage
from gm_desktop.views.overview import OverviewPage
from gm_desktop.views.review import ReviewPage
from gm_engine.clock import Clock


class Glance:
    """Activity, Overview, Review and Past, and the ways from them to the other pages."""

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
        self.clients = ClientsViewModel(host, undo, clock, parent)
        self.review = InboxViewModel(host, undo, notices, clock, parent, subject=review_writes())
        self.past = PastDesk(host, clock, parent)
        self._remembering = remembering

    def pages(
        self,
        theme: Theme,
        window: MainWindow,
        *,
        show_page: Callable[[str], None],
        reveal_fact: Callable[[str], None],
        reveal_checkpoint: Callable[[str], None],
    ) -> tuple[Page, Page, Page, Page]:
        """The four pages, wired."""
        activity = ActivityPage(self.activity, self.clients, theme)
        activity.fact_wanted.connect(reveal_fact)
        activity.checkpoint_wanted.connect(reveal_checkpoint)
        activity.moment_wanted.connect(self.past.model.open_before)

        def show_facts(opens: Opens) -> None:
            if opens.facts is not None:
                self._remembering.set_filter(opens.facts)
            if opens.by_uses:
                self._remembering.set_sort("uses", True)
            show_page(opens.page)

        self.overview.facts_wanted.connect(show_facts)
        self.overview.page_wanted.connect(show_page)
        review = ReviewPage(self.review, self.clients, theme)
        review.fact_wanted.connect(reveal_fact)

        def show_clients() -> None:
            show_page("activity")
            activity.show_clients()

        def show_review(client: str) -> None:
            show_page("review")
            review.show_client(client)

        review.clients_wanted.connect(show_clients)
        activity.clients.review_wanted.connect(show_review)
        self.review.state_changed.connect(lambda: window.rail.show_count("review", self.review.open_count))
        past = self.past.page(
            theme, window, show_page=show_page, reveal_fact=reveal_fact, reveal_checkpoint=reveal_checkpoint
        )
        return activity, OverviewPage(self.overview, theme), review, past

    def signals(self) -> tuple[SignalInstance, ...]:
        """What changes what can be done."""
        overview = (self.overview.state_changed, self.overview.health.changed)
        review = (self.review.state_changed, self.review.card_changed, self.review.draft_changed, self.clients.changed)
        activity = (self.activity.selection_changed, self.activity.details.changed)
        return (*activity, *overview, *review, *self.past.signals())
