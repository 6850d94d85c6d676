"""Every shortcut, as the action table has it, under the menu or the page it belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QGridLayout, QVBoxLayout, QWidget

from gm_desktop.actions import KeyLine
from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN
from gm_desktop.widgets.basics import push_button, row, text_label
from gm_desktop.widgets.scrolled import scroll_area

_GROUP_GAP = 14


class ShortcutsDialog(QDialog):
    """Two columns: what it does, which keys. The keyboard begins on them: arrows, pages, Home and End scroll."""

    def __init__(self, lines: Sequence[KeyLine], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Keyboard shortcuts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(460, 560)
        self.area = scroll_area(_sheet(lines))
        self.area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.area.setAccessibleName(tr("Keyboard shortcuts"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN, 20)
        layout.setSpacing(16)
        layout.addWidget(text_label(tr("Keyboard shortcuts"), "title"))
        layout.addWidget(self.area, 1)
        layout.addLayout(row(1, push_button(tr("Close"), "primary", self.accept)))
        self.area.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Home and End, which a scroll area leaves to others."""
        bar = self.area.verticalScrollBar()
        if event.key() == Qt.Key.Key_Home:
            bar.setValue(bar.minimum())
        elif event.key() == Qt.Key.Key_End:
            bar.setValue(bar.maximum())
        else:
            super().keyPressEvent(event)


def _sheet(lines: Sequence[KeyLine]) -> QWidget:
    sheet = QWidget()
    grid = QGridLayout(sheet)
    grid.setContentsMargins(0, 0, 12, 0)
    grid.setVerticalSpacing(10)
    grid.setColumnStretch(0, 1)
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    at = 0
    for group in dict.fromkeys(each.group for each in lines):
        heading = text_label(group, "section")
        heading.setContentsMargins(0, _GROUP_GAP if at else 0, 0, 0)
        grid.addWidget(heading, at, 0, 1, 2)
        at += 1
        for line in lines:
            if line.group == group:
                grid.addWidget(text_label(line.title, wrap=True), at, 0)
                grid.addWidget(text_label(line.keys, "pill"), at, 1, right)
                at += 1
    grid.setRowStretch(at, 1)
    return sheet
