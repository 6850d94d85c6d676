"""The way into the past and back: its page, the actions that lead there, and where one came from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, SignalInstance

from gm_desktop.actions import ActionSpec
from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import in_sentence, tr
from gm_desktop.main_window import MainWindow
from gm_desktop.theme import Theme
from gm_desktop.viewmodels.past import QUICK, PastViewModel
from gm_engine.clock import Clock

if TYPE_CHECKING:
    from gm_desktop.views.past import PastPage

FIRST_PAGE, PAST = "memory", "past"


class PastDesk:
    """The rail names the past only while one looks at it."""

    def __init__(self, host: EngineHost, clock: Clock, parent: QObject) -> None:
        self._host = host
        self.model = PastViewModel(host, clock, parent)
        self._came_from = FIRST_PAGE

    def page(
        self,
        theme: Theme,
        window: MainWindow,
        *,
        show_page: Callable[[str], None],
        reveal_fact: Callable[[str], None],
        reveal_checkpoint: Callable[[str], None],
    ) -> PastPage:
        """The page, and the ways from the window to it and back."""
        from gm_desktop.views.past import PastPage

        self._page, self._window, self._show_page = PastPage(self.model, theme), window, show_page
        self._page.fact_wanted.connect(reveal_fact)
        self._page.checkpoint_wanted.connect(reveal_checkpoint)
        self.model.opened.connect(self._on_opened)
        self.model.closed.connect(self._on_closed)
        self._host.store_opened.connect(self._leave_empty_page)
        return self._page

    def specs(self) -> tuple[ActionSpec, ...]:
        """The dialog in the menu Store, and each quick choice in the palette."""
        return (
            ActionSpec(
                "past.choose",
                tr("Show the store as it was…"),
                "history",
                "Ctrl+Shift+B",
                self._is_open,
                self._page.choose,
                "Store",
                "time travel past moment history before",
            ),
            *(
                ActionSpec(
                    f"past.{key}",
                    tr("Show the store as it was: {when}", when=in_sentence(tr(title))),
                    "history",
                    "",
                    self._is_open,
                    partial(self.model.open_quick, key),
                    words="time travel past moment history",
                )
                for key, title in QUICK
            ),
        )

    def _is_open(self) -> bool:
        return self._host.is_open

    def signals(self) -> tuple[SignalInstance, ...]:
        """What changes what can be done."""
        return (self.model.state_changed, self.model.details_changed)

    def _on_opened(self) -> None:
        if self._window.page_id not in (None, PAST):
            self._came_from = self._window.page_id or FIRST_PAGE
        self._window.rail.show_entry(PAST, is_shown=True)
        self._show_page(PAST)

    def _on_closed(self) -> None:
        self._window.rail.show_entry(PAST, is_shown=False)
        if self._window.page_id == PAST:
            self._show_page(self._came_from)

    def _leave_empty_page(self) -> None:
        """A program that was left in the past starts in the present."""
        if self._window.page_id == PAST:
            self._show_page(FIRST_PAGE)
