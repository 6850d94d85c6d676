"""How a JSON tree is drawn: keys plain, values by their kind, branches quiet."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from gm_desktop.models.paged_table import MUTED_ROLE, TONE_ROLE
from gm_desktop.theme import Theme

_HEADER_PADDING = 7  # so that values stand under their title
_INK = {"number": "info", "word": "warning", "text": "text", "branch": "text_muted"}


class StateDelegate(QStyledItemDelegate):
    """Chooses an ink by the kind of value."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        """Sets the ink."""
        super().initStyleOption(option, index)
        role = "text_muted" if index.data(MUTED_ROLE) else _INK.get(str(index.data(TONE_ROLE)), "text")
        palette = QPalette(option.palette)
        for each in (QPalette.ColorRole.Text, QPalette.ColorRole.HighlightedText):
            palette.setColor(each, self._theme.color(role))
        option.palette = palette
        if index.column() == 1:
            option.rect.setLeft(option.rect.left() + _HEADER_PADDING)
