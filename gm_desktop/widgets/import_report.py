"""What an import found and did, as a small table, and the records that stay out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QPlainTextEdit, QVBoxLayout, QWidget

from gm_desktop.formatting import number
from gm_desktop.i18n import tr
from gm_desktop.theme import Theme
from gm_desktop.widgets.basics import rule, text_label

SHOWN_SKIPPED = 500
_IN_SIGHT = 3  # so many records without scrolling
_LINES = 3  # of a record: its kind and id, and a reason that often takes two
_AROUND_PX = 24  # the frame of the text and its margins


class Count(Protocol):
    """One line of the table."""

    @property
    def label(self) -> str:
        """The kind of record."""

    @property
    def found(self) -> int:
        """How many the file holds."""

    @property
    def imported(self) -> int:
        """How many are new."""


class Left(Protocol):
    """One record that stays out."""

    @property
    def kind(self) -> str:
        """The kind of record."""

    @property
    def id(self) -> str:
        """Its id in the file."""

    @property
    def reason(self) -> str:
        """Why."""


class ImportTable(QWidget):
    """Kind, in the file, new; then what was left out, with reasons."""

    def __init__(self, theme: Theme, counts: Sequence[Count], skipped: Sequence[Left], *, new_label: str) -> None:
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addLayout(self._table(counts, new_label))
        if skipped:
            layout.addWidget(text_label(tr("Records that stay out"), "section"))  # a line may speak of several
            layout.addWidget(self._skipped_list(theme, skipped), 1)

    @staticmethod
    def _table(counts: Sequence[Count], new_label: str) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(32)
        grid.setVerticalSpacing(9)
        grid.setColumnStretch(0, 1)
        right = Qt.AlignmentFlag.AlignRight
        grid.addWidget(text_label(tr("In the file"), "small"), 0, 1, right)
        grid.addWidget(text_label(new_label, "small"), 0, 2, right)
        grid.addWidget(rule(), 1, 0, 1, 3)
        for line, count in enumerate(counts, start=2):
            grid.addWidget(text_label(count.label), line, 0)
            grid.addWidget(text_label(number(count.found), "muted"), line, 1, right)
            grid.addWidget(text_label(number(count.imported), "strong"), line, 2, right)
        return grid

    @staticmethod
    def _skipped_list(theme: Theme, skipped: Sequence[Left]) -> QWidget:
        lines = [f"{item.kind}  {item.id}\n    {item.reason}" for item in skipped[:SHOWN_SKIPPED]]
        if len(skipped) > SHOWN_SKIPPED:
            lines.append(tr("… and {count} more", count=number(len(skipped) - SHOWN_SKIPPED)))
        text = QPlainTextEdit("\n".join(lines))
        text.setReadOnly(True)
        text.setFont(theme.font("mono"))
        in_sight = min(len(lines), _IN_SIGHT) * _LINES * text.fontMetrics().lineSpacing()
        text.setMinimumHeight(in_sight + _AROUND_PX)
        text.setAccessibleName(tr("Records that stay out"))
        return text
