"""Opens the help at the right subject, and offers its subjects to the palette. Nothing is read before it is wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from PySide6.QtWidgets import QWidget

from gm_desktop.help_pages import HelpPage, find_help, load_help, subject_of
from gm_desktop.i18n import spoken, tr
from gm_desktop.models.note_preview import preview_html
from gm_desktop.palette import PaletteEntry
from gm_desktop.theme import Theme
from gm_desktop.views.help_window import HelpWindow


class HelpDesk:
    """One help window, made when it is first wanted; `over` gives the window it belongs to."""

    def __init__(self, theme: Theme, over: Callable[[], QWidget]) -> None:
        self._theme, self._over = theme, over
        self._load = cache(load_help)
        self._window: HelpWindow | None = None

    def open(self, page_id: str | None = None) -> None:
        """Shows the subject of a page of the window, or the subject itself."""
        if self._window is None:
            self._window = HelpWindow(
                self._theme,
                find=lambda query: find_help(self._pages(), query),
                render=preview_html,
                parent=self._over(),
            )
        self._window.show_subject(subject_of(page_id))
        self._window.show()
        self._window.raise_()
        self._window.activateWindow()

    def entries(self) -> tuple[PaletteEntry, ...]:
        """One entry per subject, found by its heading and by the words of its section headings."""
        return tuple(
            PaletteEntry(
                tr("Help: {subject}", subject=page.title),
                tr("Help"),
                "circle-question-mark",
                "",
                partial(self.open, page.id),
                page.sections,
            )
            for page in self._pages()
        )

    def _pages(self) -> tuple[HelpPage, ...]:
        return self._load(spoken())
