"""Ranked answers of a search as a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

HIT_ROLE = Qt.ItemDataRole.UserRole + 1

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer as a row: its first words, the character spans of matched words in them, its place and score.

    `shares` are the signals' parts of the best final score in the list, so that bars can be compared (empty: no bar);
    `moved` says how the place differs from the saved ranking (`▲ 2`, `▼ 1`, `new`), with `tone` as its meaning;
    `spoken` says all of it in words.
    """

    id: str
    position: int
    text: str
    spans: tuple[tuple[int, int], ...]
    agent: str
    confidence: str
    confidence_title: str
    is_pinned: bool
    age: str
    shares: tuple[float, ...]
    score: str
    spoken: str
    moved: str = ""
    tone: str = ""


class HitList(QAbstractListModel):
    """Hits in rank order. Few rows: a new answer replaces them all."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hits: tuple[Hit, ...] = ()

    @property
    def hits(self) -> tuple[Hit, ...]:
        """All of them."""
        return self._hits

    def row_of(self, fact_id: str) -> int | None:
        """The row of a fact, None where it is not among the hits."""
        return next((row for row, hit in enumerate(self._hits) if hit.id == fact_id), None)

    def set_hits(self, hits: Sequence[Hit]) -> None:
        """Shows another answer; an answer with the same facts in the same order keeps selections."""
        hits = tuple(hits)
        if [hit.id for hit in hits] == [hit.id for hit in self._hits]:
            self._hits = hits
            if hits:
                self.dataChanged.emit(self.index(0), self.index(len(hits) - 1))
            return
        self.beginResetModel()
        self._hits = hits
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        """One row per hit."""
        return 0 if parent.isValid() else len(self._hits)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The text, the hit itself, and what is spoken of it."""
        if not index.isValid() or not 0 <= index.row() < len(self._hits):
            return None
        hit = self._hits[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return hit.text
        if role == HIT_ROLE:
            return hit
        return hit.spoken if role == Qt.ItemDataRole.AccessibleTextRole else None
