"""Every shortcut, as the action table has it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN
from gm_desktop.widgets.basics import push_button, row, text_label


class ShortcutsDialog(QDialog):
    """Two columns: what it does, which keys."""

    def __init__(self, lines: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Keyboard shortcuts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(460, 560)
        inner = QWidget()
        grid = QGridLayout(inner)
        grid.setContentsMargins(0, 0, 12, 0)
        grid.setVerticalSpacing(10)
        grid.setColumnStretch(0, 1)
        for number, (title, keys) in enumerate(lines):
            grid.addWidget(text_label(title), number, 0)
            grid.addWidget(text_label(keys, "pill"), number, 1, Qt.AlignmentFlag.AlignRight)
        grid.setRowStretch(len(lines), 1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(inner)
        close = push_button(tr("Close"), "primary", self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        layout.setSpacing(16)
        layout.addWidget(text_label(tr("Keyboard shortcuts"), "title"))
        layout.addWidget(scroll, 1)
        layout.addLayout(row(1, close))
        close.setFocus()
