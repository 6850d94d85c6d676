"""The two sides of the Sources page: a joint search, and what is known about one source."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QLineEdit, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.sources import DETAILS, SourcesViewModel
from gm_desktop.widgets.basics import EmptyState, add_glass, push_button, row, rule, text_label
from gm_desktop.widgets.flow_layout import FlowLayout
from gm_desktop.widgets.line_view import LINE_INDENT, LineView
from gm_desktop.widgets.name_values import NameValues
from gm_desktop.widgets.pills import Pill
from gm_desktop.widgets.scrolled import scroll_area
from gm_desktop.widgets.text_panes import LongText, TextPane

_DETAIL_TITLES = {"summary": "Summary", "excerpt": "Excerpt", "full": "Full text", "context": "With context"}


class JointSearchPanel(QWidget):
    """A question to everybody, how each answered, the hits in one order, and the chosen one opened."""

    def __init__(self, viewmodel: SourcesViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._pills: list[Pill] = []
        self._make_widgets()
        self._lay_out()
        viewmodel.answered.connect(self.show_answer)
        viewmodel.opened.connect(self.show_opened)
        self.show_answer()
        self.show_opened()

    def _make_widgets(self) -> None:
        self.query = QLineEdit()
        self.query.setProperty("kind", "search")
        self.query.setPlaceholderText(tr("Ask memory and every source at once"))
        self.query.setAccessibleName(tr("Question"))
        add_glass(self.query, self._theme)
        self.query.returnPressed.connect(self.ask)
        self.go = push_button(tr("Search"), "primary", self.ask)
        self._chips = QWidget()
        FlowLayout(self._chips, gap=6)
        self.verdict = text_label("", "muted", wrap=True)
        self.hits = LineView(self._viewmodel.hits, self._theme, tr("Hits"))
        self.hits.chosen.connect(self._viewmodel.select_hit)
        self.nothing = EmptyState(self._theme, "library", "")
        self.detail = QComboBox()
        self.detail.setAccessibleName(tr("How much of it"))
        for key in DETAILS:
            self.detail.addItem(tr(_DETAIL_TITLES[key]), key)
        self.detail.setCurrentIndex(DETAILS.index("full"))
        self.detail.activated.connect(lambda _at: self._viewmodel.set_detail(self.detail.currentData()))
        self.agent = QComboBox()
        self.agent.setAccessibleName(tr("Whose memory it goes to"))
        self.keep = push_button(tr("Keep as a fact"), "", self.keep_hit)
        self.keep.setToolTip(tr("A fact with this text, which names the source it came from (Ctrl+Shift+K)"))
        self.provenance = text_label("", "small", wrap=True, selectable=True)
        self.content = LongText(self._theme, most_px=220)

    def _lay_out(self) -> None:
        self._stack = QStackedWidget()
        self._stack.addWidget(self.nothing)
        self._stack.addWidget(self.hits)
        self._opened = QWidget()
        inner = QVBoxLayout(self._opened)
        inner.setContentsMargins(0, 6, 0, 0)
        inner.setSpacing(8)
        inner.addWidget(rule())
        inner.addLayout(row(self.detail, 1, self.agent, self.keep))
        inner.addWidget(self.content)
        inner.addWidget(self.provenance)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 14, MARGIN, 16)
        layout.setSpacing(10)
        line = row(self.query, self.go)
        line.setStretch(0, 1)
        above, below = QVBoxLayout(), QVBoxLayout()
        for part in (above, below):  # the text of a hit stands in line with these
            part.setContentsMargins(LINE_INDENT, 0, 0, 0)
            part.setSpacing(10)
        above.addLayout(line)
        above.addWidget(self._chips)
        above.addWidget(self.verdict)
        below.addWidget(self._opened)
        layout.addLayout(above)
        layout.addWidget(self._stack, 1)
        layout.addLayout(below)

    def ask(self) -> None:
        """Searches for what is in the field."""
        self._viewmodel.search(self.query.text())

    def keep_hit(self) -> None:
        """Keeps the opened hit for the chosen agent."""
        if self.agent.currentText():
            self._viewmodel.keep(self.agent.currentText())

    def show_answer(self) -> None:
        """Chips, sentence and hits. A question of a store that was closed is gone from the field as well."""
        model = self._viewmodel
        if not model.query:
            self.query.clear()
        while len(self._pills) < len(model.chips):
            pill = Pill(self._theme, self._chips)
            layout = self._chips.layout()
            if layout is not None:
                layout.addWidget(pill)
            self._pills.append(pill)
        for at, pill in enumerate(self._pills):
            chip = model.chips[at] if at < len(model.chips) else None
            pill.show_text("" if chip is None else chip.text, "" if chip is None else chip.tone)
            pill.setToolTip("" if chip is None else as_tip(chip.sentence))
        self._chips.setVisible(bool(model.chips))
        self.verdict.setText(tr("Asking…") if model.is_searching else model.verdict)
        has_hits = bool(model.hits.lines)
        self.verdict.setVisible(has_hits or model.is_searching)
        if not has_hits:
            self._say_nothing()
        self._stack.setCurrentWidget(self.hits if has_hits else self.nothing)
        self.show_opened()

    def _say_nothing(self) -> None:
        model = self._viewmodel
        if model.is_searching:
            self.nothing.say("clock", tr("Waiting for the sources…"))
        elif model.query:
            self.nothing.say("search", tr("No hits for “{query}”", query=model.query), model.verdict)
        else:
            hint = tr("Hits stand in one order by their places, and every source says how it went.")
            self.nothing.say("library", tr("One question for memory and every source"), hint)

    def show_opened(self) -> None:
        """The chosen hit."""
        model = self._viewmodel
        known = [self.agent.itemText(at) for at in range(self.agent.count())]
        if known != list(model.agents):
            self.agent.clear()
            self.agent.addItems(model.agents)
        self._opened.setVisible(bool(model.selected_hit) and bool(model.hits.lines))
        self.content.show_text(model.content)
        self.content.setVisible(bool(model.content))
        self.provenance.setText(model.provenance)
        self.provenance.setToolTip("\n".join(model.instants))
        self.keep.setEnabled(model.can_keep and bool(model.agents))
        self.agent.setEnabled(self.keep.isEnabled())


class SourcePanel(QWidget):
    """What is known about the chosen source, what its program said, and what can be done with it."""

    def __init__(self, viewmodel: SourcesViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel = viewmodel
        self.title = text_label("", "heading")
        self.rows = NameValues()
        self.restart = push_button(tr("Restart"), "", viewmodel.restart)
        self.restart.setToolTip(tr("End its program and start it again"))
        self.remove = push_button(tr("Remove"), "quiet", viewmodel.remove)
        self.remove.setToolTip(tr("Take it out of the configuration; what was kept from it stays"))
        self.said_title = text_label(tr("What its program said last"), "section")
        self.said = TextPane(theme, most_px=200)
        self.said.setAccessibleName(tr("Error output"))
        policy = self.restart.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # the title stays in its place
        self.restart.setSizePolicy(policy)
        body = QWidget()
        inner = QVBoxLayout(body)
        inner.setContentsMargins(LINE_INDENT, 16, MARGIN, MARGIN)
        inner.setSpacing(14)
        inner.addLayout(row(self.title, 1, self.restart, self.remove))
        inner.addWidget(self.rows)
        inner.addWidget(self.said_title)
        inner.addWidget(self.said)
        inner.addStretch(1)
        area = scroll_area(body)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
        viewmodel.listed.connect(self.show_source)
        self.show_source()

    def show_source(self) -> None:
        """Everything about the source that is chosen now."""
        model = self._viewmodel
        is_configured = model.can_change_source
        self.title.setText(model.selected_source if is_configured else tr("Memory"))
        self.rows.show_rows(model.details)
        self.restart.setVisible(is_configured)
        self.remove.setVisible(is_configured)
        self.said.show_text(model.stderr)
        self.said.setVisible(bool(model.stderr))
        self.said_title.setVisible(bool(model.stderr))
