"""The drawn graph, the legend of its types below, and buttons to zoom in its corner."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QFrame, QSizePolicy, QVBoxLayout, QWidget

from gm_desktop.formatting import number
from gm_desktop.i18n import tr
from gm_desktop.theme import Theme
from gm_desktop.widgets.basics import icon_button, rule
from gm_desktop.widgets.entity_rows import EntityRow, RowItem
from gm_desktop.widgets.flow_layout import FlowLayout
from gm_desktop.widgets.graph_canvas import GraphCanvas

_EDGE = 14


class GraphStage(QWidget):
    """Arranges canvas, legend and buttons. Emits `kind_toggled(kind)` when a type of the legend is clicked."""

    kind_toggled = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.canvas = GraphCanvas(theme)
        self.larger = icon_button(theme, "plus", tr("Zoom in"), lambda: self.canvas.zoom(1.4), shortcut="+")
        self.smaller = icon_button(theme, "minus", tr("Zoom out"), lambda: self.canvas.zoom(1 / 1.4), shortcut="-")
        self.fit = icon_button(theme, "fit", tr("Show all of it"), self.canvas.fit, shortcut="0")
        self.kinds: list[EntityRow] = []
        self._legend = QWidget()
        self._legend.setAccessibleName(tr("Types"))
        self._flow = FlowLayout(self._legend, gap=2)
        self._buttons = QFrame(self.canvas)
        self._buttons.setProperty("kind", "card")
        self._lay_out()

    def _lay_out(self) -> None:
        column = QVBoxLayout(self._buttons)
        column.setContentsMargins(4, 4, 4, 4)
        column.setSpacing(2)
        for button in (self.larger, self.smaller, self.fit):
            column.addWidget(button)
        foot = QWidget()
        inner = QVBoxLayout(foot)
        inner.setContentsMargins(8, 6, 8, 6)
        inner.addWidget(self._legend)
        foot.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.canvas, 1)
        layout.addWidget(rule())
        layout.addWidget(foot)
        self.canvas.installEventFilter(self)

    def show_kinds(self, kinds: tuple[tuple[str, str, int], ...], hidden: frozenset[str]) -> None:
        """Shows the legend: (kind, title, how many), and which of them are left out."""
        for at, (kind, title, count) in enumerate(kinds):
            is_hidden = kind in hidden
            hover = tr("Click to bring it back") if is_hidden else tr("Click to leave it out")
            item = RowItem(kind, title, kind, number(count), hover, is_hidden)
            if at < len(self.kinds):
                self.kinds[at].show_item(item)
            else:
                self._add(item)
        for at, made in enumerate(self.kinds):
            made.setVisible(at < len(kinds))
        self._legend.updateGeometry()

    def _add(self, item: RowItem) -> None:
        made = EntityRow(self._theme, item)
        made.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        made.clicked.connect(lambda _checked=False: self.kind_toggled.emit(made.item.key))
        self.kinds.append(made)
        self._flow.addWidget(made)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keeps the buttons in their corner of the canvas."""
        if watched is self.canvas and event.type() == QEvent.Type.Resize:
            self._buttons.adjustSize()
            right, bottom = self.canvas.width() - _EDGE, self.canvas.height() - _EDGE
            self._buttons.move(right - self._buttons.width(), bottom - self._buttons.height())
        return False
