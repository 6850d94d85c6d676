"""*Why this?*: the selected hit, its sum spelled out, the words that matched, what it replaced, what was looked at."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QGridLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import SPACE, Theme
from gm_desktop.viewmodels.why import SignalRow, WhyDetails
from gm_desktop.widgets.basics import EmptyState, YieldingLabel, push_button, row, rule, text_label
from gm_desktop.widgets.contribution_bar import ContributionBar, SignalDot
from gm_desktop.widgets.flow_layout import FlowLayout
from gm_desktop.widgets.pills import Pill
from gm_desktop.widgets.scrolled import scroll_area
from gm_desktop.widgets.text_panes import LongText
from gm_desktop.widgets.timeline import Moment, Timeline

_MARGIN = 20
_MOST_WORDS = 24


class SumTable(QWidget):
    """The arithmetic: one line per signal, the sum, the factor, the final score."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)
        self._titles = [text_label("", "strong") for _ in range(3)]
        self._notes = [text_label("", "small", wrap=True) for _ in range(3)]
        self._divisions = [text_label("", "small") for _ in range(3)]
        self.values = [text_label("") for _ in range(3)]
        self.base, self.factor, self.final = text_label(""), text_label(""), text_label("", "strong")
        self._base_title, self._final_title = text_label(tr("Sum")), text_label(tr("Final score"), "strong")
        self._factor_title = text_label(tr("Confidence factor"))
        self.factor_note = text_label("", "small", wrap=True)
        self._lay_out()

    def _lay_out(self) -> None:
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        grid = self._grid
        for at in range(3):
            grid.addWidget(SignalDot(self._theme, at), 2 * at, 0)
            grid.addWidget(self._titles[at], 2 * at, 1)
            grid.addWidget(self._divisions[at], 2 * at, 2, right)
            grid.addWidget(self._figure(self.values[at]), 2 * at, 3, right)
            self._notes[at].setContentsMargins(0, 0, 0, 8)
            grid.addWidget(self._notes[at], 2 * at + 1, 1, 1, 3)
        grid.addWidget(rule(), 6, 1, 1, 3)
        for line, (title, value) in enumerate(
            ((self._base_title, self.base), (self._factor_title, self.factor), (self._final_title, self.final))
        ):
            at = (7, 8, 11)[line]
            grid.addWidget(title, at, 1, 1, 2)
            grid.addWidget(self._figure(value), at, 3, right)
        self.factor_note.setContentsMargins(0, 0, 0, 6)
        grid.addWidget(self.factor_note, 9, 1, 1, 3)
        grid.addWidget(rule(), 10, 1, 1, 3)

    def _figure(self, label: QLabel) -> QLabel:
        """Digits of one width, so that columns of them line up."""
        font = QFont(self._theme.font("body"))
        font.setFeature(QFont.Tag("tnum"), 1)
        label.setFont(font)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label

    def show_sum(self, why: WhyDetails) -> None:
        """Shows the sum of one hit."""
        for at, signal in enumerate(why.signals):
            self._show_signal(at, signal)
        self.base.setText(why.base)
        self.factor.setText(f"× {why.factor}")
        self.factor_note.setText(why.factor_note)
        self.final.setText(why.final)

    def _show_signal(self, at: int, signal: SignalRow) -> None:
        self._titles[at].setText(signal.title)
        note = " · ".join(part for part in (signal.place, signal.note) if part)
        self._notes[at].setText(note)
        self._divisions[at].setText(f"{signal.division} =" if signal.division else "")
        self.values[at].setText(signal.value)


class WhyPanel(QWidget):
    """Explains one hit; whoever owns it says which."""

    fact_wanted = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._fact_id = ""
        self._make_widgets()
        self._lay_out()
        self._wire()
        self.show_why(None)

    def _make_widgets(self) -> None:
        self._place = YieldingLabel("", "strong")
        self.open_fact = push_button(tr("Open in Memory"), "link", self._on_open)
        self.confidence = Pill(self._theme)
        self._meta = text_label("", "small")
        self.text = LongText(self._theme, most_px=220)
        self.text.pane.setAccessibleName(tr("Text of the hit"))
        self.bar = ContributionBar(self._theme)
        self.sum = SumTable(self._theme)
        self._note = text_label("", "danger", wrap=True)
        self.merge_note = text_label("", "small", wrap=True)
        self._words_title = text_label(tr("Matched words"), "section")
        self._words = QWidget()
        self._words_flow = FlowLayout(self._words, gap=6)
        self.pills: list[Pill] = []
        self._replaced_title = text_label(tr("Replaced"), "section")
        self.replaced = Timeline(self._theme, opens=True)
        self.coverage = text_label("", "small", wrap=True)
        self._empty = EmptyState(self._theme, "scale", "", text_width=220)

    def _lay_out(self) -> None:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(_MARGIN, 14, _MARGIN, 20)
        column.setSpacing(10)
        column.addLayout(row(self._place, 1, self.open_fact))
        column.addLayout(row(self.confidence, self._meta, 1))
        column.addWidget(self.text)
        column.addSpacing(SPACE)
        column.addWidget(self.bar)
        column.addWidget(self.sum)
        column.addWidget(self._note)
        column.addWidget(self.merge_note)
        column.addSpacing(SPACE)
        for widget in (self._words_title, self._words):
            column.addWidget(widget)
        column.addSpacing(SPACE)
        for widget in (self._replaced_title, self.replaced, text_label(tr("Looked at"), "section"), self.coverage):
            column.addWidget(widget)
        column.addStretch(1)
        self._area = scroll_area(body)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._area)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)

    def _wire(self) -> None:
        self.replaced.chosen.connect(self.fact_wanted)

    def _on_open(self) -> None:
        self.fact_wanted.emit(self._fact_id)

    def show_why(self, why: WhyDetails | None, *, count: int = 0, coverage: str = "") -> None:
        """Explains a hit of `count`; None: none is chosen, or there is none to choose."""
        self._stack.setCurrentWidget(self._empty if why is None else self._area)
        if why is None:
            hint = tr("Select a hit to see how its score came to be.") if count else tr("There is no hit to explain.")
            self._empty.say("scale", tr("Why this?"), hint)
            return
        self._fact_id = why.id
        self._place.setText(tr("Hit {position} of {count}", position=why.position, count=count))
        self.confidence.show_text(why.confidence_title, why.confidence)
        self._meta.setText(why.written)
        self._meta.setToolTip(why.written_utc)
        self.text.show_text(why.text, why.spans)
        said = ", ".join(f"{each.title} {each.value}" for each in why.signals)
        self.bar.show_shares([each.share for each in why.signals], said)
        self.sum.show_sum(why)
        self._note.setText(why.note)
        self._note.setVisible(bool(why.note))
        self.merge_note.setText(why.merge_note)
        self.merge_note.setVisible(bool(why.merge_note))
        self._show_words(why.matched)
        self._replaced_title.setVisible(bool(why.replaced))
        self.replaced.setVisible(bool(why.replaced))
        self.replaced.show_moments(
            [Moment(each.id, each.text, each.when, tr("Open this fact")) for each in why.replaced]
        )
        self.coverage.setText(coverage)

    def _show_words(self, words: tuple[str, ...]) -> None:
        shown = words[:_MOST_WORDS]
        while len(self.pills) < len(shown):
            pill = Pill(self._theme)
            self.pills.append(pill)
            self._words_flow.addWidget(pill)
        for at, pill in enumerate(self.pills):
            pill.show_text(shown[at] if at < len(shown) else "", "match")
        self._words_title.setVisible(bool(shown))
        self._words.setVisible(bool(shown))
        self._words.updateGeometry()
