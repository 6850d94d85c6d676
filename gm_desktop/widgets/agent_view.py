"""The list of namespaces; facts can be dropped on one of them."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QListView

from gm_desktop.i18n import tr
from gm_desktop.models.agent_list import AGENT_ROLE, AgentList
from gm_desktop.theme import Theme
from gm_desktop.widgets.fact_drag import FACTS_MIME
from gm_desktop.widgets.side_delegates import AgentDelegate


class AgentView(QListView):
    """Emits `facts_dropped(agent_id, is_copy)`; which facts are dragged is known to whoever began the drag."""

    facts_dropped = Signal(str, bool)

    def __init__(self, agents: AgentList, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._target: str | None = None
        self.setModel(agents)
        self.setItemDelegate(AgentDelegate(theme, self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setAcceptDrops(True)
        self.setAccessibleName(tr("Agents"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Facts may come in; files are the window's business."""
        if event.mimeData().hasFormat(FACTS_MIME):
            event.acceptProposedAction()
        else:
            event.ignore()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Only over an agent, which is marked."""
        self._mark(self._agent_at(event.position().toPoint()))
        if self._target is not None and event.mimeData().hasFormat(FACTS_MIME):
            event.acceptProposedAction()
        else:
            event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Takes the mark away."""
        self._mark(None)
        event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        """Moves, or copies with Ctrl."""
        agent_id = self._agent_at(event.position().toPoint())
        self._mark(None)
        if agent_id is not None and event.mimeData().hasFormat(FACTS_MIME):
            event.acceptProposedAction()
            is_copy = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            self.facts_dropped.emit(agent_id, is_copy)

    def _agent_at(self, at: QPoint) -> str | None:
        agent_id = self.indexAt(at).data(AGENT_ROLE)
        return agent_id if isinstance(agent_id, str) else None

    def _mark(self, agent_id: str | None) -> None:
        if agent_id != self._target:
            self._target = agent_id
            self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A frame around the agent that facts hover over."""
        super().paintEvent(event)
        model = self.model()
        if self._target is None or not isinstance(model, AgentList):
            return
        row = model.row_of(self._target)
        if row is not None:
            painter = QPainter(self.viewport())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(self._theme.color("accent"))
            painter.drawRoundedRect(self.visualRect(model.index(row)).adjusted(1, 2, -2, -2), 7, 7)
            painter.end()
