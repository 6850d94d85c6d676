"""The list of hits in a person's hands: one current hit, hits that can be dragged to *Why not?* or to the rail."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QListView

from gm_desktop.i18n import tr
from gm_desktop.models.hit_list import HIT_ROLE, Hit, HitList
from gm_desktop.theme import Theme
from gm_desktop.widgets.fact_drag import drag_facts
from gm_desktop.widgets.hit_delegate import HitDelegate


class HitView(QListView):
    """Emits `current_changed(fact_id)` when the person goes to another hit."""

    current_changed = Signal(str)
    menu_wanted = Signal(QPoint)

    def __init__(self, hits: HitList, theme: Theme) -> None:
        super().__init__()
        self._theme, self._hits = theme, hits
        self.setModel(hits)
        self.setItemDelegate(HitDelegate(theme, self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(tr("Hits"))
        self.setMouseTracking(True)
        self.setDragEnabled(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(lambda at: self.menu_wanted.emit(self.viewport().mapToGlobal(at)))
        self.selectionModel().currentChanged.connect(self._on_current)

    def show_selected(self, fact_id: str | None) -> None:
        """Makes the view agree with what is selected."""
        at = self._hits.row_of(fact_id) if fact_id else None
        if at is not None and self.currentIndex().row() != at:
            flags = QItemSelectionModel.SelectionFlag
            self.selectionModel().setCurrentIndex(self._hits.index(at), flags.ClearAndSelect)

    def _on_current(self) -> None:
        hit = self.currentIndex().data(HIT_ROLE)
        if isinstance(hit, Hit):
            self.current_changed.emit(hit.id)

    def startDrag(self, _actions: Qt.DropAction) -> None:
        """Drags the current hit."""
        hit = self.currentIndex().data(HIT_ROLE)
        if isinstance(hit, Hit):
            drag_facts(self, (hit.id,), self._theme, may_move=False)
