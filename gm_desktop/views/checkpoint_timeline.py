"""The checkpoints of one agent or of all, newest first, on a line through time."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QSignalBlocker, Qt
from PySide6.QtWidgets import QComboBox, QFrame, QListView, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.models.agent_list import AGENT_ROLE
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.checkpoints import CheckpointsViewModel
from gm_desktop.widgets.basics import row
from gm_desktop.widgets.side_delegates import CheckpointDelegate

WIDTH = 284


class CheckpointTimeline(QWidget):
    """Whose, and which; the view-model's choice is the truth."""

    def __init__(self, viewmodel: CheckpointsViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel = viewmodel
        self.agent = QComboBox()
        self.agent.setModel(viewmodel.agents)
        self.agent.setAccessibleName(tr("Agent"))
        self.list = QListView()
        self._set_up(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN - 12, 0, 12, 12)
        column.setSpacing(10)
        column.addLayout(row(self.agent, margins=(12, 0, 0, 0)))
        column.addWidget(self.list, 1)
        self._wire()
        self._show_agent()
        self._show_selection()

    def _set_up(self, theme: Theme) -> None:
        self.setFixedWidth(WIDTH)
        self.list.setModel(self._viewmodel.checkpoints)
        self.list.setItemDelegate(CheckpointDelegate(theme, self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.setAccessibleName(tr("Checkpoints"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)

    def _wire(self) -> None:
        model = self._viewmodel
        model.state_changed.connect(self._show_agent)
        model.agent_changed.connect(self._show_agent)
        model.agents.modelReset.connect(self._show_agent)
        for signal in (model.state_changed, model.details_changed, model.review_changed, model.checkpoints.modelReset):
            signal.connect(self._show_selection)
        self.agent.activated.connect(lambda _at: model.set_agent(self.agent.currentData(AGENT_ROLE)))
        self.list.selectionModel().currentChanged.connect(self._on_current)

    def _show_agent(self) -> None:
        at = self._viewmodel.agents.row_of(self._viewmodel.agent_id)
        if at is not None:
            with QSignalBlocker(self.agent):
                self.agent.setCurrentIndex(at)

    def _show_selection(self) -> None:
        chosen = self._viewmodel.selected_id
        at = self._viewmodel.checkpoints.row_of(chosen) if chosen else None
        if at is not None and not self.list.selectionModel().isRowSelected(at):
            flags = QItemSelectionModel.SelectionFlag
            index = self._viewmodel.checkpoints.index(at)
            self.list.selectionModel().setCurrentIndex(index, flags.ClearAndSelect)

    def _on_current(self) -> None:
        at = self.list.currentIndex().row()
        if at >= 0:
            self._viewmodel.select(self._viewmodel.checkpoints.lines[at].id)
