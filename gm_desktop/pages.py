"""The pages of the window: what the rail says of each, and how it is built and connected once it is wanted.

A page's view is imported when the page is built, so that the window shows without waiting for the other pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gm_desktop.i18n import tr
from gm_desktop.page import Page
from gm_desktop.settings_desk import Doors
from gm_desktop.viewmodels.overview_words import Opens

if TYPE_CHECKING:
    from gm_desktop.app import App


@dataclass(frozen=True, slots=True)
class Entry:
    """A page before it is built."""

    page_id: str
    title: str  # English; goes through `tr`
    icon_name: str
    shortcut: str
    on_rail: bool = True  # False: its entry shows only while there is something on the page

    def spec(self) -> tuple[str, str, str, str]:
        """For the action that opens the page: (id, title, icon, shortcut)."""
        return self.page_id, tr(self.title), self.icon_name, self.shortcut


ENTRIES = (
    Entry("memory", "Memory", "brain", "Ctrl+1"),
    Entry("search", "Search", "search", "Ctrl+2"),
    Entry("consolidate", "Consolidate", "git-merge", "Ctrl+3"),
    Entry("graph", "Graph", "graph", "Ctrl+4"),
    Entry("checkpoints", "Checkpoints", "bookmark", "Ctrl+5"),
    Entry("vault", "Vault", "book-open", "Ctrl+6"),
    Entry("activity", "Activity", "activity", "Ctrl+7"),
    Entry("overview", "Overview", "layout-dashboard", "Ctrl+8"),
    Entry("review", "Review", "shield-check", "Ctrl+9"),
    Entry("past", "Past", "history", "Ctrl+Shift+P", on_rail=False),
    Entry("sources", "Sources", "library", "Ctrl+0"),
    Entry("settings", "Settings", "sliders", "Ctrl+,"),
)
"""Every page, in the order of the rail."""


class PageMakers:
    """Builds each page from the view-models, and connects it with the others."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.makers: dict[str, Callable[[], Page]] = {
            "memory": self._memory,
            "search": self._search,
            "consolidate": self._consolidate,
            "graph": self._graph,
            "checkpoints": self._checkpoints,
            "vault": self._vault,
            "activity": self._activity,
            "overview": self._overview,
            "review": self._review,
            "past": self._past,
            "sources": self._sources,
            "settings": self._settings,
        }

    def follow(self, fact_id: str) -> None:
        """Explains on the Search page why a fact is not among the hits."""
        from gm_desktop.views.search import SearchPage

        page = self._app.window.pages["search"]
        assert isinstance(page, SearchPage)  # noqa: S101  (made here)
        page.follow(fact_id)

    def show_entry(self, seq: int) -> None:
        """Opens an action on the Activity page."""
        from gm_desktop.views.activity import ActivityPage

        page = self._app.window.pages["activity"]
        assert isinstance(page, ActivityPage)  # noqa: S101  (made here)
        page.show_entry(seq)  # first: the page would look for the newest one
        self._app.show_page("activity")

    def _memory(self) -> Page:
        from gm_desktop.views.memory import MemoryPage

        page = MemoryPage(self._app.remembering, self._app.revising, self._app.theme)
        page.why_not_wanted.connect(self.follow)
        return page

    def _search(self) -> Page:
        from gm_desktop.views.search import SearchPage

        app = self._app
        page = SearchPage(app.search_models, app.theme)
        page.page_wanted.connect(lambda: app.show_page("search"))
        page.inspector_wanted.connect(app.open_inspector)
        page.fact_wanted.connect(app.reveal_fact)
        page.revise_wanted.connect(app.revising.open)
        return page

    def _consolidate(self) -> Page:
        from gm_desktop.views.consolidate import ConsolidatePage

        page = ConsolidatePage(self._app.consolidating, self._app.cycles, self._app.theme)
        page.fact_wanted.connect(self._app.reveal_fact)
        return page

    def _graph(self) -> Page:
        from gm_desktop.views.graph import GraphPage

        page = GraphPage(self._app.graph, self._app.theme)
        page.fact_wanted.connect(self._app.reveal_fact)
        return page

    def _checkpoints(self) -> Page:
        from gm_desktop.views.checkpoints import CheckpointsPage

        page = CheckpointsPage(self._app.checkpoints, self._app.theme)
        page.fact_wanted.connect(self._app.reveal_fact)
        return page

    def _vault(self) -> Page:
        from gm_desktop.views.publish import PublishPage

        page = PublishPage(self._app.vault, self._app.theme)
        page.inbox.fact_wanted.connect(self._app.reveal_fact)
        return page

    def _activity(self) -> Page:
        from gm_desktop.views.activity import ActivityPage

        app, glance = self._app, self._app.glance
        page = ActivityPage(glance.activity, glance.clients, app.theme)
        page.fact_wanted.connect(app.reveal_fact)
        page.checkpoint_wanted.connect(app.reveal_checkpoint)
        page.moment_wanted.connect(self._open_before)
        page.clients.review_wanted.connect(self._show_review)
        return page

    def _overview(self) -> Page:
        from gm_desktop.views.overview import OverviewPage

        app, overview = self._app, self._app.glance.overview
        page = OverviewPage(overview, app.theme)
        overview.facts_wanted.connect(self._show_facts)
        overview.page_wanted.connect(app.show_page)
        overview.section_wanted.connect(lambda section: self._run_of("settings", f"settings.{section}"))
        return page

    def _review(self) -> Page:
        from gm_desktop.views.review import ReviewPage

        app, glance = self._app, self._app.glance
        page = ReviewPage(glance.review, glance.clients, app.theme)
        page.fact_wanted.connect(app.reveal_fact)
        page.clients_wanted.connect(self._show_clients)
        return page

    def _past(self) -> Page:
        app, desk = self._app, self._app.glance.past
        page = desk.page(
            app.theme,
            app.window,
            show_page=app.show_page,
            reveal_fact=app.reveal_fact,
            reveal_checkpoint=app.reveal_checkpoint,
        )
        app.actions.add(app.window, desk.specs(), everywhere=True, place=1)
        return page

    def _sources(self) -> Page:
        return self._app.sources.page(self._app.theme)

    def _settings(self) -> Page:
        app = self._app
        page = app.settings.page(app.theme, Doors(app.set_theme, app.show_page, app.actions.run, app.actions.with_keys))
        app.actions.add(app.window, app.settings.specs(), everywhere=True, place=2)
        return page

    # --- from one page to another ------------------------------------------------------------------------------

    def _run_of(self, page_id: str, action_id: str) -> None:
        """Runs an action that comes with a page."""
        self._app.window.build_page(page_id)
        self._app.actions.run(action_id)

    def _show_facts(self, opens: Opens) -> None:
        self._app.window.build_page("memory")  # first: it takes back the filter that it had
        if opens.facts is not None:
            self._app.remembering.set_filter(opens.facts)
        if opens.by_uses:
            self._app.remembering.set_sort("uses", True)
        self._app.show_page(opens.page)

    def _open_before(self, seq: int) -> None:
        self._app.window.build_page("past")
        self._app.glance.past.model.open_before(seq)

    def _show_clients(self) -> None:
        from gm_desktop.views.activity import ActivityPage

        self._app.show_page("activity")
        page = self._app.window.pages["activity"]
        assert isinstance(page, ActivityPage)  # noqa: S101  (made here)
        page.show_clients()

    def _show_review(self, client: str) -> None:
        from gm_desktop.views.review import ReviewPage

        self._app.show_page("review")
        page = self._app.window.pages["review"]
        assert isinstance(page, ReviewPage)  # noqa: S101  (made here)
        page.show_client(client)
