"""The right-hand side of the Search page: why this, why not that, the lab."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QStackedWidget, QTabBar, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import SPACE, Theme
from gm_desktop.viewmodels.batch import Finding, MergedHit
from gm_desktop.viewmodels.lab import LabViewModel
from gm_desktop.viewmodels.why_not import WhyNotViewModel
from gm_desktop.views.lab_panel import LabPanel
from gm_desktop.views.why_not_panel import WhyNotPanel
from gm_desktop.views.why_panel import WhyPanel
from gm_desktop.widgets.basics import YieldingLabel, push_button, row, rule, text_label
from gm_desktop.widgets.keys import begin_when_clicked
from gm_desktop.widgets.scrolled import PANEL_MARGIN, scrolled
from gm_desktop.widgets.text_panes import LongText
from gm_desktop.widgets.timeline import Moment, Timeline

Tab = Literal["why", "why_not", "lab"]
TABS: tuple[Tab, ...] = ("why", "why_not", "lab")
MIN_WIDTH = 320


class FoundByPanel(QWidget):
    """A fact of the merged view: which questions found it, and where."""

    fact_wanted = Signal(str)
    finding_wanted = Signal(object)  # Finding

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._hit: MergedHit | None = None
        self._place = YieldingLabel("", "strong")
        self.text = LongText(theme, most_px=220)
        self.findings = Timeline(theme, opens=True)
        column = QVBoxLayout()
        column.setSpacing(10)
        column.addLayout(row(self._place, 1, push_button(tr("Open in Memory"), "link", self._on_open)))
        column.addWidget(self.text)
        column.addSpacing(SPACE)
        column.addWidget(text_label(tr("Found by"), "section"))
        column.addWidget(self.findings)
        column.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scrolled(column))
        self.findings.chosen.connect(self._on_finding)

    def show_hit(self, hit: MergedHit) -> None:
        """Shows one fact."""
        self._hit = hit
        self._place.setText(tr("Fact {position} of the merged view", position=hit.position))
        self.text.show_text(hit.text)
        self.findings.show_moments(
            [
                Moment(each.key, each.query, tr("hit {place}", place=each.place), tr("Show this question's answer"))
                for each in hit.found
            ]
        )

    def _on_open(self) -> None:
        if self._hit is not None:
            self.fact_wanted.emit(self._hit.id)

    def _on_finding(self, key: str) -> None:
        found: tuple[Finding, ...] = self._hit.found if self._hit is not None else ()
        for finding in found:
            if finding.key == key:
                self.finding_wanted.emit(finding)


class SearchInspector(QWidget):
    """Three tabs; emits `tab_changed` when another one is open."""

    tab_changed = Signal()

    def __init__(
        self, why_not: WhyNotViewModel, lab: LabViewModel, theme: Theme, *, expect: Callable[[], None]
    ) -> None:
        super().__init__()
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumWidth(MIN_WIDTH)
        self.why = WhyPanel(theme)
        self.found_by = FoundByPanel(theme)
        self.why_not = WhyNotPanel(why_not, theme)
        self.lab = LabPanel(lab, theme, expect)
        self.tabs = QTabBar()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setAccessibleName(tr("Inspector"))
        for title in (tr("Why this?"), tr("Why not that?"), tr("Ranking lab")):
            self.tabs.addTab(title)
        self._stack = QStackedWidget()
        for page in (self.why, self.found_by, self.why_not, self.lab):
            self._stack.addWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row(self.tabs, 1, margins=(PANEL_MARGIN, 10, 0, 0)))
        layout.addWidget(rule())
        layout.addWidget(self._stack, 1)
        self._is_merged = False
        self.tabs.currentChanged.connect(self._on_tab)
        begin_when_clicked(self.tabs, lambda: self.open_tab(self.tab))

    def event(self, event: QEvent) -> bool:
        """Plain keys that change the selected hit mean nothing where one moves numbers or looks for another fact."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self.tab != "why":
            plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
            if plain and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_P):
                event.accept()
                return True
        return super().event(event)

    @property
    def tab(self) -> Tab:
        """The open tab."""
        return TABS[max(0, self.tabs.currentIndex())]

    def open_tab(self, tab: Tab) -> None:
        """Opens a tab and gives it the keyboard where it starts with a field."""
        self.tabs.setCurrentIndex(TABS.index(tab))
        if tab == "why_not":
            self.why_not.focus()
        elif tab == "lab":
            self.lab.focus()

    def show_merged(self, hit: MergedHit | None) -> None:
        """Shows who found a fact instead of why one question did; None: the other way round."""
        self._is_merged = hit is not None
        if hit is not None:
            self.found_by.show_hit(hit)
        self._show_page()

    def _on_tab(self) -> None:
        self._show_page()
        self.tab_changed.emit()

    def _show_page(self) -> None:
        pages: dict[Tab, QWidget] = {"why": self.why, "why_not": self.why_not, "lab": self.lab}
        page = pages[self.tab]
        if page is self.why and self._is_merged:
            page = self.found_by
        self._stack.setCurrentWidget(page)
