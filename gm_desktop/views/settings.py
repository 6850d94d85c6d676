"""The Settings page: its sections on the left, the open one beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.i18n import tr
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.views.settings_parts import Section
from gm_desktop.widgets.basics import PageHeader, rule
from gm_desktop.widgets.scrolled import scroll_area

LIST_WIDTH = 208
MOST_WIDTH = 760


class SettingsPage(Page):
    """Shows sections; another one is another widget in the sequence it is given."""

    page_id = "settings"

    def __init__(self, sections: Sequence[Section], theme: Theme) -> None:
        super().__init__()
        self.sections = {each.section_id: each for each in sections}
        self._theme = theme
        self._looked_at: Section | None = None
        self._make_widgets()
        self._lay_out()
        self.list.currentRowChanged.connect(self._on_row)
        theme.changed.connect(self._paint_icons)
        self._paint_icons()
        self.list.setCurrentRow(0)

    def _make_widgets(self) -> None:
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Sections of the settings"))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setProperty("kind", "nav")
        self.list.setFixedWidth(LIST_WIDTH)
        self.list.setIconSize(QSize(16, 16))
        self.list.setSpacing(1)
        self._stack = QStackedWidget()
        for section in self.sections.values():
            self.list.addItem(QListWidgetItem(tr(section.title)))
            self._stack.addWidget(_scrolled(section))

    def _lay_out(self) -> None:
        side = QWidget()
        column = QVBoxLayout(side)
        column.setContentsMargins(MARGIN - 12, 12, 12, 12)  # the icons stand under the title
        column.addWidget(self.list)
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(side)
        middle.addWidget(rule(vertical=True))
        middle.addWidget(self._stack, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(PageHeader(tr("Settings"), tr("Of this program, and of the store that is open")))
        layout.addWidget(rule())
        layout.addLayout(middle, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    @property
    def section_id(self) -> str:
        """The open section."""
        return list(self.sections)[max(0, self.list.currentRow())]

    def open_section(self, section_id: str) -> None:
        """Opens a section; an unknown one opens none."""
        ids = list(self.sections)
        if section_id in ids:
            self.list.setCurrentRow(ids.index(section_id))

    # Page

    def activate(self) -> None:
        """Work begins at the list of sections."""
        self.list.setFocus()

    def save_state(self) -> dict[str, str]:
        """The open section."""
        return {"section": self.section_id}

    def restore_state(self, state: dict[str, str]) -> None:
        """Opens it again."""
        self.open_section(state.get("section", ""))

    def landmark(self) -> QWidget:
        """What connects a program, below the list of those there are."""
        self.open_section("programs")
        return self.sections["programs"].landmark()

    def prepare_screenshot(self) -> None:
        """The first section."""
        self.list.setCurrentRow(0)

    def prepare_empty_screenshot(self) -> None:
        """A section of the store, with nothing in it yet."""
        self.open_section("keeping")

    def screenshot_scenes(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        """Every other section."""
        return tuple((each, partial(self.open_section, each)) for each in list(self.sections)[1:])

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return all(section.is_settled() for section in self.sections.values())

    def showEvent(self, event: QShowEvent) -> None:
        """The open section is read while the page shows."""
        super().showEvent(event)
        self._look()

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody looks any more."""
        super().hideEvent(event)
        self._look()

    # inside

    def _on_row(self, at: int) -> None:
        self._stack.setCurrentIndex(max(0, at))
        self._look()

    def _look(self) -> None:
        wanted = self.sections[self.section_id] if self.isVisible() else None
        if wanted is not self._looked_at:
            if self._looked_at is not None:
                self._looked_at.look(False)
            self._looked_at = wanted
            if wanted is not None:
                wanted.look(True)

    def _paint_icons(self) -> None:
        for at, section in enumerate(self.sections.values()):
            self.list.item(at).setIcon(self._theme.icon(section.icon_name))


def _scrolled(section: Section) -> QScrollArea:
    body = QWidget()
    section.setMaximumWidth(MOST_WIDTH)
    layout = QHBoxLayout(body)
    layout.setContentsMargins(MARGIN, 20, MARGIN, MARGIN)
    layout.addWidget(section, 100)
    layout.addStretch(1)
    return scroll_area(body)
