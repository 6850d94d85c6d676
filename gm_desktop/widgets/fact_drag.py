"""What is dragged when facts are dragged: how many, and the ids of the first few."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QDrag
from PySide6.QtWidgets import QWidget

from gm_desktop.theme import Theme

FACTS_MIME = "application/x-graymatter-facts"
FACT_IDS_MIME = "application/x-graymatter-fact-ids"
MOST_IDS = 64


def fact_data(fact_ids: Collection[str]) -> QMimeData:
    """The data of a drag. A selection may hold 100,000 facts: beyond a few, only their number travels."""
    data = QMimeData()
    data.setData(FACTS_MIME, str(len(fact_ids)).encode())
    if len(fact_ids) <= MOST_IDS:
        data.setData(FACT_IDS_MIME, "\n".join(fact_ids).encode())
    return data


def dragged_fact(data: QMimeData) -> str | None:
    """The one fact that is dragged; None for several, or for something else."""
    if not data.hasFormat(FACT_IDS_MIME):
        return None
    ids = bytes(data.data(FACT_IDS_MIME).data()).decode("utf-8", "replace").split("\n")
    return ids[0] if len(ids) == 1 and ids[0] else None


def drag_facts(source: QWidget, fact_ids: Collection[str], theme: Theme, *, may_move: bool) -> None:
    """Drags facts until they are dropped. `may_move`: dropping on an agent moves them there."""
    drag = QDrag(source)
    drag.setMimeData(fact_data(fact_ids))
    drag.setPixmap(theme.pixmap("layers", "accent", 24))
    actions = Qt.DropAction.CopyAction | (Qt.DropAction.MoveAction if may_move else Qt.DropAction.IgnoreAction)
    drag.exec(actions, Qt.DropAction.MoveAction if may_move else Qt.DropAction.CopyAction)
