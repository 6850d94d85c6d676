"""The plan of a publish as a tree: what happens, and to which notes. The path is shown, the item is the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel

from gm_desktop.plain_text import as_tip

NODE_ROLE = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True, slots=True)
class PlanGroup:
    """Notes with the same fate: its name, how many, and (number of the item, its line) for those that are shown."""

    status: str
    title: str
    count: int
    lines: tuple[tuple[int, str], ...]
    more: str = ""


class PlanTree(QStandardItemModel):
    """Groups with their notes below them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)

    def set_groups(self, groups: Sequence[PlanGroup]) -> None:
        """Shows another plan."""
        self.clear()
        for group in groups:
            head = _item(group.title, None)
            head.setData(f"{group.title}", Qt.ItemDataRole.AccessibleTextRole)
            for number, line in group.lines:
                head.appendRow(_item(line, number))
            if group.more:
                head.appendRow(_item(group.more, None))
            self.appendRow(head)


def _item(text: str, number: int | None) -> QStandardItem:
    item = QStandardItem(text)
    item.setEditable(False)
    item.setData(number, NODE_ROLE)
    item.setToolTip(as_tip(text))
    return item
