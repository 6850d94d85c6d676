"""The namespaces of a store with their counts, as a list: everything, what is shared, then each agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gm_desktop.formatting import number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.fact_row import agent_title
from gm_desktop.plain_text import as_tip
from gm_engine.records import SHARED_AGENT_ID, AgentSummary

AGENT_ROLE = Qt.ItemDataRole.UserRole + 1
COUNT_ROLE = Qt.ItemDataRole.UserRole + 2
ICON_ROLE = Qt.ItemDataRole.UserRole + 3

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class AgentLine:
    """One line; `agent_id` None stands for all of them; `live` and `retired` are counts."""

    agent_id: str | None
    title: str
    live: int
    retired: int
    icon: str


def agent_lines(agents: Sequence[AgentSummary], *, with_all: bool) -> list[AgentLine]:
    """The lines of a store: shared right after the sum, agents by name. With the sum, live aliases count too."""
    shared = [each for each in agents if each.agent_id == SHARED_AGENT_ID]
    others = sorted((each for each in agents if each.agent_id != SHARED_AGENT_ID), key=_by_name)
    lines = [
        AgentLine(each.agent_id, agent_title(each.agent_id), _count(each, with_all), each.retired, icon)
        for group, icon in ((shared, "users"), (others, "bot"))
        for each in group
    ]
    if not with_all:
        return lines
    live, retired = sum(_count(each, with_all) for each in agents), sum(each.retired for each in agents)
    return [AgentLine(None, tr("All agents"), live, retired, "layers"), *lines]


def _count(agent: AgentSummary, with_aliases: bool) -> int:
    return agent.live + agent.aliases if with_aliases else agent.live


def _by_name(agent: AgentSummary) -> tuple[str, str]:
    return agent.agent_id.casefold(), agent.agent_id


class AgentList(QAbstractListModel):
    """The lines as a model; a refresh that keeps the same agents only changes counts, so selections stay."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[AgentLine] = []

    @property
    def lines(self) -> Sequence[AgentLine]:
        """The lines in order. Not to be changed."""
        return self._lines

    def row_of(self, agent_id: str | None) -> int | None:
        """The row of a namespace (None: all), None where it is not listed."""
        return next((row for row, line in enumerate(self._lines) if line.agent_id == agent_id), None)

    def set_lines(self, lines: list[AgentLine]) -> None:
        """Shows other lines."""
        if [line.agent_id for line in lines] == [line.agent_id for line in self._lines]:
            changed = [row for row, line in enumerate(lines) if line != self._lines[row]]
            self._lines = lines
            for row in changed:
                self.dataChanged.emit(self.index(row), self.index(row))
            return
        self.beginResetModel()
        self._lines = lines
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        """One row per line."""
        return 0 if parent.isValid() else len(self._lines)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Title, count, tooltip, icon name, and the namespace itself."""
        if not index.isValid() or not 0 <= index.row() < len(self._lines):
            return None
        line = self._lines[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return line.title
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            facts = tr_count("{count} live fact", "{count} live facts", line.live)
            spoken = tr(
                "{agent}: {facts}, {retired} retired", agent=line.title, facts=facts, retired=number(line.retired)
            )
            return as_tip(spoken) if role == Qt.ItemDataRole.ToolTipRole else spoken
        if role == COUNT_ROLE:
            return line.live
        return {AGENT_ROLE: line.agent_id, ICON_ROLE: line.icon}.get(role)
