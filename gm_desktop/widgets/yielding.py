"""What gives way in a narrow window: a choice that ends in an ellipsis, a bar that puts its controls below."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolTip,
    QWidget,
)

from gm_desktop.plain_text import as_tip
from gm_desktop.theme import SPACE
from gm_desktop.widgets.basics import row

_LEAST_CHOICE = 72
_LEAST_CAPTION = 80


class YieldingCombo(QComboBox):
    """A choice that ends in an ellipsis where it has no room, and is whole in its tooltip."""

    def minimumSizeHint(self) -> QSize:
        """A few letters are enough."""
        least = super().minimumSizeHint()
        return QSize(min(least.width(), _LEAST_CHOICE), least.height())

    def shown(self) -> str:
        """The chosen text as far as it is drawn."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, self).width() - 2
        return self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draws what fits."""
        painter = QStylePainter(self)
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        option.currentText = self.shown()
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def event(self, event: QEvent) -> bool:
        """Tells the whole text where it is cut."""
        if isinstance(event, QHelpEvent) and self.shown() != self.currentText() and not self.toolTip():
            QToolTip.showText(event.globalPos(), as_tip(self.currentText()), self)
            return True
        return super().event(event)


class CaptionBar(QWidget):
    """A caption with controls at its end, or below it where there is no room for both; one line is `height` px."""

    def __init__(
        self, caption: QWidget, controls: Sequence[QWidget], *, margins: tuple[int, int, int, int], height: int
    ) -> None:
        super().__init__()
        self._height = height
        self.setFixedHeight(height)
        self._controls = QWidget()
        self._controls.setLayout(row(*controls))
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(*margins)
        self._grid.setSpacing(SPACE)
        self._grid.setColumnStretch(0, 1)
        self._grid.addWidget(caption, 0, 0)
        self._is_two_lines = False
        self._grid.addWidget(self._controls, 0, 1)

    def event(self, event: QEvent) -> bool:
        """Looks at its room where its width changes, and where controls come, go or say something else."""
        handled = super().event(event)
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._fit()
        return handled

    def _fit(self) -> None:
        """Keeps to one line while that is possible."""
        margins = self._grid.contentsMargins()
        room = self.width() - margins.left() - margins.right() - SPACE - _LEAST_CAPTION
        is_two_lines = self._controls.sizeHint().width() > room
        if is_two_lines != self._is_two_lines:
            self._is_two_lines = is_two_lines
            self._grid.addWidget(self._controls, *((1, 0, 1, 2) if is_two_lines else (0, 1, 1, 1)))
            self.setFixedHeight(self._grid.totalSizeHint().height() if is_two_lines else self._height)
