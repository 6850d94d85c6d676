"""What a cycle did or would do, in a panel above the cards; and the list of past cycles."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.cycles import CyclesViewModel
from gm_desktop.widgets.basics import EmptyState, icon_button, push_button, row, text_label
from gm_desktop.widgets.scrolled import scroll_area
from gm_desktop.widgets.timeline import Moment, Timeline

_MOST_LINES = 10


class CycleReportPanel(QWidget):
    """The report of the last run; a dry one can be carried out from here."""

    def __init__(self, cycles: CyclesViewModel, theme: Theme) -> None:
        super().__init__()
        self._cycles = cycles
        self.title, self.lines = text_label("", "strong"), text_label("", "muted", wrap=True)
        self.go = push_button(tr("Run it"), "primary", cycles.run_as_shown)
        self.close_button = icon_button(theme, "x", tr("Close the report"), cycles.close_report)
        card = QFrame()
        card.setProperty("kind", "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(16, 10, 12, 14)
        inner.setSpacing(4)
        inner.addLayout(row(self.title, 1, self.go, self.close_button))
        inner.addWidget(self.lines)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 0, MARGIN, 10)
        layout.addWidget(card)
        cycles.report_changed.connect(self._show)
        cycles.running_changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        report = self._cycles.report
        self.setVisible(report is not None)
        if report is not None:
            self.title.setText(report.title)
            shown = report.lines[:_MOST_LINES]
            rest = len(report.lines) - len(shown)
            self.lines.setText("\n".join((*shown, tr("… and {count} more lines", count=rest)) if rest else shown))
            self.lines.setVisible(bool(report.lines))
            self.go.setVisible(report.is_dry)
            self.go.setEnabled(self._cycles.can_write)


class HistoryPanel(QWidget):
    """Past cycles, newest first; a chosen one can be taken back."""

    def __init__(self, cycles: CyclesViewModel, theme: Theme) -> None:
        super().__init__()
        self._cycles = cycles
        self.timeline = Timeline(theme, opens=True)
        self.chosen = text_label("", "muted", wrap=True)
        self.undo = push_button(tr("Take this cycle back"), "", cycles.undo_chosen)
        self.undo.setToolTip(tr("Its cards, what it merged and what it let go; not the fading"))
        body = QWidget()
        inner = QVBoxLayout(body)
        inner.setContentsMargins(0, 12, MARGIN, 12)
        inner.addWidget(self.timeline)
        inner.addStretch(1)
        area = scroll_area(body)
        listed = QWidget()
        column = QVBoxLayout(listed)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(area, 1)
        foot = row(self.chosen, self.undo, margins=(0, 8, MARGIN, 12))
        foot.setStretch(0, 1)
        column.addLayout(foot)
        self._listed = listed
        self.note = EmptyState(theme, "history", tr("No cycle has run yet"), tr("Every cycle leaves its report here."))
        self.note.setContentsMargins(0, 0, MARGIN, 0)  # in the middle of the page, which has one at the left
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(listed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        self.timeline.chosen.connect(lambda key: cycles.choose(int(key)))
        cycles.history_changed.connect(self._show)
        cycles.running_changed.connect(self._show)
        cycles.failed.connect(self._show_failure)
        self._show()

    def focus(self) -> None:
        """Work begins with the newest cycle."""
        self.timeline.focus()

    def _show(self) -> None:
        lines, chosen = self._cycles.history, self._cycles.chosen
        self.timeline.show_moments(
            [
                Moment(
                    str(line.seq),
                    line.text,
                    line.note,
                    line.hover,
                    is_here=chosen is not None and line.seq == chosen.seq,
                )
                for line in lines
            ]
        )
        self.chosen.setText(chosen.text if chosen else tr("Choose a cycle to take it back."))
        self.undo.setEnabled(self._cycles.can_take_back)
        if not lines:
            self.note.say("history", tr("No cycle has run yet"), tr("Every cycle leaves its report here."))
        self._stack.setCurrentWidget(self._listed if lines else self.note)

    def _show_failure(self, sentence: str) -> None:
        self.note.say("circle-alert", tr("Past cycles can't be read"), sentence)
        self._stack.setCurrentWidget(self.note)
