"""Two texts side by side, what each has alone tinted: the left one fixed, the right one edited."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gm_desktop.theme import SPACE, Theme
from gm_desktop.widgets.basics import text_label
from gm_desktop.widgets.text_panes import Spans, TextPane


class WordDiff(QWidget):
    """Emits `edited` as the right text changes. What changed is computed elsewhere and given to `show_changes`."""

    edited = Signal(str)

    def __init__(self, theme: Theme, *, before_title: str, after_title: str) -> None:
        super().__init__()
        self.before = TextPane(theme)
        self.after = TextPane(theme, editable=True)
        self.before_title = text_label(before_title, "section")
        self._after_title = text_label(after_title, "section")
        self.before.setProperty("kind", "well")
        self.before.document().setDocumentMargin(5)
        self.before.setAccessibleName(before_title)
        self.after.setAccessibleName(after_title)
        self.after.textChanged.connect(lambda: self.edited.emit(self.after.raw_text()))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2 * SPACE)
        for title, pane in ((self.before_title, self.before), (self._after_title, self.after)):
            column = QVBoxLayout()
            column.setSpacing(6)
            column.addWidget(title)
            column.addWidget(pane, 1)
            layout.addLayout(column, 1)

    def show_before(self, text: str) -> None:
        """Changes the left text alone; a draft on the right stays."""
        self.before.show_text(text)

    def show_texts(self, before: str, after: str) -> None:
        """Starts over with two texts."""
        self.before.show_text(before)
        with QSignalBlocker(self.after):
            self.after.setPlainText(after)

    def show_changes(self, removed: Spans, added: Spans) -> None:
        """Tints what only the left and only the right text has."""
        self.before.tint(removed, ground="diff_removed", ink="diff_removed_text")
        with QSignalBlocker(self.after):
            self.after.tint(added, ground="diff_added", ink="diff_added_text")
