"""The Overview page: the store in figures and charts; every number opens its list."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr
from gm_desktop.page import Page
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.viewmodels.overview import OverviewViewModel
from gm_desktop.viewmodels.overview_words import Bar, Chart, Embedded, Opens
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.views.health_panel import HealthPanel
from gm_desktop.widgets.bar_chart import BarChart, ChartBar
from gm_desktop.widgets.basics import EmptyState, PageHeader, YieldingLabel, push_button, row, text_label
from gm_desktop.widgets.figure_tile import FigureTile
from gm_desktop.widgets.meter_rows import INSET, Meter, MeterRows
from gm_desktop.widgets.scrolled import SCROLL_BAR, scroll_area

_TILES = 12
_TILE_COLUMNS = 6
_TONES = ("success", "text_muted", "warning")  # verified, inferred, unverified


class _Card(QFrame):
    """A titled card; the note beside the title says the sum."""

    def __init__(self, title: str, body: QWidget) -> None:
        super().__init__()
        self.setProperty("kind", "card")
        self.note = YieldingLabel("", "small")
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        head = row(text_label(title, "strong"), self.note, spacing=12, margins=(INSET, 0, INSET, 0))
        head.setStretch(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18 - INSET, 14, 18 - INSET, 14)
        layout.setSpacing(10)
        layout.addLayout(head)
        layout.addWidget(body, 1)


class OverviewPage(Page):
    """Tiles on top, charts below, health at the end."""

    page_id = "overview"

    def __init__(self, viewmodel: OverviewViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._is_awaited = False
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()

    def _make_widgets(self) -> None:
        model, theme = self._viewmodel, self._theme
        self.keep = push_button(tr("Back up, restore, purge"), "", lambda: model.section_wanted.emit("keeping"))
        self.header = PageHeader(tr("Overview"), tr("What the store holds, and how it is used"), (self.keep,))
        self.tiles = [FigureTile(theme) for _ in range(_TILES)]
        self.written = BarChart(theme, tr("Facts written over time"))
        self.recalls = BarChart(theme, tr("Recalls by day"))
        self.weights = BarChart(theme, tr("Live facts by retention weight"))
        self.confidence, self.agents, self.channels = (MeterRows(theme) for _ in range(3))
        self.embedded = MeterRows(theme)
        self.cycle = text_label("", "", wrap=True)
        self.cycle_note = text_label("", "small")
        self.all_cycles = push_button(tr("Open Consolidate"), "link", lambda: model.open(Opens("consolidate")))
        self.health = HealthPanel(model.health, theme)
        self.retry = push_button(tr("Try again"), "", model.reload)
        self.note = EmptyState(theme, "layout-dashboard", "", "", (self.retry,))

    def _lay_out(self) -> None:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 4, 0, MARGIN)
        column.setSpacing(16)
        column.addLayout(self._tile_grid())
        column.addLayout(self._card_grid())
        column.addWidget(self.health)
        column.addStretch(1)
        body = QWidget()
        inset = QVBoxLayout(body)
        inset.setContentsMargins(MARGIN, 0, MARGIN - SCROLL_BAR, 0)  # as wide as the header
        inset.addWidget(content)
        area = scroll_area(body)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(area)
        self._area = area
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addWidget(self._stack, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def _tile_grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setSpacing(SPACE + 2)
        for at, tile in enumerate(self.tiles):
            grid.addWidget(tile, at // _TILE_COLUMNS, at % _TILE_COLUMNS)
        for column in range(_TILE_COLUMNS):
            grid.setColumnStretch(column, 1)
        return grid

    def _card_grid(self) -> QGridLayout:
        self.written_card = _Card(tr("Facts written"), self.written)
        self.recalls_card = _Card(tr("Recalls"), self.recalls)
        self.weights_card = _Card(tr("Retention weight"), self.weights)
        upkeep = QWidget()
        column = QVBoxLayout(upkeep)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.embedded)
        texts = QVBoxLayout()
        texts.setContentsMargins(INSET, 8, INSET, 0)
        texts.setSpacing(6)
        texts.addWidget(text_label(tr("Last cycle"), "section"))
        texts.addWidget(self.cycle)
        texts.addLayout(row(self.cycle_note, 1, self.all_cycles))
        column.addLayout(texts)
        column.addStretch(1)
        grid = QGridLayout()
        grid.setSpacing(16)
        grid.addWidget(self.written_card, 0, 0, 1, 2)
        grid.addWidget(_Card(tr("Confidence"), self.confidence), 0, 2)
        grid.addWidget(self.recalls_card, 1, 0, 1, 2)
        grid.addWidget(_Card(tr("Agents"), self.agents), 1, 2)
        grid.addWidget(self.weights_card, 2, 0)
        grid.addWidget(_Card(tr("Where facts come from"), self.channels), 2, 1)
        grid.addWidget(_Card(tr("Upkeep"), upkeep), 2, 2)
        for at in range(3):
            grid.setColumnStretch(at, 1)
        return grid

    def _wire(self) -> None:
        model = self._viewmodel
        model.state_changed.connect(self._show_state)
        model.figures_changed.connect(self._show_figures)
        for at, tile in enumerate(self.tiles):
            tile.clicked.connect(lambda _on=False, at=at: self._open_figure(at))
        for chart, name in ((self.written, "written"), (self.recalls, "recalls"), (self.weights, "weights")):
            chart.chosen.connect(lambda at, name=name: self._open(self._chart(name).bars, at))
        for rows, name in ((self.confidence, "confidence"), (self.agents, "agents"), (self.channels, "channels")):
            rows.chosen.connect(lambda at, name=name: self._open(self._bars(name), at))
        self.embedded.chosen.connect(lambda _at: self._open_pending())

    # Page

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done here."""
        model = self._viewmodel
        return (
            ActionSpec(
                "store.examine",
                tr("Examine the store"),
                "shield-check",
                "Ctrl+Shift+E",
                lambda: not model.health.is_waiting,
                model.health.examine,
                "Store",
                "doctor health check",
            ),
            ActionSpec("overview.refresh", tr("Read the figures again"), "redo", "F5", run=model.reload),
        )

    def activate(self) -> None:
        """Work begins at the first number, as soon as it is there."""
        self._area.ensureWidgetVisible(self.tiles[0])
        self.tiles[0].setFocus()
        self._is_awaited = not isinstance(self._viewmodel.state, Full)

    def screenshot_scenes(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        """The lower half."""
        bar = self._area.verticalScrollBar()
        return (("below", lambda: bar.setValue(bar.maximum())),)

    def is_settled(self) -> bool:
        """Whether every answer has come."""
        return not self._viewmodel.is_waiting

    def be_looked_at(self, is_looked_at: bool) -> None:
        """Figures are read while the page shows."""
        self._viewmodel.look(is_looked_at)

    # state

    def _show_state(self) -> None:
        state = self._viewmodel.state
        self.retry.setVisible(isinstance(state, Failed))
        if isinstance(state, Empty):
            self.note.say("layout-dashboard", state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The store can't be read"), state.message)
        elif not isinstance(state, Full):
            self.note.say("clock", tr("Reading the store…"))
        is_full = isinstance(state, Full)
        self._stack.setCurrentWidget(self._area if is_full else self.note)
        if not is_full:  # another store begins at its top
            self._area.verticalScrollBar().setValue(0)
        if is_full and self._is_awaited and self.isVisible():
            self.tiles[0].setFocus()
        self._is_awaited = self._is_awaited and not is_full

    def _show_figures(self) -> None:
        found = self._viewmodel.figures
        if found is None:
            return
        for tile, figure in zip(self.tiles, found.figures, strict=True):
            tile.show_figure(figure.title, figure.value, figure.hover)
        for card, widget, chart in (
            (self.written_card, self.written, found.written),
            (self.recalls_card, self.recalls, found.recalls),
            (self.weights_card, self.weights, found.weights),
        ):
            card.note.setText(chart.note)
            card.note.setToolTip(as_tip(chart.note))
            bars = [ChartBar(bar.count, bar.hover) for bar in chart.bars]
            widget.show_bars(bars, first=chart.first, last=chart.last)
        self.confidence.show_meters(_meters(found.confidence, _TONES))
        self.agents.show_meters(_meters(found.agents, ("accent",)))
        self.channels.show_meters(_meters(found.channels, ("accent",)))
        self.embedded.show_meters([_meter_of(found.embedded)])
        self.cycle.setText(found.cycle)
        self.cycle_note.setText(found.cycle_note)

    # deeds

    def _chart(self, name: str) -> Chart:
        found = self._viewmodel.figures
        empty = Chart("", "", "", ())
        if found is None:
            return empty
        return {"written": found.written, "recalls": found.recalls, "weights": found.weights}[name]

    def _bars(self, name: str) -> Sequence[Bar]:
        found = self._viewmodel.figures
        if found is None:
            return ()
        return {"confidence": found.confidence, "agents": found.agents, "channels": found.channels}[name]

    def _open(self, bars: Sequence[Bar], at: int) -> None:
        if 0 <= at < len(bars):
            self._viewmodel.open(bars[at].opens)

    def _open_figure(self, at: int) -> None:
        found = self._viewmodel.figures
        if found is not None:
            self._viewmodel.open(found.figures[at].opens)

    def _open_pending(self) -> None:
        found = self._viewmodel.figures
        if found is not None and found.embedded.pending is not None:
            self._viewmodel.open(found.embedded.pending)


def _meter_of(embedded: Embedded) -> Meter:
    pending = tr("Texts without a vector yet: show them") if embedded.pending else tr("Every live text has a vector")
    tone = "accent" if embedded.pending else "success"
    return Meter(tr("Embedded"), embedded.count, embedded.share, f"{embedded.text}. {pending}", tone)


def _meters(bars: Sequence[Bar], tones: Sequence[str]) -> list[Meter]:
    """Bars as long as their share of the largest."""
    most = max((bar.count for bar in bars), default=0) or 1
    return [
        Meter(bar.title, bar.count, bar.count / most, bar.hover, tones[min(at, len(tones) - 1)])
        for at, bar in enumerate(bars)
    ]
