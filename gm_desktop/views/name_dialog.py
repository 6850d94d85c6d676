"""Asks for a name; says when something of that name is replaced."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN
from gm_desktop.widgets.basics import push_button, row, text_label

MOST_CHARACTERS = 100


class NameDialog(QDialog):
    """Emits `named(name)`."""

    named = Signal(str)

    def __init__(
        self, title: str, note: str, button: str, name: str, *, taken: Collection[str], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._taken = frozenset(taken)
        self._note = note
        self.setWindowTitle(title)
        self.setModal(True)
        self.setMinimumWidth(400)
        self.finished.connect(self.deleteLater)
        self.field = QLineEdit(name)
        self.field.setMaxLength(MOST_CHARACTERS)
        self.field.setAccessibleName(tr("Name"))
        self.field.selectAll()
        self.note = text_label(note, "small", wrap=True)
        self.save = push_button(button, "primary", self._on_save)
        self.save.setDefault(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN, 20)
        layout.setSpacing(14)
        layout.addWidget(text_label(title, "title"))
        layout.addWidget(self.field)
        layout.addWidget(self.note)
        layout.addLayout(row(1, push_button(tr("Cancel"), "", self.reject), self.save))
        self.field.textChanged.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        name = self.field.text()
        self.save.setEnabled(bool(name.strip()))
        is_taken = name in self._taken
        self.note.setText(
            tr("This replaces the one of the same name; undo brings it back.") if is_taken else self._note
        )

    def _on_save(self) -> None:
        self.named.emit(self.field.text())
        self.accept()
