"""What the sections of the Settings page are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QListView, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr
from gm_desktop.models.line_list import LINE_ROLE, Line, LineList
from gm_desktop.theme import READING_WIDTH, Theme
from gm_desktop.viewmodels.settings_list import StoreList
from gm_desktop.viewmodels.settings_wiring import WiringSettings
from gm_desktop.viewmodels.states import Empty, Failed, Loading, PageState
from gm_desktop.widgets.basics import EmptyState, push_button, text_label
from gm_desktop.widgets.line_view import LineView


class Section(QWidget):
    """One entry of the list on the left, and what it opens. Another section is another class in that list."""

    section_id: ClassVar[str]
    title: ClassVar[str]  # English; the page passes it through `tr`
    intro: ClassVar[str] = ""
    icon_name: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(12)
        self.column.addWidget(text_label(tr(self.title), "heading"))
        if self.intro:
            said = text_label(tr(self.intro), "muted", wrap=True)
            said.setMaximumWidth(READING_WIDTH)
            self.column.addWidget(said)

    def look(self, is_looked_at: bool) -> None:
        """Somebody opened the section, or left it."""

    def is_settled(self) -> bool:
        """Whether it waits for no answer."""
        return True

    def specs(self) -> tuple[ActionSpec, ...]:
        """What can be done while the section shows."""
        return ()

    def landmark(self) -> QWidget:
        """What the tour points at."""
        return self


class ListedLines(QStackedWidget):
    """A list of lines, or why there is none. Emits `picked` when another line is chosen, `opened` on Enter.

    It is `most_px` high; with `grows`, as high as its lines up to that.
    """

    picked = Signal()
    opened = Signal(str)
    retry_wanted = Signal()

    def __init__(
        self, lines: LineList, theme: Theme, name: str, icon: str, *, grows: bool = False, most_px: int = 300
    ) -> None:
        super().__init__()
        self._icon = icon
        self.view = LineView(lines, theme, name, grows=grows, most_px=most_px)
        self.view.setSelectionMode(QListView.SelectionMode.SingleSelection)
        self.view.selectionModel().selectionChanged.connect(lambda *_: self.picked.emit())
        lines.modelReset.connect(self.picked)
        self.view.doubleClicked.connect(lambda index: self._open(index.data(LINE_ROLE)))
        self.retry = push_button(tr("Try again"), "", self.retry_wanted.emit)
        self.note = EmptyState(theme, icon, "", "", (self.retry,))
        self.addWidget(self.note)
        self.addWidget(self.view)
        if not grows:
            self.setMinimumHeight(most_px)
        self.show_state(Loading())

    @property
    def key(self) -> str:
        """The key of the chosen line; empty when none is."""
        chosen = self.view.selectionModel().selectedIndexes()
        line = chosen[0].data(LINE_ROLE) if chosen else None
        return line.key if isinstance(line, Line) else ""

    def choose(self, row: int) -> None:
        """Chooses a line by its place."""
        self.view.setCurrentIndex(self.view.model().index(row, 0))

    def show_state(self, state: PageState) -> None:
        """The list, or what is said instead of it."""
        self.retry.setVisible(isinstance(state, Failed))
        if isinstance(state, Empty):
            self.note.say(self._icon, state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("This can't be read"), state.message)
        elif isinstance(state, Loading):
            self.note.say("clock", tr("Reading the store…"))
        is_note = isinstance(state, Empty | Failed | Loading)
        self.setCurrentWidget(self.note if is_note else self.view)

    def _open(self, line: object) -> None:
        if isinstance(line, Line):
            self.opened.emit(line.key)


class ListSection(Section):
    """A section with a list, which is read while somebody looks. Call `show_list` once the buttons are there."""

    def __init__(
        self,
        listed: StoreList | WiringSettings,
        theme: Theme,
        *,
        name: str,
        grows: bool = False,
        most_px: int = 320,
    ) -> None:
        super().__init__()
        self._listed = listed
        self.list = ListedLines(listed.lines, theme, name, self.icon_name, grows=grows, most_px=most_px)
        self.list.picked.connect(self.refresh)
        self.list.retry_wanted.connect(listed.reload)
        listed.changed.connect(self.show_list)

    def look(self, is_looked_at: bool) -> None:
        """The list is read while somebody looks."""
        self._listed.look(is_looked_at)

    def is_settled(self) -> bool:
        """Whether it waits for no answer."""
        return not self._listed.is_waiting

    def show_list(self) -> None:
        """The list as it is now."""
        self.list.show_state(self._listed.state)
        self.refresh()

    def refresh(self) -> None:
        """Another line is chosen, or the list changed: some buttons are for it and some are not."""


def stretched(section: Section, widgets: Sequence[QWidget]) -> None:
    """Fills a section with widgets from the top."""
    for each in widgets:
        section.column.addWidget(each)
    section.column.addStretch(1)
    section.column.setAlignment(Qt.AlignmentFlag.AlignTop)
