"""The Sources page: memory and the user's other sources, how they are, and one question for all of them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.sources import SourcesViewModel
from gm_desktop.views.source_dialog import SourceDialog
from gm_desktop.views.source_panels import JointSearchPanel, SourcePanel
from gm_desktop.widgets.basics import PageHeader, document_tabs, push_button, rule, text_label
from gm_desktop.widgets.keys import keep_keys
from gm_desktop.widgets.line_view import LINE_INDENT, LineView

LIST_WIDTH, LIST_HEIGHT = 290, 560
SEARCH, SOURCE = range(2)


class SourcesPage(Page):
    """The sources on the left; a search over all of them, or one source in full, on the right."""

    page_id = "sources"

    def __init__(self, viewmodel: SourcesViewModel, theme: Theme) -> None:
        super().__init__()
        self.viewmodel, self._theme = viewmodel, theme
        self.dialog: SourceDialog | None = None
        self._make_widgets()
        self._lay_out()
        self.list.chosen.connect(self._on_chosen)
        viewmodel.listed.connect(self._show_state)
        self._show_state()

    def _make_widgets(self) -> None:
        self.add = push_button(tr("Add source…"), "", self.open_dialog)
        self.look = push_button(tr("Ask how they are"), "", self.viewmodel.look)
        self.look.setToolTip(tr("Start every source and ask for its health (Ctrl+Shift+H)"))
        self.header = PageHeader(tr("Sources"), tr("Other programs to search beside memory"), (self.look, self.add))
        self.list = LineView(self.viewmodel.lines, self._theme, tr("Sources"), grows=True, most_px=LIST_HEIGHT)
        self.list.setFixedWidth(LIST_WIDTH)
        self.failure = text_label("", "danger", wrap=True)
        self.failure.setContentsMargins(10, 0, 0, 0)
        self.asking = text_label(tr("Asking the sources…"), "small")
        self.asking.setContentsMargins(10, 0, 0, 0)
        self.alone = text_label(
            tr("Nothing else is configured yet. Add a source to search it beside memory."), "muted", wrap=True
        )
        self.alone.setContentsMargins(10, 8, 0, 0)
        self.search = JointSearchPanel(self.viewmodel, self._theme)
        self.source = SourcePanel(self.viewmodel, self._theme)
        self.tabs = document_tabs(overhang=LINE_INDENT)
        self.tabs.addTab(self.search, tr("Search"))
        self.tabs.addTab(self.source, tr("Source"))
        keep_keys(self.tabs.tabBar())

    def _lay_out(self) -> None:
        left = QVBoxLayout()
        left.setContentsMargins(MARGIN - LINE_INDENT, 6, 8, 12)  # the names stand under the title
        left.setSpacing(6)
        left.addWidget(self.asking)
        left.addWidget(self.failure)
        left.addWidget(self.list)
        left.addWidget(self.alone)
        left.addStretch(1)
        side = QWidget()
        side.setLayout(left)
        side.setFixedWidth(LIST_WIDTH + 20)
        right = QVBoxLayout()
        right.setContentsMargins(MARGIN - LINE_INDENT, 0, 0, 0)
        right.addWidget(self.tabs)
        both = QHBoxLayout()
        both.setContentsMargins(0, 0, 0, 0)
        both.setSpacing(0)
        both.addWidget(side)
        both.addWidget(rule(vertical=True))
        both.addLayout(right, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addLayout(both, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    # Page

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """Asking, looking, and what can be done with a source."""
        model = self.viewmodel
        return (
            ActionSpec("sources.ask", tr("Ask every source"), "search", "Ctrl+L", run=self.focus_query, words="joint"),
            ActionSpec("sources.look", tr("Ask the sources how they are"), "", "Ctrl+Shift+H", run=model.look),
            ActionSpec("sources.stop", tr("Stop asking"), "x", "Escape", lambda: model.is_searching, model.stop),
            ActionSpec(
                "source.add", tr("Add a source…"), "plus", "Ctrl+N", run=self.open_dialog, words="adapter recall"
            ),
            ActionSpec(
                "source.remove", tr("Remove the source"), "trash", "", lambda: model.can_change_source, model.remove
            ),
            ActionSpec(
                "source.restart", tr("Restart the source"), "redo", "", lambda: model.can_change_source, model.restart
            ),
            ActionSpec(
                "source.keep",
                tr("Keep the hit as a fact"),
                "bookmark",
                "Ctrl+Shift+K",
                self.search.keep.isEnabled,
                self.search.keep_hit,
            ),
        )

    def activate(self) -> None:
        """Work begins with a question; the first time in a store, the sources are asked how they are."""
        if not self.viewmodel.has_looked:
            self.viewmodel.look()
        self.focus_query()

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return not self.viewmodel.is_waiting

    def prepare_screenshot(self) -> None:
        """A question to all."""
        self.viewmodel.look()
        self.search.query.setText("rollback")
        self.search.ask()

    def screenshot_scenes(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        """A hit opened, and each source in full."""
        lines = self.viewmodel.lines.lines
        return (
            ("hit", self._open_first_hit),
            *((f"source-{line.key}", lambda key=line.key: self._on_chosen(key)) for line in lines[:5]),
        )

    def _open_first_hit(self) -> None:
        hits = self.viewmodel.hits
        if hits.lines:
            self.search.hits.setCurrentIndex(hits.index(0))
            self.viewmodel.select_hit(hits.lines[0].key)

    # deeds

    def focus_query(self) -> None:
        """The question has the focus."""
        self.tabs.setCurrentIndex(SEARCH)
        self.search.query.setFocus()
        self.search.query.selectAll()

    def open_dialog(self) -> None:
        """The form of a new source."""
        self.dialog = SourceDialog(self.viewmodel, self._theme, self)
        self.dialog.finished.connect(self.dialog.deleteLater)
        self.dialog.open()

    def _on_chosen(self, source_id: str) -> None:
        self.viewmodel.select_source(source_id)
        self.tabs.setCurrentIndex(SOURCE)

    def _show_state(self) -> None:
        model = self.viewmodel
        self.asking.setVisible(model.is_looking)
        self.look.setEnabled(not model.is_looking)
        self.failure.setText(model.failure)
        self.failure.setVisible(bool(model.failure))
        self.alone.setVisible(len(model.lines.lines) == 1 and not model.failure)
        row_at = model.lines.row_of(model.selected_source)
        if row_at is not None:
            self.list.setCurrentIndex(model.lines.index(row_at))
