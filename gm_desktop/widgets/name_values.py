"""Names and values in two columns, plain text, selectable, the exact value on hover."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from gm_desktop.plain_text import as_tip
from gm_desktop.widgets.basics import text_label


class NameValues(QWidget):
    """Rows are reused, so that a refresh neither flickers nor loses a selection in a value that stayed."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[tuple[QLabel, QLabel]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(7)
        self._grid.setColumnMinimumWidth(0, 84)
        self._grid.setColumnStretch(1, 1)

    def show_rows(self, rows: Sequence[tuple[str, str, str]]) -> None:
        """Shows (name, value, hover) rows."""
        while len(self._rows) < len(rows):
            self._add_row()
        for at, (name_label, value_label) in enumerate(self._rows):
            is_used = at < len(rows)
            name_label.setVisible(is_used)
            value_label.setVisible(is_used)
            if is_used:
                name, value, hover = rows[at]
                name_label.setText(name)
                if value_label.text() != value:
                    value_label.setText(value)
                value_label.setToolTip(as_tip(hover or value))
                value_label.setAccessibleName(f"{name}: {value}")

    def _add_row(self) -> None:
        at = len(self._rows)
        name, value = text_label("", "small"), text_label("", wrap=True, selectable=True)
        value.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)  # as high as its width asks
        name.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(name, at, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(value, at, 1)
        self._rows.append((name, value))
