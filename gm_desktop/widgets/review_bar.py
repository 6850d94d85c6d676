"""A person's verdict on something, with a note: three choices, one line of text, when it was given."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QLineEdit, QPushButton

from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.widgets.basics import ElidedLabel, push_button

Choice = tuple[str, str, str]  # verdict, title, shortcut


class ReviewBar(QFrame):
    """Emits `verdict_chosen(verdict, note)`; what is shown comes back through `show_review`."""

    verdict_chosen = Signal(str, str)

    def __init__(self, theme: Theme, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._verdict, self._kept_note = "", ""
        self._key = ""
        self.buttons: dict[str, QPushButton] = {}
        self._group = QButtonGroup(self)
        self._group.setExclusive(False)
        for verdict, title, keys in choices:
            button = push_button(title, "chip")
            button.setToolTip(f"{title} ({keys})" if keys else title)
            button.clicked.connect(lambda _on=False, verdict=verdict: self._choose(verdict))
            self._group.addButton(button)
            self.buttons[verdict] = button
        self.note = QLineEdit()
        self.note.setPlaceholderText(tr("Add a note to your verdict"))
        self.note.setAccessibleName(tr("Note"))
        self.note.setMaxLength(10_000)
        self.note.returnPressed.connect(self._save_note)
        self.when = ElidedLabel("", theme=theme)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(MARGIN, 8, MARGIN, 4)
        layout.setSpacing(SPACE)
        for button in self.buttons.values():
            layout.addWidget(button)
        layout.addWidget(self.note, 1)
        layout.addWidget(self.when)

    def show_review(self, key: str, *, verdict: str, note: str, when: str, when_utc: str) -> None:
        """Shows the verdict on `key`. A note that is being written stays, unless another thing is shown."""
        is_untouched = self.note.text() == self._kept_note
        if key != self._key or is_untouched:
            self.note.setText(note)
        self._key, self._verdict, self._kept_note = key, verdict, note
        for each, button in self.buttons.items():
            button.setChecked(each == verdict)
        self.when.set_text(when, tooltip=when_utc)
        self.when.setVisible(bool(when))

    def choose(self, verdict: str) -> None:
        """As if the person had clicked."""
        self._choose(verdict)

    def set_can_write(self, can_write: bool) -> None:
        """Off while nothing can be written."""
        for button in self.buttons.values():
            button.setEnabled(can_write)
        self.note.setEnabled(can_write)

    def _choose(self, verdict: str) -> None:
        for each, button in self.buttons.items():
            button.setChecked(each == self._verdict)  # until the store says so
        self.verdict_chosen.emit(verdict, self.note.text())

    def _save_note(self) -> None:
        if self._verdict and self.note.text() != self._kept_note:
            self.verdict_chosen.emit(self._verdict, self.note.text())
