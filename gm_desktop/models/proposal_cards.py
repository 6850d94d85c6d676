"""What waits in the inbox, as lines of a list and as whole cards: plain values that widgets draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gm_desktop.plain_text import as_tip

CARD_ROLE = Qt.ItemDataRole.UserRole + 1

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()
Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class CardLine:
    """One proposal in the list: its kind as a pill, the first words of what it is about, whose it is."""

    id: str
    kind: str
    kind_title: str
    tone: str
    text: str
    agent: str
    note: str
    is_stale: bool

    @property
    def spoken(self) -> str:
        """All of it for ears."""
        return ", ".join(part for part in (self.kind_title, self.agent, self.text, self.note) if part)


@dataclass(frozen=True, slots=True)
class CardFact:
    """A fact on a card. `removed` are the characters that the result does not have; `note` says who, when, how sure."""

    id: str
    text: str
    note: str
    hover: str
    confidence: str
    confidence_title: str
    is_pinned: bool
    removed: Spans = ()


@dataclass(frozen=True, slots=True)
class Caution:
    """Something to look at before accepting: a mark and a sentence."""

    text: str
    is_grave: bool


@dataclass(frozen=True, slots=True)
class Card:
    """One proposal as a person decides on it.

    `goes` are the facts that leave, `stays` the fact that remains (None where a new text is written); `result` is the
    text that remains, `added` its characters that no leaving fact has. `more` counts facts that are not shown.
    `reject_title` is empty where turning it down is nothing but that.
    """

    id: str
    kind: str
    kind_title: str
    tone: str
    agent: str
    reason: str
    goes_title: str
    stays_title: str
    goes: tuple[CardFact, ...]
    stays: CardFact | None
    result: str
    added: Spans
    cautions: tuple[Caution, ...]
    accept_title: str
    more: int = 0
    stale: str = ""
    reject_title: str = ""
    can_edit: bool = True


class CardList(QAbstractListModel):
    """The lines in the inbox's order; what stays keeps selection and scroll position."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[CardLine] = []

    @property
    def lines(self) -> Sequence[CardLine]:
        """The lines in order. Not to be changed."""
        return self._lines

    def row_of(self, card_id: str | None) -> int | None:
        """The row of a card, None where it is not listed."""
        return next((row for row, line in enumerate(self._lines) if line.id == card_id), None)

    def set_lines(self, lines: list[CardLine]) -> None:
        """Shows other lines: rows that left are taken out one by one, anything else replaces the list."""
        wanted = {line.id for line in lines}
        kept = [line for line in self._lines if line.id in wanted]
        if [line.id for line in kept] == [line.id for line in lines] and len(self._lines) - len(kept) <= 50:
            for row in reversed(range(len(self._lines))):
                if self._lines[row].id not in wanted:
                    self.beginRemoveRows(ROOT, row, row)
                    del self._lines[row]
                    self.endRemoveRows()
            self._lines = lines
            if lines:
                self.dataChanged.emit(self.index(0), self.index(len(lines) - 1))
            return
        self.beginResetModel()
        self._lines = lines
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        """One row per card."""
        return 0 if parent.isValid() else len(self._lines)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The words, the line itself, and what is spoken of it."""
        if not index.isValid() or not 0 <= index.row() < len(self._lines):
            return None
        line = self._lines[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return line.text
        if role == CARD_ROLE:
            return line
        if role == Qt.ItemDataRole.ToolTipRole:
            return as_tip(line.spoken)
        return line.spoken if role == Qt.ItemDataRole.AccessibleTextRole else None
