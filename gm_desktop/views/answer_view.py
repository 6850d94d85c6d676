"""The answer to one question: what could be looked at, a weak match in words, the hits."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from gm_desktop.models.hit_list import HitList
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.why import signal_title
from gm_desktop.views.hit_view import HitView
from gm_desktop.widgets.basics import row, text_label
from gm_desktop.widgets.contribution_bar import Legend

SIGNALS = ("vector", "keyword", "recency")
_INDENT = 12  # a hit's own padding: its text stands under the page's title


class AnswerView(QWidget):
    """Shows hits and what is said about them."""

    def __init__(self, hits: HitList, theme: Theme) -> None:
        super().__init__()
        self.coverage = text_label("", "small", wrap=True)
        self.legend = Legend(theme, [signal_title(each) for each in SIGNALS])
        self.feedback = QFrame()
        self.feedback.setProperty("kind", "well")
        self.feedback_text = text_label("", "", wrap=True)
        self.hits = HitView(hits, theme)
        self._lay_out()

    def _lay_out(self) -> None:
        banner = QVBoxLayout(self.feedback)
        banner.setContentsMargins(14, 10, 14, 10)
        banner.addWidget(self.feedback_text)
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN - _INDENT, 0, MARGIN - _INDENT - 2, 0)
        column.setSpacing(8)
        line = row(self.coverage, self.legend, spacing=16, margins=(_INDENT, 0, _INDENT + 2, 0))
        line.setStretch(0, 1)
        column.addLayout(line)
        column.addLayout(row(self.feedback, margins=(_INDENT, 0, _INDENT + 2, 0)))
        column.addWidget(self.hits, 1)

    def say(self, coverage: str, feedback: str) -> None:
        """What the answer could look at, and a weak match."""
        self.coverage.setText(coverage)
        self.feedback_text.setText(feedback)
        self.feedback.setVisible(bool(feedback))
